"""The client processes, and how the work that they leave is finished."""
import os
import random
import signal
import subprocess
import sys
import time

import psycopg2
from psycopg2.extras import Json

from clients import IDLER, Broken, Refused, Session
from record import Recorder
from state import ask, connect, unfinished
from waits import names

POOL = {"slots": 4}
STARTED = {"started": "by a trigger"}
ROLES = ["submitter"] * 2 + ["worker"] * 5 + ["planner", "preparer", "idler", "waiter", "sender", "sender", "asker", "asker", "stepper", "stepper", "stepper"]

# A handler that the server calls. It leaves a note, which exists if and only if its task is completed.
HANDLER = """
create table if not exists chaos_note (rn text not null);
create table if not exists chaos_effect (workflow text, instance bigint, step text, iteration text);
create or replace function chaos_handler(task scylla.task) returns jsonb language plpgsql as $$
begin
    insert into chaos_note values (task.rn);
    if task.spec = '"badly"' and random() < 0.7 then
        raise exception 'badly';
    elsif task.spec = '"slowly"' then
        perform pg_sleep(random() * 0.5);
    elsif task.spec = '"later"' and task.answers < 3 then
        delete from chaos_note where rn = task.rn;
        perform scylla.not_yet(task.rn, task.owner, '50 ms');
    end if;
    return to_jsonb(task.attempt);
end $$"""


STATEMENT = "insert into chaos_effect values ($1 ->> 'of', ($1 ->> 'number')::bigint, 'statement', ''); select pg_sleep(random() * 0.5)"


class Team:
    def __init__(self, folder, prefix, dsn, seed):
        self.folder, self.prefix, self.dsn = folder, prefix, dsn
        self.random = random.Random(seed)
        self.members = []  # [process, role]
        self.hired = 0
        self.output = open(f"{folder}/clients.log", "ab")

    def hire(self, role):
        self.hired += 1
        name = f"{self.prefix}{role[0]}{self.hired}"
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clients.py")
        arguments = [role, name, str(self.random.random()), self.folder, self.prefix, self.dsn]
        process = subprocess.Popen([sys.executable, "-B", program, *arguments], stdin=subprocess.DEVNULL, stdout=self.output,
                                   stderr=self.output)
        self.members.append([process, role])
        return process

    def replace_dead(self):
        """Replaces clients that were killed. Returns how a client ended that should not have."""
        for member in self.members[:]:
            process, role = member
            if process.poll() is not None:
                self.members.remove(member)
                if process.returncode != -signal.SIGKILL:
                    return f"a {role} ended with status {process.returncode}: see {self.folder}/clients.log"
                self.hire(role)
        return None

    def dismiss(self, patience=60):
        """Lets all finish the call that they are in. Returns the violations: clients whose call does not come back."""
        for process, _ in self.members:
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGTERM)
        found = []
        deadline = time.monotonic() + patience
        for process, role in self.members:
            try:
                self.wait_for(process, deadline)
                if process.returncode not in (0, -signal.SIGKILL, -signal.SIGTERM):
                    found.append(f"client: a {role} ended with status {process.returncode}: see {self.folder}/clients.log")
            except subprocess.TimeoutExpired:
                found.append(f"hangs: the call of a {role} does not return for {patience} s")
                process.kill()
                process.wait()
        self.members = []
        return found

    def wait_for(self, process, deadline):
        """The client that has prepared a transaction may be gone, and the call of another client may wait for it."""
        while True:
            try:
                return process.wait(max(0.1, min(5, deadline - time.monotonic())))
            except subprocess.TimeoutExpired:
                if time.monotonic() > deadline:
                    raise
            self.hired += 1
            session = Session(Recorder(self.folder, f"{self.prefix}e{self.hired}"), self.dsn)
            end_prepared(session, self.prefix)
            session.close()

    def kill(self):
        for process, _ in self.members:
            process.kill()
            process.wait()
        self.members = []


def create_queues(connection, prefix, limit):
    ask(connection, "select scylla.create_queue(%s)", f"{prefix}-open")
    ask(connection, "select scylla.create_queue(%s, max_running => %s)", f"{prefix}-limit", limit)
    ask(connection, "select scylla.create_queue(%s, aging => 0.5)", f"{prefix}-fair")
    known = names(prefix)
    ask(connection, HANDLER)
    ask(connection, "select scylla.create_queue(%s, retry => %s)", known["ask"], Json({"initial": "20 ms", "max": "200 ms"}))
    ask(connection, "select scylla.create_queue(%s, handler => 'chaos_handler', default_timeout => '1 s', retry => %s)", known["handled"],
        Json({"initial": "20 ms", "max": "200 ms"}))
    ask(connection, "select scylla.create_pool(%s, %s)", known["pool"], Json(POOL))
    create_triggers(connection, prefix)
    create_steps(connection, prefix)
    if not ask(connection, "select 1 from pg_roles where rolname = %s", IDLER):
        ask(connection, f"create role {IDLER} login")
    ask(connection, f"grant usage on schema scylla to {IDLER}; grant execute on all functions in schema scylla to {IDLER}")


