"""Test of the observer: a small true story breaks no rule, and each falsification of it breaks the right one. Prints TAP."""
import copy
import os
import sys
import tempfile
import time

from record import NO, OK, UNKNOWN, Op, Record, Recorder
from rules import Observer, State, lost_suffix
from server import Server
from wait_rules import WaitState

tests = 0


def ok(good, name, why=None):
    global tests
    tests += 1
    print(f"{'' if good else 'not '}ok {tests} - {name}")
    if not good:
        print("\n".join(f"#   {line}" for line in str(why).splitlines()))


def op(begin, end, *parts, outcome=OK, gid=None, resolve=None):
    made = Op("c", int(begin * 10), begin, list(parts), gid, resolve)
    made.end, made.outcome = end, outcome
    return made


def submit(rn, **more):
    return {"do": "submit", "rn": rn, "queue": "q", "priority": 0, "spec": rn, **more}


def lease(rn, worker, attempt, at, queue="q", args=None, lasts=2.0, state=None, spec=None):
    task = {"rn": rn, "attempt": attempt, "leased": at, "deadline": at + lasts, "spec": spec or rn, "args": args, "state": state}
    return {"do": "lease", "worker": worker, "queue": queue, "tasks": [task]}


def about(verb, rn, worker, attempt, **more):
    return {"do": verb, "rn": rn, "worker": worker, "attempt": attempt, **more}


def row(rn, status, attempt=0, owner=None, history=(), **more):
    return {"rn": rn, "queue": "q", "spec": rn, "status": status, "priority": 0, "owner": owner, "attempt": attempt, "failures": 0,
            "max_attempts": None, "result": None, "history": [dict(zip(("_typ", "worker", "attempt"), entry)) for entry in history],
            "plan": None, **more}


TRIGGER = {"trigger": "pair", "left": "left", "right": "right", "queue": "q", "spec": "started"}


def send(name, n, payload="payload"):
    return {"do": "signal", "name": name, "n": n, "payload": f"{payload} {name} {n}"}


def on_signal(n, name="s"):
    return {"signal": name, "match": {"n": n}}


def signal(n, name="s"):
    """The value of a gate."""
    return {"name": name, "seq": 1, "params": {"n": n}, "payload": f"payload {name} {n}", "sent": "today"}


