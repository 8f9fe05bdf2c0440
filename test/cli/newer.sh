#!/bin/bash
# Programs of today and an extension of tomorrow: scylla.task has a column that they do not know, at its end, which is where new
# columns come.
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=test/lib/tap.sh
source "$here/../lib/tap.sh"
examples=$here/../../client/examples
begin_test newer
sql 'create extension scylla'
sql 'do $do$ begin execute $$create or replace view scylla.task as select t.*, 1 as extra from ($$ ||
       rtrim(pg_get_viewdef($$scylla.task$$), $$;$$) || $$) as t$$; end $do$'

run scylla submit q '{"text": "two words"}' --rn task
is "$status $output" '0 task' 'submit'
is "$(sql 'select extra from scylla.task')" 1 'scylla.task has another column'
run scylla get task --field status
is "$status $output" '0 ready' 'get'
run scylla get task --json
is "$status $(sql "select t ->> 'rn', t ->> 'plan' is null from (values ('$output'::jsonb)) as v (t)")" '0 task|t' 'get, as JSON'
run scylla list --queue q
like "$status $output" '^0 .*task' 'list'
run scylla cancel task
is "$status" 0 'cancel'
scylla submit q '{"say": "hi"}' --rn worked >/dev/null
run scylla work q --until-empty --exec cat
is "$status $(sql "select status, result from scylla.get_task('worked')")" '0 completed|{"say": "hi"}' 'work'

worker() { # LANGUAGE COMMAND...
  completed() { holds "select status = 'completed' from scylla.get_task('$language')"; }
  local language=$1
  scylla submit "$language" '{"text": "two words"}' --rn "$language" >/dev/null
  "${@:2}" "$language" >"$scratch/log" 2>&1 &
  wait_until completed
  ok $? "a worker in $language"
  kill -TERM $!
  wait $!
  is "$? $(<"$scratch/log") $(sql "select result from scylla.get_task('$language')")" '0  {"words": 2}' '... as with the columns that it knows'
}
worker c++ "$SCYLLA_EXAMPLES/worker"
worker python /usr/bin/python3 "$examples/worker.py"
worker javascript node "$examples/worker.js"
worker bash "$examples/worker.sh"
done_testing
