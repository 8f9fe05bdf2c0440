# shellcheck shell=bash
# How anything is measured: contenders, turns, figures.
#
# A contender is a folder of SQL: create.sql (once), reset.sql (empty again), fill.sql (so many tasks are ready) or
# fill.<measure>.sql, and a script for pgbench for each measure that it takes part in, <measure>.sql, or several,
# <measure>.<variant>.sql. Comments in a script say what differs from the rule: "-- tasks: 50" (a transaction of the script does
# so much), "-- clients: 1", "-- transactions: 190" (so many and no more),
# "-- share: 90" (no more than that many percent of what is ready: it is fast). Each contender has a database of its own.

contender_folders() { # in the order of the tables
  printf '%s\n' "$here"/contenders/{scylla,plain,plain_delete,limit} "$work"/contenders/*
}

create_contenders() {
  local folder name
  mkdir -p "$work/contenders"
  : >"$work/figures" >"$work/notes" >"$work/versions"
  prepare_peers
  while IFS= read -r folder; do
    [[ -d $folder ]] || continue
    name=${folder##*/}
    create_database "$name"
    sql "$name" -f "$folder/create.sql" >"$work/logs/create.$name" 2>&1 || {
      show_tail "$work/logs/create.$name"
      die "cannot create $name"
    }
  done < <(contender_folders)
}

create_database() { # NAME
  # A contender that a peer's own program has set up has its database already.
  [[ $(sql postgres -c "select from pg_database where datname = '$1'" -c '\echo :ROW_COUNT') == 1 ]] ||
    sql postgres -c "create database \"$1\""
}

sql() { # DATABASE ARGUMENT...
  PGOPTIONS='-c client_min_messages=warning' "$bin/psql" -XqAt -v ON_ERROR_STOP=1 -d "$1" "${@:2}"
}

note() { printf '%s\n' "$*" >>"$work/notes"; }

# One number. Everything in the report is made of these.
figure() { # MEASURE CONTENDER VALUE
  printf '%s\t%s\t%s\t%s\n' "$1" "$2" "${round:-1}" "$3" >>"$work/figures"
  printf '    round %s/%s  %-26s %-34s %12s\n' "${round:-1}" "$rounds" "$1" "$2" "$3"
}

failed() { # MEASURE CONTENDER LOG
  say "    failed: $1, $2"
  show_tail "$3" 5
  note "$2 failed in $1: $(grep -m 1 -i 'error' "$3" 2>/dev/null | cut -c 1-200)"
  failures=$((failures + 1))
}

header() { # FILE NAME DEFAULT
  local value
  value=$(sed -n "s/^-- $2: \([0-9]*\)$/\1/p" "$1")
  echo "${value:-$3}"
}