def story():
    """Times are seconds; the server's clock is the same here."""
    ops = {
        "submit a": op(1, 2, submit("a")),
        "lease a 1": op(3, 4, lease("a", "w1", 1, 3.5)),
        "yield a": op(4.5, 4.8, about("yield", "a", "w1", 1)),
        "lease a 2": op(5, 6, lease("a", "w2", 2, 5.5)),
        "beat a": op(6.2, 6.4, about("heartbeat", "a", "w2", 2, deadline=8.3)),
        "complete a": op(7, 8, about("complete", "a", "w2", 2, result="A")),
        # b depends on a; its first worker was too slow.
        "submit b": op(2.1, 2.5, submit("b", depends_on=["a"])),
        "lease b 1": op(9, 10, lease("b", "w1", 1, 9.5, args=["A"])),
        "lease b 2": op(12, 13, lease("b", "w2", 2, 12.5, args=["A"])),
        "late b": op(13.5, 14, about("complete", "b", "w1", 1, result="late"), outcome=NO),
        "complete b": op(14, 15, about("complete", "b", "w2", 2, result="B")),
        # A plan of one task in a queue with a limit of one.
        "plan": op(1, 2, {"do": "create_plan", "plan": "p"}),
        "submit c": op(2, 3, submit("c", queue="limit", plan="p")),
        "open": op(3, 4, {"do": "open_plan", "plan": "p"}),
        "lease c": op(20, 21, lease("c", "w1", 1, 20.5, queue="limit", lasts=9)),
        "complete c": op(25, 26, about("complete", "c", "w1", 1, result="C")),
        "submit l": op(2, 3, submit("l", queue="limit")),
        "lease l": op(27, 28, lease("l", "w3", 1, 27.5, queue="limit", lasts=9)),
        "complete l": op(29, 30, about("complete", "l", "w3", 1, result="L")),
        # Failed, and what depends on it with it; cancelled; rolled back; without an answer; two-phase.
        "submit d": op(1, 2, submit("d")),
        "lease d": op(3, 4, lease("d", "w1", 1, 3.5)),
        "abort d": op(5, 6, about("abort", "d", "w1", 1)),
        "submit e": op(1, 2, submit("e", depends_on=["d"])),
        "submit f": op(1, 2, submit("f", depends_on=["d"], on_failure="skip")),
        "submit g": op(1, 2, submit("g")),
        "cancel g": op(3, 4, {"do": "cancel", "rn": "g"}),
        "submit h": op(1, 2, submit("h"), outcome=NO),
        "submit i": op(1, None, submit("i"), outcome=UNKNOWN),
        "cancel i": op(3, 4, {"do": "cancel", "rn": "i"}),
        "submit j": op(1, 9, submit("j"), gid="j"),
        "commit j": op(8, 9, resolve={"gid": "j", "commit": True}),
        "cancel j": op(10, 11, {"do": "cancel", "rn": "j"}),
        # Failed twice, which was its bound.
        "submit m": op(1, 2, submit("m", max_attempts=2)),
        "lease m 1": op(3, 4, lease("m", "w1", 1, 3.5)),
        "fail m 1": op(4, 5, about("fail", "m", "w1", 1)),
        "lease m 2": op(6, 7, lease("m", "w1", 2, 6.5)),
        "fail m 2": op(7, 8, about("fail", "m", "w1", 2)),
        # A signal, a callback and a check, and what they end: completed, aborted, and timed out.
        "send 1": op(1, 2, send("s", 1)),
        "send 1 again": op(2, 3, send("s", 1, "another")),
        "roll back 2": op(2, 3, send("s", 2), outcome=NO),
        "callback": op(1, 2, {"do": "callback", "token": "yes"}, {"do": "callback", "token": "no"}),
        "resolve": op(3, 4, {"do": "resolve", "token": "yes", "value": "V", "won": True}),
        "late": op(4, 5, {"do": "reject", "token": "yes", "value": "late", "won": False}),
        "reject": op(3, 4, {"do": "reject", "token": "no", "value": "N", "won": True}),
        "answer": op(3, 4, {"do": "answer", "k": 1, "value": "A1"}),
        "submit n": op(1, 2, submit("n", wait=[on_signal(1), {"callback": "yes"}, {"check": {"queue": "ask", "spec": {"k": 1}}}])),
        "lease n": op(5, 6, lease("n", "w1", 1, 5.5, args=[signal(1), "V", "A1"])),
        "complete n": op(6, 7, about("complete", "n", "w1", 1, result="N")),
        "submit o": op(1, 2, submit("o", wait=[{"callback": "no"}], on_failure="cascade")),
        "submit r": op(1, 2, submit("r", wait=[{"callback": "open", "timeout": "2000 ms", "on_timeout": "skip"}])),
        # Deferred, and later put off.
        "submit t": op(1, 2, submit("t")),
        "lease t 1": op(3, 4, lease("t", "w1", 1, 3.5)),
        "defer t": op(4, 5, about("defer", "t", "w1", 1, wait=[on_signal(1)], state="kept")),
        "lease t 2": op(6, 7, lease("t", "w2", 2, 6.5, args=[signal(1)], state="kept")),
        "not yet t": op(7, 8, about("not_yet", "t", "w2", 2)),
        "lease t 3": op(8, 9, lease("t", "w3", 3, 8.5, args=[signal(1)], state="kept")),
        "complete t": op(9, 10, about("complete", "t", "w3", 3, result="T")),
        # Two signals start a task.
        "left": op(1, 2, send("left", 7)),
        "right": op(1, 2, send("right", 7)),
        "lease set": op(3, 4, lease("pair/9", "w1", 1, 3.5, args=[signal(7, "left"), signal(7, "right")], spec="started")),
        "complete set": op(4, 5, about("complete", "pair/9", "w1", 1, result="S")),
        # Two after each other in a pool with room for one; two that the server runs.
        "submit u": op(1, 2, submit("u", needs={"pool": {"slots": 3}})),
        "submit v": op(1, 2, submit("v", needs={"pool": {"slots": 2}})),
        "lease u": op(10, 11, lease("u", "w1", 1, 10.5, lasts=9)),
        "complete u": op(12, 13, about("complete", "u", "w1", 1, result="U")),
        "lease v": op(14, 15, lease("v", "w1", 1, 14.5, lasts=9)),
        "complete v": op(16, 17, about("complete", "v", "w1", 1, result="V")),
        "handled": op(1, 2, {"do": "handled", "rn": "h1", "how": "well"}, {"do": "handled", "rn": "h2", "how": "badly"}),
    }
    tasks = [
        row("a", "completed", 2, "w2", [("TaskAssignment", "w1", 1), ("TaskYield", "w1", 1), ("TaskAssignment", "w2", 2)], result="A"),
        row("b", "completed", 2, "w2", [("TaskAssignment", "w1", 1), ("TaskTimeout", "w1", 1), ("TaskAssignment", "w2", 2)], result="B",
            failures=1),
        row("c", "completed", 1, "w1", [("TaskAssignment", "w1", 1)], result="C", queue="limit", plan="p"),
        row("l", "completed", 1, "w3", [("TaskAssignment", "w3", 1)], result="L", queue="limit"),
        row("d", "aborted", 1, "w1", [("TaskAssignment", "w1", 1)]),
        row("e", "aborted"), row("f", "cancelled"), row("g", "cancelled"), row("i", "cancelled"), row("j", "cancelled"),
        row("m", "aborted", 2, "w1", [("TaskAssignment", "w1", 1), ("TaskRetry", "w1", 1), ("TaskAssignment", "w1", 2)],
            failures=2, max_attempts=2),
        row("n", "completed", 1, "w1", [("TaskAssignment", "w1", 1)], result="N"),
        row("o", "aborted"), row("r", "cancelled"),
        row("t", "completed", 3, "w3", [("TaskAssignment", "w3", 3)], result="T"),
        row("pair/9", "completed", 1, "w1", [("TaskAssignment", "w1", 1)], result="S", args=[signal(7, "left"), signal(7, "right")], spec="started"),
        row("u", "completed", 1, "w1", [("TaskAssignment", "w1", 1)], result="U"),
        row("v", "completed", 1, "w1", [("TaskAssignment", "w1", 1)], result="V"),
    ]
    waits = WaitState([(name, n, send(name, n)["payload"]) for name, n in (("s", 1), ("left", 7), ("right", 7))],
                      {"yes": ("resolved", "V"), "no": ("rejected", "N")}, [("pool", "slots", 3, 4)], {"h1": ("completed", 1), "h2": ("aborted", 0)},
                      runs=[(1, "SUCCEEDED", 7, 7)])
    return ops, State({task["rn"]: task for task in tasks}, {"p": {"status": "completed"}}, waits=waits)


