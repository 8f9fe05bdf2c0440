#!/bin/bash
# Every command where it cannot do its work: without a server, a database, the extension or rights, with a library of another
# version, with standard output or input closed. Each says why in one line, and ends with the documented status.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test failures
sql 'create extension scylla'
sql 'alter database failures set scylla.schedules = manual'
sql "select scylla.create_queue('q'); select scylla.create_plan('p'); select from scylla.submit('q', '1', rn => 't', plan => 'p');
     select scylla.open_plan('p'); select from scylla.lease_task('t', 'w'); select from scylla.complete('t', 'w');
     select scylla.create_plan('new-1'); select scylla.create_plan('new-2'); select scylla.create_plan('to-be-cancelled')"
sql "select from scylla.submit('other', '1', rn => 'to-be-cancelled')"
# Each command below has what it works on: "delete" needs a task that has ended, "reschedule" one that has not.
for name in to-be-rescheduled to-be-deleted; do sql "select from scylla.submit('other', '1', rn => '$name')"; done
sql "select from scylla.cancel('to-be-deleted')"
for n in '' -2; do sql "select from scylla.create_plan('to-be-rerun$n'), scylla.submit('rerun', '1', plan => 'to-be-rerun$n'), scylla.cancel_plan('to-be-rerun$n')"; done
sql "select scylla.create_callback('to-be-resolved'), scylla.create_callback('to-be-rejected'), scylla.send_signal('s')"
sql "select scylla.create_trigger(name, '[{\"signal\": \"s\"}]', '{\"submit\": {\"queue\": \"q\", \"spec\": 1}}') from unnest('{t,to-be-dropped}'::text[]) name"
sql "select scylla.create_pool('pool', '{\"a\": 1}')"
sql "select scylla.define_job('j', 'q')"
echo '[{"job": "new", "queue": "q"}]' >"$scratch/job.json"
echo '[{"name": "s", "cron": "@daily", "queue": "q", "spec": 1}]' >"$scratch/schedules.json"
sql "select scylla.create_workflow('{\"properties\": {\"owner\": \"ann\"}, \"workflow\": {\"id\": \"w\", \"steps\": [{\"step\": {\"id\": \"s\", \"type\": \"NoOp\"}}]}}')"
sql "select scylla.create_workflow('{\"properties\": {\"owner\": \"ann\"}, \"workflow\": {\"id\": \"busy\", \"steps\": [{\"step\": {\"id\": \"s\", \"type\": \"T\"}}]}}'), scylla.start_workflow('busy'), scylla.start_workflow('busy')"
sql "select scylla.create_workflow('{\"properties\": {\"owner\": \"ann\"}, \"workflow\": {\"id\": \"broken\", \"steps\": [{\"step\": {\"id\": \"s\", \"type\": \"T\"}}]}}'), scylla.start_workflow('broken'), scylla.kill_run('broken', 1), scylla._advance()"
sql "select scylla.backfill('busy', '[{}, {}]'); update scylla.workflow_backfill_state set id = 1; update scylla.workflow_backfill_item_state set backfill = 1"
sql "select scylla.create_workflow('{\"properties\": {\"owner\": \"ann\", \"run_strategy\": \"parallel\"}, \"workflow\": {\"id\": \"asleep\", \"steps\": [{\"step\": {\"id\": \"s\", \"type\": \"Sleep\", \"params\": {\"sleep_seconds\": {\"type\": \"LONG\", \"value\": 100000}}}}]}}')"
sql "select scylla.start_workflow('asleep') from generate_series(1, 6)"
sql "select scylla.create_workflow('{\"properties\": {\"owner\": \"ann\", \"run_strategy\": \"parallel\"}, \"workflow\": {\"id\": \"stopping\", \"steps\": [{\"step\": {\"id\": \"s\", \"type\": \"NoOp\"}}]}}')"
sql "select scylla.set_breakpoint('stopping', 's'), scylla.start_workflow('stopping'), scylla.start_workflow('stopping')"
sql "select scylla.create_workflow('{\"properties\": {\"owner\": \"ann\", \"run_strategy\": \"parallel\"}, \"workflow\": {\"id\": \"waits\", \"steps\": [{\"step\": {\"id\": \"s\", \"type\": \"NoOp\", \"signal_dependencies\": [{\"name\": \"never\"}]}}]}}'), scylla.start_workflow('waits'), scylla.start_workflow('waits')"
sql 'select scylla._advance()'
asleep() { holds "select count(*) = 10 from scylla.workflow_step where workflow in ('asleep', 'stopping', 'waits')"; }
wait_until asleep
sql "select scylla.create_workflow('{\"properties\": {\"owner\": \"ann\"}, \"workflow\": {\"id\": \"again\", \"steps\": [{\"step\": {\"id\": \"s\", \"type\": \"T\"}}]}}'), scylla.start_workflow('again'), scylla.kill_run('again', 1), scylla._advance()"
sql "select scylla.create_workflow('{\"properties\": {\"owner\": \"ann\", \"run_strategy\": \"parallel\"}, \"workflow\": {\"id\": \"ended\", \"steps\": [{\"step\": {\"id\": \"s\", \"type\": \"T\"}}]}}'), scylla.start_workflow('ended'), scylla.start_workflow('ended'), scylla._advance()"
wait_until holds "select count(*) = 2 from scylla.workflow_step where workflow = 'ended'"
sql "select scylla.kill_workflow('ended'), scylla._advance()"
wait_until holds "select count(*) = 2 from scylla.workflow_run where workflow = 'ended' and status = 'FAILED'"
echo '{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}' >"$scratch/workflow.json"
sql "select scylla.create_workflow('{\"properties\": {\"owner\": \"ann\"}, \"workflow\": {\"id\": \"out\", \"steps\": [{\"step\": {\"id\": \"s\", \"type\": \"Out\"}}]}}'), scylla.start_workflow('out'), scylla._advance()"
sql "select scylla.create_job_template(format('{\"job_type\": \"t\", \"version\": \"%s\", \"type\": \"NoOp\"}', v)::jsonb) from unnest('{default,two,three}'::text[]) v"
echo '{"job_type": "t", "type": "NoOp"}' >"$scratch/template.json"
has_out() { holds "select count(*) = 1 from scylla.list_tasks('out', 'ready')"; }
wait_until has_out
out=$(sql "select rn from scylla.lease('out', 'w', timeout => '1 h')")
echo '[{"workflow": "w", "request_id": "r"}]' >"$scratch/requests.json"
sql "select scylla.submit('held', '1', rn => n) from unnest(array['to-be-asked', 'to-be-deferred']) n"
sql "select from scylla.lease('held', 'w', 2, '1 h')"
sql "select scylla.create_queue('eventful', events => true); select from scylla.submit('eventful', '1')"
sql 'create role failures_guest login'

