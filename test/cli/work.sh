#!/bin/bash
# scylla work: how programs are run, what becomes of how they end, and how the worker ends itself.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test work
sql 'create extension scylla'
export scratch

work() { run timeout 60 scylla work --until-empty "$@"; }
ended() { sql "select status, result, errors -> -1 ->> 'code', errors -> -1 ->> 'message' from scylla.get_task('$1')"; }
status_is() { [[ $(scylla get "$1" --field status) == "$2" ]]; } # RN STATUS
exists() { [[ -e $scratch/$1 ]]; }

# ---- results ----------------------------------------------------------------------------------------------------------

scylla submit q '{"say": "hi"}' --rn json >/dev/null
work q --exec cat
is "$status $(ended json)" '0 completed|{"say": "hi"}||' 'exit 0 completes; JSON on standard output is the result'
like "$errors" '^scylla: completed 1, failed 0, aborted 0, gave back 0, lost 0$' 'the counts are said at the end'
result() { # COMMAND EXPECTED NAME
  scylla submit q '"spec"' --rn "$3" >/dev/null
  work q --exec "$1"
  is "$(ended "$3")" "$2" "$3"
}
result 'echo "two words"' 'completed|{"output": "two words\n"}||' 'other text is stored under a key'
result true 'completed|||' 'no output, no result'
result 'echo ""' 'completed|||' 'nor with a blank line'
result "printf 'a\\000b\\377c\\303\\251'" 'completed|{"output": "a�b�cé"}||' 'bytes that are no text are replaced'
result "printf '\"\\\\u0000\"'" 'completed|{"output": "\"\\u0000\""}||' 'JSON that jsonb cannot hold is text'
result "printf '1e9999'" 'completed|{"output": "1e9999"}||' 'so are numbers beyond its range'
result 'printf "[%.0s" $(seq 10000)' "completed|{\"output\": \"$(printf '[%.0s' {1..10000})\"}||" 'and brackets without end'
result 'head -c 2000000 /dev/zero | tr "\\0" x' 'aborted||result-too-large|' 'a result that is too large aborts'
scylla submit q 1 --rn limit >/dev/null
work q --max-output 3 --exec 'printf 1234'
is "$(ended limit)" 'aborted||result-too-large|' '--max-output'

# What the server refuses is not sent again: the worker goes on.
for n in 1 2 3; do
  scylla submit q '"large"' --rn "large-$n" --max-attempts 1 >/dev/null
  scylla submit q '"small"' --rn "small-$n" >/dev/null
done
PGOPTIONS='-c scylla.max_value_size=1kB' work q -j 2 --exec 'if grep -q large; then seq 2000; fi'
is "$(sql "select string_agg(concat_ws('|', rn, status, errors -> -1 ->> 'code'), ' ' order by rn) from scylla.task where rn ~ '^(large|small)-'")" \
  'large-1|aborted|invalid-outcome large-2|aborted|invalid-outcome large-3|aborted|invalid-outcome small-1|completed small-2|completed small-3|completed' \
  'a result that the server refuses fails its task, and no other'
scylla submit q '"large"' --rn large-at-stop --max-attempts 1 >/dev/null
PGOPTIONS='-c scylla.max_value_size=1kB' scylla work q --exec 'trap "" TERM; touch $scratch/large; until [ -e $scratch/now ]; do sleep 0.05; done; seq 2000' \
  2>/dev/null &
wait_until exists large
kill -TERM $!
touch "$scratch/now"
wait $!
is "$(ended large-at-stop | cut -d '|' -f 1,3)" 'aborted|invalid-outcome' 'also when the worker stops'

# An unset variable. The shell would do nothing, and complete every task.
scylla submit q 1 --rn untouched >/dev/null
for command in '' '   ' $'\t\n'; do
  run scylla work q --until-empty --exec "$command"
  is "$status $(scylla get untouched --field status)" '2 ready' "a blank command is refused: $(printf %q "$command")"
  like "$errors" 'the command is empty' 'and the error says so'
done
scylla cancel untouched >/dev/null

# ---- errors -----------------------------------------------------------------------------------------------------------

result 'echo why >&2; exit 65' 'aborted||exit-65|why' 'exit 65 aborts; standard error says why'
is "$(sql "select errors #>> '{0,args}' from scylla.get_task('exit 65 aborts; standard error says why')")" \
  '{"exit": 65}' 'with the exit status'