def judge(ops, state):
    return Observer(list(ops.values()), state, {"limit": 1}, {"pool": {"slots": 4}}, TRIGGER).judge()


def falsify(rule, name, change):
    ops, state = copy.deepcopy(story())
    change(ops, state)
    found = judge(ops, state)
    ok(any(text.startswith(rule + ":") for text in found), f"{rule}: {name}", found or "nothing was found")


def task(rn, **values):
    return lambda ops, state: state.tasks[rn].update(values)


def add(name, *arguments, **keywords):
    return lambda ops, state: ops.__setitem__(name, op(*arguments, **keywords))


def without(rn):
    return lambda ops, state: state.tasks.pop(rn)


def part(name, **values):
    return lambda ops, state: ops[name].parts[0].update(values)


def leased(name, **values):
    return lambda ops, state: ops[name].parts[0]["tasks"][0].update(values)


def at(name, begin, end):
    def change(ops, state):
        ops[name].begin, ops[name].end = begin, end
    return change


def outcome(name, value):
    return lambda ops, state: setattr(ops[name], "outcome", value)


ok(judge(*story()) == [], "the true story breaks no rule", judge(*story()))
falsify("lost", "an acknowledged task is not there", without("g"))
falsify("lost", "a task of an acknowledged two-phase commit is not there", without("j"))
falsify("lost", "an acknowledged plan is not there", lambda ops, state: state.plans.clear())
falsify("lost", "a prepared transaction that nobody ended is not there",
        lambda ops, state: (ops.__setitem__("gone", op(1, None, submit("x"), outcome=UNKNOWN, gid="x")),
                            setattr(ops["gone"], "prepared", True)))
