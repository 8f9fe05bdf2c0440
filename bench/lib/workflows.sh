# shellcheck shell=bash
# Runs of workflows: chains of three steps, loops, and how soon the next step is with a worker; the same of the peers (flows.sh).

measure_workflows() {
  local chains=600 short=1000 long=25000 finished=100000 waiting=10000
  [[ -z $smoke ]] || chains=60 short=100 long=1000 finished=300 waiting=100
  step "workflows: chains of 3 steps, loops of $short and $long iterations"
  create_workflows workflows
  # A smoke run is for what is ours.
  [[ -n $smoke ]] || install_flow_peers
  next_step workflows "from the end of a step to the worker with the next one"
  after_loop
  triggered_start
  create_workflows many_runs
  load_runs many_runs
  for ((round = 1; round <= rounds; round++)); do
    chain_rate "one by one" 8 1 "$chains"
    chain_rate "one by one, many runs there" 8 1 "$chains" many_runs
    chain_rate "batches of 50" 2 50 "$chains"
    loop_time 1000 "$short"
    measure_flow_peers "$chains" 100
  done
  round=
  loop_time 25000 "$long" watched
  expression_time
  sql workflows -c 'select from scylla.check()' >/dev/null
  sql many_runs -c 'select from scylla.check()' >/dev/null
}

create_workflows() { # DATABASE
  create_database "$1"
  sql "$1" -f "$here/contenders/scylla/create.sql" >/dev/null
  sql "$1" -f "$here/lib/watch_engine.sql"
  sql "$1" >/dev/null <<'SQL'
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
    select scylla.create_workflow(jsonb_build_object('properties', '{"owner": "bench", "run_strategy": "1000"}'::jsonb, 'workflow',
        jsonb_build_object('id', 'waits' || n, 'steps', '[{"step": {"id": "one", "type": "Work", "signal_dependencies": [{"name": "never"}]}}]'::jsonb)))
    from generate_series(0, 9) n;
    create sequence turns;
    create sequence starts;
    create unlogged table sent (n bigint, at timestamptz);
    create unlogged table begun (n bigint, at timestamptz);
    create unlogged table ended (n bigint, at timestamptz);
    create unlogged table held (n bigint, at timestamptz);
SQL
}

# Runs that have ended, and others that wait for a signal.
load_runs() { # DATABASE
  local started
  step "loading $finished runs that have ended and $waiting that wait"
  for ((started = 0; started < finished; started += finished / 10)); do
    sql "$1" -c "select count(scylla.start_workflow('chain')) from generate_series(1, $((finished / 10)))" >/dev/null
    work_until_done 2 50 "$1"
  done
  sql "$1" -c "select count(scylla.start_workflow('waits' || n % 10)) from generate_series(1, $waiting) n" >/dev/null
  until [[ $(sql "$1" -c "select count(*) from scylla.workflow_step where workflow ~ '^waits' and status = 'WAITING_FOR_SIGNALS'") == "$waiting" ]]; do
    sleep 0.5
  done
  sql "$1" -c 'vacuum (analyze)'
}

# Workers until all runs have ended, except those that wait for a signal.
work_until_done() { # CLIENTS BATCH [DATABASE]
  local database=${3:-workflows}
  run_group "$bin/pgbench" -n -M prepared -c "$1" -j 2 -T 600 -D batch="$2" -f "$here/lib/workflow_worker.sql" "$database" \
    >"$work/logs/workflow_workers" 2>&1 &
  local workers=$!
  until [[ $(sql "$database" -c "select count(*) from scylla.workflow_run_state where ended is null and workflow !~ '^waits'") == 0 ]]; do
    sleep 0.05
  done
  sql "$database" -c "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pgbench' and datname = '$database'" >/dev/null
  wait "$workers" || true
}

# From the start of the first run to the end of the last.
chain_rate() { # LABEL CLIENTS BATCH RUNS [DATABASE]
  local database=${5:-workflows}
  sql "$database" -c checkpoint -c "select count(scylla.start_workflow('chain')) from generate_series(1, $4)" >/dev/null
  work_until_done "$2" "$3" "$database"
  figure "chains" "$1" "$(sql "$database" -c "select round(count(*) / extract(epoch from max(ended) - min(created)))
    from (select * from scylla.workflow_run where workflow = 'chain' order by instance desc limit $4) r where status = 'SUCCEEDED'")"
}

loop_time() { # LABEL ITERATIONS [watched]
  local before watcher=
  sql workflows -c checkpoint >/dev/null
  before=$(sql workflows -c 'select pg_current_wal_insert_lsn()')
  sql workflows -c "select scylla.start_workflow('loop', '{\"n\": $2}')" >/dev/null
  if [[ -n ${3-} ]]; then
    sql workflows -c 'call watch_engine()' >"$work/logs/engine" &
    watcher=$!
  fi
  work_until_done 2 50
  if [[ -n $watcher ]]; then
    wait "$watcher"
    figure "loop, longest transaction of the engine, ms" "$1" "$(cut -d '|' -f 1 "$work/logs/engine")"
    figure "loop, memory of the engine, MB" "$1" "$(cut -d '|' -f 2 "$work/logs/engine")"
  fi
  figure "loop, seconds" "$1" "$(sql workflows -c "select round(extract(epoch from ended - created)::numeric, 3)
    from scylla.workflow_run where workflow = 'loop' and status = 'SUCCEEDED' order by instance desc limit 1")"
  figure "loop, WAL per iteration" "$1" "$(sql workflows -c "select round((pg_current_wal_insert_lsn() - '$before') / $2)")"
}

# One worker does chains, one after the other: from its completion of a step to its lease of the next one.
next_step() { # DATABASE LABEL
  local turns=$((steady_seconds * 30))
  sql "$1" -c 'truncate ended, held'
  run_group "$bin/pgbench" -n -M prepared -c 1 -j 1 -t "$turns" -f "$here/lib/workflow_chain.sql" "$1" \
    >"$work/logs/workflow_chain" 2>&1 || failed "next step" worker "$work/logs/workflow_chain"
  percentiles "$2" 'select extract(epoch from h.at - e.at) * 1000 from ended e join held h on h.n = e.n + 1' "$1"
}

# One worker does loops of ten, one after the other: from its completion of the last iteration to its lease of the step after the loop.
after_loop() {
  sql workflows -c 'truncate ended, held' -c "select scylla.start_workflow('loop', '{\"n\": 10}')" >/dev/null
  run_group "$bin/pgbench" -n -M prepared -c 1 -j 1 -T "$((steady_seconds / 6 + 1))" -f "$here/lib/workflow_join.sql" workflows \
    >"$work/logs/workflow_join" 2>&1 || failed "after a loop" worker "$work/logs/workflow_join"
  percentiles "from the end of a loop's last step to the worker with the step after it" \
    'select extract(epoch from h.at - max(e.at)) * 1000 from ended e join held h using (n) group by n, h.at' workflows
  sql workflows -c "select scylla.stop_workflow('loop')" >/dev/null
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

# Of the objects of which the extension is made.
expression_time() {
  local program=$work/expression
  g++ -std=c++20 -O2 -fno-rtti -I"$checkout/src" -o "$program" "$here/lib/expression.cpp" "$checkout"/src/model/sel/*.o >"$work/logs/expression" 2>&1 &&
    figure "expression, µs" "parsed before" "$("$program")" || failed expression model "$work/logs/expression"
}
