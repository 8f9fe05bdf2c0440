#!/bin/bash
# ./quickstart as a newcomer types it, on small directories with awkward file names: the run, a second run, a result that is
# wrong, stop. Prints TAP. It uses a server folder of its own name, so that a developer's running quickstart is left alone.
set -uo pipefail
quickstart=$(dirname "$(readlink -f "$0")")/../../quickstart
export SCYLLA_QUICKSTART=quickstart-test-$$
scratch=$(mktemp -d "${SCRATCH:-/tmp}/quickstart.XXXXXX")
log=$scratch/log
trap '"$quickstart" stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT
trap 'exit 143' INT TERM HUP

tests=0
shown=0 # lines of the log that a failure has shown
ok() { # STATUS NAME
  tests=$((tests + 1))
  if (($1 == 0)); then
    echo "ok $tests - $2"
  else
    echo "not ok $tests - $2"
    tail -n "+$((shown + 1))" "$log" | sed 's/^/# /'
    shown=$(wc -l <"$log")
  fi
}
new_log() {
  : >"$log"
  shown=0
}
check() { # NAME COMMAND...
  "${@:2}" >>"$log" 2>&1
  ok $? "$1"
}
fails() { ! "$@"; }
says() { grep -qF -- "$1" "$log"; }
query() { # SQL EXPECTED: asks the server that the last run named
  local command answer
  command=$(sed -n 's/.*Connect:  psql //p' "$log")
  [[ -n $command ]] || return 1
  # shellcheck disable=SC2086 # the words of a command line
  answer=$(psql -XAtq $command -c "$1") || return 1
  echo "$1: $answer"
  [[ $answer == "$2" ]]
}
# A server ends a moment after its pid file has gone, which pg_ctl waits for.
ends() { # ARGUMENTS of a process
  local deadline=$((SECONDS + 60))
  while pgrep -f -- "$1"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.05
  done
}
server_folder() { sed -n 's/.*starting PostgreSQL in //p' "$log"; }

# Many files, so that there is a half-way to kill a worker at, and the names that break scripts.
input=$scratch/'in put'
mkdir -p "$input/sub"
for i in {1..300}; do head -c $((i * 1000)) "$BASH" >"$input/sub/$i"; done
for name in ' blank' "q'uo\"te" $'new\nline' $'tab\t' 'back\slash' 'per%41cent' '$HOME' '*' '-n' $'\xff\xfe' $'\xc3\xa9'; do
  printf 'one two\nthree' >"$input/$name"
done
: >"$input/empty"
ln -s empty "$input/link"
mkfifo "$input/fifo"
files=$(find "$input" -type f -printf x | wc -c)

new_log
check "a first run" "$quickstart" "$input"
check "submits one task per regular file" says "submitting $files tasks"
check "kills a worker half-way" says "killing worker-2"
check "and agrees with sha256sum and wc" says "the same: $files digests"
check "completes every task" query "select count(*), bool_and(status = 'completed') from scylla.task where queue = 'files'" "$files|t"
check "others finish what the killed worker held" query "select count(*) > 0 and bool_and(owner <> 'worker-2' and attempt > 1)
  from scylla.task where history @> '[{\"_typ\": \"TaskTimeout\", \"worker\": \"worker-2\"}]'" t
check "runs a workflow, whose report has all files" says "the report: $files files"
check "ends with the line that starts the console" grep -q "Browser:  .*/scylla console -h" "$log"
check "leaves nothing inconsistent" query "select count(*) from scylla.check()" 0

first=$(server_folder)
rm -rf "${input:?}"/*
echo hello >"$input/hello"
new_log
check "a second run, on one file" "$quickstart" "$input"
check "agrees too" says "the same: 1 digests, lines 1 words 1 bytes 6"
check "replaces the first server" test ! -e "$first"

mkdir "$scratch/bin"
printf '#!/bin/sh\n%s "$@" | case $1 in -z) tr 0-9a-f 1-9a-f0 ;; *) cat ;; esac\n' "$(command -v sha256sum)" >"$scratch/bin/sha256sum"
chmod +x "$scratch/bin/sha256sum"
new_log
check "a result that differs from the truth fails the run" fails env PATH="$scratch/bin:$PATH" "$quickstart" "$input"
check "and says so" says "the digests differ"

last=$(server_folder)
check "stop" "$quickstart" stop
check "removes the server's folder" test ! -e "$last"
check "nothing of it runs" ends "-D $last"
check "stop when nothing runs" "$quickstart" stop

# Nobody reads any more what it says: it ends, and leaves nothing behind.
env "$quickstart" "$input" 2>&1 | sed '/starting PostgreSQL in/q' >"$scratch/read"
last=$(sed -n 's/.*starting PostgreSQL in //p' "$scratch/read")
check "a reader that goes away" test -n "$last"
check "leaves no folder" test ! -e "$last"
check "and no server" ends "-D $last"

# A machine where a package is missing; its apt is talkative, and its compiler is bad. sudo does only what is asked of apt.
cat >"$scratch/bin/dpkg-query" <<'FAKE'
#!/bin/sh
case $* in *libcli11-dev*) exit 1 ;; *) exec /usr/bin/dpkg-query "$@" ;; esac
FAKE
cat >"$scratch/bin/apt-get" <<'FAKE'
#!/bin/sh
echo "much ado: $*"
case $* in *" $APT_FAILS "*) exit 100 ;; esac
FAKE
printf '#!/bin/sh\n[ "$1" != flock ] || exec "$@"\n' >"$scratch/bin/sudo"
printf '#!/bin/sh\necho bad compiler; exit 1\n' >"$scratch/bin/make"
chmod +x "$scratch"/bin/*
apt_log=$(dirname "$quickstart")/.build/quickstart.apt.log
without_package() { env PATH="$scratch/bin:$PATH" APT_FAILS="$1" "$quickstart" "$input"; } # WHAT FAILS
new_log
check "where a package is missing" fails without_package nothing
check "the bad compiler stops it" says "bad compiler"
check "apt has been told to install the package" grep -q 'much ado: .*install.*libcli11-dev' "$apt_log"
check "and its output is not shown" fails says "much ado"
check "but where it is" says "$(realpath "$apt_log")"
new_log
check "an apt that fails" fails without_package install
check "is shown" says "much ado"

check "no such directory" fails "$quickstart" "$scratch/nowhere"
echo "1..$tests"
