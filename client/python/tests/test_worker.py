"""What both kinds of worker promise, against a server."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
import unittest
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
from support import TestCase, eventually, unique

from pgscylla import (
    AbortTask,
    AsyncJob,
    AsyncWorker,
    Complete,
    FailTask,
    Job,
    StopReason,
    Worker,
    YieldTask,
)

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def documented_events() -> dict[str, set[int]]:
    """The table of events in README.md."""
    table: dict[str, set[int]] = {}
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    for names, levels in re.findall(r"^\| ((?:`[a-z-]+`(?:, )?)+) \| ([a-z, ]+) \|", readme, re.M):
        for name in re.findall(r"`([a-z-]+)`", names):
            table[name] = {LEVELS[level] for level in levels.split(", ")}
    return table


class Common:
    """Run once with threads and once with asyncio. `self.go` lets handlers that wait for it end."""

    kind: Any

    def setUp(self) -> None:
        super().setUp()  # type: ignore[misc]
        self.go = threading.Event()
        self.reasons: list[Any] = []
        self.addCleanup(self.go.set)  # type: ignore[attr-defined]

    def start(self, handler: Any, **options: Any) -> Any:
        if self.kind is AsyncWorker and not asyncio.iscoroutinefunction(handler):
            plain = handler

            async def handler(job: AsyncJob) -> Any:
                return plain(job)

        running = super().start(handler, self.kind, **options)  # type: ignore[misc]
        self.addCleanup(self.check_events, running)  # type: ignore[attr-defined]
        return running

    def check_events(self, running: Any) -> None:
        events = documented_events()
        for event, level, message in running.events:
            assert event == "-" or level in events.get(event, ()), (event, level, message)

    # Runs until self.go, or a stop; notes why it stopped.
    def until_go(self) -> Any:
        if self.kind is Worker:

            def handler(job: Job) -> Any:
                while not self.go.is_set() and not job.wait(0.005):
                    pass
                self.reasons.append(job.stop_reason)
                return "done"

            return handler

        async def coroutine(job: AsyncJob) -> Any:
            try:
                while not self.go.is_set() and not await job.sleep(0.005):
                    pass
            except asyncio.CancelledError:
                self.reasons.append(job.stop_reason)
                raise
            self.reasons.append(job.stop_reason)
            return "done"

        return coroutine

    # ---- leasing and finishing

    def test_completes_tasks(self: Any) -> None:
        self.submit(*[{"n": n} for n in range(50)])
        w = self.start(lambda job: {"spec": job.spec}, concurrency=4)
        self.assertTrue(self.all("status = 'completed' and result = jsonb_build_object('spec', spec)"))
        self.submit({"n": 1})  # and what comes later
        self.assertTrue(self.all("status = 'completed'"))
        self.assertEqual(w.stop(), 0)
        c = w.counters
        self.assertEqual((c.leased, c.completed, c.held, c.running), (51, 51, 0, 0))
        self.assertEqual(c.failed + c.aborted + c.yielded + c.lost + c.cancelled, 0)

    def test_task_has_all_fields(self: Any) -> None:
        self.connection.execute("select scylla.create_pool(%s, '{\"slots\": 1}')", (self.queue,))
        self.connection.execute("select scylla.submit(%s, '1', rn => %s)", (self.queue, self.queue + "-a"))
        self.connection.execute(
            "select scylla.submit(%s, '{\"x\": [1, null, \"ß\"]}', 7, %s, depends_on => %s, max_attempts => 9, key => 'k',"
            " needs => jsonb_build_object(%s::text, '{\"slots\": 1}'::jsonb))",
            (self.queue, self.queue + "-b", [self.queue + "-a"], self.queue),
        )
        seen: list[Any] = []

        def handler(job: Any) -> Any:
            seen.append(job.task)
            if job.rn.endswith("-b") and job.attempt == 1:
                raise FailTask("once", retry_after=0)
            return {"r": job.spec}

        self.start(handler, conninfo="options='-c timezone=Asia/Tokyo -c datestyle=German -c intervalstyle=iso_8601'")
        self.assertTrue(self.all("status = 'completed'"))
        task = seen[-1]
        self.assertEqual(
            (task.rn, task.queue, task.spec, task.priority), (self.queue + "-b", self.queue, {"x": [1, None, "ß"]}, 7)
        )
        self.assertEqual((task.args, task.attempt, task.failures), ([{"r": 1}], 2, 1))
        self.assertEqual((task.max_attempts, task.key, task.plan), (9, "k", None))
        self.assertEqual((task.pool, seen[0].pool), (self.queue, None))
        self.assertEqual(task.errors[0]["code"], "once")
        created = self.ask("select created from scylla.task where rn = %s", self.queue + "-b")
        self.assertEqual(task.created, created)
        self.assertEqual((seen[0].args, seen[0].errors), ([], []))

    def test_outcomes(self: Any) -> None:
        expected = {
            "nothing": "status = 'completed' and result is null",
            "metrics": "status = 'completed' and result = '1' and metrics = '{\"s\": 2}'",
            "abort": "status = 'aborted' and errors @> '[{\"code\": \"b\", \"message\": \"d\", \"args\": {\"x\": 1}}]'",
            "fail": "status = 'waiting' and failures = 1 and errors -> 0 ->> 'code' = 'c' and not_before > now() + '50 min'",
            "fail soon": "status = 'waiting' and errors -> 0 ->> 'code' = 'd' and not_before < now() + '50 min'",
            "raise": "errors -> 0 @> '{\"code\": \"exception\", \"message\": \"RuntimeError: weiß\\ufffd?\"}'"
            " and errors -> 0 ->> 'details' ~ '^Traceback.* in handler\n.*RuntimeError: weiß'",
            "no json": "errors -> 0 ->> 'code' = 'invalid-outcome' and failures >= 1",
            "not a number": "errors -> 0 ->> 'code' = 'invalid-outcome'",
            "nul": "errors -> 0 ->> 'code' = 'invalid-outcome' and failures >= 1",
            "bad error": "errors -> 0 ->> 'code' = 'invalid-outcome' and failures >= 1",
            "yield": "status = 'completed' and attempt = 2 and failures = 0",
        }

        def handler(job: Any) -> Any:
            spec = job.spec
            if spec == "metrics":
                return Complete(1, {"s": 2})
            if spec == "abort":
                raise AbortTask("b", "d", {"x": 1})
            if spec == "fail":
                raise FailTask("c", retry_after=timedelta(hours=1))
            if spec == "fail soon":
                raise FailTask("d", retry_after=1800)
            if spec == "raise":
                raise RuntimeError("weiß\0?")
            if spec == "no json":
                return object()
            if spec == "not a number":
                return [float("nan")]
            if spec == "nul":
                return "\0"
            if spec == "bad error":
                raise FailTask("", "the code is empty")
            if spec == "yield" and job.attempt == 1:
                raise YieldTask

        self.submit(*expected)
        w = self.start(handler, prefetch=20)
        for spec, condition in expected.items():
            question = f"select {condition} from scylla.task where queue = %s and spec = to_jsonb(%s::text)"
            self.assertTrue(eventually(lambda: self.ask(question, self.queue, spec), 20), (spec, w.events))
        self.assertGreaterEqual(w.logged("exception"), 1)

    def test_leases_no_more_than_there_is_room_for(self: Any) -> None:
        self.submit(*range(30))
        w = self.start(self.until_go(), concurrency=2, prefetch=3)
        self.eventually(lambda: w.counters.running == 2 and self.count("status = 'running'") == 5)
        self.assertEqual(w.counters.leased, 5)
        self.go.set()
        self.assertTrue(self.all("status = 'completed'"))

    # One transaction per call, so the rows of a call have the same xmin.
    def test_no_call_is_about_more_than_a_batch(self: Any) -> None:
        def largest(table: str) -> Any:
            return self.ask(
                f"select max(n) from (select count(*) as n from scylla.{table} t join scylla.task_spec s on s.id = t.id"
                " join scylla.queue q on q.id = s.queue where q.name = %s group by t.xmin::text) x",
                self.queue,
            )

        self.submit(*range(25))
        w = self.start(self.until_go(), prefetch=24, max_batch=10, lease_timeout=3)
        self.eventually(lambda: w.counters.leased == 25)
        self.assertEqual(largest("task_lease"), 10)
        self.eventually(lambda: w.counters.heartbeats >= 25)
        self.assertLessEqual(largest("task_lease"), 10)
        self.go.set()
        self.assertTrue(self.all("status = 'completed'"))
        self.assertLessEqual(largest("task_outcome"), 10)
        self.go.clear()
        self.submit(*range(25))
        self.eventually(lambda: w.counters.leased == 50 and w.counters.running == 1)
        w.stop()
        self.assertGreaterEqual(w.counters.yielded, 24)
        self.assertEqual(largest("task_ready"), 10)
        self.assertEqual(self.count("status = 'running'"), 0)

    # What one call of the worker did has one transaction: the first task was completed by that which leased the second.
    def test_completions_and_leases_travel_together(self: Any) -> None:
        wait = self.until_go()
        if self.kind is Worker:
            handler: Any = lambda job: wait(job) if job.spec == 2 else None
        else:

            async def handler(job: Any) -> Any:
                return await wait(job) if job.spec == 2 else None

        self.submit(1, 2)
        w = self.start(handler)
        self.eventually(lambda: w.counters.completed == 1 and w.counters.running == 1)
        together = self.ask(
            "select count(*) from scylla.task_outcome o join scylla.task_lease l on l.xmin::text = o.xmin::text"
            " join scylla.task_spec s on s.id = l.id join scylla.queue q on q.id = s.queue where q.name = %s",
            self.queue,
        )
        self.assertEqual(together, 1)

    def test_asks_for_capacity(self: Any) -> None:
        self.submit(*range(10))
        asked: list[int] = []
        allowed = 0

        def capacity(room: int) -> int:
            asked.append(room)
            return allowed

        w = self.start(lambda job: None, concurrency=8, capacity=capacity, capacity_interval=0.01)
        self.eventually(lambda: len(asked) > 3)
        self.assertEqual(w.counters.leased, 0)
        self.assertEqual(asked[0], 8)
        allowed = 1
        self.assertTrue(self.all("status = 'completed'"))
        times = "select max(n) from (select count(*) n from scylla.task where queue = %s group by history -> 0 ->> 'time') x"
        self.assertEqual(self.ask(times, self.queue), 1)

    def test_queues_take_turns(self: Any) -> None:
        other = unique("other")
        self.submit(*range(100))
        for _ in range(5):
            self.connection.execute("select scylla.submit(%s, '1')", (other,))
        done: list[str] = []
        self.start(lambda job: done.append(job.task.queue), queues=[self.queue, other])
        self.eventually(lambda: len(done) == 105)
        self.assertNotIn(other, done[20:])

    # ---- waiting

    def test_sleeps_by_wait(self: Any) -> None:
        w = self.start(lambda job: None, conninfo=f"application_name={self.queue}")
        waiting = (
            "select count(*) from pg_stat_activity where application_name = %s and query like 'call%%' and wait_event_type"
            " = 'Extension'"
        )
        self.eventually(lambda: self.ask(waiting, self.queue) == 1)
        polls, start = w.counters.polls, time.monotonic()
        for n in range(20):
            [rn] = self.submit(n)
            self.eventually(lambda: self.status(rn) == "completed")
        self.assertEqual(w.counters.polls, polls)
        self.assertLess(time.monotonic() - start, 30)
        # An idle worker asks nothing: its other connections have not been used since.
        self.eventually(lambda: self.ask(waiting, self.queue) == 1)
        used = "select max(state_change) from pg_stat_activity where application_name = %s and query not like 'call%%'"
        before = self.ask(used, self.queue)
        time.sleep(1.2)
        self.assertEqual(self.ask(used, self.queue), before)

    def test_a_queue_that_does_not_exist_is_noticed(self: Any) -> None:
        name, other = f"application_name={self.queue}", unique("other")
        w = self.start(lambda job: None, conninfo=name, queues=[self.queue, other], reconnect_min=0.01)
        self.eventually(lambda: w.logged("notice") == 2)
        self.assertIn(other, " ".join(message for event, _, message in w.events if event == "notice"))
        self.ask("select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = %s", self.queue)
        self.submit(1)
        self.assertTrue(self.all("status = 'completed'"))
        self.assertEqual(w.logged("notice"), 2)  # the next connection is not told again

    def test_polls_without_wait(self: Any) -> None:
        w = self.start(lambda job: None, use_wait=False, poll_max=0.1)
        self.eventually(lambda: w.counters.polls > 2)
        self.submit(1)
        self.assertTrue(self.all("status = 'completed'"))
        self.assertEqual(w.counters.waits, 0)

    def test_polls_where_the_server_refuses_to_wait(self: Any) -> None:
        role = "no_wait_" + self.queue.replace("-", "_")
        self.connection.execute("select scylla.create_queue(%s)", (self.queue,))
        for sql in (
            "create role {0} login",
            "grant usage on schema scylla to {0}",
            "grant execute on all functions in schema scylla to {0}",  # but not on procedures
            "select scylla.grant_queue('{1}', '{0}', 'work')",
        ):
            self.connection.execute(sql.format(role, self.queue))
        w = self.start(lambda job: None, conninfo=f"user={role}", poll_max=0.1)
        self.eventually(lambda: w.logged("wait-refused") == 1)
        self.submit(1)
        self.assertTrue(self.all("status = 'completed'"))

    # ---- keeping leases

    def test_keeps_leases_and_tells_progress(self: Any) -> None:
        wait = self.until_go()
        if self.kind is Worker:

            def handler(job: Any) -> Any:
                job.progress(0.5)
                return wait(job)

        else:

            async def handler(job: Any) -> Any:
                job.progress(0.5)
                return await wait(job)

        self.submit(1, 2, 3)
        w = self.start(handler, concurrency=2, prefetch=1, lease_timeout=0.6, conninfo=f"application_name={self.queue}")
        self.eventually(lambda: w.counters.heartbeats > 20)
        self.eventually(lambda: self.count("status = 'running' and progress = 0.5") == 2)
        states = "select count(*) from pg_stat_activity where application_name = %s and state like 'idle in%%'"
        self.assertEqual(self.ask(states, self.queue), 0)  # a long task holds no transaction
        self.go.set()
        self.assertTrue(self.all("status = 'completed' and attempt = 1"))
        self.assertEqual(w.counters.lost, 0)
        self.eventually(lambda: w.counters.connections == 3)  # to lease and finish, for heartbeats, to wait

    # Also where that is an event loop, which does nothing else meanwhile.
    def test_a_handler_that_blocks_keeps_its_lease(self: Any) -> None:
        self.submit(1)
        w = self.start(lambda job: time.sleep(1.5), lease_timeout=0.5)
        self.assertTrue(self.all("status = 'completed' and attempt = 1"))
        self.assertEqual(w.counters.lost, 0)

    def test_handlers_learn_of_cancellation(self: Any) -> None:
        [rn] = self.submit(1)
        w = self.start(self.until_go(), lease_timeout=0.3)
        self.eventually(lambda: w.counters.running == 1)
        self.connection.execute("select scylla.cancel(%s)", (rn,))
        self.eventually(lambda: self.reasons == [StopReason.CANCELLED])
        self.eventually(lambda: w.counters.running == 0 and w.counters.held == 0)
        self.assertEqual((w.counters.cancelled, w.counters.completed), (1, 0))
        [rn] = self.submit(2)  # and the worker goes on
        self.eventually(lambda: self.status(rn) == "running")
        self.go.set()
        self.eventually(lambda: self.status(rn) == "completed")

    def test_handlers_learn_that_their_lease_is_lost(self: Any) -> None:
        [rn] = self.submit(1)
        w = self.start(self.until_go(), lease_timeout=0.3)
        self.eventually(lambda: w.counters.running == 1)
        with self.connection.transaction():  # at once: no heartbeat comes between
            self.connection.execute("select scylla.yield(%s, %s)", (rn, w.worker.name))
            self.connection.execute("select scylla.lease_task(%s, 'other', '1 min')", (rn,))
        self.eventually(lambda: w.counters.running == 0 and w.counters.held == 0)
        self.assertEqual(self.reasons, [StopReason.LEASE_LOST])
        self.assertEqual((w.counters.lost, w.counters.completed), (1, 0))
        owner = self.ask("select owner from scylla.task where rn = %s and attempt = 2 and status = 'running'", rn)
        self.assertEqual(owner, "other")

    # No heartbeat tells the worker before: the server refuses the result by its attempt, even of the same owner.
    def test_a_late_result_is_dropped(self: Any) -> None:
        [rn] = self.submit(1)
        w = self.start(self.until_go())
        self.eventually(lambda: w.counters.running == 1)
        with self.connection.transaction():
            self.connection.execute("select scylla.yield(%s, %s)", (rn, w.worker.name))
            self.connection.execute("select scylla.lease_task(%s, %s, '1 min')", (rn, w.worker.name))
        self.go.set()
        self.eventually(lambda: w.counters.lost == 1 and w.counters.held == 0)
        self.assertEqual(self.status(rn), "running")
        self.assertEqual(w.logged("lost"), 1)

    # Somebody is just cancelling one task, in a transaction that stays open: the other leases stay alive.
    def test_a_locked_task_does_not_hold_up_the_others(self: Any) -> None:
        [rn, *_] = self.submit(1, 2, 3)
        w = self.start(self.until_go(), concurrency=3, lease_timeout=3)
        self.eventually(lambda: w.counters.running == 3)
        with psycopg.connect("") as other:
            other.execute("select scylla.cancel(%s)", (rn,))
            self.eventually(lambda: w.logged("heartbeat-failed") >= 1)
            self.go.set()
            self.eventually(lambda: self.count("status = 'completed'") == 2)
        self.eventually(lambda: w.counters.held == 0)
        self.assertEqual((w.counters.cancelled, w.counters.lost), (1, 0))
        self.assertEqual(self.count("attempt = 1"), 3)

    # ---- connections

    # The server answers, but not in time: the connection is given up, and the question asked again.
    def test_a_call_that_takes_too_long_is_a_broken_connection(self: Any) -> None:
        [rn] = self.submit(1)
        w = self.start(self.until_go(), call_timeout=0.3, reconnect_min=0.01)
        self.eventually(lambda: w.counters.running == 1)
        with psycopg.connect("") as other:
            other.execute("select scylla.cancel(%s)", (rn,))
            self.go.set()
            self.eventually(lambda: w.logged("connection-lost") >= 1)
            other.rollback()
        self.assertTrue(self.all("status = 'completed' and attempt = 1"))
        self.eventually(lambda: w.counters.completed == 1 and w.counters.held == 0)
        self.assertEqual(w.counters.lost, 0)

    def test_survives_the_loss_of_its_connections(self: Any) -> None:
        w = self.start(
            lambda job: None, conninfo=f"application_name={self.queue}", concurrency=4, prefetch=8, reconnect_min=0.01
        )
        kill = "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = %s"
        self.eventually(lambda: w.counters.connections >= 1)
        for _ in range(10):
            before = w.counters.connections
            self.submit(*range(10))
            self.ask(kill, self.queue)
            self.eventually(lambda: w.counters.connections > before)
        self.assertTrue(self.all("status = 'completed'"))

    def test_survives_settings_that_end_calls_and_sessions(self: Any) -> None:
        options = "-c statement_timeout=200 -c idle_session_timeout=150 -c idle_in_transaction_session_timeout=1"
        w = self.start(lambda job: None, conninfo=f"options='{options}'", reconnect_min=0.01)
        for n in range(5):
            self.submit(n)
            time.sleep(0.3)
        self.assertTrue(self.all("status = 'completed' and attempt = 1"))
        self.assertGreater(w.counters.connections, 3)
        self.assertEqual(w.logged("wait-refused"), 0)

    # ---- stopping

    def test_stop_gives_back_what_is_not_done(self: Any) -> None:
        self.submit(*range(60))
        wait = self.until_go()

        async def coroutine(job: Any) -> Any:
            await wait(job)
            raise RuntimeError("interrupted") if job.spec % 2 else YieldTask()

        def function(job: Any) -> Any:
            wait(job)
            raise RuntimeError("interrupted") if job.spec % 2 else YieldTask()

        w = self.start(function if self.kind is Worker else coroutine, concurrency=4, prefetch=30)
        self.eventually(lambda: w.counters.running == 4 and w.counters.leased == 34)
        start = time.monotonic()
        self.assertEqual(w.stop(), 0)
        self.assertLess(time.monotonic() - start, 30)
        self.assertTrue(self.all("status = 'ready' and failures = 0"))
        self.assertEqual((w.counters.yielded, w.counters.held), (34, 0))
        self.assertEqual(set(self.reasons), {StopReason.STOPPING})

    def test_stop_lets_handlers_finish_within_their_grace(self: Any) -> None:
        self.submit(1)
        w = self.start(self.until_go())
        self.eventually(lambda: w.counters.running == 1)
        self.assertEqual(w.stop(), 0)
        self.assertTrue(self.all("status = 'completed' and result = '\"done\"'"))

    def test_stop_before_run(self: Any) -> None:
        worker = self.kind("", self.queue, lambda job: None)
        worker.stop()
        run = (lambda: asyncio.run(worker.run())) if self.kind is AsyncWorker else worker.run
        self.assertEqual(run(), 0)
        with self.assertRaises(RuntimeError):
            run()

    # ---- what cannot pass by itself

    def test_refuses_what_cannot_pass_by_itself(self: Any) -> None:
        role = "login_" + self.queue.replace("-", "_")
        self.connection.execute(f"create role {role} login")
        for conninfo, options, error in (
            ("dbname=template1", {}, psycopg.errors.InvalidSchemaName),
            (f"user={role}", {"name": "me"}, psycopg.errors.InsufficientPrivilege),
        ):
            worker = self.kind(conninfo, self.queue, lambda job: None, **options)
            with self.assertRaises(error):
                asyncio.run(worker.run()) if self.kind is AsyncWorker else worker.run()

    def test_a_missing_database_or_extension_is_an_error_that_says_what_to_do(self: Any) -> None:
        for conninfo, options, hint in (
            ("dbname=template1", {}, "CREATE EXTENSION scylla"),
            ("dbname=template1", {"name": "me"}, "CREATE EXTENSION scylla"),
            ("dbname=no_such_database", {}, "Create the database"),
            ("dbname=no_such_database", {"name": "me", "use_wait": False}, "Create the database"),
        ):
            worker = self.kind(conninfo, self.queue, lambda job: None, **options)
            with self.assertRaisesRegex(psycopg.Error, hint):
                asyncio.run(worker.run()) if self.kind is AsyncWorker else worker.run()

    def test_refuses_options_that_make_no_sense(self: Any) -> None:
        for options in (
            {"queues": []},
            {"queues": ["q"] * 65},
            {"queues": ""},
            {"queues": "a\0b"},
            {"concurrency": 0},
            {"concurrency": True},
            {"prefetch": 100_000},
            {"max_batch": 0},
            {"lease_timeout": 0},
            {"lease_timeout": timedelta(days=366)},
            {"stop_grace": -1},
            {"poll_min": float("nan")},
            {"name": ""},
        ):
            with self.subTest(options), self.assertRaises(ValueError):
                self.kind("", **{"queues": "q", "handler": print, **options})
        with self.assertRaises(psycopg.ProgrammingError):
            self.kind("nonsense", "q", print)

    def test_the_server_names_it(self: Any) -> None:
        w = self.start(lambda job: job.worker)
        self.eventually(lambda: w.worker.name is not None)
        self.submit(1)
        self.assertTrue(self.all(f"status = 'completed' and owner = '{w.worker.name}' and result = to_jsonb(owner)"))


class ThreadTest(Common, TestCase):
    kind = Worker

    def test_stop_is_bounded(self) -> None:
        self.submit(1, 2)
        w = self.start(lambda job: self.go.wait(), concurrency=2, stop_grace=0.2)
        self.eventually(lambda: w.counters.running == 2)
        start = time.monotonic()
        self.assertEqual(w.stop(), 2)
        self.assertLess(time.monotonic() - start, 30)
        self.assertTrue(self.all("status = 'ready' and failures = 0"))
        self.assertEqual(w.logged("abandoned"), 1)

    def test_on_stop(self) -> None:
        called: list[StopReason] = []

        def handler(job: Job) -> None:
            job.on_stop(lambda reason: 1 / 0)  # raises: the others are called all the same
            job.on_stop(called.append)
            job.wait(30)
            job.on_stop(called.append)  # at once

        self.submit(1)
        w = self.start(handler)
        self.eventually(lambda: w.counters.running == 1)
        w.stop()
        self.assertEqual(called, [StopReason.STOPPING] * 2)


class AsyncTest(Common, TestCase):
    kind = AsyncWorker

    def test_stop_cancels_what_goes_on(self) -> None:
        ended: list[str] = []

        async def handler(job: AsyncJob) -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                ended.append(job.rn)
                raise

        self.submit(1, 2)
        w = self.start(handler, concurrency=2, stop_grace=0.2)
        self.eventually(lambda: w.counters.running == 2)
        start = time.monotonic()
        self.assertEqual(w.stop(), 2)
        self.assertLess(time.monotonic() - start, 30)
        self.assertEqual(len(ended), 2)
        self.assertTrue(self.all("status = 'ready' and failures = 0"))

    def test_cancelling_run_stops_the_worker(self) -> None:
        self.submit(*range(5))
        worker = AsyncWorker("", self.queue, self.until_go(), prefetch=3)

        async def application() -> None:
            run = asyncio.create_task(worker.run())
            while worker.counters().leased < 4:
                await asyncio.sleep(0.005)
            run.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await run

        asyncio.run(application())
        self.assertEqual((worker.counters().completed, worker.counters().yielded), (1, 3))
        self.assertEqual(self.count("status = 'running'"), 0)

    def test_a_loop_that_is_closed_does_no_harm(self) -> None:
        self.submit(1)
        worker = AsyncWorker("", self.queue, self.until_go(), stop_grace=0, name=self.queue)

        async def application() -> None:
            run = asyncio.create_task(worker.run())
            while worker.counters().running < 1:
                await asyncio.sleep(0.005)
            worker.stop()
            await run

        asyncio.run(application())
        self.assertEqual(self.count("status in ('ready', 'completed')"), 1)


if __name__ == "__main__":
    unittest.main()
