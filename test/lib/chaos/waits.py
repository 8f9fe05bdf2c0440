"""Clients of what work waits for besides tasks: signals, callbacks, checks, timeouts, triggers, pools, and functions that the
server calls; and of runs of workflows that others stop, kill and restart. Numbers come from the clock, so that waiters and senders use the same ones at about the same time.
"""
import time

from psycopg2.extras import Json

from clients import Client, Refused, Submitter


def names(prefix):
    """What a round has of these."""
    return {"signal": f"{prefix}.s", "left": f"{prefix}.a", "right": f"{prefix}.b", "trigger": f"{prefix}.pair", "run_trigger": f"{prefix}.run",
            "workflow": f"{prefix}.started", "pool": f"{prefix}-pool", "acted": f"{prefix}.acted", "steps": f"steps.{prefix}", "statements": f"sql.{prefix}", "ask": f"ask.{prefix}", "handled": f"handled.{prefix}"}


def number():
    return int(time.monotonic() * 15)


def on_signal(prefix, n):
    return {"signal": names(prefix)["signal"], "match": {"n": n}}


class Waiter(Submitter):
    """Submits tasks that wait for something, that will defer, that need a pool, and that the server runs."""

    def step(self):
        choices = (self.on_signal, self.on_signal, self.on_callback, self.on_callback, self.on_check, self.on_both, self.on_time,
                   self.deferring, self.needing, self.needing, self.handled)
        self.random.choice(choices)()
        self.pace()

    def wait(self, *elements, **more):
        self.submit(self.task(wait=list(elements), on_failure=self.random.choice(("cascade", "skip", "ignore")), **more))

    def a_signal(self):
        return on_signal(self.prefix, number() + self.random.randint(-2, 4))

    def a_callback(self):
        self.numbers += 1
        token = f"{self.prefix}.{self.name}.cb{self.numbers}"
        self.session.call([{"do": "callback", "token": token}], "select scylla.create_callback(%s)", token)
        return {"callback": token}

    def a_check(self):
        return {"check": {"queue": names(self.prefix)["ask"], "spec": {"k": self.random.randint(1, 4)}, "every": "30 ms"}}

    def on_signal(self):
        self.wait(self.a_signal())

    def on_callback(self):
        self.wait(self.a_callback())

    def on_check(self):
        self.wait(self.a_check())

    def on_both(self):
        elements = [self.a_callback(), self.a_signal(), self.a_check()]
        self.random.shuffle(elements)
        self.wait(*elements)

    def on_time(self):
        timeout = self.random.randint(20, 1500)
        self.wait({**self.a_callback(), "timeout": f"{timeout} ms", "on_timeout": self.random.choice(("abort", "skip", "ignore"))})

    def deferring(self):
        part = self.task()
        part["spec"]["defer"] = number() + self.random.randint(0, 8)
        self.submit(part)

    def needing(self):
        needs = {names(self.prefix)["pool"]: {"slots": self.random.randint(1, 3)}}
        self.submit(self.task(needs=needs, runtime=f"{self.random.randint(1, 3)} s"))

    def handled(self):
        self.numbers += 1
        part = {"do": "handled", "rn": f"{self.prefix}.{self.name}.h{self.numbers}", "how": self.random.choice(("well", "badly", "slowly", "later"))}
        self.session.call([part], "select rn from scylla.submit(%s, %s, rn => %s, max_attempts => 40)", names(self.prefix)["handled"],
                          Json(part["how"]), part["rn"])


class Sender(Client):
    """Sends signals, each number once by any of the senders, and ends callbacks."""

    def step(self):
        choice = self.random.random()
        if choice < 0.4:
            self.send(names(self.prefix)["signal"], number() + self.random.randint(-1, 1))
        elif choice < 0.7:
            self.send(names(self.prefix)[self.random.choice(("left", "right"))], number())
        else:
            self.end_callback()
        time.sleep(self.random.uniform(0.005, 0.04))

    def send(self, name, n):
        part = {"do": "signal", "name": name, "n": n, "payload": {"by": self.name, "n": n}}

        def send():
            self.session.query("select scylla.send_signal(%s, %s, %s, %s)", name, Json({"n": n}), Json(part["payload"]), str(n))
            return [part]

        def slow():
            time.sleep(self.random.uniform(0, 0.05))
            return []

        self.session.transaction([send, slow], self.random.choice(("commit", "commit", "commit", "rollback")))

    def end_callback(self):
        tokens = self.session.query("select name from scylla.condition where kind = 'callback' and status = 'waiting' and name like %s "
                                    "order by created limit 20", self.prefix + ".%")
        if tokens:
            self.end(self.random.choice(tokens)[0], self.random.choice(("resolve", "resolve", "reject")))

    def end(self, token, verb):
        value = {"code": "no", "message": "", "args": {"by": self.name}} if verb == "reject" else {"by": self.name, "token": token}
        part = {"do": verb, "token": token, "value": value}
        self.session.call([part], f"select scylla.{verb}_callback(%s, %s)", token, Json(value),
                          answer=lambda rows: [{**part, "won": rows[0][0]}])