like "$errors" '(^|.)why' 'standard error is passed on'
result 'exit 100' 'aborted||exit-100|' 'so does exit 100'
result 'seq 100000 >&2; exit 65' "aborted||exit-65|$(seq 100000 | tail -c 4096 | sed -z 's/\n$//')" 'of standard error the end is kept'
fails() { # COMMAND CODE NAME
  scylla submit q 1 --rn "$3" --retry '{"initial": "0"}' --max-attempts 2 >/dev/null
  work q --exec "$1"
  is "$(sql "select status, failures, jsonb_path_query_array(errors, '\$[*].code') from scylla.get_task('$3')")" "aborted|2|[\"$2\", \"$2\"]" "$3"
}
fails 'exit 3' exit-3 'any other exit status fails: the task is tried again'
fails 'kill -KILL $$' signal-9 'so does a signal'
for number in 3 4; do
  scylla submit q 1 --rn "abort on $number" >/dev/null
  work q --abort-on 3,4 --exec "exit $number"
  is "$(sql "select status, failures from scylla.get_task('abort on $number')")" 'aborted|0' "--abort-on 3,4: $number"
done

scylla submit q 1 --rn retry --max-attempts 2 >/dev/null
run timeout 60 scylla work q --until-empty --exec '[ $SCYLLA_FAILURES = 1 ] || { echo busy >&2; exit 75; }'
is "$(ended retry)" 'completed||temporary-failure|busy' 'exit 75 fails: the task is tried again'
for command in ./no-such-program 'exit 127' "$scratch"; do
  scylla submit q 1 --rn "run $command" --max-attempts 1 >/dev/null
  work q --exec "$command"
  is "$(sql "select status, failures, errors #>> '{0,code}' from scylla.get_task('run $command')")" 'aborted|1|cannot-run' \
    "what cannot be run is a failure: ${command##*/}"
done
rm -rf "$scratch/gone" && cp /usr/bin/true "$scratch/gone"
scylla submit q 1 --rn vanished --max-attempts 1 --delay 300ms >/dev/null
timeout 60 scylla work q --until-empty --exec "$scratch/gone" 2>/dev/null &
rm "$scratch/gone"
wait $!
is "$(sql "select failures, errors #>> '{0,code}' from scylla.get_task('vanished')")" '1|cannot-run' 'also without a shell'

# ---- what a program gets ----------------------------------------------------------------------------------------------

scylla submit q '{"x": 1}' --rn environment --priority 7 --key whose >/dev/null
SCYLLA_RN=not-this SCYLLA_OTHER=neither INHERITED=yes work q --worker w-1 --exec 'env | grep -E "^(SCYLLA_|INHERITED)" | sort'
is "$(sql "select result ->> 'output' from scylla.get_task('environment')")" 'INHERITED=yes
SCYLLA_ARGS=[]
SCYLLA_ATTEMPT=1
SCYLLA_FAILURES=0
SCYLLA_KEY=whose
SCYLLA_PRIORITY=7
SCYLLA_PROGRESS_FD=3
SCYLLA_QUEUE=q
SCYLLA_RN=environment
SCYLLA_WORKER=w-1' 'its environment'
result 'ls /proc/self/fd | tr "\n" " "' 'completed|{"output": "0 1 2 3 4 "}||' 'descriptors 0 to 3 (and the one that ls opens)'
result 'trap' 'completed|||' 'no signal is ignored'
scylla submit q '{"x": 1}' --rn whole --key whose >/dev/null
work q --input task --exec cat
is "$(sql "select result from scylla.get_task('whole')")" \
  '{"rn": "whole", "key": "whose", "args": [], "spec": {"x": 1}, "queue": "q", "errors": [], "attempt": 1, "failures": 0, "priority": 0}' '--input task'
for rn in large unread; do sql "select from scylla.submit('q', to_jsonb(repeat('x', 3000000)), rn => '$rn')"; done
work q --exec '[ $SCYLLA_RN = unread ] || wc -c'
is "$(ended large) $(ended unread)" 'completed|3000002|| completed|||' 'a large specification, read or not'

# ---- progress, jobs, timeout --------------------------------------------------------------------------------------------

