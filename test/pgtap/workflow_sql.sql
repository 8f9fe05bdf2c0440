-- Steps of type Sql: statements that the handler scylla.run_sql() runs. Whose rights they have, and what they put out.
-- Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
select * from no_plan();
\ir include/workflows.psql

create role sql_owner login; create role sql_member login in role sql_owner; create role sql_stranger login;
grant usage on schema scylla to sql_owner, sql_member, sql_stranger;
grant execute on all functions in schema scylla to sql_owner, sql_member, sql_stranger;
grant select on scylla.task, scylla.workflow_step to sql_owner;
create table sales (day int, n int);
insert into sales values (1, 10), (1, 20), (2, 5);
create table seen (who name, by name, what text);
grant all on sales, seen to sql_owner;

-- A step with this statement and these parameters; and a run of it, up to its task.
create function sql_step(sql text, params jsonb = '{}', more jsonb = '{}') returns jsonb language sql as $$
    select jsonb_build_array(step('s', '{}', jsonb_build_object('sql', sql, 'params', params) || more, 'Sql'))
$$;
create function long(value int, more jsonb = '{}') returns jsonb language sql as $$select jsonb_build_object('type', 'LONG', 'value', value) || more$$;
-- Runs the task as a server worker would, and lets the engine go on. Returns the result, or the error.
create function run(queue text = 'sql') returns text language plpgsql as $$
declare t scylla.task; result jsonb;
begin
    select * into t from scylla.lease(queue, 'w');
    begin
        result := scylla.run_sql(t);
        perform scylla.complete(t.rn, 'w', result);
    exception when others then
        perform scylla.fail(t.rn, 'w', jsonb_build_object('code', 'sqlstate-' || sqlstate, 'retryable', false));
        result := to_jsonb(format('%s %s', sqlstate, sqlerrm));
    end;
    perform advance();
    return result #>> '{}';
end $$;
create function outcome(sql text, params jsonb = '{}') returns text language plpgsql as $$
declare id constant text := 'w' || md5(sql || params); n bigint;
begin
    perform make(id, sql_step(sql, params));
    n := start(id);
    return run();
end $$;
create function raised_by(sql text, code text, message text) returns text language sql as $$
    select is(outcome(sql, '{"n": {"type": "LONG", "value": 1}}'), code || ' ' || message, 'fails: ' || sql)
$$;
select scylla.create_queue('sql', handler => 'scylla.run_sql') \g /dev/null

-- ---- definitions ---------------------------------------------------------------------------------------------------

create function problems(steps jsonb) returns text language sql as $$
    select string_agg(place || ': ' || problem, '; ')
    from scylla.validate_workflow(jsonb_build_object('properties', '{"owner": "ada"}'::jsonb, 'workflow', jsonb_build_object('id', 'w', 'steps', steps)))
$$;
select is(problems(sql_step('select 1')), null, 'a step of type Sql has a statement');
select is(problems(jsonb_build_array(step('s', type => 'sQL'))), 'workflow.steps[0].step: has no "sql"', 'it must have one, however the type is written');
select is(problems(jsonb_build_array(step('s', '{}', '{"sql": 1}', 'Sql'))), 'workflow.steps[0].step.sql: must be a string', 'which is a text');
select is(problems(jsonb_build_array(step('s', '{}', '{"sql": "select 1"}', 'Sqlx'))), 'workflow.steps[0].step.sql: only steps of type Sql have it', 'no other step has one');
select is(problems(sql_step(repeat('x', 16384))), null, '[1.7] of 16,384 characters');
select isnt(problems(sql_step(repeat('x', 16385))), null, '... and not more');

-- ---- parameters and output ---------------------------------------------------------------------------------------------

select is(outcome('select 1 as one'), '{"rows": 1, "params": {}}', 'a statement runs');
select is(outcome($$select sum(n) as total from test.sales where day = ($1 ->> 'day')::int$$,
                  jsonb_build_object('day', long(1), 'total', long(0))), '{"rows": 1, "params": {"total": 30}}',
          '[4.8] its parameters are $1, and a column that is named like one of them sets it');
select is((select params from scylla.workflow_step order by (params -> 'total')::int desc nulls last limit 1) - '{step_id,step_attempt_id,step_instance_uuid,workflow_instance_id}'::text[],
          '{"day": 1, "total": 30}', 'so that others can read it');
