"""The rules: what must hold between the clients' record and what the database shows. Pure: no server, so that they can be
tested with a falsified record (selftest.py).

The database is a `State`. What had been acknowledged before its snapshot was taken must be in it; what was begun before
may be; what certainly failed must not. A violation is a text that begins with the name of its rule.
"""
import heapq
from collections import defaultdict
from dataclasses import dataclass, field

from record import NO, OK, UNKNOWN, Op
from wait_rules import WaitRules, WaitState

TERMINAL = ("completed", "aborted", "cancelled")
ENDS = ("complete", "abort", "cancel")  # parts that end a task
STATUS_OF = {"complete": "completed", "abort": "aborted", "cancel": "cancelled"}


# The submit of a task that a trigger has started: no client's call, at any time.
STARTED = Op("a trigger", 0, float("-inf"), [])
STARTED.outcome, STARTED.end = OK, float("inf")


@dataclass
class State:
    tasks: dict                 # rn -> row of the view
    plans: dict                 # name -> row of the view
    prepared: set = field(default_factory=set)   # gids
    taken: float = float("inf")  # the moment before the snapshot was taken
    seen: float = float("inf")  # the moment after it was
    final: bool = True          # nothing is at work any more: everything must have ended
    waits: WaitState = field(default_factory=WaitState)


