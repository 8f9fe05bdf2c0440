#!/bin/bash
# The first hour of a newcomer, as the documents tell it: a stock cluster of Debian (pg_createcluster, its pg_hba.conf, no trust), the
# setting, the statements and the workflow of README.md, the roles of docs/operations.md, workers pasted out of the manuals for Python and Node.js,
# the command line, a dump that is restored beside the original. Prints TAP.
#
# The cluster is made for a private copy of the server, has its own configuration root, socket folder and port, and is removed.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
source "$here/../lib/common.sh"
source "$here/../lib/packages.sh"
source "$here/../lib/build.sh"
source "$here/../lib/cluster.sh"

work=
tests=0
passwords=secret-$$

main() {
  clean_up_with finish
  prepare >&2
  # From here on a failure is a test that fails.
  set +e
  make_stock_cluster
  follow_readme
  paste_roles
  use_command_line
  run_python
  run_node
  make_mistakes
  restore_beside
  leave
  echo "1..$tests"
}

finish() {
  local status=$?
  begin_cleanup
  end_group
  local pid
  for pid in "${workers[@]}"; do kill -KILL "$pid" 2>/dev/null; done
  [[ -n $work ]] || exit "$status"
  stop_all_servers
  remove_work_folder
  exit "$status"
}
workers=()

ok() { # STATUS NAME
  tests=$((tests + 1))
  if (($1 == 0)); then
    echo "ok $tests - $2"
  else
    echo "not ok $tests - $2"
    tail -n 40 "$log" | sed 's/^/# /'
  fi
}

# A test: whether a command succeeds. What it prints is shown if not.
check() { # NAME COMMAND...
  local status=0
  "${@:2}" >"$log" 2>&1 </dev/null || status=$?
  ok "$status" "$1"
}

# Whether a command prints this, and what it prints besides.
prints() { # REGULAR-EXPRESSION COMMAND...
  local printed status=0
  printed=$("${@:2}" 2>&1 </dev/null) || status=$?
  printf '%s (status %s), expected: %s\n' "$printed" "$status" "$1"
  [[ $printed =~ $1 ]]
}

eventually() { # COMMAND...
  local deadline=$((SECONDS + 60))
  until "$@"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.1
  done
}

prepare() {
  choose_server
  # shellcheck disable=SC2046 # lists of words
  install_missing $(packages_to_build) $(packages_to_build_client) nlohmann-json3-dev postgresql-common python3-psycopg
  install_node_driver
  choose_server_user
  make_work_folder first-hour
  scratch=$work/scratch
  mkdir "$scratch"
  chmod 777 "$scratch"
  log=$scratch/log
  make_private_server
  build_extension "$work/build.log"
  build_tested_command_line "$work/build.log"
  PATH=$command_line/cli:$bin:$PATH
}

# ---- the cluster ------------------------------------------------------------------------------------------------------

# Debian's tools find programs below /usr/lib/postgresql; these ones find those of our private copy.
debian() { # PROGRAM ARGUMENT...
  local program=$1 taint=
  shift
  ! head -n 1 "/usr/bin/$program" | grep -q -- '-[a-zA-Z]*T' || taint=yes # as it asks for
  env "PG_CLUSTER_CONF_ROOT=$work/etc" perl ${taint:+-T} "-I$work/perl" "/usr/bin/$program" "$@"
}

