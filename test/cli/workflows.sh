#!/bin/bash
# scylla workflow: definitions in a file.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test workflows
sql 'create extension scylla'

echo '{"workflow": {"id": "w", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}' >"$scratch/workflow.json"
run scylla workflow validate "$scratch/workflow.json"
is "$status$output$errors" 0 'workflow validate: nothing is wrong'
run scylla workflow validate "$scratch/workflow.json" --json
is "$status $output" '0 []' 'workflow validate --json: nothing is wrong'

validates() { run scylla workflow validate - "${@:2}" <<<"$1"; } # DEFINITION [OPTION...]
validates '{"workflow": {"id": "w", "steps": []}, "is_active": 5}'
is "$status $(sed 's/  */ /g; s/ *$//' <<<"$output")" "1 place problem
is_active must be true or false
workflow.steps must have at least one step" 'workflow validate: what is wrong, and a status that tells it'
validates '{"workflow": {"id": "w", "steps": []}}' --json
is "$status $(sql "select j from jsonb('$output') j")" '1 [{"place": "workflow.steps", "problem": "must have at least one step"}]' 'workflow validate --json'
validates '{"workflow"'
is "$status $errors" '1 scylla: "-" is not JSON' 'workflow validate: no JSON'
run scylla workflow validate "$scratch/nothing"
is "$status $errors" "1 scylla: could not read \"$scratch/nothing\": No such file or directory" 'workflow validate: no such file'


# ---- job templates -----------------------------------------------------------------------------------------------------------

template() { run scylla template push - "${@:2}" <<<"$1"; } # DEFINITION [OPTION...]
template '{"job_type": "base", "type": "NoOp", "params": {"a": {"type": "LONG", "value": 1}}}'
is "$status$output$errors" 0 'template push'
template 'definition:
  job_type: heir
  version: "2"
  type: NoOp
  inherit_from: {base: default}
status: beta'
is "$status$output$errors" 0 'template push: YAML, and what is beside the definition'
template '{"job_type": "heir", "type": "NoOp", "inherit_from": {"nothing": "1"}}'
is "$status $errors" '1 scylla: invalid job template: inherit_from.nothing: there is no job template "nothing" of version "1"' 'template push: what is wrong, and where'
run scylla template list
is "$status $(awk '{ $1 = $1; print }' <<<"$output" | sed 's/ [0-9-]* [0-9:+]*$//')" "0 job_type version type status inherits from owner modified
base default NoOp $(sql 'select current_user')
heir 2 NoOp beta base default $(sql 'select current_user')" 'template list'
run scylla template list heir --json
is "$status $(sql "select j -> 0 ->> 'version', jsonb_array_length(j) from jsonb('$output') j")" '0 2|1' 'template list: one job type'
run scylla template show base
is "$status $(sql "select jsonb('$output')")" '0 {"type": "NoOp", "params": {"a": {"type": "LONG", "value": 1}}, "version": "default", "job_type": "base"}' 'template show'
run scylla template show heir 2
is "$status $(sql "select jsonb('$output')")" '0 {"status": "beta", "definition": {"type": "NoOp", "version": "2", "job_type": "heir", "inherit_from": {"base": "default"}}}' 'template show: as it was pushed'
run scylla template show heir
is "$status $errors" '1 scylla: job template "heir" of version "default" does not exist' 'template show: no such version'
run scylla template drop base default
is "$status $(head -1 <<<"$errors")" '1 scylla: job template "base" of version "default" is inherited by "heir" of version "2"' 'template drop: a parent'
run scylla template drop heir 2
is "$status$output$errors $(sql 'select count(*) from scylla.job_template')" '0 1' 'template drop'

# ---- versions --------------------------------------------------------------------------------------------------------------

pushes() { run scylla workflow push - "${@:2}" <<<"$1"; } # DEFINITION [OPTION...]
definition='{"properties": {"owner": "ann", "tags": ["x"]}, "workflow": {"id": "w", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}, "note": 1}'
pushes "$definition"
is "$status $output$errors" '0 1' 'workflow push: the number of the version'
pushes "$definition" --inactive
is "$status $output $(sql "select active_version from scylla.workflow")" '0 2 1' 'workflow push --inactive'
pushes 'properties: {owner: ann, run_strategy: 3}
workflow:
  id: y
  steps: [{step: {id: s, type: NoOp}}]'
