"""What the database shows, for the rules."""
import time

import psycopg2

from rules import State

TASKS = """select rn, queue, spec, status::text as status, priority, owner, attempt, failures, max_attempts, result, history, plan
    from scylla.task where queue like %s"""
PLANS = "select name, status from scylla.plan where name like %s"
# What a completion leaves for the monitor to decide (docs/internals.md, Gates) looks like this until it has.
IN_DOUBT = ("waits, but for nothing", "is open and has no live task, but is not finished")


def connect(dsn):
    connection = psycopg2.connect(dsn + " application_name=observer connect_timeout=10")
    connection.autocommit = True
    return connection


def ask(connection, sql, *arguments):
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments or None)
        return cursor.fetchall() if cursor.description else []


def look(connection, prefix, final):
    """One snapshot of everything whose name begins with the prefix, and the problems that check() finds in it."""
    taken = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute("begin isolation level repeatable read, read only")
        try:
            cursor.execute(TASKS, (prefix + "-%",))
            names = [column.name for column in cursor.description]
            tasks = {row[0]: dict(zip(names, row)) for row in cursor}
            cursor.execute(PLANS, (prefix + ".%",))
            plans = {name: {"status": status} for name, status in cursor}
            cursor.execute("select rn, problem from scylla.check()")
            problems = [f"check(): {rn} {problem}" for rn, problem in cursor
                        if final or not any(text in problem for text in IN_DOUBT)]
            cursor.execute("select gid from pg_prepared_xacts where gid like %s", (prefix + ".%",))
            prepared = {gid for gid, in cursor}
        finally:
            cursor.execute("rollback")
    return State(tasks, plans, prepared, taken, final), problems


def unfinished(connection, prefix):
    """How much there is still to be done."""
    [[count]] = ask(connection, """select
        (select count(*) from scylla.task where queue like %s and status in ('waiting', 'ready', 'running'))
        + (select count(*) from scylla.plan where name like %s and status in ('building', 'running'))
        + (select count(*) from pg_prepared_xacts where gid like %s)""", prefix + "-%", prefix + ".%", prefix + ".%")
    return count