falsify("ghost", "a task of nobody", lambda ops, state: state.tasks.update(x=row("x", "cancelled")))
falsify("ghost", "a task whose submit failed", lambda ops, state: state.tasks.update(h=row("h", "cancelled")))
falsify("ghost", "a task of a two-phase transaction that was rolled back", outcome("submit j", NO))
falsify("changed", "another spec", task("a", spec="other"))
falsify("changed", "another priority", task("a", priority=9))
falsify("changed", "a worker gets another spec", leased("lease a 1", spec="other"))
falsify("lost end", "an acknowledged completion is undone", task("c", status="ready"))
falsify("lost end", "an acknowledged cancel is undone", task("g", status="completed"))
falsify("lost end", "an acknowledged abort is undone", task("d", status="running"))
falsify("two owners", "completed for another worker than was told so", task("a", owner="w1"))
falsify("two owners", "completed in another attempt than was told so", task("a", attempt=3))
falsify("ended twice", "two workers are told that they have completed", outcome("late b", OK))
falsify("ended twice", "completed and cancelled", add("cancel a", 3, 4, {"do": "cancel", "rn": "a"}))
falsify("result", "another result", task("a", result="B"))
falsify("unfounded", "completed by nobody", outcome("complete a", NO))
falsify("unfounded", "cancelled by nobody", outcome("cancel g", NO))
falsify("unfounded", "aborted by nobody", outcome("abort d", NO))
falsify("unfounded", "an attempt that nobody got", outcome("lease d", NO))
falsify("leased twice", "one attempt for two", add("lease a 1 again", 3, 4, lease("a", "w9", 1, 3.5)))
falsify("attempts", "a smaller attempt later", at("lease a 1", 6.5, 6.6))
falsify("given away", "before the lease was over", leased("lease b 2", leased=11.0))
falsify("given away", "before the extended lease was over", lambda ops, state: (
    outcome("yield a", NO)(ops, state), add("beat a 1", 4, 4.2, about("heartbeat", "a", "w1", 1, deadline=6))(ops, state)))
falsify("ran again", "leased after it was completed", add("lease a 3", 40, 41, lease("a", "w1", 3, 40.5)))
falsify("ran again", "leased after it was cancelled", add("lease g", 40, 41, lease("g", "w1", 1, 40.5)))
falsify("fencing", "a heartbeat of an earlier attempt is accepted", add("late beat", 6.5, 6.6, about("heartbeat", "a", "w1", 1, deadline=8)))
falsify("fencing", "a completion of an earlier attempt is accepted", outcome("late b", OK))
falsify("lost lease", "an acknowledged lease is undone", task("a", attempt=1))
falsify("history", "an attempt is not told", lambda ops, state: state.tasks["a"]["history"].pop())
falsify("history", "a yield is not told", lambda ops, state: state.tasks["a"]["history"].pop(1))
falsify("history", "a failure is not counted", task("b", failures=0))
falsify("history", "another worker's name", lambda ops, state: state.tasks["l"]["history"][0].update(worker="w9"))
falsify("max_attempts", "alive with all failures spent", task("m", status="ready"))
falsify("gate", "ready before its provider is completed", lambda ops, state: (
    task("a", status="running")(ops, state), task("b", status="ready")(ops, state)))
