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
             "params": {"script": {"type": "STRING", "value": "echo $$X"}, "notebook": {"type": "MAP", "value": {"input_path": {"type": "STRING", "value": "https://example.com/a.ipynb"}}}}}}]');

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
select is((select spec #>> '{params,kubernetes,env,A}' from scylla.task where queue = 'kubernetes'), '0', 'a container is told how often it has failed');
select work('kubernetes', '{"params": {"found": "much"}}'), work('notebook') \g /dev/null
select is(status(document #>> '{workflow,id}'), case when document -> 'workflow' ? 'signal_triggers' then 'IN_PROGRESS' else 'SUCCEEDED' end, what || ': is run') from document;
select is(steps('sample-1'), 'count.1 SUCCEEDED, end.1 SUCCEEDED, few.1 UNSATISFIED, many.1 SUCCEEDED', 'one of two branches');
select is(steps('sample-3'), 'report WAITING_FOR_SIGNALS', 'what waits for a signal');
select is(steps('sample-4'), 'days SUCCEEDED' || (select string_agg(format(', next{%s} SUCCEEDED', i), '') from generate_series(1, 5) i), 'one iteration after the other');
select is((select string_agg(params ->> 'text', ' ' order by iterations) from scylla.workflow_step where workflow = 'sample-5' and step = 'both'), '1a 1a 2a 2a 3a 3a 1b 1b 2b 2b 3b 3b', 'loops in each other');
select is(steps('sample-7'), 'end SUCCEEDED, run SUCCEEDED', 'what follows from an output');
select is_empty('select * from scylla.check()', 'check() finds nothing wrong');
select * from finish();
rollback;
