# shellcheck shell=bash
# Shared by all scripts of this project: messages, the unprivileged user that runs servers, a work folder,
# and a way to run long commands so that Ctrl-C or TERM ends them with everything that they started.
#
# Sourced by ./quickstart and test/run after `set -euo pipefail`.

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)

# File names and sort order must not depend on the user, and a restrictive umask must not hide the build from the server's
# user.
export LC_ALL=C
umask 022

# The caller's connection settings (PGHOST, PGSERVICE, PGOPTIONS, ...) must not direct us to another server.
# PG_CONFIG and PG_MAJOR are our own settings.
for name in ${!PG@}; do
  [[ $name == PG_* ]] || unset "$name"
done
unset name

say() { printf '%s\n' "$*"; }
step() { printf '== %s\n' "$*"; }
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# The last lines of a log, indented, for a reader who sees only the terminal.
show_tail() { # FILE [LINES]
  [[ -s $1 ]] || return 0
  say "--- the end of $1"
  tail -n "${2:-40}" "$1" | sed 's/^/    /'
}

# PostgreSQL refuses to run as root: root drops to the user that Debian's packages create, anyone else stays.
# Sets the array as_server, to be put before a command. Must be called after the packages are installed.
as_server=()
server_user=$(id -un)
choose_server_user() {
  [[ $EUID -eq 0 ]] || return 0
  server_user=postgres
  as_server=(setpriv --reuid=postgres --regid=postgres --init-groups env USER=postgres LOGNAME=postgres)
}

# Runs a short command as that user, from a folder that it may enter.
as_server() { (cd "$work" && exec "${as_server[@]}" "$@"); }

# Sets work: an empty folder in the checkout's ignored .build, or, if the server's user cannot access that (a checkout
# below /root, a private clone), a private one in the folder for temporary files.
make_work_folder() { # NAME
  mkdir -p "$checkout/.build"
  work=$(mktemp -d "$checkout/.build/$1.XXXXXX")
  if ! give_work_folder; then
    rmdir "$work"
    work=$(mktemp -d "${TMPDIR:-/tmp}/scylla-$1.XXXXXX")
    say "user $server_user cannot enter $checkout/.build: working in $work"
    give_work_folder || die "user $server_user cannot enter $work either"
  fi
  make_socket_folder
}

give_work_folder() {
  chown "$server_user" "$work"
  chmod 755 "$work"
  "${as_server[@]}" test -w "$work" -a -x "$work"
}

# Sets socket_dir. The path of a socket is limited to 107 bytes, and the TAP tests put a folder of 11 inside.
make_socket_folder() {
  socket_dir=$work/s
  if ((${#socket_dir} + 11 + 20 > 107)); then
    socket_dir=$(mktemp -d /tmp/scylla-s.XXXXXX)
    ln -s "$socket_dir" "$work/s"
  fi
  mkdir -p "$socket_dir"
  chown "$server_user" "$socket_dir"
  chmod 700 "$socket_dir" # trust authentication: the folder is the lock
}

remove_work_folder() {
  remove_socket_folder
  rm -rf "${work:?}"
}

remove_socket_folder() {
  [[ ! -L $work/s ]] || rm -rf "$(readlink "$work/s")"
  rm -rf "$work/s"
}

# Runs a long command as a process group of its own, with a time limit, so that a signal to this script can end all of it
# at once: bash does not handle signals while a foreground command runs.
group=
group_limit=${SCYLLA_TIME_LIMIT:-1500} # seconds
run_group() { # COMMAND...
  local status=0
  setsid timeout -k 10 "$group_limit" env --default-signal=INT,QUIT "$@" </dev/null &
  group=$!
  wait "$group" || status=$?
  group=
  ((status != 124)) || say "time limit of $group_limit s exceeded: $1"
  return "$status"
}

end_group() {
  [[ -n $group ]] || return 0
  kill -TERM -- "-$group" 2>/dev/null || true
  wait "$group" 2>/dev/null || true
  group=
}

# The clean-up runs to its end, whatever signals arrive, and even if its output cannot be written any more.
begin_cleanup() {
  trap '' INT TERM HUP PIPE
  set +e
}

# Calls the given function once at every kind of exit; it must begin with begin_cleanup.
clean_up_with() { # FUNCTION
  # shellcheck disable=SC2064 # the name is to be expanded now
  trap "$1" EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
}
