-- What roles see of runs of workflows. Columns are only ever appended.

-- Where a run has many rows, its rights are a query of their own: the planner expects one row for each run, and would look them up for
-- every row.

-- The earlier runs of each instance, and its last one.
-- Each part is a barrier of its own and the whole is none: as with scylla.task.
create or replace view scylla._workflow_last_run with (security_barrier) as
    select r.workflow, r.instance, r.run, r.version, r.status, r.params, r.request, r.initiator, r.request_id, r.created, r.started, r.ended,
           r.due as times_out, r.error, p.name as plan, r.owner::text as owner, r.restart,
           case when r.ended is null then r.status else coalesce(r.aggregated, r.status) end as instance_status, r.step_params
    from scylla.workflow_run_state r
    join scylla.workflow_head h on h.id = r.workflow and h.created <= r.created
    left join scylla.task_plan p on p.id = r.plan
    where scylla._may_view(h.owner, h.viewers || h.runners, h.admins);
comment on view scylla._workflow_last_run is 'A part of scylla.workflow_run.';

create or replace view scylla._workflow_past_run with (security_barrier) as
    select r.workflow, r.instance, b.run, r.version, b.status, b.params, b.request, b.initiator, r.request_id, b.created, b.started, b.ended,
           null::timestamptz as times_out, b.error, p.name as plan, b.owner::text as owner, b.restart, b.aggregated as instance_status, r.step_params
    from scylla.workflow_run_past b
    join scylla.workflow_run_state r on r.id = b.root
    join scylla.workflow_head h on h.id = r.workflow and h.created <= b.created
    left join scylla.task_plan p on p.id = b.plan
    where scylla._may_view(h.owner, h.viewers || h.runners, h.admins);
comment on view scylla._workflow_past_run is 'A part of scylla.workflow_run.';

create or replace view scylla.workflow_run as
    select * from scylla._workflow_last_run union all select * from scylla._workflow_past_run;
comment on view scylla.workflow_run is 'The runs of the workflows on which the current user has a privilege.';
comment on column scylla.workflow_run.workflow is 'The id of the workflow.';
comment on column scylla.workflow_run.instance is 'The number of the instance, from 1.';
comment on column scylla.workflow_run.run is 'The number of the run of this instance, from 1.';
comment on column scylla.workflow_run.version is 'The version of the workflow that it runs.';
comment on column scylla.workflow_run.status is
    'CREATED: it waits for its turn; IN_PROGRESS; SUCCEEDED, FAILED, STOPPED or TIMED_OUT: it has ended so.';
comment on column scylla.workflow_run.params is 'The values of its parameters.';
comment on column scylla.workflow_run.request is 'The parameters as passed to start_workflow() or restart_run().';
comment on column scylla.workflow_run.initiator is 'Who or what started it: an object with the member type and others.';
comment on column scylla.workflow_run.request_id is 'As passed to start_workflow(); null: none.';
comment on column scylla.workflow_run.created is 'When it was requested.';
comment on column scylla.workflow_run.started is 'When it began; null: not yet.';
comment on column scylla.workflow_run.ended is 'When it ended; null: not yet.';
comment on column scylla.workflow_run.times_out is 'When it will time out; null: it is not running.';
comment on column scylla.workflow_run.error is 'Why it was stopped, timed out or could not continue; null: see its steps and the actions on it.';
comment on column scylla.workflow_run.plan is 'The plan that its tasks belong to.';
comment on column scylla.workflow_run.owner is 'The role as which its tasks are submitted: the owner of the workflow.';
comment on column scylla.workflow_run.restart is
    'What restart_run() was given: an object with policy, and perhaps step, step_params, skip_steps and below: which part of the step runs again;
null: it is the first run.';
comment on column scylla.workflow_run.step_params is 'The parameters of steps, by step, as they were given to start_workflow(); null: none.';
comment on column scylla.workflow_run.instance_status is
    'The status of the instance when that run had ended: a run can succeed that has left steps of an earlier one as they were, which had not.';

create or replace view scylla.workflow_step with (security_barrier) as
    select r.workflow, r.instance, s.run, s.step, i.numbers as iterations, s.attempt, s.status,
           case when s.loop ? 'values' then s.params || jsonb_build_object('loop_params', s.loop -> 'values') else s.params end as params, s.error, s.created,
           s.started, s.ended, s.due, t.rn as task, s.error_retries, s.platform_retries, s.timeout_retries, s.edges as transitions, s.rollup,
           case when s.signals is not null then scylla._step_signals(s.signals, s.ended) end as signals,
           scylla._step_times(s.created, s.started, s.ended, s.status, s.times) as times,
           coalesce(nullif(s.error ->> 'message', ''), s.error ->> 'code') as error_message
    from scylla.workflow_run_state r
    join (select id, id as root, null::bigint[] as numbers, false as past from scylla.workflow_run_state
          union all select id, root, numbers, past or aside from scylla.workflow_iteration) i on i.root = r.id -- each by an index, as nothing else is asked inside
    join scylla.workflow_step_state s on s.scope = i.id and s.root = r.id
    left join scylla.task_spec t on t.id = s.task
    where s.status <> 'NOT_CREATED' and not i.past and (
        select scylla._may_view(h.owner, h.viewers || h.runners, h.admins) from scylla.workflow_head h
        where h.id = r.workflow and h.created <= r.created);