class Observer:
    def __init__(self, ops, state, limits=None, pools=None, trigger=None):
        """limits: queue -> max_running; pools: pool -> resource -> capacity; trigger: see WaitRules"""
        self.ops, self.state, self.limits, self.pools = ops, state, limits or {}, pools or {}
        self.found = []
        self.submits, self.leases, self.ends, self.holds = (defaultdict(list) for _ in range(4))
        self.plan_ops, self.many = defaultdict(list), []
        for op in ops:
            for part in op.parts:
                kind = part["do"]
                if kind == "submit":
                    self.submits[part["rn"]].append((op, part))
                elif kind == "lease":
                    if op.outcome == OK:
                        for task in part["tasks"]:
                            self.leases[task["rn"]].append((op, part, task))
                    elif op.outcome == UNKNOWN:
                        self.many.append((op, part))
                elif kind in ENDS:
                    self.ends[part["rn"]].append((op, part))
                elif kind in ("heartbeat", "fail", "yield", "defer", "not_yet"):
                    self.holds[part["rn"]].append((op, part))
                elif kind != "idle" and kind not in WaitRules.KINDS:
                    self.plan_ops[part["plan"]].append((op, part))
        self.unknown_leases = defaultdict(list)
        for op, part in self.many:
            self.unknown_leases[part["worker"], part["queue"]].append(op)
        self.waits = WaitRules(self, ops, trigger)
        for rn in set(state.tasks) | set(self.leases):
            if self.waits.is_started(rn):
                self.submits[rn].append((STARTED, {"do": "submit", "rn": rn, "queue": trigger["queue"], "priority": 0, "spec": trigger["spec"]}))

    def say(self, rule, text):
        self.found.append(f"{rule}: {text}")

    def must(self, op):
        return op.outcome == OK and op.end < self.state.taken

    def judge(self):
        for rn in set(self.submits) | set(self.state.tasks):
            self._existence(rn)
        for rn, row in self.state.tasks.items():
            self._end(rn, row)
            self._history(rn, row)
            self._gates(rn, row)
        for rn, leases in self.leases.items():
            self._leases(rn, leases)
        for queue, limit in self.limits.items():
            self._limit(queue, limit)
        for pool, capacity in self.pools.items():
            for resource, amount in capacity.items():
                self._pool(pool, resource, amount)
        self.waits.judge()
        self._keys()
        self._plans()
        self._prepared()
        if self.state.final:
            self._stuck()
        return self.found

    # Of the tasks of a queue with the same dedup_key, only one is live.
    def _keys(self):
        live = {}
        for rn, row in self.state.tasks.items():
            key = self.submitted(rn).get("dedup_key")
            if key is None or row["status"] in TERMINAL:
                continue
            if other := live.get((row["queue"], key)):
                self.say("deduplicated", f"tasks {other} and {rn} are {row['queue']}'s with dedup_key {key}, and both are live")
            live[row["queue"], key] = rn

    # What was acknowledged exists as it was submitted; what was rolled back does not exist.
    def _existence(self, rn):
        row = self.state.tasks.get(rn)
        submits = self.submits.get(rn, [])
        if row is None:
            for op, _ in submits:
                if self.must(op):
                    self.say("lost", f"task {rn} of {op} is not there")
            for op, _, task in self.leases.get(rn, []):
                if self.must(op):
                    self.say("lost", f"task {rn}, leased by {op}, is not there")
            return
        possible = [part for op, part in submits if op.outcome != NO]
        if not possible:
            self.say("ghost", f"task {rn} is there, though " + ("every submit of it failed" if submits else "nobody submitted it"))
            return
        if not any(row["queue"] == part["queue"] and row["spec"] == part["spec"] and row["priority"] == part["priority"]
                   and row["plan"] == part.get("plan") for part in possible):
            self.say("changed", f"task {rn} is not what was submitted: {row}")

    # A task ended as a client was told, and only one client.
    def _end(self, rn, row):
        ends = self.ends.get(rn, [])
        told = [(op, part) for op, part in ends if op.outcome == OK]
        if len(told) > 1:
            self.say("ended twice", f"task {rn} by " + " and ".join(f"{part['do']} of {op}" for op, part in told))
        for op, part in told:
            if not self.must(op):
                continue
            if row["status"] != STATUS_OF[part["do"]]:
                self.say("lost end", f"task {rn} is {row['status']}, but {op} was told that its {part['do']} is done")
            elif part["do"] != "cancel" and (row["owner"], row["attempt"]) != (part["worker"], part["attempt"]):
                self.say("two owners", f"task {rn} ended by {row['owner']}, attempt {row['attempt']}, but {op} was told that "
                         f"{part['worker']}, attempt {part['attempt']} has done it")
            elif part["do"] == "complete" and row["result"] != part["result"]:
                self.say("result", f"task {rn} has {row['result']} and not {part['result']} of {op}")
        tried = [part for op, part in ends if op.outcome != NO]
        if row["status"] == "completed":
            if not any(part["do"] == "complete" and (part["worker"], part["attempt"], part["result"])
                       == (row["owner"], row["attempt"], row["result"]) for part in tried):
                self.say("unfounded", f"task {rn} is completed by {row['owner']}, attempt {row['attempt']}, who never said so")
        elif row["status"] == "cancelled":
            if not (any(part["do"] == "cancel" for part in tried) or self._plan_tried(row, "cancel_plan")
                    or self._provider_failed(rn, "skip") or self.waits.failed(rn, self.submitted(rn), "skip")):
                self.say("unfounded", f"task {rn} is cancelled, though nobody cancelled it")
        elif row["status"] == "aborted":
            if not (any(part["do"] == "abort" and (part["worker"], part["attempt"]) == (row["owner"], row["attempt"])
                        for part in tried)
                    or self._provider_failed(rn, "cascade") or self.waits.failed(rn, self.submitted(rn), "cascade") or row["failures"] == row["max_attempts"]):
                self.say("unfounded", f"task {rn} is aborted, though nobody aborted it")
        if row["max_attempts"] is not None and (row["failures"] > row["max_attempts"] or
                                                row["failures"] == row["max_attempts"] and row["status"] not in TERMINAL):
            self.say("max_attempts", f"task {rn} has {row['failures']} failures and is {row['status']}")
        for op, part in self.holds.get(rn, []):
            if self.must(op) and row["attempt"] < part["attempt"]:
                self.say("lost lease", f"task {rn} is at attempt {row['attempt']}, but {op} held attempt {part['attempt']}")

    def submitted(self, rn):
        return next((part for op, part in self.submits.get(rn, []) if op.outcome != NO), {})

    def _provider_failed(self, rn, policy):
        part = self.submitted(rn)
        return part.get("on_failure", "cascade") == policy and any(
            self.state.tasks.get(provider, {}).get("status") in ("aborted", "cancelled") for provider in part.get("depends_on", ()))

    def _plan_tried(self, row, verb):
        return row["plan"] is not None and any(part["do"] == verb and op.outcome != NO for op, part in self.plan_ops[row["plan"]])

    # Attempts rise, each is leased once, no lease passes to another client before its time, and nothing runs after its end.
    def _leases(self, rn, leases):
        row = self.state.tasks.get(rn)
        leases.sort(key=lambda lease: lease[2]["attempt"])
        for (one, one_part, one_task), (other, other_part, other_task) in zip(leases, leases[1:]):
            if one_task["attempt"] == other_task["attempt"]:
                self.say("leased twice", f"task {rn}, attempt {one_task['attempt']}, by {one} and {other}")
            elif other.end < one.begin:
                self.say("attempts", f"task {rn}: {other} had attempt {other_task['attempt']} before {one} had {one_task['attempt']}")
            elif not self._given_back(rn, one_task["attempt"]):
                deadline = max([one_task["deadline"]] + [part["deadline"] for op, part in self.holds.get(rn, ())
                               if part["do"] == "heartbeat" and part["attempt"] == one_task["attempt"] and op.outcome == OK])
                if other_task["leased"] < deadline:
                    self.say("given away", f"task {rn} was leased by {other} {deadline - other_task['leased']:.3f} s before the lease of "
                             f"{one} was over")
        for op, part in self.ends.get(rn, []):
            if op.outcome != OK:
                continue
            for lease, _, task in leases:
                if lease.begin > op.end:
                    self.say("ran again", f"task {rn} was leased by {lease} after the {part['do']} of {op}")
                elif "attempt" in part and task["attempt"] > part["attempt"]:
                    self.say("ran again", f"task {rn}: attempt {task['attempt']} of {lease}, but attempt {part['attempt']} was "
                             f"its end by {op}")
        for op, part in self.holds.get(rn, []) + [end for end in self.ends.get(rn, []) if "attempt" in end[1]]:
            if op.outcome != OK:
                continue
            for lease, _, task in leases:
                if task["attempt"] > part["attempt"] and lease.end < op.begin:
                    self.say("fencing", f"task {rn}: {part['do']} of {op} for attempt {part['attempt']} was accepted after {lease} had "
                             f"attempt {task['attempt']}")
        for op, part, task in leases:
            if task["spec"] != self.submitted(rn).get("spec"):
                self.say("changed", f"task {rn} came to {op} with {task['spec']}")
            if row is not None and self.must(op) and row["attempt"] < task["attempt"]:
                self.say("lost lease", f"task {rn} is at attempt {row['attempt']}, but {op} had attempt {task['attempt']}")

    def _given_back(self, rn, attempt):
        return any(part["do"] in ("yield", "fail", "defer", "not_yet") and part["attempt"] == attempt and op.outcome != NO
                   for op, part in self.holds.get(rn, ()))

    # The history contains each attempt, by a client that asked for it, and how it ended.
    def _history(self, rn, row):
        if any(entry["_typ"] == "HistoryElided" for entry in row["history"]):
            return
        starts = {e["attempt"]: e["worker"] for e in row["history"] if e["_typ"] == "TaskAssignment"}
        ended = {e["attempt"]: e["_typ"] for e in row["history"] if e["_typ"] != "TaskAssignment"}
        # An attempt that was deferred, or answered "not yet", adds nothing.
        if rn in self.waits.put_off:
            if not set(starts) <= set(range(1, row["attempt"] + 1)):
                self.say("history", f"task {rn} is at attempt {row['attempt']} and tells of {sorted(starts)}")
        elif sorted(starts) != list(range(1, row["attempt"] + 1)):
            self.say("history", f"task {rn} is at attempt {row['attempt']} and tells of {sorted(starts)}")
        failures = sum(kind in ("TaskTimeout", "TaskRetry") for kind in ended.values())
        most = failures + (1 if row["status"] == "aborted" else 0)
        least = 0 if rn in self.waits.put_off else failures  # "not yet" ends a series of failures
        if not least <= row["failures"] <= most:
            self.say("history", f"task {rn} has {row['failures']} failures, but {failures} in its history")
        acknowledged = {}
        for op, part, task in self.leases.get(rn, ()):
            acknowledged[task["attempt"]] = part["worker"]
            if self.must(op) and starts.get(task["attempt"]) != part["worker"] and (task["attempt"] in starts or rn not in self.waits.put_off):
                self.say("history", f"task {rn}: attempt {task['attempt']} is not told as that of {part['worker']}")
        for attempt, worker in starts.items():
            if attempt not in acknowledged and not self.unknown_leases.get((worker, row["queue"])):
                self.say("unfounded", f"task {rn}: attempt {attempt} by {worker}, who got no such lease")
        for op, part in self.holds.get(rn, ()):
            kind = {"yield": "TaskYield", "fail": "TaskRetry"}.get(part["do"])
            if kind and self.must(op) and ended.get(part["attempt"]) != kind and not (
                    kind == "TaskRetry" and row["status"] == "aborted" and row["attempt"] == part["attempt"]):
                self.say("history", f"task {rn}: the {part['do']} of attempt {part['attempt']} by {op} is not told")

    # A dependant starts after all its providers, and gets their results in their order.
    def _gates(self, rn, row):
        providers = self.submitted(rn).get("depends_on", ())
        if not providers:
            return
        policy = self.submitted(rn).get("on_failure", "cascade")
        rows = [self.state.tasks.get(provider) for provider in providers]
        if None in rows:
            return  # said elsewhere
        if row["status"] in ("ready", "running", "completed"):
            for provider, other in zip(providers, rows):
                if other["status"] != "completed" and not (policy == "ignore" and other["status"] in TERMINAL):
                    self.say("gate", f"task {rn} is {row['status']}, its provider {provider} {other['status']}")
        for op, part, task in self.leases.get(rn, ()):
            if not self.must(op):
                continue
            expected = [other["result"] if other["status"] == "completed" else None for other in rows]
            if task["args"] != expected:
                self.say("args", f"task {rn} came to {op} with {task['args']} and not {expected}")
            for provider in providers:
                begins = [end.begin for end, end_part in self.ends.get(provider, ()) if end.outcome != NO]
                if policy != "ignore" and begins and min(begins) > op.end:
                    self.say("gate", f"task {rn} was leased by {op} before its provider {provider} was ended")
        if self.state.final and row["status"] in TERMINAL and policy != "ignore":
            failed = any(other["status"] in ("aborted", "cancelled") for other in rows)
            if failed and row["status"] == "completed":
                self.say("gate", f"task {rn} is completed, though one of its providers failed")

    # At no moment are more leases certainly held than the limit allows.
    def _limit(self, queue, limit):
        if most := self._most(lambda rn, part: part["queue"] == queue, limit):
            self.say("max_running", f"queue {queue}: {most}")
        running = sum(row["queue"] == queue and row["status"] == "running" for row in self.state.tasks.values())
        if running > limit:
            self.say("max_running", f"queue {queue} has {running} running tasks, {limit} are allowed")

    # Nor do they need more of a pool than it has.
    def _pool(self, pool, resource, capacity):
        if most := self._most(lambda rn, part: self.submitted(rn).get("needs", {}).get(pool, {}).get(resource, 0), capacity):
            self.say("pool", f"{resource} of {pool}: {most}")

    def _most(self, weight, limit):
        """The first moment at which leases that weigh more than the limit are certainly held; otherwise None."""
        intervals = []
        for rn, leases in self.leases.items():
            for op, part, task in leases:
                if not weight(rn, part):
                    continue
                until = op.begin + task["deadline"] - task["leased"]  # not later than the true end
                for other, other_part in self.ends.get(rn, []) + self.holds.get(rn, []):
                    if other.outcome != NO and other_part["do"] != "heartbeat" and \
                            other_part.get("attempt", task["attempt"]) == task["attempt"]:
                        until = min(until, other.begin)
                for other, other_part in self.plan_ops.get(self.submitted(rn).get("plan"), ()):
                    if other_part["do"] == "cancel_plan" and other.outcome != NO:
                        until = min(until, other.begin)
                if until > op.end:
                    intervals.append((op.end, until, rn, weight(rn, part)))
        held, total = [], 0
        for begin, until, rn, amount in sorted(intervals):
            while held and held[0][0] <= begin:
                total -= heapq.heappop(held)[2]
            heapq.heappush(held, (until, rn, amount))
            total += amount
            if total > limit:
                return f"{total} are held at {begin:.3f}, by " + ", ".join(sorted(name for _, name, _ in held))
        return None

    def _plans(self):
        for name, ops in self.plan_ops.items():
            row = self.state.plans.get(name)
            did = {part["do"] for op, part in ops if self.must(op)}
            if row is None:
                if did:
                    self.say("lost", f"plan {name} is not there")
                continue
            if "open_plan" in did and row["status"] == "building":
                self.say("plan", f"{name} was opened and is building")
            if "cancel_plan" in did and row["status"] != "cancelled":
                self.say("plan", f"{name} was cancelled and is {row['status']}")
            tasks = [task["status"] for task in self.state.tasks.values() if task["plan"] == name]
            if row["status"] in ("completed", "failed", "cancelled"):
                live = [status for status in tasks if status not in TERMINAL]
                if live:
                    self.say("plan", f"{name} is {row['status']} with {len(live)} live tasks")
                elif row["status"] != "cancelled" and (row["status"] == "failed") != ("aborted" in tasks):
                    self.say("plan", f"{name} is {row['status']}, its tasks are {sorted(set(tasks))}")

    # A prepared transaction stays until a client ends it.
    def _prepared(self):
        tried = {op.resolve["gid"] for op in self.ops if op.resolve and op.outcome != NO}
        for op in self.ops:
            if op.gid and op.prepared and op.gid not in tried and op.gid not in self.state.prepared and self.state.taken > op.begin \
                    and self.state.final:
                self.say("lost", f"prepared transaction {op.gid} of {op} is not there")

    def _stuck(self):
        for rn, row in self.state.tasks.items():
            if row["status"] not in TERMINAL:
                self.say("stuck", f"task {rn} of queue {row['queue']} is {row['status']}")
        for name, row in self.state.plans.items():
            if row["status"] in ("building", "running"):
                self.say("stuck", f"plan {name} is {row['status']}")
        for gid in self.state.prepared:
            self.say("stuck", f"transaction {gid} is prepared")


