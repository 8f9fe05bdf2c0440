"""A worker whose handlers run in threads."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any, Optional, Union

from ._core import Core
from ._job import (
    Held,
    Outcome,
    Seconds,
    StopReason,
    Task,
    failed,
    outcome_of,
    outcome_of_exception,
    seconds_of,
)
from ._options import Counters, checked, checked_handler


class Job:
    """The argument of a handler: its task, and calls about it. Valid while the handler runs. Thread-safe."""

    def __init__(self, held: Held) -> None:
        self._held = held

    @property
    def task(self) -> Task:
        return self._held.task

    @property
    def rn(self) -> str:
        return self._held.task.rn

    @property
    def spec(self) -> Any:
        return self._held.task.spec

    @property
    def attempt(self) -> int:
        return self._held.task.attempt

    @property
    def worker(self) -> str:
        """The name of the worker."""
        return self._held.worker

    def progress(self, value: float) -> None:
        """0 to 1, for display; sent with one of the next heartbeats. Values outside are clamped."""
        self._held.say_progress(value)

    @property
    def stop_requested(self) -> bool:
        return self._held.reason is not None

    @property
    def stop_reason(self) -> Optional[StopReason]:
        """None: the handler has not been asked to stop."""
        return self._held.reason

    def on_stop(self, function: Callable[[StopReason], object]) -> None:
        """Calls a function when a stop is requested, or at once if it was requested before, and again if the reason changes.

        It is called by another thread, and must neither block nor raise.
        """
        self._held.on_stop(function)

    def wait(self, seconds: Seconds) -> bool:
        """Sleeps. True at once when a stop is requested, False after that time."""
        return self._held.stopped.wait(seconds_of(seconds))


class Worker:
    """Leases tasks, runs the handler on them in threads, extends the leases, and finishes the tasks.

    A worker has three connections of its own: to lease and finish, for heartbeats, and to wait. It survives the loss of
    any of them. Every call about a task names its attempt, so a worker never finishes a task that it no longer holds.

    conninfo: as for libpq; several hosts for failover. Missing settings come from the environment.
    queues: one queue, or up to 64, which are used in turn.
    handler: is called with a Job by several threads at once if the concurrency is more than 1. It returns the result of
        the task, anything that `json.dumps` accepts, None, or a Complete. It raises AbortTask, FailTask or YieldTask; any
        other exception fails the task with the code "exception", or yields it if the handler has been asked to stop.
    name: None: the server assigns one. Two workers must not have the same name.
    concurrency: how many handlers may run at the same time.
    prefetch: how many more tasks may be leased than run, so that short tasks need not wait for the network.
    max_batch: maximum number of tasks that one call leases, finishes or extends.
    lease_timeout: how long a lease lasts without a heartbeat; None: the queue's default. Heartbeats are sent when a third
        of it has passed.
    stop_grace: how long running handlers may continue after stop() before their tasks are yielded.
    capacity: is called before each lease: how many tasks to lease now, given how many there is room for. If it returns less,
        it is called again after capacity_interval. It must not block.
    use_wait: whether an idle worker sleeps by CALL scylla.wait_any. Otherwise, or where the server refuses that, it polls,
        at first every poll_min, then less and less often, down to every poll_max.
    call_timeout: how long a call may take before its connection counts as lost.
    reconnect_min, reconnect_max: pauses between attempts to connect, doubled from the first to the last.

    Times are seconds or timedeltas.
    """

    def __init__(
        self,
        conninfo: str,
        queues: Union[str, Sequence[str]],
        handler: Callable[[Job], Any],
        *,
        name: Optional[str] = None,
        concurrency: int = 1,
        prefetch: int = 0,
        max_batch: int = 200,
        lease_timeout: Optional[Seconds] = None,
        stop_grace: Seconds = 5,
        capacity: Optional[Callable[[int], int]] = None,
        capacity_interval: Seconds = 1,
        use_wait: bool = True,
        poll_min: Seconds = 0.05,
        poll_max: Seconds = 1,
        call_timeout: Seconds = 30,
        reconnect_min: Seconds = 0.1,
        reconnect_max: Seconds = 5,
    ) -> None:
        self._handler = checked_handler(handler, coroutines=False)
        self._signals: Optional[_Signals] = None
        self._core = Core(
            checked(
                conninfo,
                queues,
                name=name,
                concurrency=concurrency,
                prefetch=prefetch,
                max_batch=max_batch,
                lease_timeout=lease_timeout,
                stop_grace=stop_grace,
                capacity=capacity,
                capacity_interval=capacity_interval,
                use_wait=use_wait,
                poll_min=poll_min,
                poll_max=poll_max,
                call_timeout=call_timeout,
                reconnect_min=reconnect_min,
                reconnect_max=reconnect_max,
            )
        )

    def run(self) -> int:
        """Works until stop(). Once per worker.

        Returns how many handlers were still running when their tasks were yielded. Their threads are daemons: they do
        not keep the process alive. Raises psycopg.Error for errors that cannot be temporary: no extension, no privilege.
        """
        try:
            return self._core.run(_Threads(self._core, self._handler))
        finally:
            if self._signals is not None:
                self._signals.restore()
                self._signals = None

    def stop(self) -> None:
        """Makes run() return: no more leases; handlers are asked to stop; tasks that are not finished within the grace are
        yielded. From any thread, also before run(); returns at once."""
        self._core.stop()

    def stop_on_signals(self) -> None:
        """stop() on SIGTERM and SIGINT until run() returns. A second signal ends the grace. Call it in the main thread."""
        if self._signals is None:
            self._signals = _Signals(self._core)

    @property
    def name(self) -> Optional[str]:
        """None until the server has assigned one."""
        return self._core.name

    def counters(self) -> Counters:
        return self._core.snapshot()


class _Threads:
    def __init__(self, core: Core, handler: Callable[[Job], Any]) -> None:
        self._core = core
        self._handler = handler
        self._for_handlers = threading.Condition(core.lock)

    def start(self) -> None:
        for number in range(self._core.options.concurrency):
            threading.Thread(target=self._work, name=f"scylla-handler-{number + 1}", daemon=True).start()

    def tasks_are_queued(self) -> None:
        with self._core.lock:
            self._for_handlers.notify_all()

    def stop(self) -> None:
        self.tasks_are_queued()

    def _work(self) -> None:
        core = self._core
        while True:
            with core.lock:
                job = core.take()
                while job is None:
                    if core.quitting:
                        return
                    self._for_handlers.wait()
                    job = core.take()
            outcome = self._run(job)
            with core.lock:
                core.done(job, outcome)
            del job, outcome

    def _run(self, job: Held) -> Outcome:
        if job.unreadable is not None:
            return failed("unreadable-task", job.unreadable)
        try:
            value = self._handler(Job(job))
        except BaseException as error:
            outcome = outcome_of_exception(error, job.reason is not None)
            if outcome.note == "exception":
                self._core.log(logging.WARNING, "exception", "the handler raised an exception", job, trace=error)
            return outcome
        return outcome_of(value)


class _Signals:
    """The handler of a signal may run while its thread holds a lock: it only writes a byte, which a thread reads."""

    def __init__(self, core: Core) -> None:
        reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        self._before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        threading.Thread(target=self._watch, args=(core, reading), name="scylla-signals", daemon=True).start()

    def _on_signal(self, *_: object) -> None:
        try:
            os.write(self._writing, b"s")
        except BlockingIOError:  # full: the thread has enough to read
            pass

    @staticmethod
    def _watch(core: Core, reading: int) -> None:
        for action in (core.stop, core.end_grace):
            if not os.read(reading, 1):
                break
            action()
        while os.read(reading, 1000):
            pass
        os.close(reading)

    def restore(self) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        os.close(self._writing)
