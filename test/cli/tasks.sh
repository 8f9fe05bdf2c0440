#!/bin/bash
# scylla submit, get, list, cancel: what they print, and how they fail.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test tasks
sql 'create extension scylla'

# ---- submit -----------------------------------------------------------------------------------------------------------

run scylla submit mail '{"to": "ada"}' --rn mail-1 --priority 5 --max-attempts 3
is "$status $output" '0 mail-1' 'submit prints the rn'
is "$(sql "select queue, spec, priority, max_attempts, status from scylla.task where rn = 'mail-1'")" \
  'mail|{"to": "ada"}|5|3|ready' 'the task is as said'

run scylla submit mail <<<'{"to": "bob"}'
is "$status" 0 'submit from standard input'
is "$(sql "select spec from scylla.task where rn = '$output'")" '{"to": "bob"}' 'prints the name that the server made'
run scylla submit mail - --rn mail-2 <<<'[1, 2]'
is "$output $(sql "select spec from scylla.task where rn = 'mail-2'")" 'mail-2 [1, 2]' '"-" is standard input, too'

# Durations: the same grammar for what the server is told and for what the program measures.
while IFS='|' read -r duration seconds; do
  run scylla submit delays '{}' --rn "after $duration" --delay "$duration"
  is "$(sql "select round(extract(epoch from not_before - updated))::int from scylla.task where rn = 'after $duration'")" "$seconds" "--delay '$duration'"
done <<'END'
1h30m|5400
PT30M|1800
1 day, 2 hours and 3 min|93780
1.5 min|90
90|90
END
rule='It must be a number of seconds, or numbers with units, the largest first, as "90", "1.5 hours", "1 day 2 hours" or "PT30M".'
for duration in '-5 minutes' '1,500 seconds' soon '1 min 1 h' 1e3s '2 days ago'; do
  for command in 'submit mail 1 --delay' 'reschedule late --delay' 'callback create x --expires' 'events --since' 'watch --interval' 'work mail --exec true --timeout' 'doctor --long-transaction'; do
    # shellcheck disable=SC2086 # words
    run scylla ${command% *} "${command##* }=$duration"
    is "$status $(sed 's/^ *//' <<<"$errors" | tr '\n' ' ')" "2 scylla: invalid value for ${command##* }: \"$duration\" HINT:  $rule " "$command '$duration'"
  done
done
for duration in 0.5ms '21 days'; do
  run scylla watch --interval "$duration"
  like "$errors" 'It must be between 1ms and 20d' "watch --interval $duration"
done
run scylla submit mail '{}' --rn late --delay '2 hours'
is "$(sql "select status, not_before > now() + interval '119 min' and not_before < now() + interval '121 min'
             from scylla.task where rn = 'late'")" 'waiting|t' '--delay'
run scylla submit mail '{}' --rn later --not-before '2099-01-01 00:00+00'
is "$(sql "select extract(epoch from not_before) from scylla.task where rn = 'later'")" 4070908800.000000 '--not-before'

run scylla submit mail '{}' --rn retried --retry '{"initial": "1 h"}'
sql "select from scylla.lease_task('retried', 'w'), scylla.fail('retried', 'w', '{\"code\": \"x\"}')"
is "$(sql "select not_before > now() + interval '59 min' from scylla.task where rn = 'retried'")" t '--retry'
scylla submit many --lines --retry '{"initial": "1 h"}' <<<'"retried, too"' >/dev/null
sql "select from scylla.lease('many', 'w') as t, scylla.fail(t.rn, 'w', '{\"code\": \"x\"}')"
is "$(sql "select not_before > now() + interval '59 min' from scylla.task where queue = 'many'")" t 'with --lines, too'
scylla queue drop many --force
scylla cancel retried >/dev/null

run scylla submit mail '{}' --rn mail-1
is "$status $(head -n 1 <<<"$errors")" '1 scylla: task "mail-1" already exists' 'a duplicate is an error'
like "$errors" "HINT:  With on_duplicate => 'ignore', an existing task is left as it is" 'whose hint says how to submit it all the same'
run scylla submit mail '{}' --rn mail-1 --on-duplicate ignore --json
is "$status" 0 'or, if wanted, none'
is "$(sql "select '$output'::jsonb ->> 'priority'")" 5 'and the task that is there is printed'
is "$(sql "select string_agg(key, ',') from json_each('$output')")" \
  "$(sql "select string_agg(attname, ',' order by attnum) from pg_attribute where attrelid = 'scylla.task'::regclass")" \
  'JSON has the columns of scylla.task, in order'

