# shellcheck shell=bash
# Private throw-away clusters: no TCP, a socket in a private folder, trust within it. Stopped through their own data folder.

first_port=5432 # for the names of sockets

# Creates and starts a cluster, and points PGHOST, PGPORT, PGUSER and PGDATABASE at it. Extra arguments are lines for
# postgresql.conf; those of the file TEMP_CONFIG, as in PostgreSQL's own tests, come last. The port only names the socket file.
cluster_start() { # NAME [LINE...]
  local data=$work/cluster/$1/data log=$work/cluster/$1/log
  shift
  as_server mkdir -p "${data%/*}"
  as_server "$bin/initdb" -D "$data" -U postgres -A trust --no-sync -E UTF8 --locale=C.UTF-8 >"${data%/*}/initdb.log" 2>&1 || {
    show_tail "${data%/*}/initdb.log"
    return 1
  }
  printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$socket_dir'" "port = $(next_port)" \
    "log_line_prefix = '%m [%p] %q%a '" "$@" | cat - ${TEMP_CONFIG:+"$TEMP_CONFIG"} |
    as_server tee -a "$data/postgresql.conf" >/dev/null
  cluster_resume "$data" "$log"
}

# Lets initdb make a cluster once for each set of options, and copy it afterwards, which takes a fifth of the time. Copies have the
# same system identifier.
remember_clusters() {
  local made=$work/initdb
  as_server mkdir "$made"
  mv "$bin/initdb" "$bin/initdb.real"
  cat >"$bin/initdb" <<WRAPPER
#!/bin/bash
set -eu
all=("\$@") data='' options=()
while ((\$#)); do
  case \$1 in
    -D | --pgdata) data=\${2-} && shift ;;
    *) options+=("\$1") ;;
  esac
  shift
done
[[ -n \$data ]] || exec "\$0.real" "\${all[@]}"
kept=$made/\$(printf '%s\n' "\${options[@]}" | md5sum | cut -c 1-32)
exec 9>"$made/lock"
flock 9
[[ -d \$kept ]] || { "\$0.real" -D "\$kept.new" "\${options[@]}" 9>&- && mv "\$kept.new" "\$kept"; }
exec 9>&-
mkdir -p -m 700 "\$data"
cp -a "\$kept/." "\$data"
WRAPPER
  chmod 755 "$bin/initdb"
}

# Starts an existing cluster again.
cluster_resume() { # DATA LOG
  if ! as_server "$bin/pg_ctl" -D "$1" -l "$2" -t 120 -w -s start; then
    show_tail "$2"
    return 1
  fi
  PGHOST=$socket_dir PGUSER=postgres PGDATABASE=postgres PGCLIENTENCODING=UTF8
  PGPORT=$(sed -n 4p "$1/postmaster.pid")
  export PGHOST PGPORT PGUSER PGDATABASE PGCLIENTENCODING
}

next_port() {
  local port=$first_port
  while [[ -e $socket_dir/.s.PGSQL.$port ]]; do port=$((port + 1)); done
  echo "$port"
}

cluster_stop() { # NAME
  as_server "$bin/pg_ctl" -D "$work/cluster/$1/data" -m fast -t 120 -w -s stop
}

# Stops all servers below the work folder: ours and those of the TAP tests.
stop_all_servers() {
  local pid_file
  [[ -d ${work:-} && -x ${bin:-}/pg_ctl ]] || return 0
  while IFS= read -r -d '' pid_file; do
    as_server "$bin/pg_ctl" -D "${pid_file%/*}" -m immediate -t 60 -w -s stop || true
  done < <(find "$work" -name postmaster.pid -print0 2>/dev/null)
}
