"""Rounds of load and faults against a private cluster, each checked at its end and sometimes before.

    chaos.py FOLDER SOCKET-FOLDER --seconds N [--round N] [--seed S]

The programs of the server are found by PATH. Prints figures; the status is 1 if a rule was broken.
"""
import argparse
import os
import random
import signal
import sys
import time
from collections import Counter

import psycopg2

from faults import Faults
from record import OK, UNKNOWN, Record
from rules import Observer
from server import Server
from state import ask, connect, look
from team import ROLES, Team, create_queues, finish, rules_of
from waits import names

LIMIT = 3
PATIENCE = 60  # seconds after the last fault in which nothing ends, though not everything has


class Figures:
    def __init__(self):
        self.ops, self.faults, self.acted = Counter(), Counter(), Counter()
        self.looks = self.violations = self.rested = 0
        self.longest = 0.0

    def count(self, ops):
        for op in ops:
            self.ops["acknowledged" if op.outcome == OK else "unanswered" if op.outcome == UNKNOWN else "refused"] += 1
            if op.outcome == OK:
                self.ops["two-phase"] += bool(op.gid)
                for part in op.parts:
                    self.ops[part["do"]] += len(part["tasks"]) if part["do"] == "lease" else 1

    def show(self):
        ops = [f"{self.ops[name]} {name}" for name in ("acknowledged", "unanswered", "refused")]
        print("operations: " + ", ".join(ops))
        print("acknowledged: " + ", ".join(f"{count} {name}" for name, count in sorted(self.ops.items())
                                           if name not in ("acknowledged", "unanswered", "refused")))
        print("runs that were acted upon: " + ", ".join(f"{count} {name}" for name, count in sorted(self.acted.items())))
        print(f"faults: {sum(self.faults.values())}: " + ", ".join(f"{count} {name}" for name, count in sorted(self.faults.items())))
        print(f"resting databases whose task became ready: {self.rested}")
        print(f"comparisons: {self.looks}; everything had ended within {self.longest:.1f} s of the last fault")
        print(f"violations = {self.violations}", flush=True)


def play(server, folder, number, seconds, seed, figures):
    """A round. Returns the violations."""
    prefix = f"r{number}"
    folder = f"{folder}/{prefix}"
    os.mkdir(folder)
    rng = random.Random(seed)
    connection = connect(server.dsn)
    create_queues(connection, prefix, LIMIT)
    connection.close()
    record = Record(folder)
    team = Team(folder, prefix, server.dsn, rng.random())
    faults = Faults(server, team, rng.random())
    found = []
    try:
        for role in ROLES:
            team.hire(role)
        parts = 3
        for part in range(parts):
            found += faults.run(seconds / parts)
            if part < parts - 1:
                found += judge(server, record, prefix, False, figures)
        found += team.dismiss()
        took = finish(team, PATIENCE)
        found += team.dismiss()
        found += faults.forgotten(PATIENCE)
    finally:
        team.kill()
    figures.faults += faults.counts
    figures.rested += faults.rested
    if took is not None:
        figures.longest = max(figures.longest, took)
    found += judge(server, record, prefix, True, figures)
    figures.count(record.ops.values())
    figures.acted.update(acted_upon(server, prefix))
    found += leftovers(server, prefix)
    return found


def judge(server, record, prefix, final, figures):
    """One comparison."""
    for _ in range(10):
        try:
            connection = connect(server.dsn)
            state, problems = look(connection, prefix, final)
            connection.close()
            break
        except psycopg2.Error:
            time.sleep(1)
            server.wait_until_it_answers()
    figures.looks += 1
    cut = time.monotonic()  # whatever the snapshot shows was begun before
    record.read()
    return Observer(record.until(cut), state, **rules_of(prefix, LIMIT)).judge() + problems


def acted_upon(server, prefix):
    """What has become of the runs that were stopped, killed, skipped and restarted."""
    acted = names(prefix)["acted"]
    connection = connect(server.dsn)
    rows = ask(connection, """select action || case when step is null then '' else ' of a step' end || ': ' || outcome, count(*) from scylla.workflow_action
            where workflow = %s group by 1
        union all select 'attempts ' || status, count(*) from scylla.workflow_step_attempt where workflow = %s group by 1
        union all select 'effects', count(*) from chaos_effect where workflow = %s""", acted, acted, acted)
    connection.close()
    return dict(rows)