is "$status $output$errors $(sql "select properties from scylla.workflow where id = 'y'")" '0 1 {"owner": "ann", "run_strategy": 3}' 'workflow push: YAML'
pushes '{"workflow": {"id": "w", "steps": []}}'
is "$status $output$errors" '1 scylla: invalid definition of a workflow: workflow.steps: must have at least one step' 'workflow push: a fault'
run scylla workflow list
is "$status $(tr -s ' ' <<<"$output" | sed 's/ [0-9-]* [0-9:+]*$//')" "0 id active latest strategy owner modified
w 1 2 SEQUENTIAL postgres
y 1 1 PARALLEL(3) postgres" 'workflow list'
run scylla workflow list --json
is "$status $(sql "select string_agg(e ->> 'id', ',') from jsonb_array_elements('$output') e")" '0 w,y' 'workflow list --json'
run scylla workflow stat
is "$status $(tr -s ' ' <<<"$output")" "0 workflow queued running failed steps running waiting retrying steps failed agenda
w 0 0 0 0 0 0 0 0
y 0 0 0 0 0 0 0 0" 'workflow stat'
run scylla workflow stat y --json
is "$status $(sql "select e ->> 'workflow' || (e ->> 'instances') from jsonb_array_elements('$output') e")" '0 y0' 'workflow stat --json, of one'
run scylla workflow versions w
is "$status $(awk '{ print $1, $2, $3 }' <<<"$output")" "0 version active author
1 t postgres
2 f postgres" 'workflow versions'
for version in '' default DEFAULT active 1; do
  run scylla workflow show w $version
  is "$status $(sql "select '$output'::jsonb = '$definition'")" '0 t' "workflow show: ${version:-the default}"
done
pushes "$output"
is "$status $output $(sql "select count(distinct definition) || ' ' || count(distinct metadata) from scylla.workflow_version where workflow = 'w'")" '0 3 1 1' 'can be pushed again'
run scylla workflow show w latest
is "$status$errors" 0 'workflow show: latest'
run scylla workflow show w 4
is "$status $errors" '1 scylla: workflow "w" has no version "4"' 'workflow show: no such version'
for command in 'show nothing' 'versions nothing' 'activate nothing' 'deactivate nothing' 'alter nothing tags=[]' 'grant nothing public run' 'revoke nothing public run' 'drop nothing'; do
  run scylla workflow $command
  is "$status $errors" '1 scylla: workflow "nothing" does not exist' "workflow $command"
done
run scylla workflow activate w 2
is "$status$output$errors $(sql "select active_version from scylla.workflow where id = 'w'")" '0 2' 'workflow activate'
run scylla workflow activate w
is "$status $(sql "select active_version from scylla.workflow where id = 'w'")" '0 3' 'workflow activate: the latest'
run scylla workflow activate w 4
is "$status $errors" '1 scylla: version 4 of workflow "w" does not exist' 'workflow activate: no such version'
run scylla workflow deactivate w
is "$status$output$errors $(sql "select active_version from scylla.workflow where id = 'w'")" '0 ' 'workflow deactivate'
run scylla workflow alter w run_strategy=first_only step_concurrency=5 'description=12 steps' add_tag=y access_control='{"a": [1]}'
is "$status$output$errors $(sql "select properties from scylla.workflow where id = 'w'")" \
  '0 {"tags": ["x", "y"], "owner": "ann", "description": "12 steps", "run_strategy": "first_only", "access_control": {"a": [1]}, "step_concurrency": 5}' 'workflow alter'
