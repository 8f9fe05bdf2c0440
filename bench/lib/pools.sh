# shellcheck shell=bash
# Tasks that need something of a pool: how many per second, how soon a freed permit is used again, and what a pass costs.

measure_pools() {
  local waiting=10000 tasks=$((ready / 2))
  step "pools: 8 workers and 100 permits, one permit, $waiting tasks that wait for 50 pools"
  create_database pools
  sql pools -f "$here/contenders/scylla/create.sql" >/dev/null
  sql pools -c "select scylla.create_pool('permits', '{\"permits\": 100}'), scylla.create_pool('single', '{\"permits\": 1}')" >/dev/null
  freed_permit
  for ((round = 1; round <= rounds; round++)); do
    pooled_rate "no needs" null "$tasks"
    pooled_rate "100 permits" "'{\"permits\": {\"permits\": 1}}'" "$tasks"
  done
  for ((round = 1; round <= rounds; round++)); do placing "$waiting"; done
  round=
  idle_server pools "idle in line, percent of a CPU" "$waiting"
  empty_pools # its monitor would have work while others are measured
}

empty_pools() {
  sql pools -c 'truncate scylla.task_spec, scylla.task_waiting, scylla.task_ready, scylla.task_lease, scylla.task_outcome,
    scylla.task_gate, scylla.pool_line, scylla.pool_head, scylla.task_reservation' -c 'vacuum (analyze)' -c checkpoint >/dev/null
}

pooled_tasks() { # QUEUE NEEDS TASKS
  empty_pools
  sql pools -c "select count(*) from generate_series(0, ($3 - 1) / 10000) part, lateral scylla.submit_many((
      select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('queue', '$1', 'spec', 1, 'needs', $2::jsonb)))
      from generate_series(part * 10000 + 1, least($3, part * 10000 + 10000))))" -c 'vacuum (analyze)' -c checkpoint >/dev/null
}

# Two workers and one permit. Both note when they have an answer, as in latency: of a lease, and of the complete that frees the permit.
freed_permit() {
  local seconds=$((steady_seconds / 3))
  sql pools -c 'create sequence turns; create unlogged table freed (n bigint, at timestamptz);
    create unlogged table held (n bigint, at timestamptz)'
  pooled_tasks single "'{\"single\": {\"permits\": 1}}'" $((seconds * 500))
  run_group "$bin/pgbench" -n -M prepared -c 2 -j 1 -T "$seconds" -f "$here/lib/permit_worker.sql" pools \
    >"$work/logs/permit_workers" 2>&1 || failed "freed permit" workers "$work/logs/permit_workers"
  percentiles "from a freed permit to the next worker" \
    'select extract(epoch from h.at - f.at) * 1000 from freed f join held h on h.n = f.n + 1' pools
}

# Eight workers that complete and lease twelve at a time.
pooled_rate() { # LABEL NEEDS TASKS
  local done_in
  pooled_tasks pooled "$2" "$3"
  done_in=$(sql pools -c 'select clock_timestamp()')
  run_group "$bin/pgbench" -n -M prepared -c 8 -j 2 -T "$seconds" -D started=0 -f "$here/lib/pooled_batch.sql" pools \
    >"$work/logs/pooled" 2>&1 || failed "pool rate" "$1" "$work/logs/pooled"
  figure "pool rate" "$1" "$(sql pools -c "select round(count(*) / extract(epoch from max(updated) - '$done_in'))
    from scylla.task where queue = 'pooled' and status = 'completed'")"
}

# Each pool is full, and each task that waits needs another amount of it, so that no two are looked at together.
placing() { # TASKS
  empty_pools
  sql pools >/dev/null <<SQL
    select scylla.create_pool('p' || n, '{"cores": 100, "memory": 100, "disk": 100}')
      from generate_series(0, 49) n where not exists (select from scylla.pool where pool = 'p' || n);
    select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'placed', 'spec', 1, 'rn', 'holder ' || n,
      'needs', jsonb_build_object('p' || n, '{"cores": 100, "memory": 100, "disk": 100}'::jsonb))) from generate_series(0, 49) n));
    -- The monitor may be about to place them: then place() leaves them to it.
    do \$\$ begin
      while (select coalesce(sum(placed), 0) from scylla.pool) < 50 loop perform scylla.place(), pg_sleep(0.01); commit; end loop;
    end \$\$;
    select count(*) from scylla.lease('placed', 'w', 50, '1 hour');
    select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'placed', 'spec', 1,
      'needs', jsonb_build_object('p' || n % 50, jsonb_build_object('cores', 0.25 + (n / 50) * 0.25, 'memory', 100, 'disk', 50)))) from generate_series(0, $1 - 1) n));
    vacuum (analyze);
    checkpoint;
SQL
  [[ $(sql pools -c 'select sum(waiting) || $$ $$ || sum(placed) from scylla.pool') == "$1 50" ]] || die "pools: not all tasks wait"
  figure "pass over all, ms" "$1" "$(milliseconds_of "select count(*) from scylla.place()" '')"
  figure "pass after one end, ms" "$1" "$(milliseconds_of "select count(*) from scylla.place('p7')" "select scylla.complete('holder 7', 'w')")"
}

# The shortest of five times that a statement takes after another one, in transactions that are rolled back.
milliseconds_of() { # SQL FIRST
  local i
  {
    echo "create temp table time (ms float8);"
    for ((i = 0; i <= 5; i++)); do # the first one warms the session
      cat <<SQL
        begin; $2;
        select clock_timestamp() as at \\gset
        $1;
        select extract(epoch from clock_timestamp() - :'at') * 1000 as ms \\gset
        rollback;
        insert into time values (:ms);
SQL
    done
    echo "select round(min(ms)::numeric, 2) from time;"
  } | sql pools | tail -n 1
}
