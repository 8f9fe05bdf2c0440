"""What an open transaction holds, and who waits for it: docs/locks.md, held against the server. Every call that writes is made
in a transaction that then idles; another session looks at what it holds, and makes every call, about the same objects and
about others. Prints TAP. With --update it writes the table of the document instead."""
import sys

import psycopg2

# The calls: what the document calls them, and the statement; @ stands for whose objects they are. One of a function is named
# after it, the others say what is different.
CALLS = [
    ("create_queue", "select scylla.create_queue('new @')"),
    ("alter_queue", """select scylla.alter_queue('q @', '{"aging": 1}')"""),
    ("alter_queue, limits", """select scylla.alter_queue('limits @', '{"max_running": 90, "max_depth": 900, "max_running_per_key": 40}')"""),
    ("alter_queue, rate", """select scylla.alter_queue('rated @', '{"rate": {"tasks": 900, "per": "1 s"}}')"""),
    ("pause_queue", "select scylla.pause_queue('q @')"),
    ("resume_queue", "select scylla.resume_queue('paused @')"),
    ("drop_queue", "select scylla.drop_queue('empty @', force => true)"),
    ("grant_role", "select scylla.grant_role('worker', 'guest')"),
    ("revoke_role", "select scylla.revoke_role('worker', 'guest')"),
    ("grant_queue", "select scylla.grant_queue('q @', 'guest', 'view')"),
    ("revoke_queue", "select scylla.revoke_queue('q @', 'guest', 'view')"),
    ("set_queue_owner", "select scylla.set_queue_owner('q @', 'guest')"),
    ("submit", "select scylla.submit('q @', '1')"),
    ("submit, rn", "select scylla.submit('q @', '1', rn => 'new @')"),
    ("submit, to a new queue", "select scylla.submit('new @', '1')"),
    ("submit, to an idle queue", "select scylla.submit('empty @', '1')"),
    ("submit, max_depth", "select scylla.submit('limits @', '1')"),
    ("submit, dedup_key", "select scylla.submit('q @', '1', dedup_key => 'new @')"),
    ("submit, dedup_key that is taken", "select scylla.submit('q @', '1', dedup_key => 'd @', on_duplicate => 'replace')"),
    ("submit, depends_on", "select scylla.submit('q @', '1', depends_on => '{running @}')"),
    ("submit, plan", "select scylla.submit('q @', '1', plan => 'building @')"),
    ("submit, signal", """select scylla.submit('q @', '1', wait_for => '[{"signal": "signal @", "match": {"of": 3}}]')"""),
    ("submit, callback", """select scylla.submit('q @', '1', wait_for => '[{"callback": "callback @"}]')"""),
    ("submit, needs", """select scylla.submit('q @', '1', needs => '{"pool @": {"a": 1}}')"""),
    ("submit_many", """select * from scylla.submit_many('[{"queue": "q @", "spec": 1}, {"queue": "q @", "spec": 2}]')"""),
    ("submit_bulk", "select scylla.submit_bulk('q @', '{1,2}')"),
    ("lease", "select * from scylla.lease('q @', 'w')"),
    ("lease, limits", "select * from scylla.lease('limits @', 'w')"),
    ("lease, rate", "select * from scylla.lease('rated @', 'w')"),
    ("lease_task", "select * from scylla.lease_task('ready @', 'w')"),
    ("heartbeat", "select * from scylla.heartbeat('running @', 'w')"),
    ("heartbeat_many", "select * from scylla.heartbeat_many('{running @}', 'w')"),
    ("complete", "select * from scylla.complete('retried @', 'w')"),
    ("complete, with a dependant", "select * from scylla.complete('running @', 'w')"),
    ("complete, limits", "select * from scylla.complete('limited 1 @', 'w')"),
    ("complete, needs", "select * from scylla.complete('placed @', 'w')"),
    ("complete_many", "select * from scylla.complete_many('{retried @}', 'w')"),
    ("complete_and_lease", "select * from scylla.complete_and_lease('{retried @}', 'w', 'q @')"),
    ("abort", """select * from scylla.abort('retried @', 'w', '{"code": "x"}')"""),
    ("fail", """select * from scylla.fail('retried @', 'w', '{"code": "x"}')"""),
    ("yield", "select * from scylla.yield('retried @', 'w')"),
    ("not_yet", "select * from scylla.not_yet('retried @', 'w')"),
    ("defer", """select * from scylla.defer('deferred @', 'w', '[{"callback": "callback @"}]')"""),
    ("cancel", "select * from scylla.cancel('second @')"),
    ("cancel, while it runs", "select * from scylla.cancel('running @')"),
    ("cancel_many", """select * from scylla.cancel_many('{"queue": "q @", "status": "ready"}', 1)"""),
    ("yield_many", """select * from scylla.yield_many('{"queue": "q @"}', 1)"""),
    ("reschedule", "select * from scylla.reschedule('waiting @')"),
    ("set_priority", "select * from scylla.set_priority('third @', 3)"),
    ("delete_task", "select scylla.delete_task('completed @')"),
    ("resubmit", "select scylla.resubmit('aborted @', 'again @')"),
    ("resubmit_many", "select * from scylla.resubmit_many('q @')"),
    ("resubmit_matching", """select * from scylla.resubmit_matching('{"queue": "q @"}')"""),
    ("create_plan", "select scylla.create_plan('new @')"),
    ("open_plan", "select scylla.open_plan('building @')"),
    ("cancel_plan", "select scylla.cancel_plan('open @')"),
    ("rerun_plan", "select scylla.rerun_plan('failed @')"),
    ("set_plan_owner", "select scylla.set_plan_owner('building @', 'guest')"),
    ("schedule", "select scylla.schedule('new @', '@daily', 'q @', '1')"),
    ("schedule_plan", """select scylla.schedule_plan('new plan @', '@daily', '[{"queue": "q @", "spec": 1}]')"""),
    ("schedule_job", "select scylla.schedule_job('new job @', '@daily', 'job @', '{[1,20)}')"),
    ("unschedule", "select scylla.unschedule('schedule @')"),
    ("arm_schedules", "select scylla.arm_schedules()"),
    ("run_schedules", "select scylla.run_schedules()"),
    ("create_callback", "select scylla.create_callback('new @')"),
    ("resolve_callback", "select scylla.resolve_callback('callback @')"),
    ("reject_callback", """select scylla.reject_callback('second callback @', '{"code": "x"}')"""),
    ("send_signal", """select scylla.send_signal('signal @', '{"of": 2}')"""),
    ("send_signal, request_id", """select scylla.send_signal('signal @', '{"of": 5}', request_id => 'r @')"""),
    ("grant_signal", "select scylla.grant_signal('signal @', 'guest', 'wait')"),
    ("revoke_signal", "select scylla.revoke_signal('signal @', 'guest', 'wait')"),
    ("set_signal_owner", "select scylla.set_signal_owner('signal @', 'guest')"),
    ("create_trigger", """select scylla.create_trigger('new @', '[{"signal": "signal @"}]', '{"submit": {"queue": "q @", "spec": 1}}')"""),
    ("create_trigger, workflow", """select scylla.create_trigger('new @', '[{"signal": "signal @"}]', '{"workflow": "flow_@"}')"""),
    ("pause_trigger", "select scylla.pause_trigger('trigger @')"),
    ("resume_trigger", "select scylla.resume_trigger('trigger @')"),
    ("clear_trigger", "select scylla.clear_trigger('trigger @')"),
    ("drop_trigger", "select scylla.drop_trigger('trigger @')"),
    ("create_pool", """select scylla.create_pool('new @', '{"a": 1}')"""),
    ("alter_pool", """select scylla.alter_pool('pool @', '{"policy": "strict"}')"""),
    ("drop_pool", "select scylla.drop_pool('idle pool @')"),
    ("drain_pool", "select scylla.drain_pool('pool @')"),
    ("resume_pool", "select scylla.resume_pool('pool @')"),
    ("grant_pool", "select scylla.grant_pool('pool @', 'guest', 'use')"),
    ("revoke_pool", "select scylla.revoke_pool('pool @', 'guest', 'use')"),
    ("report_usage", """select scylla.report_usage('pool @', '{"a": 1}')"""),
    ("place", "select * from scylla.place('roomy pool @')"),
    ("define_job", "select scylla.define_job('job @', 'q @')"),
    ("define_job, new", "select scylla.define_job('new @', 'q @')"),
    ("drop_job", "select scylla.drop_job('idle job @')"),
    ("grant_job", "select scylla.grant_job('job @', 'guest', 'run')"),
    ("revoke_job", "select scylla.revoke_job('job @', 'guest', 'run')"),
    ("create_workflow", """select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "flow_@", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}')"""),
    ("create_workflow, new", """select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new_@", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}')"""),
    ("activate_workflow", "select scylla.activate_workflow('flow_@')"),
    ("deactivate_workflow", "select scylla.deactivate_workflow('flow_@')"),
    ("alter_workflow", """select scylla.alter_workflow('flow_@', '{"description": "other"}')"""),
    ("drop_workflow", "select scylla.drop_workflow('idle_flow_@')"),
    ("grant_workflow", "select scylla.grant_workflow('flow_@', 'guest', 'run')"),
    ("revoke_workflow", "select scylla.revoke_workflow('flow_@', 'guest', 'run')"),
    ("create_job_template", """select scylla.create_job_template('{"job_type": "template_@", "type": "NoOp"}')"""),
    ("create_job_template, new", """select scylla.create_job_template('{"job_type": "new_@", "type": "NoOp"}')"""),
    ("drop_job_template", "select scylla.drop_job_template('idle_template_@', 'default')"),
    ("start_workflow", "select * from scylla.start_workflow('flow_@')"),
    ("start_workflows", """select * from scylla.start_workflows('[{"workflow": "flow_@"}]')"""),
    ("set_output", "select scylla.set_output(rn, '{}') from scylla.list_tasks('out_@', 'running')"),
    ("restart_run", "select * from scylla.restart_run('failed_flow_@', 1)"),
    ("stop_run", "select scylla.stop_run('busy_flow_@', 1)"),
    ("kill_run", "select scylla.kill_run('busy_flow_@', 1)"),
    ("stop_workflow", "select scylla.stop_workflow('busy_flow_@')"),
    ("kill_workflow", "select scylla.kill_workflow('busy_flow_@')"),
    ("stop_step", "select scylla.stop_step('asleep_flow_@', 1, 's')"),
    ("kill_step", "select scylla.kill_step('asleep_flow_@', 2, 's')"),
    ("skip_step", "select scylla.skip_step('asleep_flow_@', 3, 's')"),
    ("restart_step", "select scylla.restart_step('failed_flow_@', 1, 's')"),
    ("bypass_step", "select scylla.bypass_step('waiting_flow_@', 1, 's')"),
    ("pause_step", "select scylla.pause_step('held_flow_@', 1, 's')"),
    ("resume_step", "select scylla.resume_step('held_flow_@', 1, 's')"),
    ("set_breakpoint", "select scylla.set_breakpoint('flow_@', 's')"),
    ("drop_breakpoint", "select scylla.drop_breakpoint('held_flow_@', 's')"),
    ("drop_breakpoint, resume", "select scylla.drop_breakpoint('held_flow_@', 's', resume => true)"),
    ("pause_workflow", "select scylla.pause_workflow('flow_@')"),
    ("resume_workflow", "select scylla.resume_workflow('paused_flow_@')"),
    ("unblock_run", "select scylla.unblock_run('failed_flow_@', 1)"),
    ("unblock_workflow", "select scylla.unblock_workflow('failed_flow_@')"),
    ("backfill", "select scylla.backfill('flow_@', '[{}]')"),
    ("preview_backfill", "select * from scylla.preview_backfill('flow_@', '[{}]')"),
    ("pause_backfill", "select scylla.pause_backfill(backfill) from scylla.workflow_backfill where workflow = 'filled_flow_@'"),
    ("resume_backfill", "select scylla.resume_backfill(backfill) from scylla.workflow_backfill where workflow = 'filled_flow_@'"),
    ("cancel_backfill", "select scylla.cancel_backfill(backfill) from scylla.workflow_backfill where workflow = 'filled_flow_@'"),
    ("run_job", "select scylla.run_job('job @', '{[1,20)}')"),
    ("mark_fresh", "select scylla.mark_fresh('job @', '{[5,12)}')"),
    ("forget_freshness", "select scylla.forget_freshness('job @')"),
    ("register_worker", "select scylla.register_worker()"),
    ("stat_reset", "select scylla.stat_reset('q @')"),
    ("reset_expired", "select scylla.reset_expired()"),
    ("purge", "select scylla.purge()"),
    ("maintain", "select scylla.maintain()"),
]
# Those that only read.
READS = [
    ("count_tasks", "select * from scylla.count_tasks('q @')"),
    ("list_tasks", "select * from scylla.list_tasks('q @')"),
    ("find_tasks", """select * from scylla.find_tasks('{"queue": "q @"}')"""),
    ("dead_tasks", "select * from scylla.dead_tasks('q @')"),
    ("get_task", "select * from scylla.get_task('ready @')"),
    ("explain_waiting", "select * from scylla.explain_waiting('waiting @')"),
    ("has_live_tasks", "select scylla.has_live_tasks('{q @}')"),
    ("list_pool_queue", "select * from scylla.list_pool_queue('roomy pool @')"),
    ("plan_completed", "select scylla.plan_completed('open @')"),
    ("plan_dot", "select scylla.plan_dot('open @')"),
    ("plan_mermaid", "select scylla.plan_mermaid('open @')"),
    ("plan_timeline", "select * from scylla.plan_timeline('open @')"),
    ("run_tree", "select count(*) > 0 from scylla.run_tree('busy_flow_@', 1)"),
    ("failed_steps", "select count(*) from scylla.failed_steps('busy_flow_@', 1)"),
    ("explain_run", "select count(*) from scylla.explain_run('busy_flow_@', 1)"),
    ("workflow_dot", "select scylla.workflow_dot('busy_flow_@') ~ 'digraph'"),
    ("workflow_mermaid", "select scylla.workflow_mermaid('busy_flow_@') ~ 'flowchart'"),
    ("run_dot", "select scylla.run_dot('busy_flow_@', 1) ~ 'digraph'"),
    ("run_mermaid", "select scylla.run_mermaid('busy_flow_@', 1) ~ 'flowchart'"),
    ("run_gantt", "select scylla.run_gantt('busy_flow_@', 1) ~ 'gantt'"),
    ("lineage_dot", "select scylla.lineage_dot('busy_flow_@', 1) ~ 'digraph'"),
    ("lineage_mermaid", "select scylla.lineage_mermaid('busy_flow_@', 1) ~ 'flowchart'"),
    ("explain_job", "select * from scylla.explain_job('job @', '{[1,20)}')"),
    ("job_dot", "select scylla.job_dot('job @')"),
    ("job_mermaid", "select scylla.job_mermaid('job @')"),
    ("read_events", "select * from scylla.read_events()"),
    ("read_workflow_events", "select * from scylla.read_workflow_events()"),
    ("metrics", "select scylla.metrics()"),
    ("check", "select * from scylla.check()"),
    ("sel_eval", "select scylla.sel_eval('1 + 1')"),
    ("validate_workflow", "select * from scylla.validate_workflow('{}')"),
]
# Not in a transaction: they wait, or take transactions of their own.
# run_sql: as its statement.
APART = {"wait", "wait_any", "wait_plan", "work", "advance", "run_sql"}
# For all queues at once, so that "others" have no part of their own.
FOR_ALL = {"grant_role", "revoke_role", "arm_schedules", "run_schedules", "reset_expired", "purge", "maintain"}
HEAD = ["| call | adds rows to | changes or locks rows of | locks | who waits |", "| --- | --- | --- | --- | --- |"]
PATIENCE = 30  # ms that a lock may be waited for, before it counts


