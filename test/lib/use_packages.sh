#!/bin/bash
# Installs, uses, upgrades and removes the packages in the current folder (older ones in older), in a fresh root of a Debian.
# Prints "ok NAME" or "not ok NAME" for each step, and at the end "N steps".   use_packages.sh PG-MAJOR
set -uo pipefail
major=$1
steps=0
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

step() { # NAME COMMAND...
  local status=0
  steps=$((steps + 1))
  "${@:2}" || status=$?
  if ((status == 0)); then echo "ok $1"; else echo "not ok $1"; fi
}
as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups env -C / HOME=/var/lib/postgresql "$@"; }
sql() { as_postgres psql -XqAt -v ON_ERROR_STOP=1 -d "$1" -c "$2"; } # DATABASE SQL
is() { # EXPECTED COMMAND...
  local said
  said=$("${@:2}")
  [[ $said == "$1" ]] || { echo "$said" && return 1; }
}
install_packages() { apt-get -qq -y -o Dpkg::Use-Pty=0 install --no-install-recommends "$@"; }
restart() { pg_ctlcluster "$major" main restart; }

apt-get -qq update
step "apt installs the extension and the tool" install_packages "./older/postgresql-$major-scylla"_*.deb ./older/pgscylla_*.deb
step "the tool runs" test -n "$(scylla --version)"
step "it has a man page" test -s /usr/share/man/man1/scylla.1.gz
step "bash completes it" bash -c 'source /usr/share/bash-completion/completions/scylla && complete -p scylla'
step "zsh and fish can" test -s /usr/share/zsh/vendor-completions/_scylla -a -s /usr/share/fish/vendor_completions.d/scylla.fish

pg_lsclusters -h | grep -q . || pg_createcluster "$major" main
step "the installation changes no cluster" bash -c "! grep -r scylla /etc/postgresql"
pg_conftool "$major" main set shared_preload_libraries scylla
step "the server preloads it" restart
for database in shop old; do as_postgres createdb "$database"; done
step "create extension" sql shop 'create extension scylla'
step "tasks go in by the tool" as_postgres scylla -d shop submit mail '{"to": "ada"}' --rn mail-1
step "and are done by it" as_postgres scylla -d shop work mail --until-empty --exec true
step "one is left" as_postgres scylla -d shop submit mail '{"to": "bob"}' --rn mail-2
# A database that still has the tables of the version before.
step "the version before" sql old "create extension scylla version '0.1'"
step "its data" as_postgres psql -Xq -v ON_ERROR_STOP=1 -d old -f /packages/scylla-0.1.sql

step "apt upgrades both" install_packages "./postgresql-$major-scylla"_*.deb ./pgscylla_*.deb
step "they are newer" is "" bash -c "dpkg -l | grep before"
step "the server restarts" restart
step "alter extension update" sql old 'alter extension scylla update'
step "the update is complete" is 0 sql old 'select count(*) from scylla.check()'
step "no task is lost" is "mail-1 completed, mail-2 ready" sql shop "select string_agg(rn || ' ' || status, ', ' order by rn) from scylla.task"
step "the next one is done" as_postgres scylla -d shop work mail --until-empty --exec true

step "apt installs the library" install_packages g++ pkgconf ./libscylla-client*.deb
step "an application is built with it" bash -c 'g++ -std=c++20 main.cpp -o application $(pkg-config --cflags --libs scylla-client)'
step "and runs" is ready as_postgres PGDATABASE=shop /packages/application

# Python, with Debian's driver, and Node.js, whose driver npm brings.
step "apt installs Python and Node.js" install_packages python3-venv python3-psycopg nodejs npm
python3 -m venv --system-site-packages /opt/python
step "pip installs the wheel" /opt/python/bin/pip install --no-index --no-deps ./pgscylla-*.whl
step "a worker in Python runs" as_postgres env PGDATABASE=shop timeout 60 /opt/python/bin/python3 -c '
import pgscylla, psycopg
psycopg.connect("", autocommit=True).execute("select scylla.submit($$mail$$, $$1$$, rn => $$by-python$$)")
worker = pgscylla.Worker("", "mail", lambda job: worker.stop(), lease_timeout=30)
worker.run()'
step "the example in the package is one of its workers" test -s /usr/share/doc/pgscylla/examples/worker.py
mkdir -p /opt/node
step "npm installs the package and its driver" env -C /opt/node npm install --silent --no-audit --no-fund /packages/pgscylla-*.tgz
step "a worker in Node.js runs" as_postgres env PGDATABASE=shop PGHOST=/var/run/postgresql PGUSER=postgres NODE_PATH=/opt/node/node_modules timeout 60 node -e '
const { Worker } = require("pgscylla");
const { Client } = require("pg");
(async () => {
  const client = new Client();
  await client.connect();
  await client.query("select scylla.submit($$mail$$, $$1$$, rn => $$by-node$$)");
  const worker = new Worker({ connection: {}, queues: "mail" }, async () => { setImmediate(() => worker.stop()); });
  await worker.run();
  await client.end();
})();'
step "both tasks are done" is "by-node completed, by-python completed" sql shop "select string_agg(rn || ' ' || status, ', ' order by rn) from scylla.task where rn like 'by-%'"

pg_conftool "$major" main remove shared_preload_libraries
step "the server no longer preloads it" restart
step "drop extension" sql shop 'drop extension scylla'
step "apt removes everything" apt-get -qq -y purge "postgresql-$major-scylla" pgscylla libscylla-client-dev libscylla-client0.2
step "nothing is left" is "" find /usr /etc /var/lib/dpkg/info -name '*scylla*' -not -name 00scylla
step "the server still runs" restart
pg_ctlcluster "$major" main stop
echo "$steps steps"