scylla submit q 1 --rn progress >/dev/null
timeout 60 scylla work q --until-empty --lease 1s --exec 'echo 10%; echo nonsense >&3; echo 0.5 >&3; until [ -e $scratch/on ]; do sleep 0.05; done
  echo 75% >&3; until [ -e $scratch/go ]; do sleep 0.05; done' 2>/dev/null &
progressed() { [[ $(scylla get progress --field progress) == "$1" ]]; }
wait_until progressed 0.5
ok $? 'progress is seen while the program runs'
touch "$scratch/on"
wait_until progressed 0.75
ok $? 'also as a percentage'
touch "$scratch/go"
wait $!
is "$(ended progress)" 'completed|{"output": "10%\n"}||' 'and does not mix with the result'

for i in {1..4}; do scylla submit q "$i" --rn "job-$i" >/dev/null; done
work q --jobs 4 --exec 'touch $scratch/job-$SCYLLA_RN; until [ $(ls $scratch/job-* | wc -l) = 4 ]; do sleep 0.05; done'
is "$status $(sql "select count(*) from scylla.task where rn like 'job-%' and status = 'completed' and attempt = 1")" '0 4' \
  '--jobs 4: four run at the same time'

scylla submit q 1 --rn slow --max-attempts 1 >/dev/null
work q --timeout 200ms --exec 'sleep 60'
is "$(ended slow)" 'aborted||timeout|' '--timeout fails the task'
scylla submit q 1 --rn stubborn --max-attempts 1 >/dev/null
work q --timeout 200ms --grace 100ms --exec 'trap "echo no >&2" TERM; while :; do sleep 60; done'
like "$(ended stubborn)" '^aborted\|\|timeout\|(Terminated.)?no$' 'what does not end on SIGTERM is killed after --grace'

# ---- the end ------------------------------------------------------------------------------------------------------------

start_worker() { # ARGUMENT...
  scylla work "$@" 2>"$scratch/worker" &
  worker=$!
}
stops_in_time() { # NAME
  local begin=$SECONDS status=0
  wait "$worker" || status=$?
  is "$status $((SECONDS - begin < 30))" '0 1' "$1"
}

scylla submit end 1 --rn interrupted >/dev/null
scylla submit end 2 --rn graceful >/dev/null
start_worker end --jobs 2 --exec 'trap "touch $scratch/term-$SCYLLA_RN; [ $SCYLLA_RN != graceful ] || { echo 17; exit 0; }; exit 75" TERM
  touch $scratch/runs-$SCYLLA_RN; while :; do sleep 0.05; done'
wait_until exists runs-interrupted && wait_until exists runs-graceful
kill -TERM "$worker"
stops_in_time 'SIGTERM ends the worker, soon'
exists term-interrupted && exists term-graceful
ok $? 'its programs get SIGTERM'
is "$(ended graceful)" 'completed|17||' 'one that comes to an end by then is completed'
is "$(sql "select status, attempt, failures from scylla.get_task('interrupted')")" 'ready|1|0' 'the others are given back'
is "$(sql "select count(*) from scylla.task where status = 'running'")" 0 'nothing is held'

start_worker end --grace 300ms --exec 'trap "" TERM; echo $$ >$scratch/deaf.new; mv $scratch/deaf.new $scratch/deaf; while :; do sleep 60; done'
wait_until exists deaf
kill -INT "$worker"
stops_in_time 'a program that is deaf to SIGTERM does not hold it up'
is "$(sql "select status, failures from scylla.get_task('interrupted')")" 'ready|0' 'its task is given back'
dead() { ! kill -0 "$1" 2>/dev/null; }
wait_until dead "$(<"$scratch/deaf")"
ok $? 'the program is killed'

start_worker end --exec 'trap "touch $scratch/told" TERM; touch $scratch/to-be-cancelled; until [ -e $scratch/told ]; do sleep 0.05; done' --lease 1s
wait_until exists to-be-cancelled
scylla cancel interrupted >/dev/null
wait_until exists told
ok $? 'the program of a task that is cancelled gets SIGTERM'
kill -TERM "$worker"
stops_in_time 'and the worker goes on, until it is ended'
is "$(scylla get interrupted --field status)" cancelled 'the task stays cancelled'

