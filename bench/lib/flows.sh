# shellcheck shell=bash
# Peers of workflows: installed by their packages' names, in the newest versions. Absurd's tables are not in its package: they come
# from its repository, from the release of the package's version, or from the file that ABSURD_SQL names.

flow_packages=(@dbos-inc/dbos-sdk absurd-sdk @restatedev/restate-sdk @restatedev/restate-server-linux-x64 pg)
absurd_release=https://raw.githubusercontent.com/earendil-works/absurd
flow_peers=()

install_flow_peers() {
  # shellcheck disable=SC2154 # node_folder is of peers.sh
  if ! command -v npm >/dev/null; then
    note "Not measured: workflows of DBOS, Absurd and Restate: no npm."
    return
  fi
  step "installing DBOS, Absurd and Restate in ${node_folder#"$checkout"/}"
  if ! npm install --no-audit --no-fund --silent --prefix "$node_folder" "${flow_packages[@]}" >/dev/null 2>&1; then
    note "Not measured: workflows of DBOS, Absurd and Restate: npm install failed."
    return
  fi
  add_flow_peer dbos @dbos-inc/dbos-sdk prepare_dbos
  add_flow_peer absurd absurd-sdk prepare_absurd
  add_flow_peer restate @restatedev/restate-server-linux-x64 start_restate
}

add_flow_peer() { # NAME PACKAGE PREPARE
  if "$3" >"$work/logs/flows.$1" 2>&1; then
    flow_peers+=("$1")
    version "$1" "$(package_version "$2")"
  else
    note "Not measured: workflows of $1: $(tail -n 1 "$work/logs/flows.$1")."
  fi
}

package_version() { sed -n 's/^  "version": "\(.*\)",$/\1/p' "$node_folder/node_modules/$1/package.json"; } # PACKAGE

prepare_dbos() { create_database dbos; }

prepare_absurd() {
  local tables=${ABSURD_SQL:-$work/absurd.sql} from
  from=$absurd_release/$(package_version absurd-sdk)/sql/absurd.sql
  create_database absurd
  if [[ ! -e $tables ]] && ! curl -fsSL --max-time 60 -o "$tables" "$from"; then
    echo "no $from, and ABSURD_SQL names no file"
    return 1
  fi
  sql absurd -f "$tables"
}

# A server of its own, with its defaults: it flushes its log as the others do. Ended with the other helpers.
start_restate() {
  local ports
  mapfile -t ports < <(free_ports 4)
  cat >"$work/restate.toml" <<TOML
bind-ip = "127.0.0.1"
bind-port = ${ports[0]}
disable-telemetry = true
[ingress]
bind-address = "127.0.0.1:${ports[1]}"
[admin]
bind-address = "127.0.0.1:${ports[2]}"
TOML
  export RESTATE_LOGGING=ERROR
  export RESTATE_BENCH="{\"ingress\": \"http://127.0.0.1:${ports[1]}\", \"admin\": \"http://127.0.0.1:${ports[2]}\", \"port\": ${ports[3]}}"
  helper "$node_folder/node_modules/@restatedev/restate-server-linux-x64/bin/restate-server" --no-logo -c "$work/restate.toml" \
    --base-dir "$work/restate"
  for _ in {1..300}; do
    ! curl -fs -o /dev/null "http://127.0.0.1:${ports[1]}/restate/health" || return 0
    sleep 0.1
  done
  echo "its server does not answer"
  return 1
}

free_ports() { # COUNT
  python3 -c '
import socket, sys
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
for s in sockets: print(s.getsockname()[1])' "$1"
}

# One turn of each of them.
measure_flow_peers() { # WORKFLOWS TURNS
  local peer log
  for peer in "${flow_peers[@]}"; do
    log=$work/logs/flows.$peer
    if in_node "$here/lib/flows.js" "$peer" "$1" "$2" >"$log" 2>&1; then
      figure chains "$peer" "$(flow_rate "$log")"
      figure "next step p50" "$peer" "$(flow_gap "$log" 50)"
      figure "next step p99" "$peer" "$(flow_gap "$log" 99)"
    else
      failed chains "$peer" "$log"
    fi
  done
}

flow_rate() { tail -n 1 "$1" | python3 -c 'import json, sys; print(round(json.load(sys.stdin)["rate"]))'; } # LOG

flow_gap() { # LOG PERCENTILE
  tail -n 1 "$1" | python3 -c '
import json, sys
gaps = sorted(json.load(sys.stdin)["gaps"])
print(round(gaps[min(len(gaps) - 1, len(gaps) * int(sys.argv[1]) // 100)], 3))' "$2"
}
