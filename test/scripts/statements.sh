#!/bin/bash
# Every named statement (src/store/*/*.sql) is prepared in a fresh database, and is what its head says; and what the generator says of
# mistakes in such a file. Prints TAP.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
source "$here/../lib/common.sh"
source "$here/../lib/packages.sh"
source "$here/../lib/build.sh"
source "$here/../lib/cluster.sh"

main() {
  choose_server
  choose_server_user
  install_missing python3-psycopg >&2
  clean_up_with finish
  make_work_folder statements >&2
  {
    make_private_server
    build_extension "$work/build.log"
    cluster_start statements "fsync = off" "scylla.monitor = off"
    "$bin/psql" -Xq -v ON_ERROR_STOP=1 -c 'create extension scylla'
  } >&2
  cd "$checkout"
  find src/store -name '*.sql' ! -name shared.sql | sort | xargs perl src/store/statements.pl --describe >"$work/statements.json"
  /usr/bin/python3 "$here/statements.py" "$work/statements.json"
}

finish() {
  stop_all_servers
  [[ -z ${work:-} ]] || remove_work_folder
}

main "$@"