make_stock_cluster() {
  local free
  port=
  for free in {1..50}; do
    port=$((20000 + RANDOM % 10000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  mkdir -p "$work/etc" "$work/perl"
  chown "$server_user" "$work/etc"
  sed "s|^our \$binroot = .*|our \$binroot = '$prefix/usr/lib/postgresql/';|" /usr/share/perl5/PgCommon.pm >"$work/perl/PgCommon.pm"
  check 'pg_createcluster makes a stock cluster' debian pg_createcluster "$pg_major" first --user "$server_user" --port "$port" \
    --socketdir "$socket_dir" --datadir "$work/data" --logfile "$work/server.log" --locale C.UTF-8 --start-conf manual
  settings=$work/etc/$pg_major/first/postgresql.conf
  control start
}

control() { # ACTION
  check "pg_ctlcluster $1" debian pg_ctlcluster "$pg_major" first "$1" --mode fast
}

# As the server's user over the socket, which its pg_hba.conf knows by "peer".
admin() { as_server env "PGHOST=$socket_dir" "PGPORT=$port" "PGUSER=$server_user" "PGDATABASE=$database" "PATH=$PATH" "$@"; }
sql() { admin psql -XqAt -v ON_ERROR_STOP=1 -c "$1"; }
# As another role, over TCP with a password.
as() { # ROLE COMMAND...
  env PGHOST=127.0.0.1 "PGPORT=$port" "PGUSER=$1" "PGPASSWORD=$passwords" "PGDATABASE=$database" timeout 60 "${@:2}"
}
status_is() { [[ $(sql "select status from scylla.get_task('$1')") == "$2" ]]; } # RN STATUS

# ---- what is pasted -----------------------------------------------------------------------------------------------------

# The first block of a language in a section of a document.
pasted() { # DOCUMENT SECTION LANGUAGE [ALL]
  sed -n "/^##* $2\$/,/^## /p" "$checkout/$1" | awk -v language="$3" -v all="${4-}" '
    /^```/ { if (inside) { inside = 0; if (!all) exit } else inside = $0 == "```" language; next }
    inside'
}

follow_readme() {
  database=postgres
  check 'make install has put the extension beside the server' sql "select 1 / count(*) from pg_available_extensions where name = 'scylla'"
  pasted README.md Install ini >>"$settings"
  check 'README.md says what to set' grep -q "^shared_preload_libraries = 'scylla'" "$settings"
  control restart
  sql 'create database shop'
  database=shop
  check 'create extension' sql 'create extension scylla;'
  pasted README.md 'A task' sql >"$scratch/first.sql"
  chmod 644 "$scratch/first.sql"
  admin psql -Xq -v ON_ERROR_STOP=1 -P footer=off -f "$scratch/first.sql" >"$scratch/got" 2>&1
  pasted README.md 'A task' text | diff -BZ - "$scratch/got" >"$log" 2>&1
  ok $? 'the task of README.md gives the answers that are printed there'
  pasted README.md 'A workflow' yaml >"$scratch/nightly.yaml"
  pasted README.md 'A workflow' sh >"$scratch/nightly.sh"
  check 'every step of the workflow of README.md succeeds by the commands that are printed there' admin timeout 60 bash -euc '
    cd "$1"
    source ./nightly.sh
    until (($(scylla run tree nightly 1 | grep -c SUCCEEDED) == 9)); do sleep 0.1; done
    kill -TERM %1
    wait' follow "$scratch"
  check 'scylla doctor finds nothing on a stock cluster' admin scylla doctor
  sql "select scylla.drop_workflow('nightly')" >/dev/null
  sql "select scylla.drop_queue(queue, true) from scylla.queue_settings where queue in ('mail', 'copy')" >/dev/null
}

paste_roles() {
  pasted docs/operations.md Roles sql all >"$scratch/roles.sql"
  chmod 644 "$scratch/roles.sql"
  check 'the roles of docs/operations.md can be pasted' admin psql -Xq -v ON_ERROR_STOP=1 -f "$scratch/roles.sql"
  sql "alter role shop login password '$passwords'; alter role mailer login password '$passwords'; alter role support login password '$passwords'"
  check 'they are let in by password' prints '^mailer$' as mailer psql -XqAtc 'select current_user'
}

# ---- workers ------------------------------------------------------------------------------------------------------------

use_command_line() {
  check 'shop submits' prints '^by-hand$' as shop scylla submit mail '{"to": "ada@example.org"}' --rn by-hand
  check 'mailer works until nothing is left' as mailer scylla work mail --until-empty --exec 'cat >/dev/null; echo "{\"sent\": true}"'
  check 'shop sees the result' prints '^\{"sent": true\}$' as shop scylla get by-hand --field result
  check 'support looks at the tasks' prints 'by-hand' as support scylla list mail
  check 'and must not submit' prints 'permission denied' as support scylla submit mail 1
  check 'a schedule needs no pg_cron' sql "select scylla.schedule('nightly', '0 3 * * *', 'mail', '{\"to\": \"all\"}')"
  check 'and doctor says that it will come' prints 'schedules' admin scylla doctor
  sql "select scylla.unschedule('nightly')" >/dev/null
}

# Starts a worker as the role mailer; a task that shop submits is completed by it; SIGTERM ends it, with status 0.
drive_worker() { # NAME COMMAND...
  local name=$1 worker
  (exec env PGHOST=127.0.0.1 "PGPORT=$port" PGUSER=mailer "PGPASSWORD=$passwords" "PGDATABASE=$database" "${@:2}") >"$scratch/$name.log" 2>&1 &
  worker=$!
  workers+=("$worker")
  as shop scylla submit mail '{"to": "ada@example.org"}' --rn "by-$name" >/dev/null
  cp "$scratch/$name.log" "$log"
  eventually status_is "by-$name" completed
  ok $? "$name: the worker of the manual completes a task"
  as shop scylla submit mail '{}' --rn "not-by-$name" >/dev/null
  eventually status_is "not-by-$name" aborted
  ok $? "$name: and aborts one that makes no sense"
  check "$name: for the reason that it gives" prints '^no-address$' sql "select errors -> -1 ->> 'code' from scylla.get_task('not-by-$name')"
  kill -TERM "$worker"
  wait "$worker"
  status=$?
  cp "$scratch/$name.log" "$log"
  ok "$status" "$name: SIGTERM ends it"
  workers=()
}

run_python() {
  pasted client/python/README.md 'A worker' python >"$scratch/worker.py"
  drive_worker Python env "PYTHONPATH=$checkout/client/python/src" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$scratch/worker.py"
}

# Without the network: what the example asks of a mail server is left out.
run_node() {
  mkdir "$scratch/node_modules"
  ln -s "$checkout/client/node" "$scratch/node_modules/pgscylla"
  pasted client/node/README.md 'A worker' js | sed 's|await fetch(.*);|{ status: 250 };|' >"$scratch/worker.js"
  drive_worker Node.js node "$scratch/worker.js"
}

# ---- mistakes, and the year after ------------------------------------------------------------------------------------------

make_mistakes() {
  check 'a command that is misspelt' prints 'did you mean "?submit' as shop scylla sumbit mail 1
  check 'a queue that does not exist' prints 'queue "mial" does not exist' as mailer scylla work mial --until-empty --exec true
  check 'a spec that is no JSON' prints 'JSON' as shop scylla submit mail hello
  sql "select from scylla.submit('mail', '1', rn => 'held'), scylla.lease_task('held', 'w', timeout => '1 hour')"
  check 'a wrong attempt' prints 'Attempt 1 is running, attempt 7 was given' sql "select scylla.complete('held', 'w', attempt => 7)"
  check 'a retention in seconds' prints '30' sql "select scylla.create_queue('short', retention => '30')"
  check 'nothing is inconsistent' prints '^0$' sql 'select count(*) from scylla.check()'
}

restore_beside() {
  local counted
  sql "select scylla.cancel('held')" >/dev/null
  counted=$(sql "select count(*), count(*) filter (where status = 'completed') from scylla.task")
  admin pg_dump -Fc -f "$scratch/dump"
  sql 'create database copy'
  database=copy
  check 'a dump is restored beside the original' admin pg_restore -d copy --exit-on-error "$scratch/dump"
  check 'with every task' prints "^${counted/|/[|]}\$" sql "select count(*), count(*) filter (where status = 'completed') from scylla.task"
  check 'and works' prints '^copied$' admin scylla submit mail '{}' --rn copied
  check 'sound' prints '^0$' sql 'select count(*) from scylla.check()'
}

leave() {
  check 'drop extension' sql 'drop extension scylla cascade'
  control stop
  check 'pg_dropcluster' debian pg_dropcluster "$pg_major" first
  check 'leaves nothing' test ! -e "$work/data"
}

main
