#!/bin/bash
# scylla job: definitions in a file, runs, and what is fresh.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test jobs
sql 'create extension scylla'
sql "select scylla.create_queue('q')"

# ---- definitions ----------------------------------------------------------------------------------------------------------

cat >"$scratch/jobs.json" <<'END'
[
  {"job": "report", "queue": "q", "settings": {"chunk_size": 3},
   "needs": [{"job": "trips", "max_lag": "1 day"}, {"job": "weather", "max_lag": "1 day"}]},
  {"job": "trips", "queue": "q", "settings": {"chunk_size": 2}, "needs": [{"job": "positions", "max_lag": "1 hour"}]},
  {"job": "weather", "queue": "q"},
  {"job": "positions", "queue": "q", "settings": {"chunk_size": 6, "sources": ["cars"]}}
]
END
run scylla job define "$scratch/jobs.json"
is "$status$output$errors" 0 'job define: in any order'
run scylla job list
is "$(tr -s ' ' <<<"$output" | sed 's/ *$//')" "$(printf '%s\n' 'job queue owner chunk_size needs' "positions q $PGUSER 6" "report q $PGUSER 3 trips (1 day), weather (1 day)" \
  "trips q $PGUSER 2 positions (1 hour)" "weather q $PGUSER")" 'job list'
run scylla job define "$scratch/jobs.json"
is "$status$output$errors" 0 'a second time'
is "$(sql "select jsonb_array_length('$(scylla job list --json)')")" 4 'changes nothing'
run scylla job get positions --json
is "$status $(sql "select j ->> 'name', j -> 'settings' from jsonb('$output') j")" '0 positions|{"sources": ["cars"], "chunk_size": 6}' 'job get'
run scylla job get nothing
is "$status $errors" '1 scylla: job "nothing" does not exist' 'job get: no such job'

defines() { run scylla job define - <<<"$1"; } # FILE
defines '{"job": "one", "queue": "q", "needs": [{"job": "weather", "max_lag": 0}]}'
is "$status $(head -n 1 <<<"$errors")" '1 scylla: invalid value for argument "max_lag" in element 1: 0' 'job define: the server says what is wrong'
defines '{"job": "one", "queue": "q", "needs": [{"job": "weather", "max_lag": "0"}]}'
is "$status$errors $(sql "select name from scylla.job_type where name = 'one'")" '0 one' 'job define: one, from standard input'
defines '[{"job": "two", "queue": "q"}, {"job": "three", "queue": "no such queue"}]'
is "$status $errors $(sql "select count(*) from scylla.job_type where name = 'two'")" '1 scylla: queue "no such queue" does not exist 0' 'job define: all or none'
defines '[{"job": "x", "queue": "q", "needs": [{"job": "y", "max_lag": "0"}]}, {"job": "y", "queue": "q", "needs": [{"job": "x", "max_lag": "0"}]}]'
is "$status $errors" '1 scylla: jobs need each other: job "x" and what it needs' 'job define: a cycle'
defines '[{"job": "x", "queue": "q"}, {"job": "x", "queue": "q"}]'
is "$status $errors" '1 scylla: job "x" is defined twice' 'job define: twice'
defines '{"job": "one"'
is "$status $errors" '1 scylla: "-" is not JSON' 'job define: no JSON'

# ---- YAML -----------------------------------------------------------------------------------------------------------------

cat >"$scratch/jobs.yaml" <<'END'
# What a report needs.
- job: yaml report
  queue: q
  settings: &common
    chunk_size: 3
    allow_multiple: false
    args: {unit: km, "limit": 0x1F, rate: .50, since: 2026-01-01, on: yes, none: ~, empty: "", text: "12", 3: [1, -2.5e3, +07]}
  needs:
    - job: yaml trips
      max_lag: 1 day
- {job: yaml trips, queue: q, settings: *common}
END
run scylla job define "$scratch/jobs.yaml"
is "$status$output$errors" 0 'job define: YAML'
is "$(sql "select settings, needs from scylla.job_type where name = 'yaml report'")" \
  '{"args": {"3": [1, -2500, 7], "on": "yes", "none": null, "rate": 0.50, "text": "12", "unit": "km", "empty": "", "limit": 31, "since": "2026-01-01"}, "chunk_size": 3, "allow_multiple": false}|[{"job": "yaml trips", "max_lag": "1 day"}]' \
  'by the core schema of YAML 1.2'
