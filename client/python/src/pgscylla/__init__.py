"""Workers for Scylla, the task queue and workflow engine inside PostgreSQL.

`Worker` runs a function in threads, `AsyncWorker` a coroutine function on an asyncio event loop.
"""

from ._aio import AsyncJob, AsyncWorker
from ._job import AbortTask, Complete, FailTask, StopReason, Task, YieldTask
from ._options import Counters
from ._threads import Job, Worker

__all__ = [
    "AbortTask",
    "AsyncJob",
    "AsyncWorker",
    "Complete",
    "Counters",
    "FailTask",
    "Job",
    "StopReason",
    "Task",
    "Worker",
    "YieldTask",
]
