"""What the tests share. The server is the one that the environment names, as psql would take it."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
import threading
import time
import unittest
from typing import Any, Callable, Optional

import psycopg

from pgscylla import AsyncWorker, Worker

_numbers = itertools.count(1)


def unique(what: str) -> str:
    return f"{what}-{os.getpid()}-{next(_numbers)}"


def eventually(condition: Callable[[], Any], patience: float = 60) -> bool:
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


class Running:
    """A worker in a thread, of either kind, and what it logs."""

    def __init__(self, test: unittest.TestCase, worker: Any) -> None:
        self.worker = worker
        self.events: list[tuple[str, int, str]] = []
        self.abandoned: Optional[int] = None
        self.failure: Optional[BaseException] = None
        self._watch = logging.Handler()
        self._watch.emit = self._emit  # type: ignore[method-assign]
        logging.getLogger("pgscylla").addHandler(self._watch)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        test.addCleanup(self.stop)

    def stop(self) -> Optional[int]:
        self.worker.stop()
        self.thread.join(30)
        logging.getLogger("pgscylla").removeHandler(self._watch)
        if self.failure is not None:
            raise self.failure
        return self.abandoned

    def logged(self, event: str) -> int:
        return sum(1 for e in self.events if e[0] == event)

    @property
    def counters(self) -> Any:
        return self.worker.counters()

    def _emit(self, record: logging.LogRecord) -> None:
        self.events.append((getattr(record, "scylla_event", "-"), record.levelno, record.getMessage()))

    def _run(self) -> None:
        try:
            if isinstance(self.worker, AsyncWorker):
                self.abandoned = asyncio.run(self.worker.run())
            else:
                self.abandoned = self.worker.run()
        except BaseException as failure:
            self.failure = failure


class TestCase(unittest.TestCase):
    """A queue of its own, and a connection to look at it."""

    def setUp(self) -> None:
        self.connection = psycopg.connect("", autocommit=True)
        self.addCleanup(self.connection.close)
        self.queue = unique("queue")
        logging.getLogger("pgscylla").setLevel(logging.DEBUG)
        logging.getLogger("pgscylla").propagate = False

    def ask(self, sql: str, *values: Any) -> Any:
        row = self.connection.execute(sql, values).fetchone()
        return None if row is None else row[0]

    def submit(self, *specs: Any) -> list[str]:
        return [self.ask("select (scylla.submit(%s, %s::jsonb)).rn", self.queue, json.dumps(spec)) for spec in specs]

    def status(self, rn: str) -> str:
        return str(self.ask("select status::text from scylla.get_task(%s)", rn))

    def count(self, condition: str) -> int:
        return int(self.ask(f"select count(*) from scylla.task where queue = %s and {condition}", self.queue))

    def all(self, condition: str) -> bool:
        return eventually(
            lambda: self.ask(f"select bool_and({condition}) from scylla.task where queue = %s", self.queue)
        )

    def eventually(self, condition: Callable[[], Any], patience: float = 60) -> None:
        self.assertTrue(eventually(condition, patience))

    def start(self, handler: Callable[..., Any], kind: Any = Worker, conninfo: str = "", **options: Any) -> Running:
        options.setdefault("lease_timeout", 30)
        return Running(self, kind(conninfo, options.pop("queues", self.queue), handler, **options))
