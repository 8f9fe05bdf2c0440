#!/bin/bash
# scylla workflow watch: a screen on a terminal, lines elsewhere, objects with --json; scylla run lineage.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test workflow_watch
sql 'create extension scylla'
sql "select scylla.create_workflow('{\"properties\": {\"owner\": \"ada\", \"run_strategy\": \"parallel\"}, \"workflow\": {\"id\": \"busy\", \"steps\": [
       {\"step\": {\"id\": \"first\", \"type\": \"NoOp\", \"transition\": {\"successors\": {\"each\": \"true\"}},
                   \"signal_outputs\": [{\"name\": \"begun\", \"params\": {\"n\": {\"type\": \"LONG\", \"value\": 1}}}]}},
       {\"foreach\": {\"id\": \"each\", \"params\": {\"loop_params\": {\"type\": \"MAP\", \"value\": {\"i\": {\"type\": \"LONG_ARRAY\", \"value\": [1, 2, 3]}}}},
                      \"steps\": [{\"step\": {\"id\": \"in\", \"type\": \"T\"}}]}}]}}');
     select scylla.create_workflow('{\"properties\": {\"owner\": \"ada\"}, \"workflow\": {\"id\": \"idle\", \"steps\": [{\"step\": {\"id\": \"s\", \"type\": \"NoOp\"}}]}}')" >/dev/null
# What the engine does, if there is one.
advances_to() { # QUERY ANSWER
  sql 'call scylla.advance()' >/dev/null
  [[ $(sql "$1") == "$2" ]]
}
sql "select from scylla.start_workflow('busy')"
wait_until advances_to "select count(*) from scylla.task where queue = 't' and status = 'ready'" 3
ok $? 'a run has begun'
sql "select from scylla.lease('t', 'worker-1') t, scylla.complete(t.rn, 'worker-1')"
wait_until advances_to "select overview #>> '{SUCCEEDED,cnt}' from scylla.workflow_rollup where workflow = 'busy'" 2
ok $? 'and has come further'

run scylla workflow watch --count 1
is "$status $(wc -l <<<"$output")" '0 2' 'a line per workflow'
like "$(head -n 1 <<<"$output")" \
  '^20[0-9-]+ [0-9:]+\+00 busy queued=0 running=1 failed=0 steps=2 waiting=0 retrying=0 steps-failed=0 oldest=[0-9:]+ paused=no$' 'with its state'
run scylla workflow watch idle --count 1
is "$status $(wc -l <<<"$output")" '0 1' 'only the workflows that are asked for'
like "$output" ' idle queued=0 running=0 .* oldest=- ' 'also one of which nothing runs'
run scylla workflow watch --count 2 --interval 50ms --json
is "$(wc -l <<<"$output")" 2 'as JSON: an object per round'
object=$(tail -n 1 <<<"$output")
is "$(sql "select concat_ws(' ', o #>> '{workflows,0,workflow}', o #>> '{workflows,0,running}', jsonb_array_length(o -> 'runs'), o #>> '{runs,0,workflow}',
                            o #>> '{runs,0,instance}', o #>> '{runs,0,leaves}', o #>> '{runs,0,overview,SUCCEEDED,cnt}')
             from (select '$object'::jsonb) as t(o)")" 'busy 1 1 busy 1 4 2' 'workflows, and runs with the counts of their leaves'
run scylla workflow watch --interval soon
is "$status" 2 'a time that is none'
run scylla workflow watch --count 0
is "$status" 2 'no rounds'

# A terminal, by script(1).
run script -qec 'stty rows 20 cols 120; exec scylla workflow watch --count 1' /dev/null
is "$status" 0 'on a terminal'
like "$output" 'workflow .*queued .*running .*oldest' 'workflows'
like "$output" 'instance .*leaves .*done .*waiting' 'and their runs'
like "$output" 'busy +1 +1 +IN_PROGRESS +[0-9:]+ +4 +2 +0 +0' 'of which so many leaves are done'
mkfifo "$scratch/keys"
script -qefc 'stty rows 20 cols 120; exec scylla workflow watch --interval 1h' "$scratch/typescript" <"$scratch/keys" >"$scratch/screen" &
exec {keys}>"$scratch/keys"
drawn() { grep -qs IN_PROGRESS "$scratch/screen"; }
wait_until drawn
ok $? 'it is shown while it runs'
printf q >&"$keys"
wait $!
is $? 0 'q quits'
exec {keys}>&-

# ---- lineage -----------------------------------------------------------------------------------------------------------------

run scylla run lineage busy 1
is "$status $(head -n 1 <<<"$output")" '0 digraph lineage {' 'run lineage: for Graphviz'
like "$output" 'label="begun\\n\{\\"n\\": 1\}", shape=ellipse' 'with the signals that the instance has sent'
run scylla run lineage busy 1 --mermaid --max-signals 5
is "$status $(head -n 1 <<<"$output")" '0 flowchart LR' 'run lineage --mermaid'
run scylla run lineage busy 1 --max-signals 0
like "$status $errors" '^[12] .*max_signals.*It must be between 1 and 1000' 'run lineage: no signals'
run scylla run lineage busy 2
is "$status" 1 'run lineage: no such instance'
done_testing