def lost_suffix(ops, state):
    """For a failover that may lose the last commits (asynchronous replication): returns what was acknowledged and is missing,
    and, as violations, what exists although it was begun after the end of something that is missing: a standby has the
    beginning of what was committed, without holes."""
    def there(part):
        row = state.tasks.get(part.get("rn"))
        if part["do"] == "submit":
            return row is not None
        if part["do"] == "lease":
            rows = [(state.tasks.get(task["rn"]), task) for task in part["tasks"]]
            return all(row is not None and row["attempt"] >= task["attempt"] for row, task in rows)
        if part["do"] in ENDS:
            return row is not None and row["status"] == STATUS_OF[part["do"]] and row["attempt"] == part.get("attempt", row["attempt"])
        return None  # leaves no trace of its own

    lost, kept = [], []
    for op in ops:
        if op.outcome == OK:
            traces = [there(part) for part in op.parts]
            if False in traces:
                lost.append(op)
                if True in traces and any(part["do"] != "lease" or part["tasks"] for part, trace in zip(op.parts, traces) if trace):
                    yield "halved", op
            elif True in traces and any(part["do"] != "lease" or part["tasks"] for part in op.parts):
                kept.append(op)
    for op in lost:
        yield "lost", op
    first = min((op.end for op in lost), default=float("inf"))
    for op in kept:
        if op.begin > first:
            yield "hole", op
