#!/bin/bash
# scylla schedule, and what doctor says about schedules.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test schedules
sql 'create extension scylla'

# Nothing ticks of itself: neither the monitor nor pg_cron.
sql "alter system set scylla.schedules = manual"
sql "select pg_reload_conf()"
is_manual() { [[ $(sql 'show scylla.schedules') == manual ]]; }
wait_until is_manual

PGOPTIONS='-c scylla.schedules=pg_cron' run scylla schedule set nightly '30 2 * * *' reports '{}'
is "$status $(head -n 1 <<<"$errors")" '1 scylla: pg_cron is not available' 'schedule set without pg_cron'
like "$errors" 'HINT:  ' 'with a hint'

run scylla schedule set nightly '30 2 * * *' reports '{"a": 1}' timezone=Europe/Berlin overlap=skip 'options={"priority": 5}'
is "$status $output" "0 $(sql "select next_run from scylla.schedules")" 'schedule set prints when it comes first'
is "$(sql 'select name, cron, queue, spec, timezone, overlap, options from scylla.schedules')" \
  'nightly|30 2 * * *|reports|{"a": 1}|Europe/Berlin|skip|{"priority": 5}' 'and makes it as said'
run scylla schedule set nightly '@hourly' reports '{"a": 2}'
is "$status $(sql 'select cron, spec from scylla.schedules')" '0 @hourly|{"a": 2}' 'or changes it'
run scylla schedule set other '61 * * * *' reports '{}'
is "$status" 1 'no time'
run scylla schedule set other '* * * * *' reports '{}' 'x, y'
is "$status" 2 'no setting'

run scylla schedule plan monthly '@monthly' '[{"rn": "a", "queue": "q", "spec": 1}, {"queue": "q", "spec": 2, "depends_on": ["a"]}]' overlap=skip
is "$status $output" "0 $(sql "select next_run from scylla.schedules where name = 'monthly'")" 'schedule plan'
run scylla schedule remove monthly

# All schedules of a role as a file.
cat >"$scratch/schedules.yaml" <<'END'
- {name: nightly, cron: '@hourly', queue: reports, spec: {}}
- {name: pair, cron: '30 2 * * *', timezone: Europe/Berlin, grace: 90 min, tasks: [{rn: a, queue: q, spec: 1}, {queue: q, spec: 2, depends_on: [a]}]}
- {name: unbounded, cron: '@daily', queue: q, spec: text, grace: null, max_catch_up: 3, catch_up: all}
END
scylla schedule set stale @daily q 1 >/dev/null
run scylla schedule sync "$scratch/schedules.yaml"
is "$status $(cut -d' ' -f1,2 <<<"$output" | tr '\n' ',')" '0 set nightly,set pair,set unbounded,removed stale,' 'schedule sync sets what is in a file, and removes what is not'
is "$(sql "select string_agg(concat_ws(' ', name, cron, timezone, grace, max_catch_up, spec), ', ' order by name) from scylla.schedules")" \
  'nightly @hourly UTC 01:00:00 100 {}, pair 30 2 * * * Europe/Berlin 01:30:00 100, unbounded @daily UTC 3 "text"' '... with all their settings'
