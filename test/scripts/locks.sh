#!/bin/bash
# What an open transaction holds and who waits for it, held against docs/locks.md. Prints TAP.
#
#   ./test/scripts/locks.sh [--update]     --update: write the table of docs/locks.md instead
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
source "$here/../lib/common.sh"
source "$here/../lib/packages.sh"
source "$here/../lib/build.sh"
source "$here/../lib/cluster.sh"

tests=0
python=/usr/bin/python3 # the one that Debian's packages are for

main() {
  choose_server
  choose_server_user
  clean_up_with finish
  make_work_folder locks >&2
  {
    make_private_server
    build_extension "$work/build.log"
  } >&2
  look preloaded "$@"
  look plain "$@"
  echo "1..$tests"
}

# One table of the document.
look() { # preloaded|plain [--update]
  local line
  {
    cluster_start "$1" "fsync = off" "autovacuum = off" "scylla.monitor = off" \
      "$([[ $1 == plain ]] || echo "shared_preload_libraries = 'scylla'")"
    "$bin/psql" -Xq -v ON_ERROR_STOP=1 -c 'set client_min_messages = warning' -f "$here/locks.sql" >/dev/null
  } >&2
  while IFS= read -r line; do
    if [[ $line =~ ^((not )?ok)\ [0-9]+\ -\ (.*) ]]; then
      tests=$((tests + 1))
      line="${BASH_REMATCH[1]} $tests - $1: ${BASH_REMATCH[3]}"
    fi
    echo "$line"
  done < <("$python" "$here/locks.py" "$checkout/docs/locks.md" "$@" || echo "not ok - it broke off")
}

finish() {
  stop_all_servers
  [[ -z ${work:-} ]] || remove_work_folder
}

main "$@"
