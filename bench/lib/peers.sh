# shellcheck shell=bash
# Other queues: installed by their packages' names, nothing of them in this repository.

node_folder=$checkout/.build/bench/node
missing_peers=()

install_peers() {
  mkdir -p "$node_folder"
  local pgq=postgresql-$pg_major-pgq3
  is_installed "$pgq" || (apt_update && install_missing "$pgq") >/dev/null 2>&1 || missing_peers+=("PgQ: no package $pgq could be installed")
  if ! command -v npm >/dev/null && ! (install_missing nodejs npm) >/dev/null 2>&1; then
    missing_peers+=("pg-boss, graphile-worker: no npm")
  elif [[ ! -d $node_folder/node_modules/pg-boss || ! -d $node_folder/node_modules/graphile-worker ]]; then
    step "installing pg-boss and graphile-worker in ${node_folder#"$checkout"/}"
    # The newest versions that this node can run.
    npm install --engine-strict --no-audit --no-fund --silent --prefix "$node_folder" pg-boss graphile-worker >/dev/null 2>&1 ||
      missing_peers+=("pg-boss, graphile-worker: npm install failed")
  fi
}

# The folders of the contenders that are there, and their versions.
prepare_peers() {
  local peer
  # shellcheck disable=SC2154 # prefix is made by make_private_server
  if [[ -n $(find "$prefix" -name pgq.control -print -quit) ]]; then
    ln -s "$here/contenders/pgq" "$work/contenders/pgq"
    version PgQ "$(dpkg-query -W -f '${Version}' "postgresql-$pg_major-pgq3" 2>/dev/null)"
  fi
  for peer in pg-boss graphile-worker; do
    [[ -d $node_folder/node_modules/$peer ]] || continue
    create_database "$peer"
    # What it sends to the server while a small worker runs becomes scripts for pgbench.
    if in_node "$here/lib/capture.js" "$peer" "$work/contenders/$peer" >"$work/logs/capture.$peer" 2>&1; then
      version "$peer" "$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$node_folder/node_modules/$peer/package.json")"
    else
      show_tail "$work/logs/capture.$peer" 20
      missing_peers+=("$peer: what it sends could not be captured")
    fi
  done
  for peer in "${missing_peers[@]}"; do note "Not measured: $peer."; done
}

version() { printf '%s: %s\n' "$1" "$2" >>"$work/versions"; }

in_node() { # SCRIPT ARGUMENT...
  run_group env "NODE_PATH=$node_folder/node_modules" node "$@"
}

# End to end: their own workers, with tasks that do nothing.
measure_runners() {
  local peer tasks=10000
  [[ -z $smoke ]] || tasks=500
  step "runners: $tasks jobs by the peers' own workers"
  for peer in pg-boss graphile-worker; do
    [[ -e $work/contenders/$peer/fill.sql ]] || continue
    prepare "$work/contenders/$peer" runners "$tasks"
    if in_node "$here/lib/runner.js" "$peer" "$tasks" >"$work/logs/runner.$peer" 2>&1; then
      figure runners "$peer" "$(tail -n 1 "$work/logs/runner.$peer")"
    else
      failed runners "$peer" "$work/logs/runner.$peer"
    fi
  done
}