falsify("gate", "leased before its provider was ended", at("lease b 1", 3, 4))
falsify("gate", "completed though its provider failed", task("e", status="completed"))
falsify("args", "results in a wrong order or of others", leased("lease b 1", args=["B"]))
falsify("args", "no results", leased("lease b 1", args=None))
falsify("max_running", "two at a time", at("lease l", 22, 23))
falsify("max_running", "two in the snapshot", lambda ops, state: (
    task("c", status="running")(ops, state), task("l", status="running")(ops, state)))
falsify("plan", "opened and building", lambda ops, state: state.plans["p"].update(status="building"))
falsify("plan", "completed with a live task", task("c", status="running"))
falsify("plan", "completed with an aborted task", task("c", status="aborted"))
falsify("plan", "a cancel that was acknowledged is undone", add("cancel plan", 4, 5, {"do": "cancel_plan", "plan": "p"}))
falsify("stuck", "a task that has not ended", task("e", status="waiting"))
falsify("stuck", "a plan that has not ended", lambda ops, state: state.plans["p"].update(status="running"))
falsify("stuck", "a prepared transaction", lambda ops, state: state.prepared.add("x"))


# What work waits for.
def waits(change):
    return lambda ops, state: change(state.waits)


falsify("lost signal", "an acknowledged signal is not there", waits(lambda seen: seen.signals.pop(0)))
falsify("sent twice", "a signal is there twice, in spite of its request_id", waits(lambda seen: seen.signals.append(("s", 1, "payload s 1"))))
falsify("ghost signal", "a signal that was rolled back is there", waits(lambda seen: seen.signals.append(("s", 2, "payload s 2"))))
falsify("ghost signal", "with another payload", waits(lambda seen: seen.signals.__setitem__(0, ("s", 1, "other"))))
falsify("lost", "an acknowledged callback is not there", waits(lambda seen: seen.callbacks.pop("no")))
falsify("lost end", "a callback that was resolved waits", waits(lambda seen: seen.callbacks.update(yes=("waiting", None))))
falsify("ended twice", "two are told that they have ended a callback", part("late", won=True))
falsify("result", "a callback has another value", waits(lambda seen: seen.callbacks.update(yes=("resolved", "late"))))
falsify("result", "a callback is rejected and not resolved", waits(lambda seen: seen.callbacks.update(yes=("rejected", "V"))))
falsify("gate", "open though its signal was rolled back", part("submit n", wait=[on_signal(2)]))
falsify("gate", "open though nobody has ended its callback", part("submit n", wait=[{"callback": "open"}]))
falsify("gate", "open though nobody has answered its check", part("submit n", wait=[{"check": {"queue": "ask", "spec": {"k": 2}}}]))
falsify("args", "the values are in another order", leased("lease n", args=["V", signal(1), "A1"]))
falsify("args", "the signal of somebody else", leased("lease n", args=[signal(7, "left"), "V", "A1"]))
falsify("unfounded", "aborted though its callback was resolved", part("submit o", wait=[{"callback": "yes"}]))
falsify("unfounded", "cancelled though on_timeout says abort", part("submit r", wait=[{"callback": "open", "timeout": "1 ms", "on_timeout": "abort"}]))
falsify("state", "a deferred task has lost its state", leased("lease t 2", state=None))
falsify("state", "... or has lost it when it was put off", leased("lease t 3", state=None))
falsify("state", "a task has a state that nobody gave it", leased("lease n", state="kept"))
falsify("args", "a deferred task goes on without what it waits for", leased("lease t 2", args=[]))
falsify("given away", "a task is leased again that was neither deferred nor put off", lambda ops, state: (
    outcome("not yet t", NO)(ops, state), leased("lease t 3", leased=8.0)(ops, state)))
