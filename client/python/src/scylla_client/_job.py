"""A task that a worker holds, how its handler is asked to stop, and how it ends."""

from __future__ import annotations

import enum
import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Optional, Union

Seconds = Union[float, timedelta]

logger = logging.getLogger("scylla_client")


def seconds_of(value: Seconds) -> float:
    return value.total_seconds() if isinstance(value, timedelta) else float(value)


class StopReason(enum.Enum):
    """Why a handler is asked to stop."""

    CANCELLED = "cancelled"
    """The task was cancelled: its result is not needed."""
    LEASE_LOST = "lease-lost"
    """The lease expired, or could not be extended in time: another worker may be running the task."""
    STOPPING = "stopping"
    """The worker shuts down."""


@dataclass(frozen=True)
class Task:
    """A task as it was when it was leased."""

    rn: str
    queue: str
    spec: Any
    priority: int
    created: datetime
    args: list[Any]
    """The results of the tasks that this one depended on."""
    errors: list[Any]
    """The errors of earlier attempts."""
    attempt: int
    failures: int
    max_attempts: Optional[int]
    plan: Optional[str]
    key: Optional[str]
    pool: Optional[str] = None
    """Where it has been placed; None: nowhere, or it needs several pools at once."""


@dataclass(frozen=True)
class Complete:
    """Returned by a handler that has metrics for its task, besides a result."""

    result: Any = None
    metrics: Any = None


class _TaskError(Exception):
    def __init__(self, code: str, description: str = "", args: Optional[dict[str, Any]] = None) -> None:
        super().__init__(f"{code}: {description}" if description else code)
        self.code = code
        self.description = description
        self.error_args = args or {}


class AbortTask(_TaskError):
    """Raised by a handler: the task cannot be done, and ends as aborted."""


class FailTask(_TaskError):
    """Raised by a handler: an error that may be temporary. The task is retried after `retry_after`, or when its policy says."""

    def __init__(
        self,
        code: str,
        description: str = "",
        args: Optional[dict[str, Any]] = None,
        *,
        retry_after: Optional[Seconds] = None,
    ) -> None:
        super().__init__(code, description, args)
        self.retry_after = retry_after


class YieldTask(Exception):
    """Raised by a handler: another worker may run the task. It is ready again at once, and has not failed."""


class Kind(enum.Enum):
    COMPLETE = "completed"
    FAIL = "failed"
    ABORT = "aborted"
    YIELD = "yielded"


@dataclass(frozen=True)
class Outcome:
    """How a task ends, in the form for the server: JSON is text."""

    kind: Kind
    result: Optional[str] = None
    metrics: Optional[str] = None
    error: Optional[str] = None
    retry_after: Optional[float] = None
    note: str = ""


YIELDED = Outcome(Kind.YIELD)


def printable(text: str) -> str:
    """A text that PostgreSQL can store."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def to_json(value: Any) -> Optional[str]:
    return None if value is None else json.dumps(value, allow_nan=False)


def failed(code: str, description: str) -> Outcome:
    return Outcome(Kind.FAIL, error=json.dumps({"code": code, "description": printable(description)}), note=code)


def outcome_of(value: Any) -> Outcome:
    """The outcome for a handler's return value."""
    done = value if isinstance(value, Complete) else Complete(value)
    try:
        return Outcome(Kind.COMPLETE, to_json(done.result), to_json(done.metrics))
    except (TypeError, ValueError, RecursionError) as error:
        return failed("invalid-outcome", str(error))


def outcome_of_exception(error: BaseException, asked_to_stop: bool) -> Outcome:
    """The outcome for an exception of a handler."""
    if isinstance(error, YieldTask):
        return YIELDED
    if isinstance(error, _TaskError):
        said = {"code": printable(error.code), "description": printable(error.description), "args": error.error_args}
        try:
            text = to_json(said)
        except (TypeError, ValueError, RecursionError) as wrong:
            return failed("invalid-outcome", str(wrong))
        if isinstance(error, FailTask):
            retry_after = None if error.retry_after is None else seconds_of(error.retry_after)
            return Outcome(Kind.FAIL, error=text, retry_after=retry_after, note=error.code)
        return Outcome(Kind.ABORT, error=text, note=error.code)
    if asked_to_stop:
        return YIELDED
    description = str(error)
    return failed("exception", type(error).__name__ + (f": {description}" if description else ""))


class Phase(enum.Enum):
    QUEUED = 1
    RUNNING = 2
    FINISHED = 3
    ABANDONED = 4


class Held:
    """A lease. The attributes below the line are guarded by the lock of the worker's core."""

    def __init__(self, task: Task, worker: str, lasts: float, renewed: float) -> None:
        self.task = task
        self.worker = worker
        self.lasts = lasts  # for how long the server extends it
        self.progress: Optional[float] = None  # last value from the handler
        self.stopped = threading.Event()
        # ----
        self.phase = Phase.QUEUED
        self.renewed = renewed  # before the call that leased or extended it was sent
        self.gone = False  # the server reported that the lease is lost
        self.overdue = False  # expired by our own clock
        self.sent_progress: Optional[float] = None
        self._lock = threading.RLock()  # a function may ask why it is called
        self._reason: Optional[StopReason] = None
        self._functions: list[Callable[[StopReason], object]] = []

    @property
    def renew_at(self) -> float:
        return self.renewed + self.lasts / 3

    @property
    def expires(self) -> float:
        return self.renewed + self.lasts

    @property
    def reason(self) -> Optional[StopReason]:
        return self._reason

    def say_progress(self, value: float) -> None:
        self.progress = min(max(float(value), 0.0), 1.0)

    def request_stop(self, reason: StopReason) -> None:
        """The first reason stays, except that STOPPING gives way to one of the others."""
        with self._lock:
            if self._reason not in (None, StopReason.STOPPING) or self._reason == reason:
                return
            self._reason = reason
            self.stopped.set()
            for function in self._functions:
                self._call(function, reason)

    def on_stop(self, function: Callable[[StopReason], object]) -> None:
        with self._lock:
            self._functions.append(function)
            if self._reason is not None:
                self._call(function, self._reason)

    def _call(self, function: Callable[[StopReason], object], reason: StopReason) -> None:
        try:
            function(reason)
        except Exception:  # the application's; leases are extended all the same
            logger.exception("on_stop: the function raised an exception (task %s)", self.task.rn)
