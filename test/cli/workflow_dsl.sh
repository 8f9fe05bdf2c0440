#!/bin/bash
# The short form of definitions of workflows (docs/workflows.md; section 1.9 of the specification of Maestro's behaviour): what scylla workflow push makes of it.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test workflow_dsl
sql 'create extension scylla'
sql "select scylla.create_job_template('{\"job_type\": \"spark\", \"version\": \"v1\", \"type\": \"spark\"}')"

pushes() { run scylla workflow push - "${@:2}" <<<"$1"; } # DEFINITION [OPTION...]
# What a workflow is after a push: its definition without the id, by an SQL/JSON path.
means() { # DEFINITION PATH JSON NAME
  local got
  pushes "$1"
  got=$(sql "select jsonb_path_query_first(v.definition, '$2') = '${3//\'/\'\'}' from scylla.workflow_version v order by workflow, version desc limit 1")
  is "$status$errors $got" '0 t' "$4"
  [[ $got == t ]] || sql "select jsonb_path_query_first(v.definition, '$2') from scylla.workflow_version v order by workflow, version desc limit 1" | sed 's/^/# /'
}
refuses() { # DEFINITION MESSAGE NAME
  pushes "$1"
  is "$status $errors" "1 scylla: \"-\" has no workflow in the short form: $2" "$3"
}
# A workflow with these lines behind its id and owner; and one with a job that has these.
flow() { printf 'workflow:\n  id: w\n  owner: ann\n%s\n' "$1"; }
params() { flow "$(sed 's/^/  /' <<<"$1")
  jobs: [job: {id: a, type: NoOp}]"; }
jobs() { flow "  jobs:
$(sed 's/^/  /' <<<"$1")"; }

# ---- the whole -------------------------------------------------------------------------------------------------------------

means 'workflow:
  id: w
  name: All of it
  description: An example
  owner: ann
  run_strategy: parallel
  workflow_concurrency: 5
  tags: [example]
  timeout: 2h
  criticality: high
  day: "20260101"
  jobs:
    - job:
        id: extract
        type: spark
        type_version: v1
        table: sales
        timeout: 30min
    - foreach:
        id: each
        concurrency: 3
        params: {date: [20200101, 20200102]}
        ranges: {hour: {from: 0, to: 24}}
        note: x
        jobs:
          - while:
              id: retry
              params: {attempt: 1}
              condition: attempt < 10
              jobs:
                - job: {id: work, type: shell, transition: IF note == "x" THEN check}
                - subworkflow: {id: check, version: 3, explicit_params: true}
              dag: sequential
  dag:
    extract: [IF day > "2025" Then each]' '$' '{"id": "w", "name": "All of it", "description": "An example", "tags": ["example"], "timeout": "2h", "criticality": "high",
 "params": {"day": {"type": "STRING", "value": "20260101"}},
 "steps": [{"step": {"id": "extract", "type": "spark", "sub_type": "spark", "sub_type_version": "v1", "timeout": "30min", "params": {"table": {"type": "STRING", "value": "sales"}},
                     "transition": {"successors": {"each": "day > \"2025\""}}}},
           {"foreach": {"id": "each", "concurrency": 3,
                        "params": {"note": {"type": "STRING", "value": "x"},
                                   "loop_params": {"type": "MAP", "value": {"date": {"type": "LONG_ARRAY", "value": [20200101, 20200102]},
                                                                            "hour": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, 24, 1)"}}}},
                        "steps": [{"while": {"id": "retry", "condition": "attempt < 10", "params": {"loop_params": {"type": "MAP", "value": {"attempt": {"type": "LONG", "value": 1}}}},
                            "steps": [{"step": {"id": "work", "type": "shell", "transition": {"successors": {"check": "note == \"x\""}}}},
                                      {"subworkflow": {"id": "check", "explicit_params": true, "params": {"subworkflow_id": {"type": "STRING", "value": "check"},
                                                       "subworkflow_version": {"type": "STRING", "value": "3"}}}}]}}]}}]}' 'all of it'
is "$(sql "select properties, strategy, concurrency from scylla.workflow")" '{"owner": "ann", "run_strategy": {"rule": "parallel", "workflow_concurrency": 5}}|PARALLEL|5' 'and its properties'
pushes '{"Workflow": {"id": "v", "owner": "ann", "run_strategy": "first_only", "jobs": [{"job": {"id": "a", "type": "NoOp"}}]}, "properties": {"tags": ["\u00e9\ud83d\ude00\n\"\\"]}, "is_active": false}'
is "$status$output$errors $(sql "select properties ->> 'tags' from scylla.workflow where id = 'v' and strategy = 'FIRST_ONLY' and active_version is null")" '01 ["é😀\n\"\\"]' 'JSON, with other members'
run scylla workflow validate - <<<'{"workflow": {"id": "v", "jobs": [{"job": {"id": "1"}}]}}'
is "$status $(tail -n +2 <<<"$output" | awk '{ print $1 }' | sort -u | paste -sd' ')" '1 workflow.steps[0].step workflow.steps[0].step.id' 'workflow validate'
sql "select scylla.drop_workflow('v')" >/dev/null

pushes "$(sed -n '/^```yaml$/,/^```$/p' "$(dirname "$(readlink -f "$0")")/../../docs/workflows.md" | sed '1d; $d')"
is "$status$errors $(sql "select definition #>> '{steps,1,step,transition,successors}' from scylla.workflow_version where workflow = 'nightly'")" \
  '0 {"warn": "!((rows > 0))", "report": "rows > 0"}' 'the example of the documentation'
sql "select scylla.drop_workflow('nightly')" >/dev/null

# ---- parameters ------------------------------------------------------------------------------------------------------------

while IFS='|' read -r line name meaning; do
  means "$(params "$line")" "\$.params.$name" "$meaning" "a parameter: $line"
done <<'END'
p: text|p|{"type": "STRING", "value": "text"}
p: 5|p|{"type": "LONG", "value": 5}
p: 2.5|p|{"type": "DOUBLE", "value": 2.5}
p: true|p|{"type": "BOOLEAN", "value": true}
p: [a, b]|p|{"type": "STRING_ARRAY", "value": ["a", "b"]}
p: []|p|{"type": "STRING_ARRAY", "value": []}
p: [1, 2]|p|{"type": "LONG_ARRAY", "value": [1, 2]}
p: [1, 2.5]|p|{"type": "DOUBLE_ARRAY", "value": [1, 2.5]}
p: [true]|p|{"type": "BOOLEAN_ARRAY", "value": [true]}
p: {a: x, b: y}|p|{"type": "STRING_MAP", "value": {"a": "x", "b": "y"}}
p: {a: x, b: 1}|p|{"type": "MAP", "value": {"a": {"type": "STRING", "value": "x"}, "b": {"type": "LONG", "value": 1}}}
p<pmap>: {a: x}|p|{"type": "MAP", "value": {"a": {"type": "STRING", "value": "x"}}}
p<map>: {a: x}|p|{"type": "STRING_MAP", "value": {"a": "x"}}
p<double>: 1|p|{"type": "DOUBLE", "value": 1}
p<Array<long>>: []|p|{"type": "LONG_ARRAY", "value": []}
p(constant): 1|p|{"type": "LONG", "value": 1, "mode": "CONSTANT"}
p<string>(immutable): 1|p|{"type": "STRING", "value": "1", "mode": "IMMUTABLE"}
'!p': 1 + 1|p|{"type": "STRING", "expression": "1 + 1"}
'!p<long>(mutable_on_start)': 1 + 1|p|{"type": "LONG", "expression": "1 + 1", "mode": "MUTABLE_ON_START"}
'!p<array<long>>': Util.intsBetween(0, 2, 1)|p|{"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, 2, 1)"}
'!p<long>': 5|p|{"type": "LONG", "expression": "5"}
p: {'!a<long>': 1 + 1}|p|{"type": "STRING_MAP", "value": {"!a<long>": "1 + 1"}}
p<pmap>: {'!a<long>': 1 + 1}|p|{"type": "MAP", "value": {"a": {"type": "LONG", "expression": "1 + 1"}}}
END
refuses "$(params 'p: ')" 'workflow.p: has no value' 'a parameter without a value'
refuses "$(params "'!': 1")" 'workflow.!: has no name' 'a parameter without a name'
refuses "$(params 'p: [[1]]')" 'workflow.p[0]: must be a text, a number or a boolean' 'an array of arrays'
refuses "$(params "'!p': [1]")" 'workflow.!p: must be an expression' 'an array as expression'
refuses "$(params "p<lo ng>: 1")" 'workflow.p<lo ng>: "LO NG" is no type' 'no type'
refuses "$(params "p<pmap>: 1")" 'workflow.p<pmap>: must be an object' 'no map'
refuses "$(params 'p: 1
p<long>: 2')" 'workflow.p<long>: is there twice' 'two with one name'
pushes "$(params 'p<colour>: 1')"
is "$status $errors" '1 scylla: invalid definition of a workflow: workflow.params.p.type: "COLOUR" is not a type of parameters' 'what the server refuses'

# ---- transitions -----------------------------------------------------------------------------------------------------------

follows() { # TRANSITION SUCCESSORS
  means "$(jobs "- job: {id: a, type: NoOp, x: 5, then: 1, transition: $1}
- job: {id: b, type: NoOp}
- job: {id: c, type: NoOp}")" '$.steps[0].step.transition.successors' "$2" "a transition: $1"
}
follows b '{"b": "true"}'
follows '[b, c]' '{"b": "true", "c": "true"}'
follows '[IF x > 1 THEN b, OTHERWISE c]' '{"b": "x > 1", "c": "!((x > 1))"}'
follows '["if then == 1  then  b", Otherwise c]' '{"b": "then == 1", "c": "!((then == 1))"}'
follows '[otherwise b]' '{"b": "true"}'
means "$(jobs '- job: {id: a, type: NoOp, x: true, y: true, transition: [IF x THEN b, IF y THEN c, OTHERWISE d]}
- job: {id: b, type: NoOp}
- job: {id: c, type: NoOp}
- job: {id: d, type: NoOp}')" '$.steps[0].step.transition.successors' '{"b": "x", "c": "y", "d": "!((x) || (y))"}' 'otherwise: none of several'
bad() { # TRANSITION PLACE MESSAGE
  refuses "$(jobs "- job: {id: a, type: NoOp, transition: $1}")" "workflow.jobs[0].job.transition$2: $3" "a transition: $1"
}
bad '[IF x b]' '[0]' 'must be "id", "IF condition THEN id" or "OTHERWISE id"'
bad 'IF THEN b' '' 'must be "id", "IF condition THEN id" or "OTHERWISE id"'
bad '[OTHERWISE b, c]' '[0]' 'OTHERWISE must be the last'
bad '[b, b]' '[1]' 'the job "b" is there twice'
bad '[5]' '[0]' 'must be a text'

# ---- order -----------------------------------------------------------------------------------------------------------------

ordered() { # DAG TRANSITIONS
  means "$(flow "  dag: $1
  jobs:
  - job: {id: a, type: NoOp}
  - job: {id: b, type: NoOp, transition: d}
  - job: {id: c, type: NoOp}
  - job: {id: d, type: NoOp}")" '$ ? (@.id == "w").steps' "[$(for id in a b c d; do
    printf '%s{"step": {"id": "%s", "type": "NoOp"%s}}' "$([[ $id == a ]] || echo ', ')" $id "$(grep -o "$id>[a-d]" <<<"$2 b>d" | head -n 1 | sed -E 's/.>(.)/, "transition": {"successors": {"\1": "true"}}/')"
  done)]" "dag: $1"
}
ordered Sequential 'a>b c>d'
ordered parallel ''
ordered '{a: [c], b: [c], c: d}' 'a>c c>d'
refuses "$(flow '  dag: {e: [a]}
  jobs: [job: {id: a, type: NoOp}]')" 'workflow.dag: there is no job "e"' 'dag: no such job'
refuses "$(flow '  dag: some
  jobs: [job: {id: a, type: NoOp}]')" 'workflow.dag: must be "sequential", "parallel" or an object' 'dag: no order'

# ---- jobs ------------------------------------------------------------------------------------------------------------------

means "$(jobs '- subworkflow: {id: s, workflow_id: other, sync: false, day: 1}')" '$.steps[0].subworkflow' \
  '{"id": "s", "sync": false, "params": {"day": {"type": "LONG", "value": 1}, "subworkflow_id": {"type": "STRING", "value": "other"}}}' 'subworkflow'
means "$(jobs '- foreach: {id: f, job_concurrency: 2, strict_ordering: true, ranges: {i: {to: 3}, j: {from: 9, to: 0, increment: -3}}, jobs: [job: {id: a, type: NoOp}]}')" \
  '$.steps[0].foreach' '{"id": "f", "concurrency": 2, "strict_ordering": true, "steps": [{"step": {"id": "a", "type": "NoOp"}}], "params": {"loop_params": {"type": "MAP", "value":
    {"i": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, 3, 1)"}, "j": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(9, 0, -3)"}}}}}' 'foreach with ranges'