select is(outcome($$insert into test.sales values (3, 1), (3, 2)$$), '{"rows": 2, "params": {}}', 'rows that it has changed are counted');
select is(outcome($$insert into test.sales values (4, 1) returning n$$, jsonb_build_object('n', long(7))), '{"rows": 1, "params": {"n": 1}}', 'what it returns counts');
select is(outcome($$delete from test.sales where day = 4; select count(*) as n from test.sales$$, jsonb_build_object('n', long(7))), '{"rows": 1, "params": {"n": 5}}', 'of several statements the last one');
select is(outcome('create temp table t_of_step (n int)'), '{"rows": 0, "params": {}}', 'any statement');
select is(outcome('select 1 as n where false', jsonb_build_object('n', long(7))), '{"rows": 0, "params": {}}', 'without a row nothing is set');
select is(outcome('select generate_series(1, 3) as i', jsonb_build_object('n', long(7))), '{"rows": 3, "params": {}}', 'with other columns rows are only counted');
select is(outcome($$select array_agg(n order by n) as all_of_them, 'x' as "Text", '{"a": 1}'::jsonb as other from test.sales where day = 1$$,
                  '{"all_of_them": {"type": "LONG_ARRAY", "value": []}, "Text": {"type": "STRING", "value": ""}}'),
          '{"rows": 1, "params": {"Text": "x", "all_of_them": [10, 20]}}', 'arrays and texts');
select is(outcome($q$select $_$ $name ${day} $$ $_$ as text$q$, '{"text": {"type": "STRING", "value": ""}}'), '{"rows": 1, "params": {"text": " $name ${day} $$ "}}',
          '[4.5] nothing is put into the text of a statement');
select is((outcome($$select $1 ->> 'x' as x$$, '{"x": {"type": "STRING", "value": "''; drop table test.sales; --"}}'))::jsonb #>> '{params,x}', $$'; drop table test.sales; --$$,
          'a parameter is a value, never text of the statement');
select raised_by('select 1 as n union all select 2', '21000', 'the statement of step "s" has returned 2 rows, and its column "n" sets a parameter');
select raised_by('select null as n', '22004', 'the statement of step "s" has returned null for its parameter "n"');
select raised_by('select 1 / 0', '22012', 'division by zero');
select raised_by('commit', '2D000', 'the statement of step "s" cannot begin or end transactions');
select raised_by('select 1; rollback', '2D000', 'the statement of step "s" cannot begin or end transactions');
select raised_by('copy test.sales from stdin', '0A000', 'the statement of step "s" cannot copy from or to its client');
select raised_by('vacuum', '25001', 'VACUUM cannot run inside a transaction block');
select raised_by('selec 1', '42601', 'syntax error at or near "selec"');
select raised_by('select $2', '42P02', 'there is no parameter $2');
select outcome($$insert into test.sales values (9, 9); select 1 / 0$$) \g /dev/null
select is((select count(*) from sales where day = 9), 0::bigint, 'an error undoes what its statement did');

-- ---- a run, a loop, a retry --------------------------------------------------------------------------------------------

select make('whole', sql_step('select count(*) as n from test.sales', jsonb_build_object('n', long(0)), '{"transition": {"successors": {"then": "n > 4"}}}')
                     || jsonb_build_array(step('then', '{}', '{"params": {"m": {"type": "LONG", "expression": "s__n + 1"}}}', 'NoOp'))) \g /dev/null
select start('whole') \g /dev/null
select is(run(), '{"rows": 1, "params": {"n": 5}}', 'a run');
select is(steps('whole'), 's SUCCEEDED, then SUCCEEDED', 'goes on with what the statement has put out');
select is((select params -> 'm' from scylla.workflow_step where workflow = 'whole' and step = 'then'), '6', 'which the next step reads');
select make('loop', jsonb_build_array(jsonb_build_object('foreach', jsonb_build_object('id', 'l', 'params', '{"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [5, 6]}}}}'::jsonb,
                    'steps', sql_step($$select ($1 ->> 'j')::int * 2 as n$$, '{"j": {"type": "LONG", "expression": "i"}, "n": {"type": "LONG", "value": 0}}'))))) \g /dev/null
select start('loop') \g /dev/null
select is(run() || run(), '{"rows": 1, "params": {"n": 10}}{"rows": 1, "params": {"n": 12}}', 'a step in a loop is found');
select make('again', sql_step('select 1 / ($1 ->> ''n'')::int', jsonb_build_object('n', long(0)))) \g /dev/null
select start('again') \g /dev/null
select is(run(), '22012 division by zero', 'a statement that fails');
select is(steps('again'), 's FATALLY_FAILED', 'fails its step');
select scylla.restart_run('again', 1, step_params => '{"s": {"n": 4, "sql": "select 4"}}'), advance() \g /dev/null
select is(run(), '{"rows": 1, "params": {}}', 'a restart may change parameters, and not the statement');

-- ---- whose rights ------------------------------------------------------------------------------------------------------

-- As the owner of the queue. The statement is what its author wrote, whoever starts the run and whatever the task says.
create function as_user(role name, statement text) returns text language plpgsql as $$
declare answer text;
begin
    execute format('set local session authorization %I', role);
    execute statement into answer;
    set local session authorization default;
    return answer;