run scylla workflow alter w reset_run_strategy_rule=true reset_step_concurrency=true delete_tag=x access_control=1
is "$status $(sql "select properties from scylla.workflow where id = 'w'")" '0 {"tags": ["y"], "owner": "ann", "description": "12 steps", "access_control": 1}' 'workflow alter: resets'
run scylla workflow alter w reset_step_concurrency=true step_concurrency=1
is "$status $errors" '1 scylla: invalid properties of a workflow: reset_step_concurrency: cannot be there together with "step_concurrency"' 'workflow alter: a contradiction'
run scylla workflow grant w pg_monitor run
is "$status$output$errors $(sql "select runners from scylla.workflow where id = 'w'")" '0 {pg_monitor}' 'workflow grant'
run scylla workflow revoke w pg_monitor run
is "$status$output$errors $(sql "select runners from scylla.workflow where id = 'w'")" '0 ' 'workflow revoke'
run scylla workflow grant w pg_monitor submit
is "$status" 2 'workflow grant: no such privilege'
sql "select scylla.create_workflow('{\"properties\": {\"owner\": \"ann\"}, \"workflow\": {\"id\": \"flow\", \"steps\": [{\"step\": {\"id\": \"load\", \"type\": \"T\"}}]}}')" >/dev/null
run scylla workflow start flow --params '{"x": 1}' --request-id once
like "$status $output" '^0 .*CREATED' 'workflow start'
run scylla workflow start flow --request-id once
like "$status $output" '^0 code +0' 'workflow start: the same request'
run scylla workflow start-many - <<<'[{"workflow": "flow"}, {"workflow": "flow", "version": 9}]'
is "$status $errors" '1 scylla: version 9 of workflow "flow" does not exist' 'workflow start-many: an error of one'
run scylla workflow start-many - <<<'[{"workflow": "flow", "request_id": "once", "version": "active"}]'
like "$status $output" '^0 .*flow' 'workflow start-many'
run scylla workflow start flow --step-params '{"lod": {}}'
like "$status $errors" '^1 scylla: invalid value for argument "step_params": "lod"' 'workflow start refuses parameters of a step that the workflow does not have'
run scylla workflow start flow --version 7
is "$status $errors" '1 scylla: version 7 of workflow "flow" does not exist' 'workflow start: no such version'
run scylla workflow start flow x
is "$status $(head -n 1 <<<"$errors")" '2 scylla: "x" is no parameter' 'workflow start says that a parameter lacks its value'
run scylla workflow start flow x=1 y=2 x=3
is "$status $errors" '2 scylla: the parameter "x" is given twice' 'workflow start refuses a parameter that is given twice'
run scylla workflow start flow --version 7 x=1
is "$status $errors" '1 scylla: version 7 of workflow "flow" does not exist' 'workflow start with parameters names a version that does not exist'
sql "select scylla.create_workflow('{\"properties\": {\"owner\": \"ann\"}, \"workflow\": {\"id\": \"typed\", \"params\": {\"day\": {\"type\": \"STRING\", \"value\": \"\"},
  \"n\": {\"type\": \"LONG\", \"value\": 0}, \"list\": {\"type\": \"STRING_ARRAY\", \"value\": []}}, \"steps\": [{\"step\": {\"id\": \"a\", \"type\": \"NoOp\"}}]}}')" >/dev/null
run scylla workflow start typed day=20260301 n=7 list='["a", "b"]' --params '{"n": 8}'
like "$status $output" '^0 .*CREATED' 'workflow start takes parameters as name=value'
is "$(sql "select request from scylla.workflow_run where workflow = 'typed'")" '{"n": 7, "day": "20260301", "list": ["a", "b"]}' \
  'workflow start gives each parameter the type that it has in the workflow, and name=value goes before --params'
run scylla run list typed
like "$status $output" '^0 .*typed .*\{"n": 7, "day": "20260301"' 'run list shows the parameters that were given'
run scylla workflow start typed --step-params '{"a": {"size": {"value": 5, "type": "LONG"}}}'
is "$status $(sql "select step_params from scylla.workflow_run where workflow = 'typed' and step_params is not null")" \
  '0 {"a": {"size": {"type": "LONG", "value": 5}}}' 'workflow start gives parameters to a step'