comment on view scylla.workflow_step is
    'The steps of instances, as their last attempts left them. Steps that have not been created yet, or will be created again, are not shown.';
comment on column scylla.workflow_step.workflow is 'The id of the workflow.';
comment on column scylla.workflow_step.instance is 'The number of the instance.';
comment on column scylla.workflow_step.run is 'The number of the run of its last attempt.';
comment on column scylla.workflow_step.step is 'The id of the step.';
comment on column scylla.workflow_step.iterations is
    'The numbers of the iterations that it is in, the outer one first, from 1; null: it is in no loop.';
comment on column scylla.workflow_step.attempt is 'The number of the attempt, from 1, over all runs of the instance.';
comment on column scylla.workflow_step.status is 'Its status; docs/workflows.md has them all.';
comment on column scylla.workflow_step.params is
    'The values of its parameters, including its output; null: not evaluated yet. The loop_params of a while are those of its next iteration.';
comment on column scylla.workflow_step.error is 'Why it failed; null: it did not fail.';
comment on column scylla.workflow_step.created is 'When the attempt was created.';
comment on column scylla.workflow_step.started is 'When it started; null: not yet.';
comment on column scylla.workflow_step.ended is 'When it ended; null: not yet.';
comment on column scylla.workflow_step.due is 'When its wait ends or it times out; null: it has no limit of its own.';
comment on column scylla.workflow_step.task is 'The name of its task; null: it has none.';
comment on column scylla.workflow_step.error_retries is 'Number of retries after errors of the class user.';
comment on column scylla.workflow_step.platform_retries is 'The same for the class platform.';
comment on column scylla.workflow_step.timeout_retries is 'The same for the class timeout.';
comment on column scylla.workflow_step.transitions is 'Whether the transition to each successor was true; null: it is not complete.';
comment on column scylla.workflow_step.rollup is
    'Of a loop, how many leaves in its iterations have which status: {status: {"cnt", "ref": [step[iterations]:attempt]}}; null: there are none.';
comment on column scylla.workflow_step.signals is
    'The signals that it waits for or has waited for, an array in the order of its definition: objects with status (PENDING; MATCHED: with the
seq, params and sent of the signal; SKIPPED: it went on without; CANCELED: it ended without), signal, match and since; null: there are none.';
comment on column scylla.workflow_step.times is 'When the attempt entered each of its statuses: an object of times, by status.';
comment on column scylla.workflow_step.error_message is 'What the error says: its message, or the code of an error without one.';

-- Each value has been given by the last layer that has it.
create or replace view scylla._workflow_run_param with (security_barrier) as
    select r.workflow, r.instance, null::text collate "C" as step, null::bigint[] as iterations, p.key as name,
           coalesce(upper(d.value ->> 'type'), case jsonb_typeof(p.value) when 'string' then 'STRING' when 'number' then case when p.value::text ~ '[.eE]' then 'DOUBLE' else 'LONG' end
                                                                    when 'boolean' then 'BOOLEAN' when 'object' then 'MAP' end) as type,
           coalesce(upper(g.mode), upper(d.value ->> 'mode'), case when d.value is null and g.source is null and p.key not in ('owner', 'workflow_id') then 'MUTABLE_ON_START'
                                                                   when p.key in ('owner', 'workflow_id') then 'RESERVED' else 'MUTABLE' end) as mode,
           p.value, coalesce(g.source, case when d.value is not null then 'DEFINITION' else 'SYSTEM_DEFAULT' end) as source
    from scylla.workflow_run_state r
    join scylla.workflow_text v on v.workflow = r.workflow and v.version = r.version
    cross join lateral jsonb_each(r.params) p
    cross join lateral (select v.definition -> 'params' -> p.key as value) d
    left join lateral (
        select c.source, c.given ->> 'mode' as mode
        from (select r.run, r.request, r.initiator, r.restart
              union all select b.run, b.request, b.initiator, b.restart from scylla.workflow_run_past b where b.root = r.id) a
        cross join lateral (
            select 'RESTART' as source, a.restart -> 'params' -> p.key as given where a.restart -> 'params' ? p.key
            union all
            select case when a.initiator ->> 'type' in ('SUBWORKFLOW', 'SIGNAL') then a.initiator ->> 'type' when a.run > 1 then 'RESTART'
                        when a.initiator ->> 'type' = 'TIME' then 'TIME_TRIGGER' else 'LAUNCH' end,
                   a.request -> p.key
            where a.request ? p.key limit 1) c
        order by a.run desc limit 1) g on true
    where (select scylla._may_view(h.owner, h.viewers || h.runners, h.admins) from scylla.workflow_head h
           where h.id = r.workflow and h.created <= r.created);
