# shellcheck shell=bash
# Tasks of a handler that does nothing, called by one server worker, and by a session.

measure_handlers() {
  local tasks=$((ready / 5))
  step "handlers: one server worker and $tasks tasks that do nothing"
  create_database handlers
  # As where synchronous_commit is not set, which it is here: server workers commit asynchronously then.
  sql postgres -c 'alter database handlers set synchronous_commit = off' >/dev/null
  sql handlers -f "$here/contenders/scylla/create.sql" >/dev/null
  sql postgres -c 'alter system set scylla.max_server_workers = 1' -c 'select pg_reload_conf()' >/dev/null
  sql handlers -c "create function nothing(task scylla.task) returns jsonb language plpgsql as \$\$ begin return null; end \$\$;
    select scylla.create_queue('handled', handler => 'nothing')" >/dev/null
  for ((round = 1; round <= rounds; round++)); do
    handled_rate "a server worker" "$tasks" 'select scylla.resume_queue($$handled$$)'
    sql postgres -c 'alter system set scylla.max_server_workers = 0' -c 'select pg_reload_conf()' >/dev/null
    wait_for_workers 0
    handled_rate "CALL scylla.work()" "$tasks" 'select scylla.resume_queue($$handled$$)' "call scylla.work('handled')"
    sql postgres -c 'alter system set scylla.max_server_workers = 1' -c 'select pg_reload_conf()' >/dev/null
  done
  round=
  sql postgres -c 'alter system reset scylla.max_server_workers' -c 'select pg_reload_conf()' >/dev/null
}

wait_for_workers() { # COUNT
  until [[ $(sql postgres -c "select count(*) from pg_stat_activity where backend_type = 'scylla worker'") == "$1" ]]; do sleep 0.01; done
}

# From the commit that resumes the queue to the last completion.
handled_rate() { # LABEL TASKS STATEMENT...
  local label=$1 tasks=$2 statement
  shift 2
  sql handlers -c "truncate scylla.task_spec, scylla.task_waiting, scylla.task_ready, scylla.task_lease, scylla.task_outcome, scylla.task_gate" \
    -c "select scylla.pause_queue('handled')" -c "select scylla.submit_bulk('handled', array_fill('1'::jsonb, array[$tasks]))" \
    -c 'vacuum (analyze)' -c checkpoint >/dev/null
  sql handlers -c 'create table if not exists resumed (at timestamptz)' -c 'truncate resumed' -c 'insert into resumed values (clock_timestamp())' >/dev/null
  for statement in "$@"; do sql handlers -c "$statement" >/dev/null; done
  until [[ $(sql handlers -c "select count(*) from (select from scylla.task_outcome limit $tasks) t") == "$tasks" ]]; do sleep 0.05; done
  figure "handler" "$label" "$(sql handlers -c "select round($tasks / extract(epoch from max(finished) - (select at from resumed))) from scylla.task_outcome")"
}