sql 'call scylla.advance()' >/dev/null
until [[ $(sql "select count(*) from scylla.workflow_step where workflow = 'flow'") == 1 ]]; do sleep 0.1; done
run scylla run list
like "$status $output" '^0 .*flow .*IN_PROGRESS' 'run list'
run scylla run list other
is "$status $(grep -c IN_PROGRESS <<<"$output")" '0 0' 'run list: of another workflow'
run scylla --json run list flow --status in_progress --limit 1
like "$status $output" '^0 .*"params":\{.*"x": 1' 'run list: JSON'
run scylla run show flow 1
like "$status $output" '^0 .*load.*RUNNING' 'run show'
run scylla run show flow 2
is "$status $errors" '1 scylla: workflow "flow" has no instance 2' 'run show: no such instance'
run scylla run tree flow 1
like "$status $output" '^0 .*flow/1 .*IN_PROGRESS.*  load .*RUNNING' 'run tree'
run scylla --json run tree flow 1 --max-iterations 0 --failed-first
like "$status $output" '^0 .*"depth": ?1.*"name": ?"load"' 'run tree: JSON'
run scylla run tree flow 1 --max-iterations 1001
like "$status $errors" '^[12] .*max_iterations.*It must be between 0 and 1000' 'run tree: too many iterations'
run scylla run why flow 1
like "$status $output" '^0 .*flow/1 .*load .*a worker' 'run why says what a step waits for'
run scylla --json run why flow 1 load --limit 1
is "$status $(sql "select '$output'::jsonb #>> '{0,step_id}'")" '0 load' 'run why: one step, as JSON'
run scylla run why flow 1 lod
is "$status $errors" '1 scylla: version 1 of workflow "flow" has no step "lod"' 'run why: no such step'
run scylla run failed flow 1
is "$status $(grep -c load <<<"$output")" '0 0' 'run failed: nothing has'
run scylla run failed flow 2
is "$status $errors" '1 scylla: workflow "flow" has no instance 2' 'run failed: no such instance'
sql "select scylla.create_workflow('{\"properties\": {\"owner\": \"ann\"}, \"workflow\": {\"id\": \"logged\", \"steps\": [{\"step\": {\"id\": \"copy\", \"type\": \"U\"}}]}}'),
  scylla.start_workflow('logged')" >/dev/null
