# shellcheck shell=bash
# TAP for bash, and how to run the command line in a test. Sourced by test/cli/*.sh.

tests=0

# A test with its name, which passes if the status is 0.
ok() { # STATUS NAME
  tests=$((tests + 1))
  if (($1 == 0)); then
    echo "ok $tests - $2"
  else
    echo "not ok $tests - $2"
    printf '%s\n' "status: ${status-}" "output: ${output-}" "errors: ${errors-}" | sed 's/^/# /'
  fi
}

is() { # GOT EXPECTED NAME
  tests=$((tests + 1))
  if [[ $1 == "$2" ]]; then
    echo "ok $tests - $3"
  else
    echo "not ok $tests - $3"
    printf '%s\n' "got:      $1" "expected: $2" "errors:   ${errors-}" | sed 's/^/# /'
  fi
}

like() { # GOT REGULAR-EXPRESSION NAME
  local matches=1
  [[ ! $1 =~ $2 ]] || matches=0
  ok "$matches" "$3"
}

# Runs a command; sets status, output and errors. Standard input is empty unless it is given.
run() { # COMMAND...
  status=0
  output=$("$@" 2>"$scratch/errors") || status=$?
  errors=$(<"$scratch/errors")
}

sql() { psql -XqAt -v ON_ERROR_STOP=1 -c "$1" ${2+-d "$2"}; }

# Waits until a command succeeds, up to a minute.
wait_until() { # COMMAND...
  local deadline=$((SECONDS + 60))
  until "$@"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.05
  done
}
holds() { [[ $(sql "$1") == t ]]; } # SQL

done_testing() { echo "1..$tests"; }

# Every command of the command line, one per line: "scylla", "scylla submit", "scylla queue", "scylla queue create", ...
commands() { # COMMAND
  local words subcommand
  read -ra words <<<"$1"
  echo "$1"
  "${words[@]}" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' | while read -r subcommand; do
    commands "$1 $subcommand"
  done
}

# A database of the test's own, and a folder for its files.
begin_test() { # NAME
  scratch=$(mktemp -d "${SCRATCH:-/tmp}/$1.XXXXXX")
  sql "create database $1" postgres
  export PGDATABASE=$1
}
