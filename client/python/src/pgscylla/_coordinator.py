"""Leasing and finishing: the only thread that decides what to request from the server next."""

from __future__ import annotations

import logging
import time
from typing import Optional

import psycopg

from . import _calls as calls
from ._core import Core, Report, thread
from ._job import YIELDED, Held, Kind, Phase, failed
from ._link import Link, Lost, Quitting, backoff
from ._refusal import MAX_DOUBTS, MAX_REPEATS, Fate, fate_of


def _rule(error: psycopg.Error) -> Optional[str]:
    return error.diag.constraint_name if error.diag.schema_name == "scylla" else None


_NO_EXTENSION = ("42883", "42P01", "3F000")
_MAX_BYTES = 1 << 24  # of the results that one call reports, unless one alone has more


def _cannot_pass(error: psycopg.Error) -> bool:
    """No extension, no privilege, a bad argument: not a temporary error."""
    state = error.sqlstate or ""
    return state in ("0A000", "42501", "3D000", *_NO_EXTENSION) or state[:2] == "22"


def _with_hint(error: psycopg.Error) -> psycopg.Error:
    if error.sqlstate not in _NO_EXTENSION:
        return error
    return type(error)(f"{error}\nHINT:  Run CREATE EXTENSION scylla in this database, or ALTER EXTENSION scylla UPDATE.")