class Session:
    def __init__(self):
        self.connection = psycopg2.connect("application_name=locks")
        self.cursor = self.connection.cursor()

    def ask(self, sql):
        self.cursor.execute(sql)
        return self.cursor.fetchall() if self.cursor.description else []

    def begin(self):
        self.ask("set local scylla.schedules = 'manual'")
        self.ask("set local client_min_messages = error")

    def back(self):
        self.connection.rollback()

    def vacuum(self):
        """What was rolled back would slow down what follows."""
        self.connection.autocommit = True
        self.ask("vacuum")
        self.connection.autocommit = False


def of(call, owner):
    return call[1].replace("'@daily'", "'DAILY'").replace("@", owner).replace("DAILY", "@daily")


def tables(session):
    rows = session.ask("""select relname from pg_class where relkind = 'r' and relnamespace = 'scylla'::regnamespace order by 1""")
    session.back()
    return [name for name, in rows]


def counted(session, names, column, xid):
    """Rows of each table whose system column is the transaction: what it has added (xmin), changed or locked (xmax)."""
    rows = session.ask(" union all ".join(f"select '{name}', count(*) from scylla.{name} where {column} = '{xid}'" for name in names))
    return sorted(name for name, count in rows if count)


OTHER_LOCKS = """select distinct case when locktype <> 'object' then locktype
        when classid = 'scylla.queue'::regclass then 'queue, ' || case objsubid when 0 then 'limits' when 1 then 'depth' when 2 then 'running'
            else 'a key' end
        when classid = 'scylla.task_spec'::regclass then case objsubid when 0 then 'name of a queue' when -2 then 'job type' else 'pool' end
        when classid = 'scylla.task_waiting'::regclass then 'line'
        else classid::regclass::text end || ' (' || mode || ')'
    from pg_locks where pid = pg_backend_pid() and locktype not in ('relation', 'virtualxid', 'transactionid')
        and not (locktype = 'object' and (classid = 'pg_database'::regclass or classid = 'pg_extension'::regclass or classid = 'pg_authid'::regclass)) order by 1"""
