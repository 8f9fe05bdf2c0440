#!/bin/bash
# scylla events: the changes of tasks, page by page, and those to come.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test events
sql 'create extension scylla'
run scylla events
is "$status $output" '0 ' 'no events'
sql "select scylla.create_queue('a', events => true), scylla.create_queue('b', events => true)"
sql "select from scylla.submit('a', '1', rn => 'a 1'); select from scylla.submit('b', '1', rn => 'b 1'); select from scylla.lease('a', 'w', timeout => '1 h')"
wait_until holds 'select count(*) = 3 from scylla.read_events()' # what others run holds events back

run scylla events
is "$status $(wc -l <<<"$output")" '0 3' 'a line per event'
like "$(tail -n 1 <<<"$output")" '^[0-9]+-[0-9]+ 20[0-9-]+ [0-9:.]+\+00 a a 1 running 1 w$' 'with what it tells'
run scylla events b
is "$status $(wc -l <<<"$output") $(cut -d' ' -f4- <<<"$output")" '0 1 b b 1 ready 0' 'of some queues'
run scylla events --json
is "$(sql "select string_agg(e ->> 'status', ' ') from unnest(array[$(sed "s/.*/'&'/" <<<"$output" | paste -sd,)]::jsonb[]) as e")" 'ready ready running' \
  'as JSON: an object per line'
cursor=$(sql "select cursor from scylla.read_events() limit 1 offset 1")
run scylla events --after "$cursor"
is "$status $(wc -l <<<"$output")" '0 1' 'after a cursor'
run scylla events --since 0s
is "$status $output" '0 ' 'not older than so long'
run scylla events --after nonsense
is "$status" 1 'a cursor that is none'
sql "select from scylla.submit_bulk('b', array_fill('1'::jsonb, array[1500]))"
wait_until holds 'select count(*) = 1503 from scylla.read_events(max_events => 5000)'
run scylla events b
is "$(wc -l <<<"$output")" 1501 'more than a page'

# What comes.
coproc followed { exec scylla events a --follow --interval 50ms --json; }
read -r _ <&"${followed[0]}"
read -r line <&"${followed[0]}"
is "$(sql "select '$line'::jsonb ->> 'status'")" running 'what is there already'
sql "select from scylla.complete('a 1', 'w')"
read -r -t 30 line <&"${followed[0]}"
is "$(sql "select '$line'::jsonb ->> 'status'")" completed 'and what comes'
# Of workflows.
run scylla workflow events
is "$status $output" '0 ' 'workflow events: none'
for w in w x; do
  sql "select scylla.create_workflow('{\"properties\": {\"owner\": \"ann\", \"events\": true}, \"workflow\": {\"id\": \"$w\", \"steps\": [{\"step\": {\"id\": \"s\", \"type\": \"NoOp\"}}]}}')"
done
sql "select scylla.start_workflow('w')"
sql 'select scylla._advance()'
wait_until holds "select count(*) = 9 from scylla.read_workflow_events()"
run scylla workflow events w
is "$status $(cut -d' ' -f4- <<<"$output")" '0 w properties
w version 1
w activated 1
w run 1/1 CREATED
w step 1/1 s 1 SUCCEEDED
w run 1/1 SUCCEEDED' 'workflow events: a line per event'
run scylla workflow events x --json
is "$(sql "select string_agg(e ->> 'kind', ' ') from unnest(array[$(sed "s/.*/'&'/" <<<"$output" | paste -sd,)]::jsonb[]) as e")" 'properties version activated' \
  'workflow events --json'
# shellcheck disable=SC2154 # the pid of the coprocess
kill -TERM "$followed_PID"
done_testing
