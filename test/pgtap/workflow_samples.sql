-- What the sample definitions of Netflix Maestro do, said in other words: each is taken as it is, again as a second version, and run.
begin;
\ir include/helpers.psql
\ir include/workflows.psql
select * from no_plan();

create temp table sample (what text, properties text, members text, steps text);
insert into sample values
('conditions on what steps have found', '{"run_strategy": "parallel"}', '{"params": {"limit": {"type": "LONG", "value": 7}}}',
 '[{"step": {"id": "count.1", "type": "NoOp", "params": {"rows": {"type": "LONG", "value": 12}},
             "transition": {"successors": {"many.1": "rows > limit", "few.1": "rows <= 7"}}}},
   {"step": {"id": "many.1", "type": "NoOp", "params": {"half": {"type": "LONG", "expression": "params.getFromStep(''count.1'', ''rows'') / 2"}},
             "transition": {"successors": {"end.1": "params.getFromStep(''count.1'', ''rows'') > 0"}}}},
   {"step": {"id": "few.1", "type": "NoOp", "transition": {"predecessors": ["count.1"], "successors": {"end.1": "true"}}}},
   {"step": {"id": "end.1", "type": "NoOp", "params": {"text": {"type": "STRING", "expression": "params.get(''limit'')"}}, "transition": {}}}]'),
('a time trigger of each kind', '{"run_strategy": "SEQUENTIAL", "step_concurrency": 20}',
 '{"time_triggers": [{"type": "CRON", "cron": "0 30 6 1/1 * ? *", "timezone": "America/Los_Angeles"}, {"type": "PREDEFINED", "expression": "@daily", "timezone": "Asia/Tokyo"},
                     {"type": "CRON", "cron": "*/10 * * * *", "timezone": "UTC", "fuzzy_max_delay": "20s"}]}',
 '[{"step": {"id": "a", "type": "noop", "transition": {"successors": {"b": "true", "c": "true"}}}}, {"step": {"id": "b", "type": "NOOP", "transition": {"successors": {"d": "true"}}}},
   {"step": {"id": "c", "type": "NoOp", "transition": {"successors": {"d": "true"}}}}, {"step": {"id": "d", "type": "NoOp"}}]'),
('signals that start it, and that a step waits for', '{"run_strategy": "sequential"}',
 '{"signal_triggers": [{"definitions": {"loaded": {"match_params": {"table": {"value": "sales", "operator": "="}, "mark": {"value": 100, "operator": ">="}}, "join_keys": ["day"]},
                                        "checked": {"match_params": {"ok": {"value": "yes", "operator": "="}}, "join_keys": ["date"]}},
                        "condition": "3 > 2", "dedup_expr": "return UUID.randomUUID().toString();", "params": {"by": {"type": "STRING", "value": "signal"}}}]}',
 '[{"step": {"id": "report", "type": "NoOp", "params": {"mark": {"type": "LONG", "expression": "params.getFromSignal(''loaded'', ''mark'')"},
                                                        "day": {"type": "STRING", "expression": "params.getFromSignalDependency(''0'', ''day'')"}},
             "signal_dependencies": [{"name": "db/sales", "match_params": {"day": {"param": {"type": "STRING", "value": "$TARGET_RUN_DATE"}, "operator": "="}}}]}}]'),
('a loop until a condition is false', '{}', '{"params": {"month": {"type": "STRING", "expression": "new DateTime(1569018000000).withZone(DateTimeZone.forID(''UTC'')).monthOfYear().getAsText();"}}}',
 '[{"while": {"id": "days", "condition": "day <= 20260105", "params": {"loop_params": {"type": "MAP", "value": {"day": {"type": "LONG", "value": 20260101}}}},
              "steps": [{"step": {"id": "next", "type": "NoOp", "params": {"day": {"type": "LONG", "expression": "day + 1"}}, "transition": {}}}]}}]'),
('loops in each other, words in any case', '{"run_strategy": "parallel"}', '{}',
 '[{"foreach": {"id": "outer", "concurrency": 2, "params": {"letters": {"type": "String_array", "value": ["a", "b"]},
                "loop_params": {"type": "MAP", "value": {"i": {"type": "long_array", "value": [1, 2, 3], "validator": "param != null", "mode": "mutable"}, "j": {"type": "STRING_ARRAY", "expression": "letters;"}}}},
                "steps": [{"foreach": {"id": "inner", "params": {"loop_params": {"type": "Map", "value": {"k": {"type": "LONG_ARRAY", "expression": "return new long[]{i, i + 1};"}}}},
                           "steps": [{"step": {"id": "both", "type": "NoOp", "tags": ["x"], "retry_policy": {}, "params": {"text": {"type": "STRING", "expression": "i + j;"}}}}]}}]}}]'),
