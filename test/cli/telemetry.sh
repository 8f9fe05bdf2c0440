#!/bin/bash
# client/examples/telemetry: jobs that need each other, a schedule, a failure, and the run that repairs it. It ends with 0 if every car has
# its report.
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=test/lib/tap.sh
source "$here/../lib/tap.sh"
begin_test telemetry
sql 'create extension scylla'
wait_until holds "select pid is not null from scylla.stat_monitor"

run timeout 120 "$here/../../client/examples/telemetry/run"
is "$status" 0 'it runs to its end'
((status == 0)) || sed 's/^/# /' <<<"$output$errors"
is "$(grep -c '^  positions .*: completed by v1' <<<"$output") $(grep -c '^  weather \[\[7, 9\]\]: aborted by v1' <<<"$output")" '2 1' 'the first run has all jobs, of which one fails'
repaired=$(sed -n '/^The run that repairs/,/^What is fresh/p' <<<"$output")
is "$(grep '^  ' <<<"$repaired")" "$(printf '%s\n' '  report [[1, 6]]: completed by v1' '  report [[7, 12]]: completed by v1' '  weather [[7, 9]]: completed by v1')" 'the next has only what failed, and the report'
like "$output" '  weather: [0-9:]+( to [0-9:]+)? old' 'the graph has ages'
like "$output" '12 reports; car 8: 12.0 km at 28 degrees' 'every car has its report'
is "$(sql 'select count(*) from scylla.schedules')" 0 'it removes the schedule'
wait_until holds "select not exists (select from pg_stat_activity where datname = 'telemetry' and backend_type = 'client backend' and pid <> pg_backend_pid())"
ok $? 'and leaves nothing running'
is "$(sql 'select count(*) from scylla.check()')" 0 'check() finds nothing'
done_testing
