"""The calls of a worker. Tasks are passed as lists of names and attempts, JSON as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Optional

from ._job import Held, Task
from ._link import Connection

# Times as microseconds, independent of the settings of the session. A bigint keeps its precision.
# Of JSON the text: what cannot be read must not end the call that leases it.
_JOB = """select rn, queue, spec::text, priority, (extract(epoch from created) * 1000000)::bigint, args::text, errors::text, attempt,
  failures, max_attempts, plan, key, pool, (extract(epoch from deadline - updated) * 1000000)::bigint from """
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _interval(seconds: Optional[float]) -> Optional[str]:
    return None if seconds is None else f"{max(1, round(seconds * 1_000_000))} microseconds"


@dataclass(frozen=True)
class Leased:
    task: Task
    lasts: float  # seconds
    unreadable: Optional[str] = None  # why its JSON cannot be read: Python has limits of depth, and of digits


def _task(row: Sequence[Any]) -> Leased:
    rn, queue, spec, priority, created, args, errors, attempt, failures, max_attempts, plan, key, pool, lasts = row
    when = _EPOCH + timedelta(microseconds=created)
    unreadable = None
    try:
        spec, args, errors = (None if text is None else json.loads(text) for text in (spec, args, errors))
    except (ValueError, RecursionError, MemoryError) as error:
        unreadable = f"{type(error).__name__}: {error}"
        spec = args = errors = None
    task = Task(
        rn, queue, spec, priority, when, args or [], errors or [], attempt, failures, max_attempts, plan, key, pool
    )
    return Leased(task, lasts / 1_000_000, unreadable)


def _rns(jobs: Sequence[Held]) -> list[str]:
    return [job.task.rn for job in jobs]


def _attempts(jobs: Sequence[Held]) -> list[int]:
    return [job.task.attempt for job in jobs]


def register_worker(on: Connection) -> str:
    [row] = on.execute("select scylla.register_worker()").fetchall()
    return str(row[0])


def wait_any(on: Connection, queues: list[str], seconds: float) -> Optional[str]:
    [row] = on.execute("call scylla.wait_any(%s::text[], %s::interval)", (queues, _interval(seconds))).fetchall()
    return None if row[0] is None else str(row[0])


def lease(
    on: Connection, queue: str, worker: str, max_tasks: int, timeout: Optional[float]
) -> list[Leased]:
    sql = _JOB + "scylla.lease(%s, %s, %s::int, %s::interval)"
    return [_task(row) for row in on.execute(sql, (queue, worker, max_tasks, _interval(timeout)))]


def complete_and_lease(
    on: Connection,
    jobs: Sequence[Held],
    results: list[Optional[str]],
    worker: str,
    queue: str,
    max_tasks: int,
    timeout: Optional[float],
) -> list[Leased]:
    sql = _JOB + (
        "scylla.complete_and_lease(%s::text[], %s, %s, %s::int, %s::interval, %s::text[]::jsonb[], %s::int[])"
    )
    values = (_rns(jobs), worker, queue, max_tasks, _interval(timeout), results, _attempts(jobs))
    return [_task(row) for row in on.execute(sql, values)]


def held_tasks(on: Connection, worker: str) -> list[Leased]:
    return [_task(row) for row in on.execute(_JOB + "scylla.list_tasks(null, 'running', %s, 100000)", (worker,))]


def heartbeat_many(
    on: Connection, jobs: Sequence[Held], worker: str, timeout: Optional[float]
) -> list[tuple[bool, Optional[str]]]:
    sql = "select held, status::text from scylla.heartbeat_many(%s::text[], %s, %s::interval, %s::int[])"
    rows: list[Any] = on.execute(sql, (_rns(jobs), worker, _interval(timeout), _attempts(jobs))).fetchall()
    return rows


def heartbeat_each(
    on: Connection, jobs: Sequence[Held], progress: list[float], worker: str, timeout: Optional[float]
) -> None:
    """All or none. In the order of their names, as in the server's own batches, so that two cannot deadlock."""
    on.execute(
        "select h.rn from (select * from unnest(%s::text[], %s::float8[], %s::int[]) as u(rn, progress, attempt)"
        " order by rn) t, lateral scylla.heartbeat(t.rn, %s, t.progress, %s::interval, t.attempt) h",
        (_rns(jobs), progress, _attempts(jobs), worker, _interval(timeout)),
    )


def complete_many(
    on: Connection, jobs: Sequence[Held], results: list[Optional[str]], worker: str
) -> list[tuple[bool, Optional[str]]]:
    sql = "select completed, status::text from scylla.complete_many(%s::text[], %s, %s::text[]::jsonb[], %s::int[])"
    rows: list[Any] = on.execute(sql, (_rns(jobs), worker, results, _attempts(jobs))).fetchall()
    return rows


def complete(on: Connection, job: Held, result: Optional[str], metrics: Optional[str]) -> None:
    on.execute(
        "select from scylla.complete(%s, %s, %s::jsonb, %s::jsonb, %s::int)",
        (job.task.rn, job.worker, result, metrics, job.task.attempt),
    )


def fail(on: Connection, job: Held, error: Optional[str], retry_after: Optional[float]) -> None:
    after = None if retry_after is None else f"{round(retry_after * 1_000_000)} microseconds"
    on.execute(
        "select from scylla.fail(%s, %s, %s::jsonb, %s::interval, %s::int)",
        (job.task.rn, job.worker, error, after, job.task.attempt),
    )


def abort(on: Connection, job: Held, error: Optional[str]) -> None:
    on.execute(
        "select from scylla.abort(%s, %s, %s::jsonb, %s::int)", (job.task.rn, job.worker, error, job.task.attempt)
    )


def yield_task(on: Connection, job: Held) -> None:
    on.execute("select from scylla.yield(%s, %s, %s::int)", (job.task.rn, job.worker, job.task.attempt))


def yield_each(on: Connection, jobs: Sequence[Held], worker: str) -> None:
    """All or none, in the order of their names."""
    on.execute(
        "select y.rn from (select * from unnest(%s::text[], %s::int[]) as u(rn, attempt) order by rn) t,"
        " lateral scylla.yield(t.rn, %s, t.attempt) y",
        (_rns(jobs), _attempts(jobs), worker),
    )


def state_of(on: Connection, rn: str) -> Optional[tuple[str, int, int]]:
    """Status, attempt and failures."""
    row = on.execute("select status::text, attempt, failures from scylla.get_task(%s)", (rn,)).fetchone()
    return None if row is None else (row[0], row[1], row[2])