('a subworkflow in a loop', '{"run_strategy": {"rule": "PARALLEL", "workflow_concurrency": 4}}', '{"criticality": "low"}',
 '[{"foreach": {"id": "each", "params": {"loop_params": {"type": "MAP", "value": {"n": {"type": "LONG_ARRAY", "value": []}}}},
                "steps": [{"subworkflow": {"id": "child", "sync": false, "explicit_params": true, "params": {"subworkflow_id": {"type": "STRING", "value": "other"},
                           "subworkflow_version": {"type": "STRING", "value": "latest"}, "map": {"type": "STRING_MAP", "value": {"a": "b"}}}}}]}}]'),
('a command in a container, and what follows from its output', '{"run_strategy": "sequential"}', '{"description": "Long"}',
 '[{"step": {"id": "run", "type": "kubernetes", "retry_policy": {"error_retry_limit": 0}, "transition": {"successors": {"end": "found != ''nothing''"}},
             "params": {"found": {"type": "STRING", "value": "nothing"}, "tries": {"type": "LONG", "expression": "params.getFromStep(''MAESTRO_STEP_ERROR_RETRIES'')"},
                        "kubernetes": {"type": "MAP", "value": {"image": {"type": "STRING", "value": "busybox"},
                        "args": {"type": "STRING_ARRAY", "value": ["-c", "echo $$HOME"]}, "env": {"type": "STRING_MAP", "value": {"A": "${tries}"}}}}}}},
   {"step": {"id": "end", "type": "NoOp"}}]'),
('a notebook', '{}', '{"timeout": "2 hours"}',
 '[{"step": {"id": "run", "type": "notebook", "failure_mode": "fail_after_running", "timeout": "30min", "retry_policy": {"error_retry_limit": "2", "platform_retry_limit": 3},
             "params": {"script": {"type": "STRING", "value": "echo $$X"}, "notebook": {"type": "MAP", "value": {"input_path": {"type": "STRING", "value": "https://example.com/a.ipynb"}}}}}}]'),
('joins of several branches, and roots of which one stands alone', '{"run_strategy": {"rule": "strict_sequential"}, "step_concurrency": 20}', '{}',
 '[{"step": {"id": "one.1", "type": "NoOp", "params": {"sleep_seconds": {"value": 9, "type": "lonG"}}, "transition": {"successors": {"two.1": "true", "two.2": "true", "two.3": "true"}}}},
   {"step": {"id": "two.1", "type": "NoOp", "transition": {"successors": {"three": "true", "four": "true"}}}},
   {"step": {"id": "two.2", "type": "NoOp", "description": "b", "transition": {"successors": {"three": "true"}}}},
   {"step": {"id": "two.3", "type": "NoOp", "transition": {"successors": {"four": "true"}}}},
   {"step": {"id": "three", "type": "NoOp", "transition": {"successors": {"four": "true"}}}}, {"step": {"id": "four", "type": "NoOp", "transition": {}}},
   {"step": {"id": "alone.1", "type": "NoOp", "transition": {"successors": {"alone.2": "true"}}}}, {"step": {"id": "alone.2", "type": "NoOp"}}]'),
('a join with no true edge, and one with one', '{"run_strategy": {"rule": "parallel", "workflow_concurrency": 5}}',
 '{"params": {"x": {"type": "LONG", "value": 5}, "limit": {"type": "STRING", "value": "20 minutes"}}, "timeout": "${limit}"}',
 '[{"step": {"id": "a", "type": "NoOp", "timeout": "${limit}", "transition": {"successors": {"c": "x > 10", "d": "x > 10"}}}},
   {"step": {"id": "b", "type": "NoOp", "transition": {"successors": {"d": "x > 3"}}}}, {"step": {"id": "c", "type": "NoOp", "transition": {"successors": {"d": "x > 10"}}}},
   {"step": {"id": "d", "type": "NoOp", "transition": {"successors": {"e": "true"}}}}, {"step": {"id": "e", "type": "NoOp"}}]'),