# COMMAND | ARGUMENTS | whether it prints something | whether it asks the library, and not only views, or what needs no table. They can be done again,
# but for four.
table='
submit          | q 1                                   | prints | library
get             | t                                     | prints | library
explain         | t                                     | prints | library
list            |                                       | prints | library
cancel          | to-be-cancelled                       | prints | library
find            | --queue other                         | prints | library
take-back       | --queue other                         | prints | library
reschedule      | to-be-rescheduled                     | prints | library
priority        | to-be-rescheduled 5                   | prints | library
delete          | to-be-deleted                         | silent | library
resubmit        | --queue other --status cancelled      | prints | library
dead            |                                       | prints | library
set-output      | OUT --params {}                       | silent | library
not-yet         | to-be-asked --worker w                | silent | library
defer           | to-be-deferred [] --worker w          | silent | library
work            | q --exec true --until-empty --quiet   | silent | library
plan create     |                                       | prints | library
plan open       | new-1                                 | silent | library
plan list       |                                       | prints | views
plan get        | p                                     | prints | library
plan wait       | p --timeout 1s                        | prints | library
plan dot        | p                                     | prints | library
plan mermaid    | p                                     | prints | library
plan timeline   | p                                     | prints | library
plan cancel     | to-be-cancelled                       | prints | library
plan rerun      | to-be-rerun                           | prints | library
plan owner      | p postgres                            | silent | library
callback create |                                       | prints | library
callback resolve| to-be-resolved                        | silent | library
callback reject | to-be-rejected {"code":"x"}           | silent | library
signal send     | s                                     | prints | library
signal list     |                                       | prints | views
signal grant    | s failures_guest wait                 | silent | library
signal revoke   | s failures_guest wait                 | silent | library
conditions      |                                       | prints | views
trigger create  | t2 [{"signal":"s"}] {"submit":{"queue":"q","spec":1}} | silent | library
trigger drop    | to-be-dropped                         | silent | library
trigger pause   | t                                     | silent | library
trigger resume  | t                                     | silent | library
trigger clear   | t                                     | prints | library
trigger list    |                                       | prints | views
trigger signals |                                       | prints | views
trigger failures|                                       | prints | views
pool create     | new {"a":1}                           | silent | library
pool set        | pool --policy strict                  | silent | library
pool list       |                                       | prints | views
pool get        | pool                                  | prints | views
pool queue      |                                       | prints | views
pool history    |                                       | prints | views
pool reservations|                                      | prints | views
pool drain      | pool                                  | silent | library
pool resume     | pool                                  | silent | library
pool report     | pool {"a":1}                          | silent | library
pool place      |                                       | prints | library
pool grant      | pool failures_guest use               | silent | library
pool revoke     | pool failures_guest use               | silent | library
pool drop       | new                                   | silent | library
job define      | FILE                                  | silent | library
job list        |                                       | prints | views
job get         | j                                     | prints | views
job run         | j --ids 1-3                           | prints | library
job explain     | j --ids 1-3                           | prints | library
job plans       |                                       | prints | views
job freshness   |                                       | prints | views
job graph       | j                                     | prints | views
job mark-fresh  | j 1-3                                 | silent | library
job forget      | j                                     | prints | library
job schedule    | js @daily j ids={[1,4)}               | prints | library
job grant       | j failures_guest                      | silent | library
job revoke      | j failures_guest                      | silent | library
job drop        | new                                   | silent | library
workflow validate| WORKFLOW                             | silent | views
workflow push   | WORKFLOW                              | prints | library
workflow list   |                                       | prints | views
workflow stat   |                                       | prints | views
workflow events |                                       | silent | library
workflow watch  | --count 1                             | prints | views
workflow versions| w                                    | prints | views
workflow show   | w                                     | prints | views
workflow start  | w --request-id r                      | prints | library
workflow start-many| REQUESTS                           | prints | library
workflow unblock| w                                     | prints | library
backfill start  | busy {"n":[1]}                        | prints | library
backfill list   |                                       | prints | views
backfill show   | 1                                     | prints | views
backfill pause  | 1                                     | silent | library
backfill resume | 1                                     | silent | library
backfill cancel | 1                                     | prints | library
workflow stop   | w                                     | prints | library
workflow kill   | w                                     | prints | library
workflow pause  | w                                     | silent | library
workflow resume | w                                     | silent | library
step pause      | stopping 1 s                          | silent | library
step resume     | stopping 1 s                          | prints | library
breakpoint set  | w s                                   | silent | library
breakpoint drop | stopping s                            | silent | library
breakpoint list |                                       | prints | views
step stop       | asleep 1 s                            | prints | library
step kill       | asleep 2 s                            | prints | library
step skip       | asleep 3 s                            | prints | library
step restart    | ended 1 s                             | prints | library
step bypass     | waits 1 s                             | prints | library
run list        |                                       | prints | views
run show        | busy 1                                | prints | views
run restart     | again 1                               | prints | library
run stop        | busy 2                                | silent | library
run kill        | busy 1                                | silent | library
run unblock     | broken 1                              | silent | library
run tree        | busy 1                                | prints | library
run why         | busy 1                                | prints | library
run failed      | broken 1                              | prints | library
run rollup      | busy 1                                | prints | views
run actions     | busy 1                                | prints | views
run timeline    | busy 1                                | prints | views
run dot         | busy 1                                | prints | library
run mermaid     | busy 1                                | prints | library
run gantt       | busy 1                                | prints | library
run lineage     | busy 1                                | prints | library
workflow dot    | w                                     | prints | library
workflow mermaid| w                                     | prints | library
workflow activate| w                                    | silent | library
workflow deactivate| w                                  | silent | library
workflow alter  | w step_concurrency=2                  | silent | library
workflow grant  | w failures_guest run                  | silent | library
workflow revoke | w failures_guest run                  | silent | library
workflow drop   | new                                   | silent | library
template push   | TEMPLATE                              | silent | library
template list   |                                       | prints | views
template show   | t                                     | prints | views
template drop   | t two                                 | silent | library
watch           | --count 1                             | prints | library
events          |                                       | prints | library
queue create    | new                                   | silent | library
queue set       | q aging=0.5                           | silent | library
queue list      |                                       | prints | views
queue get       | q                                     | prints | views
queue pause     | other                                 | silent | library
queue resume    | other                                 | silent | library
queue drop      | new                                   | silent | library
queue grant     | q failures_guest view                 | silent | library
queue revoke    | q failures_guest view                 | silent | library
queue grants    |                                       | prints | views
queue owner     | q postgres                            | silent | library
schedule set    | s @daily q 1                          | prints | library
schedule plan   | sp @daily [{"queue":"q","spec":1}]    | prints | library
schedule list   |                                       | prints | views
schedule get    | s                                     | prints | views
schedule remove | sp                                    | silent | library
schedule next   | @daily                                | prints | views
schedule arm    |                                       | prints | library
schedule run    |                                       | prints | library
schedule sync   | SCHEDULES                             | prints | library
grant           | worker failures_guest                 | silent | library
revoke          | worker failures_guest                 | silent | library
init            |                                       | prints | doctor
doctor          | --no-check                            | prints | doctor
console         | --listen 127.0.0.1:0                  | prints | doctor
completion      | bash                                  | prints | none
man             |                                       | prints | none
'
table=${table/ FILE / $scratch/job.json }
table=${table/ SCHEDULES / $scratch/schedules.json }
table=${table// WORKFLOW / $scratch/workflow.json }
table=${table// TEMPLATE / $scratch/template.json }
table=${table// OUT / $out }
table=${table// REQUESTS / $scratch/requests.json }
names=() lines=() prints=() asks=()
while IFS='|' read -r name words output needs; do
  [[ -n $name ]] || continue
  read -r name <<<"$name"
  names+=("$name") lines+=("$name $words")
  prints+=("${output// /}") asks+=("${needs// /}")
done <<<"$table"

leaves() { commands scylla | awk '{ all[NR] = $0 } END { for (i = 1; i <= NR; i++) if (index(all[i + 1], all[i] " ") != 1) print substr(all[i], 8) }'; }
is "$(printf '%s\n' "${names[@]}" | sort)" "$(leaves | sort)" 'the table has every command'

scylla_with() { # ARGUMENT...: the command of the table's row i, with further arguments
  local words limit
  read -ra words <<<"${lines[i]}"
  limit=(timeout 60)
  [[ ${names[i]} != console ]] || limit=(timeout --preserve-status 1) # it serves until a signal
  run "${limit[@]}" scylla "${words[@]}" "$@" </dev/null
}
# One line that says what is wrong, and nothing but the detail and the hint.
refused() { # MESSAGE HINT NAME: regular expressions
  local message rest
  message=$(head -n 1 <<<"$errors")
  rest=$(tail -n +2 <<<"$errors")
  tests=$((tests + 1))
  if [[ $status == 1 && -z $output && $message =~ ^scylla:\ $1$ && $rest =~ ^(DETAIL:\ \ [^$'\n']+$'\n'?)?(HINT:\ \ $2)?$ ]]; then
    echo "ok $tests - $3: ${names[i]}"
  else
    echo "not ok $tests - $3: ${names[i]}"
    printf '%s\n' "status: $status" "output: $output" "errors: $errors" | sed 's/^/# /'
  fi
}
# What fails before a command's own work begins is the same code for all commands: each such situation has every third command, and each
# command two of the six situations. SCYLLA_TEST_STRIDE=1: all in all.
stride=${SCYLLA_TEST_STRIDE:-3} situation=0
some() { # FUNCTION KINDS
  situation=$((situation + 1))
  for i in "${!names[@]}"; do [[ " $2 " != *" ${asks[i]} "* ]] || (((i + situation) % stride)) || "$1"; done
}
all() { i=; for i in "${!names[@]}"; do [[ " $2 " != *" ${asks[i]} "* ]] || "$1"; done; } # FUNCTION KINDS

# ---- in order ---------------------------------------------------------------------------------------------------------------

# So that what follows fails for no other reason.
succeeds() {
  scylla_with
  is "$status $([[ -n $output ]] && echo prints || echo silent)$errors" "0 ${prints[i]}" "as it should be: ${names[i]}"
}
monitored() { holds "select exists (select from pg_stat_activity where backend_type = 'scylla monitor' and datname = 'failures')"; }
wait_until monitored
all succeeds 'library views doctor none'
sql "select scylla.create_plan('to-be-cancelled-2')"
lines=("${lines[@]/#plan cancel*/plan cancel to-be-cancelled-2}")
lines=("${lines[@]/#plan open*/plan open new-2}")
sql "select from scylla.submit('other', '1', rn => 'to-be-cancelled-2')"
lines=("${lines[@]/#cancel*/cancel to-be-cancelled-2}")
# The first time was successful, so there is nothing left to delete.
sql "select from scylla.submit('other', '1', rn => 'to-be-deleted-2')"
sql "select from scylla.cancel('to-be-deleted-2')"
lines=("${lines[@]/#delete*/delete to-be-deleted-2}")
lines=("${lines[@]/#plan rerun*/plan rerun to-be-rerun-2}")
sql "select scylla.start_workflow('busy'), scylla.start_workflow('busy')"
sql "select scylla.stop_run('again', 1), scylla._advance()"
lines=("${lines[@]/#run stop*/run stop busy 4}")
lines=("${lines[@]/#run kill*/run kill busy 3}")
lines=("${lines[@]/#template drop*/template drop t three}")
sql "select scylla.set_breakpoint('stopping', 's', 1)"
lines=("${lines[@]/#breakpoint drop*/breakpoint drop stopping s --version 1}")
lines=("${lines[@]/#step resume*/step resume stopping 2 s}")
lines=("${lines[@]/#step pause*/step pause stopping 2 s}")
lines=("${lines[@]/#step stop*/step stop asleep 4 s}")
lines=("${lines[@]/#step kill*/step kill asleep 5 s}")
lines=("${lines[@]/#step skip*/step skip asleep 6 s}")
lines=("${lines[@]/#step restart*/step restart ended 2 s}")
lines=("${lines[@]/#step bypass*/step bypass waits 2 s}")

# ---- no server, no database ---------------------------------------------------------------------------------------------------

no_server() {
  scylla_with -h "$scratch" -p 1
  refused "connection to server on socket \"$scratch/.s.PGSQL.1\" failed: No such file or directory" \
    'Is the server running locally and accepting connections on that socket\?' 'no server'
}
some no_server 'library views doctor'
no_database() {
  scylla_with -d no_such_database
  refused 'connection to server on socket "[^"]*" failed: FATAL:  database "no_such_database" does not exist' '' 'no database'
}
some no_database 'library views doctor'
works_without() {
  scylla_with -h "$scratch" -p 1
  is "$status $errors" '0 ' "needs no server: ${names[i]}"
}
all works_without none
i=0
run scylla list -h "$scratch,$scratch" -p 1,2
refused "connection to server on socket \"$scratch/.s.PGSQL.1\" failed: [^;]*; connection to server on socket \"$scratch/.s.PGSQL.2\" failed: [^;]*" \
  'Is the server running locally and accepting connections on that socket\?' 'two servers that are not there'

# ---- no extension, or one of another version ------------------------------------------------------------------------------------

sql 'create database failures_without' postgres
no_extension() {
  scylla_with -d failures_without
  refused 'database "failures_without" does not have the extension' 'See "scylla init"\.' 'no extension'
}
some no_extension 'library views'
i=$(printf '%s\n' "${names[@]}" | grep -nx console | cut -d: -f1)
i=$((i - 1))
no_extension
run scylla doctor --no-check -d failures_without
is "$status $(sed -n 's/^problem *//p' <<<"$output")$errors" '1 database "failures_without" does not have the extension' 'no extension: doctor'

version=$(scylla --version)
version=${version##* }
has_version() { sql "update pg_extension set extversion = '$1' where extname = 'scylla'"; }
older() {
  scylla_with
  refused "extension \"scylla\" has version 0\\.0 in this database, but the library that the server has loaded has version $version" \
    'Use ALTER EXTENSION scylla UPDATE\.' 'an extension that is older than the library'
}
has_version 0.0
some older library
newer() {
  scylla_with
  refused "extension \"scylla\" has version 99\\.0 in this database, but the library that the server has loaded has version $version" \
    'Install the library of version 99\.0 and restart the server\.' 'an extension that is newer than the library'
}
has_version 99.0
some newer library
looks() {
  scylla_with
  is "$status$errors" 0 "nor does it hide what is there: ${names[i]}"
}
all looks views
run scylla doctor --no-check
is "$status $(grep -c '^problem' <<<"$output")$errors" '1 1' 'an extension of another version: doctor'
has_version "$version"

# A program that is newer than the extension: what it asks for is not there.
sql 'create database failures_older' postgres
sql "create extension scylla; alter extension scylla drop function scylla.cron_next; drop function scylla.cron_next;
     alter extension scylla drop view scylla.queue_grants; drop view scylla.queue_grants;
     update pg_extension set extversion = '0.0' where extname = 'scylla'" failures_older
for i in "${!names[@]}"; do
  [[ ${names[i]} == 'schedule next' || ${names[i]} == 'queue grants' ]] || continue
  scylla_with -d failures_older
  refused '(function|relation) "?scylla\.(cron_next|queue_grants).* does not exist' 'See "scylla doctor"\.' 'a function that an older extension lacks'
  like "$errors" "DETAIL:  The extension has version 0\.0 in this database, this program is of version $version\." 'with both versions'
done

# ---- no rights ------------------------------------------------------------------------------------------------------------------

no_rights() {
  scylla_with -U failures_guest
  refused 'permission denied for schema scylla' '("SELECT scylla\.grant_role.*|It belongs to no kind of role.*)' 'no rights'
}
some no_rights 'library views'
run scylla doctor -U failures_guest
is "$status$errors" 0 'no rights: doctor says what it cannot see'
sql 'grant usage on schema scylla to failures_guest'
declare -A kinds=() # of each command, as its help names them
for i in "${!names[@]}"; do
  read -ra words <<<"${names[i]}"
  kinds[${names[i]}]=$(scylla "${words[@]}" --help | tr '\n' ' ' | sed -n 's/^.*Kind of role: \(.*\)\. *$/\1/p' | sed 's/,\| or / /g')
done
is "$(for i in "${!names[@]}"; do [[ -n ${kinds[${names[i]}]} ]] || echo "${names[i]}"; done | sort | xargs)" \
  'completion console doctor grant init man revoke schedule run' 'the help of all other commands names the kinds of roles that they are for'
no_call() {
  local kind
  scylla_with -U failures_guest
  refused 'permission denied for (function|procedure|view) [a-z_]+' '.+' 'a schema, but no function'
  kind=$(sed -n "s/^HINT:  \"SELECT scylla.grant_role('\([a-z_]*\)', 'failures_guest')\" gives role \"failures_guest\" this right.*/\1/p" <<<"$errors")
  like " ${kinds[${names[i]}]} " " $kind " "its hint names a kind that the help names: ${names[i]}"
}
all no_call 'library views'
sql 'grant execute on all routines in schema scylla to failures_guest; grant select on all tables in schema scylla to failures_guest'
for i in "${!names[@]}"; do
  [[ ${names[i]} == @(submit|work|'queue set'|'queue pause'|'queue resume'|'queue grant'|'queue revoke'|'queue owner') ]] || continue
  scylla_with -U failures_guest
  refused '(permission denied for|must be owner of) queue "(q|other)"' '.*' 'no right to a queue'
done

# ---- output and input that are closed ---------------------------------------------------------------------------------------------

# Runs the row's command with another standard output; sets status and errors.
to() { # REDIRECTION NAME
  local words
  read -ra words <<<"${lines[i]}"
  status=0 output=
  bash -c "exec timeout 60 scylla \"\$@\" $1" scylla "${words[@]}" </dev/null 2>"$scratch/errors" || status=$?
  errors=$(<"$scratch/errors")
  refused 'could not write to standard output' '' "$2"
}
full() { [[ ${prints[i]} != prints || ${names[i]} =~ (cancel|rerun|restart)$ ]] || to '>/dev/full' 'a full disk'; }
closed() { [[ ${prints[i]} != prints || ${names[i]} =~ (cancel|rerun|restart)$|^step\  ]] || to '>&-' 'a closed standard output'; }
all full 'library views doctor none'
all closed 'library views doctor none'

i=0
for input in '<&-' '</'; do
  for words in 'submit q' 'submit q - --rn x' 'submit q --lines'; do
    # shellcheck disable=SC2086 # words
    run bash -c "exec scylla $words $input"
    refused 'could not read standard input' '' "standard input that cannot be read, $input: $words"
  done
done
is "$(sql "select count(*) from scylla.task where rn = 'x'")" 0 'and submits nothing'

# ---- kinds of roles -------------------------------------------------------------------------------------------------------------

# Each of these kinds can do it, on what belongs to a role of which it is a member.
sql 'create role failures_keeper'
sql "select scylla.set_queue_owner(queue, 'failures_keeper') from scylla.queue_settings"
for table in task_plan task_callback signal_name signal_trigger job_definition workflow_head job_template_text resource_pool; do
  sql "update scylla.$table set owner = 'failures_keeper'"
done
for kind in reader worker client scheduler author operator queue_owner event_reader; do
  sql "create role failures_$kind login in role failures_keeper; select scylla.grant_role('$kind', 'failures_$kind')"
done
sql "update scylla.schedule set owner = 'failures_scheduler'" # its task is submitted as this role
enough() {
  local kind
  for kind in ${kinds[${names[i]}]}; do
    scylla_with -U "failures_$kind"
    ok "$(grep -cE 'permission denied for (schema|function|procedure|view|queue|workflow|pool|job|signal|schedule)|must be owner' <<<"$errors")" \
      "$kind is enough: ${names[i]}" "$errors"
  done
}
all enough 'library views'

# ---- passwords ------------------------------------------------------------------------------------------------------------------

run setsid -w scylla list -W </dev/null
refused 'no terminal to ask for the password' 'Use a password file \(~/\.pgpass\) or PGPASSWORD\.' 'a password is wanted'
run script -qec 'scylla -W list --json' /dev/null <<<'secret'
like "$status $output" '^0 (secret.*)?Password: .*\[' '... and asked for on a terminal'

for kind in guest reader worker client scheduler author operator queue_owner event_reader keeper; do
  sql "drop owned by failures_$kind; drop role failures_$kind"
done
done_testing
