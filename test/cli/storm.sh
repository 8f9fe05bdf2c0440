#!/bin/bash
# scylla work where everything goes wrong at once: programs that are killed, that fail, that hang; workers that get SIGTERM and
# SIGKILL, lose their connections and a queue. Each ends as it was told to and no other way, above all not by a crash, and every
# task comes to an end. SCYLLA_STORM=5000 plays it with more tasks.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test storm
sql 'create extension scylla'
rounds=$((${SCYLLA_STORM:-320} / 20))

fill() { # QUEUE FIRST
  seq "$2" $(($2 + 19)) | scylla submit "$1" --lines --max-attempts 5 --retry '{"initial": "10 ms", "max": "50 ms"}' >/dev/null
}
fill doomed 1

# The specification is a number: what becomes of the task depends on its last digit.
program='read -r n
case $n in
  *1) kill -KILL $$ ;;
  *2) exit 75 ;;
  *3) exit 3 ;;
  *4) exit 127 ;;
  *5) echo 50% >&3; head -c 300000 /dev/zero | tr "\0" x ;;
  *6) head -c 300000 /dev/zero | tr "\0" y >&2; kill -ABRT $$ ;;
  *7) [ $SCYLLA_FAILURES != 0 ] || exec sleep 60 ;;
  *) echo "$n" ;;
esac'
pids=() logs=()
hired=0
hire() { # INDEX
  hired=$((hired + 1))
  logs[$1]=$scratch/worker-$hired
  scylla work storm doomed --jobs 8 --prefetch "$((hired % 2 * 10))" --lease 2s --grace 200ms --timeout 300ms --verbose --exec "$program" \
    >"${logs[$1]}" 2>&1 &
  pids[$1]=$!
  wait_until grep -asq ': connected: control' "${logs[$1]}"
}
ended=0
count_ended() { ended=$(sql "select count(*) from scylla.task where queue = 'storm' and status in ('completed', 'aborted')"); }
more_ended() { count_ended && ((ended >= milestone)); }
wrong=()
ends_with() { # INDEX STATUS
  local status=0
  wait "${pids[$1]}" || status=$?
  ((status == $2)) || wrong+=("$(printf '%s instead of %s: %s' "$status" "$2" "$(tail -n 3 "${logs[$1]}" | cut -c1-300)")")
}

for i in 0 1 2; do hire "$i"; done
for ((round = 0; round < rounds; round++)); do
  fill storm $((20 * round + 1))
  milestone=$((ended + 7)) # in the middle of it
  if ! wait_until more_ended; then
    wrong+=("nothing happens after $ended tasks")
    break
  fi
  i=$((round % 3))
  case $((round % 4)) in
    0) kill -TERM "${pids[i]}" && ends_with "$i" 0 && hire "$i" ;;
    1) kill -KILL "${pids[i]}" && ends_with "$i" 137 2>/dev/null && hire "$i" ;;
    2) sql "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = 'storm' and application_name = 'scylla'" >/dev/null ;;
    3) scylla queue drop doomed --force && fill doomed 1 ;;
  esac
done
for i in 0 1 2; do kill -TERM "${pids[i]}" && ends_with "$i" 0; done
is "${wrong[*]-}" '' 'each worker ended as it was told to'
# What was given back, and what a SIGKILL has left behind, which expires.
timeout 60 scylla work storm --jobs 8 --until-empty --quiet --timeout 300ms --exec "$program"
count_ended
is "$ended" $((20 * rounds)) 'every task came to an end'
is "$(sql "select string_agg(distinct code, ' ' order by code) from scylla.task, lateral (select jsonb_array_elements(errors) ->> 'code') as e (code)
            where queue = 'storm'")" 'cannot-run exit-3 signal-6 signal-9 temporary-failure timeout' 'each in its way'
is "$(sql "select count(*) from scylla.task where status = 'running'")" 0 'nothing is held'
is "$(sql 'select count(*) from scylla.check()')" 0 'and all is well'
done_testing
