# shellcheck shell=bash
# Many databases on one server, with as many monitors as a stock server has: what idle ones cost one that works, how soon what is due in
# an idle one is seen to, and how long busy ones wait for each other.

measure_databases() {
  local idle=99 busy=20 n
  [[ -z $smoke ]] || idle=9 busy=6
  step "many databases: 1, $((idle + 1)), and $busy that work"
  sql postgres -c "alter system set scylla.max_monitors = 4" -c "alter system set scylla.monitor_idle = '2 s'" \
    -c "alter system set autovacuum_naptime = '1 min'"
  restart_main
  create_database rests
  sql rests -c "create extension scylla"
  create_workflows alone
  due_in alone "due task, one database"
  next_step alone "next step, one database"
  all_rest # a template has no monitor
  for ((n = 1; n <= idle; n++)); do sql postgres -c "create database rests$n template rests"; done
  all_rest
  cost_of_rest "$idle"
  due_in alone "due task, beside idle databases"
  next_step alone "next step, beside idle databases"
  all_rest
  due_in_idle "$idle"
  due_in_busy "$busy"
  for ((n = 1; n <= idle; n++)); do sql postgres -c "drop database rests$n with (force)"; done
  sql postgres -c "alter system reset scylla.max_monitors" -c "alter system reset scylla.monitor_idle" \
    -c "alter system reset autovacuum_naptime"
  restart_main
}

restart_main() {
  cluster_stop main
  # shellcheck disable=SC2154 # of run
  cluster_resume "$cluster_folder" "${cluster_folder%/*}/log"
}

# Each database has been looked at, and has no monitor.
all_rest() {
  local deadline=$((SECONDS + 180))
  until [[ $(sql postgres -c "select count(*) from pg_stat_activity where backend_type ~ '^scylla (monitor|engine)'") == 0 ]]; do
    ((SECONDS < deadline)) || die "databases in which nothing is to be done have a monitor after three minutes"
    sleep 0.2
  done
}

# The launcher's time, and that of processes that end meanwhile: of visits. Without those of autovacuum.
cost_of_rest() { # DATABASES
  local launcher before after
  sql postgres -c 'alter system set autovacuum = off' -c 'select pg_reload_conf()' >/dev/null
  launcher=$(sql postgres -c "select pid from pg_stat_activity where backend_type = 'scylla launcher'")
  sleep 3
  before=$(($(server_cpu) + $(process_cpu "$launcher")))
  # shellcheck disable=SC2154 # of run
  sleep "$steady_seconds"
  after=$(($(server_cpu) + $(process_cpu "$launcher")))
  figure "idle databases, percent of a CPU" "$1" "$(awk -v ms=$((after - before)) -v s="$steady_seconds" 'BEGIN {printf "%.3f", ms / 10 / s}')"
  sql postgres -c 'alter system reset autovacuum' -c 'select pg_reload_conf()' >/dev/null
}

process_cpu() { # PID
  awk -v tick="$(getconf CLK_TCK)" '{sub(/.*\) /, ""); printf "%d", ($12 + $13) * 1000 / tick}' "/proc/$1/stat"
}

lateness_of_ready="select extract(epoch from updated - not_before) * 1000 from scylla.task where queue = 'due' and status = 'ready'"

due_in() { # DATABASE LABEL
  local tasks=500
  sql "$1" -c "select scylla.create_queue('due')" -c "select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'due',
    'spec', 1, 'not_before', clock_timestamp() + interval '1 s' + n * interval '7 ms')) from generate_series(1, $tasks) n))" >/dev/null
  until_ready "$1" "queue = 'due'" "$tasks"
  percentiles "$2" "$lateness_of_ready" "$1"
  sql "$1" -c "select scylla.drop_queue('due', force => true)" >/dev/null
}

# One task in each of them; a process has to begin for each.
due_in_idle() { # DATABASES
  local n
  for ((n = 1; n <= $1; n++)); do sql "rests$n" -c "select scylla.submit('due', '1', not_before => clock_timestamp() + '1 s')" >/dev/null; done
  for ((n = 1; n <= $1; n++)); do until_ready "rests$n" "queue = 'due'" 1; done
  percentiles "due task of an idle database" "select ms from unnest('{$(
    for ((n = 1; n <= $1; n++)); do sql "rests$n" -c "$lateness_of_ready"; done | paste -sd ,)}'::float8[]) ms" alone
}

# Each has a task that becomes due every 100 ms, for half a minute. A monitor's turn takes a second.
due_in_busy() { # DATABASES
  local n tasks=300
  for ((n = 1; n <= $1; n++)); do
    sql "rests$n" -c "select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'due', 'spec', 1,
      'not_before', clock_timestamp() + interval '5 s' + n * interval '100 ms')) from generate_series(1, $tasks) n))" >/dev/null
  done
  for ((n = 1; n <= $1; n++)); do until_ready "rests$n" "queue = 'due'" $((tasks + 1)); done
  percentiles "due task of a busy database" "select ms from unnest('{$(
    for ((n = 1; n <= $1; n++)); do sql "rests$n" -c "$lateness_of_ready"; done | paste -sd ,)}'::float8[]) ms" alone
}