comment on view scylla._workflow_run_param is 'A part of scylla.workflow_param.';

create or replace view scylla._workflow_step_param with (security_barrier) as
    select r.workflow, r.instance, s.step, i.numbers as iterations, p.key as name,
           coalesce(upper(d.value ->> 'type'), case jsonb_typeof(p.value) when 'string' then 'STRING' when 'number' then case when p.value::text ~ '[.eE]' then 'DOUBLE' else 'LONG' end
                                                                    when 'boolean' then 'BOOLEAN' when 'object' then 'MAP' end) as type,
           coalesce(upper(d.value ->> 'mode'), case when p.key in ('workflow_instance_id', 'step_id', 'step_attempt_id', 'step_instance_uuid', 'loop_index', 'condition') then 'RESERVED' else 'MUTABLE' end) as mode,
           p.value,
           case when jsonb_typeof(s.loop -> 'params') = 'object' and s.loop -> 'params' ? p.key or o.result -> 'params' ? p.key then 'OUTPUT_PARAMETER'
                when i.id = r.id and s.run = r.run and r.restart -> 'step_params' -> s.step ? p.key then 'RESTART'
                when i.id = r.id and r.step_params -> s.step ? p.key then 'LAUNCH'
                when d.value is not null then 'DEFINITION'
                when p.key in ('workflow_instance_id', 'step_id', 'step_attempt_id', 'step_instance_uuid', 'subworkflow_version', 'loop_index', 'condition') then 'SYSTEM_DEFAULT'
                when b.body ? 'sub_type' then case when v.definition -> 'params' ? p.key then 'WORKFLOW_PARAMETER' else 'TEMPLATE_SCHEMA' end
                else 'SYSTEM_DEFAULT' end as source
    from scylla.workflow_run_state r
    join scylla.workflow_text v on v.workflow = r.workflow and v.version = r.version
    join (select id, id as root, null::bigint[] as numbers, false as past from scylla.workflow_run_state
          union all select id, root, numbers, past or aside from scylla.workflow_iteration) i on i.root = r.id
    join scylla.workflow_step_state s on s.scope = i.id and s.root = r.id
    cross join lateral jsonb_each(s.params) p
    cross join lateral (select jsonb_path_query_first(v.definition, '$.**.steps[*].* ? (@.id == $id)', jsonb_build_object('id', s.step)) as body) b
    cross join lateral (select b.body -> 'params' -> p.key as value) d
    left join scylla.task_outcome o on o.id = s.task
    where s.status <> 'NOT_CREATED' and not i.past and (
        select scylla._may_view(h.owner, h.viewers || h.runners, h.admins) from scylla.workflow_head h
        where h.id = r.workflow and h.created <= r.created);
comment on view scylla._workflow_step_param is 'A part of scylla.workflow_param.';

create or replace view scylla.workflow_param as
    select * from scylla._workflow_run_param union all select * from scylla._workflow_step_param;
comment on view scylla.workflow_param is 'The parameters of the last runs of instances and of their steps, and where each value came from.';
comment on column scylla.workflow_param.workflow is 'The id of the workflow.';
comment on column scylla.workflow_param.instance is 'The number of the instance.';
comment on column scylla.workflow_param.step is 'The id of the step; null: a parameter of the run.';
comment on column scylla.workflow_param.iterations is 'As in scylla.workflow_step.';
comment on column scylla.workflow_param.name is 'The name of the parameter.';
comment on column scylla.workflow_param.type is 'Its type; that of an array is null unless the definition has it.';
comment on column scylla.workflow_param.mode is 'Who may change it; RESERVED: nobody.';
comment on column scylla.workflow_param.value is 'Its value.';
comment on column scylla.workflow_param.source is
    'The layer that gave the value: SYSTEM_DEFAULT, DEFINITION, TEMPLATE_SCHEMA, WORKFLOW_PARAMETER (of a template, from the workflow), LAUNCH (a user or a
backfill), TIME_TRIGGER, SIGNAL, SUBWORKFLOW (the parent), RESTART, or OUTPUT_PARAMETER (the worker).';