('policies that refer to parameters, and alerts', '{"run_strategy": "parallel", "alerting": {"emails": ["a@example.com", "${who}@example.com"], "tct": {"completed_by_hour": 1, "tz": "UTC"}}}',
 '{"params": {"who": {"type": "STRING", "value": "ann"}, "few": {"type": "LONG", "value": 2}, "secs": {"type": "LONG", "value": 90}, "never": {"type": "STRING", "expression": "return UUID.randomUUID().toString();", "mode": "CONSTANT"}},
   "tags": ["sample", {"name": "Sleep", "namespace": "system"}], "criticality": "HIGH"}',
 '[{"step": {"id": "wait", "type": "Sleep", "tags": [{"name": "Sleep", "namespace": "system"}], "failure_mode": "ignore_failure", "params": {"sleep_seconds": {"type": "LONG", "value": 0}},
             "retry_policy": {"error_retry_limit": 10, "platform_retry_limit": 10, "backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": 1, "platform_retry_backoff_in_secs": 1}},
             "transition": {"successors": {"after": "true"}}}},
   {"step": {"id": "after", "type": "Sleep", "timeout": "${secs}s", "failure_mode": "fail_immediately",
             "params": {"text": {"type": "STRING", "value": "${wait__sleep_seconds} + 1"}, "sum": {"type": "STRING", "expression": "sleep_seconds + ''1'';"},
                        "sleep_seconds": {"type": "LONG", "expression": "wait__sleep_seconds + 0;"}, "ts": {"type": "LONG", "expression": "Util.dateIntHourToTs(TARGET_RUN_DATE, TARGET_RUN_HOUR, ''UTC'', 0, 0)/1000"}},
             "retry_policy": {"error_retry_limit": "$few", "platform_retry_limit": "$few", "timeout_retry_limit": "$few",
                              "backoff": {"type": "EXPONENTIAL_BACKOFF", "error_retry_backoff_in_secs": "$few", "timeout_retry_backoff_in_secs": 5}}}}]'),
('what a run knows of itself', '{"run_strategy": "first_only"}',
 '{"params": {"mode": {"type": "STRING", "expression": "policy = params.getFromInstance(''RUN_POLICY''); if (policy == ''START_FRESH_NEW_RUN'') { return ''new''; } else { return ''again''; }"}}}',
 '[{"step": {"id": "a", "type": "NoOp", "params": {"said": {"type": "STRING", "value": "${mode}"}}, "transition": {"successors": {"b": "true"}}}}, {"step": {"id": "b", "type": "NoOp"}}]'),
('a foreach over each day of a year and three letters', '{}', '{}',
 '[{"foreach": {"id": "days", "concurrency": 100, "params": {"letters": {"type": "String_array", "value": ["a", "b", "c"]}, "loop_params": {"type": "MAP", "value": {
                "i": {"type": "long_array", "expression": "Util.dateIntsBetween(20240101, 20250101, 1);", "validator": "param!=null && param.size() > 2"}, "j": {"type": "STRING_ARRAY", "expression": "letters;"}}}},
                "steps": [{"step": {"id": "both", "type": "NoOp", "retry_policy": {}, "params": {"text": {"type": "STRING", "expression": "i + j;", "mode": "mutable"}}, "transition": {"successors": {"then": "true"}}}},
                          {"step": {"id": "then", "type": "Sleep", "params": {"sleep_seconds": {"type": "LONG", "expression": "1 * 0;"}}}}]}}]'),
('a loop in a loop over fewer and fewer, none among them', '{"run_strategy": "last_only"}', '{}',
 '[{"foreach": {"id": "outer", "concurrency": 2, "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "long_array", "value": [1, 2, 3]}}}}, "steps": [
      {"foreach": {"id": "inner", "concurrency": 3, "params": {"more": {"type": "LONG", "expression": "i + 2;"}, "loop_params": {"type": "MAP", "value": {"x": {"type": "long_array", "expression": "Util.intsBetween(1, i, 1);"}}}},
                   "steps": [{"step": {"id": "in", "type": "Sleep", "params": {"sleep_seconds": {"type": "LONG", "expression": "x * 0;"}}}}], "transition": {"successors": {"out": "true"}}}},
      {"step": {"id": "out", "type": "Sleep", "params": {"sleep_seconds": {"type": "LONG", "expression": "i * 0;"}}}}]}}]'),