means "$(jobs '- foreach: {id: f, params: {region: [eu, us], day: [1, 2]}, jobs: [foreach: {id: g, ranges: {i: {to: 3}, kk: {to: 2}, j: {to: 1}}, jobs: [job: {id: a, type: NoOp}]}]}')" \
  '$.steps[0].foreach.loop_order' '["region", "day"]' 'the order of loop parameters in the file counts'
means "$(jobs '- foreach: {id: f, params: {region: [eu, us], day: [1, 2]}, jobs: [foreach: {id: g, ranges: {i: {to: 3}, kk: {to: 2}, j: {to: 1}}, jobs: [job: {id: a, type: NoOp}]}]}')" \
  '$.steps[0].foreach.steps[0].foreach.loop_order' '["i", "kk", "j"]' '... in a loop within a loop, too'
means "$(jobs '- foreach: {id: f, loop_order: [day, region], params: {region: [eu, us], day: [1, 2]}, jobs: [job: {id: a, type: NoOp}]}')" \
  '$.steps[0].foreach.loop_order' '["day", "region"]' '... unless the file has a loop_order'
means '{"workflow": {"id": "w", "steps": [{"while": {"id": "w", "condition": "false", "params": {"loop_params": {"type": "MAP", "value": {}}}, "steps": [{"foreach": {"id": "f",
    "params": {"loop_params": {"type": "MAP", "value": {"b": {"type": "LONG_ARRAY", "value": [1]}, "a": {"type": "LONG_ARRAY", "value": [2]}}}}, "steps": [{"step": {"id": "a", "type": "NoOp"}}]}}]}}]}}' \
  '$.steps[0].while.steps[0].foreach.loop_order' '["b", "a"]' '... and in the long form'