run scylla submit mail '{"a"'
is "$status" 1 'a spec that is no JSON'
is "$(head -n 1 <<<"$errors")" 'scylla: invalid input syntax for type json' 'is refused by the server'
like "$errors" 'DETAIL:  ' 'whose detail is shown'
run scylla submit mail '{}' --priority 128
is "$status" 1 'so is a bad priority'
like "$errors" '^scylla: invalid value for argument "priority": 128' 'which the message names'

# ---- submit --lines ---------------------------------------------------------------------------------------------------

run scylla submit many --lines --priority 9 --key k < <(printf '%s\n' '{"i": 1}' '' '"quo\"te \\ {,} é"' 'null1' | head -n 3)
is "$status $output" '0 2' 'submit --lines prints how many'
is "$(sql "select string_agg(spec::text, ' ' order by spec), min(priority), min(key) from scylla.task where queue = 'many'")" \
  '"quo\"te \\ {,} é" {"i": 1}|9|k' 'one per line, as it is'
run scylla submit bad --lines < <(printf '%s\n' 1 2 '{' 4)
is "$status $errors" '1 scylla: line 3 of standard input is not JSON: {' 'a line that is no JSON is named'
is "$(sql "select count(*) from scylla.task where queue = 'bad'")" 0 'and nothing is submitted'
run scylla submit none --lines </dev/null
is "$status $output" '0 0' 'no lines, no tasks'
run scylla submit many --lines --json < <(seq 1000)
is "$(sql "select count(*) || ' ' || bool_and((e ->> 'inserted')::boolean) from jsonb_array_elements('$output') as e")" '1000 true' \
  'as JSON: a row per task'

# ---- get --------------------------------------------------------------------------------------------------------------

run scylla get mail-1
is "$status $(grep '^priority' <<<"$output")" '0 priority       5' 'get shows a column per line'
run scylla get mail-1 --json
is "$(sql "select '$output'::jsonb = to_jsonb(t) from scylla.get_task('mail-1') as t")" t 'get --json'
run scylla get mail-1 --field spec
is "$status $output" '0 {"to": "ada"}' 'get --field'
run scylla get mail-1 --field result
is "$status $output" '0 ' 'a null is an empty line'
run scylla get mail-1 --field reslut
is "$status $errors" '1 scylla: a task has no column "reslut"' 'no such column'
run scylla get nobody
is "$status $errors" '1 scylla: task "nobody" does not exist' 'no such task'

# ---- list -------------------------------------------------------------------------------------------------------------

run scylla list mail --status waiting
is "$(head -n 1 <<<"$output" | tr -s ' ')" 'rn queue status priority progress attempt failures owner updated' 'list is a table'
is "$(tail -n +2 <<<"$output" | cut -d' ' -f1 | sort | tr '\n' ' ')" 'late later ' 'of the tasks asked for'
run scylla list --status ready --limit 1 --json
is "$(sql "select '$output'::jsonb -> 0 ->> 'priority' || ' ' || jsonb_array_length('$output')")" '9 1' 'as JSON, an array'
run scylla list --queue nobody --json
is "$status $output" '0 []' 'an empty one'
sql "select from scylla.lease_task('mail-1', E'bell\\x07\\nworker')"
run scylla list --queue mail --status running
like "$output" 'bell  worker' 'what would disturb a terminal is a blank'
run scylla list --worker $'bell\a\nworker' --json
is "$(sql "select jsonb_array_length('$output')")" 1 'list --worker'
run scylla list --limit 0
is "$status" 1 'a bad limit'

# ---- cancel -----------------------------------------------------------------------------------------------------------

run scylla cancel mail-2 nobody late mail-2
is "$status" 1 'cancel: one is not there, one has just ended'
is "$(sql "select string_agg(status::text, ' ') from scylla.task where rn in ('mail-2', 'late')")" 'cancelled cancelled' \
  'the others are cancelled all the same'
is "$(grep -c '^scylla: ' <<<"$errors")" 2 'two messages'
like "$errors" 'task "mail-2" has already ended' 'one of them with the state'
run scylla cancel later
is "$status" 0 'cancel a task'

# ---- again ------------------------------------------------------------------------------------------------------------