is "$(sql "select count(distinct settings) from scylla.job_type where name like 'yaml %'")" 1 'with aliases'
defines 'job: yaml one
queue: q
---
job: yaml two
queue: q'
is "$status$errors $(sql "select count(*) from scylla.job_type where name in ('yaml one', 'yaml two')")" '0 2' 'job define: several documents, from standard input'
sql "select scylla.drop_job(name) from scylla.job_type where name like 'yaml %' order by name" >/dev/null
while IFS='|' read -r wrong message; do
  defines "$(printf '%b' "$wrong")"
  is "$status $errors" "1 scylla: \"-\" can not be read as YAML: $message" "job define: YAML with $wrong"
done <<'END'
job: x\nqueue: q\nqueue: q|line 3: the key "queue" is there twice
job: x\nqueue: [q|line 3: end of sequence flow not found
job: !ruby/object x|line 1: the tag "!ruby/object" is unknown
job: !!int x|line 1: "x" is not what its tag says
needs: !!set [x]|line 1: the tag "tag:yaml.org,2002:set" is unknown
job: x\n<<: {queue: q}|line 2: merge keys (<<) are not part of YAML 1.2
? [job]\n: x|line 1: a key is no text
job: .nan|line 1: JSON has no number ".nan"
job: -.inf|line 1: JSON has no number "-.inf"
job: "\\0"|line 1: a text has a character that is not valid
job: 1e1000|a number in it is too large
job: &a [*a]|line 1: it is nested too deeply
END
many='a: &a [1,1,1,1,1,1,1,1,1,1]'
previous=a
for name in b c d e f g; do many+="\n$name: &$name [*p,*p,*p,*p,*p,*p,*p,*p,*p,*p]"; many=${many//\*p/*$previous}; previous=$name; done
defines "$(printf '%b' "$many")"
is "$status ${errors#*line *: }" '1 it has more than a million values' 'job define: YAML whose aliases make much of little'
printf '{"job": "one"' >"$scratch/broken.json"
run scylla job define "$scratch/broken.json"
is "$status $errors" "1 scylla: \"$scratch/broken.json\" is not JSON" 'job define: what is named .json is JSON'
printf '[{job: x, queue: no such queue}]' >"$scratch/flow.yml"
run scylla job define "$scratch/flow.yml"
is "$status $errors" '1 scylla: queue "no such queue" does not exist' 'job define: what is named .yml is YAML'

for wrong in 1 '[[]]' '{"job": 1, "queue": "q"}' '{"job": "x"}' '{"job": "x", "queue": "q", "chunk_size": 3}'; do
  defines "$wrong"
  is "$status $(head -n 1 <<<"$errors")" '1 scylla: definition 1 of "-" is not one of a job' "job define: $wrong"
done
run scylla job define "$scratch/nothing"
is "$status $errors" "1 scylla: could not read \"$scratch/nothing\": No such file or directory" 'job define: no such file'
run scylla job define "$scratch"
is "$status $errors" "1 scylla: could not read \"$scratch\": Is a directory" 'job define: a folder'
run bash -c 'exec scylla job define - <&-'
is "$status $errors" '1 scylla: could not read standard input' 'job define: standard input is closed'

# ---- runs -----------------------------------------------------------------------------------------------------------------

run scylla job mark-fresh weather 1-6
is "$status$output$errors $(sql "select ids from scylla.job_freshness where job = 'weather'")" '0 {[1,7)}' 'job mark-fresh'
run scylla job explain report --ids 1-6
is "$status $(grep -c '  t     never run; at most ' <<<"$output") $(grep -c '^weather .*  f     fresh: ' <<<"$output")" '0 4 1' 'job explain'
run scylla job explain report --ids '{[1,7)}' --json
is "$(sql "select string_agg(j ->> 'job', ' ') from jsonb_array_elements('$output') j where (j -> 'runs')::bool")" \
  'positions trips trips trips report report' 'job explain --json'
is "$(sql 'select count(*) from scylla.job_plan')" 0 'which writes nothing'
run scylla job run report --ids 1-4,6 --args '{"unit": "km"}' --variant v --prune chunk --strict-order --request-id r
plan=$output
is "$status $(sql "select row(job, variant, ids, args, options) from scylla.job_plan where plan = '$plan'")" \
  "0 (report,v,\"{[1,5),[6,7)}\",\"{\"\"unit\"\": \"\"km\"\"}\",\"{\"\"prune\"\": \"\"chunk\"\", \"\"variant\"\": \"\"v\"\", \"\"request_id\"\": \"\"r\"\", \"\"strict_order\"\": true}\")" \
  'job run'
is "$(scylla job run report --ids 1-6 --request-id r --variant v)" "$plan" 'job run --request-id'
run scylla job run report
is "$status $(head -n 1 <<<"$errors")" '1 scylla: invalid value for argument "ids": null' 'job run: without ids'
for wrong in 1- -3 1-2-3 a 1,,2; do
  run scylla job run report "--ids=$wrong"
  is "$status $(head -n 1 <<<"$errors")" "2 scylla: \"$wrong\" is no list of ids" "job run --ids '$wrong'"
done
run scylla job run nothing --ids 1
is "$status $errors" '1 scylla: job "nothing" does not exist' 'job run: no such job'
run scylla job plans
is "$status $(sed -n 2p <<<"$output" | grep -c "^$plan  report  v .*  running  *7 ")" '0 1' 'job plans'
run scylla job plans trips
is "$status $(wc -l <<<"$output")" '0 1' 'job plans: of another job'

sql "select scylla.run_job('positions', '{[1,2)}')" >/dev/null
is "$(scylla job explain trips --ids 1 --json | grep -c 'task .* of plan')" 2 'job explain tells of an older plan'
is "$(scylla job explain trips --ids 1 --no-wait --json | grep -c 'task .* of plan')" 0 'job explain --no-wait'
sql "select scylla.cancel_plan(plan) from scylla.job_plan where job = 'positions'" >/dev/null

run timeout 60 scylla work q --until-empty --exec cat
is "$status" 0 'workers get the specification'
run scylla job plans report --json
is "$(sql "select '$output'::jsonb -> 0 ->> 'status'")" completed 'and complete the plan'
run scylla job freshness report
is "$(sed 1d <<<"$output" | tr -s ' ' | cut -d ' ' -f 3 | tr '\n' ' ')" '{[1,4)} {[4,5)} {[6,7)} '  'job freshness'
run scylla job graph report
is "$status $(head -n 1 <<<"$output") $(grep -c 'never run' <<<"$output")" '0 digraph job { 3' 'job graph: for runs without a variant'
run scylla job graph report --mermaid
is "$status $(head -n 1 <<<"$output")" '0 flowchart LR' 'job graph --mermaid'
run scylla job graph nothing
is "$status $errors" '1 scylla: job "nothing" does not exist' 'job graph: no such job'
run scylla job forget report 2
is "$status $output" '0 1' 'job forget'
is "$(sql "select range_agg(ids) from scylla.job_freshness where job = 'report'")" '{[1,2),[3,5),[6,7)}' 'one id'
run scylla job forget report
is "$status $output" '0 2' 'job forget: all'

run scylla job grant report pg_monitor
is "$status$output$errors $(sql "select runners from scylla.job_type where name = 'report'")" '0 {pg_monitor}' 'job grant'
run scylla job grant report nobody
is "$status $errors" '1 scylla: role "nobody" does not exist' 'job grant: no such role'
run scylla job revoke report pg_monitor
is "$status$output$errors $(sql "select runners from scylla.job_type where name = 'report'")" '0 ' 'job revoke'

# ---- schedules ------------------------------------------------------------------------------------------------------------

run scylla job schedule nightly '0 2 * * *' report 'ids={[1,7)}' 'args={"unit": "km"}' overlap=skip planned_key=planned 'options={"variant": "v"}'
is "$status $output" "0 $(sql 'select next_run from scylla.schedules')" 'job schedule prints when it comes first'
is "$(sql 'select name, job, ids, args, overlap, planned_key, options from scylla.schedules')" 'nightly|report|{[1,7)}|{"unit": "km"}|skip|planned|{"variant": "v"}' 'and makes it as said'
run scylla job schedule nightly '0 2 * * *' nothing 'ids={[1,7)}'
is "$status $errors" '1 scylla: job "nothing" does not exist' 'job schedule: no such job'
run scylla schedule get nightly
is "$status $(grep '^job' <<<"$output" | tr -s ' ')" '0 job report' 'schedule get shows it'
run scylla schedule remove nightly
is "$status $(sql 'select count(*) from scylla.schedules')" '0 0' 'schedule remove removes it'
run scylla job drop positions
is "$status $(head -n 1 <<<"$errors")" '1 scylla: job "positions" is needed by job "trips"' 'job drop: it is needed'
run scylla job drop report
is "$status$output$errors $(sql "select count(*) from scylla.job_type where name = 'report'")" '0 0' 'job drop'
done_testing
