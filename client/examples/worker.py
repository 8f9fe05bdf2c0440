#!/usr/bin/env python3
# A worker in Python, with psycopg2: counts the words of {"text": "..."}.   PGDATABASE=... worker.py QUEUE
import signal
import sys

import psycopg2
from psycopg2.extras import Json

queue = sys.argv[1]
database = psycopg2.connect("")  # PGHOST, PGDATABASE, ... say where
database.autocommit = True       # each call is a transaction of its own; waiting needs that
stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))


def ask(sql, *arguments):
    with database.cursor() as cursor:
        cursor.execute(sql, arguments)
        return cursor.fetchall()


def count_words(spec):
    return {"words": len(spec["text"].split())}


[[me]] = ask("select scylla.register_worker()")
while not stopping:
    # What takes longer than the lease calls scylla.heartbeat() in between.
    tasks = ask("select rn, attempt, spec from scylla.lease(%s, %s, timeout => '30 s')", queue, me)
    for rn, attempt, spec in tasks:
        try:
            ask("select status from scylla.complete(%s, %s, %s, attempt => %s)", rn, me, Json(count_words(spec)), attempt)
        except psycopg2.errors.ObjectNotInPrerequisiteState:
            pass  # cancelled, or too late: it is ours no more
        except (KeyError, TypeError) as error:
            reason = Json({"code": "no-text", "description": repr(error)})
            ask("select status from scylla.abort(%s, %s, %s, attempt => %s)", rn, me, reason, attempt)
    if not tasks:
        ask("call scylla.wait(%s, '1 s')", queue)