before=$(sql "select string_agg(next_run::text || created::text, ' ' order by name) from scylla.schedules")
run scylla schedule sync - <<<'[{"name": "new", "cron": "@daily", "queue": "q", "spec": 1}, {"name": "wrong", "cron": "61 * * * *", "queue": "q", "spec": 1}]'
is "$status $(sql "select string_agg(next_run::text || created::text, ' ' order by name) from scylla.schedules")" "1 $before" '... or nothing, if one of them is wrong'
run scylla schedule sync - <<<'[{"name": "new", "cron": "@daily", "queue": "q", "spec": 1, "time_zone": "UTC"}]'
like "$errors" 'schedule 1 of "-" has the member "time_zone", which scylla.schedule\(\) does not know' '... for example one with a name that does not exist'
run scylla schedule sync - <<<'[{"name": "new", "cron": "@daily", "queue": "q", "spec": 1}, {"name": "new", "cron": "@daily", "queue": "q", "spec": 1}]'
like "$errors" 'schedule "new" is there twice' '... or one that is there twice'
run scylla schedule sync - <<<'[{"name": "new", "cron": "@daily"}]'
like "$errors" 'schedule 1 of "-" has none of queue, tasks and job' '... or one of nothing'
run scylla schedule sync - <<<'[{"name": "new", "cron": "@daily", "queue": "q"}]'
like "$errors" 'schedule 1 of "-" has no spec' '... or of a task without a spec'
run scylla schedule sync - <<<'[{"name": "nightly", "cron": "@hourly", "queue": "reports", "spec": {}}]'
is "$status $(sql 'select string_agg(name, $$ $$) from scylla.schedules')" '0 nightly' '... and the others go'

run scylla schedule list
like "$output" 'nightly *@hourly *UTC *reports *t ' 'schedule list'
run scylla schedule list --json
is "$(sql "select '$output'::jsonb #>> '{0,name}'")" nightly 'as JSON'
run scylla schedule get nightly
is "$status $(grep '^cron' <<<"$output" | tr -s ' ')" '0 cron @hourly' 'schedule get'
run scylla schedule get daily
is "$status $errors" '1 scylla: schedule "daily" does not exist' 'no such schedule'
run scylla schedule next '0 9 $ * *' --count 3 --timezone Asia/Tokyo
is "$(sql "select count(distinct t) from unnest(regexp_split_to_array('$(tail -n +2 <<<"$output")', E'\n')) as line,
             lateral (select line::timestamptz) as l(t) where to_char(t at time zone 'Asia/Tokyo', 'HH24:MI') = '09:00'")" 3 'schedule next'
run scylla schedule run
is "$status $output" '0 0' 'schedule run: nothing is due'

run scylla doctor
like "$output" 'ok       schedules come in time' 'doctor: all is well'
sql "update scylla.schedule set next_run = now() - interval '5 min'"
run scylla doctor
is "$status" 1 'doctor: an overdue one'
like "$output" "problem  schedule 'nightly' should have come at " 'is said'
run scylla schedule run
is "$status" 0 'schedule run catches up'
visited() { holds 'select exists (select from scylla.stat_monitor where last_round is not null)'; }
wait_until visited # it comes to the new database when it is its turn
run scylla doctor
is "$status" 0 'and doctor is content'
sql "select scylla.submit('ahead', '1', rn => 'ahead', not_before => now() + interval '1 h');
     update scylla.task_waiting set updated = now() + interval '1 h'"
run scylla doctor --no-check
is "$status" 1 'doctor: a task was delayed while the clock was ahead'
like "$output" 'problem  1 tasks were changed at a time that is still to come, up to 20' 'is said'
sql "select scylla.cancel('ahead')"
sql "update scylla.schedule set created = now() - interval '10 min'; update scylla.schedule_tick set ticked = now() - interval '5 min'"
run scylla doctor
is "$status" 1 'doctor: nothing ticks, though nothing is overdue'
like "$output" 'problem  nothing has looked for due schedules since 20' 'is said'
like "$output" 'scylla.schedules is manual' 'and what to do'
sql "update scylla.schedule_tick set ticked = null"
PGOPTIONS='-c scylla.schedules=pg_cron' run scylla doctor
like "$output" 'problem  nothing has ever looked for due schedules' 'nothing ever did'
like "$output" 'cron.use_background_workers = on' 'with pg_cron: what to do'
run scylla schedule run
run scylla doctor
like "$output" 'ok       schedules come in time' 'a tick is noticed'
run scylla schedule remove nightly
is "$status $(sql 'select count(*) from scylla.schedules')" '0 0' 'schedule remove'
run scylla schedule arm
is "$status $output" '0 0' 'schedule arm'
sql "alter system reset scylla.schedules"
sql "select pg_reload_conf()"
done_testing
