"""The faults, chosen by a seed."""
import heapq
import random
import signal
import threading
import time
from collections import Counter

import psycopg2

from state import ask, connect

TABLES = ("task_spec", "task_waiting", "task_ready", "task_lease", "task_outcome", "task_gate", "task_plan", "task_dedup", "queue",
          "task_condition_end", "task_callback", "signal_sent", "signal_condition", "task_check", "task_memo", "signal_unseen",
          "signal_arrival", "pool_line", "task_reservation", "workflow_run_state", "workflow_step_state", "workflow_iteration", "workflow_attempt",
          "workflow_agenda", "workflow_action_state")


class Faults:
    def __init__(self, server, team, seed):
        self.server, self.team, self.random = server, team, random.Random(seed)
        self.counts = Counter()
        self.later = []       # (time, number, function): what undoes a fault
        self.threads = []     # commands that may take their time
        self.numbers = 0
        self.rested = 0       # resting databases whose task has become ready
        self.notes = []
        self.light = (self.kill_client, self.freeze_client, self.kill_client, self.freeze_client, self.freeze_backend,
                      self.terminate_backend, self.cancel_backend, self.cancel_backend, self.terminate_monitor,
                      self.freeze_monitor, self.terminate_server_worker, self.freeze_server_worker, self.vacuum, self.vacuum_full, self.vacuum, self.reindex, self.hold_snapshot,
                      self.reload, self.lock_table)
        self.heavy = (self.kill_backend, self.kill_monitor, self.kill_server_worker, self.kill_launcher, self.kill_postmaster, self.kill_helper,
                      self.stop_immediate, self.restart_fast, self.other_database, self.resting_database)

    def run(self, seconds):
        """Returns the failures of the clients."""
        until = time.monotonic() + seconds
        next_heavy = time.monotonic() + self.random.uniform(2, 5)
        pending = list(self.heavy)
        while time.monotonic() < until:
            if time.monotonic() >= next_heavy:
                if not pending:
                    pending = list(self.heavy)
                # Each of them in turn, in a random order, so that a short run has nearly all.
                self.happen(pending.pop(self.random.randrange(len(pending))))
                next_heavy = time.monotonic() + self.random.uniform(3, 7)
            else:
                self.happen(self.random.choice(self.light))
            if problem := self.team.replace_dead():
                self.notes.append("client: " + problem)
            pause = time.monotonic() + self.random.uniform(0.05, 0.5)
            while (now := time.monotonic()) < pause:
                self.undo(now)
                time.sleep(0.01)
        self.calm()
        return self.notes

    def happen(self, fault):
        try:
            fault()
        except psycopg2.Error:
            return  # the server is not there just now
        self.counts[fault.__name__] += 1

    def after(self, delay, function):
        self.numbers += 1
        heapq.heappush(self.later, (time.monotonic() + delay, self.numbers, function))

    def undo(self, now):
        while self.later and self.later[0][0] <= now:
            heapq.heappop(self.later)[2]()

    def calm(self):
        """Ends all faults."""
        self.undo(float("inf"))
        self.server.wake_all()
        for thread in self.threads:
            deadline = time.monotonic() + 120
            while thread.is_alive() and time.monotonic() < deadline:
                thread.join(5)
                if thread.is_alive():
                    self.nudge()
                    # It may wait for a transaction that a killed client had prepared: its successor ends that.
                    if problem := self.team.replace_dead():
                        self.notes.append("client: " + problem)
            if thread.is_alive():
                self.notes.append(f"hangs: {thread.name} does not return for 120 s")
        self.threads = []
        self.server.wait_until_it_answers()
        self.ask("alter system reset all")
        self.ask("select pg_reload_conf()")
        # What an interrupted REINDEX CONCURRENTLY leaves.
        for [index] in self.ask("select indexrelid::regclass::text from pg_index where not indisvalid"):
            self.ask("drop index " + index)

    def nudge(self):
        """An interrupt for every backend. DROP DATABASE waits until each has processed a barrier. A backend that finds a cancel
        and the barrier together, because it was stopped, raises the error, and processes the barrier only at its next interrupt:
        this is how the server's ProcessInterrupts() works. It does not help backends that do not process interrupts."""
        try:
            self.ask("select pg_log_backend_memory_contexts(pid) from pg_stat_activity "
                     "where backend_type = 'client backend' and pid <> pg_backend_pid()")
        except psycopg2.Error:
            pass

    def aside(self, *commands, database=None):
        """Runs SQL that may take long, fail, or lose its connection, without effect on us."""
        def run():
            self.say(*commands, database=database)
        self.begin(commands[0], run)

    def say(self, *commands, database=None):
        """Whether all of them have been answered."""
        try:
            connection = connect(self.server.dsn + (f" dbname={database}" if database else ""))
            for command in commands:
                ask(connection, command)
            connection.close()
            return True
        except psycopg2.Error:
            return False

    def begin(self, name, run):
        self.threads = [thread for thread in self.threads if thread.is_alive()]
        thread = threading.Thread(target=run, name=name, daemon=True)
        self.threads.append(thread)
        thread.start()

    def ask(self, sql):
        connection = connect(self.server.dsn)
        try:
            return ask(connection, sql)
        finally:
            connection.close()

    # ---- clients

    def a_client(self):
        return self.random.choice(self.team.members)[0]

    def kill_client(self):
        self.a_client().send_signal(signal.SIGKILL)

    def freeze_client(self):
        process = self.a_client()
        process.send_signal(signal.SIGSTOP)
        self.after(self.random.uniform(0.1, 4), lambda: process.send_signal(signal.SIGCONT))

    # ---- backends

    def a_backend(self):
        return self.some("postgres: postgres postgres [local]")

    def freeze_backend(self):
        if pid := self.a_backend():
            self.server.freeze(pid)
            self.after(self.random.uniform(0.05, 2.5), lambda: self.server.wake(pid))

    def terminate_backend(self):
        if pid := self.a_backend():
            self.ask(f"select pg_terminate_backend({pid})")

    def cancel_backend(self):
        self.ask("select pg_cancel_backend(pid) from pg_stat_activity where application_name <> 'observer' and state = 'active'")

    def kill_backend(self):
        if pid := self.a_backend():
            self.server.send(pid, signal.SIGKILL)

    # ---- the extension's own processes, and the server's

    def some(self, kind):
        pids = self.server.children(kind)
        return self.random.choice(pids) if pids else None

    def terminate_monitor(self):
        if pid := self.some("scylla monitor"):
            self.server.send(pid, signal.SIGTERM)

    def freeze_monitor(self):
        if pid := self.some("scylla monitor"):
            self.server.freeze(pid)
            self.after(self.random.uniform(0.1, 3), lambda: self.server.wake(pid))

    def kill_monitor(self):
        if pid := self.some("scylla monitor"):
            self.server.send(pid, signal.SIGKILL)

    def a_server_worker(self):
        return self.some(self.random.choice(("scylla worker", "scylla engine")))

    def terminate_server_worker(self):
        if pid := self.a_server_worker():
            self.server.send(pid, signal.SIGTERM)

    def freeze_server_worker(self):
        if pid := self.a_server_worker():
            self.server.freeze(pid)
            self.after(self.random.uniform(0.1, 2), lambda: self.server.wake(pid))

    def kill_server_worker(self):
        if pid := self.a_server_worker():
            self.server.send(pid, signal.SIGKILL)

    def kill_launcher(self):
        if pid := self.some("scylla launcher"):
            self.server.send(pid, signal.SIGKILL)

    def kill_helper(self):
        if pid := self.some(self.random.choice(("checkpointer", "walwriter", "autovacuum", "background writer"))):
            self.server.send(pid, signal.SIGKILL)

    # ---- the server

    def kill_postmaster(self):
        self.server.kill_postmaster()

    def stop_immediate(self):
        self.server.wake_all()
        self.server.stop("immediate")
        time.sleep(self.random.uniform(0, 1))
        self.server.start()

    def restart_fast(self):
        self.server.wake_all()
        self.server.stop("fast")
        self.server.start()

    def reload(self):
        self.aside(self.random.choice((
            "alter system set scylla.monitor = off", "alter system reset scylla.monitor", "alter system reset scylla.monitor",
            "alter system set scylla.monitor_interval = '20 ms'", "alter system set scylla.monitor_interval = '5 s'",
            "alter system set deadlock_timeout = '10 ms'", "alter system set autovacuum = off", "alter system reset all")),
            "select pg_reload_conf()")

    # ---- the tables, and what stands beside them

    def a_table(self):
        return "scylla." + self.random.choice(TABLES)

    def vacuum(self):
        self.aside("vacuum (analyze) " + self.a_table())

    def vacuum_full(self):
        self.aside("vacuum full " + self.a_table())

    def reindex(self):
        self.aside("reindex table " + self.random.choice(("", "concurrently ")) + self.a_table())

    def lock_table(self):
        self.aside("begin", f"lock table {self.a_table()} in share row exclusive mode",
                   f"select pg_sleep({self.random.uniform(0, 1)})", "rollback")

    def hold_snapshot(self):
        self.aside("begin isolation level repeatable read", "select count(*) from scylla.task",
                   f"select pg_sleep({self.random.uniform(1, 10)})", "commit")

    def other_database(self):
        """Another database is created, uses the extension a little, drops it, and is dropped."""
        self.numbers += 1
        name = f"other{self.numbers}_{int(time.time())}"
        self.aside(f"create database {name}")
        self.after(1, lambda: self.aside("create extension scylla", "select scylla.submit('q', '1')",
                                         "select scylla.lease('q', 'w', timeout => '1 ms')", database=name))
        self.after(3, lambda: self.aside("drop extension scylla", "create extension scylla", database=name))
        self.after(5, lambda: self.aside(f"drop database {name} with (force)"))

    def resting_database(self):
        """A database in which there is nothing to do for a while, so that it has no monitor, until a task is due; renamed or copied
        meanwhile. It stays until the round ends."""
        self.numbers += 1
        name, other = (f"{kind}{self.numbers}_{int(time.time())}" for kind in ("resting", "rested"))
        delay = self.random.uniform(1, 20)
        move = self.random.choice((None, f"alter database {name} rename to {other}", f"create database {other} template {name}"))

        def run():
            if (self.say(f"create database {name}")
                    and self.say("create extension scylla", f"select scylla.submit('q', '1', not_before => clock_timestamp() + '{delay} s')", database=name) and move):
                self.say(move)
        self.begin(f"create database {name}", run)

    def forgotten(self, patience):
        """What is due in the resting databases and has not been seen to. Drops them."""
        found = []
        deadline = time.monotonic() + patience
        for [name] in self.ask("select datname from pg_database where datname ~ '^rest(ing|ed)[0-9]'"):
            connection = connect(self.server.dsn + f" dbname={name}")
            made = ask(connection, "select to_regclass('scylla.task') is not null")[0][0]  # its creation may have been interrupted
            while (left := made and self.not_ready(connection)) and time.monotonic() < deadline:
                time.sleep(0.2)
            connection.close()
            self.rested += made and not left
            if left:
                found.append(f"forgotten: what is due in database {name} is not ready {patience} s after the last fault")
            self.ask(f"drop database {name} with (force)")
        return found

    @staticmethod
    def not_ready(connection):
        """Whether a task is waiting."""
        return ask(connection, "select count(*) from scylla.task where status <> 'ready'")[0][0] > 0
