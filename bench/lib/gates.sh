# shellcheck shell=bash
# Tasks that wait for tasks: one that many wait for, one that waits for many, chains, graphs, and what building a plan costs.

measure_gates() {
  local outs=(10000 100000) in=100000 chain=10000 graph=100000 plan=10000 number
  [[ -z $smoke ]] || outs=(1000) in=8000 chain=200 graph=2000 plan=1000
  step "gates: fan-out ${outs[*]}, fan-in $in, chain $chain, graph $graph, plan $plan"
  create_database gates
  sql gates -f "$here/contenders/scylla/create.sql" >/dev/null
  sql gates >/dev/null <<'SQL'
    -- Runs what is ready until the plan is finished.
    create procedure run_plan(plan text, worker text) language plpgsql as $$
    declare
      rns text[];
    begin
      loop
        select array_agg(rn) into rns from scylla.lease('bench', worker, 50, '1 hour');
        perform scylla.complete_many(rns, worker) where rns is not null;
        commit;
        if rns is null then
          exit when (select p.finished is not null from scylla.plan p where name = plan);
          perform pg_sleep(0.01);
        end if;
      end loop;
    end $$;
    -- Submits tasks t1, t2, ... of that plan, if any, each after so many of those before it: the last of them, or random ones.
    create procedure build(plan text, tasks int, edges int, random boolean) language plpgsql as $$
    begin
      perform setseed(0.5);
      create temp table part on commit drop as
        select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('queue', 'bench', 'spec', 1, 'rn', 't' || n, 'plan', plan, 'depends_on',
                 case when edges > 0 and n > 1 then (
                   select jsonb_agg(distinct 't' || case when random then 1 + floor(random() * (n - 1))::int else n - e end)
                   from generate_series(1, least(edges, n - 1)) e) end)) order by n) as tasks
          from generate_series(1, tasks) n group by (n - 1) / 10000 order by min(n);
      create temp table began on commit drop as select clock_timestamp() as at;
      perform scylla.create_plan(plan) where plan is not null;
      perform scylla.submit_many(p.tasks) from part p;
    end $$;
SQL
  for ((round = 1; round <= rounds; round++)); do
    for number in "${outs[@]}"; do fan_out "$number"; done
    fan_in free "$in"
    fan_in joined "$in"
    empty_gates
    figure building "without edges" "$(build null "$plan" 0 false)"
    for number in 2 10; do
      empty_gates
      figure building "$number dependencies each" "$(build "'built'" "$plan" "$number" true)"
    done
  done
  round=
  run_graph "chain of $chain" "$chain" 1 false 1
  run_graph "graph of $graph" "$graph" 2 true 8
}

empty_gates() {
  sql gates -c 'truncate scylla.task_spec, scylla.task_waiting, scylla.task_ready, scylla.task_lease, scylla.task_outcome,
    scylla.task_gate, scylla.task_plan' -c 'vacuum (analyze)' -c checkpoint >/dev/null
}

# Prints the seconds from the first task, or the plan, to the commit.
build() { # PLAN TASKS EDGES RANDOM
  sql gates <<SQL
    begin;
    call build($1, $2, $3, $4);
    select at from began \gset
    commit;
    select round(extract(epoch from clock_timestamp() - :'at'), 4);
SQL
}

# Seconds to complete a task that so many wait for, until all of them are ready: the monitor opens most of them.
fan_out() { # TASKS
  local seconds ready
  empty_gates
  sql gates -c "select scylla.submit('bench', '1', rn => 'provider')" \
    -c "select count(*) from generate_series(0, ($1 - 1) / 10000) part, lateral scylla.submit_many((
          select jsonb_agg('{\"queue\": \"bench\", \"spec\": 1, \"depends_on\": [\"provider\"]}'::jsonb)
          from generate_series(part * 10000 + 1, least($1, part * 10000 + 10000))))" \
    -c "select scylla.lease_task('provider', 'w', '1 hour')" -c 'vacuum (analyze)' -c checkpoint >/dev/null
  seconds=$(sql gates <<'SQL'
    select clock_timestamp() as at \gset
    select from scylla.complete('provider', 'w');
    do $$ begin
      while exists (select from scylla.task_waiting) loop perform pg_sleep(0.001); end loop;
    end $$;
    select round(extract(epoch from clock_timestamp() - :'at'), 4);
SQL
  )
  ready=$(sql gates -c 'select count(*) from scylla.task_ready')
  [[ $ready == "$1" ]] || die "fan-out: $ready of $1 tasks are ready"
  figure fan-out "$1" "$seconds"
}

# Eight workers complete the providers of one join, or the same tasks without it: one by one for a while, then the rest.
fan_in() { # free|joined TASKS
  local i status
  empty_gates
  sql gates -c "select scylla.submit_bulk('bench', array_fill('1'::jsonb, array[$2]),
                  array(select 'p' || n from generate_series(1, $2) n))" >/dev/null
  [[ $1 == free ]] || sql gates -c "select scylla.submit('bench', '1', rn => 'join', priority => 127, depends_on =>
                        array(select 'p' || n from generate_series(1, $2) n))" >/dev/null
  sql gates -c 'vacuum (analyze)' -c checkpoint
  bench "fan-in single" "$1" gates "$here/contenders/scylla/single.sql" 8 -t $((pass_tasks / 8))
  record "fan-in single" "$1"
  tasks=$(($2 - pass_tasks)) bench "fan-in batch" "$1" gates "$here/contenders/scylla/batch.sql" 8 -T "$seconds"
  record "fan-in batch" "$1"
  [[ $1 == joined ]] || return 0
  for ((i = 0; i < 2; i++)); do
    sql gates -c "select count(*) from scylla.complete_many(array(select rn from scylla.lease('bench', 'w', 100000, '1 hour')), 'w')" >/dev/null
  done
  status=$(sql gates -c "select status from scylla.get_task('join')")
  [[ $status == completed || $status == ready ]] || die "fan-in: the join is $status when all its providers are completed"
}

# Loads a plan and runs it: seconds for the one, tasks per second for the other.
run_graph() { # LABEL TASKS EDGES RANDOM WORKERS
  local i pids=() began seconds
  empty_gates
  figure "loading" "$1" "$(build "'graph'" "$2" "$3" "$4")"
  sql gates -c 'vacuum (analyze)' -c checkpoint
  began=${EPOCHREALTIME/./}
  sql gates -c "select scylla.open_plan('graph')" >/dev/null
  for ((i = 1; i <= $5; i++)); do
    sql gates -c "call run_plan('graph', 'w$i')" >/dev/null 2>"$work/logs/graph.$i" &
    pids+=("$!")
  done
  for i in "${pids[@]}"; do wait "$i"; done
  seconds=$((${EPOCHREALTIME/./} - began))
  [[ $(sql gates -c "select completed from scylla.plan where name = 'graph'") == "$2" ]] || die "$1: not every task is completed"
  figure "running" "$1" $(($2 * 1000000 / seconds))
}