STRONG = """select distinct relation::regclass::text || ' (' || mode || ')' from pg_locks where pid = pg_backend_pid()
    and locktype = 'relation' and mode not in ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock') order by 1"""


def tries(session, calls, owner):
    """Makes each call about the owner's objects and takes it back (try_calls in locks.sql): whether it had to wait for a lock, how many
    seconds it took, and the error, if there was another."""
    session.begin()
    session.ask(f"set local lock_timeout = {PATIENCE}; set local statement_timeout = '60 s'")
    session.cursor.execute("select waited, seconds, error from try_calls(%s)", ([of(call, owner) for call in calls],))
    found = session.cursor.fetchall()
    session.back()
    return zip(calls, found)


def look(idler, other, names, call):
    """What an open transaction with the call holds, and who waits."""
    idler.begin()
    return hold(idler, other, names, call) | wait_for(idler, other)


def hold(idler, other, names, call):
    """What the open transaction holds after the call: added rows, changed rows, other locks, strong locks of tables."""
    idler.ask(of(call, "a"))
    [[xid]] = idler.ask("select pg_current_xact_id_if_assigned()::xid::text")
    held = {
        "adds": counted(idler, names, "xmin", xid) if xid else [],
        "changes": counted(other, names, "xmax", xid) if xid else [],
        "locks": [text for text, in idler.ask(OTHER_LOCKS)],
        "strong": [text for text, in idler.ask(STRONG)],
    }
    other.back()
    return held


