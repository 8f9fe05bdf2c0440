"""The clients: each a process that works with the database, writes down what it does (record.py), and knows nothing of the
others. A broken connection is made again, without limit.

    clients.py ROLE NAME SEED FOLDER PREFIX CONNECTION

ROLE is submitter, planner, worker, preparer, idler, or calm (a worker without whims), or one of those in waits.py. PREFIX begins the
names of queues and tasks. TERM ends a client after the call that it is in; so does the end of the process that has started it.
"""
import os
import random
import signal
import sys
import time

import psycopg2
from psycopg2.extras import Json

from record import Recorder


# Valid but unexpected texts. The last one is refused (22P05), and nothing of it may be stored.
ODD = ([[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]], {}, {"": {"": ""}}, None, True, 0.1, -10 ** 60, "", "\x01\x1f\x7f", "\\\"'%{}$1", "\U0001f525\u202e",
       "x" * 60000, [None] * 500, {str(n): n for n in range(300)}, "\0")
ODD_NAMES = (" '\"\\", "{,}", "%s", "\u00fc\U0001f525", "$1;--", " null ")


IDLER = "chaos_idler"  # its database role


class Broken(Exception):
    """The connection broke: the operation in progress may have happened or not."""


class Refused(Exception):
    """An error of the server, which keeps the connection: nothing of the transaction has happened."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


class Session:
    def __init__(self, recorder, dsn):
        self.recorder, self.dsn = recorder, dsn
        self.connection = None

    def connect(self):
        if self.connection is None or self.connection.closed:
            try:
                self.connection = psycopg2.connect(self.dsn)
                self.connection.autocommit = True
            except psycopg2.OperationalError as error:
                raise Broken from error

    def query(self, sql, *arguments):
        self.connect()
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(sql, arguments or None)
                return cursor.fetchall() if cursor.description else []
        except psycopg2.Error as error:
            # An error of class 08 or 57P comes with the end of the connection, and can come after the commit.
            if self.connection.closed or error.pgcode is None or error.pgcode.startswith(("08", "57P")):
                self.close()
                raise Broken from error
            raise Refused(error.pgcode) from error

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def call(self, parts, sql, *arguments, answer=None):
        """A transaction of one call. answer converts its result to parts."""
        self.connect()
        number = self.recorder.begin(parts)
        try:
            rows = self.query(sql, *arguments)
        except Refused as refused:
            self.recorder.no(number, refused.code)
            raise
        self.recorder.ok(number, answer(rows) if answer else None)
        return rows

    def transaction(self, steps, end="commit", gid=None):
        """A transaction of several steps; each returns its parts. end: commit, rollback or prepare."""
        self.connect()
        number = self.recorder.begin([], gid)
        parts = []
        try:
            self.query("begin")
            for step in steps:
                parts += step()
            if end == "rollback":
                self.query("rollback")
                self.recorder.no(number, "rolled back")
                return parts
            self.recorder.parts(number, parts)
            if end == "prepare":
                self.query(f"prepare transaction '{gid}'")
                self.recorder.prepared(number)
            else:
                self.query("commit")
                self.recorder.ok(number)
        except Refused as refused:
            self.recorder.no(number, refused.code)
            self.query("rollback")
            raise
        return parts

    def resolve(self, gid, commit):
        """Ends a prepared transaction."""
        self.connect()
        number = self.recorder.begin([], resolve={"gid": gid, "commit": commit})
        try:
            self.query(f"{'commit' if commit else 'rollback'} prepared '{gid}'")
        except Refused as refused:
            self.recorder.no(number, refused.code)
            raise
        self.recorder.ok(number)


class Client:
    def __init__(self, name, seed, folder, prefix, dsn):
        self.name, self.prefix = name, prefix
        self.random = random.Random(seed)
        self.session = Session(Recorder(folder, name), f"{dsn} application_name={name} connect_timeout=10")
        self.queues = [f"{prefix}-open", f"{prefix}-limit", f"{prefix}-fair"]
        self.stopping = False
        self.parent = os.getppid()
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _stop(self, *_):
        self.stopping = True

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def run(self):
        while not self.stopping and os.getppid() == self.parent:
            try:
                self.step()
            except Broken:
                time.sleep(0.05)
            except Refused:
                pass  # cancelled, a lost lease, a name that is taken: all written down
        self.session.close()


class Submitter(Client):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.numbers = 0
        self.known = []      # the latest that were acknowledged
        self.uncertain = []  # submits without an answer, to be repeated

    def task(self, providers=(), **more):
        self.numbers += 1
        part = {"do": "submit", "rn": f"{self.prefix}.{self.name}.{self.numbers}", "queue": self.random.choice(self.queues),
                "priority": self.random.choice((0, 0, 0, 1, 7, 127)), **more}
        padding = self.random.choice((0, 10, 300, 3000 if self.chance(5) else 10))
        part["spec"] = {"n": self.numbers, "by": self.name, "pad": "x" * padding}
        if self.chance(5):
            part["spec"]["odd"] = self.random.choice(ODD)
        if self.chance(3):
            part["rn"] += self.random.choice(ODD_NAMES) + "."
        if providers:
            part["depends_on"] = list(dict.fromkeys(providers))
            part["on_failure"] = self.random.choice(("cascade", "skip", "ignore", "ignore"))
        if self.chance(15):
            part["max_attempts"] = self.random.randint(1, 4)
        if self.chance(10):
            part["delay"] = self.random.randint(1, 800)
        return part

    def submit_sql(self, part, on_duplicate="error"):
        return ("select rn from scylla.submit(%s, %s, %s, %s, clock_timestamp() + %s * interval '1 ms', %s, %s, %s, %s, "
                "dedup_key => %s, on_duplicate => %s, wait_for => %s, needs => %s, expected_runtime => %s::interval)",
                part["queue"], Json(part["spec"]), part["priority"], part["rn"], part.get("delay"), part.get("depends_on"),
                part.get("on_failure", "cascade"), part.get("plan"), part.get("max_attempts"), part.get("dedup_key"), on_duplicate,
                Json(part["wait"]) if "wait" in part else None, Json(part["needs"]) if "needs" in part else None, part.get("runtime"))

    def submit_deduplicated(self):
        """A task that can exist only once at a time. The call is not repeated: a second try could find another client's task."""
        part = self.task(dedup_key=f"key {self.random.randint(1, 4)}")
        self.session.call([part], *self.submit_sql(part))
        self.learn([part])

    def submit(self, part, on_duplicate="error"):
        self.uncertain.append(part)
        try:
            self.session.call([part], *self.submit_sql(part, on_duplicate))
        except Refused:
            self.uncertain.pop()
            raise
        self.uncertain.pop()
        self.learn([part])

    def learn(self, parts):
        self.known = (self.known + [part["rn"] for part in parts])[-200:]

    def elements(self, parts):
        return Json([{"queue": part["queue"], "rn": part["rn"], "spec": part["spec"], "priority": part["priority"],
                      "plan": part.get("plan"), "depends_on": part.get("depends_on"), "max_attempts": part.get("max_attempts"),
                      "on_dependency_failure": part.get("on_failure")} for part in parts])

    def batch(self, size, **more):
        """Tasks that depend on each other, in some order."""
        parts = []
        for _ in range(size):
            providers = self.random.sample([part["rn"] for part in parts], self.random.randint(0, min(len(parts), 3)))
            parts.append(self.task(providers, **more))
            parts[-1].pop("delay", None)
        self.random.shuffle(parts)
        return parts

    def pace(self):
        """Not more than workers can do: a client that only submits would make the end of the run the longest part."""
        time.sleep(self.random.uniform(0.005, 0.04))
        while not self.stopping and self.chance(20):
            [[most]] = self.session.query("""select max(n) from unnest(%s) q,
                lateral (select count(*) n from scylla.list_tasks(q, 'ready', max_tasks => 100)) counted""", self.queues)
            if most < 100:
                break
            time.sleep(0.2)

    def step(self):
        while self.uncertain:  # the same name again: it is there once, whatever became of the first try
            part = self.uncertain.pop(0)
            self.submit(part, "ignore")
        choice = self.random.random()
        if choice < 0.08:
            self.submit_deduplicated()
        elif choice < 0.45:
            self.submit(self.task())
        elif choice < 0.6 and self.known:
            self.submit(self.task(self.random.sample(self.known, self.random.randint(1, min(5, len(self.known))))))
        elif choice < 0.75:
            parts = self.batch(self.random.randint(2, 12))
            self.session.call(parts, "select * from scylla.submit_many(%s, 'error')", self.elements(parts))
            self.learn(parts)
        elif choice < 0.8:
            queue = self.random.choice(self.queues)
            parts = [{**self.task(), "queue": queue, "priority": 3} for _ in range(self.random.randint(1, 30))]
            for part in parts:
                part.pop("delay", None)
                part.pop("max_attempts", None)
            self.session.call(parts, "select scylla.submit_bulk(%s, %s::jsonb[], %s, 3)", queue,
                              [Json(part["spec"]) for part in parts], [part["rn"] for part in parts])
            self.learn(parts)
        elif choice < 0.93:
            self.in_transaction()
        elif self.known:
            rn = self.random.choice(self.known)
            self.session.call([{"do": "cancel", "rn": rn}], "select status from scylla.cancel(%s)", rn)
        self.pace()

    def in_transaction(self):
        """Several submits, some in savepoints that are rolled back, and at the end a commit or a rollback."""
        session = self.session

        def one(part):
            session.query(*self.submit_sql(part))
            return [part]

        def undone(part):
            session.query("savepoint s")
            session.query(*self.submit_sql(part))
            session.query("rollback to s")
            return []

        def slow():
            time.sleep(self.random.uniform(0, 0.2))
            return []

        steps = [lambda part=self.task(): one(part) for _ in range(self.random.randint(1, 4))]
        steps += [lambda part=self.task(): undone(part) for _ in range(self.random.randint(0, 2))] + [slow]
        self.random.shuffle(steps)
        end = self.random.choice(("commit", "commit", "rollback"))
        parts = session.transaction(steps, end)
        if end == "commit":
            self.learn(parts)