falsify("lost set", "a pair of signals has started nothing", without("pair/9"))
falsify("started twice", "a pair of signals has started two tasks", lambda ops, state: (
    state.tasks.update({"pair/10": {**state.tasks["pair/9"], "rn": "pair/10"}})))
falsify("ghost set", "signals that do not belong together have started a task", task("pair/9", args=[signal(7, "left"), signal(8, "right")]))
falsify("ghost set", "a signal that nobody sent has started a task", outcome("left", NO))
falsify("lost set", "a pair of signals has started no run", waits(lambda seen: seen.runs.clear()))
falsify("started twice", "a pair of signals has started two runs", waits(lambda seen: seen.runs.append((2, "SUCCEEDED", 7, 7))))
falsify("ghost set", "signals that do not belong together have started a run", waits(lambda seen: seen.runs.append((2, "SUCCEEDED", 7, 8))))
falsify("ghost set", "signals that nobody sent have started a run", waits(lambda seen: seen.runs.append((2, "SUCCEEDED", 8, 8))))
falsify("stuck", "a run that has not ended", waits(lambda seen: seen.runs.__setitem__(0, (1, "IN_PROGRESS", 7, 7))))
falsify("pool", "more is reserved than there is", waits(lambda seen: seen.pools.__setitem__(0, ("pool", "slots", 5, 4))))
falsify("pool", "more is in use at a time than there is", at("lease v", 11.2, 11.5))
falsify("pool", "something is held in the end", waits(lambda seen: seen.reserved.append("u")))
falsify("handler", "what a handler did is not there", waits(lambda seen: seen.handled.update(h1=("completed", 0))))
falsify("handler", "... or twice", waits(lambda seen: seen.handled.update(h1=("completed", 2))))
falsify("handler", "what a handler did that failed is there", waits(lambda seen: seen.handled.update(h2=("aborted", 1))))
falsify("lost", "an acknowledged task of the server is not there", waits(lambda seen: seen.handled.pop("h1")))
falsify("ghost", "a task of the server that nobody submitted", waits(lambda seen: seen.handled.update(h3=("aborted", 0))))
falsify("stuck", "a task of the server that has not ended", waits(lambda seen: seen.handled.update(h2=("running", 0))))
falsify("effect", "a step was done twice", waits(lambda seen: seen.steps.update({(1, "a", ""): ("SUCCEEDED", 2)})))
falsify("effect", "a step was done and is recorded as stopped", waits(lambda seen: seen.steps.update({(1, "a", ""): ("STOPPED", 1)})))
falsify("effect", "a step has succeeded and was not done", waits(lambda seen: seen.steps.update({(1, "a", ""): ("SUCCEEDED", 0)})))
falsify("check", "a check lives for which nobody waits", waits(lambda seen: seen.checks.append("check")))


def twins(ops, state):
    for rn in "x", "y":
        ops[rn] = op(50, 51, submit(rn, dedup_key="k"))
        state.tasks[rn] = row(rn, "ready")


falsify("deduplicated", "two live tasks of one dedup_key", twins)


# While work goes on, only what was acknowledged before the snapshot must be in it.
def under_way(change):
    ops, state = copy.deepcopy(story())
    state.final, state.taken = False, 9.0
    change(ops, state)
    return judge(ops, state)


def judge_early(seen):
    ops, state = copy.deepcopy(story())
    state.final, state.taken, state.seen = False, 2.5, seen
    return judge(ops, state)


ok(under_way(task("b", status="ready", attempt=0, history=[], failures=0, owner=None, result=None)) == [],
   "under way: what comes after the snapshot need not be in it", under_way(lambda ops, state: None))
