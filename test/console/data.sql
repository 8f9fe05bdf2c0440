-- What the pages of the console show: something of everything, some of it with names that try to be more than text.
create extension if not exists scylla;
select from scylla.create_queue('mail', default_timeout => '5 min', max_attempts => 3);
select from scylla.create_queue('<img src=x onerror=alert(1)>', max_running => 4);
select from scylla.create_queue('slow');
select from scylla.pause_queue('slow');

-- Tasks in every state.
select from scylla.submit('mail', '{"to": "ada@example.org", "subject": "<script>alert(1)</script>"}', rn => 'mail-running', key => 'ada', priority => 5);
select from scylla.lease('mail', 'worker-<b>1</b>', 1, '1 h');
select from scylla.heartbeat('mail-running', 'worker-<b>1</b>', 0.4);
select from scylla.submit('mail', '{"to": "bob@example.org"}', rn => 'mail-completed');
select from scylla.lease_task('mail-completed', 'worker-2');
select from scylla.complete('mail-completed', 'worker-2', '{"id": 17}', '{"seconds": 0.2}');
select from scylla.submit('mail', '{"to": "eve@example.org"}', rn => 'mail-aborted');
select from scylla.lease_task('mail-aborted', 'worker-2');
select from scylla.abort('mail-aborted', 'worker-2', '{"code": "no-such-address", "message": "<svg onload=alert(1)>", "log_url": "javascript:alert(1)", "details": "Traceback of <i>mail</i>"}');
select from scylla.submit('mail', '{"to": "joe@example.org"}', rn => 'mail-failed');
select from scylla.lease_task('mail-failed', 'worker-2');
select from scylla.fail('mail-failed', 'worker-2', '{"code": "smtp-timeout", "message": "no answer in 30 s"}', '1 h');
select from scylla.submit('mail', '{"to": "zoe@example.org"}', rn => 'mail-later', not_before => now() + interval '1 day');
select from scylla.submit('mail', '{"to": "max@example.org"}', rn => 'mail-to-cancel');
select from scylla.submit('mail', '{"to": "pat@example.org"}', rn => 'mail-cancelled');
select from scylla.cancel('mail-cancelled');
select from scylla.submit_bulk('mail', array(select to_jsonb(i) from generate_series(1, 120) i));
select from scylla.submit('<img src=x onerror=alert(1)>', '{}', rn => '<script>alert(1)</script>', key => '"><img src=x onerror=alert(1)>');
select from scylla.submit('slow', '{}', rn => 'slow/1?a=b&c=d#e%20f');

-- A plan that runs, one with a name of the other kind.
select scylla.create_plan('release', '{"version": "2.0"}');
select count(*) from scylla.submit_many('[
  {"plan": "release", "queue": "build", "rn": "fetch", "spec": {}},
  {"plan": "release", "queue": "build", "rn": "compile", "spec": {}, "depends_on": ["fetch"]},
  {"plan": "release", "queue": "build", "rn": "document", "spec": {}, "depends_on": ["fetch"]},
  {"plan": "release", "queue": "build", "rn": "test <b>all</b>", "spec": {}, "depends_on": ["compile"]},
  {"plan": "release", "queue": "build", "rn": "package", "spec": {}, "depends_on": ["test <b>all</b>", "document"]}]');
select scylla.open_plan('release');
select from scylla.lease_task('fetch', 'builder-1');
select from scylla.complete('fetch', 'builder-1');
select from scylla.lease_task('compile', 'builder-1', '1 h');
select scylla.create_plan('"><img src=x onerror=alert(1)>');

-- Schedules, pools, job types, conditions.
select scylla.schedule('nightly <i>report</i>', '30 2 * * *', 'reports', '{"kind": "nightly"}');
select from scylla.create_pool('cluster', '{"cores": 16, "memory_gb": 64}');
select from scylla.submit('build', '{}', rn => 'placed', needs => '{"cluster": {"cores": 12}}');
select from scylla.submit('build', '{}', rn => 'in-line', needs => '{"cluster": {"cores": 8}}');
select scylla.define_job('load <u>raw</u>', 'build');
select scylla.define_job('aggregate', 'build', needs => '[{"job": "load <u>raw</u>", "max_lag": "1 day"}]');
select scylla.create_callback('<img src=x onerror=alert(1)>');
select from scylla.submit('mail', '{}', rn => 'mail-waits', wait_for => '[{"callback": "<img src=x onerror=alert(1)>"}]');
select scylla.send_signal('file <b>arrived</b>', '{"path": "/data/1"}');
select scylla.create_trigger('on <b>file</b>', '[{"signal": "file <b>arrived</b>"}]', '{"submit": {"queue": "mail", "spec": {}}}');

