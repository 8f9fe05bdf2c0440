"""What the database shows, for the rules."""
import time

import psycopg2

from rules import State
from wait_rules import WaitState
from waits import names

TASKS = """select rn, queue, spec, status::text as status, priority, owner, attempt, failures, max_attempts, result, history, plan,
    case when starts_with(rn, %s) then args end as args
    from scylla.task where queue like %s"""
PLANS = "select name, status from scylla.plan where name like %s"
STEPS = """select instance, step, iteration, s.status, coalesce(e.n, 0) from
    (select instance, step, coalesce(array_to_json(iterations)::text, '') as iteration, status from scylla.workflow_step
     where workflow = %s and step <> 'each') s
    full join (select instance, step, replace(iteration, ' ', '') as iteration, count(*) as n from chaos_effect where workflow = %s group by 1, 2, 3) e
    using (instance, step, iteration)"""
# What a completion leaves for the monitor to decide (src/task/README.md, Gates) looks like this until it has.
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
            cursor.execute(TASKS, (names(prefix)["trigger"] + "/", prefix + "-%"))
            seen = time.monotonic()
            columns = [column.name for column in cursor.description]
            tasks = {row[0]: dict(zip(columns, row)) for row in cursor}
            cursor.execute(PLANS, (prefix + ".%",))
            plans = {name: {"status": status} for name, status in cursor}
            cursor.execute("select rn, problem from scylla.check()")
            problems = [f"check(): {rn} {problem}" for rn, problem in cursor
                        if final or not any(text in problem for text in IN_DOUBT)]
            cursor.execute("select gid from pg_prepared_xacts where gid like %s", (prefix + ".%",))
            prepared = {gid for gid, in cursor}
            waits = look_at_waits(cursor, prefix)
        finally:
            cursor.execute("rollback")
    return State(tasks, plans, prepared, taken, seen, final, waits), problems


def look_at_waits(cursor, prefix):
    known = names(prefix)

    def rows(sql, *arguments):
        cursor.execute(sql, arguments)
        return cursor.fetchall()

    return WaitState(
        rows("select name, (params ->> 'n')::int, payload from scylla.signal where starts_with(name, %s)", prefix + "."),
        {token: (status, value) for token, status, value in
         rows("select name, status, value from scylla.condition where kind = 'callback' and starts_with(name, %s)", prefix + ".")},
        rows("select p.pool, c.key, coalesce((select sum((r.amounts ->> c.key)::numeric) from scylla.pool_reservation r where r.pool = p.pool), 0), "
             "c.value::numeric from scylla.pool p, jsonb_each_text(p.capacity) c where p.pool = %s", known["pool"]),
        {rn: (status, notes) for rn, status, notes in
         rows("select rn, status::text, (select count(*) from chaos_note n where n.rn = t.rn) from scylla.task t where queue = %s", known["handled"])},
        [rn for rn, in rows("select rn from scylla.task where queue = %s and status in ('waiting', 'ready', 'running')", known["ask"])],
        [rn for rn, in rows("select rn from scylla.pool_reservation where pool = %s", known["pool"])],
        rows("select instance, status, (initiator #>> array['signals', %s, 'params', 'n'])::int, (initiator #>> array['signals', %s, 'params', 'n'])::int "
             "from scylla.workflow_run where workflow = %s", known["left"], known["right"], known["workflow"]),
        {tuple(key): (status, effects) for *key, status, effects in rows(STEPS, known["acted"], known["acted"])})


def unfinished(connection, prefix):
    """How much work is left."""
    known = names(prefix)
    [[count]] = ask(connection, """select
        (select count(*) from scylla.task where (queue like %s or queue in (%s, %s)) and status in ('waiting', 'ready', 'running'))
        + (select count(*) from scylla.plan where name like %s and status in ('building', 'running'))
        + (select count(*) from pg_prepared_xacts where gid like %s)
        + (select count(*) from scylla.trigger_signal where trigger in (%s, %s)) + (select count(*) from scylla.signal_unseen)
        + (select count(*) from scylla.workflow_run where workflow in (%s, %s) and ended is null)""",
                    prefix + "-%", known["ask"], known["handled"], prefix + ".%", prefix + ".%", known["trigger"], known["run_trigger"],
                    known["workflow"], known["acted"])
    return count
