"""The options of a worker, checked, and its counters."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Optional, TypeVar, Union

from psycopg.conninfo import conninfo_to_dict

from ._job import Seconds, seconds_of

T = TypeVar("T")


@dataclass
class Counters:
    """Totals since the worker was made, and present numbers."""

    leased: int = 0
    completed: int = 0
    failed: int = 0
    aborted: int = 0
    yielded: int = 0
    lost: int = 0
    """Leases that were no longer the worker's."""
    cancelled: int = 0
    """Tasks that were cancelled while the worker held them."""
    heartbeats: int = 0
    """Leases extended."""
    waits: int = 0
    """Sleeps by scylla.wait_any."""
    polls: int = 0
    """Sleeps without it."""
    connections: int = 0
    """Connections made, the first ones included."""
    held: int = 0
    """Leases now."""
    running: int = 0
    """Handlers now."""


@dataclass(frozen=True)
class Options:
    """As documented for `Worker`."""

    conninfo: dict[str, Any]
    queues: list[str]
    name: Optional[str]
    concurrency: int
    prefetch: int
    max_batch: int
    lease_timeout: Optional[float]
    stop_grace: float
    capacity: Optional[Callable[[int], int]]
    capacity_interval: float
    use_wait: bool
    poll_min: float
    poll_max: float
    call_timeout: float
    reconnect_min: float
    reconnect_max: float


def _between(name: str, value: int, lowest: int, highest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise ValueError(f'invalid value for worker option "{name}": {value!r} is not {lowest} to {highest}')
    return value


def _time(name: str, value: Seconds, *, zero: bool = False) -> float:
    seconds = seconds_of(value)
    if not (seconds > 0 or (zero and seconds == 0)) or seconds > 365 * 86400:
        rule = "0 to 365 days" if zero else "more than 0, at most 365 days"
        raise ValueError(f'invalid value for worker option "{name}": {value!r} is not {rule}')
    return seconds


def checked_handler(handler: Callable[..., T], coroutines: bool) -> Callable[..., T]:
    """Coroutine functions are for an AsyncWorker: a thread would take the coroutine, which nobody awaits, for the result."""
    if not callable(handler):
        raise TypeError(f"a worker needs a function as its handler, not {handler!r}")
    inner: Any = handler
    while isinstance(inner, functools.partial):
        inner = inner.func
    if not coroutines and (inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(getattr(inner, "__call__", None))):
        raise TypeError("the handler is a coroutine function, which needs an AsyncWorker instead of a Worker")
    return handler


def _queues(queues: Union[str, Sequence[str]]) -> list[str]:
    names = [queues] if isinstance(queues, str) else list(queues)
    if not 1 <= len(names) <= 64:
        raise ValueError(f'invalid value for worker option "queues": {len(names)} is not 1 to 64 queues')
    for name in names:
        if not isinstance(name, str) or not 1 <= len(name) <= 200 or "\0" in name:
            raise ValueError(f'invalid value for worker option "queues": {name!r} is no name of 1 to 200 characters')
    return names


def _complete_conninfo(conninfo: str, call_timeout: float) -> dict[str, Any]:
    """A server that accepts no writes has no tasks to lease: of several hosts the one that does is used."""
    said = conninfo_to_dict(conninfo)
    for keyword, value, variable in (
        ("fallback_application_name", "scylla worker", None),
        ("target_session_attrs", "read-write", "PGTARGETSESSIONATTRS"),
        ("connect_timeout", "5", "PGCONNECT_TIMEOUT"),
        ("tcp_user_timeout", str(int(call_timeout * 1000)), None),
    ):
        if variable is None or variable not in os.environ:
            said.setdefault(keyword, value)
    said["client_encoding"] = "UTF8"
    return said


def checked(
    conninfo: str,
    queues: Union[str, Sequence[str]],
    *,
    name: Optional[str],
    concurrency: int,
    prefetch: int,
    max_batch: int,
    lease_timeout: Optional[Seconds],
    stop_grace: Seconds,
    capacity: Optional[Callable[[int], int]],
    capacity_interval: Seconds,
    use_wait: bool,
    poll_min: Seconds,
    poll_max: Seconds,
    call_timeout: Seconds,
    reconnect_min: Seconds,
    reconnect_max: Seconds,
) -> Options:
    timeout = _time("call_timeout", call_timeout)
    if name is not None and (not isinstance(name, str) or not 1 <= len(name) <= 200 or "\0" in name):
        raise ValueError(f'invalid value for worker option "name": {name!r} is no name of 1 to 200 characters')
    return Options(
        conninfo=_complete_conninfo(conninfo, timeout),
        queues=_queues(queues),
        name=name,
        concurrency=_between("concurrency", concurrency, 1, 10_000),
        prefetch=_between("prefetch", prefetch, 0, 90_000),
        max_batch=_between("max_batch", max_batch, 1, 100_000),
        lease_timeout=None if lease_timeout is None else _time("lease_timeout", lease_timeout),
        stop_grace=_time("stop_grace", stop_grace, zero=True),
        capacity=capacity,
        capacity_interval=_time("capacity_interval", capacity_interval),
        use_wait=bool(use_wait),
        poll_min=_time("poll_min", poll_min),
        poll_max=_time("poll_max", poll_max),
        call_timeout=timeout,
        reconnect_min=_time("reconnect_min", reconnect_min),
        reconnect_max=_time("reconnect_max", reconnect_max),
    )