def wait_for(idler, other):
    """Who waits for the open transaction, about the same and about others, and how long the slowest call takes. Ends the transaction."""
    held = {"slowest": 0}
    for owner in "a", "b":
        held[owner] = []
        for (name, _), (waited, seconds, _) in tries(other, CALLS + READS, owner):
            if waited:
                held[owner].append(name)
            held["slowest"] = max(held["slowest"], seconds)
    idler.back()
    other.vacuum()
    return held


def covered(session):
    """Whatever is called is above, or only reads."""
    rows = session.ask("""select distinct proname from pg_proc where pronamespace = 'scylla'::regnamespace and proname !~ '^_'
        and provolatile = 'v'""")
    session.back()
    return {name for name, in rows} ^ ({name.split(",")[0] for name, _ in CALLS + READS} | APART)


def cell(texts):
    return ", ".join(f"`{text}`" for text in texts) or "-"


def row(name, held):
    """The row of the document."""
    return f"| {name} | {cell(held['adds'])} | {cell(held['changes'])} | {'; '.join(held['locks']) or '-'} | {'; '.join(held['a']) or '-'} |"


class Tap:
    def __init__(self):
        self.tests = 0

    def ok(self, good, name, why=""):
        self.tests += 1
        print(f"{'ok' if good else 'not ok'} {self.tests} - {name}")
        if not good and why:
            print("# " + str(why))



