#!/bin/bash
# scylla pool, and tasks that need something of one.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test pools
sql 'create extension scylla'

run scylla pool create cluster '{"cores": 4, "memory_gb": 8}' --max-bypass 7
is "$status$output$errors" 0 'pool create'
is "$(sql "select policy, capacity, max_bypass, metrics_max_age from scylla.pool")" 'backfill|{"cores": 4, "memory_gb": 8}|7|' 'with its settings'
run scylla pool create cluster '{}'
is "$status $errors" '1 scylla: pool "cluster" already exists' 'it exists'
run scylla pool create other '{"cores": -1}'
is "$status $(head -n 1 <<<"$errors")" '1 scylla: invalid value for argument "capacity": -1' 'a bad capacity'
run scylla pool create other '{"cores": 1}' --policy fair
is "$status" 2 'a bad policy'

run scylla submit q '1' --rn first --needs '{"cluster": {"cores": 3}}' --expected-runtime '1 h'
is "$status $output" '0 first' 'submit --needs'
scylla pool place cluster >/dev/null # if no monitor has
wait_until holds "select status = 'ready' from scylla.get_task('first')"
run scylla submit q --lines --needs '{"cluster": {"cores": 2}}' --expected-runtime '10 min' < <(seq 2)
is "$status $output" '0 2' 'submit --lines --needs'
run scylla pool reservations cluster
is "$status $(sed -n 2p <<<"$output" | grep -c '^cluster *first *q *{"cores": 3}')" '0 1' 'pool reservations'
scylla pool drain cluster
scylla pool resume cluster
run scylla pool history cluster
is "$status $(tail -n +2 <<<"$output" | grep -c '"drained": true')" '0 2' 'pool history: as what it was after one change, and before the next'
run scylla pool queue
is "$status $(grep -c 'cores short by 1 in pool cluster' <<<"$output")" '0 2' 'pool queue'
run scylla pool queue --limit 1
is "$status $(grep -c 'cores short by 1 in pool cluster' <<<"$output")" '0 1' 'pool queue --limit'
run scylla pool queue cluster --limit 0
is "$status $(head -n 1 <<<"$errors")" '1 scylla: invalid value for argument "max_tasks": 0' 'pool queue: a bad limit'
run scylla pool queue nothing --limit 5
is "$status $(wc -l <<<"$output")" '0 1' 'pool queue --limit of another pool'
run scylla pool queue nothing
is "$status $(wc -l <<<"$output")" '0 1' 'of another pool'
run scylla pool get cluster --json
is "$(sql "select '$output'::jsonb -> 'free'")" '{"cores": 1, "memory_gb": 8}' 'pool get'
run scylla pool get nothing
is "$status $errors" '1 scylla: pool "nothing" does not exist' 'pool get: no such pool'
run scylla pool list
is "$(sed -n 2p <<<"$output" | grep -c 'open$')" 1 'pool list'

run scylla pool set cluster --capacity '{"cores": 8}' --policy greedy --max-bypass '' --metrics-max-age '1 h'
is "$status$output$errors" 0 'pool set'
is "$(sql "select policy, capacity, max_bypass, metrics_max_age, stale from scylla.pool")" 'greedy|{"cores": 8}|100|01:00:00|t' 'changes what is given; nothing is the default'
run scylla pool list
is "$(sed -n 2p <<<"$output" | grep -c 'no fresh report$')" 1 'pool list says why nothing is placed'
run scylla pool report cluster '{"cores": 3}'
is "$status$output$errors $(sql 'select reported from scylla.pool')" '0 {"cores": 3}' 'pool report'
scylla pool place >/dev/null
wait_until holds "select count(*) = 3 from scylla.pool_reservation"
ok $? 'which places'
run scylla pool drop cluster
is "$status $(head -n 1 <<<"$errors")" '1 scylla: pool "cluster" is needed by tasks that have not ended' 'pool drop: it is needed'
run scylla pool drain cluster
is "$status $(sql 'select drained from scylla.pool')" '0 t' 'pool drain'
run scylla pool resume cluster
is "$status $(sql 'select drained from scylla.pool')" '0 f' 'pool resume'
run scylla pool place cluster
is "$status $(head -n 1 <<<"$output" | tr -s ' ')" '0 rn pool' 'pool place'

sql 'create role pools_guest login; grant usage on schema scylla to pools_guest; grant execute on all functions in schema scylla to pools_guest'
run scylla pool grant cluster pools_guest report
is "$status$output$errors $(sql 'select reporters from scylla.pool')" '0 {pools_guest}' 'pool grant'
run scylla pool report cluster '{}' -U pools_guest
is "$status" 0 'is enough to report'
run scylla pool drain cluster -U pools_guest
is "$status $(head -n 1 <<<"$errors")" '1 scylla: permission denied for pool "cluster"' 'but not to drain'
run scylla pool revoke cluster pools_guest report
is "$status $(sql 'select reporters is null from scylla.pool')" '0 t' 'pool revoke'
run scylla pool grant cluster pools_guest see
is "$status" 2 'no such privilege'
sql 'select scylla.cancel(rn) from scylla.task'
run scylla pool drop cluster
is "$status $(sql 'select count(*) from scylla.pool')" '0 0' 'pool drop'
done_testing
