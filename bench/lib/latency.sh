# shellcheck shell=bash
# How soon: from the commit of a submit to the worker that holds the task, and how late time is noticed.

measure_latency() {
  step "latency"
  prepare "$here/contenders/scylla" latency 0
  pick_up
  lateness
}

# Eight workers wait; a client submits one task at a time. Both note when an answer has reached them, by the next thing that they
# send: a row with the server's clock in an unlogged table, which waits for no disk. So the latency contains the commit of the lease,
# and not that of the submit.
pick_up() {
  local seconds=$((steady_seconds / 3)) waiters
  if [[ -z $(sql scylla -c "select 'yes' from pg_proc where pronamespace = 'scylla'::regnamespace and proname = 'wait'") ]]; then
    note "There is no scylla.wait() yet: pick-up latency was not measured."
    say "    no scylla.wait() yet"
    return
  fi
  sql scylla -c "drop table if exists submitted, held; create unlogged table submitted (rn text, at timestamptz);
    create unlogged table held (rn text, woken timestamptz, at timestamptz)"
  setsid "$bin/pgbench" -n -M prepared -c 8 -j 1 -T "$((seconds + 3))" -f "$here/lib/waiter.sql" scylla \
    </dev/null >"$work/logs/waiters" 2>&1 &
  waiters=$!
  helpers+=("$waiters")
  run_group "$bin/pgbench" -n -M prepared -c 1 -R 50 -T "$seconds" -f "$here/lib/submitter.sql" scylla >"$work/logs/submitter" 2>&1 ||
    failed "pick-up latency" submitter "$work/logs/submitter"
  wait "$waiters" || failed "pick-up latency" waiters "$work/logs/waiters"
  has_ended "$waiters"
  percentiles "pick-up" "select extract(epoch from h.at - s.at) * 1000 from submitted s join held h using (rn)"
  percentiles "of that, until the wait returns" "select extract(epoch from h.woken - s.at) * 1000 from submitted s join held h using (rn)"
  percentiles "a commit: one UPDATE by key, one client" "$(commit_latencies)"
}

# By the monitor's own timestamps: when a task became ready against when it was due, and when a lease was ended against its deadline.
# (The commit comes after that.)
lateness() {
  if ! has_monitor; then
    say "    no monitor"
    return
  fi
  local tasks=500
  step "lateness of $tasks due tasks and $tasks leases that end"
  sql scylla -f "$here/contenders/scylla/reset.sql"
  sql scylla >/dev/null <<SQL
    select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'due', 'spec', 1,
      'not_before', clock_timestamp() + interval '1 s' + n * interval '7 ms')) from generate_series(1, $tasks) n));
    select scylla.submit_bulk('ends', array_fill('1'::jsonb, array[$tasks]));
    select count(*) from generate_series(1, $tasks) n, scylla.lease('ends', 'worker-' || n, 1, interval '1 s' + n * interval '7 ms');
    create temp table given as select rn, deadline from scylla.task where queue = 'ends';
    create table if not exists public.ends as table given;
    truncate public.ends;
    insert into public.ends table given;
SQL
  until_ready scylla "queue in ('due', 'ends')" $((2 * tasks))
  percentiles "due task" "select extract(epoch from updated - not_before) * 1000 from scylla.task where queue = 'due' and status = 'ready'"
  percentiles "end of lease" "select extract(epoch from t.updated - e.deadline) * 1000
    from scylla.task t join public.ends e using (rn) where t.status = 'ready'"
}

until_ready() { # DATABASE CONDITION TASKS
  local deadline=$((SECONDS + 120))
  until [[ $(sql "$1" -c "select count(*) from scylla.task where $2 and status = 'ready'") == "$3" ]]; do
    ((SECONDS < deadline)) || {
      note "Not every task was ready after two minutes: database $1, $2."
      failures=$((failures + 1))
      return
    }
    sleep 0.2
  done
}

percentiles() { # LABEL QUERY-FOR-MILLISECONDS [DATABASE]
  local p50 p99 n
  IFS='|' read -r n p50 p99 < <(sql "${3:-scylla}" -c "select count(*), round(percentile_cont(0.5) within group (order by ms)::numeric, 3),
    round(percentile_cont(0.99) within group (order by ms)::numeric, 3) from ($2) x (ms)")
  ((n > 0)) || return 0
  figure "latency p50" "$1" "$p50"
  figure "latency p99" "$1" "$p99"
}

# What the disk takes: a query for the latencies of single-row updates, from pgbench's log.
commit_latencies() {
  local folder=$here/contenders/limit
  prepare "$folder" latency 1000
  (cd "$work/logs" && tasks=1000 && "$bin/pgbench" -n -M prepared -l -t 1000 -D tasks=1000 -f "$folder/single.update.sql" limit \
    >commits 2>&1) || failed latency commits "$work/logs/commits"
  echo "select ms from unnest('{$(cut -d ' ' -f 3 "$work"/logs/pgbench_log.* | awk '{printf "%s%.3f", (NR > 1 ? "," : ""), $1 / 1000}')}'::float8[]) ms"
}
