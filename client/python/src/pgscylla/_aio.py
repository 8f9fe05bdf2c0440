"""A worker whose handlers are coroutines on an asyncio event loop.

Its connections are used by threads, so leases are extended even while a handler blocks the loop.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import signal
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Optional, Union

from ._core import Core
from ._job import Held, Outcome, Seconds, StopReason, failed, outcome_of, outcome_of_exception, seconds_of
from ._options import Counters, checked, checked_handler
from ._threads import Job


class AsyncJob(Job):
    """The argument of a coroutine: its task, and calls about it."""

    def __init__(self, held: Held, stopped: asyncio.Event) -> None:
        super().__init__(held)
        self._stopped = stopped

    async def sleep(self, seconds: Seconds) -> bool:
        """Sleeps. True at once when a stop is requested, False after that time."""
        try:
            await asyncio.wait_for(self._stopped.wait(), seconds_of(seconds))
        except asyncio.TimeoutError:
            return False
        return True


class AsyncWorker:
    """Leases tasks, runs coroutines on them, extends the leases, and finishes the tasks.

    The options are those of `Worker`. A coroutine whose task was cancelled, or whose lease was lost, is cancelled
    (asyncio.CancelledError). When the worker stops, coroutines continue for `stop_grace`; `job.stop_requested` is set, and
    `job.sleep` ends early. Those that are not done by then are cancelled, and their tasks yielded.
    """

    def __init__(
        self,
        conninfo: str,
        queues: Union[str, Sequence[str]],
        handler: Callable[[AsyncJob], Awaitable[Any]],
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
        self._handler = checked_handler(handler, coroutines=True)
        self._stops_on_signals = False
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

    async def run(self) -> int:
        """Works until stop(), or until it is cancelled. Once per worker.

        Returns how many coroutines were still running when their tasks were yielded; they have been cancelled. Raises
        psycopg.Error for errors that cannot be temporary: no extension, no privilege.
        """
        loop = asyncio.get_running_loop()
        tasks = _Tasks(self._core, self._handler, loop)
        ended: asyncio.Future[int] = loop.create_future()
        threading.Thread(target=self._run_core, args=(tasks, loop, ended), name="scylla-worker", daemon=True).start()
        if self._stops_on_signals:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._on_signal)
        try:
            return await asyncio.shield(ended)
        except asyncio.CancelledError:
            self.stop()
            await asyncio.wait([ended])
            raise
        finally:
            await tasks.end()
            if self._stops_on_signals:
                for number in (signal.SIGTERM, signal.SIGINT):
                    loop.remove_signal_handler(number)

    def stop(self) -> None:
        """Makes run() return. From any thread, also before run(); returns at once."""
        self._core.stop()

    def stop_on_signals(self) -> None:
        """stop() on SIGTERM and SIGINT while run() runs. A second signal ends the grace."""
        self._stops_on_signals = True

    def _on_signal(self) -> None:
        if self._core.stopping:
            self._core.end_grace()
        self._core.stop()

    @property
    def name(self) -> Optional[str]:
        """None until the server has assigned one."""
        return self._core.name

    def counters(self) -> Counters:
        return self._core.snapshot()

    def _run_core(self, tasks: _Tasks, loop: asyncio.AbstractEventLoop, ended: asyncio.Future[int]) -> None:
        result, failure = 0, None
        try:
            result = self._core.run(tasks)
        except BaseException as error:
            failure = error

        def tell() -> None:
            if ended.cancelled():
                pass
            elif failure is not None:
                ended.set_exception(failure)
            else:
                ended.set_result(result)

        _on_loop(loop, tell)


def _on_loop(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> None:
    """From a thread."""
    try:
        loop.call_soon_threadsafe(function)
    except RuntimeError:  # the application has closed its loop
        pass


class _Tasks:
    def __init__(self, core: Core, handler: Callable[[AsyncJob], Awaitable[Any]], loop: asyncio.AbstractEventLoop) -> None:
        self._core = core
        self._handler = handler
        self._loop = loop
        self._running: set[asyncio.Task[Outcome]] = set()

    def start(self) -> None:
        pass

    def tasks_are_queued(self) -> None:
        _on_loop(self._loop, self._fill)

    def stop(self) -> None:
        pass

    async def end(self) -> None:
        """Cancels abandoned coroutines; those that suppress that are left alone."""
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=1)

    def _fill(self) -> None:
        while len(self._running) < self._core.options.concurrency:
            with self._core.lock:
                job = self._core.take()
            if job is None:
                return
            task = self._loop.create_task(self._outcome(job), name=f"scylla task {job.task.rn}")
            self._running.add(task)
            task.add_done_callback(functools.partial(self._ended, job))

    def _ended(self, job: Held, task: asyncio.Task[Outcome]) -> None:
        self._running.discard(task)
        try:
            outcome = task.result()
        except BaseException as error:  # the application has cancelled it before it began
            outcome = outcome_of_exception(error, job.reason is not None)
        with self._core.lock:
            self._core.done(job, outcome)
        self._fill()

    async def _outcome(self, job: Held) -> Outcome:
        if job.unreadable is not None:
            return failed("unreadable-task", job.unreadable)
        stopped = asyncio.Event()
        running = asyncio.ensure_future(self._call(job, stopped))  # of its own, to be cancelled for itself

        def asked(reason: StopReason) -> None:
            stopped.set()
            if reason is not StopReason.STOPPING:
                running.cancel()

        job.on_stop(lambda reason: _on_loop(self._loop, lambda: asked(reason)))
        try:
            return await running
        except BaseException as error:
            return self._failed(job, error)

    async def _call(self, job: Held, stopped: asyncio.Event) -> Outcome:
        """No exception leaves it: SystemExit and KeyboardInterrupt of a task would end its event loop."""
        try:
            value = await self._handler(AsyncJob(job, stopped))
        except BaseException as error:
            return self._failed(job, error)
        return outcome_of(value)

    def _failed(self, job: Held, error: BaseException) -> Outcome:
        outcome = outcome_of_exception(error, job.reason is not None)
        if outcome.note == "exception":
            self._core.log(logging.WARNING, "exception", "the handler raised an exception", job, trace=error)
        return outcome
