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

done_testing