means "$(jobs '- job: {id: a, type: NoOp, retry_policy: {error_retry_limit: 3}, failure_mode: ignore_failure, tags: [x]}')" '$.steps[0].step' \
  '{"id": "a", "type": "NoOp", "retry_policy": {"error_retry_limit": 3}, "failure_mode": "ignore_failure", "tags": ["x"]}' 'what is no parameter'
means "$(jobs '- job: {id: a, type: SQL, sql: select 1, n: 1}')" '$.steps[0].step' \
  '{"id": "a", "type": "SQL", "sql": "select 1", "params": {"n": {"type": "LONG", "value": 1}}}' 'the statement of a job of type Sql'
means "$(jobs '- job: {id: a, type: NoOp, sql: select 1}')" '$.steps[0].step.params.sql' '{"type": "STRING", "value": "select 1"}' 'elsewhere it is a parameter'
refuses "$(jobs '- step: {id: a, type: NoOp}')" 'workflow.jobs[0]: must be an object with one member: "job", "foreach", "while" or "subworkflow"' 'a step is no job'
refuses "$(jobs '- job: {type: NoOp}')" 'workflow.jobs[0]: has no "id"' 'a job without an id'
refuses "$(flow '  jobs: 5')" 'workflow.jobs: must be an array' 'no jobs'
refuses "$(jobs '- foreach: {id: f}')" 'workflow.jobs[0].foreach.jobs: must be an array' 'a loop without jobs'
refuses "$(jobs '- foreach: {id: f, ranges: {i: {from: 1}}, jobs: []}')" 'workflow.jobs[0].foreach.ranges.i: must be an object with "to"' 'a range without an end'
refuses "$(jobs '- foreach: {id: f, ranges: {i: {to: 1.5}}, jobs: []}')" 'workflow.jobs[0].foreach.ranges.i.to: must be a whole number' 'a range of parts'
refuses "$(jobs '- foreach: {id: f, params: 5, jobs: []}')" 'workflow.jobs[0].foreach.params: must be an object' 'loop parameters that are none'
refuses 'workflow: {id: w, owner: ann, workflow_concurrency: 3, jobs: [job: {id: a, type: NoOp}]}' 'workflow.workflow_concurrency: needs run_strategy' 'concurrency without a rule'
refuses '{"properties": [], "workflow": {"id": "w", "jobs": []}}' 'properties: must be an object' 'properties that are none'

done_testing