# Empties a contender, makes so many tasks ready, and leaves no work behind for vacuum or a checkpoint.
prepare() { # FOLDER MEASURE TASKS
  local name=${1##*/} fill=$1/fill.$2.sql
  [[ -e $fill ]] || fill=$1/fill.sql
  sql "$name" -f "$1/reset.sql" >/dev/null
  if (($3 > 0)) && [[ -e $fill ]]; then sql "$name" -v "tasks=$3" -f "$fill" >/dev/null; fi
  sql "$name" -c 'vacuum (analyze)' -c checkpoint
}

# The CPU time, in ms, of all server processes that have ended: what the others on the machine do does not change it much.
server_cpu() {
  awk -v tick="$(getconf CLK_TCK)" '{sub(/.*\) /, ""); print ($14 + $15) * 1000 / tick}' \
    "/proc/$(head -n 1 "$cluster_folder/postmaster.pid")/stat"
}

# Runs a script and sets rate to the tasks per second and cpu to the server's CPU time per task in µs. Empty if it failed.
bench() { # MEASURE CONTENDER DATABASE FILE CLIENTS PGBENCH-ARGUMENT...
  local file=$4 clients transactions arguments=("${@:6}")
  bench_log=$work/logs/${1// /_}.${2// /_}.${round:-1}
  clients=$(header "$file" clients "$5")
  transactions=$(header "$file" transactions $((${tasks:-0} * $(header "$file" share 0) / 100 / clients / $(header "$file" tasks 1))))
  ((transactions == 0)) || arguments=(-t "$transactions")
  local before
  before=$(server_cpu)
  rate=
  if run_group "$bin/pgbench" -n -M prepared -c "$clients" -j 2 -f "$file" -D started=0 "${arguments[@]}" \
    ${tasks:+-D "tasks=$tasks"} "$3" >"$bench_log" 2>&1 && ! grep -q aborted "$bench_log"; then
    rate=$(awk -v tasks="$(header "$file" tasks 1)" '$1 == "tps" {printf "%.1f", $3 * tasks}' "$bench_log")
    sleep 0.2 # so that the postmaster has seen the sessions' end
    cpu=$(awk -v before="$before" -v after="$(server_cpu)" -v tasks="$(header "$file" tasks 1)" \
      '/actually processed:/ {sub(/\/.*/, "", $NF); printf "%.1f", (after - before) * 1000 / ($NF * tasks)}' "$bench_log")
  fi
  [[ -n $rate ]] || failed "$1" "$2" "$bench_log"
}

# What bench has found, as figures.
record() { # MEASURE CONTENDER
  [[ -n $rate ]] || return 0
  figure "$1" "$2" "$rate"
  figure "$1, cpu" "$2" "$cpu" >/dev/null
}

# Every contender in turn, round by round: what disturbs the machine for a while disturbs all of them.
interleave() { # MEASURE CLIENTS TASKS
  local folder file label variant tasks=$3
  step "$1: $2 clients, $rounds rounds of $seconds s each"
  for ((round = 1; round <= rounds; round++)); do
    while IFS= read -r folder; do
      for file in "$folder/$1.sql" "$folder/$1".*.sql; do
        [[ -e $file ]] || continue
        variant=${file##*/"$1".}
        variant=${variant%.sql}
        label=${folder##*/}
        [[ $variant == sql ]] || label+=" $variant"
        prepare "$folder" "$1" "$tasks"
        bench "$1" "$label" "${folder##*/}" "$file" "$2" -T "$seconds"
        record "$1" "$label"
      done
    done < <(contender_folders)
  done
  round=
}

# ---- things that go on meanwhile -------------------------------------------------------------------------------------

helpers=()

# Runs a command until end_helpers.
helper() { # COMMAND...
  setsid "$@" </dev/null >>"$work/logs/helpers" 2>&1 &
  helpers+=("$!")
}

# One of them has ended by itself.
has_ended() { # PID
  local pid others=()
  for pid in "${helpers[@]}"; do [[ $pid == "$1" ]] || others+=("$pid"); done
  helpers=("${others[@]}")
}

end_helpers() {
  local pid
  for pid in "${helpers[@]}"; do
    kill -TERM -- "-$pid" 2>/dev/null || kill -TERM "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  helpers=()
}

# Whether somebody opens tasks that have become due. If not, whoever needs it calls scylla.maintain().
monitored=
has_monitor() {
  local deadline=$((SECONDS + 5))
  if [[ -z $monitored ]]; then
    monitored=no
    sql scylla -c "select from scylla.submit('monitored', '1', rn => 'monitored', not_before => clock_timestamp() + '50 ms')"
    while ((SECONDS < deadline)) && [[ $monitored == no ]]; do
      monitored=$(sql scylla -c "select case status when 'ready' then 'yes' else 'no' end from scylla.get_task('monitored')")
      sleep 0.1
    done
    [[ $monitored == yes ]] || note "No monitor ran: scylla.maintain() was called once a second where tasks become due."
  fi
  [[ $monitored == yes ]]
}

# A session that does nothing but keep its snapshot: what a report, a dump or a forgotten transaction does.
hold_snapshot() { # DATABASE
  local answer
  coproc holder { exec "$bin/psql" -XqAt -d "$1" 2>&1; }
  # shellcheck disable=SC2154 # set by coproc
  helpers+=("$holder_PID")
  echo "begin isolation level repeatable read; select 'held';" >&"${holder[1]}"
  read -r -t 60 answer <&"${holder[0]}" && [[ $answer == held ]] || die "no snapshot could be held: ${answer:-}"
}

release_snapshot() {
  local pid=$holder_PID
  echo '\q' >&"${holder[1]}"
  wait "$pid" || true
}