create or replace view scylla.workflow_loop_iteration with (security_barrier) as
    select r.workflow, r.instance, i.step as loop, i.numbers as iterations, i.status, i.params, i.created, i.ended
    from scylla.workflow_run_state r
    join scylla.workflow_iteration i on i.root = r.id
    where not i.past and not i.aside and (
        select scylla._may_view(h.owner, h.viewers || h.runners, h.admins) from scylla.workflow_head h
        where h.id = r.workflow and h.created <= r.created);
comment on view scylla.workflow_loop_iteration is
    'The iterations of the loops of instances that have begun. A query for one instance reads a row for each, and none of their steps.';
comment on column scylla.workflow_loop_iteration.workflow is 'The id of the workflow.';
comment on column scylla.workflow_loop_iteration.instance is 'The number of the instance.';
comment on column scylla.workflow_loop_iteration.loop is 'The id of the foreach or while step.';
comment on column scylla.workflow_loop_iteration.iterations is
    'Its number, from 1, and before it those of the iterations of loops around it, the outer one first.';
comment on column scylla.workflow_loop_iteration.status is 'Its status, one of those of runs.';
comment on column scylla.workflow_loop_iteration.params is 'The values of the parameters that it adds to those around it.';
comment on column scylla.workflow_loop_iteration.created is 'When it began for the first time.';
comment on column scylla.workflow_loop_iteration.ended is 'When it ended; null: not yet.';

-- The earlier attempts of each step, and its last one.
create or replace view scylla.workflow_step_attempt with (security_barrier) as
    select r.workflow, r.instance, coalesce(a.run, s.run) as run, s.step, i.numbers as iterations, n.attempt, coalesce(a.status, s.status) as status,
           case when a.attempt is null then s.params else a.params end as params, e.error,
           coalesce(a.created, s.created) as created, case when a.attempt is null then s.started else a.started end as started,
           case when a.attempt is null then s.ended else a.ended end as ended, t.rn as task,
           case when coalesce(s.signals, a.signals) is null then null when a.attempt is null then scylla._step_signals(s.signals, s.ended)
                else scylla._step_signals(a.signals, a.ended) end as signals,
           case when a.attempt is null then scylla._step_times(s.created, s.started, s.ended, s.status, s.times)
                else scylla._step_times(a.created, a.started, a.ended, a.status, a.times) end as times,
           coalesce(nullif(e.error ->> 'message', ''), e.error ->> 'code') as error_message
    from scylla.workflow_run_state r
    join (select id, id as root, null::bigint[] as numbers from scylla.workflow_run_state
          union all select id, root, numbers from scylla.workflow_iteration) i on i.root = r.id
    join scylla.workflow_step_state s on s.scope = i.id and s.root = r.id
    cross join lateral generate_series(1, s.attempt) n (attempt)
    left join scylla.workflow_attempt a on a.scope = s.scope and a.step = s.step and a.attempt = n.attempt
         and (n.attempt < s.attempt or s.status = 'NOT_CREATED')
    cross join lateral (select case when a.attempt is null then s.error else a.error end as error) e
    left join scylla.task_spec t on t.id = case when a.attempt is null then s.task else a.task end
    where (select scylla._may_view(h.owner, h.viewers || h.runners, h.admins) from scylla.workflow_head h
           where h.id = r.workflow and h.created <= r.created);
comment on view scylla.workflow_step_attempt is 'All attempts of the steps of all runs.';
comment on column scylla.workflow_step_attempt.workflow is 'The id of the workflow.';
comment on column scylla.workflow_step_attempt.instance is 'The number of the instance.';
comment on column scylla.workflow_step_attempt.run is 'The number of the run.';
comment on column scylla.workflow_step_attempt.step is 'The id of the step.';
comment on column scylla.workflow_step_attempt.iterations is 'As in scylla.workflow_step.';
comment on column scylla.workflow_step_attempt.attempt is 'The number of the attempt, from 1, over all runs of the instance.';
comment on column scylla.workflow_step_attempt.status is 'Its status; a retried attempt keeps the status of its failure.';
comment on column scylla.workflow_step_attempt.params is 'The values of its parameters; null: not evaluated.';
comment on column scylla.workflow_step_attempt.error is 'Why it failed; null: it did not fail.';
comment on column scylla.workflow_step_attempt.created is 'When it was created.';
comment on column scylla.workflow_step_attempt.started is 'When it started; null: it did not.';
comment on column scylla.workflow_step_attempt.ended is 'When it ended; null: not yet.';
comment on column scylla.workflow_step_attempt.task is 'The name of its task; null: it has none any more.';
comment on column scylla.workflow_step_attempt.signals is 'As in scylla.workflow_step.';
comment on column scylla.workflow_step_attempt.times is 'As in scylla.workflow_step.';
comment on column scylla.workflow_step_attempt.error_message is 'As in scylla.workflow_step.';
