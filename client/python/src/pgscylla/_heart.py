"""Extends leases: all of a worker's in batches, when a third of their time has passed."""

from __future__ import annotations

import logging
import time
from typing import Optional

import psycopg

from . import _calls as calls
from ._core import Core, thread
from ._job import Held, Phase, StopReason
from ._link import Lost

_PROGRESS_INTERVAL = 1.0  # minimum time between two reports of progress


class Heart:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._last_progress = time.monotonic()

    def run(self) -> None:
        thread(self._core, self._core.heart, self._beat)

    def _beat(self) -> None:
        while True:
            contents = self._wait_for_beat()
            if contents is None:
                return
            told, due = contents
            try:
                for batch in self._batches(told):
                    due += self._send_progress(batch)
                for batch in self._batches(due):
                    self._extend(batch)
            except Lost:  # logged; the next call connects again
                pass
            except psycopg.Error as error:
                self._core.log(logging.ERROR, "heartbeat-failed", str(error), None, error)
                if not self._core.sleep(self._core.options.reconnect_max):
                    return

    def _batches(self, jobs: list[Held]) -> list[list[Held]]:
        size = self._core.options.max_batch
        return [jobs[at : at + size] for at in range(0, len(jobs), size)]

    def _wait_for_beat(self) -> Optional[tuple[list[Held], list[Held]]]:
        """Waits until there is something to send: progress, and leases that must be extended."""
        core = self._core
        with core.lock:
            while True:
                if core.quitting:
                    return None
                now = time.monotonic()
                live = [job for job in core.held if not job.gone]
                core.beat_at = min((job.renew_at for job in live), default=float("inf"))
                until = core.beat_at
                if live:
                    until = min(until, self._last_progress + _PROGRESS_INTERVAL)
                if until <= now:
                    break
                core.for_heart.wait(None if until == float("inf") else until - now)
            self._last_progress = now
            told = [job for job in live if job.progress != job.sent_progress and job.phase is Phase.RUNNING]
            due: list[Held] = []
            if core.beat_at <= now:  # if one is due, those that will be due soon are included
                due = [job for job in live if job not in told and job.renewed + job.lasts / 6 <= now]
            return told, due

    def _send_progress(self, jobs: list[Held]) -> list[Held]:
        """One statement for all. If one of them is lost, it fails: then all are extended without progress."""
        core = self._core
        told = [(job, job.progress) for job in jobs]
        sent = time.monotonic()
        values = [progress or 0.0 for _, progress in told]
        try:
            core.heart.call(lambda on: calls.heartbeat_each(on, jobs, values, core.me, core.options.lease_timeout))
        except psycopg.Error:
            return jobs
        with core.lock:
            for job, progress in told:
                job.sent_progress = progress
                job.renewed = sent
            core.counters.heartbeats += len(told)
        return []

    def _extend(self, jobs: list[Held]) -> None:
        core = self._core
        sent = time.monotonic()
        try:
            states = core.heart.call(lambda on: calls.heartbeat_many(on, jobs, core.me, core.options.lease_timeout))
        except (psycopg.errors.LockNotAvailable, psycopg.errors.TransactionRollback, psycopg.errors.DeadlockDetected) as error:
            if len(jobs) > 1:  # another transaction holds one of the tasks for long
                for job in jobs:
                    self._extend([job])
                return
            core.log(logging.WARNING, "heartbeat-failed", str(error), jobs[0], error)
            with core.lock:
                jobs[0].renewed += jobs[0].lasts / 12  # not again at once
            return
        self._extended(jobs, states, sent)

    def _extended(self, jobs: list[Held], states: list[tuple[bool, Optional[str]]], sent: float) -> None:
        core = self._core
        gone: list[tuple[Held, Optional[str]]] = []
        with core.lock:
            for job, (held, status) in zip(jobs, states):
                if held or job.phase not in (Phase.QUEUED, Phase.RUNNING):
                    job.renewed = sent  # if not, it has just been finished, or the coordinator will notice
                    core.counters.heartbeats += held
                    continue
                job.gone = True
                gone.append((job, status))
                if job.phase is Phase.QUEUED:
                    core.queued.remove(job)
                    core.held.discard(job)
                    core.for_coordinator.notify()  # there is room again
        for job, status in gone:
            core.lost(job, status)
            job.request_stop(StopReason.CANCELLED if status == "cancelled" else StopReason.LEASE_LOST)