class CalmSender(Sender):
    """Sends what is still waited for, and the partners of half a set."""

    def step(self):
        known = names(self.prefix)
        for n, in self.session.query("select distinct (match ->> 'n')::int from scylla.condition where kind = 'signal' and name = %s",
                                     known["signal"]):
            self.send(known["signal"], n)
        for name, n in self.session.query("select distinct signal, (params ->> 'n')::int from scylla.trigger_signal where trigger in (%s, %s)",
                                          known["trigger"], known["run_trigger"]):
            self.send(known["right" if name == known["left"] else "left"], n)
        for token, in self.session.query("select name from scylla.condition where kind = 'callback' and status = 'waiting' and waiters > 0 "
                                         "and name like %s", self.prefix + ".%"):
            self.end(token, "resolve")
        time.sleep(0.05)


class Asker(Client):
    """Answers checks, often with "not yet"."""

    yes = 0.3

    def step(self):
        rows = self.session.query("select rn, spec, attempt from scylla.lease(%s, %s, 2, '600 ms')", names(self.prefix)["ask"], self.name)
        for rn, spec, attempt in rows:
            if self.chance(2):
                continue  # forgotten: its lease expires, and it is asked again
            self.answer(rn, spec["k"], attempt)
        time.sleep(self.random.uniform(0.005, 0.03))

    def answer(self, rn, k, attempt):
        choice = self.random.random()
        if choice < self.yes:
            part = {"do": "answer", "k": k, "value": {"k": k, "by": self.name, "attempt": attempt}}
            self.session.call([part], "select status from scylla.complete(%s, %s, %s, attempt => %s)", rn, self.name, Json(part["value"]), attempt)
        elif choice < 0.95:
            self.session.query("select status from scylla.not_yet(%s, %s, attempt => %s)", rn, self.name, attempt)
        else:
            self.session.query("select status from scylla.fail(%s, %s, %s, attempt => %s)", rn, self.name, Json({"code": "chaos"}), attempt)


class CalmAsker(Asker):
    yes = 1


class Stepper(Client):
    """Starts runs and does their steps, each with an effect in the transaction that ends its task, which often stays open for a while, or is
    prepared. Others of them stop, kill, skip and restart the same runs meanwhile."""

    ends = ("commit", "commit", "commit", "rollback", "prepare")
    gids = 0

    def step(self):
        choice = self.random.random()
        if choice < 0.15:
            self.session.query("select scylla.start_workflow(%s)", names(self.prefix)["acted"])
        elif choice < 0.45:
            self.act()
        else:
            self.work()
        time.sleep(self.random.uniform(0.005, 0.03))

    def act(self):
        workflow = names(self.prefix)["acted"]
        rows = self.session.query("select instance from scylla.workflow_run where workflow = %s order by instance desc limit 8", workflow)
        if not rows:
            return
        instance = self.random.choice(rows)[0]
        step = self.random.choice((("first",), ("beside",), ("statement",), ("each",), ("inner", [self.random.randint(1, 3)])))
        call, *more = self.random.choice((("stop_run",), ("kill_run",), ("restart_run",), ("restart_run",), ("stop_step", *step), ("kill_step", *step),
                                          ("skip_step", *step), ("skip_step", *step),
                                          (self.random.choice(("stop_workflow", "kill_workflow")),) if self.chance(10) else ("restart_run",)))
        names_of = (workflow,) if call.endswith("_workflow") else (workflow, instance, *more)

        def act():
            self.session.query(f"select scylla.{call}({', '.join(['%s'] * len(names_of))})", *names_of)
            return [{"do": "idle"}]

        def hold():
            """A run that has ended would be restarted from the skipped step on, and do again what has succeeded."""
            if not self.session.query("select 1 from scylla.workflow_run_state where workflow = %s and instance = %s and ended is null for update", workflow, instance):
                raise Refused("ended")
            return []

        self.session.transaction([hold, act] if call == "skip_step" else [act])

    def work(self):
        rows = self.session.query("select rn, spec from scylla.lease(%s, %s, 1, '3 s')", names(self.prefix)["steps"], self.name)
        for rn, spec in rows:
            if not self.chance(3):  # otherwise forgotten: its lease expires
                self.end(rn, spec)

    def end(self, rn, spec):
        def effect():
            self.session.query("insert into chaos_effect values (%s, %s, %s, %s)", spec["workflow"], spec["instance"], spec["step"],
                               str(spec.get("iteration", "")))
            self.session.query("select status from scylla.complete(%s, %s)", rn, self.name)
            return []

        def otherwise():
            call = self.random.choice(("fail", "abort", "yield"))
            more = [] if call == "yield" else [Json({"code": "chaos"})]
            self.session.query(f"select status from scylla.{call}(%s, %s{', %s' * len(more)})", rn, self.name, *more)
            return []

        def stay():
            time.sleep(self.random.random() * self.random.choice((0, 0.05, 0.5)))
            return [{"do": "idle"}]

        self.gids += 1
        how, gid = self.random.choice(self.ends), f"{self.prefix}.{self.name}.{self.gids}"
        self.session.transaction([otherwise if self.chance(self.whims) else effect, stay], how, gid if how == "prepare" else None)
        if how == "prepare":
            stay()
            self.session.resolve(gid, self.chance(70))

    whims = 15


class CalmStepper(Stepper):
    ends = ("commit",)
    whims = 0
    step = Stepper.work


ROLES = {"stepper": Stepper, "calm-stepper": CalmStepper, "waiter": Waiter, "sender": Sender, "asker": Asker, "calm-sender": CalmSender, "calm-asker": CalmAsker}