# A terminal that is closed: script(1) has one, which goes with it.
scylla submit terminal 1 --rn hung-up >/dev/null
script -qfc "exec scylla work terminal --exec 'touch $scratch/on-terminal; while :; do sleep 0.05; done'" /dev/null >"$scratch/terminal" 2>&1 </dev/null &
terminal=$!
wait_until exists on-terminal
worker=$(pgrep -P "$terminal")
disown "$terminal"
kill -KILL "$terminal"
wait_until dead "$worker"
ok $? 'a terminal that is closed ends the worker'
is "$(sql "select status, attempt, failures from scylla.get_task('hung-up')")" 'ready|1|0' 'which gives back what it holds'
(trap '' HUP; exec scylla work terminal --exec true 2>"$scratch/worker") &
worker=$!
wait_until status_is hung-up completed
kill -HUP "$worker"
scylla submit terminal 2 --rn after-hup >/dev/null
wait_until status_is after-hup completed
ok $? 'nohup scylla work goes on without it'
kill -TERM "$worker"
stops_in_time 'until it is ended'

scylla submit end 1 --rn orphan >/dev/null
start_worker end --lease 1s --exec 'echo $$ >$scratch/pid.new; mv $scratch/pid.new $scratch/pid; while :; do sleep 0.05; done'
wait_until exists pid
disown "$worker"
kill -KILL "$worker"
wait_until dead "$(<"$scratch/pid")"
ok $? 'when the worker is killed its program is, too'
wait_until status_is orphan ready
ok $? 'and the lease expires'
work end --exec true
is "$(ended orphan)" 'completed|||' 'so that another one can do it'

# ---- the command line ---------------------------------------------------------------------------------------------------

for i in {1..20}; do echo "$i"; done | scylla submit one --lines >/dev/null
scylla submit two 1 >/dev/null
work one two --jobs 3 --prefetch 5 --exec true --quiet
is "$status $(sql "select count(*) from scylla.task where queue in ('one', 'two') and status = 'completed'")$errors" '0 21' \
  'several queues, and --prefetch'
# A right that is taken away while it works ends it.
sql 'create role work_crew login; grant usage on schema scylla to work_crew; grant execute on all routines in schema scylla to work_crew'
sql "select scylla.create_queue('crew'), scylla.grant_queue('crew', 'work_crew', 'work')" >/dev/null
scylla submit crew 1 --delay 1h >/dev/null
timeout 60 scylla work crew -U work_crew --until-empty --exec true 2>"$scratch/crew" &
worker=$!
wait_until holds "select exists (select from pg_stat_activity where usename = 'work_crew' and query ~ 'has_live_tasks' and state = 'idle')"
sql 'revoke execute on function scylla.has_live_tasks from work_crew'
status=0
wait "$worker" || status=$?
is "$status $(grep -c 'permission denied for function has_live_tasks' "$scratch/crew")" '1 1' '--until-empty ends when it may not look any more, and says so once'
sql 'create role work_guest login; grant usage on schema scylla to work_guest; grant execute on all functions in schema scylla to work_guest'
run scylla work one -U work_guest --until-empty --exec true
is "$status" 1 '--until-empty by a role that may not look'
like "$errors" 'permission denied for queue "one"' 'is refused'
for arguments in 'q' '--exec true' 'q --exec true --jobs 0' 'q --exec true --timeout soon' 'q --exec true --input x' 'q --exec true -q -v' 'q --exec true --abort-on 0' 'q --exec true --abort-on x'; do
  # shellcheck disable=SC2086 # words
  run scylla work $arguments
  is "$status" 2 "usage: scylla work $arguments"
done
# Of two hosts, the first a standby or something like it, workers take the one that accepts writes.
sql 'create database work_hosts' postgres
PGPORT=$SCYLLA_UNLOADED_PORT sql 'create database work_hosts' postgres
for port in "$PGPORT" "$SCYLLA_UNLOADED_PORT"; do PGPORT=$port sql 'create extension scylla' work_hosts; done
PGPORT=$SCYLLA_UNLOADED_PORT sql 'alter database work_hosts set default_transaction_read_only = on' postgres
scylla submit q 1 --rn hosts -d work_hosts >/dev/null
run timeout 60 scylla work q -d "host=$PGHOST,$PGHOST port=$SCYLLA_UNLOADED_PORT,$PGPORT dbname=work_hosts" --until-empty --exec true
is "$status $(scylla get hosts --field status -d work_hosts)" '0 completed' 'of several hosts, the one that accepts writes'
is "$(sql 'select count(*) from scylla.check()')" 0 'all is well in the end'
done_testing
