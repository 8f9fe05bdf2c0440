# shellcheck shell=bash
# How it goes on for a minute while another session holds its snapshot, so that nothing that dies is cleaned away.

measure_steady() {
  local scylla=$here/contenders/scylla plain=$here/contenders/plain
  step "steady: with and without a held snapshot, $steady_seconds s each"
  free_and_held cycle "$scylla" 4 "$ready"
  free_and_held cycle "$plain" 4 "$ready"
  free_and_held troubled "$scylla" 4 "$ready"
  free_and_held heartbeat "$scylla" 8 5000
}

# The same for long, turn by turn: the server's CPU time for a task tells more than the rate where the machine is not ours alone.
measure_long() {
  local scylla=$here/contenders/scylla turns=10 rounds=10 rates=() cpus=()
  step "long: $turns turns of $steady_seconds s under one held snapshot"
  prepare "$scylla" cycle "$ready"
  hold_snapshot scylla
  for ((round = 1; round <= turns; round++)); do
    bench long scylla scylla "$scylla/cycle.sql" 4 -T "$steady_seconds"
    [[ -n $rate ]] || break
    record long scylla
    rates+=("$rate")
    cpus+=("$cpu")
  done
  round=
  release_snapshot
  note "Submit, lease and complete under one held snapshot, turns of $steady_seconds s: ${rates[*]} tasks per second; server CPU µs a task: ${cpus[*]}."
}

free_and_held() { # MEASURE FOLDER CLIENTS TASKS
  local name=${2##*/} tasks=$4 mode
  for mode in free held; do
    prepare "$2" "$1" "$tasks"
    [[ $mode == free ]] || hold_snapshot "$name"
    [[ $name != scylla ]] || has_monitor || helper "$bin/pgbench" -n -R 1 -T "$steady_seconds" -f "$here/lib/maintain.sql" scylla
    bench "$1 $mode" "$name" "$name" "$2/$1.sql" "$3" -T "$steady_seconds" -P 1
    [[ $mode == free ]] || release_snapshot
    end_helpers
    [[ -n $rate ]] || continue
    record "$1 $mode" "$name"
    course "$1 $mode" "$name"
  done
}

# The first and the last sixth of a run, from pgbench's reports of every second, and the course in between.
course() { # MEASURE CONTENDER
  local course window=$(((steady_seconds + 5) / 6))
  course=$(sed -n 's/^progress: [0-9.]* s, \([0-9.]*\) tps.*/\1/p' "$bench_log")
  figure "$1, first" "$2" "$(head -n "$window" <<<"$course" | average)"
  figure "$1, last" "$2" "$(tail -n "$window" <<<"$course" | average)"
  note "Course of $1, $2, in sixths, per second: $(awk -v w="$window" '
    {s += $1; n++} n == w {printf "%s%.0f", (NR > w ? ", " : ""), s / n; s = n = 0}' <<<"$course")."
}

average() { awk '{s += $1} END {printf "%.1f", NR ? s / NR : 0}'; }
