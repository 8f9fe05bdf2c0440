#!/bin/bash
# scylla plan, and tasks that depend on tasks.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test plans
sql 'create extension scylla'

run scylla plan create release --spec '{"version": 7}'
is "$status $output" '0 release' 'plan create prints the name'
scylla submit build '"c"' --rn compile --plan release >/dev/null
scylla submit build '"d"' --rn document --plan release >/dev/null
run scylla submit build '"p"' --rn package --plan release --depends-on compile --depends-on document --on-dependency-failure skip
is "$status $output" '0 package' 'submit --depends-on'
run scylla plan get release
is "$status $(grep -E '^(status|waiting)' <<<"$output" | tr -s ' ' | tr '\n' ' ')" '0 status building waiting 3 ' 'plan get'
run scylla plan open release
is "$status$output$errors" 0 'plan open'
is "$(sql "select string_agg(rn, ' ' order by rn) from scylla.task where status = 'ready'")" 'compile document' 'lets the first start'
run scylla plan wait release --timeout 10ms
is "$status $(grep '^status' <<<"$output" | tr -s ' ')" '1 status running' 'plan wait: not finished in time'
run timeout 60 scylla work build --until-empty --jobs 2 --exec '[ $SCYLLA_RN = package ] && echo "$SCYLLA_PLAN $SCYLLA_ARGS" || cat'
is "$(scylla get package --field result)" '{"output": "release [\"c\", \"d\"]\n"}' 'work passes the results on'
run scylla plan wait release
is "$status" 0 'plan wait: completed'
run scylla plan wait release --json
is "$(sql "select '$output'::jsonb ->> 'status', '$output'::jsonb -> 'result' -> 'package' ->> 'output'")" \
  'completed|release ["c", "d"]' 'as JSON, with the result'

run scylla plan dot release
is "$status $(grep -c -- '->' <<<"$output")" '0 2' 'plan dot: two arrows'
run scylla plan dot release --max-tasks 2
is "$status" 0 'with fewer nodes'
[[ $output != "$(scylla plan dot release)" ]]
ok $? 'which is another picture'
run scylla plan mermaid release
like "$output" '^(graph|flowchart) ' 'plan mermaid'
run scylla plan timeline release --json
is "$(sql "select string_agg(e ->> 'rn', ' ' order by e ->> 'rn') from jsonb_array_elements('$output') as e")" 'compile document package' \
  'plan timeline'

run scylla plan create
first=$output
is "$status $(sql "select count(*) from scylla.plan where name = '$output'")" '0 1' 'a name that the server makes'
scylla submit build --lines --plan "$first" --depends-on compile < <(seq 3) >/dev/null
run scylla plan cancel "$first"
is "$status $output" '0 3' 'plan cancel'
run scylla plan wait "$first"
is "$status" 1 'plan wait: cancelled'
run scylla plan list
is "$(tail -n +2 <<<"$output" | tr -s ' ' | cut -d' ' -f2 | tr '\n' ' ')" 'cancelled completed ' 'plan list'
run scylla plan list --json
is "$(sql "select jsonb_array_length('$output')")" 2 'as JSON'
run scylla plan rerun "$first" 'again'
is "$status $output $(sql "select waiting + ready from scylla.plan where name = 'again'")" '0 again 3' 'plan rerun: all of it'
run scylla plan rerun "$first" --only-failed
is "$status $(head -n 1 <<<"$errors")" "1 scylla: plan \"$first\" has no tasks to run again" 'plan rerun --only-failed: it was done again already'
scylla plan cancel again >/dev/null
run scylla plan rerun again --only-failed
is "$status $(sql "select waiting + ready from scylla.plan where name = '$output'")" '0 3' 'plan rerun --only-failed'
scylla plan cancel "$output" >/dev/null
run scylla plan owner "$first" pg_monitor
is "$status$output $(sql "select owner from scylla.plan where name = '$first'")" '0 pg_monitor' 'plan owner'
run scylla plan owner "$first" nobody
is "$status $errors" '1 scylla: role "nobody" does not exist' 'plan owner: no such role'
for command in get open cancel wait dot mermaid timeline; do
  run scylla plan $command nobody
  is "$status $errors" '1 scylla: plan "nobody" does not exist' "plan $command: no such plan"
done

scylla submit build 1 --dedup-key k >/dev/null
run scylla submit build 1 --dedup-key k
is "$status" 1 '--dedup-key'
run scylla submit build 1 --dedup-key once --dedup-for '1 h' --rn once
sql "select from scylla.lease_task('once', 'w'), scylla.complete('once', 'w')"
run scylla submit build 1 --dedup-key once
is "$status" 1 '--dedup-for: the completed task keeps the key'
like "$errors" 'a completed task of queue "build" keeps the deduplication key "once" until 20' 'which the message says'
run scylla submit build 1 --dedup-key quiet --debounce '1 h' --rn quiet
run scylla submit build 2 --dedup-key quiet --debounce '1 h'
is "$status $output $(sql "select status || ' ' || spec from scylla.get_task('quiet')")" '0 quiet waiting 2' '--debounce: the last spec counts'
run scylla submit build 2 --debounce '1 h'
is "$status" 2 'which needs a key'
run scylla submit build 1 --depends-on nobody
is "$status $errors" '1 scylla: task "nobody" in "depends_on" does not exist' '--depends-on: no such task'
done_testing