for n in 1 2 3; do
  sql "select from scylla.submit('dead', '$n', rn => 'dead-$n'), scylla.lease_task('dead-$n', 'w'), scylla.abort('dead-$n', 'w', '{\"code\": \"net\", \"message\": \"no route\"}')"
done
run scylla dead dead
is "$status $(tail -n +2 <<<"$output" | tr -s ' ' | cut -d' ' -f1-5)" $'0 dead-3 dead net no route\ndead-2 dead net no route\ndead-1 dead net no route' \
  'dead shows what was aborted, and why'
run scylla dead --queue dead --code disk --json
is "$status $output" '0 []' 'dead, by the code of the error'
run scylla resubmit dead-1 --rn dead-1-again
is "$status $output" '0 dead-1-again' 'resubmit prints the name of the copy'
run scylla resubmit dead-1
is "$status $errors" $'1 scylla: task "dead-1" was already resubmitted\nDETAIL:  Its last copy is task "dead-1-again".' 'but once'
run scylla resubmit --queue dead --code net --preview --json
is "$(sql "select '$output'::jsonb")" '[{"rn": "dead-2"}, {"rn": "dead-3"}]' 'a preview of many'
run scylla resubmit --queue dead --code net --limit 1 --json
is "$(sql "select '$output'::jsonb -> 0 ->> 'rn' || ' ' || (select count(*) from scylla.dead_tasks('dead'))")" 'dead-2 1' 'so many of them'
sql "select from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'dead by key', 'rn', 'dk-' || i, 'spec', i, 'key', 'k' || i % 2)) from generate_series(1, 6) i)), scylla.cancel_many('{\"queue\": \"dead by key\"}')"
run scylla resubmit --queue 'dead by key' --status cancelled --key k1 --preview --json
is "$(sql "select '$output'::jsonb")" '[{"rn": "dk-1"}, {"rn": "dk-3"}, {"rn": "dk-5"}]' 'a preview of those with a key, oldest first'
run scylla resubmit --queue 'dead by key' --status cancelled --key k1 --limit 2 --json
is "$(sql "select string_agg(x ->> 'rn', ' ' order by n) || ' ' || count(r.new_rn) from jsonb_array_elements('$output') with ordinality as t (x, n) left join scylla.resubmissions r on r.new_rn = x ->> 'new_rn'")" 'dk-1 dk-3 2' 'so many of them are resubmitted'
run scylla resubmit --queue 'dead by key' --status cancelled --key k1 --json
is "$(sql "select string_agg(x ->> 'rn', ' ') from jsonb_array_elements('$output') x")" 'dk-5' 'and then the rest'
run scylla resubmit --queue 'dead by key' --key k1 --ended-after 2001-01-01
is "$status ${errors%%$'\n'*}" '2 scylla: --ended-after and --ended-before go with --queue, --status and --code only' 'two kinds of filter'
run scylla resubmit
is "$status $errors" '1 scylla: either RN or --queue is needed' 'resubmit needs to know what'
run scylla resubmit dead-1 --queue dead
is "$status" 2 'and not twice'

# ---- the command line -------------------------------------------------------------------------------------------------

for arguments in '' 'submit' 'frobnicate' 'list --bogus' 'list --status readi' 'submit q {} --on-duplicate perhaps' 'get' \
  'submit q 1 2' 'submit q 1 --delay 1s --not-before now' 'queue' 'cancel'; do
  # shellcheck disable=SC2086 # words
  run scylla $arguments
  is "$status ${output:-nothing}" '2 nothing' "usage: scylla $arguments"
done
run scylla --version
is "$status $output" "0 scylla $(sql "select extversion from pg_extension where extname = 'scylla'")" '--version'

run env -u PGHOST -u PGPORT -u PGDATABASE -u PGUSER scylla -h "$PGHOST" -p "$PGPORT" -d tasks -U postgres get mail-1 --field queue
is "$status $output" '0 mail' 'connection options of psql'
run env -u PGHOST -u PGPORT -u PGDATABASE -u PGUSER scylla get mail-1 --field queue \
  -d "postgresql://postgres@/tasks?host=$PGHOST&port=$PGPORT"
