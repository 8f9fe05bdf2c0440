"""Whatever a handler throws, returns or logs ends its own task and nothing else.

SCYLLA_TEST_SECONDS=600 makes ten minutes of random misuse of each kind of worker.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import random
import re
import threading
import time
import unittest
from pathlib import Path
from typing import Any, Callable

import psycopg
from psycopg.types.json import Jsonb
from support import TestCase, eventually

from pgscylla import AbortTask, AsyncWorker, Complete, FailTask, Worker
from pgscylla._refusal import fate_of

SECONDS = float(os.environ.get("SCYLLA_TEST_SECONDS", "2"))
INVALID, RAISED = "invalid-outcome", "exception"


class Evil(Exception):
    """Each of its methods raises what it was made of."""

    def __init__(self, with_what: Any = ValueError) -> None:
        self.with_what = with_what

    def _raise(self, *_: object) -> Any:
        raise self.with_what("evil")

    __str__ = __repr__ = __format__ = __bool__ = __hash__ = __eq__ = __len__ = _raise  # type: ignore[assignment]


class EvilAttributes(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise KeyError(name)


class EvilClass(Exception):
    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # type: ignore[override]
        raise ValueError("class")


class EvilName(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise ValueError("name")


class EvilMeta(Exception, metaclass=EvilName):
    pass


class EvilText(str):
    def encode(self, *_: Any, **__: Any) -> bytes:
        raise ValueError("encode")

    def replace(self, *_: Any, **__: Any) -> str:
        raise ValueError("replace")


class EvilDict(dict):  # type: ignore[type-arg]
    def items(self) -> Any:
        raise SystemExit("items")


class EvilNumber(float):
    def __float__(self) -> float:
        raise MemoryError("float")


class EvilTask(FailTask):
    def __init__(self) -> None:
        pass

    @property
    def code(self) -> str:  # type: ignore[override]
        raise KeyboardInterrupt

    message = ""


class EvilComplete(Complete):
    def __getattribute__(self, name: str) -> Any:
        raise GeneratorExit(name)


class EvilDel:
    def __del__(self) -> None:
        raise ValueError("del")


def raises(error: Any) -> Callable[[], Any]:
    def function() -> Any:
        raise error() if callable(error) and not isinstance(error, type) else error

    return function


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def loop() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


def can_read(text: str) -> bool:
    """Python 3.14 reads what is as deep as the stack allows."""
    try:
        json.loads(text)
    except (RecursionError, ValueError):
        return False
    return True


def deep_recursion() -> Any:
    return deep_recursion()


def chained() -> Any:
    error: BaseException = ValueError("0")
    for _ in range(3000):
        following = ValueError("again")
        following.__cause__, error = error, following
    raise error


# What a handler does → the code of its task's error, None: it is completed; and what the message says.
MISUSES: dict[str, tuple[Callable[[], Any], Any, str]] = {
    "code int": (raises(FailTask(503)), INVALID, "FailTask.* int"),  # type: ignore[arg-type]
    "code none": (raises(FailTask(None)), INVALID, "NoneType"),  # type: ignore[arg-type]
    "code bytes": (raises(AbortTask(b"x")), INVALID, "AbortTask.* bytes"),  # type: ignore[arg-type]
    "code evil": (raises(FailTask(Evil())), INVALID, "Evil"),  # type: ignore[arg-type]
    "code evil text": (raises(FailTask(EvilText("x"))), "x", ""),
    "code surrogate": (raises(FailTask("x\ud800\0")), "x?\ufffd", ""),
    "code empty": (raises(FailTask("")), INVALID, "code"),
    "code property": (raises(EvilTask()), INVALID, "EvilTask"),
    "code list": (raises(lambda: FailTask(["x"])), INVALID, "list"),  # type: ignore[arg-type]
    "message error": (raises(FailTask("x", ValueError("y"))), INVALID, "ValueError"),  # type: ignore[arg-type]
    "message evil": (raises(lambda: FailTask("x", Evil())), INVALID, "Evil"),  # type: ignore[arg-type]
    "message evil text": (raises(FailTask("x", EvilText("y"))), "x", "^y$"),
    "args nan": (raises(FailTask("x", "", {"y": math.nan})), INVALID, "FailTask"),
    "args object": (raises(AbortTask("x", "", {"y": object()})), INVALID, "AbortTask"),
    "args evil": (raises(FailTask("x", "", EvilDict(y=1))), INVALID, "FailTask"),
    "args list": (raises(FailTask("x", "", [1])), "x", ""),  # type: ignore[arg-type]
    "args deep": (raises(lambda: FailTask("x", "", {"y": deep(100_000)})), INVALID, "RecursionError"),
    "args large": (raises(lambda: FailTask("x", "", {"y": "z" * 2_000_000})), INVALID, ""),
    "after inf": (raises(FailTask("x", retry_after=math.inf)), INVALID, "FailTask"),
    "after -inf": (raises(FailTask("x", retry_after=-math.inf)), INVALID, "FailTask"),
    "after nan": (raises(FailTask("x", retry_after=math.nan)), INVALID, "FailTask"),
    "after -1": (raises(FailTask("x", retry_after=-1)), INVALID, "FailTask"),
    "after 1e300": (raises(FailTask("x", retry_after=1e300)), INVALID, "FailTask"),
    "after 10**400": (raises(FailTask("x", retry_after=10**400)), INVALID, "FailTask"),
    "after text": (raises(FailTask("x", retry_after="5")), INVALID, "FailTask.* str"),  # type: ignore[arg-type]
    "after bool": (raises(FailTask("x", retry_after=True)), INVALID, "bool"),
    "after list": (raises(FailTask("x", retry_after=[])), INVALID, "FailTask"),  # type: ignore[arg-type]
    "after complex": (raises(FailTask("x", retry_after=1j)), INVALID, "FailTask"),  # type: ignore[arg-type]
    "after evil": (raises(lambda: FailTask("x", retry_after=EvilNumber(1))), INVALID, "FailTask"),
    "str raises": (raises(Evil()), INVALID, "Evil"),
    "str exits": (raises(lambda: Evil(SystemExit)), INVALID, "Evil"),
    "str interrupts": (raises(lambda: Evil(KeyboardInterrupt)), INVALID, "Evil"),
    "attributes": (raises(EvilAttributes()), RAISED, "EvilAttributes"),
    "class": (raises(EvilClass()), RAISED, "EvilClass"),
    "name": (raises(EvilMeta("m")), RAISED, "EvilMeta: m"),
    "SystemExit": (raises(SystemExit(3)), RAISED, "SystemExit: 3"),
    "KeyboardInterrupt": (raises(KeyboardInterrupt()), RAISED, "KeyboardInterrupt"),
    "GeneratorExit": (raises(GeneratorExit()), RAISED, "GeneratorExit"),
    "BaseException": (raises(BaseException("b")), RAISED, "BaseException: b"),
    "CancelledError": (raises(asyncio.CancelledError()), RAISED, "CancelledError"),
    "StopIteration": (raises(StopIteration(1)), RAISED, ""),
    "StopAsyncIteration": (raises(StopAsyncIteration(1)), RAISED, ""),
    "MemoryError": (raises(MemoryError()), RAISED, "MemoryError"),
    "RecursionError": (deep_recursion, RAISED, "RecursionError"),
    "psycopg": (raises(psycopg.OperationalError("server closed the connection")), RAISED, "OperationalError"),
    "no exception": (raises("a text"), RAISED, "TypeError"),
    "chained": (chained, RAISED, "again"),
    "group": (raises(lambda: ValueError(Evil())), INVALID, "ValueError"),
    "surrogate": (raises(ValueError("\ud800\0ß")), RAISED, "ValueError: \\?\ufffdß"),
    "message large": (raises(lambda: ValueError("ß" * 3_000_000)), RAISED, "ßßß… .cut: 3000012 characters.$"),
    "message escapes": (raises(lambda: ValueError("\x01" * 1_000_000)), RAISED, "cut: 1000012 characters"),
    "message large": (raises(lambda: AbortTask("x", "😀" * 400_000, {"y": "z" * 100_000})), "x", "😀… .cut: 400000"),
    "result nan": (lambda: math.nan, INVALID, "float"),
    "result inf": (lambda: {"x": [math.inf]}, INVALID, "dict"),
    "result object": (object, INVALID, "object"),
    "result bytes": (lambda: b"x", INVALID, "bytes"),
    "result set": (lambda: {1}, INVALID, "set"),
    "result cycle": (loop, INVALID, "list"),
    "result deep": (lambda: deep(100_000), INVALID, "RecursionError"),
    "result evil": (Evil, INVALID, "Evil"),
    "result evil dict": (lambda: EvilDict(x=1), INVALID, "EvilDict.*SystemExit"),
    "result evil complete": (lambda: EvilComplete(1), INVALID, "EvilComplete"),
    "result key": (lambda: {(1, 2): 3}, INVALID, "dict"),
    "result surrogate": (lambda: "\ud800", INVALID, ""),
    "result zero": (lambda: ["\0"], INVALID, ""),
    "result digits": (lambda: 10**5000, INVALID, "int"),
    "result large": (lambda: "x" * (300 << 20), INVALID, "str"),
    "result generator": (lambda: (n for n in range(3)), INVALID, "generator"),
    "result class": (lambda: Evil, INVALID, "type"),
    "result error": (lambda: ValueError("returned"), INVALID, "ValueError"),
    "result del": (EvilDel, INVALID, "EvilDel"),
    "metrics": (lambda: Complete(1, object()), INVALID, ""),
    "metrics text": (lambda: Complete(1, "x"), None, ""),
    "metrics deep": (lambda: Complete(1, {"x": deep(100_000)}), INVALID, "RecursionError"),
    "good number": (lambda: 10**100, None, ""),
    "good bool": (lambda: True, None, ""),
    "good none": (lambda: None, None, ""),
}
SLOW = {"result large"}


class Noise(logging.Handler):
    """A log handler of the application that raises whatever comes to its mind."""

    def emit(self, record: logging.LogRecord) -> None:
        raise random.choice((ValueError, KeyError, SystemExit, GeneratorExit, MemoryError))("log")

    def filter(self, record: logging.LogRecord) -> bool:
        if random.random() < 0.3:
            raise LookupError("filter")
        return True


class Common:
    kind: Any

    def handler(self) -> Any:
        def act(job: Any) -> Any:
            if job.spec == "good":
                return "done"
            job.progress(math.nan)
            for error in (ValueError, SystemExit):
                job.on_stop(raises(lambda error=error: error("on_stop")))
            return MISUSES[job.spec][0]()

        async def coroutine(job: Any) -> Any:
            return act(job)

        return act if self.kind is Worker else coroutine

    def put(self: Any, *specs: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.executemany(
                "select scylla.submit(%s, %s, max_attempts => 1)", [(self.queue, Jsonb(spec)) for spec in specs]
            )

    def drained(self: Any, w: Any) -> None:
        self.assertTrue(eventually(lambda: self.count("status not in ('completed', 'aborted')") == 0, 300), w.events[-20:])
        self.assertIsNone(w.failure)
        self.assertTrue(eventually(lambda: (w.counters.held, w.counters.running) == (0, 0)))
        self.assertEqual((w.counters.lost, w.counters.cancelled), (0, 0))

    def test_each_misuse_ends_its_own_task_and_says_why(self: Any) -> None:
        for name in MISUSES:
            self.put(name, "good")
        w = self.start(self.handler(), self.kind, concurrency=3, prefetch=5, lease_timeout=300)
        self.drained(w)
        for name, (_, code, said) in MISUSES.items():
            status, error = self.connection.execute(
                "select status::text, errors -> -1 from scylla.task where queue = %s and spec = to_jsonb(%s::text)",
                (self.queue, name),
            ).fetchone()
            with self.subTest(misuse=name):
                self.assertEqual((status, error and error["code"]), ("aborted" if code else "completed", code), error)
                self.assertRegex(error["message"] if error else "", re.compile(said, re.S))
        self.assertEqual(self.count("""status = 'completed' and spec = '"good"'"""), len(MISUSES))
        self.assertEqual(w.stop(), 0)

    def test_random_misuse_with_a_log_that_raises(self: Any) -> None:
        seed = int(os.environ.get("SCYLLA_TEST_SEED", "1"))
        chance, noise, before = random.Random(seed), Noise(), set(threading.enumerate())
        logging.getLogger("pgscylla").addHandler(noise)
        self.addCleanup(logging.getLogger("pgscylla").removeHandler, noise)
        names = [name for name in MISUSES if name not in SLOW]
        bounds: Callable[[int], Any] = lambda room: chance.choice((room, room, 1, -5, math.nan, "x", None, 10**30, Evil()))
        w = self.start(self.handler(), self.kind, concurrency=4, prefetch=8, capacity=bounds, capacity_interval=0.01, lease_timeout=300)
        end, rounds, tasks = time.monotonic() + SECONDS, 0, 0
        while rounds == 0 or time.monotonic() < end:
            specs = [chance.choice(names) if chance.random() < 0.8 else "good" for _ in range(40)] + ["good"]
            self.put(*specs)
            self.drained(w)
            self.assertEqual(self.count("""status <> 'completed' and spec = '"good"'"""), 0)
            rounds, tasks = rounds + 1, tasks + len(specs)
        c = w.counters
        self.assertEqual((c.completed + c.failed + c.aborted, c.leased), (tasks, tasks))
        if self.kind is Worker:  # the four handlers, its three parts, and run()
            self.assertEqual(len(set(threading.enumerate()) - before), 8)
        self.assertEqual(w.stop(), 0)
        print(f"# {rounds} rounds, {tasks} tasks", flush=True)

    def test_a_task_that_python_cannot_read_ends_no_worker(self: Any) -> None:
        specs = ("[" * 3000 + "]" * 3000, "1" * 6000)
        for spec in specs:
            self.connection.execute(
                "select scylla.submit(%s, %s::jsonb, max_attempts => 1, priority => 9)", (self.queue, spec)
            )
        self.put("good")
        w = self.start(self.handler(), self.kind)
        self.drained(w)
        unreadable = sum(not can_read(spec) for spec in specs)
        self.assertGreater(unreadable, 0)
        self.assertEqual(self.count("status = 'aborted' and errors -> 0 ->> 'code' = 'unreadable-task'"), unreadable)
        self.assertEqual(self.count("""status = 'completed' and spec = '"good"'"""), 1)

    def test_what_raises_when_the_worker_stops(self: Any) -> None:
        """Functions given to on_stop, and handlers that answer a request to stop by an exception nobody can read."""
        started = threading.Event()

        def act(job: Any) -> Any:
            for error in (ValueError, SystemExit, KeyboardInterrupt):
                job.on_stop(raises(lambda error=error: error("on_stop")))
            started.set()
            while not job.wait(1):
                pass
            raise Evil(SystemExit)

        async def coroutine(job: Any) -> Any:
            for error in (ValueError, SystemExit, KeyboardInterrupt):
                job.on_stop(raises(lambda error=error: error("on_stop")))
            started.set()
            while not await job.sleep(1):
                pass
            raise Evil(SystemExit)

        self.put("any")
        w = self.start(act if self.kind is Worker else coroutine, self.kind)
        self.assertTrue(started.wait(60))
        self.assertEqual(w.stop(), 0)
        self.assertEqual((w.counters.yielded, self.count("status = 'ready'")), (1, 1))

    def test_reports_are_sent_while_leasing_is_refused(self: Any) -> None:
        go = threading.Event()
        self.addCleanup(go.set)
        self.put("any")
        def act(job: Any) -> Any:
            go.wait(60)
            return 1

        async def coroutine(job: Any) -> Any:
            while not go.is_set():
                await asyncio.sleep(0.01)
            return 1

        role = "refused_" + self.queue.replace("-", "_")
        self.connection.execute(f"create role {role} login")
        self.connection.execute(f"grant usage on schema scylla to {role}")
        self.connection.execute(f"grant execute on all functions in schema scylla to {role}")
        self.connection.execute("select scylla.grant_queue(%s, %s, 'work')", (self.queue, role))
        w = self.start(act if self.kind is Worker else coroutine, self.kind, f"user={role}", concurrency=2, reconnect_max=0.05)
        self.eventually(lambda: w.counters.running == 1)
        self.connection.execute(
            f"revoke execute on function scylla.lease(text, text, int, interval) from {role};"
            f" revoke execute on function scylla.complete_and_lease(text[], text, text, int, interval, jsonb[], int[]) from {role}"
        )
        self.connection.execute("select scylla.submit(%s, '1')", (self.queue,))
        self.eventually(lambda: w.logged("call-failed") > 0)
        go.set()
        self.eventually(lambda: self.count("status = 'completed'") == 1)


class Threads(Common, TestCase):
    kind = Worker

    def test_refuses_a_handler_that_it_cannot_run(self) -> None:
        class Callable_:
            async def __call__(self, job: Any) -> None:
                pass

        async def coroutine(job: Any) -> None:
            pass

        import functools

        for handler in (coroutine, Callable_(), functools.partial(coroutine)):
            with self.assertRaisesRegex(TypeError, "AsyncWorker"):
                Worker("", self.queue, handler)
        for nothing in (None, 5, "handler"):
            for kind in (Worker, AsyncWorker):
                with self.assertRaisesRegex(TypeError, "function"):
                    kind("", self.queue, nothing)  # type: ignore[arg-type]


class Asyncio(Common, TestCase):
    kind = AsyncWorker

    def test_a_coroutine_that_is_cancelled_before_it_begins_ends_its_own_task(self) -> None:
        async def handler(job: Any) -> Any:
            if job.spec == "cancel":
                for task in asyncio.all_tasks():
                    if task.get_name().startswith("scylla task"):
                        task.cancel()
                await asyncio.sleep(0)
            return 1

        self.put("cancel", *["other"] * 10)
        w = self.start(handler, AsyncWorker, concurrency=11)
        self.drained(w)

    def test_awaitables_of_all_kinds(self) -> None:
        class Awaitable:
            def __init__(self, parts: Any) -> None:
                self.parts = parts

            def __await__(self) -> Any:
                return self.parts()

        def bad_yield() -> Any:
            yield 5

        def other_loop() -> Any:
            loop = asyncio.new_event_loop()
            try:
                yield from loop.create_future()
            finally:
                loop.close()

        def no_iterator() -> Any:
            return 5

        parts = {"bad yield": bad_yield, "other loop": other_loop, "no iterator": no_iterator, "raises": raises(SystemExit(1))}

        def handler(job: Any) -> Any:
            return 5 if job.spec == "no awaitable" else Awaitable(parts[job.spec])

        self.put(*parts, "no awaitable")
        w = self.start(handler, AsyncWorker, concurrency=2)
        self.drained(w)
        self.assertEqual(self.count("status = 'aborted' and errors -> 0 ->> 'code' = 'exception'"), 5)


class Rule(unittest.TestCase):
    def test_is_the_documented_one(self) -> None:
        page = Path(__file__).parents[3] / "docs/client.md"
        rows = re.findall(r"^\| `?(\w+)`? \| (temporary|permanent|unknown) \|", page.read_text(), re.M)
        self.assertGreater(len(rows), 20)
        for sqlstate, fate in rows:
            self.assertEqual(fate_of(None if sqlstate == "none" else sqlstate.ljust(5, "0")).value, fate, sqlstate)


if __name__ == "__main__":
    unittest.main()
