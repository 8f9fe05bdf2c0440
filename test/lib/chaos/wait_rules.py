"""The rules for what work waits for besides tasks (waits.py): signals, callbacks, checks, timeouts, triggers, pools, and functions
that the server calls. Pure, like rules.py, whose observer asks here.
"""
import json
from collections import defaultdict
from dataclasses import dataclass, field

from record import NO, OK, UNKNOWN


@dataclass
class WaitState:
    """What the database shows of these."""
    signals: list = field(default_factory=list)     # (name, n, payload)
    callbacks: dict = field(default_factory=dict)   # token -> (status, value)
    pools: list = field(default_factory=list)       # (pool, resource, held, capacity)
    handled: dict = field(default_factory=dict)     # rn -> (status, how often its handler has left a note)
    checks: list = field(default_factory=list)      # checks that live
    reserved: list = field(default_factory=list)    # tasks that hold something of a pool
    runs: list = field(default_factory=list)        # (instance, status, n of the left signal, n of the right one)
    steps: dict = field(default_factory=dict)       # (instance, step, iteration) -> (status, how often it has had its effect)


class WaitRules:
    def __init__(self, observer, ops, trigger=None):
        self.observer, self.state = observer, observer.state
        self.trigger = trigger  # {"trigger": name, "left": signal, "right": signal}
        self.signals, self.verdicts, self.answers, self.deferred = (defaultdict(list) for _ in range(4))
        self.created, self.handled, self.put_off = defaultdict(list), defaultdict(list), set()
        for op in ops:
            for part in op.parts:
                self._take(op, part)

    def _take(self, op, part):
        kind = part["do"]
        if kind == "signal":
            self.signals[part["name"], part["n"]].append((op, part))
        elif kind in ("resolve", "reject"):
            self.verdicts[part["token"]].append((op, part))
        elif kind == "callback":
            self.created[part["token"]].append(op)
        elif kind == "answer":
            self.answers[part["k"]].append((op, part))
        elif kind == "handled":
            self.handled[part["rn"]].append((op, part))
        elif kind in ("defer", "not_yet"):
            self.put_off.add(part["rn"])
            if kind == "defer":
                self.deferred[part["rn"]].append((op, part))

    KINDS = ("signal", "resolve", "reject", "callback", "answer", "handled")

    def judge(self):
        self._signals()
        self._callbacks()
        self._sets()
        self._pools()
        self._handled()
        self._steps()
        for rn, row in self.state.tasks.items():
            self._opened(rn, row)
        for rn, leases in self.observer.leases.items():
            for lease in leases:
                self._lease(rn, *lease)

    def say(self, rule, text):
        self.observer.say(rule, text)

    # ---- signals and callbacks: what was acknowledged is there, once, and nothing else

    def _signals(self):
        seen = defaultdict(list)
        for name, n, payload in self.state.waits.signals:
            seen[name, n].append(payload)
        for key, sent in self.signals.items():
            if any(self.observer.must(op) for op, _ in sent) and not seen[key]:
                self.say("lost signal", f"{key} is not there")
        for key, payloads in seen.items():
            if len(payloads) > 1:
                self.say("sent twice", f"signal {key} is there {len(payloads)} times")
            elif payloads and payloads[0] not in self._payloads(*key):
                self.say("ghost signal", f"{key} is there with {payloads[0]}, which nobody sent")

    def _payloads(self, name, n):
        return [part["payload"] for op, part in self.signals[name, n] if op.outcome != NO]

    def _verdicts(self, token):
        """What may have ended a callback: the call that was told so, otherwise the calls without an answer."""
        tried = self.verdicts[token]
        won = [part for op, part in tried if op.outcome == OK and part.get("won")]
        return won or [part for op, part in tried if op.outcome == UNKNOWN]

    def _callbacks(self):
        for token, tried in self.verdicts.items():
            winners = [str(op) for op, part in tried if op.outcome == OK and part.get("won")]
            if len(winners) > 1:
                self.say("ended twice", f"callback {token} by " + " and ".join(winners))
            if any(self.observer.must(op) and part.get("won") for op, part in tried):
                status = self.state.waits.callbacks.get(token, (None, None))[0]
                if status not in ("resolved", "rejected"):
                    self.say("lost end", f"callback {token} is {status}")
        for token, (status, value) in self.state.waits.callbacks.items():
            if status in ("resolved", "rejected") and not any(
                    (part["do"] == "reject") == (status == "rejected") and part["value"] == value for part in self._verdicts(token)):
                self.say("result", f"callback {token} is {status} with {value}, which nobody said")
        for token, ops in self.created.items():
            if any(self.observer.must(op) for op in ops) and token not in self.state.waits.callbacks:
                self.say("lost", f"callback {token} is not there")

    # ---- triggers: each pair of signals starts one task and one run of a workflow, with its signals

    def is_started(self, rn):
        return self.trigger is not None and rn.startswith(self.trigger["trigger"] + "/")

    def _sets(self):
        if self.trigger is None:
            return
        tasks, runs = defaultdict(list), defaultdict(list)
        for rn, row in self.state.tasks.items():
            if self.is_started(rn):
                tasks[self._set_of(rn, row)].append(f"task {rn}")
        for instance, status, *numbers in self.state.waits.runs:
            runs[self._set_of_run(instance, *numbers)].append(f"run {instance}")
            if self.state.final and status != "SUCCEEDED":
                self.say("stuck", f"run {instance} of the signals {numbers} is {status}")
        for kind, started in (("task", tasks), ("run", runs)):
            for n, those in started.items():
                if n is not None and len(those) > 1:
                    self.say("started twice", f"the signals {n} have started " + ", ".join(those))
            for n in self._sent_sets() if self.state.final else ():
                if n not in started:
                    self.say("lost set", f"the signals {n} have started no {kind}")

    def _sent_sets(self):
        """The numbers of which both signals were acknowledged."""
        left, right = ({n for (name, n), sent in self.signals.items() if name == self.trigger[side] and any(op.outcome == OK for op, _ in sent)}
                       for side in ("left", "right"))
        return sorted(left & right)

    def _set_of_run(self, instance, left, right):
        if left != right or not all(self._payloads(self.trigger[side], left) for side in ("left", "right")):
            self.say("ghost set", f"run {instance} was started with {left} and {right}")
            return None
        return left

    def _set_of(self, rn, row):
        args = row["args"] if isinstance(row["args"], list) else []
        numbers = [arg.get("params", {}).get("n") for arg in args if isinstance(arg, dict)]
        if len(numbers) != 2 or numbers[0] != numbers[1]:
            self.say("ghost set", f"task {rn} was started with {json.dumps(args)}")
            return None
        for side, arg in zip(("left", "right"), args):
            if arg.get("name") != self.trigger[side] or arg.get("payload") not in self._payloads(self.trigger[side], numbers[0]):
                self.say("ghost set", f"task {rn} was started with {arg}, which nobody sent")
        return numbers[0]

    # ---- steps of runs that are stopped, killed and restarted: what was done is recorded, and not done again

    def _steps(self):
        for key, (status, effects) in self.state.waits.steps.items():
            if effects > 1:
                self.say("effect", f"step {key} has been done {effects} times, though no restart does what has succeeded")
            elif effects == 1 and self.state.final and status != "SUCCEEDED":
                self.say("effect", f"step {key} was done and is {status}")
            elif effects == 0 and status == "SUCCEEDED":
                self.say("effect", f"step {key} is SUCCEEDED and was not done")

    # ---- pools and handlers

    def _pools(self):
        for pool, resource, held, capacity in self.state.waits.pools:
            if held > capacity:
                self.say("pool", f"{held} of {resource} of {pool} are reserved, it has {capacity}")
        if self.state.final and self.state.waits.reserved:
            self.say("pool", f"all has ended, and {self.state.waits.reserved} hold something of a pool")

    def _handled(self):
        for rn, tried in self.handled.items():
            if any(self.observer.must(op) for op, _ in tried) and rn not in self.state.waits.handled:
                self.say("lost", f"task {rn} of the server is not there")
        for rn, (status, notes) in self.state.waits.handled.items():
            if notes != (status == "completed"):
                self.say("handler", f"task {rn} is {status}, and {notes} effects of its handler are there")
            if not any(op.outcome != NO for op, _ in self.handled[rn]):
                self.say("ghost", f"task {rn} of the server is there, though nobody submitted it")
            if self.state.final and status not in ("completed", "aborted", "cancelled"):
                self.say("stuck", f"task {rn} of the server is {status}")
        if self.state.final and self.state.waits.checks:
            self.say("check", f"{len(self.state.waits.checks)} checks live, though nobody waits")

    # ---- tasks that wait

    def failed(self, rn, part, policy):
        """Whether something that the task waits for may have failed or timed out, and so had to end the task."""
        for element in part.get("wait", ()):
            if element.get("on_timeout") == {"cascade": "abort", "skip": "skip"}[policy] and self._timed_out(rn, element, self.state.seen):
                return True
            if "callback" in element and part.get("on_failure") == policy and any(
                    verdict["do"] == "reject" for verdict in self._verdicts(element["callback"])):
                return True
        return False

    def _timed_out(self, rn, element, when):
        """Whether its timeout can have passed at that moment of our clock."""
        begun = min((op.begin for op, _ in self.observer.submits[rn] if op.outcome != NO), default=when)
        return "timeout" in element and when >= begun + float(element["timeout"].split()[0]) / 1000

    def _values(self, rn, element, when, on_failure):
        """The values that a gate can have had at that moment; empty: it cannot have been open."""
        values = []
        if "signal" in element:
            n = element["match"]["n"]
            values = [{"name": element["signal"], "params": {"n": n}, "payload": payload} for payload in self._payloads(element["signal"], n)]
        elif "callback" in element:
            for verdict in self._verdicts(element["callback"]):
                if verdict["do"] == "resolve":
                    values.append(verdict["value"])
                elif on_failure == "ignore":
                    values.append(None)
        elif "check" in element:
            values = [part["value"] for op, part in self.answers[element["check"]["spec"]["k"]] if op.outcome != NO]
        if element.get("on_timeout") == "ignore" and self._timed_out(rn, element, when):
            values.append(None)
        return values

    @staticmethod
    def _same(element, arg, value):
        if "signal" in element and isinstance(arg, dict):
            arg = {key: arg.get(key) for key in ("name", "params", "payload")}
        return arg == value

    def _opened(self, rn, row):
        if rn in self.deferred or row["status"] not in ("ready", "running", "completed"):
            return
        part = self.observer.submitted(rn)
        for element in part.get("wait", ()):
            if not self._values(rn, element, self.state.seen, part.get("on_failure")):
                self.say("gate", f"task {rn} is {row['status']}, though {element} has not ended")

    def _lease(self, rn, op, lease, task):
        candidates = self._waits(rn, task["attempt"])
        if not any(self._fits(rn, op, task, *candidate) for candidate in candidates):
            self.say("args" if any(state == task["state"] for _, state, _ in candidates) else "state",
                     f"task {rn}, attempt {task['attempt']}, came to {op} with args {task['args']} and state {task['state']}, and not as of {candidates}")

    def _waits(self, rn, attempt):
        """What it may have waited for before that attempt, with its state: since it was submitted, or deferred for the last time."""
        part = self.observer.submitted(rn)
        candidates = [(part.get("wait", ()), None, part.get("on_failure"))]
        for op, deferral in sorted(self.deferred[rn], key=lambda entry: entry[1]["attempt"]):
            if deferral["attempt"] >= attempt or op.outcome == NO:
                continue
            candidate = (deferral["wait"], deferral["state"], None)
            candidates = [candidate] if op.outcome == OK else candidates + [candidate]
        return candidates

    def _fits(self, rn, op, task, wait, state, on_failure):
        if task["state"] != state:
            return False
        if not wait:
            return True
        args = task["args"]
        return isinstance(args, list) and len(args) == len(wait) and all(
            any(self._same(element, arg, value) for value in self._values(rn, element, op.end, on_failure))
            for element, arg in zip(wait, args))
