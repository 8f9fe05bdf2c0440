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
            verb, answer = "complete", count_words(spec)
        except Exception as error:  # whatever the spec is, the next task is another
            verb, answer = "abort", {"code": "no-text", "message": repr(error)}
        try:
            ask(f"select status from scylla.{verb}(%s, %s, %s, attempt => %s)", rn, me, Json(answer), attempt)
        except psycopg2.errors.ObjectNotInPrerequisiteState:
            pass  # cancelled, or too late: it is ours no more
    if not tasks:
        ask("call scylla.wait(%s, '1 s')", queue)
