# shellcheck shell=bash
# Tasks that wait for signals and checks: how soon they start, what many of them cost while something happens, and while nothing does.

measure_conditions() {
  local waiters=100000 checked=10000
  [[ -z $smoke ]] || waiters=2000 checked=1000
  step "conditions: $waiters tasks wait for signals, $checked for checks"
  create_database conditions
  sql conditions -f "$here/contenders/scylla/create.sql" >/dev/null
  signal_pick_up
  for ((round = 1; round <= rounds; round++)); do
    open_one "$waiters"
    open_all "$waiters"
    answer_checks "$checked"
  done
  round=
  idle_waiters "$waiters"
}

empty_conditions() {
  sql conditions -c 'truncate scylla.task_spec, scylla.task_waiting, scylla.task_ready, scylla.task_lease, scylla.task_outcome,
    scylla.task_gate, scylla.task_condition_end, scylla.signal_condition, scylla.signal_sent, scylla.task_check, scylla.task_memo' \
    -c 'vacuum (analyze)' -c checkpoint >/dev/null
}

# A worker waits; a client has a task wait for a signal, and sends it. Timed as in latency.
signal_pick_up() {
  local seconds=$((steady_seconds / 3)) waiter
  sql conditions -c 'create sequence signals; create unlogged table sent (seq bigint, at timestamptz);
    create unlogged table held (seq bigint, at timestamptz)'
  setsid "$bin/pgbench" -n -M prepared -c 1 -j 1 -T "$((seconds + 3))" -f "$here/lib/signal_waiter.sql" conditions \
    </dev/null >"$work/logs/signal_waiter" 2>&1 &
  waiter=$!
  helpers+=("$waiter")
  run_group "$bin/pgbench" -n -M prepared -c 1 -R 50 -T "$seconds" -f "$here/lib/signal_sender.sql" conditions \
    >"$work/logs/signal_sender" 2>&1 || failed "signal pick-up" sender "$work/logs/signal_sender"
  wait "$waiter" || failed "signal pick-up" waiter "$work/logs/signal_waiter"
  has_ended "$waiter"
  percentiles "from the signal to the worker" 'select extract(epoch from h.at - s.at) * 1000 from sent s join held h using (seq)' conditions
}

# Tasks that wait for signals of one name: each for another one, or all for the same.
wait_for_signals() { # TASKS MATCH
  empty_conditions
  sql conditions -c "select count(*) from generate_series(0, ($1 - 1) / 10000) part, lateral scylla.submit_many((
      select jsonb_agg(jsonb_build_object('queue', 'bench', 'spec', 1, 'wait_for', jsonb_build_array(jsonb_build_object(
               'signal', 'landed', 'match', jsonb_build_object('n', $2)))))
      from generate_series(part * 10000 + 1, least($1, part * 10000 + 10000)) n))" -c 'vacuum (analyze)' -c checkpoint >/dev/null
}

# Seconds from sending a signal until so many tasks are ready.
send_until() { # MATCH READY
  sql conditions <<SQL
    select from scylla.send_signal('the session is warm');
    select clock_timestamp() as at \gset
    select from scylla.send_signal('landed', '{"n": $1}');
    do \$\$ begin
      while (select count(*) from (select from scylla.task_ready limit $2) r) < $2 loop perform pg_sleep(0.001); end loop;
    end \$\$;
    select round(extract(epoch from clock_timestamp() - :'at'), 5);
SQL
}

open_one() { # TASKS
  wait_for_signals "$1" n
  figure "signal opens one" "$1" "$(send_until $(($1 / 2)) 1)"
}

open_all() { # TASKS
  wait_for_signals "$1" 0
  figure "signal opens all" "$1" "$(send_until 0 "$1")"
}

# What a round of answers costs that are all "not yet".
answer_checks() { # TASKS
  local before
  empty_conditions
  sql conditions -c "select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'bench', 'spec', n, 'wait_for',
      jsonb_build_array(jsonb_build_object('check', jsonb_build_object('queue', 'ask', 'spec', n % 100, 'every', '1 min')))))
      from generate_series(1, $1) n))" -c 'vacuum (analyze)' -c checkpoint >/dev/null
  [[ $(sql conditions -c "select count(*) from scylla.task where queue = 'ask'") == 100 ]] || die "checks: there are not 100"
  before=$(server_cpu)
  sql conditions -c "select count(scylla.not_yet(rn, 'w')) from scylla.lease('ask', 'w', 100)" >/dev/null
  sleep 0.2 # so that the postmaster has seen the session's end
  figure "100 answers, server ms" "$1" $(($(server_cpu) - before))
}

# CPU of the server and WAL while nothing happens.
idle_waiters() { # TASKS
  wait_for_signals "$1" n
  idle_server conditions "idle, percent of a CPU" "$1"
  figure "idle, bytes of WAL" "$1" "$idle_wal"
}

# What the server's processes use while so many tasks wait and nothing happens. Monitors of other databases may still be removing what
# was measured before: they do not count. Sets idle_wal to the bytes of WAL that were written meanwhile.
idle_server() { # DATABASE LABEL TASKS
  local before lsn
  sql "$1" -c 'alter system set autovacuum = off' -c 'select pg_reload_conf()' -c checkpoint >/dev/null
  sleep 3
  lsn=$(sql "$1" -c 'select pg_current_wal_insert_lsn()')
  before=$(processes_cpu "$1")
  sleep "$steady_seconds"
  figure "$2" "$3" "$(awk -v ms=$(($(processes_cpu "$1") - before)) -v s="$steady_seconds" 'BEGIN {printf "%.3f", ms / 10 / s}')"
  idle_wal=$(sql "$1" -c "select pg_current_wal_insert_lsn() - '$lsn'")
  sql "$1" -c 'alter system reset autovacuum' -c 'select pg_reload_conf()' >/dev/null
}

# CPU time in ms of the server's own processes that work for the database, or for all of them. Sessions have no part in it.
processes_cpu() { # DATABASE
  local pid
  for pid in $(sql "$1" -c "select pid from pg_stat_activity where backend_type <> 'client backend' and coalesce(datname, '$1') = '$1'"); do
    awk -v tick="$(getconf CLK_TCK)" '{sub(/.*\) /, ""); print ($12 + $13) * 1000 / tick}' "/proc/$pid/stat" 2>/dev/null
  done | awk '{ms += $1} END {printf "%d", ms}'
}
