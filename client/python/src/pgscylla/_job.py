"""A task that a worker holds, how its handler is asked to stop, and how it ends."""

from __future__ import annotations

import enum
import json
import logging
import math
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Optional, Union

Seconds = Union[float, timedelta]

logger = logging.getLogger("pgscylla")


def log(level: int, message: str, extra: Optional[dict[str, Any]], trace: Optional[BaseException]) -> None:
    """Handlers and filters of the application must not end a thread of the worker. Ctrl-C is none of theirs."""
    try:
        logger.log(level, "%s", message, extra=extra, exc_info=trace)
    except KeyboardInterrupt:
        if threading.current_thread() is threading.main_thread():
            raise
    except BaseException:
        pass


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
    def __init__(self, code: str, message: str = "", args: Optional[dict[str, Any]] = None) -> None:
        super().__init__(code, message)  # read when they are sent: their methods may raise
        self.code = code
        self.message = message
        self.error_args = args or {}

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" if self.message else str(self.code)


class AbortTask(_TaskError):
    """Raised by a handler: the task cannot be done, and ends as aborted."""


class FailTask(_TaskError):
    """Raised by a handler: an error that may be temporary. The task is retried after `retry_after`, or when its policy says."""

    def __init__(
        self,
        code: str,
        message: str = "",
        args: Optional[dict[str, Any]] = None,
        *,
        retry_after: Optional[Seconds] = None,
    ) -> None:
        super().__init__(code, message, args)
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


# ---- from what a handler returns or raises to an outcome. Methods of the application's objects may raise anything --------

MAX_ERROR = 1 << 20  # bytes of an error's JSON that the server stores
MAX_FRAMES = 30  # of a traceback
MAX_STACK = 4000  # characters of it that are sent
MAX_VALUE = 1 << 28  # bytes of JSON: jsonb holds no more, and several at once would exceed a message of the protocol


def printable(text: str) -> str:
    """A text that PostgreSQL can store. Of a subclass of str no method is called."""
    return str.encode(text, "utf-8", "replace").decode().replace("\0", "\ufffd")


def type_name(value: object) -> str:
    """A metaclass may have a __name__ of its own."""
    return str(vars(type)["__name__"].__get__(type(value)))


def text_of(value: object) -> str:
    """str(value), or which type it has if that raises."""
    try:
        return printable(str(value))
    except BaseException as error:
        return f"a {type_name(value)} whose text cannot be read ({type_name(error)})"


def cut(text: str, room: int) -> str:
    """The text, or its beginning, such that its JSON has at most so many bytes."""
    size = len(json.dumps(text, ensure_ascii=False).encode())
    if size <= room:
        return text
    note = f"… (cut: {len(text)} characters)"
    kept = text
    while size > room - len(note) - 2:
        kept = kept[: min(len(kept) - 1, len(kept) * (room - len(note) - 2) // size)]
        size = len(json.dumps(kept, ensure_ascii=False).encode())
    return kept + note


def to_json(value: Any) -> Optional[str]:
    text = None if value is None else json.dumps(value, allow_nan=False)
    if text is not None and len(text) > MAX_VALUE:
        raise ValueError(f"its JSON has {len(text)} bytes, more than {MAX_VALUE}")
    return text


def stack_of(error: BaseException) -> str:
    """The end of the traceback, where the exception was raised. Empty if it cannot be read."""
    try:
        return printable("".join(traceback.format_exception(type(error), error, error.__traceback__, -MAX_FRAMES)))[-MAX_STACK:]
    except BaseException:
        return ""


def error_json(code: str, message: str, args: object = None, details: str = "") -> str:
    """Of a long message the beginning is sent."""
    said = {"code": printable(code), "args": {} if args is None else args}
    if details:
        said["details"] = details
    room = MAX_ERROR - len(json.dumps(said, allow_nan=False)) - 100
    return json.dumps({**said, "message": cut(printable(message), max(room, 1000))})


def failed(code: str, message: str, details: str = "") -> Outcome:
    return Outcome(Kind.FAIL, error=error_json(code, message, details=details), note=code)


def invalid(what: str, value: object, why: object) -> Outcome:
    return failed("invalid-outcome", f"{what} a {type_name(value)} that cannot be stored: {type_name(why)}: {text_of(why)}")


def outcome_of(value: Any) -> Outcome:
    """The outcome for a handler's return value."""
    result = value
    try:
        if issubclass(type(value), Complete):
            result = value.result
            return Outcome(Kind.COMPLETE, to_json(result), to_json(value.metrics))
        return Outcome(Kind.COMPLETE, to_json(value))
    except BaseException as error:
        return invalid("the handler returned", result, error)


def outcome_of_exception(error: BaseException, asked_to_stop: bool) -> Outcome:
    """The outcome for an exception of a handler."""
    kind = type(error)
    if issubclass(kind, YieldTask) or (asked_to_stop and not issubclass(kind, _TaskError)):
        return YIELDED
    try:
        if issubclass(kind, _TaskError):
            return _outcome_of_task_error(error)  # type: ignore[arg-type]
        message = printable(str(error))
    except BaseException as why:
        return invalid("the handler raised", error, why)
    return failed("exception", type_name(error) + (f": {message}" if message else ""), stack_of(error))


def _outcome_of_task_error(error: _TaskError) -> Outcome:
    for name, value in (("code", error.code), ("message", error.message)):
        if not issubclass(type(value), str):
            raise TypeError(f"its {name} is no str but a {type_name(value)}")
    code = printable(error.code)
    text = error_json(code, error.message, error.error_args)
    if not issubclass(type(error), FailTask):
        return Outcome(Kind.ABORT, error=text, note=code)
    retry_after: Any = error.retry_after  # type: ignore[attr-defined]
    return Outcome(Kind.FAIL, error=text, retry_after=_retry_after(retry_after), note=code)


def _retry_after(value: Any) -> Optional[float]:
    if value is None:
        return None
    if isinstance(value, (bool, str, bytes, bytearray)):
        raise TypeError(f"its retry_after is no number but a {type_name(value)}")
    seconds = seconds_of(value)
    if not math.isfinite(seconds) or not 0 <= seconds <= 365 * 86400:
        raise ValueError(f"its retry_after is {seconds} seconds, not 0 to 365 days")
    return seconds


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
        self.unreadable: Optional[str] = None  # why the task cannot be given to the handler
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
        number = float(value)
        self.progress = min(number, 1.0) if number > 0 else 0.0  # nan, too

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
        except BaseException as error:  # the application's; leases are extended all the same
            log(logging.ERROR, f"on_stop: the function raised an exception (task {self.task.rn})", None, error)