class Planner(Submitter):
    """Plans, built in several transactions, opened, added to, sometimes cancelled. A step without an answer is repeated."""

    def plan_call(self, verb, plan, sql):
        while not self.stopping:
            try:
                self.session.call([{"do": verb, "plan": plan}], sql, plan)
                return True
            except Broken:
                time.sleep(0.05)
            except Refused as refused:
                if refused.code != "57014":  # done by an earlier try, or the plan has ended
                    return False
        return False

    def step(self):
        self.numbers += 1
        plan = f"{self.prefix}.{self.name}.plan{self.numbers}"
        self.plan_call("create_plan", plan, "select scylla.create_plan(%s)")
        for _ in range(self.random.randint(1, 3)):
            self.add(plan)
        if self.chance(85):
            self.plan_call("open_plan", plan, "select scylla.open_plan(%s)")
        if self.chance(30):
            self.add(plan)
        if self.chance(15):
            self.plan_call("cancel_plan", plan, "select scylla.cancel_plan(%s)")
        self.pace()

    def add(self, plan):
        parts = self.batch(self.random.randint(2, 15), plan=plan)
        self.session.call(parts, "select * from scylla.submit_many(%s, 'error')", self.elements(parts))
        time.sleep(self.random.uniform(0, 0.1))


class Worker(Client):
    calm = False
    lease_sql = ("select rn, attempt, extract(epoch from deadline)::float8, extract(epoch from updated)::float8, spec, args, state "
                 "from ")

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.held = []  # (rn, attempt), over broken connections
        self.queue = self.random.choice(self.queues)

    def leased(self, rows):
        return [dict(zip(("rn", "attempt", "deadline", "leased", "spec", "args", "state"), row)) for row in rows]

    def completion(self, task):
        rn, attempt = task
        result = {"by": self.name, "attempt": attempt, "rn": rn}
        if self.chance(3):
            result["odd"] = self.random.choice(ODD[:-1])
        return {"do": "complete", "rn": rn, "worker": self.name, "attempt": attempt, "result": result}

    def step(self):
        if self.held:
            self.work()
            return
        if self.calm or self.chance(20):
            self.queue = self.random.choice(self.queues)
        count = self.random.choice((1, 1, 1, 3, 10))
        lease = {"do": "lease", "worker": self.name, "queue": self.queue, "tasks": []}
        timeout = self.random.choice(("700 ms", "1500 ms", "2500 ms"))
        rows = self.session.call([lease], self.lease_sql + "scylla.lease(%s, %s, %s, %s)", self.queue, self.name, count, timeout,
                                 answer=lambda rows: [{**lease, "tasks": self.leased(rows)}])
        self.held = [row[:2] for row in rows]
        if rows:
            self.put_off(rows)
            return
        if self.calm:
            time.sleep(0.02)
        elif self.chance(50):
            # All waits are short, so that a client that must stop does.
            self.session.query("call scylla.wait(%s, '400 ms')", self.queue)
        elif self.chance(50):
            self.session.query("call scylla.wait_any(%s, '400 ms')", self.queues)

    def put_off(self, rows):
        """Some tasks wait for a signal while they run, and some check for something outside that does not exist yet."""
        for rn, attempt, _, _, spec, _, state in rows:
            part = {"rn": rn, "worker": self.name, "attempt": attempt}
            if "defer" in spec and state is None and not self.calm:
                wait, kept = [{"signal": f"{self.prefix}.s", "match": {"n": spec["defer"]}}], {"by": self.name, "attempt": attempt}
                self.held.remove((rn, attempt))
                self.session.call([{"do": "defer", **part, "wait": wait, "state": kept}],
                                  "select status from scylla.defer(%s, %s, %s, %s, %s)", rn, self.name, Json(wait), Json(kept), attempt)
            elif not self.calm and self.chance(3):
                self.held.remove((rn, attempt))
                self.session.call([{"do": "not_yet", **part}], "select status from scylla.not_yet(%s, %s, %s * interval '1 ms', %s)",
                                  rn, self.name, self.random.choice((0, 20, 300)), attempt)

    def work(self):
        if not self.held:
            return
        time.sleep(self.random.uniform(0, 0.02))
        if self.calm:
            return self.complete_many()
        if self.chance(15):
            rn, attempt = self.random.choice(self.held)
            beat = {"do": "heartbeat", "rn": rn, "worker": self.name, "attempt": attempt}
            self.session.call([beat], "select extract(epoch from deadline)::float8 from scylla.heartbeat(%s, %s, %s, attempt => %s)",
                              rn, self.name, self.random.random(), attempt, answer=lambda rows: [{**beat, "deadline": rows[0][0]}])
        choice = self.random.random()
        if choice < 0.02:
            time.sleep(self.random.uniform(1, 3))  # too slow: some of the leases run out
        elif choice < 0.04:
            self.held = []  # forgets them
        elif choice < 0.34 and len(self.held) > 1:
            self.complete_many()
        elif choice < 0.5:
            self.complete_and_lease()
        else:
            self.finish_one(*self.held.pop(0))

    def finish_one(self, rn, attempt):
        part = {"rn": rn, "worker": self.name, "attempt": attempt}
        choice = self.random.random()
        if choice < 0.8:
            done = self.completion((rn, attempt))
            self.again([done], "select status from scylla.complete(%s, %s, %s, attempt => %s)", rn, self.name, Json(done["result"]),
                       attempt)
        elif choice < 0.87:
            self.session.call([{"do": "fail", **part}], "select status from scylla.fail(%s, %s, %s, %s * interval '1 ms', %s)",
                              rn, self.name, Json({"code": "chaos"}), self.random.choice((0, 1, 300)), attempt)
        elif choice < 0.94:
            self.session.call([{"do": "yield", **part}], "select status from scylla.yield(%s, %s, %s)", rn, self.name, attempt)
        elif choice < 0.97:
            self.session.call([{"do": "abort", **part}], "select status from scylla.abort(%s, %s, %s, %s)", rn, self.name,
                              Json({"code": "chaos"}), attempt)
        else:  # in a transaction that is rolled back: it is still held
            def complete():
                self.session.query("select status from scylla.complete(%s, %s, attempt => %s)", rn, self.name, attempt)
                return [self.completion((rn, attempt))]
            self.session.transaction([complete], "rollback")
            self.held.append((rn, attempt))

    def again(self, parts, sql, *arguments):
        """Repeats the call if there was no answer, as a worker would; the second try is refused if the first succeeded."""
        try:
            self.session.call(parts, sql, *arguments)
        except Broken:
            time.sleep(0.05)
            self.session.call(parts, sql, *arguments)

    def complete_many(self):
        tasks, self.held = self.held, []
        parts = [self.completion(task) for task in tasks]

        def done(rows):
            return [part for part, (_, completed) in zip(parts, rows) if completed]

        self.session.call(parts, "select rn, completed from scylla.complete_many(%s, %s, %s::jsonb[], %s)",
                          [task[0] for task in tasks], self.name, [Json(part["result"]) for part in parts],
                          [task[1] for task in tasks], answer=done)

    def complete_and_lease(self):
        tasks, self.held = self.held, []
        parts = [self.completion(task) for task in tasks]
        lease = {"do": "lease", "worker": self.name, "queue": self.queue, "tasks": []}
        rows = self.session.call(parts + [lease], self.lease_sql + "scylla.complete_and_lease(%s, %s, %s, %s, '2 s', %s::jsonb[], %s)",
                                 [task[0] for task in tasks], self.name, self.queue, self.random.choice((1, 5)),
                                 [Json(part["result"]) for part in parts], [task[1] for task in tasks],
                                 answer=lambda rows: parts + [{**lease, "tasks": self.leased(rows)}])
        self.held = [row[:2] for row in rows]