ok(any(text.startswith("lost:") for text in under_way(without("a"))), "under way: what came before must be")
ok(not any(text.startswith(("lost set", "lost signal")) for text in under_way(lambda ops, state: (
    state.waits.signals.append(("left", 8, "payload left 8")), add("left 8", 8, 9.5, send("left", 8))(ops, state),
    add("right 8", 8, 9.5, send("right", 8))(ops, state)))), "under way: a pair of signals need not have started its task yet")
ok(any(text.startswith("unfounded: task r ") for text in judge_early(2.9)), "under way: a task times out too early")
ok(not any(text.startswith("unfounded: task r ") for text in judge_early(3.1)), "under way: a task may time out while the snapshot is taken")
ok(not any(text.startswith("stuck") for text in under_way(task("b", status="ready"))), "under way: nothing is stuck yet")
ok(not any(text.startswith("max_running") for text in under_way(lambda ops, state: (
    at("lease l", 22, 23)(ops, state), without("c")(ops, state),
    add("cancel plan", 21.5, 22.5, {"do": "cancel_plan", "plan": "p"})(ops, state)))),
   "under way: a task that is not in the snapshot yet was cancelled with its plan, and holds nothing")


# A failover that loses the end of the story, and one that loses something from its middle.
def suffix(change):
    ops, state = copy.deepcopy(story())
    change(ops, state)
    return [(kind, str(op.parts[0]["do"])) for kind, op in lost_suffix([op for op in ops.values() if op.parts], state)]


ok(suffix(lambda ops, state: None) == [], "failover: nothing lost", suffix(lambda ops, state: None))
end_lost = suffix(task("l", status="running"))
ok(end_lost == [("lost", "complete")], "failover: the end may be lost", end_lost)
hole = suffix(task("a", status="running"))
ok(("lost", "complete") in hole and any(kind == "hole" for kind, _ in hole), "failover: but nothing before what is there", hole)


def halve(ops, state):
    ops["batch"] = op(50, 51, submit("x"), submit("y"))
    state.tasks["x"] = row("x", "cancelled")


ok(any(kind == "halved" for kind, _ in suffix(halve)), "failover: nor a part of a transaction", suffix(halve))


# The files.
with tempfile.TemporaryDirectory() as folder:
    recorder, other = Recorder(folder, "one"), Recorder(folder, "two")
    first = recorder.begin([submit("a")])
    recorder.ok(first)
    second = recorder.begin([lease("a", "w", 1, 1)])
    record = Record(folder)
    record.read()
    before = time.monotonic()
    recorder.ok(second, [lease("a", "w", 1, 2)])
    third = other.begin([submit("b")], gid="g")
    other.prepared(third)
    fourth = recorder.begin([], resolve={"gid": "g", "commit": False})
    recorder.ok(fourth)
    os.write(recorder.file, b'{"n": 9, "beg')  # killed while it wrote
    record.read()
    ok([op.outcome for op in record.until(time.monotonic())] == [OK, OK, OK, NO],
       "the record: ends, and the end of a prepared transaction", record.ops)
    ok([op.outcome for op in record.until(before)] == [OK, UNKNOWN], "the record as it was at an earlier moment")

# What the server's log tells. The folder of the socket has a random name.
with tempfile.TemporaryDirectory() as folder:
    server = Server(folder, f"{folder}/LeaKpaniC")
    os.mkdir(server.data)
    with open(server.log, "w") as log:
        log.write(f'00000 postmaster LOG:  listening on Unix socket "{server.socket_dir}/.s.PGSQL.5432"\n')
    ok(server.complaints() == [], "the log: names of folders are no complaints", server.complaints())
    with open(server.log, "a") as log:
        log.write("01000 backend WARNING:  relcache reference leak: relation \"task_spec\" not closed\n"
                  "LOG:  server process (PID 1) was terminated by signal 11: Segmentation fault\n"
                  "LOG:  server process (PID 1) was terminated by signal 9: Killed\n")
    ok(len(server.complaints()) == 2, "the log: a leak and a crash are", server.complaints())

print(f"1..{tests}")
