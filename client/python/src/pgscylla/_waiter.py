"""Waits on the server while there is nothing to lease."""

from __future__ import annotations

import logging
import time

import psycopg

from . import _calls as calls
from ._core import WAIT, Core, thread
from ._link import Connection, Lost, backoff

_QUICK = 0.005  # a wait that returned sooner did not wait
_TRY_AGAIN = 60.0  # after the server has refused the wait


class Waiter:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._quick = 0  # times in a row that a wait returned at once, and nothing could be leased
        self._leased = 0

    def run(self) -> None:
        thread(self._core, self._core.waiter, self._wait)

    def _wait(self) -> None:
        core = self._core
        while self._until_wanted():
            start = time.monotonic()
            found, works, pause = False, True, 0.0
            try:
                found = core.waiter.call(self._ask)
            except psycopg.errors.QueryCanceled:  # statement_timeout
                pass
            except Lost:
                works = False
            except psycopg.Error as error:
                core.log(logging.WARNING, "wait-refused", f"polling instead: {error}", None, error)
                works, pause = False, _TRY_AGAIN
            self._quick = self._quick + 1 if found and time.monotonic() - start < _QUICK else 0
            with core.lock:
                core.counters.waits += 1
                core.waiter_works = works
                if found:
                    core.looking, core.wait_wanted = True, False
                if found or not works:
                    core.for_coordinator.notify()
            if pause > 0 and not core.sleep(pause):
                return

    def _ask(self, on: Connection) -> bool:
        with self._core.lock:
            self._core.waiter_works = True  # as far as we know
        return calls.wait_any(on, self._core.options.queues, WAIT) is not None

    def _until_wanted(self) -> bool:
        """False: the worker stops."""
        core = self._core
        with core.lock:
            core.for_waiter.wait_for(lambda: core.quitting or core.stopping or core.wait_wanted)
            if core.quitting or core.stopping:
                return False
            # A long transaction may be leasing the tasks that the server sees.
            if core.counters.leased != self._leased:
                self._quick = 0
            self._leased = core.counters.leased
        return self._quick == 0 or core.sleep(backoff(self._quick, 0.001, core.options.poll_max))