-- A workflow with a run: a loop of which one iteration has failed, one is complete, one runs and one is ready.
select scylla.create_workflow('{"properties": {"owner": "<b>ann</b>", "description": "<img src=x onerror=alert(1)>", "tags": ["<i>daily</i>"]},
    "workflow": {"id": "nightly", "steps": [
        {"step": {"id": "extract", "type": "wf_extract", "transition": {"successors": {"each": "true"}}}},
        {"foreach": {"id": "each", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1, 2, 3, 4]}}}},
                     "steps": [{"step": {"id": "load", "type": "wf_load"}}], "transition": {"successors": {"report": "true"}}}},
        {"step": {"id": "report", "type": "wf_report"}}]}}');
select scylla.create_workflow('{"workflow": {"id": "nightly", "steps": [{"step": {"id": "only", "type": "wf_only"}}]}}', activate => false);
create procedure reach(condition text) language plpgsql as $$
declare
    reached boolean;
begin
    for i in 1 .. 600 loop
        execute 'select ' || condition into reached;
        exit when reached;
        commit;
        perform pg_sleep(0.05);
    end loop;
    if not reached then
        raise exception '% was not reached', condition;
    end if;
end;
$$;
select from scylla.start_workflow('nightly');
call reach($$exists (select from scylla.task where queue = 'wf_extract' and status = 'ready')$$);
select from scylla.lease('wf_extract', 'w') t, scylla.complete(t.rn, 'w', '{"params": {}}');
call reach($$(select count(*) = 4 from scylla.task where queue = 'wf_load' and status = 'ready')$$);
select from scylla.lease('wf_load', 'w', 3, '1 h');
select from scylla.task t, scylla.complete(t.rn, 'w') where t.queue = 'wf_load' and t.spec -> 'iteration' is not null and t.rn = (select min(rn) from scylla.task where queue = 'wf_load' and status = 'running');
select from scylla.task t, scylla.abort(t.rn, 'w', '{"code": "bad-data", "message": "<svg onload=alert(1)>", "log_url": "https://logs.example.org/load?part=1&x=<b>"}') where t.rn = (select min(rn) from scylla.task where queue = 'wf_load' and status = 'running');
call reach($$exists (select from scylla.workflow_step where step = 'load' and status = 'FATALLY_FAILED')$$);
call reach($$exists (select from scylla.workflow_step where step = 'load' and status = 'SUCCEEDED')$$);

select scylla.create_job_template('{"job_type": "base", "type": "wf_load", "params": {"p": {"type": "STRING", "value": "<b>base</b>"}}}');
select scylla.create_job_template('{"job_type": "special", "version": "2", "type": "wf_load", "description": "<img src=x onerror=alert(1)>", "inherit_from": {"base": "default"},
    "params": {"q": {"type": "STRING", "value": "<script>alert(1)</script>"}}}');

-- A workflow whose values try to be more than text, stopped at a breakpoint.
select scylla.create_workflow('{"properties": {"owner": "<b>ann</b>"}, "workflow": {"id": "odd", "params": {"p": {"type": "STRING", "value": "<img src=x onerror=alert(1)>"}}, "steps": [
    {"step": {"id": "stopped", "type": "wf_odd", "params": {"q": {"type": "STRING", "value": "</script><script>alert(1)</script>"}}}},
    {"foreach": {"id": "inner", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "STRING_ARRAY", "value": ["<u>1</u>"]}}}}, "steps": [{"step": {"id": "leaf", "type": "NoOp"}}]}}]}}');
select scylla.set_breakpoint('odd', 'stopped');
select from scylla.start_workflow('odd', '{"p": "<i>given</i>"}');
call reach($$exists (select from scylla.workflow_step where workflow = 'odd' and status = 'PAUSED')$$);
