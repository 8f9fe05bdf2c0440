#!/bin/bash
# Metrics: scylla.metrics() holds against the OpenMetrics parser of Prometheus' own client library and against the views;
# postgres_exporter with the queries of docs/examples/prometheus tells the same; the dashboard asks for nothing that
# there is not. Prints TAP.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
source "$here/../lib/common.sh"
source "$here/../lib/packages.sh"
source "$here/../lib/build.sh"
source "$here/../lib/cluster.sh"

examples=$checkout/docs/examples/prometheus
python=/usr/bin/python3 # the one that Debian's packages are for

main() {
  choose_server
  choose_server_user
  clean_up_with finish
  make_work_folder metrics >&2
  {
    make_private_server
    build_extension "$work/build.log"
    cluster_start metrics "shared_preload_libraries = 'scylla'" "fsync = off" "listen_addresses = ''"
    get_exporter
  } >&2
  sql() { "$bin/psql" -XqAt -v ON_ERROR_STOP=1 "$@"; }
  sql -f "$here/metrics.sql" >/dev/null

  PGUSER=monitoring sql -c 'select scylla.metrics()' >"$work/metrics"
  PGUSER=monitoring sql -F $'\t' -c 'select * from scylla.stat_queue' >"$work/stat_queue"
  scrape_exporter >"$work/exported"
  "$python" "$here/metrics.py" "$work/metrics" "$work/stat_queue" "$work/exported" "$examples/grafana.json"
}

finish() {
  [[ -z ${exporter_pid:-} ]] || kill "$exporter_pid" 2>/dev/null || true
  stop_all_servers
  [[ -z ${work:-} ]] || remove_work_folder
}

# Unpacked, not installed: its package would start a service.
get_exporter() {
  exporter=$(command -v prometheus-postgres-exporter || true)
  [[ -z $exporter ]] || return 0
  apt_update
  mkdir "$work/exporter"
  (cd "$work/exporter" && apt-get -qq download prometheus-postgres-exporter && dpkg-deb -x ./*.deb .)
  exporter=$work/exporter/usr/bin/prometheus-postgres-exporter
}

# Its own collectors are off, whichever there are: their names differ between releases.
scrape_exporter() {
  local address collectors
  mapfile -t collectors < <("$exporter" --help 2>&1 | sed -nE 's/^ *--(\[no-\])?(collector\.[a-z_]+)( .*)?$/--no-\2/p')
  DATA_SOURCE_NAME="host=$PGHOST port=$PGPORT user=monitoring dbname=$PGDATABASE sslmode=disable" \
    "$exporter" --extend.query-path="$examples/postgres_exporter.yaml" --disable-default-metrics --disable-settings-metrics \
    "${collectors[@]}" --web.listen-address=127.0.0.1:0 2>"$work/exporter.log" >&2 &
  exporter_pid=$!
  address=$("$python" "$here/metrics.py" --address "$exporter_pid" "$work/exporter.log")
  "$python" -c 'import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1], timeout=60).read().decode())' \
    "http://$address/metrics"
}

main