sql 'call scylla.advance()' >/dev/null
wait_until holds "select exists (select from scylla.lease('u', 'w') t, scylla.abort(t.rn, 'w', '{\"code\": \"disk-full\", \"log_url\": \"https://logs.example.org/7\"}'))"
sql 'call scylla.advance()' >/dev/null
wait_until holds "select exists (select from scylla.failed_steps('logged', 1))"
run scylla run failed logged 1
like "$status $output" '^0 .*copy .*disk-full https://logs.example.org/7' 'run failed prints the code of an error without a message, and where the log is'
run scylla dead u
like "$status $output" '^0 .*disk-full https://logs.example.org/7' 'and so does dead'
run scylla run rollup flow 1
like "$status $output" '^0 .*status +leaves +which.*RUNNING +1 +load:1' 'run rollup'
run scylla --json run rollup flow 1
like "$status $output" '^0 .*"total_leaf_count": ?1.*"1:load:1"' 'run rollup: JSON'
run scylla run rollup flow 2
is "$status $errors" '1 scylla: workflow "flow" has no instance 2' 'run rollup: no such instance'
run scylla run timeline flow 1
like "$status $output" '^0 .*CREATED by.*IN_PROGRESS.*load.*STATUS.*RUNNING' 'run timeline'
run scylla run timeline flow 1 --step load --limit 1
is "$status $(grep -c load <<<"$output")" '0 1' 'run timeline: the newest event of a step'
run scylla run timeline flow 2
is "$status $errors" '1 scylla: workflow "flow" has no instance 2' 'run timeline: no such instance'
run scylla run dot flow 1
like "$status $output" '^0 digraph workflow .*load\\nRUNNING' 'run dot'
run scylla run mermaid flow 1
like "$status $output" '^0 flowchart LR.*load<br>RUNNING' 'run mermaid'
run scylla run gantt flow 1 --max-iterations 3
like "$status $output" '^0 gantt.*load :active' 'run gantt'
run scylla workflow dot flow
like "$status $output" '^0 digraph workflow .*label="load"' 'workflow dot'
run scylla workflow mermaid flow 1
like "$status $output" '^0 flowchart LR.*\["load"\]' 'workflow mermaid'
run scylla step stop flow 1 load 3 4
is "$status $errors" '1 scylla: invalid value for argument "iterations": 2 numbers
DETAIL:  The step is in 0 loops: it must have the number of an iteration of each, the outer one first.' 'step stop: iterations of no loop'
run scylla step skip flow 1 nothing
like "$status $errors" '^1 scylla: version [0-9]+ of workflow "flow" has no step "nothing"' 'step skip: no such step'
run scylla step restart flow 1 load
is "$status $errors" '1 scylla: step "load" of instance 1 of workflow "flow" is RUNNING and cannot be restarted' 'step restart: it runs'
run scylla step bypass flow 1 load
is "$status $errors" '1 scylla: step "load" of instance 1 of workflow "flow" is RUNNING and cannot be bypassed' 'step bypass: it does not wait for signals'
run scylla step kill flow 1 load
is "$status $errors $output" "0  $(sql "select id from scylla.workflow_action where action = 'kill' and step = 'load'")" 'step kill: prints the id of the action'
run scylla run actions flow 1
like "$status $output" "^0 .* load .* kill +$(sql 'select current_user') " 'run actions shows who has done what to which step'
run scylla run actions flow 2
is "$status $errors" '1 scylla: workflow "flow" has no instance 2' 'run actions names an instance that does not exist'
sql 'call scylla.advance()' >/dev/null
run scylla workflow start flow
until [[ $(sql "select count(*) from scylla.workflow_step where workflow = 'flow' and instance = 2") == 1 ]]; do sql 'call scylla.advance()' >/dev/null; sleep 0.1; done
run scylla workflow stop flow
is "$status $output$errors" '0 1' 'workflow stop: prints how many'
until [[ $(sql "select status from scylla.workflow_run where workflow = 'flow' and instance = 2") == STOPPED ]]; do sql 'call scylla.advance()' >/dev/null; sleep 0.1; done
run scylla workflow kill flow
is "$status $output$errors" '0 0' 'workflow kill: there is none'
run scylla step stop flow 2 load
is "$status $errors" '1 scylla: the last run of instance 2 of workflow "flow" has ended' 'step stop: the run has ended'
run scylla workflow start flow
until [[ $(sql "select count(*) from scylla.workflow_step where workflow = 'flow' and instance = 3") == 1 ]]; do sql 'call scylla.advance()' >/dev/null; sleep 0.1; done
run scylla run stop flow 3
is "$status$output$errors" '0' 'run stop'
sql 'call scylla.advance()' >/dev/null
until [[ $(sql "select status from scylla.workflow_run where workflow = 'flow' and instance = 3") == STOPPED ]]; do sleep 0.1; done
run scylla breakpoint set flow load --version 99
is "$status $errors" '1 scylla: version 99 of workflow "flow" does not exist' 'breakpoint set: no such version'
run scylla breakpoint set flow load --instance 4
is "$status $errors" '1 scylla: workflow "flow" has no instance 4' 'breakpoint set: no such instance'
run scylla breakpoint set flow load
is "$status$output$errors" '0' 'breakpoint set'
run scylla breakpoint list flow
like "$status $output" 'flow +load +breakpoint' 'breakpoint list'
run scylla workflow pause flow
is "$status$output$errors" '0' 'workflow pause'
run scylla workflow start flow
sql 'call scylla.advance()' >/dev/null
is "$(sql "select status from scylla.workflow_run where workflow = 'flow' and instance = 4")" CREATED 'no run begins in a workflow that is paused'
run scylla workflow resume flow
is "$status$output$errors" '0' 'workflow resume'
paused() { until [[ $(sql "select status from scylla.workflow_step where workflow = 'flow' and instance = 4 and step = 'load'") == "$1" ]]; do sql 'call scylla.advance()' >/dev/null; sleep 0.1; done; }
paused PAUSED
run scylla step pause flow 4 load
is "$status$output$errors" '0' 'step pause'
run scylla breakpoint drop flow load --version 1
like "$status $errors" '^1 scylla: workflow "flow" has no such breakpoint on step "load"' 'breakpoint drop: it is named as it was set'
run scylla step resume flow 4 load
like "$status $output$errors" '^0 [0-9]+$' 'step resume: prints the id of the action'
paused RUNNING
run scylla step resume flow 4 load
is "$status $errors" '1 scylla: step "load" of instance 4 of workflow "flow" is RUNNING and cannot be resumed' 'step resume: it is not paused'
run scylla breakpoint drop flow load --resume
is "$status$output$errors" '0' 'breakpoint drop'
run scylla run stop flow 4
sql 'call scylla.advance()' >/dev/null
run scylla run kill flow 3
is "$status $errors" '1 scylla: the last run of instance 3 of workflow "flow" has ended' 'run kill: it has ended'
run scylla run restart flow 1 --from-beginning --from load
like "$status $errors" '^2 .*excludes' 'run restart: one or the other'
run scylla run restart flow 1 --from other
like "$status $errors" '^1 scylla: invalid value for argument "step": "other"' 'run restart: no such step'
failed_runs() { sql "select coalesce(jsonb_agg((j -> 'instance')::text || '/' || (j -> 'run')::text), '[]') from jsonb_array_elements('$(scylla --json run list flow --failed)') j"; }
is "$(failed_runs)" '["1/1"]' 'run list --failed shows the instance that has failed'
run scylla run restart flow 1 --params '{"x": 2}' --skip load --alone
like "$status $(tr -s ' \n' ' ' <<<"$output")" '^0 code 1 workflow flow instance 1 run 2 status CREATED' 'run restart'
sql 'call scylla.advance()' >/dev/null
until [[ $(sql "select status from scylla.workflow_run where workflow = 'flow' and instance = 1 and run = 2") == SUCCEEDED ]]; do sleep 0.1; done
run scylla run show flow 1
like "$status $output" '^0 .*load.*SKIPPED' 'run show: after a restart'
is "$(failed_runs)" '[]' 'run list --failed does not show an instance that was repaired'
run scylla run list flow --failed --status failed
like "$status $errors" '^2 .*excludes' 'run list takes --failed or --status'
run scylla backfill start flow '{"n": {"from": 1, "to": 3}}' --preview --newest-first
is "$status $(grep -c start <<<"$output") $(sed -n 's/.*{"n": \([0-9]\)}.*/\1/p' <<<"$output" | head -1)" '0 3 3' 'backfill start: preview'
run scylla backfill start flow '{"n": {"from": 1, "to": 3}}' --concurrency 2
backfill=$output
like "$status $backfill" '^0 [0-9]+$' 'backfill start'
run scylla backfill start flow '{"n": 3}'
is "$status $errors" '1 scylla: invalid value for argument "items.n": 3
DETAIL:  It must be a list or a range.' 'backfill start: no list'
run scylla backfill list flow
like "$status $output" "^0 .*$backfill .*RUNNING +3 +1 +2 " 'backfill list'
run scylla backfill pause "$backfill"
is "$status$output$errors" '0' 'backfill pause'
run scylla backfill resume "$backfill"
is "$status$output$errors" '0' 'backfill resume'
run scylla --json backfill show "$backfill" --status pending
like "$status $output" '^0 .*"n": ?3' 'backfill show'
run scylla backfill cancel "$backfill" --stop-runs
is "$status $output" '0 1' 'backfill cancel'
run scylla backfill show 0
is "$status $errors" '1 scylla: backfill 0 does not exist' 'backfill show: there is none'
sql 'call scylla.advance()' >/dev/null
until [[ $(sql "select status from scylla.workflow_backfill where backfill = $backfill") == CANCELLED ]]; do sleep 0.1; done
run scylla workflow drop flow
is "$status$output$errors" '0' 'workflow drop: one whose runs have ended'
run scylla workflow drop typed
run scylla workflow drop logged
run scylla workflow drop w
is "$status$output$errors $(sql "select string_agg(id, ',') from scylla.workflow")" '0 y' 'workflow drop'

done_testing