class Calm(Worker):
    calm = True


class Preparer(Worker, Submitter):
    """Two-phase transactions of submits, leases and completions; committed or rolled back later, by any client."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.gids = 0

    def step(self):
        for [gid] in self.session.query("select gid from pg_prepared_xacts where gid like %s", f"{self.prefix}.%"):
            self.resolve(gid)  # an earlier one of this, or of one that was killed
        self.gids += 1
        gid = f"{self.prefix}.{self.name}.{self.gids}"
        steps = self.random.sample((self.submit_one, self.lease_some, self.lease_and_complete), self.random.randint(1, 3))
        self.session.transaction(steps, "prepare", gid)
        self.held = []
        time.sleep(self.random.uniform(0, 0.5))
        if self.chance(80):
            self.resolve(gid)

    def resolve(self, gid):
        self.session.resolve(gid, self.chance(70))

    def submit_one(self):
        part = self.task()
        self.session.query(*self.submit_sql(part))
        return [part]

    def lease_some(self):
        queue = self.random.choice(self.queues)
        rows = self.session.query(self.lease_sql + "scylla.lease(%s, %s, 2, '1 s')", queue, self.name)
        return [{"do": "lease", "worker": self.name, "queue": queue, "tasks": self.leased(rows)}]

    def lease_and_complete(self):
        [lease] = self.lease_some()
        parts = [self.completion((task["rn"], task["attempt"])) for task in lease["tasks"]]
        for part in parts:
            self.session.query("select status from scylla.complete(%s, %s, %s, attempt => %s)", part["rn"], self.name,
                               Json(part["result"]), part["attempt"])
        return [lease] + parts


class Idler(Client):
    """A role with queues of its own, and no rights on others. It begins something and idles in the transaction. The record has
    only the idling, not its operations: the other clients must not be affected."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.session.dsn += f" user={IDLER}"
        self.own = f"idle.{self.prefix}.{self.name}"
        self.numbers = 0

    def deeds(self):
        self.numbers += 1
        own, new = self.own, f"{self.own}.{self.numbers}"
        return (("select scylla.submit(%s, '1', key => 'k') from generate_series(1, 20)", own),
                ("select scylla.alter_queue(%s, %s)", own, Json({"max_running": self.random.choice((None, 1, 5))})),
                ("select scylla.alter_queue(%s, %s)", own, Json({"max_depth": self.random.choice((None, 5, 1000))})),
                ("select scylla.alter_queue(%s, %s)", own, Json({"rate": self.random.choice((None, {"tasks": 5}))})),
                ("select scylla.alter_queue(%s, %s)", own, Json({"max_running_per_key": self.random.choice((None, 1))})),
                ("select scylla.submit(%s || n, '1') from generate_series(1, 5) n", new),
                ("select count(*) from scylla.lease(%s, 'idler', 5, '1 s')", own),
                ("select scylla.drop_queue(%s, force => true)", own),
                ("select scylla.send_signal(%s)", own),
                ("select scylla.submit(%s, '1', wait_for => %s)", own, Json([{"signal": own}])),
                ("select scylla.submit(%s, '1', wait_for => %s)", own, Json([{"check": {"queue": own, "spec": 1}}])),
                ("select scylla.create_callback(%s)", new),
                ("select scylla.create_pool(%s, '{\"slots\": 1}')", new),
                ("select count(*) from scylla.place()",),
                ("select scylla.create_plan(%s)", new),
                ("select scylla.cancel(rn) from scylla.list_tasks(%s, max_tasks => 10)", own))

    def step(self):
        def do(deed):
            self.session.query(*deed)
            return []

        def idle():
            time.sleep(self.random.random() * self.random.choice((0.1, 0.5, 3)))
            return [{"do": "idle"}]

        steps = [lambda deed=deed: do(deed) for deed in self.random.sample(self.deeds(), self.random.randint(1, 3))]
        self.session.transaction(steps + [idle], self.random.choice(("commit", "commit", "rollback")))


ROLES = {"idler": Idler, "submitter": Submitter, "planner": Planner, "worker": Worker, "preparer": Preparer, "calm": Calm}

if __name__ == "__main__":
    import waits
    role, name, seed, folder, prefix, dsn = sys.argv[1:]
    {**ROLES, **waits.ROLES}[role](name, seed, folder, prefix, dsn).run()
