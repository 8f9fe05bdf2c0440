#!/bin/bash
# What somebody reads who has mistyped something: notices, hints, the nearest command.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test messages
sql 'create extension scylla'
says() { # SQL...: what psql says on standard error
  local statements=()
  for statement; do statements+=(-c "$statement"); done
  psql -XqAt "${statements[@]}" 2>&1 >/dev/null
}

unlike() { # GOT REGULAR-EXPRESSION NAME
  local matches=0
  [[ ! $1 =~ $2 ]] || matches=1
  ok "$matches" "$3"
}

# ---- queues that do not exist -------------------------------------------------------------------------------------------

for call in "select from scylla.lease('mial', 'w')" "call scylla.wait('mial', '10 ms')" "call scylla.wait_any('{mial}', '10 ms')" \
  "select from scylla.complete_and_lease('{}', 'w', 'mial')" "select scylla.has_live_tasks('{mial}')"; do
  is "$(says "$call")" 'NOTICE:  queue "mial" does not exist
HINT:  The first submit to it creates it.' "$call"
  is "$(says "$call" "$call" "call scylla.wait('mial', '10 ms')" | grep -c NOTICE)" 1 'once per session'
done
is "$(says "select from scylla.lease('mial', 'w')" "select from scylla.lease('meil', 'w')" | grep -c NOTICE)" 2 'and queue'
is "$(says 'set scylla.auto_create_queues = off' "select from scylla.lease('mial', 'w')" | sed -n 2p)" \
  'HINT:  Use scylla.create_queue() to create it.' 'the hint says what creates it'
run timeout 60 scylla work mial mail --until-empty --exec true
is "$status $(grep -c 'does not exist' <<<"$errors")" '0 2' 'scylla work says so, in one line for each'
scylla work mial --exec true 2>"$scratch/worker" &
worker=$!
wait_until grep -q 'queue "mial" does not exist' "$scratch/worker"
ok $? 'also when it does not end'
wait_until holds "select exists (select from pg_stat_activity where query ~ 'scylla.wait' and wait_event = 'Extension')"
kill -TERM "$worker"
wait "$worker"
is "$(grep -c 'does not exist' "$scratch/worker")" 1 'once'
run timeout 60 scylla work mial --until-empty --exec true --quiet
is "$status$errors" 0 '--quiet'

sql "select scylla.create_queue('mails'), scylla.create_queue('reports')" >/dev/null
like "$(says "select from scylla.lease('mial', 'w')")" 'HINT:  Perhaps you meant queue "mails"\. The first submit to it creates it\.' 'the notice proposes the queue with the nearest name'
for call in "scylla.pause_queue('repotrs')" "scylla.grant_queue('report', 'pg_monitor', 'view')" "scylla.set_queue_owner('rports', 'pg_monitor')"; do
  like "$(says "select $call")" '^ERROR:  queue ".*HINT:  Perhaps you meant queue "reports"\.$' "and so does the error: $call"
done
like "$(says 'set scylla.auto_create_queues = off' "select scylla.submit('report', '1')")" 'HINT:  Perhaps you meant queue "reports"' 'and that of submit, if it creates no queues'
unlike "$(says "select scylla.pause_queue('x')")" 'HINT' 'nothing is proposed where no name is near'
like "$(says 'create role stranger; grant usage on schema scylla to stranger; grant execute on function scylla.pause_queue to stranger' 'set role stranger' \
  "select scylla.pause_queue('report')")" '^ERROR:  queue "report" does not exist$' 'nor a queue on which the role has no privilege'
sql 'drop owned by stranger; drop role stranger'

# ---- values -------------------------------------------------------------------------------------------------------------

like "$(says "select scylla.create_queue('q', retention => '30')")" '^WARNING:  retention is 00:00:30.HINT:  A number without a unit is a number of seconds' \
  'retention => 30 is half a minute'
like "$(says "select scylla.alter_queue('q', '{\"retention_aborted\": \"7\"}')")" '^WARNING:  retention_aborted is 00:00:07' 'also later'
is "$(says "select scylla.alter_queue('q', '{\"retention\": \"0\", \"retention_completed\": \"30 days\"}')")" '' 'none is meant as it is'
like "$(says "select scylla.alter_queue('q', '{\"rate\": {\"count\": 5}}')")" 'It may have "tasks", "per" and "burst"' 'rate: which members it may have'
like "$(says "select scylla.alter_queue('q', '{\"rate\": {\"per\": \"1 s\"}}')")" 'It must have "tasks", and may have' 'and must have'
for call in "scylla.submit('q', 'hello'::text)" "scylla.complete('t', 'w', '1'::varchar)" "scylla.submit_many('[]'::text)"; do
  like "$(says "select $call")" 'HINT:  Arguments that are JSON have the type jsonb: add a cast' "$call"
done
for value in '5 minutes' PT30M '1.5 hours'; do
  like "$(says "select scylla.submit('q', '1', not_before => '$value')")" 'HINT:  A time is expected. The time after a delay is now\(\) \+ interval' \
    "a duration where a time is expected: $value"
done
unlike "$(says "select scylla.nosuch('x'::text)")" 'jsonb' 'other functions keep their hint'
unlike "$(says "select scylla.submit('q', '1', not_before => 'no time')")" 'HINT' 'what is no duration has no hint'
unlike "$(says "select '5 minutes'::timestamptz")" 'HINT' 'nor has a statement that does not call us'
unlike "$(says "select scylla.submit(1, 2)")" 'jsonb' 'and other types'
for command in 'submit q hello' 'plan create --spec hello' 'signal send s hello'; do
  # shellcheck disable=SC2086 # words
  run scylla $command
  like "$errors" 'invalid input syntax for type json.*HINT:  JSON text has quotes of its own' "scylla $command"
done

# ---- commands -----------------------------------------------------------------------------------------------------------

nearest() { # ARGUMENTS MESSAGE [COMMAND-WHOSE-HELP-HELPS]
  # shellcheck disable=SC2086 # words
  run scylla $1
  is "$status $errors" "2 scylla: $2
Try \"${3-scylla} --help\"." "scylla $1"
}
nearest 'sumbit q 1' 'unknown command "sumbit": did you mean "submit"?'
nearest 'queue crate q' 'unknown command "queue crate": did you mean "queue create"?' 'scylla queue'
nearest '-d messages lst' 'unknown command "lst": did you mean "list"?'
nearest '--dbname=messages --json wrok' 'unknown command "wrok": did you mean "work"?'
nearest 'frobnicate' 'unknown command "frobnicate"'
nearest 'plan wiat p' 'unknown command "plan wiat": did you mean "plan wait"?' 'scylla plan'
nearest 'sched list' 'unknown command "sched": did you mean "schedule"?'
run scylla list --frobnicate
like "$errors" 'frobnicate.*Try "scylla list --help"\.$' 'an unknown option leads to the help of its command'
done_testing
