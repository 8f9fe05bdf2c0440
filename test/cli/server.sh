#!/bin/bash
# scylla init and doctor: each thing that can be wrong is found and said.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test server

run scylla doctor
is "$status" 1 'doctor without the extension'
like "$output" 'problem  database "server" does not have the extension' 'says so'
sql 'create role guest login'
run scylla init -U guest
is "$status" 1 'init by a role that may not'
like "$output" 'problem  role "guest" may not create the extension' 'says so'
run scylla init
is "$status $(sql "select count(*) from pg_extension where extname = 'scylla'")" '0 1' 'init'
like "$output" 'ok       created the extension in database "server"' 'says what it did'
run scylla init
is "$status" 0 'again'
like "$output" 'ok       database "server" has the extension already' 'there is nothing to do'

# ---- all is well --------------------------------------------------------------------------------------------------------

monitored() { holds "select exists (select from pg_stat_activity where backend_type = 'scylla monitor' and datname = 'server')"; }
wait_until monitored
run scylla doctor
is "$status$(grep -v '^ok' <<<"$output")" 0 'doctor on a server where all is well'
run scylla doctor --json
is "$(sql "select bool_and(f ->> 'level' = 'ok') from jsonb_array_elements('$output') as f")" t 'as JSON'
run scylla doctor -U guest
is "$(grep -c '^note' <<<"$output")" 3 'what a role without rights cannot see is said'

# ---- what can be wrong --------------------------------------------------------------------------------------------------

problem() { # TEXT NAME
  is "$status $(grep -c '^problem' <<<"$output")" '1 1' "$2: one problem"
  like "$output" "problem  $1" "which is said"
  local after
  after=$(grep -A 1 '^problem' <<<"$output" | tail -n 1)
  like "$after" '^         [A-Z]' 'with advice'
}

# For a moment others have a transaction open, too: the monitor, autovacuum, whoever is just ending.
nobody_else() {
  run scylla doctor --long-transaction 0s
  (($(grep -c '^problem' <<<"$output") == 1))
}

# A session that holds a snapshot until its standard input ends.
coproc holder { exec psql -XqAt; }
printf '%s\n' 'begin isolation level repeatable read;' 'select pg_backend_pid();' >&"${holder[1]}"
read -r pid <&"${holder[0]}"
run scylla doctor
is "$status" 0 'a transaction that is not old'
wait_until nobody_else
problem "session $pid of postgres has had a transaction open for " 'a transaction that is'
printf '%s\n' 'commit;' >&"${holder[1]}"

sql "begin; create table t (); prepare transaction 'forgotten'"
wait_until nobody_else
problem "prepared transaction 'forgotten' is " 'a forgotten prepared transaction'
sql "rollback prepared 'forgotten'"

sql 'alter table scylla.task_ready set (autovacuum_enabled = false)'
run scylla doctor
problem 'autovacuum is off for scylla.task_ready' 'autovacuum off for a table'
sql 'alter table scylla.task_ready reset (autovacuum_enabled)'

setting() { # NAME VALUE
  sql "alter system set $1 = $2" && sql 'select pg_reload_conf()' >/dev/null
  wait_until holds "select current_setting('$1') = '$2'"
}
setting autovacuum off
run scylla doctor
problem 'autovacuum is off' 'autovacuum off'
setting autovacuum on

setting scylla.monitor off
run scylla doctor
problem 'the monitor is switched off' 'no monitor'
gone() { ! monitored; }
wait_until gone
sql "select from scylla.submit('q', '1', rn => 'old'); select from scylla.lease('q', 'w');
     update scylla.task_lease set deadline = now() - interval '1 min'"
run scylla doctor
is "$(grep -c '^problem' <<<"$output")" 2 'an expired lease'
like "$output" 'problem  1 leases expired more than 30 s ago' 'is left over'
setting scylla.monitor on
wait_until holds "select status = 'ready' from scylla.get_task('old')"

sql "delete from scylla.task_ready"
run scylla doctor
problem 'task old: ' 'what check() finds'
run scylla doctor --no-check
is "$status" 0 'or not, if not asked'
sql "delete from scylla.task_spec"

sql "update pg_extension set extversion = '0.0' where extname = 'scylla'"
run scylla doctor
problem 'the database has version 0.0 of the extension, the server version ' 'an old version'

# ---- more databases than monitors -----------------------------------------------------------------------------------------

monitors=$(sql 'show scylla.max_monitors')
for ((n = 0; n <= monitors; n++)); do
  sql "create database turn_$n" postgres
  sql 'create extension scylla' "turn_$n"
done
visited() { for ((n = 0; n <= monitors; n++)); do [[ $(sql 'select last_round is not null from scylla.stat_monitor' "turn_$n") == t ]] || return 1; done; }
is "$(wait_until visited && echo yes)" yes 'monitors come to all databases in turn'
content=0
for ((n = 0; n <= monitors; n++)); do
  PGDATABASE=turn_$n run scylla doctor
  ((status != 0)) || content=$((content + 1))
done
is "$content" $((monitors + 1)) 'which is good enough for doctor'
for ((n = 0; n <= monitors; n++)); do sql "drop database turn_$n" postgres; done

# ---- without preloading ---------------------------------------------------------------------------------------------------

export PGPORT=$SCYLLA_UNLOADED_PORT
sql 'create database server' postgres
run scylla init
is "$status $errors" '1 ' 'init on a server that does not preload the library'
like "$output" 'ok       created the extension' 'creates the extension'
like "$output" 'Add scylla to shared_preload_libraries' 'and says what is missing'
run scylla doctor
problem 'the library is not preloaded' 'doctor on such a server'

# Nothing refuses these there, because the library comes with the first call of a function.
sql "create function noop() returns trigger language plpgsql as 'begin return null; end';
     create trigger mine after insert on scylla.task_ready for each row execute function noop();
     alter table scylla.task_lease enable row level security;
     create table child (task bigint constraint of_task references scylla.task_spec)"
run scylla doctor
is "$status $(grep -c '^problem' <<<"$output")" '1 4' 'doctor on what the tables cannot have'
for what in 'table task_ready has trigger "mine"' 'table task_lease has row security' 'table task_spec has constraint "of_task"'; do
  like "$output" "problem  $what, which it cannot have" "$what"
done
sql 'drop trigger mine on scylla.task_ready; alter table scylla.task_lease disable row level security; drop table child'
run scylla doctor
is "$(grep -c '^problem' <<<"$output")" 1 'and when it is gone'
done_testing