('subworkflows of every kind', '{"run_strategy": "parallel"}', '{"instance_step_concurrency": 3, "params": {"passed": {"type": "STRING", "value": "down"}}}',
 '[{"subworkflow": {"id": "plain", "params": {"subworkflow_id": {"type": "STRING", "value": "sample-12"}, "subworkflow_version": {"type": "STRING", "value": "latest"}, "map": {"type": "STRING_MAP", "value": {"a": "b"}}}}},
   {"subworkflow": {"id": "sync", "sync": true, "params": {"subworkflow_id": {"type": "STRING", "value": "sample-10"}, "subworkflow_version": {"type": "STRING", "value": "latest"}}}},
   {"subworkflow": {"id": "apart", "sync": false, "params": {"subworkflow_id": {"type": "STRING", "value": "sample-14"}, "subworkflow_version": {"type": "STRING", "value": "1"}}}},
   {"subworkflow": {"id": "all", "sync": true, "explicit_params": false, "params": {"subworkflow_id": {"type": "STRING", "value": "sample-10"}}}},
   {"subworkflow": {"id": "few", "sync": true, "explicit_params": true, "params": {"subworkflow_id": {"type": "STRING", "value": "sample-10"}, "subworkflow_version": {"type": "STRING", "value": "ACTIVE"}}}}]'),
('subworkflows of subworkflows, and in loops', '{"run_strategy": "parallel"}', '{}',
 '[{"subworkflow": {"id": "below", "params": {"subworkflow_id": {"type": "STRING", "value": "sample-15"}, "subworkflow_version": {"type": "STRING", "value": "latest"}}}},
   {"foreach": {"id": "each", "concurrency": 2, "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1, 2]}, "j": {"type": "STRING_ARRAY", "value": ["a", "b"]}}}},
                "steps": [{"step": {"id": "before", "type": "NoOp", "transition": {"successors": {"call": "true"}}}},
                          {"subworkflow": {"id": "call", "params": {"subworkflow_id": {"type": "STRING", "value": "sample-10"}, "subworkflow_version": {"type": "STRING", "value": "latest"}}}}]}}]'),
('a container that says that it need not be tried again', '{"run_strategy": "sequential"}', '{}',
 '[{"step": {"id": "job", "type": "kubernetes", "retry_policy": {"error_retry_limit": 3}, "params": {"kubernetes": {"type": "MAP", "value": {"image": {"type": "STRING", "value": "busybox"},
             "command": {"type": "STRING_ARRAY", "value": ["/bin/sh"]}, "args": {"type": "STRING_ARRAY", "value": ["-c", "exit 1"]}}}}}}]'),
('a notebook of a repository, with the signals that its output has', '{"run_strategy": "sequential"}', '{"params": {"text": {"type": "STRING", "value": "none"}}}',
 '[{"step": {"id": "first", "type": "NoOp", "transition": {"successors": {"book": "true"}}}},
   {"step": {"id": "book", "type": "notebook", "transition": {}, "retry_policy": {"error_retry_limit": 0}, "params": {"found": {"type": "STRING", "value": "default"},
             "kubernetes": {"type": "MAP", "value": {"image": {"type": "STRING", "value": "python:3"}}},
             "notebook": {"type": "MAP", "value": {"init_command": {"type": "STRING", "value": "pip install papermill &&"}, "input_path": {"type": "STRING", "value": "demo.ipynb"}, "git_repo": {"type": "STRING", "value": "https://example.com/books.git"}}}}}}]'),
('requests one after the other', '{"run_strategy": "parallel"}', '{"params": {"body": {"type": "STRING", "value": "Workflow:\n  id: other"}}}',
 '[{"step": {"id": "put", "type": "http", "params": {"http": {"type": "MAP", "value": {"url": {"type": "STRING", "value": "http://example.com/a"}, "method": {"type": "STRING", "value": "PUT"},
             "headers": {"type": "STRING_MAP", "value": {"Accept": "application/json"}}, "body": {"type": "STRING", "value": "${body}"}}}}, "transition": {"successors": {"get": "true"}}}},
   {"step": {"id": "get", "type": "Http", "params": {"state_expr": {"type": "STRING", "value": "if (status_code == 404) return \"DONE\"; else return \"FATAL_ERROR\";"},
             "http": {"type": "MAP", "value": {"url": {"type": "STRING", "value": "http://example.com/a"}, "method": {"type": "STRING", "value": "GET"}}}}}}]');

create temp table document as
select what, jsonb_build_object('properties', jsonb_build_object('owner', 'ann') || properties::jsonb,
                                'workflow', members::jsonb || jsonb_build_object('id', 'sample-' || row_number() over (), 'name', 'Sample: ' || what, 'steps', steps::jsonb)) as document
from sample;
select is_empty(format('select * from scylla.validate_workflow(%L)', document), what) from document;
select is(scylla.create_workflow(document), 1, what || ': is taken') from document;
select is(scylla.create_workflow(document, false), 2, what || ': again') from document;
select is((select count(*) from scylla.workflow_version v join document d on v.definition = d.document -> 'workflow'), 2 * (select count(*) from document), 'as it is');
select is((select string_agg(distinct active_version::text, ',') from scylla.workflow), '1', 'the first versions are active');

