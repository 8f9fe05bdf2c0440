#!/bin/bash
# scylla callback, signal and conditions, and tasks that wait for them.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test conditions
sql 'create extension scylla'

run scylla callback create
is "$status ${#output}" '0 32' 'callback create prints a token'
run scylla callback create approval --expires '1 h'
is "$status $output" '0 approval' 'callback create with a token'
run scylla submit ship '1' --rn ship --wait-for '[{"callback": "approval"}]'
is "$status $output $(scylla get ship --field status)" '0 ship waiting' 'submit --wait-for'
run scylla conditions --json
is "$(sql "select string_agg(e ->> 'status' || ' ' || (e ->> 'waiters'), ', ' order by e ->> 'waiters') from jsonb_array_elements('$output') e")" \
  'waiting 0, waiting 1' 'conditions'
run scylla explain ship
is "$status $(grep -c 'callback approval' <<<"$output")" '0 1' 'explain'
run scylla explain ship --json
is "$(sql "select '$output'::jsonb -> 0 ->> 'detail'")" \
  'It has been neither resolved nor rejected. If it has not come by then, this task is aborted.' 'explain --json'
run scylla explain nothing
is "$status $errors" '1 scylla: task "nothing" does not exist' 'explain: no such task'
run scylla callback resolve approval '{"by": "ada"}'
is "$status$output$errors" 0 'callback resolve'
is "$(scylla get ship --field args)" '[{"by": "ada"}]' 'gives the task the value'
run scylla callback resolve approval
is "$status" 1 'callback resolve: it had ended'
run scylla callback reject nothing '{"code": "no"}'
is "$status $errors" '1 scylla: callback "nothing" does not exist or has expired' 'callback reject: no such callback'
sql "select from scylla.lease_task('ship', 'w')"
scylla callback create parcel >/dev/null
run scylla defer ship '[{"callback": "parcel", "timeout": "1 h"}]' --worker w --state '{"step": 2}' --attempt 1
is "$status$output$errors" 0 'defer'
is "$(scylla get ship --field status) $(scylla get ship --field state)" 'waiting {"step": 2}' 'the task waits, with its state'
run scylla defer ship '[]' --worker w
is "$status" 1 'defer: the lease is gone'
scylla callback resolve parcel '7'
sql "select from scylla.lease_task('ship', 'w')"
is "$(scylla get ship --field args)" '[7]' 'and goes on'
run scylla not-yet ship --worker w --retry-after '1 h'
is "$status$output$errors" 0 'not-yet'
is "$(scylla get ship --field status) $(scylla get ship --field answers)" 'waiting 1' 'is counted'
run scylla not-yet ship --worker w
is "$status" 1 'not-yet: the lease is gone'
scylla callback create denied >/dev/null
scylla submit ship '2' --rn denied --wait-for '[{"callback": "denied"}]' >/dev/null
run scylla callback reject denied '{"code": "no"}'
is "$status $(scylla get denied --field status)" '0 aborted' 'callback reject'
run scylla callback reject denied
is "$status" 2 'callback reject wants an error'

run scylla submit report --lines --wait-for '[{"signal": "landed", "match": {"day": 1}}]' < <(seq 3)
is "$status $output" '0 3' 'submit --lines --wait-for'
run scylla signal send landed '{"day": 1}' --payload '[7]' --request-id once
first=$output
is "$status $(sql "select count(*) from scylla.task where queue = 'report' and status = 'ready'")" '0 3' 'signal send'
run scylla signal send landed '{"day": 1}' --request-id once
is "$status $output" "0 $first" 'signal send: once'
run scylla signal send landed
is "$status" 0 'signal send without parameters'
run scylla signal list landed --json
is "$(sql "select jsonb_array_length('$output') || ' ' || ('$output'::jsonb -> 1 ->> 'payload')")" '2 [7]' 'signal list'
run scylla signal list nothing --limit 1 --json
is "$(tr -d ' \n' <<<"$output")" '[]' 'signal list of a name'
run scylla signal grant landed pg_monitor wait
is "$status $(sql "select privilege from scylla.signal_grants where role = 'pg_monitor'")" '0 wait' 'signal grant'
run scylla signal revoke landed pg_monitor wait
is "$status $(sql "select count(*) from scylla.signal_grants where role = 'pg_monitor'")" '0 0' 'signal revoke'
run scylla signal grant landed pg_monitor look
is "$status" 2 'signal grant: no such privilege'
run scylla signal grant nothing pg_monitor wait
is "$status $errors" '1 scylla: signal "nothing" does not exist
DETAIL:  Nobody has sent it or waited for it yet.' 'signal grant: no such signal'
run scylla trigger create both '[{"signal": "x", "join": ["k"]}, {"signal": "y", "join": ["k"]}]' '{"submit": {"queue": "report", "spec": 1}}' \
  --condition '$[0].params.k == 1' --grace 1h30m
is "$status$output$errors" 0 'trigger create'
scylla signal send x '{"k": 1}' >/dev/null
scylla signal send y '{"k": 2}' >/dev/null
sql 'select scylla.maintain()' >/dev/null
run scylla trigger signals both --json
is "$(sql "select jsonb_array_length('$output')")" 2 'trigger signals'
scylla signal send y '{"k": 1}' >/dev/null
sql 'select scylla.maintain()' >/dev/null
run scylla trigger list --json
is "$(sql "select '$output'::jsonb -> 0 ->> 'grace'")" 01:30:00 'trigger create --grace'
is "$(sql "select '$output'::jsonb -> 0 ->> 'fired'")" 1 'trigger list'
run scylla trigger pause both
is "$status $(sql 'select paused from scylla.trigger')" '0 t' 'trigger pause'
run scylla trigger resume both
is "$status $(sql 'select paused from scylla.trigger')" '0 f' 'trigger resume'
run scylla trigger clear both --seq 1
is "$status $output" '0 0' 'trigger clear: one'
run scylla trigger clear both
is "$status $output" '0 1' 'trigger clear'
run scylla trigger failures both --json
is "$status $(tr -d ' \n' <<<"$output")" '0 []' 'trigger failures'
run scylla trigger drop both
is "$status $(sql 'select count(*) from scylla.trigger')" '0 0' 'trigger drop'
run scylla trigger drop both
is "$status $errors" '1 scylla: trigger "both" does not exist' 'trigger drop: no such trigger'
run scylla submit ship '1' --rn asks --wait-for '[{"check": {"queue": "sensors", "spec": {"file": "a"}, "every": "1 min"}}]'
is "$status" 0 'submit --wait-for: a check'
run scylla explain asks --json
is "$(sql "select '$output'::jsonb -> 0 ->> 'waits_for' = 'check ' || (select rn from scylla.task where queue = 'sensors')")" t 'explain: a check'
run scylla conditions --json
is "$(sql "select jsonb_path_query_array('$output', '\$[*] ? (@.kind == \"check\").name')")" '["sensors"]' 'conditions: a check'
run scylla not-yet "$(sql "select rn from scylla.lease('sensors', 'w')")" --worker w
is "$status $(sql "select extract(epoch from not_before - updated)::int from scylla.task where queue = 'sensors'")" '0 60' 'not-yet of a check'
run scylla submit ship '1' --wait-for '[{"what": 1}]'
is "$status $(head -n 1 <<<"$errors")" '1 scylla: invalid value for argument "wait_for": "what"' 'submit --wait-for: malformed'
done_testing
