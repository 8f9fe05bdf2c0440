"""A worker as a process of its own, to be killed, stopped and paused:

    worker_program.py threads|asyncio NAME QUEUE LEASE-SECONDS CONCURRENCY PREFETCH GRACE LOG [GATE]

Events go to LOG, a line each, written at once; also "begun", when a handler begins. With GATE a task takes until that file exists, whatever it is told.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from typing import Any

from pgscylla import AsyncJob, AsyncWorker, Job, Worker

kind, name, queue, lease, concurrency, prefetch, grace, log, *gate = sys.argv[1:]


class File(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def emit(self, record: Any) -> None:
        os.write(self.file, f"{record.scylla_event} {record.scylla_rn or '-'} {record.getMessage()}\n".encode())


def tell(job: Any) -> None:
    logging.getLogger("pgscylla").info("a handler begins", extra={"scylla_event": "begun", "scylla_rn": job.task.rn})


def run(job: Job) -> str:
    tell(job)
    while gate and not os.path.exists(gate[0]):
        time.sleep(0.005)
    return job.worker


async def run_async(job: AsyncJob) -> str:
    tell(job)
    while gate and not os.path.exists(gate[0]):
        try:
            await asyncio.sleep(0.005)
        except asyncio.CancelledError:  # it does not do as it is told
            pass
    return job.worker


logger = logging.getLogger("pgscylla")
logger.setLevel(logging.DEBUG)
logger.addHandler(File())
options: dict[str, Any] = dict(
    name=name,
    lease_timeout=float(lease),
    concurrency=int(concurrency),
    prefetch=int(prefetch),
    reconnect_min=0.02,
    reconnect_max=0.5,
    stop_grace=float(grace),
)
if kind == "asyncio":
    asynchronous = AsyncWorker("", queue, run_async, **options)
    asynchronous.stop_on_signals()
    abandoned = asyncio.run(asynchronous.run())
else:
    worker = Worker("", queue, run, **options)
    worker.stop_on_signals()
    abandoned = worker.run()
sys.exit(0 if abandoned == 0 else 4)
