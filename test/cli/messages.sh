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

# ---- rights -------------------------------------------------------------------------------------------------------------

sql 'create role stranger; grant usage on schema scylla to stranger'
calls=$(sql "select format('%s scylla.%I(%s);', case prokind when 'p' then 'call' else 'select' end, proname,
                           (select string_agg(format('null::%s', t::regtype), ', ' order by n) from unnest(proargtypes) with ordinality _ (t, n)))
             from pg_proc where pronamespace = 'scylla'::regnamespace and proname !~ '^_'
             union all select format('select from scylla.%I;', relname) from pg_class
             where relnamespace = 'scylla'::regnamespace and relkind = 'v' and relname !~ '^_'")
# The name of what was refused, and the kind that the hint proposes.
proposed=$(psql -XqAt <<<"set role stranger; $calls" 2>&1 | sed -n "s/^ERROR:  permission denied for [a-z]* //p
  s/^HINT:  \"SELECT scylla.grant_role('\\([a-z_]*\\)', 'stranger')\" gives role \"stranger\" this right\\..*/ \\1/p
  s/^HINT:  It belongs to no kind of role: it is for the owner of the extension and superusers\\.$/ none/p" | paste -d '' - - | sort)
is "$proposed" "$(sql "select distinct on (object) object || ' ' || coalesce(kind, 'none') from scylla.role_kinds() with ordinality k (kind, privilege, object, n)
                       where object !~ '^_' order by object, n" | sort)" 'each function and view that a role lacks has a hint that names a kind which has it'
has_hint() { # SQL HINT NAME
  is "$(says 'set role stranger' "$1" | sed -n 's/^HINT:  //p')" "$2" "$3"
}
gives() { echo "\"SELECT scylla.grant_role('$1', 'stranger')\" gives role \"stranger\" this right."; } # KIND
has_hint "select scylla.cancel('t')" "$(gives client) Other kinds with it: scheduler, operator, console_operator." 'the hint names the other kinds, too'
has_hint 'set search_path = scylla, public' '' 'a statement that is allowed has none'
is "$(says 'set role stranger' 'set search_path = scylla' "select lease('q', 'w')" | sed -n 's/^HINT:  //p')" "$(gives worker)" 'also without the schema'
has_hint "do \$\$ begin perform scylla.lease('q', 'w'); end \$\$" "$(gives worker)" 'also in a block'
sql "create function public.leases() returns void language sql as \$\$ select from scylla.lease('q', 'w') \$\$;
     create function public.defines() returns void language sql security definer as \$\$ select from scylla.lease('q', 'w') \$\$; alter function defines() owner to stranger;
     create function public.cancel(text) returns void language sql as 'select'; revoke execute on function public.cancel(text) from public"
for call in leases defines; do
  is "$(says "$([[ $call == defines ]] || echo set role stranger)" "select public.$call()" | sed -n 's/^HINT:  //p')" "scylla.grant_role('worker', …) gives a role this right." \
    "in a function the hint names no role, because it may be another one: $call"
done
has_hint "select public.cancel('t')" '' 'a function of another schema with the same name has none'
sql 'revoke usage on schema scylla from stranger'
has_hint "select scylla.lease('q', 'w')" "$(gives worker)" 'without the schema, the hint is about the function'
has_hint 'select from scylla.queue_settings, scylla.task' "$(gives reader) Other kinds with it: client, author, operator, queue_owner, console_reader, console_operator." \
  'or about the first view'
sql "create role \"it's\" login"
like "$(says "set role \"it's\"" "select scylla.lease('q', 'w')")" "grant_role\\('worker', 'it''s'\\)\" gives role \"it's\" this" 'the name of the role is quoted'
sql "grant usage on schema scylla to \"it's\"; grant execute on function scylla.lease, scylla.place, scylla.send_signal, scylla.start_workflow to \"it's\"
     ; select scylla.create_queue('it''s'), scylla.create_pool('p', '{\"a\": 1}'), scylla.send_signal('s'),
     scylla.create_workflow('{\"properties\": {\"owner\": \"ann\"}, \"workflow\": {\"id\": \"w\", \"steps\": [{\"step\": {\"id\": \"s\", \"type\": \"NoOp\"}}]}}')" >/dev/null
while read -r call arguments; do
  is "$(says "set role \"it's\"" "select scylla.$call" | sed -n 's/^HINT:  //p')" \
    "\"SELECT scylla.$arguments\", by a role with the privilege \"admin\", gives role \"it's\" this privilege." "a privilege that is missing: $call"
done <<'ALL'
lease('it''s','w') grant_queue('it''s', 'it''s', 'work')
place('p') grant_pool('p', 'it''s', 'admin')
send_signal('s') grant_signal('s', 'it''s', 'send')
start_workflow('w') grant_workflow('w', 'it''s', 'run')
ALL
sql "drop owned by \"it's\"; drop function leases(), defines(), cancel(text); drop owned by stranger; drop role stranger, \"it's\""

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
