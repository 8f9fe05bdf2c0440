"""The state that the threads of a worker share.

  run          the caller's: watches the others, cuts calls that take too long, and notifies handlers whose time is over
  coordinator  leases and finishes, over a connection of its own
  heart        extends leases, over another connection
  waiter       sleeps by scylla.wait_any while there is nothing to lease, over a third

Handlers run where a subclass of Runner lets them: in threads, or on an event loop. One lock guards what they share.
No thread holds it during a call to the server or of a function of the application.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Optional, Protocol

import psycopg

from ._job import YIELDED, Held, Outcome, Phase, StopReason, logger, text_of
from ._job import log as log_safely
from ._link import Link, Quitting
from ._options import Counters, Options

WAIT = 10.0  # maximum time of one wait of an idle worker on the server
_QUIET = "set client_min_messages = warning"
_READ_COMMITTED = "set default_transaction_isolation = 'read committed'"


@dataclass(eq=False)
class Report:
    """A report to the server about a task."""

    job: Held
    outcome: Outcome
    doubts: int = 0  # times that it was sent, and the connection broke
    settled: bool = False  # the server has it, or will never get it
    not_before: float = 0.0  # of the next attempt to send it
    attempts: int = 0  # of this outcome, that the server refused
    spoilt: bool = False  # the handler's outcome was refused for good, and has been replaced


    @property
    def size(self) -> int:
        """Of the texts that it sends."""
        return len(self.outcome.result or "") + len(self.outcome.metrics or "") + len(self.outcome.error or "")


class Runner(Protocol):
    """Runs handlers."""

    def start(self) -> None: ...

    def tasks_are_queued(self) -> None:
        """Called by any thread, without the lock."""

    def stop(self) -> None:
        """No more handlers are started."""


class Core:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.lock = threading.Lock()
        self.for_run = threading.Condition(self.lock)
        self.for_coordinator = threading.Condition(self.lock)
        self.for_heart = threading.Condition(self.lock)
        self.for_waiter = threading.Condition(self.lock)
        self.for_sleepers = threading.Condition(self.lock)
        self.ran = False
        self.stopping = False
        self.stop_at = 0.0
        self.grace_end = float("inf")
        self.quitting = False  # everything ends now
        self.coordinator_done = False
        self.failure: Optional[BaseException] = None
        self.name = options.name
        self.named_by_server = False
        self.counters = Counters()
        self.held: set[Held] = set()  # every lease that may be ours, and every handler that runs
        self.queued: deque[Held] = deque()
        self.finished: deque[Report] = deque()
        self.beat_at = float("inf")  # when the heart wakes
        self.looking = True  # there may be tasks to lease
        self.wait_wanted = False  # there is nothing to lease: the waiter must wait
        self.waiter_works = False  # so there is no need to poll
        self._notices: set[str] = set()
        self.control = self._link("control", [_READ_COMMITTED, "set lock_timeout = '1s'"])
        self.heart = self._link("heart", [_QUIET, _READ_COMMITTED, "set lock_timeout = '500ms'"])
        self.waiter = self._link("waiter", [_QUIET])

    # ---- life -------------------------------------------------------------------------------------------------------

    def run(self, runner: Runner) -> int:
        """Works until stop(). Returns how many handlers were still running then."""
        from ._coordinator import Coordinator
        from ._heart import Heart
        from ._waiter import Waiter

        with self.lock:
            if self.ran:
                raise RuntimeError("a worker runs once")
            self.ran = True
        self.runner = runner
        jobs: list[Callable[[], None]] = [Coordinator(self).run, Heart(self).run]
        if self.options.use_wait:
            jobs.append(Waiter(self).run)
        try:
            for job in jobs:
                threading.Thread(target=job, name=f"scylla-{job.__self__.__class__.__name__.lower()}", daemon=True).start()  # type: ignore[attr-defined]
            runner.start()
            self._supervise()
        except BaseException:  # Ctrl-C without stop_on_signals()
            self.stop()
            self._supervise()
            raise
        finally:
            self._quit()
            runner.stop()
        if self.failure is not None:
            raise self.failure
        running = self.counters.running
        if running > 0:
            self.log(logging.WARNING, "abandoned", f"{running} handlers are still running")
        self.log(logging.INFO, "stopped", "the worker has stopped")
        return running

    def stop(self) -> None:
        with self.lock:
            if self.stopping:
                return
            self.stopping = True
            self.stop_at = time.monotonic()
            self.grace_end = self.stop_at + self.options.stop_grace
            for condition in (self.for_run, self.for_coordinator, self.for_waiter):
                condition.notify_all()
        self.waiter.close()

    def end_grace(self) -> None:
        """The running tasks are yielded now."""
        with self.lock:
            self.grace_end = min(self.grace_end, time.monotonic())
            self.for_run.notify_all()
            self.for_coordinator.notify_all()

    def _quit(self) -> None:
        with self.lock:
            self.quitting = True
            for condition in (self.for_coordinator, self.for_heart, self.for_waiter, self.for_sleepers):
                condition.notify_all()
        for link in (self.control, self.heart, self.waiter):
            link.close()

    def _supervise(self) -> None:
        told = False
        while True:
            with self.lock:
                now = time.monotonic()
                if self.coordinator_done or (self.stopping and now >= self.grace_end + 1):
                    return
                late = [job for job in self.held if self._is_overdue(job, now)]
                stopped = [job for job in self.held if self.stopping and not told and job not in late]
                told = self.stopping
                shortest = min([job.lasts for job in self.held], default=self.options.call_timeout * 3)
                for job in late:
                    job.overdue = True
                    if job.phase is Phase.QUEUED:  # not worth starting: yield it, if it is still ours
                        self.give_back_queued(job)
            for job in late:
                self.log(logging.WARNING, "overdue", "the lease could not be extended in time", job)
                job.request_stop(StopReason.LEASE_LOST)
            for job in stopped:
                job.request_stop(StopReason.STOPPING)
            self.control.cut_if_older(now - self.options.call_timeout)
            self.heart.cut_if_older(now - min(shortest / 3, self.options.call_timeout))
            self.waiter.cut_if_older(now - WAIT - self.options.call_timeout)
            with self.lock:
                if not self.coordinator_done and (told or not self.stopping):
                    self.for_run.wait(0.1 if self.held or self.stopping else 1.0)

    @staticmethod
    def _is_overdue(job: Held, now: float) -> bool:
        return not job.gone and not job.overdue and job.phase is not Phase.FINISHED and now >= job.expires

    def give_back_queued(self, job: Held) -> None:
        """Yields a task that has not been started. With the lock held."""
        self.queued.remove(job)
        job.phase = Phase.FINISHED
        self.finished.append(Report(job, YIELDED))
        self.for_coordinator.notify()

    # ---- for the runner ---------------------------------------------------------------------------------------------

    def take(self) -> Optional[Held]:
        """The next task to run; with the lock held."""
        if self.stopping or self.quitting or not self.queued:
            return None
        job = self.queued.popleft()
        job.phase = Phase.RUNNING
        self.counters.running += 1
        return job

    def done(self, job: Held, outcome: Outcome) -> None:
        """A handler has ended; with the lock held."""
        self.counters.running -= 1
        if job.gone or job.phase is Phase.ABANDONED:  # the result is not needed
            self.held.discard(job)
        else:
            job.phase = Phase.FINISHED
            self.finished.append(Report(job, outcome))
        self.for_coordinator.notify()

    # ---- for the other threads --------------------------------------------------------------------------------------

    @property
    def me(self) -> str:
        assert self.name is not None
        return self.name

    def allowed(self, room: int) -> int:
        """How many tasks the application lets it lease now."""
        if self.options.capacity is None:
            return room
        try:
            return max(0, min(room, int(self.options.capacity(room))))
        except BaseException as error:
            self.log(logging.ERROR, "capacity-failed", f"capacity: {text_of(error)}", trace=error)
            return 0

    def sleep(self, seconds: float) -> bool:
        """False: the worker quits."""
        with self.lock:
            return not self.for_sleepers.wait_for(lambda: self.quitting, seconds)

    def lost(self, job: Held, status: Optional[str]) -> None:
        """The lease is not ours any more."""
        cancelled = status == "cancelled"
        with self.lock:
            if cancelled:
                self.counters.cancelled += 1
            else:
                self.counters.lost += 1
        level, event = (logging.INFO, "cancelled") if cancelled else (logging.WARNING, "lost")
        self.log(level, event, f"the task is {status}" if status else "the task does not exist any more", job)

    def snapshot(self) -> Counters:
        with self.lock:
            return replace(self.counters, held=len(self.held))

    def log(
        self,
        level: int,
        event: str,
        message: str,
        job: Optional[Held] = None,
        error: Optional[Exception] = None,
        trace: Optional[BaseException] = None,
    ) -> None:
        try:
            if not logger.isEnabledFor(level):
                return
        except Exception:
            return
        rn = None if job is None else job.task.rn
        about = f"{event}: {message}" if rn is None else f"{event}: {message} (task {rn})"
        extra = {
            "scylla_event": event,
            "scylla_rn": rn,
            "scylla_sqlstate": getattr(error, "sqlstate", None),
            "scylla_worker": self.name,
        }
        log_safely(level, about, extra, trace)

    def _link(self, role: str, setup: list[str]) -> Link:
        def connected() -> None:
            with self.lock:
                self.counters.connections += 1
            self.log(logging.INFO, "connected", f"{role} connection made")

        def failed(error: psycopg.Error, was_connected: bool) -> None:
            with self.lock:
                if self.quitting or (self.stopping and role == "waiter"):
                    return  # we cut it ourselves
            event, what = ("connection-lost", "lost") if was_connected else ("connect-failed", "failed")
            self.log(logging.WARNING, event, f"{role} connection {what}: {str(error).strip()}", None, error)

        def noticed(message: str) -> None:
            """For example that a queue does not exist: reported once, not for each connection."""
            if message not in self._notices and len(self._notices) < 1000:
                self._notices.add(message)
                self.log(logging.WARNING, "notice", message)

        pauses = (self.options.reconnect_min, self.options.reconnect_max)
        return Link(self.options.conninfo, setup, pauses, self.sleep, connected, failed, noticed)


def thread(core: Core, link: Link, work: Callable[[], None]) -> None:
    """The frame of a thread: a failure that nothing has handled ends the worker."""
    try:
        work()
    except Quitting:
        pass
    except BaseException as failure:
        with core.lock:
            core.failure = core.failure or failure
            core.coordinator_done = True
            core.for_run.notify_all()
    finally:
        link.end()
