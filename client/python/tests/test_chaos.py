"""Workers that are killed, stopped and paused, and a server that restarts."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Optional

import psycopg
from support import TestCase

PROGRAM = Path(__file__).parent / "worker_program.py"


class ChaosTest(TestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.gate = self.folder / "gate"

    def hire(
        self, kind: str, name: str, lease: float = 2, concurrency: int = 2, prefetch: int = 20, grace: float = 30, gate: bool = False
    ) -> subprocess.Popen[bytes]:
        command = [sys.executable, PROGRAM, kind, name, self.queue, lease, concurrency, prefetch, grace, self.log(name)]
        process = subprocess.Popen([str(word) for word in command + ([self.gate] if gate else [])])
        self.addCleanup(lambda: (process.kill(), process.wait()))
        return process

    def log(self, name: str) -> Path:
        return self.folder / name

    def lines(self, name: str) -> list[str]:
        return self.log(name).read_text().splitlines() if self.log(name).exists() else []

    def logged(self, name: str, event: str, rn: Optional[str] = None) -> bool:
        return any(line.split(" ")[0] == event and rn in (None, line.split(" ")[1]) for line in self.lines(name))

    # SIGTERM, but not before the program is ready for it.
    def terminate(self, process: subprocess.Popen[bytes], name: str) -> None:
        self.eventually(lambda: self.logged(name, "connected"))
        process.send_signal(signal.SIGTERM)

    def running(self, name: str) -> int:
        return self.count(f"status = 'running' and owner = '{name}'")

    def look(self, sql: str) -> Any:
        """By a connection that survives the restart of the server."""
        while True:
            try:
                if self.connection.closed:
                    self.connection = psycopg.connect("", autocommit=True)
                return self.ask(sql, self.queue)
            except psycopg.OperationalError:
                self.connection.close()

    def test_every_task_is_completed_by_one_owner(self) -> None:
        tasks = 4000
        self.ask("select scylla.submit_bulk(%s, array_agg('1'::jsonb)) from generate_series(1, %s)", self.queue, tasks)
        names: list[str] = []
        team: list[tuple[str, subprocess.Popen[bytes]]] = []

        def join() -> tuple[str, subprocess.Popen[bytes]]:
            names.append(f"chaos-{len(names)}-{self.queue}")
            return names[-1], self.hire(("threads", "asyncio")[len(names) % 2], names[-1])

        team = [join() for _ in range(4)]
        restarted = False
        done = 0
        while done < tasks:
            milestone = min(done + 500, tasks)

            def reached() -> bool:
                nonlocal done
                done = self.look("select count(*) from scylla.task where queue = %s and status = 'completed'")
                return done >= milestone

            self.eventually(reached)
            if done >= tasks / 2 and not restarted:
                subprocess.run(os.environ["SCYLLA_TEST_RESTART"], shell=True, check=True, stdout=subprocess.DEVNULL)
                restarted = True
                continue
            number = random.randrange(len(team))
            name, process = team[number]
            if random.random() < 0.5:
                process.kill()
                process.wait()
            else:
                self.terminate(process, name)
                self.assertEqual(process.wait(60), 0)
                held = self.look(f"select count(*) from scylla.task where queue = %s and status = 'running' and owner = '{name}'")
                self.assertEqual(held, 0, self.lines(name)[-5:])
            team[number] = join()
        self.assertTrue(restarted)
        self.look("select count(*) from scylla.task where queue = %s")  # the last thing may have been the restart
        for name, process in team:
            self.terminate(process, name)
        for name, process in team:
            self.assertEqual(process.wait(60), 0)

        # No worker was told that it had completed a task that another one completed.
        completed_by: dict[str, str] = {}
        for name in names:
            for line in self.lines(name):
                event, rn, *_ = line.split(" ")
                if event == "completed":
                    self.assertNotIn(rn, completed_by)
                    completed_by[rn] = name
        self.assertGreater(len(completed_by), tasks / 2)
        rows = self.connection.execute(
            "select rn, owner from scylla.task where queue = %s and status = 'completed' and result = to_jsonb(owner)", (self.queue,)
        ).fetchall()
        self.assertEqual(len(rows), tasks)
        for rn, owner in rows:
            self.assertEqual(completed_by.get(rn, owner), owner)
        self.assertEqual(self.ask("select count(*) from scylla.check()"), 0)

    def test_a_killed_worker_is_replaced_when_its_leases_expire(self) -> None:
        [rn] = self.submit(1)
        first = self.hire("threads", "first-" + self.queue, lease=1, gate=True)
        self.eventually(lambda: self.status(rn) == "running")
        first.kill()
        self.gate.touch()
        self.hire("threads", "second-" + self.queue)
        self.assertTrue(self.all("status = 'completed' and attempt = 2"))

    # A worker that was paused for longer than its lease lasts finds out, and leaves the task alone.
    def test_a_paused_worker_does_not_complete_what_it_has_lost(self) -> None:
        for kind in "threads", "asyncio":
            with self.subTest(kind):
                self.gate.unlink(missing_ok=True)
                name = f"{kind}-{self.queue}"
                [rn] = self.submit(1)
                sleeper = self.hire(kind, name, lease=0.5, concurrency=1, prefetch=0, gate=True)
                self.eventually(lambda: self.status(rn) == "running")
                sleeper.send_signal(signal.SIGSTOP)
                self.eventually(lambda: self.ask("select rn from scylla.lease(%s, 'other', 1, '1 min')", self.queue) == rn)
                sleeper.send_signal(signal.SIGCONT)
                self.eventually(lambda: self.logged(name, "lost", rn))
                self.gate.touch()  # now its handler returns a result
                [other] = self.submit(2)
                self.eventually(lambda: self.status(other) == "completed")  # it goes on with others
                self.assertEqual(self.ask("select owner from scylla.get_task(%s)", rn), "other")
                self.ask("select scylla.complete(%s, 'other', attempt => 2)", rn)
                self.assertFalse(self.logged(name, "completed", rn))
                sleeper.terminate()
                self.assertEqual(sleeper.wait(20), 0)

    # The same, when the handler returns before a heartbeat could tell: the server refuses the result.
    def test_a_paused_worker_is_refused_even_before_it_finds_out(self) -> None:
        [rn] = self.submit(1)
        name = "sleeper-" + self.queue
        sleeper = self.hire("threads", name, lease=60, concurrency=1, prefetch=0, gate=True)
        self.eventually(lambda: self.status(rn) == "running")
        sleeper.send_signal(signal.SIGSTOP)
        self.ask("select scylla.yield(%s, %s)", rn, name)  # as if its time were over
        self.ask("select scylla.lease_task(%s, 'other', '1 min')", rn)
        self.gate.touch()
        sleeper.send_signal(signal.SIGCONT)  # the next heartbeat is 20 s away
        self.eventually(lambda: self.logged(name, "lost", rn))
        self.assertEqual(self.status(rn), "running")
        sleeper.terminate()
        self.assertEqual(sleeper.wait(20), 0)

    def test_sigterm_waits_for_the_grace_and_a_second_one_does_not(self) -> None:
        for kind in "threads", "asyncio":
            with self.subTest(kind):
                name = f"{kind}-{self.queue}"
                rns = self.submit(1, 2, 3)
                process = self.hire(kind, name, lease=60, concurrency=1, prefetch=2, grace=60, gate=True)
                self.eventually(lambda: self.running(name) == 3)
                self.eventually(lambda: self.logged(name, "begun"))  # one of the three: it would go back, too
                process.send_signal(signal.SIGTERM)
                self.eventually(lambda: self.running(name) == 1)  # what has not been started goes back at once
                time.sleep(0.3)
                self.assertIsNone(process.poll())
                process.send_signal(signal.SIGTERM)
                start = time.monotonic()
                self.eventually(lambda: self.running(name) == 0)
                if kind == "threads":  # the thread goes on, and does not keep the process alive
                    self.assertEqual(process.wait(20), 4)
                    self.assertLess(time.monotonic() - start, 30)
                process.kill()
                self.assertEqual([self.status(rn) for rn in rns], ["ready"] * 3)
                self.assertEqual(self.count("failures > 0"), 0)
                self.ask("select count(scylla.cancel(rn)) from scylla.list_tasks(%s, 'ready')", self.queue)

    def test_sigint_is_a_stop_too(self) -> None:
        process = self.hire("asyncio", "i-" + self.queue)
        self.eventually(lambda: self.logged("i-" + self.queue, "connected"))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(20), 0)
        self.assertTrue(self.logged("i-" + self.queue, "stopped"))


if __name__ == "__main__":
    unittest.main()