def create_steps(connection, prefix):
    """A workflow whose runs are stopped, killed, skipped and restarted."""
    known = names(prefix)
    queue = known["steps"]
    kinds = "error", "platform", "timeout"

    def step(name, **more):
        return {"step": {"id": name, "type": queue, "timeout": "3 seconds", "retry_policy": {
            **{f"{kind}_retry_limit": 1 if kind == "timeout" else 20 for kind in kinds},
            "backoff": {"type": "FIXED_BACKOFF", **{f"{kind}_retry_backoff_in_secs": 1 for kind in kinds}}}, **more}}

    # Run by the server.
    statement = step("statement", type="Sql", failure_mode="IGNORE_FAILURE", sql=STATEMENT, params={
        "queue": {"type": "STRING", "value": known["statements"]}, "of": {"type": "STRING", "value": known["acted"]},
        "number": {"type": "LONG", "expression": "params.getFromInstance('workflow_instance_id')"}})
    loop = {"foreach": {"id": "each", "steps": [step("inner")], "transition": {"successors": {"last": "true"}},
                        "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1, 2, 3]}}}}}}
    steps = [step("first", transition={"successors": {"each": "true"}}), step("beside", failure_mode="FAIL_IMMEDIATELY"), statement, loop, step("last")]
    ask(connection, "select scylla.create_queue(%s), scylla.create_queue(%s, handler => 'scylla.run_sql')", queue, known["statements"])
    ask(connection, "select scylla.create_workflow(%s)", Json({"properties": {"owner": "chaos", "run_strategy": "parallel"},
                                                               "workflow": {"id": known["acted"], "timeout": "20 seconds", "steps": steps}}))


def create_triggers(connection, prefix):
    """Each pair of signals starts a task, and a run of a workflow."""
    known = names(prefix)
    steps = [{"step": {"id": "first", "type": "NoOp", "transition": {"successors": {"second": "true"}}}}, {"step": {"id": "second", "type": "NoOp"}}]
    ask(connection, "select scylla.create_workflow(%s)", Json({"properties": {"owner": "chaos", "run_strategy": "parallel"},
                                                               "workflow": {"id": known["workflow"], "steps": steps}}))
    for trigger, action in ((known["trigger"], {"submit": {"queue": f"{prefix}-open", "spec": STARTED}}),
                            (known["run_trigger"], {"workflow": known["workflow"]})):
        ask(connection, "select scylla.create_trigger(%s, %s, %s)", trigger,
            Json([{"signal": known[side], "join": ["n"]} for side in ("left", "right")]), Json(action))


def rules_of(prefix, limit):
    """What the observer must know of these."""
    return {"limits": {f"{prefix}-limit": limit}, "pools": {names(prefix)["pool"]: POOL},
            "trigger": {**names(prefix), "queue": f"{prefix}-open", "spec": STARTED}}


def end_prepared(session, prefix):
    """Commits what is prepared."""
    try:
        for [gid] in session.query("select gid from pg_prepared_xacts where gid like %s", prefix + ".%"):
            session.resolve(gid, commit=True)
    except (Broken, Refused) as error:
        print(f"# ending what is prepared: {error!r}", flush=True)


def finish(team, patience):
    """Ends prepared transactions, opens unfinished plans, and lets calm workers do the rest. Returns how long it took, or None
    if something is stuck: nothing has ended for that many seconds."""
    began = moved = time.monotonic()
    least = None
    session = Session(Recorder(team.folder, "finish"), team.dsn)
    connection = connect(team.dsn)
    for role in ["calm"] * 4 + ["calm-sender", "calm-asker", "calm-stepper", "calm-stepper"]:
        team.hire(role)
    while (left := unfinished(connection, team.prefix)) and time.monotonic() - moved < patience:
        if least is None or left < least:
            least, moved = left, time.monotonic()
        end_prepared(session, team.prefix)
        try:
            for [plan] in ask(connection, "select name from scylla.plan where name like %s and status = 'building'", team.prefix + ".%"):
                session.call([{"do": "open_plan", "plan": plan}], "select scylla.open_plan(%s)", plan)
        except (Broken, Refused, psycopg2.Error) as error:
            print(f"# finishing: {error!r}", flush=True)
        time.sleep(0.05)
    session.close()
    connection.close()
    return None if left else time.monotonic() - began
