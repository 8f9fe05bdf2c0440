"""A connection that breaks at each step of the protocol, by a proxy that cuts it, and a server that stops answering."""

from __future__ import annotations

import select
import socket
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any

from support import Running, TestCase, eventually, unique

from pgscylla import AbortTask, Complete, Job, StopReason, Worker


class Proxy:
    """Listens on a socket of its own and passes on what comes, chunk by chunk, until it cuts.

    cut_at: the number of the chunk, of all connections and both directions; 0: never.
    mode: before (the chunk is lost), middle (half of it arrives), after (it arrives, and nothing after it).
    """

    def __init__(self, test: TestCase, cut_at: int = 0, mode: str = "before") -> None:
        self.chunks = 0
        self.hold = False  # from now on nothing passes, and no connection ends: as with a server that hangs
        self._cut_at, self._mode, self._stop = cut_at, mode, False
        folder = test.ask("select split_part(current_setting('unix_socket_directories'), ',', 1)")
        self._server = f"{folder}/.s.PGSQL.{test.ask('show port')}"
        self._folder = tempfile.TemporaryDirectory()
        self.conninfo = f"host={self._folder.name} port=1 dbname={test.ask('select current_database()')} connect_timeout=3"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(Path(self._folder.name) / ".s.PGSQL.1"))
        self._listener.listen(20)
        self._lock = threading.Lock()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._stop = True
        self._listener.close()
        self._folder.cleanup()

    def _serve(self) -> None:
        while not self._stop:
            if not select.select([self._listener], [], [], 0.05)[0]:
                continue
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        other = {client: server, server: client}
        with client, server:
            while not self._stop:
                if self.hold:
                    time.sleep(0.005)
                    continue
                for end in select.select([client, server], [], [], 0.05)[0]:
                    try:
                        data = end.recv(65536)
                        with self._lock:
                            self.chunks += 1
                            cut = self.chunks == self._cut_at
                        if cut:
                            data = {"before": b"", "middle": data[: len(data) // 2], "after": data}[self._mode]
                        other[end].sendall(data)
                    except OSError:
                        return
                    if cut or not data:
                        return


class ProxyTest(TestCase):
    # A few tasks, through the proxy. Returns how many chunks passed until all was done.
    def work_through(self, cut_at: int, mode: str, exactly_once: bool) -> int:
        self.queue = unique("proxy")
        proxy = Proxy(self, cut_at, mode)
        self.submit(1, 2, 3)

        def handler(job: Job) -> Any:
            if job.spec == 2:
                return Complete(2, {})
            if job.spec == 3:
                raise AbortTask("three")
            return 1

        options: dict[str, Any] = dict(concurrency=2, lease_timeout=3, reconnect_min=0.001, reconnect_max=0.02)
        running = Running(self, Worker(proxy.conninfo, self.queue, handler, **options))
        done = "select count(*) from scylla.task where queue = %s and status in ('completed', 'aborted')"
        why = f"cut {mode} {cut_at}"
        self.assertTrue(eventually(lambda: self.ask(done, self.queue) == 3), (why, running.events))
        # The worker knows, too, whatever it was told.
        self.assertTrue(eventually(lambda: running.counters.held == 0), (why, running.events))
        self.assertEqual(running.stop(), 0)
        if exactly_once:
            self.assertEqual(self.ask(done + " and attempt = 1 and failures = 0", self.queue), 3, (why, running.events))
            c = running.counters
            self.assertEqual((c.completed, c.aborted, c.lost), (2, 1, 0), (why, running.events))
        proxy.close()
        return proxy.chunks

    # Until a run needs fewer chunks than that.
    def cut_at_each_step(self, mode: str, exactly_once: bool) -> None:
        step = 1
        while self.work_through(step, mode, exactly_once) >= step:
            step += 1
        self.assertGreater(step, 15)

    def test_without_a_cut(self) -> None:
        self.assertGreater(self.work_through(0, "before", True), 15)

    # When a chunk is lost, or half of it, it is clear what the server has done by the time that the worker asks.
    def test_cut_before_each_step(self) -> None:
        self.cut_at_each_step("before", True)

    def test_cut_in_the_middle_of_each_step(self) -> None:
        self.cut_at_each_step("middle", True)

    # The server may still be at it when the worker asks again: then a lease may have to expire.
    def test_cut_after_each_step(self) -> None:
        self.cut_at_each_step("after", False)


class SilentServerTest(TestCase):
    """stop() keeps its promise although the server no longer answers, long before any time-out of a call."""

    def run_against(self, what: str) -> None:
        proxy = Proxy(self)
        go = threading.Event()

        def handler(job: Job) -> None:
            while not go.is_set() and not job.stop_requested:
                job.wait(0.005)

        proxy.hold = what == "connecting"
        if what == "finishing":
            self.submit(*range(20))
        worker = Worker(
            f"{proxy.conninfo} application_name={self.queue}",
            self.queue,
            handler,
            concurrency=2,
            prefetch=10,
            lease_timeout=60,
            stop_grace=0.2,
            call_timeout=60,
        )
        w = Running(self, worker)
        if what == "waiting":
            waiting = "select count(*) from pg_stat_activity where application_name = %s and query like 'call%%' and wait_event_type = 'Extension'"
            self.eventually(lambda: self.ask(waiting, self.queue) == 1)
        elif what == "finishing":
            self.eventually(lambda: w.counters.running == 2 and w.counters.held == 12)
        proxy.hold = True
        go.set()
        self.eventually(lambda: w.counters.running == 0)
        start = time.monotonic()
        self.assertEqual(w.stop(), 0)
        self.assertLess(time.monotonic() - start, 30)
        proxy.close()

    def test_connecting(self) -> None:
        self.run_against("connecting")

    def test_waiting(self) -> None:
        self.run_against("waiting")

    def test_finishing(self) -> None:
        self.run_against("finishing")

    # By the worker's own clock the lease ends, and the handler is told, although the server never says so.
    def test_handlers_learn_that_no_call_extends_their_lease(self) -> None:
        proxy = Proxy(self)
        reasons: list[Any] = []

        def handler(job: Job) -> None:
            job.wait(30)
            reasons.append(job.stop_reason)

        self.submit(1)
        w = Running(self, Worker(proxy.conninfo, self.queue, handler, lease_timeout=2, stop_grace=0))
        self.eventually(lambda: w.counters.running == 1)
        proxy.hold = True
        self.eventually(lambda: reasons == [StopReason.LEASE_LOST])
        self.assertEqual(w.logged("overdue"), 1)
        w.stop()
        proxy.close()


if __name__ == "__main__":
    unittest.main()
