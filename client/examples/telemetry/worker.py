#!/usr/bin/python3
# The worker in Python: positions, trips and reports. What a job does and that it is done is one transaction, so an answer that comes
# late changes nothing.
import signal

import psycopg2

CARS = "from jsonb_array_elements(%(ids)s::jsonb) r, generate_series((r ->> 0)::bigint, (r ->> 1)::bigint) c (car)"
JOBS = {
    "positions": f"insert into telemetry.position select car, 1500 * car {CARS} on conflict (car) do update set metres = excluded.metres",
    "trips": f"insert into telemetry.trip select car, metres / 1000.0 {CARS} join telemetry.position using (car) "
             "on conflict (car) do update set km = excluded.km",
    "report": f"insert into telemetry.report select car, format('%%s km at %%s degrees', round(km, 1), celsius) {CARS} "
              "join telemetry.trip using (car) join telemetry.weather using (car) on conflict (car) do update set line = excluded.line",
}
database = psycopg2.connect("")
stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))


def ask(sql, arguments=()):
    with database.cursor() as cursor:
        cursor.execute(sql, arguments)
        return cursor.fetchall() if cursor.description else []


database.autocommit = True
[[me]] = ask("select scylla.register_worker()")
while not stopping:
    tasks = ask("select rn, attempt, spec ->> 'job', (spec -> 'ids')::text from scylla.lease('telemetry-python', %s, timeout => '30 s')", (me,))
    for rn, attempt, job, ids in tasks:
        database.autocommit = False
        with database:
            ask(JOBS[job], {"ids": ids})
            ask("select scylla.complete(%s, %s, attempt => %s)", (rn, me, attempt))
        database.autocommit = True
    if not tasks:
        ask("call scylla.wait('telemetry-python', '1 s')")
