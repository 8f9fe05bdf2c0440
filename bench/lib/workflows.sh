# shellcheck shell=bash
# Runs of workflows: chains of three steps, loops, and how soon the next step is with a worker; the same of the peers (flows.sh).

measure_workflows() {
  local chains=600 short=1000 long=25000
  [[ -z $smoke ]] || chains=60 short=100 long=1000
  step "workflows: chains of 3 steps, loops of $short and $long iterations"
  create_database workflows
  sql workflows -f "$here/contenders/scylla/create.sql" >/dev/null
  sql workflows >/dev/null <<'SQL'
    select scylla.create_workflow('{"properties": {"owner": "bench", "run_strategy": "1000"}, "workflow": {"id": "chain", "steps": [
      {"step": {"id": "one", "type": "Work", "transition": {"successors": {"two": "true"}}}},
      {"step": {"id": "two", "type": "Work", "transition": {"successors": {"three": "true"}}}},
      {"step": {"id": "three", "type": "Work"}}]}}');
    select scylla.create_workflow('{"properties": {"owner": "bench"}, "workflow": {"id": "loop", "instance_step_concurrency": 999,
      "params": {"n": {"type": "LONG", "value": 1}}, "steps": [
      {"foreach": {"id": "each", "concurrency": 500, "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, n, 1)"}}}},
        "steps": [{"step": {"id": "inner", "type": "Work"}}], "transition": {"successors": {"after": "true"}}}},
      {"step": {"id": "after", "type": "Work"}}]}}');
    select scylla.create_workflow('{"properties": {"owner": "bench", "run_strategy": "1000"}, "workflow": {"id": "triggered",
      "params": {"n": {"type": "LONG", "value": 0}},
      "signal_triggers": [{"definitions": {"start": {}}, "params": {"n": {"type": "LONG", "expression": "params.getFromSignal(''start'', ''n'')"}}}],
      "steps": [{"step": {"id": "first", "type": "Started", "params": {"n": {"type": "LONG", "expression": "n"}}}}]}}');
    create sequence turns;
    create sequence starts;
    create unlogged table sent (n bigint, at timestamptz);
    create unlogged table begun (n bigint, at timestamptz);
    create unlogged table ended (n bigint, at timestamptz);
    create unlogged table held (n bigint, at timestamptz);
SQL
  # A smoke run is for what is ours.
  [[ -n $smoke ]] || install_flow_peers
  next_step
  triggered_start
  for ((round = 1; round <= rounds; round++)); do
    chain_rate "one by one" 8 1 "$chains"
    chain_rate "batches of 50" 2 50 "$chains"
    loop_time 1000 "$short"
    measure_flow_peers "$chains" 100
  done
  round=
  loop_time 25000 "$long"
  sql workflows -c 'select from scylla.check()' >/dev/null
}

# Workers until all runs have ended.
work_until_done() { # CLIENTS BATCH
  run_group "$bin/pgbench" -n -M prepared -c "$1" -j 2 -T 600 -D batch="$2" -f "$here/lib/workflow_worker.sql" workflows \
    >"$work/logs/workflow_workers" 2>&1 &
  local workers=$!
  until [[ $(sql workflows -c 'select count(*) from scylla.workflow_run where ended is null') == 0 ]]; do sleep 0.05; done
  sql workflows -c "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pgbench' and datname = 'workflows'" >/dev/null
  wait "$workers" || true
}

# From the start of the first run to the end of the last.
chain_rate() { # LABEL CLIENTS BATCH RUNS
  sql workflows -c checkpoint -c "select count(scylla.start_workflow('chain')) from generate_series(1, $4)" >/dev/null
  work_until_done "$2" "$3"
  figure "chains" "$1" "$(sql workflows -c "select round(count(*) / extract(epoch from max(ended) - min(created)))
    from (select * from scylla.workflow_run where workflow = 'chain' order by instance desc limit $4) r where status = 'SUCCEEDED'")"
}

loop_time() { # LABEL ITERATIONS
  local before
  sql workflows -c checkpoint >/dev/null
  before=$(sql workflows -c 'select pg_current_wal_insert_lsn()')
  sql workflows -c "select scylla.start_workflow('loop', '{\"n\": $2}')" >/dev/null
  work_until_done 2 50
  figure "loop, seconds" "$1" "$(sql workflows -c "select round(extract(epoch from ended - created)::numeric, 3)
    from scylla.workflow_run where workflow = 'loop' and status = 'SUCCEEDED' order by instance desc limit 1")"
  figure "loop, WAL per iteration" "$1" "$(sql workflows -c "select round((pg_current_wal_insert_lsn() - '$before') / $2)")"
}

# One worker does chains, one after the other: from its completion of a step to its lease of the next one.
next_step() {
  local turns=$((steady_seconds * 30))
  run_group "$bin/pgbench" -n -M prepared -c 1 -j 1 -t "$turns" -f "$here/lib/workflow_chain.sql" workflows \
    >"$work/logs/workflow_chain" 2>&1 || failed "next step" worker "$work/logs/workflow_chain"
  percentiles "from the end of a step to the worker with the next one" \
    'select extract(epoch from h.at - e.at) * 1000 from ended e join held h on h.n = e.n + 1' workflows
}

# A client sends signals, each of which starts a run; a worker waits for the first step.
triggered_start() {
  local seconds=$((steady_seconds / 3)) waiter
  setsid "$bin/pgbench" -n -M prepared -c 1 -j 1 -T "$((seconds + 3))" -f "$here/lib/trigger_waiter.sql" workflows \
    </dev/null >"$work/logs/trigger_waiter" 2>&1 &
  waiter=$!
  helpers+=("$waiter")
  run_group "$bin/pgbench" -n -M prepared -c 1 -R 50 -T "$seconds" -f "$here/lib/trigger_sender.sql" workflows \
    >"$work/logs/trigger_sender" 2>&1 || failed "triggered start" sender "$work/logs/trigger_sender"
  wait "$waiter" || failed "triggered start" waiter "$work/logs/trigger_waiter"
  has_ended "$waiter"
  percentiles "from a signal to the worker with the first step that it starts" \
    'select extract(epoch from b.at - s.at) * 1000 from sent s join begun b using (n)' workflows
  # What a slow machine has left over.
  sql workflows -c "select scylla.deactivate_workflow('triggered')" -c "select scylla.stop_workflow('triggered')" >/dev/null
}