is "$status $output" '0 mail' 'a URI, behind the command'
run scylla -d "dbname=tasks application_name='it''s me'" -d 'dbname=tasks' get mail-1 --field queue
is "$status" 2 'an option twice'
run env PGTZ=Asia/Kathmandu scylla get mail-1 --field updated
like "$status $output" '^0 .*\+05:45$' 'times are in the time zone of the session'
printf '[here]\nhost=%s\nport=%s\ndbname=tasks\nuser=postgres\n' "$PGHOST" "$PGPORT" >"$scratch/services"
run env -u PGHOST -u PGPORT -u PGDATABASE -u PGUSER PGSERVICEFILE="$scratch/services" PGSERVICE=here scylla get mail-1 --field queue
is "$status $output" '0 mail' 'a service of the environment'
# ---- find, cancel with a filter, take-back -------------------------------------------------------------------------------

sql "select from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'f', 'rn', 'f-' || i, 'spec', jsonb_build_object('n', i), 'key', 'k' || i % 2)) from generate_series(1, 6) i))"
run scylla find --queue f --key k1 --json
is "$(sql "select string_agg(t ->> 'rn', ' ' order by n) from jsonb_array_elements('$output') with ordinality as x (t, n)")" 'f-5 f-3 f-1' 'find'
run scylla find --queue f --spec '{"n": 4}'
is "$status $(grep -c f-4 <<<"$output")$errors" '0 1' 'by what is in the spec'
run scylla find --queue f --limit 2 --json
like "$errors" 'there may be more: --after a[0-9]+$' 'it says that there are more'
run scylla find --queue f --limit 2 --after "${errors##* }" --json
is "$(sql "select string_agg(t ->> 'rn', ' ' order by n) from jsonb_array_elements('$output') with ordinality as x (t, n)")" 'f-4 f-3' 'and where to go on'
run scylla find --queue f --created-before 2001-01-01
is "$status $(grep -c f- <<<"$output")" '0 0' 'by age'
run scylla find --queue f --spec '{'
like "$status $errors" '^1 .*json' 'a spec that is no JSON'
run scylla cancel --queue f --key k1 --dry-run
is "$status $output $(sql "select count(*) from scylla.task where queue = 'f' and status = 'ready'")" '0 3 6' 'a dry run prints how many'
run scylla cancel --queue f --key k1
is "$status $output $(sql "select string_agg(rn, ' ' order by rn) from scylla.task where queue = 'f' and status = 'ready'")" '0 3 f-2 f-4 f-6' 'cancel by a filter'
sql "select from scylla.lease('f', 'gone', 2, '1 h')"
run scylla take-back --worker gone --dry-run
is "$output" 2 'take-back, dry'
run scylla take-back --worker gone
is "$status $output $(sql "select count(*) from scylla.task where queue = 'f' and status = 'ready'")" '0 2 3' 'take-back'
run scylla cancel
is "$status ${errors%%$'\n'*}" '2 scylla: either RN, options that say which tasks, or --all is needed' 'cancel without anything'
run scylla cancel f-2 --queue f
is "$status" 2 'both are refused'
run scylla cancel f-2 --dry-run
is "$status ${errors%%$'\n'*}" '2 scylla: --dry-run goes with options that say which tasks' 'a dry run of names'
sql "create role \"cli viewer\" login; grant usage on schema scylla to \"cli viewer\"; grant execute on function scylla.cancel_many to \"cli viewer\";
     select scylla.grant_queue('f', 'cli viewer', 'view')"
run scylla -U 'cli viewer' cancel --all
is "$status $output ${errors%%$'\n'*}" '1 0 scylla: task "f-2": This needs the privilege "submit" on its queue.' 'what could not be cancelled is said, and why'

# Bulk changes take a fifth of the time: workers go first.
sql "select from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'bulk', 'spec', i)) from generate_series(1, 20000) i))"
rests() { # FUNCTION MICROSECONDS
  is "$(sql "select format('%s %s', calls, 4000 * total_time * (calls - 1) / calls <= $2) from pg_stat_user_functions where funcname = '$1'")" '40 t' \
    "40 portions of $1 with pauses between them"
}
begin=${EPOCHREALTIME/./}
run env PGOPTIONS='-c track_functions=all' scylla cancel --queue bulk
is "$status $output" '0 20000' 'cancel 20,000'
rests cancel_many "$((${EPOCHREALTIME/./} - begin))"
begin=${EPOCHREALTIME/./}
run env PGOPTIONS='-c track_functions=all' scylla resubmit --queue bulk --status cancelled --created-after 2001-01-01 --limit 20000 --json
is "$status $(sql "select count(*) from scylla.task where queue = 'bulk' and status = 'ready'")" '0 20000' 'resubmit 20,000'
rests resubmit_matching "$((${EPOCHREALTIME/./} - begin))"

done_testing
