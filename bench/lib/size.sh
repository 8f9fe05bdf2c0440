# shellcheck shell=bash
# Lease and complete must cost the same whatever else is in the tables. Each case has a database of its own that is filled once;
# the cases take turns, and what a pass has taken is put back before the next.

measure_size() {
  local sizes=(10000 100000 1000000) size
  [[ -z $smoke ]] || sizes=(10000 20000)
  [[ -z $full ]] || sizes+=(5000000)
  step "size: ${sizes[*]} ready tasks over 128 priorities"
  cases=() topping=() case_prefix=size
  for size in "${sizes[@]}"; do
    make_case "$size ready" "top_up 127 $size"
  done
  take_turns size
}

measure_cases() {
  local million=1000000 waiting=1000000 running=100000
  [[ -z $smoke ]] || million=20000 waiting=20000 running=5000
  [[ -z $full ]] || waiting=10000000
  local base="top_up 0 $((ready / 5))"
  step "cases: what else may be in the tables"
  cases=() topping=() case_prefix=case
  make_case "nothing else" "$base"
  make_case "$waiting waiting" "$base" "select count(*) from (
    select scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'bench', 'spec', '$spec'::jsonb,
      'not_before', clock_timestamp() + interval '1 day' + n * interval '1 s'))
      from generate_series(1, 10000) n)) from generate_series(1, $waiting / 10000)) x"
  make_case "$million ready in 100 other queues" "$base" "select count(scylla.submit_bulk('other-' || q,
    array_fill('$spec'::jsonb, array[$million / 100]))) from generate_series(1, 100) q"
  make_case "$running running" "$base" "select scylla.submit_bulk('bench', array_fill('$spec'::jsonb, array[$running]));
    select count(*) from scylla.lease('bench', 'other', $running, '1 day')"
  make_case "$million completed" "$base" "select scylla.create_queue('done', retention => '30 days')"
  local i
  for ((i = 0; i < million / 10000; i++)); do
    sql "${cases[-1]#*=}" >/dev/null <<SQL
      select scylla.submit_bulk('done', array_fill('$spec'::jsonb, array[10000]));
      select count(*) from scylla.complete_many(array(select rn from scylla.lease('done', 'other', 10000)), 'other') where completed;
SQL
  done
  take_turns cases
  purge_meanwhile "${cases[-1]#*=}" "$million"
  cancel_meanwhile "${cases[1]#*=}"
}

spec='{"cmd": "convert", "from": "/data/in/000042.tiff", "to": "/data/out/000042.png", "dpi": 96}'

# Adds a case: its name, how its ready tasks are put back, and what else is in the database.
make_case() { # LABEL TOP-UP [SQL]
  local database=${case_prefix}_${#cases[@]}
  say "    filling: $1"
  sql postgres -c "create database $database"
  sql "$database" -f "$here/contenders/scylla/create.sql" >/dev/null 2>&1
  sql "$database" >/dev/null <<SQL
    -- Puts back what is missing at each priority up to the given one, so that there are so many ready tasks.
    create function top_up(last int, tasks bigint) returns void language sql as \$\$
        select count(scylla.submit_bulk('bench', array_fill('$spec'::jsonb, array[missing]), priority => p))
          from (select p, (tasks / (last + 1) - count(r.id))::int as missing
                  from generate_series(0, last) p
                  left join scylla.task_ready r on r.priority = p and r.queue = (select id from scylla.queue where name = 'bench')
                 group by p) x
         where missing > 0;
    \$\$;
SQL
  # shellcheck disable=SC2086 # words of a call
  put_back "$database" $2
  if [[ -n ${3-} ]]; then sql "$database" -c "$3" >/dev/null; fi
  put_back "$database" $2
  sql "$database" -c 'vacuum (analyze)'
  cases+=("$1=$database")
  topping+=("$2")
}

put_back() { # DATABASE top_up LAST TASKS
  sql "$1" -c "select top_up($3, $4)" >/dev/null
}

take_turns() { # MEASURE
  local i
  sql postgres -c checkpoint
  for ((round = 1; round <= rounds; round++)); do
    for i in "${!cases[@]}"; do
      # shellcheck disable=SC2086
      put_back "${cases[i]#*=}" ${topping[i]}
      bench "$1" "${cases[i]%=*}" "${cases[i]#*=}" "$here/contenders/scylla/single.sql" 8 -t $((pass_tasks / 8))
      record "$1" "${cases[i]%=*}"
    done
  done
  round=
}

# The same while the finished tasks of another queue are removed, turn by turn with the same while they are kept: by the monitor, or
# in one turn by one call where none runs.
purge_meanwhile() { # DATABASE TASKS
  local left longest seconds=$(((steady_seconds + 11) / 12)) turns=$rounds
  step "purge of $2 tasks meanwhile"
  has_monitor || turns=1
  helper "$bin/psql" -XqAt -d "$1" -o "$work/logs/purge.longest" -f "$here/lib/longest.sql"
  for ((round = 1; round <= turns; round++)); do
    put_back "$1" top_up 0 "$ready"
    sql "$1" -c checkpoint
    bench purge without "$1" "$here/contenders/scylla/single.sql" 8 -T "$seconds"
    record purge without
    put_back "$1" top_up 0 "$ready"
    begin_purge "$1"
    bench purge meanwhile "$1" "$here/contenders/scylla/single.sql" 8 -T "$seconds"
    record purge meanwhile
    sql "$1" -c "update scylla.queue set retention = null where name = 'done'"
  done
  round=
  end_helpers
  left=$(sql "$1" -c "select count(*) from scylla.task_outcome where queue = (select id from scylla.queue where name = 'done')")
  longest=$(sort -g "$work/logs/purge.longest" | tail -n 1)
  note "While leases went on for $((turns * seconds)) s, $(($2 - left)) of $2 finished tasks were removed; the longest transaction seen took ${longest:-?} s."
}

# The same while the waiting tasks of its queue are cancelled, as `scylla cancel --queue` does it, after the same while nobody cancels. One
# turn: a million tasks last for two.
cancel_meanwhile() { # DATABASE
  local seconds=$(((steady_seconds + 11) / 12)) count="select count(*) from scylla.task_waiting" before
  step "cancelling of waiting tasks meanwhile"
  sql "$1" -f "$here/lib/cancel_all.sql"
  before=$(sql "$1" -c "$count")
  put_back "$1" top_up 0 "$ready"
  sql "$1" -c checkpoint
  bench cancel without "$1" "$here/contenders/scylla/single.sql" 8 -T "$seconds"
  record cancel without
  put_back "$1" top_up 0 "$ready"
  helper "$bin/psql" -Xq -d "$1" -c "call cancel_all('bench')"
  bench cancel meanwhile "$1" "$here/contenders/scylla/single.sql" 8 -T "$seconds"
  record cancel meanwhile
  end_helpers
  note "While leases went on for $seconds s, $((before - $(sql "$1" -c "$count"))) waiting tasks of their queue were cancelled."
}

# Finished tasks are too old from now on. Returns when the first is gone.
begin_purge() { # DATABASE
  local first deadline=$((SECONDS + 30)) look="
    select min(id) from scylla.task_outcome where queue = (select id from scylla.queue where name = 'done')"
  first=$(sql "$1" -c "$look")
  sql "$1" -c "update scylla.queue set retention = '0' where name = 'done'"
  has_monitor || helper "$bin/psql" -Xq -d "$1" -c "select scylla.purge()"
  until [[ $(sql "$1" -c "$look") != "$first" ]]; do
    ((SECONDS < deadline)) || die "no finished task is removed"
    sleep 0.05
  done
}