def judge(tap, name, held):
    tap.ok(not held["strong"], f"{name}: locks no table against writing", held["strong"])
    if name not in FOR_ALL:
        tap.ok(not held["b"], f"{name}: nobody waits who is about other things", held["b"])
    tap.ok(held["slowest"] < 5, f"{name}: and nobody is slow", held["slowest"])


def main():
    document, mode, update = sys.argv[1], sys.argv[2], "--update" in sys.argv
    idler, other = Session(), Session()
    names = tables(other)
    tap = Tap()
    tap.ok(not (left := covered(other)), "every call that writes is looked at", left)
    for owner in "a", "b":
        for (name, _), (waited, _, error) in tries(other, CALLS + READS, owner):
            tap.ok(not waited and error is None, f"{name}: can be done, by {owner}", error)
    # In one transaction: what one of them locked would be held to its end.
    idler.begin()
    for call in READS:
        held = hold(idler, other, names, call)
        tap.ok(not any(held.values()), f"{call[0]}: holds nothing", held)
    waiting = wait_for(idler, other)
    tap.ok(not waiting["a"] and not waiting["b"], "nobody waits for who has only read", waiting)
    found = []
    for call in CALLS:
        held = look(idler, other, names, call)
        judge(tap, call[0], held)
        found.append(row(call[0], held))
    with open(document) as file:
        text = file.read()
    if mode == "plain":  # only what is different
        found = [line for line in found if line not in part(text, "preloaded")[1]]
    before, told, after = part(text, mode)
    if update:
        with open(document, "w") as file:
            file.write("\n".join(before + HEAD + found + after) + "\n")
    for line in found:
        tap.ok(line in told, f"the document tells of {line.split('|')[1].strip()}", line)
    tap.ok(told[:2] == HEAD and len(told) == len(HEAD) + len(found), "and of nothing else")


def part(text, mode):
    """The document's lines up to the table of the mode, the table, and what follows."""
    lines = text.splitlines()
    begin, end = lines.index(f"<!-- {mode} -->") + 1, lines.index(f"<!-- end of {mode} -->")
    return lines[:begin], lines[begin:end], lines[end:]


main()