class Coordinator:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._options = core.options
        self._link: Link = core.control
        self._capacity_at = 0.0
        self._last_pass = 0.0
        self._fruitless = 0  # passes in a row that leased nothing
        self._next_queue = 0
        self._adopt = False  # a lease is in doubt
        self._started = False

    def run(self) -> None:
        thread(self._core, self._link, self._coordinate)

    def _coordinate(self) -> None:
        core = self._core
        self._name_oneself()
        while not core.stopping:
            try:
                self._step()
            except Lost:  # logged; the next call connects again
                pass
            except psycopg.Error as error:
                if not self._started and _cannot_pass(error):
                    raise _with_hint(error) from error
                core.log(logging.ERROR, "call-failed", str(error), None, error)
                if not core.sleep(self._options.reconnect_max):
                    return
        self._shut_down()
        with core.lock:
            core.coordinator_done = True
            core.for_run.notify_all()

    def _name_oneself(self) -> None:
        core = self._core
        while core.name is None and not core.stopping:
            try:
                core.name = self._link.call(calls.register_worker)
                core.named_by_server = True
                core.log(logging.INFO, "named", f"the server calls this worker {core.name}")
            except Lost:
                pass
            except psycopg.Error as error:
                raise _with_hint(error) from error

    # ---- one exchange with the server, when there is something to report or lease ------------------------------------

    def _step(self) -> None:
        core = self._core
        with core.lock:
            self._wait_for_work()
            if core.quitting:
                raise Quitting
            if core.stopping:
                return
            now = time.monotonic()
            batch = self._take_due(now)
            want = self._room(len(batch)) if core.looking and (batch or self._may_lease(now)) else 0
        if want > 0:
            allowed = core.allowed(want)
            if allowed < want:
                self._capacity_at = time.monotonic() + self._options.capacity_interval
            want = allowed
        refused: Optional[psycopg.Error] = None
        try:
            if self._adopt:
                self._adopt_leases()
            if want > 0:
                try:
                    self._lease_pass(batch, want)
                except psycopg.Error as error:
                    refused = error
            self._finish(batch)  # the reports need no right to lease
        except BaseException:
            self._put_back(batch, True)
            self._adopt = self._adopt or (want > 0 and core.named_by_server)
            raise
        self._put_back(batch, False)
        if refused is not None:
            raise refused
        self._started = self._started or want > 0 or bool(batch)

    def _wait_for_work(self) -> None:
        """Returns when a report is due, the worker stops, or there may be tasks to lease. With the lock held."""
        core = self._core
        while not core.quitting and not core.stopping:
            now = time.monotonic()
            if any(report.not_before <= now for report in core.finished) or self._may_lease(now):
                return
            later = [report.not_before for report in core.finished]
            if not core.looking:
                core.wait_wanted = True
                core.for_waiter.notify()
                if not core.waiter_works:
                    poll_at = self._last_pass + backoff(self._fruitless, self._options.poll_min, self._options.poll_max)
                    if now >= poll_at:
                        core.looking = True
                        core.counters.polls += 1
                        continue
                    later.append(poll_at)
            elif self._room(0) > 0:
                later.append(self._capacity_at)
            core.for_coordinator.wait(max(0.0, min(later) - now) if later else None)

    def _may_lease(self, now: float) -> bool:
        return self._core.looking and now >= self._capacity_at and self._room(0) > 0

    def _room(self, about_to_leave: int) -> int:
        """How many more leases there is room for, without those that are about to end."""
        held = len(self._core.held) - about_to_leave
        return max(0, self._options.concurrency + self._options.prefetch - held)

    def _take_due(self, now: float) -> list[Report]:
        """The reports that are due now, up to the maximum for one call."""
        due: list[Report] = []
        later: list[Report] = []
        size = 0
        finished = self._core.finished
        while finished and len(due) < self._options.max_batch and size <= _MAX_BYTES:
            report = finished.popleft()
            if report.not_before <= now and (not due or size + report.size <= _MAX_BYTES):
                due.append(report)
                size += report.size
            else:
                later.append(report)
        finished.extendleft(reversed(later))
        return due

    def _put_back(self, batch: list[Report], in_doubt: bool) -> None:
        """Puts unsettled reports back, to be sent again."""
        with self._core.lock:
            for report in batch:
                if not report.settled:
                    report.doubts += in_doubt
                    self._core.finished.append(report)

    # ---- leasing ----------------------------------------------------------------------------------------------------

    def _lease_pass(self, batch: list[Report], want: int) -> None:
        """Leases from the queues in turn, until there is no more room or all have been tried.

        The completions of the batch are sent with the first lease, if possible.
        """
        core, queues = self._core, self._options.queues
        with core.lock:
            core.looking = False  # another part that learns of tasks meanwhile sets it again
        self._last_pass = time.monotonic()
        completions = [r for r in batch if r.outcome.kind is Kind.COMPLETE and r.outcome.metrics is None and r.doubts == 0]
        first = self._next_queue % len(queues)
        self._next_queue += 1
        leased, exhausted = 0, True
        try:
            for queue in queues[first:] + queues[:first]:
                if want <= 0:
                    exhausted = False
                    break
                ask = min(want, self._options.max_batch)
                got = self._lease_from(queue, ask, completions)
                completions = []
                leased += got
                want -= got
                exhausted = exhausted and got < ask
        except BaseException:
            with core.lock:
                core.looking = True
            raise
        self._fruitless = 0 if leased > 0 else self._fruitless + 1
        if not exhausted:
            with core.lock:
                core.looking = True

    def _lease_from(self, queue: str, ask: int, completions: list[Report]) -> int:
        core = self._core
        timeout = self._options.lease_timeout
        if completions:
            jobs = [report.job for report in completions]
            results = [report.outcome.result for report in completions]
            sent = time.monotonic()
            try:
                tasks = self._link.call(
                    lambda on: calls.complete_and_lease(on, jobs, results, core.me, queue, ask, timeout)
                )
            except (Lost, Quitting):
                raise
            except Exception:  # one of them is lost, or refused by the server: _finish() finds out which
                pass
            else:
                self._settle(completions)
                return self._accept(tasks, sent, False)
        sent = time.monotonic()
        return self._accept(self._link.call(lambda on: calls.lease(on, queue, core.me, ask, timeout)), sent, False)

    def _accept(self, tasks: list[calls.Leased], sent: float, adopted: bool) -> int:
        """Takes over new leases. An adopted lease may have nearly expired."""
        core = self._core
        jobs = [Held(t.task, core.me, t.lasts, sent - t.lasts / 3 if adopted else sent) for t in tasks]
        if not jobs:
            return 0
        for job, leased in zip(jobs, tasks):
            job.unreadable = leased.unreadable
            core.log(logging.DEBUG, "adopted" if adopted else "leased", f"attempt {job.task.attempt}", job)
        with core.lock:
            core.held.update(jobs)
            core.queued.extend(jobs)
            core.counters.leased += len(jobs)
            if min(job.renew_at for job in jobs) < core.beat_at:
                core.for_heart.notify()
        core.runner.tasks_are_queued()
        return len(jobs)

    def _adopt_leases(self) -> None:
        """A lease whose answer was lost may have given us tasks. Only a name from the server is certainly unique to us."""
        core = self._core
        sent = time.monotonic()
        try:
            found = self._link.call(lambda on: calls.held_tasks(on, core.me))
        except psycopg.errors.InsufficientPrivilege:  # the tasks become ready when their leases expire
            found = []
        with core.lock:
            known = {(job.task.rn, job.task.attempt) for job in core.held}
        self._accept([f for f in found if (f.task.rn, f.task.attempt) not in known], sent, True)
        self._adopt = False

    # ---- finishing --------------------------------------------------------------------------------------------------

    def _finish(self, batch: list[Report]) -> None:
        """Sends the reports that are not settled yet. Those that cannot be sent now stay unsettled."""
        waiting = [r for r in batch if not r.settled]
        # What has broken the connection twice is sent alone: it may have been the reason.
        completions = [r for r in waiting if r.outcome.kind is Kind.COMPLETE and r.outcome.metrics is None and r.doubts < 2]
        yields = [r for r in waiting if r.outcome.kind is Kind.YIELD and r.doubts == 0]
        self._complete_together(completions)
        self._yield_together(yields)
        for report in waiting:
            if report not in completions and report not in yields:
                self._finish_alone(report)

    def _complete_together(self, reports: list[Report]) -> None:
        if not reports:
            return
        jobs = [report.job for report in reports]
        results = [report.outcome.result for report in reports]
        try:
            states = self._link.call(lambda on: calls.complete_many(on, jobs, results, self._core.me))
        except (Lost, Quitting):
            raise
        except Exception:  # one of them is malformed, or its task is locked: this must not affect the others
            for report in reports:
                self._finish_alone(report)
            return
        self._settle([report for report, (completed, _) in zip(reports, states) if completed])
        for report, (completed, status) in zip(reports, states):
            if not completed:
                self._settle_refused(report, status)

    def _yield_together(self, reports: list[Report]) -> None:
        if not reports:
            return
        jobs = [report.job for report in reports]
        try:
            self._link.call(lambda on: calls.yield_each(on, jobs, self._core.me))
            self._settle(reports)
        except psycopg.Error:  # one of them is lost, which fails the statement
            for report in reports:
                self._finish_alone(report)

    def _finish_alone(self, report: Report) -> None:
        job, outcome = report.job, report.outcome
        try:
            if outcome.kind is Kind.COMPLETE:
                self._link.call(lambda on: calls.complete(on, job, outcome.result, outcome.metrics))
            elif outcome.kind is Kind.FAIL:
                self._link.call(lambda on: calls.fail(on, job, outcome.error, outcome.retry_after))
            elif outcome.kind is Kind.ABORT:
                self._link.call(lambda on: calls.abort(on, job, outcome.error))
            else:
                self._link.call(lambda on: calls.yield_task(on, job))
            self._settle([report])
        except Lost:
            if report.doubts >= MAX_DOUBTS:
                self._replace(report, Lost(f"the connection broke {report.doubts} times while it was sent"))
            raise
        except Quitting:
            raise
        except Exception as error:
            self._refused(report, error)

    def _refused(self, report: Report, error: Exception) -> None:
        core = self._core
        sqlstate = getattr(error, "sqlstate", None)
        if sqlstate == "55000" and isinstance(error, psycopg.Error) and _rule(error) == "held":
            state = self._state_of(report.job.task.rn)
            self._settle_refused(report, state[0] if state else None)
        elif sqlstate == "P0002":
            self._settle_refused(report, None)
        else:
            report.attempts += 1
            fate = fate_of(sqlstate)
            most = 1 if core.stopping else MAX_REPEATS
            if fate is Fate.PERMANENT or (fate is Fate.UNKNOWN and report.attempts > most):
                self._replace(report, error)
                return
            report.not_before = time.monotonic() + backoff(report.attempts, 0.1, self._options.reconnect_max)
            core.log(logging.WARNING, "finish-failed", str(error), report.job, error)

    def _replace(self, report: Report, error: Exception) -> None:
        """The same report would fail again: the task fails, or is yielded, or its lease expires, whichever the server accepts."""
        core = self._core
        core.log(logging.ERROR, "invalid-outcome", str(error), report.job, error)
        if report.outcome.kind is Kind.YIELD:
            report.settled = True
            with core.lock:
                core.held.discard(report.job)
            core.lost(report.job, "running, and its lease expires: the server refuses every report")
            return
        report.outcome = YIELDED if report.spoilt else failed("invalid-outcome", f"the server refuses the outcome: {error}")
        report.spoilt = True
        report.attempts, report.doubts, report.not_before = 0, min(report.doubts, 1), 0.0

    def _state_of(self, rn: str) -> Optional[tuple[str, int, int]]:
        try:
            return self._link.call(lambda on: calls.state_of(on, rn))
        except psycopg.Error:  # purged, or we may not look
            return None

    def _settle(self, reports: list[Report]) -> None:
        """The server has the reports. Results of handlers that still run are not needed."""
        core = self._core
        with core.lock:
            for report in reports:
                report.settled = True
                core.held.discard(report.job)
                name = report.outcome.kind.value
                setattr(core.counters, name, getattr(core.counters, name) + 1)
        for report in reports:
            quiet = report.outcome.kind in (Kind.COMPLETE, Kind.YIELD)
            level = logging.DEBUG if quiet else logging.INFO
            core.log(level, report.outcome.kind.value, report.outcome.note, report.job)

    def _settle_refused(self, report: Report, status: Optional[str]) -> None:
        """The lease is not ours any more. If a connection broke during the report, our own report may have ended it."""
        if report.doubts > 0 and self._was_ours(report):
            self._settle([report])
            return
        report.settled = True
        with self._core.lock:
            self._core.held.discard(report.job)
        self._core.lost(report.job, status)

    def _was_ours(self, report: Report) -> bool:
        task, kind = report.job.task, report.outcome.kind
        state = self._state_of(task.rn)
        if state is None or state[1] != task.attempt:
            return False
        status, _, failures = state
        if kind is Kind.FAIL:
            return failures > task.failures
        return status == {Kind.COMPLETE: "completed", Kind.ABORT: "aborted", Kind.YIELD: "ready"}[kind]

    # ---- the end ----------------------------------------------------------------------------------------------------

    def _shut_down(self) -> None:
        """No more leases; tasks that have not been started are yielded at once, running ones after the grace."""
        core = self._core
        core.log(logging.INFO, "stopping", "stopping")
        while True:
            with core.lock:
                if core.quitting:
                    raise Quitting
                for job in list(core.queued):
                    core.give_back_queued(job)
                now = time.monotonic()
                if now >= core.grace_end:
                    self._give_back_running()
                batch = self._take_due(now)
                if not batch and not self._adopt:
                    if not core.finished and not any(self._runs(job) for job in core.held):
                        return
                    times = [report.not_before for report in core.finished]
                    if now < core.grace_end:
                        times.append(core.grace_end)
                    core.for_coordinator.wait(max(0.0, min(times) - now) if times else None)
                    continue
            self._say_at_the_end(batch)

    @staticmethod
    def _runs(job: Held) -> bool:
        return job.phase is Phase.RUNNING and not job.gone

    def _give_back_running(self) -> None:
        for job in self._core.held:
            if self._runs(job):
                job.phase = Phase.ABANDONED
                self._core.finished.append(Report(job, YIELDED))

    def _say_at_the_end(self, batch: list[Report]) -> None:
        in_doubt = True
        try:
            if self._adopt:
                self._adopt_leases()
            self._finish(batch)
            in_doubt = False
        except Lost:
            pass
        except psycopg.Error as error:
            self._core.log(logging.ERROR, "call-failed", str(error), None, error)
            self._adopt = in_doubt = False
        finally:
            self._put_back(batch, in_doubt)