def leftovers(server, prefix):
    """Orphaned locks and connections, superfluous monitors; and, at the end of a round, that the purge removes its tasks."""
    connection = connect(server.dsn)
    found = []
    deadline = time.monotonic() + 60
    query = """select 'lock: ' || l.mode || ' on ' || coalesce(l.relation::regclass::text, l.locktype) || ' of '
            || coalesce(a.application_name, 'process ' || l.pid, 'a prepared transaction')
        from pg_locks l left join pg_stat_activity a using (pid)
        where l.pid is distinct from pg_backend_pid() and coalesce(a.backend_type, '') not in ('autovacuum worker', 'scylla monitor', 'scylla worker', 'scylla engine')
        union all select 'client: ' || application_name || ' is still connected' from pg_stat_activity where application_name like %s
        union all select 'monitor: ' || count(*) || ' monitors' from pg_stat_activity where backend_type = 'scylla monitor'
            and datname = current_database() having count(*) > 1
        union all select 'launcher: ' || count(*) || ' launchers' from pg_stat_activity where backend_type = 'scylla launcher'
            having count(*) <> 1"""
    while (found := [text for text, in ask(connection, query, prefix + "%")]) and time.monotonic() < deadline:
        time.sleep(0.1)  # what has ended is just leaving; a monitor is just coming
    for queue, in ask(connection, "select queue from scylla.queue_settings where queue like 'idle.%'"):
        ask(connection, "select scylla.drop_queue(%s, force => true)", queue)
    for [plan] in ask(connection, "select name from scylla.plan where name like 'idle.%' and status = 'building'"):
        ask(connection, "select scylla.cancel_plan(%s)", plan)
    known = names(prefix)
    for trigger in (known["trigger"], known["run_trigger"]):
        ask(connection, "select scylla.drop_trigger(%s)", trigger)
    for queue in (f"{prefix}-open", f"{prefix}-limit", f"{prefix}-fair", known["ask"], known["handled"], known["steps"], known["statements"]):
        ask(connection, "select scylla.alter_queue(%s, '{\"retention\": \"0\"}')", queue)
    connection.close()
    return found


def purged(server):
    """At the end of all rounds, the monitor has removed everything of them."""
    connection = connect(server.dsn)
    deadline = time.monotonic() + 120
    tables = ("task_spec", "task_gate", "task_dedup", "task_memo", "task_check", "pool_line", "task_reservation", "signal_arrival")
    sql = "select " + " + ".join(f"(select count(*) from scylla.{table})" for table in tables)
    while (left := ask(connection, sql)[0][0]) and time.monotonic() < deadline:
        time.sleep(0.2)
    connection.close()
    return [f"purge: {left} rows are left"] if left else []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("socket_dir")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--round", type=float, default=60, help="seconds of faults between two complete judgements")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1_000_000) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))

    rng = random.Random(seed)
    figures = Figures()
    server = Server(options.folder, options.socket_dir)
    found = []
    try:
        server.create()
        connection = connect(server.dsn)
        ask(connection, "create extension scylla")
        connection.close()
        began, number = time.monotonic(), 0
        while not found and (left := options.seconds - (time.monotonic() - began)) > 0:
            number += 1
            found = play(server, options.folder, number, min(left, options.round), rng.random(), figures)
            figures.violations += len(found)
            print(f"round {number}: {sum(figures.faults.values())} faults, {figures.ops['acknowledged']} operations acknowledged, "
                  f"{len(found)} violations", flush=True)
        if not found:
            found = purged(server)
        found += server.complaints()
        figures.violations = len(found)
    except RuntimeError as error:
        found.append(f"server: {error}")
        figures.violations = len(found)
    finally:
        server.wake_all()
        if server.process.poll() is None:
            server.stop("immediate")
    for text in found[:50]:
        print(text)
    figures.show()
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