exception when others then
    set local session authorization default;
    return sqlstate || ' ' || sqlerrm;
end $$;
grant execute on all functions in schema test to public;
create function by(role text, id text, sql text) returns bigint language plpgsql as $$
declare n bigint;
begin
    execute format('set local session authorization %I', role);
    perform make(id, sql_step(sql, '{"queue": {"type": "STRING", "value": "owned"}}'));
    n := (scylla.start_workflow(id)).instance;
    set local session authorization default;
    perform advance();
    return n;
end $$;
select is(as_user('sql_owner', $$select scylla.create_queue('owned', handler => 'scylla.run_sql')$$), '', 'a role has a queue for its statements');
select scylla.grant_queue('owned', 'public', 'submit') \g /dev/null
create function run_owned(role name = 'sql_owner') returns text language sql as $$
    select as_user(role, $_$select scylla.run_sql(t) from scylla.lease('owned', 'w') t$_$)
$$;
create function taken_back() returns bigint language sql as $$select count(scylla.cancel(rn)) from scylla.list_tasks('owned') where status in ('ready', 'running')$$;
select by('sql_owner', 'mine', 'insert into test.seen values (current_user, session_user, ''mine'')') \g /dev/null
select is(run_owned(), '{"rows": 1, "params": {}}', 'the statement of its workflow');
select is((select array_agg(seen) from seen), '{"(sql_owner,sql_owner,mine)"}', 'runs as that role');
select taken_back() \g /dev/null
select by('sql_member', 'members', 'insert into test.seen values (current_user, session_user, ''members'')') \g /dev/null
select is(run_owned(), '{"rows": 1, "params": {}}', 'so does that of a role that could become it');
select taken_back() \g /dev/null
select by('sql_stranger', 'theirs', 'insert into test.seen values (current_user, session_user, ''theirs'')') \g /dev/null
select is(run_owned(), '42501 the statement of step "s" cannot run as role "sql_owner"', 'that of any other does not');
select taken_back() \g /dev/null
select by('sql_owner', 'high', 'insert into test.seen values (current_user, session_user, ''high'')') \g /dev/null
select is(as_user(current_user, $$select scylla.run_sql(t) from scylla.lease('owned', 'w') t$$), format('42501 the statement of step "s" cannot run as role "%s"', current_user),
          'a statement does not run with more rights than its author has, whoever calls');
set role sql_owner;
select is(raised($$select scylla.run_sql(t) from scylla.lease('owned', 'w') t$$) ~ '^42501', true, 'nor in a session that could go back to more');
reset role;
select taken_back() \g /dev/null
select scylla.grant_workflow('mine', 'sql_stranger', 'admin') \g /dev/null
select as_user('sql_stranger', format('select scylla.create_workflow(%L)', jsonb_build_object('workflow', jsonb_build_object('id', 'mine', 'steps',
               sql_step('insert into test.seen values (current_user, session_user, ''taken over'')', '{"queue": {"type": "STRING", "value": "owned"}}'))))) \g /dev/null
select is((select author from scylla.workflow_version where workflow = 'mine' and version = 2), 'sql_stranger', 'who may push a version of another''s workflow');
select as_user('sql_owner', $$select scylla.start_workflow('mine')$$) \g /dev/null
select advance() \g /dev/null
select is(run_owned(), '42501 the statement of step "s" cannot run as role "sql_owner"', 'gets no statement run as its owner');
select taken_back() \g /dev/null
-- Tasks that no workflow has submitted.
select scylla.submit('owned', '{"workflow": "mine", "instance": 1, "run": 1, "step": "s", "attempt": 1, "type": "Sql", "sql": "drop table test.sales", "params": {}}', rn => 'forged') \g /dev/null
select is(run_owned(), '55000 task "forged" does not belong to a running step of type Sql', 'a task that looks like one of a workflow is none');
select is(as_user('sql_owner', $$select scylla.run_sql(jsonb_populate_record(null::scylla.task, '{"rn": "nobody has"}'))$$), '55000 task "nobody has" does not belong to a running step of type Sql', 'nor is one that is not there');
select refuses_argument('select scylla.run_sql(null)', 'task', 'null', 'It must be a task.');
select refuses_argument('select scylla.run_sql(jsonb_populate_record(null::scylla.task, ''{}''))', 'task', 'null', 'It must be a task.');
select is((select string_agg(what, ' ' order by what) from seen), 'members mine', 'nothing else has run');
select make('other', '[{"step": {"id": "s", "type": "A"}}]') \g /dev/null
select start('other') \g /dev/null
select is(raised($$select scylla.run_sql(t) from scylla.lease('a', 'w') t$$) ~ '^55000 scylla.workflow/statement', true, 'a step of another type has no statement');
select * from finish();
rollback;