-- ---- and run ------------------------------------------------------------------------------------------------------------

select is((scylla.start_workflow(document #>> '{workflow,id}')).status, 'CREATED', what || ': is started') from document;
select advance() \g /dev/null
select is((select spec #>> '{params,kubernetes,env,A}' from scylla.task where queue = 'kubernetes' and spec ->> 'workflow' = 'sample-7'), '0', 'a container is told how often it has failed');
select work('kubernetes', '{"params": {"found": "much"}}'), work('notebook') \g /dev/null
select is((select spec #>> '{params,http,body}' from scylla.task where queue = 'http'), E'Workflow:\n  id: other', 'a request has its body');
select work_all('http') \g /dev/null
select break('kubernetes', '{"code": "exit", "message": "exit status 1", "retryable": false}') \g /dev/null
select work('notebook', '{"params": {"found": "much"}, "artifacts": {"maestro_dynamic_output": {"signal_outputs": [{"name": "sample/table", "params": {"rows": 5}}]}}}') \g /dev/null
-- What sleeps for no time, and runs of subworkflows.
create function settle() returns void language plpgsql as $$
begin
    for i in 1 .. 200 loop
        perform advance();
        exit when not exists (select from scylla.workflow_agenda);
    end loop;
end $$;
select settle() \g /dev/null
select is(status(document #>> '{workflow,id}'), case when document -> 'workflow' ? 'signal_triggers' then 'IN_PROGRESS' when what ~ 'need not be tried' then 'FAILED' else 'SUCCEEDED' end,
          what || ': is run') from document;
select is(steps('sample-1'), 'count.1 SUCCEEDED, end.1 SUCCEEDED, few.1 UNSATISFIED, many.1 SUCCEEDED', 'one of two branches');
select is(steps('sample-3'), 'report WAITING_FOR_SIGNALS', 'what waits for a signal');
select is(steps('sample-4'), 'days SUCCEEDED' || (select string_agg(format(', next{%s} SUCCEEDED', i), '') from generate_series(1, 5) i), 'one iteration after the other');
select is((select string_agg(params ->> 'text', ' ' order by iterations) from scylla.workflow_step where workflow = 'sample-5' and step = 'both'), '1a 1a 2a 2a 3a 3a 1b 1b 2b 2b 3b 3b', 'loops in each other');
select is(steps('sample-7'), 'end SUCCEEDED, run SUCCEEDED', 'what follows from an output');
select is(steps('sample-9'), 'alone.1 SUCCEEDED, alone.2 SUCCEEDED, four SUCCEEDED, one.1 SUCCEEDED, three SUCCEEDED, two.1 SUCCEEDED, two.2 SUCCEEDED, two.3 SUCCEEDED', 'joins');
select is(steps('sample-10'), 'a SUCCEEDED, b SUCCEEDED, c UNSATISFIED, d SUCCEEDED, e SUCCEEDED', 'one true edge is enough');
select is((select params ->> 'text' || ', ' || (params ->> 'sum') from scylla.workflow_step where workflow = 'sample-11' and step = 'after'), '0 + 1, 01', 'values of the step before');
select is((select params ->> 'said' from scylla.workflow_step where workflow = 'sample-12' and instance = 1 and step = 'a'), 'new', 'the policy of its run');
select is((select count(*) || ' ' || count(distinct params ->> 'text') || ' ' || max(params ->> 'text') from scylla.workflow_step where workflow = 'sample-13' and step = 'both'), '1098 1098 20241231c',
          'each day with each letter');
select is((select string_agg(iterations::text, ' ' order by iterations) from scylla.workflow_step where workflow = 'sample-14' and instance = 1 and step = 'in' and status = 'SUCCEEDED'), '{2,1} {3,1} {3,2}',
          'no iteration, one, and two');
select is((select count(*) from scylla.workflow_run where workflow = 'sample-10'), 1 + 2 * 3 + 4::bigint, 'runs that subworkflows start, also in loops and below others');
select is((select count(*) from scylla.workflow_run where workflow ~ '^sample-1' and ended is null), 0::bigint, 'all of which have ended');
select is(steps('sample-17'), 'job FATALLY_FAILED', 'what must not be tried again');
select is((select params ->> 'rows' from scylla.signal where name = 'sample/table'), '5', 'a signal of an output');
select is_empty('select * from scylla.check()', 'check() finds nothing wrong');
select * from finish();
rollback;
