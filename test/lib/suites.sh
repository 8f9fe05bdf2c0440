# shellcheck shell=bash
# The suites of test/run. Each is a function suite_<name> that calls `count PASSED FAILED` for what it ran.

total_passed=0
total_failed=0

count() { # PASSED FAILED
  suite_passed=$((suite_passed + $1))
  suite_failed=$((suite_failed + $2))
}

# Most suites wait most of the time, for servers that start and for their background work; others compute. So several at a
# time keep the processors busy. Each is a process of its own, with its own settings (PGPORT, …) and processes to be ended.
declare -A running_suites=() # process → suite
run_suites() { # SUITES-AT-A-TIME SUITE...
  local most=$1 suite status number=0
  shift
  # The output of two suites at once would not be readable.
  (($# > 1)) || most=1
  for suite; do
    ((${#running_suites[@]} < most)) || finish_suite
    mkdir -p "$work/$suite"
    number=$((number + 1))
    if ((most > 1)); then
      say "-- $suite begins"
      run_suite "$suite" "$number" >"$work/$suite.output" 2>&1 &
    else
      run_suite "$suite" "$number" &
    fi
    running_suites[$!]=$suite
  done
  while ((${#running_suites[@]})); do finish_suite; done
}

run_suite() { # NAME NUMBER
  local start=$SECONDS name=$1
  clean_up_with end_group
  # 20 ports for the clusters of each suite.
  first_port=$((first_port + 20 * $2))
  suite_passed=0 suite_failed=0
  step "$name${only[$name]:+:${only[$name]}}"
  "suite_$name"
  say "$name: $suite_passed passed, $suite_failed failed ($((SECONDS - start)) s)"
  echo "$suite_passed $suite_failed" >"$work/$name.counts"
}

# Waits for a suite to end, shows its output, and counts. A suite that was cut short has failed.
finish_suite() {
  local pid suite passed=0 failed=1
  # `wait -n` of older shells overlooks who ended before it was called.
  while :; do
    for pid in "${!running_suites[@]}"; do
      [[ $'\n'$(jobs -rp)$'\n' == *$'\n'"$pid"$'\n'* ]] || break 2
    done
    sleep 0.2
  done
  suite=${running_suites[$pid]}
  unset "running_suites[$pid]"
  [[ ! -e $work/$suite.output ]] || cat "$work/$suite.output"
  if [[ -s $work/$suite.counts ]]; then
    read -r passed failed <"$work/$suite.counts"
  else
    say "$suite: broke off"
  fi
  total_passed=$((total_passed + passed))
  total_failed=$((total_failed + failed))
}

end_suites() {
  local pid
  for pid in "${!running_suites[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${!running_suites[@]}"; do
    wait "$pid" 2>/dev/null || true
    [[ ! -e $work/${running_suites[$pid]}.output ]] || cat "$work/${running_suites[$pid]}.output"
  done
}

# What no server may write into its log in any test: a failed assertion, a crash, a resource that was not released at the
# end of a transaction, memory written beyond its end, a finding of valgrind.
check_logs() {
  local file bad='TRAP: |PANIC: | (reference|refcount|memory) leak: |resource was not closed|problem in (alloc|slab|Generation) |non-empty SPI stack'
  bad+='|own a lock of type|was terminated by signal (4|6|7|8|11)([^0-9]|$)|VALGRIND-BEGIN'
  mapfile -d '' -t files < <(grep -rlZE "$bad" "$work"/cluster/*/log "$work"/tap/tmp_check/log "$work/valgrind" 2>/dev/null)
  ((${#files[@]})) || return 0
  step "what servers have written into their logs"
  for file in "${files[@]}"; do
    say "--- $file"
    grep -E -A 12 "$bad" "$file" | head -n 60 | sed 's/^/    /'
    total_failed=$((total_failed + 1))
  done
}

# A server for tests that never crash the machine: nothing is flushed. Queries over tables without statistics look expensive, but
# compiling them takes longer than running them: two thirds of the time of the model test. Everything that a test may need is allowed.
# A monitor stays, however long a test takes.
start_test_cluster() { # NAME [LINE...]
  local name=$1
  shift
  cluster_start "$name" "shared_preload_libraries = 'scylla'" "fsync = off" "full_page_writes = off" "jit = off" \
    "max_prepared_transactions = 10" "max_worker_processes = 16" "max_connections = 300" "log_statement = none" "scylla.monitor_idle = -1" "$@"
}

# Sets the array files: the files of a folder under test/ with that ending, sorted; all, or those that were requested. A
# suite without tests has failed.
find_tests() { # FOLDER ENDING [SUITE, if it has another name]
  local suite=${3:-$1} name
  if [[ -n ${only[$suite]:-} ]]; then
    files=()
    for name in ${only[$suite]}; do
      [[ -e $checkout/test/$1/$name.$2 ]] || die "no file test/$1/$name.$2"
      files+=("$checkout/test/$1/$name.$2")
    done
    return
  fi
  mapfile -d '' -t files < <(find "$checkout/test/$1" -maxdepth 1 -name "*.$2" -print0 2>/dev/null | sort -z)
  ((${#files[@]})) || {
    say "no files test/$1/*.$2"
    count 0 1
    return 1
  }
}

# Pure C++, no server: CMake and CTest. The build folder is kept, so that only what changed is compiled again.
suite_unit() {
  local log=$work/unit/log build
  build=$(build_folder cmake)
  find_tests unit cpp || return 0
  if ! run_group flock "$checkout/.build/lock.cmake" bash -euc '
      cmake -S "$1" -B "$2" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-g1 -DSCYLLA_WERROR=ON -DSCYLLA_CLIENT=OFF
      cmake --build "$2" -j2
      cd "$2" && ctest --output-on-failure -j2
    ' unit "$checkout" "$build" >"$log" 2>&1; then
    show_tail "$log" 60
  fi
  count_ctest "$log"
}

# Each fuzzer with the inputs of its corpus and some thousand others, which are the same in every run.
suite_fuzz() {
  local fuzzer log
  find_fuzzers
  if ! build_fuzzers "$work/fuzz/build.log"; then
    count 0 "${#fuzzers[@]}"
    return
  fi
  for fuzzer in "${fuzzers[@]}"; do
    log=$work/fuzz/$fuzzer.log
    mkdir "$work/fuzz/$fuzzer"
    if run_fuzzer "$fuzzer" "$work/fuzz/$fuzzer" -runs=10000 -seed=1 >"$log" 2>&1; then
      count 1 0
    else
      show_tail "$log"
      count 0 1
    fi
  done
}

# "97% tests passed, 1 tests failed out of 33"
count_ctest() { # LOG
  if [[ $(<"$1") =~ ([0-9]+)' tests failed out of '([0-9]+) ]]; then
    count $((BASH_REMATCH[2] - BASH_REMATCH[1])) "${BASH_REMATCH[1]}"
  else
    count 0 1
  fi
}

# The library for applications, against a server that its tests may restart, compiled as a few large files, which takes half the
# time. Code that runs threads is tested again with sanitizers. SCYLLA_SANITIZE=thread, or address,undefined, tests everything
# with these alone.
suite_client() {
  local data=$work/cluster/client/data
  start_test_cluster client
  "$bin/psql" -XqAt -c 'create database client'
  export PGDATABASE=client
  "$bin/psql" -XqAt -c 'create extension scylla'
  export SCYLLA_TEST_RESTART="cd / && ${as_server[*]} $bin/pg_ctl -D $data -l ${data%/*}/log -m fast -w -s restart"
  start_failover_pair
  if [[ -n ${SCYLLA_SANITIZE:-} ]]; then
    log_sanitizers
    client_tests "${SCYLLA_SANITIZE%%,*}" 'client_(unit|calls|worker|proxy|chaos|failover)' all -- "-DSCYLLA_SANITIZE=$SCYLLA_SANITIZE"
    show_sanitizers
  else
    client_tests plain . all
  fi
  cluster_stop failover-standby
  [[ -n ${SCYLLA_SANITIZE:-}${SCYLLA_QUICK:-} ]] || client_tests_with_sanitizers
  unset SCYLLA_TEST_RESTART SCYLLA_TEST_HOSTS SCYLLA_TEST_FAILOVER
  cluster_stop client
}

# The sanitizers for tests that take little time.
client_tests_with_sanitizers() {
  client_tests thread 'client_(unit|worker|proxy)' client_unit client_worker client_proxy -- -DSCYLLA_SANITIZE=thread
  client_tests address 'client_(unit|worker|proxy)' client_unit client_worker client_proxy -- -DSCYLLA_SANITIZE=address,undefined
}

# Sanitizers write their findings to files, because not every test checks how a process ended. Each file counts as a failed test.
log_sanitizers() {
  local to=log_path=$work/sanitizers/found
  mkdir -p "$work/sanitizers"
  export ASAN_OPTIONS=$to UBSAN_OPTIONS=$to:print_stacktrace=1 TSAN_OPTIONS=$to
  export LSAN_OPTIONS=suppressions=$checkout/client/test/lsan.supp:print_suppressions=0
}
show_sanitizers() {
  local file
  unset ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS LSAN_OPTIONS
  for file in "$work"/sanitizers/*; do
    [[ -e $file ]] || continue
    show_tail "$file" 60
    count 0 1
  done
}

# A primary and a synchronous standby, for a test that kills the first and promotes the second. Does not change PGPORT.
start_failover_pair() {
  local PGPORT PGDATABASE=$PGDATABASE primary=$work/cluster/failover-primary/data standby=$work/cluster/failover-standby/data
  start_test_cluster failover-primary
  "$bin/psql" -XqAt -c 'create database client'
  "$bin/psql" -XqAt -d client -c 'create extension scylla'
  as_server mkdir "${standby%/*}"
  as_server "$bin/pg_basebackup" -D "$standby" -R -c fast --no-sync
  SCYLLA_TEST_HOSTS="host=$socket_dir,$socket_dir port=$PGPORT,$(next_port) dbname=client"
  echo "port = $(next_port)" | as_server tee -a "$standby/postgresql.conf" >/dev/null
  "$bin/psql" -XqAt -c "alter system set synchronous_standby_names = '*'" -c 'select pg_reload_conf()' >/dev/null
  cluster_resume "$standby" "${standby%/*}/log"
  # The pid in the file might belong to another process by the time that everything is stopped.
  SCYLLA_TEST_FAILOVER="kill -9 \$(head -n 1 $primary/postmaster.pid) && rm $primary/postmaster.pid && cd / && \
    ${as_server[*]} $bin/pg_ctl -D $standby -t 60 -w -s promote"
  export SCYLLA_TEST_HOSTS SCYLLA_TEST_FAILOVER
}

# The lock must not be inherited by a server that a test restarts.
client_tests() { # NAME REGULAR-EXPRESSION TARGET... [-- CMAKE-ARGUMENT...]
  local log=$work/client/$1.log build
  build=$(build_folder "client-$1")
  if ! run_group flock -o "$checkout/.build/lock.client" bash -euc '
      source=$1 build=$2 tests=$3 targets=(); shift 3
      while (($#)) && [[ $1 != -- ]]; do targets+=("$1"); shift; done
      cmake -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-g1 -DSCYLLA_WERROR=ON -DSCYLLA_CLIENT_TESTS=ON \
        -DSCYLLA_CLI=OFF -DCMAKE_UNITY_BUILD=ON "${@:2}"
      cmake --build "$build" -j2 --target "${targets[@]}"
      cd "$build" && ctest --output-on-failure -R "$tests"
    ' client "$checkout/client" "$build" "${@:2}" >"$log" 2>&1; then
    show_tail "$log" 60
  fi
  count_ctest "$log"
}

# The command line as a user types it, against a server with the library preloaded and one without.
suite_cli() {
  local unloaded
  find_tests cli sh || return 0
  install_node_driver
  if ! build_tested_command_line "$work/cli/log"; then
    count 0 1
    return
  fi
  start_test_cluster cli-unloaded "shared_preload_libraries = ''"
  unloaded=$PGPORT
  start_test_cluster cli
  [[ -z ${SCYLLA_SANITIZE:-} ]] || log_sanitizers
  SCYLLA_UNLOADED_PORT=$unloaded SCYLLA_EXAMPLES=$command_line/examples SCRATCH=$work/cli PATH=$command_line/cli:$bin:$PATH harness cli bash -- "${files[@]}"
  [[ -z ${SCYLLA_SANITIZE:-} ]] || show_sanitizers
  cluster_stop cli
  cluster_stop cli-unloaded
}

# Node describes failures in YAML that TAP::Parser cannot read; without the version it takes these lines for comments.
node_test=(bash -o pipefail -c 'node --test-reporter=tap "$1" | sed "1{/^TAP version 13$/d}"' node)

# The pages of the console, in a browser.
suite_console() {
  local data=$work/cluster/console/data
  find_tests console test.js || return 0
  install_browser
  if ! build_tested_command_line "$work/console/log"; then
    count 0 1
    return
  fi
  start_test_cluster console
  SCYLLA_TEST_STOP="cd / && ${as_server[*]} $bin/pg_ctl -D $data -m fast -w -s stop"
  SCYLLA_TEST_START="cd / && ${as_server[*]} $bin/pg_ctl -D $data -l ${data%/*}/log -w -s start"
  export SCYLLA_TEST_STOP SCYLLA_TEST_START
  [[ -z ${SCYLLA_SANITIZE:-} ]] || log_sanitizers
  PATH=$command_line/cli:$bin:$PATH harness console "${node_test[@]}" -- "${files[@]}"
  [[ -z ${SCYLLA_SANITIZE:-} ]] || show_sanitizers
  cluster_stop console
}

# The worker in Python: the files of its package, against a server that they may restart, with the system's interpreter.
suite_python() {
  find_tests ../client/python/tests py python || return 0
  mapfile -t files < <(printf '%s\n' "${files[@]}" | grep '/test_[^/]*$')
  # shellcheck disable=SC2046 # a list of words
  install_missing $(packages_to_test_python)
  start_language_server python
  PYTHONPATH=$checkout/client/python/src PYTHONDONTWRITEBYTECODE=1 PATH=$bin:$PATH \
    harness python /usr/bin/python3 "$checkout/client/python/tests/tap.py" -- "${files[@]}"
  unset SCYLLA_TEST_RESTART
  cluster_stop python
}

# The worker for Node.js, likewise.
suite_node() {
  find_tests ../client/node/test test.js node || return 0
  install_node_driver
  install_node_tools
  start_language_server node
  PATH=$bin:$PATH harness node "${node_test[@]}" -- "${files[@]}"
  unset SCYLLA_TEST_RESTART
  cluster_stop node
}

# A server that its tests may restart.
start_language_server() { # NAME
  local data=$work/cluster/$1/data
  start_test_cluster "$1"
  "$bin/psql" -XqAt -c "create database $1"
  export PGDATABASE=$1
  "$bin/psql" -XqAt -c 'create extension scylla'
  export SCYLLA_TEST_RESTART="cd / && ${as_server[*]} $bin/pg_ctl -D $data -l ${data%/*}/log -m fast -w -s restart"
}

suite_regress() { regress_like regress sql sql pg_regress; }
suite_isolation() { regress_like isolation specs spec pg_isolation_regress; }

# pg_regress and pg_isolation_regress look for sql, specs and expected side by side in the current folder (15 and later
# alike), so one is made of links; results and differences stay in it. The monitor is off: it would end an expired lease
# between two steps that show it.
regress_like() { # SUITE FOLDER ENDING PROGRAM
  local folder=$work/$1 log=$work/$1/log tests=() file
  find_tests "$2" "$3" "$1" || return 0
  for file in "${files[@]}"; do
    file=${file##*/}
    tests+=("${file%."$3"}")
  done
  ln -s "$checkout/test/sql" "$folder/sql"
  ln -s "$checkout/test/specs" "$folder/specs"
  ln -s "$checkout/expected" "$folder/expected"
  start_test_cluster "$1" "scylla.monitor = off"
  if ! run_group env -C "$folder" "$(regress_program "$4")" "--bindir=$bin" "--dbname=$1" --load-extension=scylla \
    "${tests[@]}" >"$log" 2>&1; then
    cat "$log"
    [[ ! -s $folder/regression.diffs ]] || head -n 200 "$folder/regression.diffs"
  fi
  cluster_stop "$1"
  # 15 says "2 of 3 tests failed", later versions the same after a "# "
  if [[ $(<"$log") =~ All\ ([0-9]+)\ tests\ passed ]]; then
    count "${BASH_REMATCH[1]}" 0
  elif [[ $(<"$log") =~ ([0-9]+)\ of\ ([0-9]+)\ tests\ failed ]]; then
    count $((BASH_REMATCH[2] - BASH_REMATCH[1])) "${BASH_REMATCH[1]}"
  else
    count 0 "${#tests[@]}"
  fi
}

regress_program() { # NAME
  find "$("$pg_config" --pkglibdir)/pgxs/src/test" -type f -name "$1"
}

# A database with pgTAP and the extension; each file rolls back or cleans up what it did. Twice: the functions must work in
# a server that does not preload the library, too. A file that needs the monitor or wake-ups says "-- preloaded only".
# SCYLLA_QUICK leaves the second time out.
suite_pgtap() {
  find_tests pgtap sql || return 0
  start_test_cluster pgtap
  pgtap_files pgtap
  cluster_stop pgtap

  [[ -z ${SCYLLA_QUICK:-} ]] || return 0
  mapfile -d '' -t files < <(grep -LZ '^-- preloaded only' -- "${files[@]}")
  ((${#files[@]})) || return 0
  say "again, without shared_preload_libraries"
  start_test_cluster pgtap-unloaded "shared_preload_libraries = ''"
  pgtap_files pgtap-unloaded
  cluster_stop pgtap-unloaded
}

pgtap_files() { # FOLDER
  mkdir -p "$work/$1"
  "$bin/psql" -XqAt -d postgres -c 'create database pgtap'
  export PGDATABASE=pgtap
  "$bin/psql" -XqAt -v ON_ERROR_STOP=1 -c 'create extension pgtap; create extension scylla'
  harness "$1" "$bin/psql" -XqAt -P pager=off -v ON_ERROR_ROLLBACK=1 -v ON_ERROR_STOP=1 -f -- "${files[@]}"
}

# The twin: random sequences of operations through the verbs and through readable SQL, compared. The monitor would act
# between two of them.
suite_model() {
  local program=$checkout/test/model/run
  if [[ ! -x $program ]]; then
    say "no test/model/run"
    count 0 1
    return
  fi
  start_test_cluster model "scylla.monitor = off"
  "$bin/psql" -XqAt -c 'create database model'
  PGDATABASE=model PATH=$bin:$PATH harness model env -- "$program"
  cluster_stop model
}

# Servers that stop, crash and promote.
suite_tap() { server_files tap t; }

# Attacks by roles with few rights, and their effects on others.
suite_abuse() { server_files abuse abuse; }

# Perl files that make servers of their own. They run as the server's user, from a copy that it can read.
server_files() { # SUITE FOLDER
  local suite=$1 file copies=()
  find_tests "$2" pl "$1" || return 0
  cp -r "$checkout/test/." "$work/$suite"
  build_faults "$work/$suite/faults" || {
    count 0 1
    return 0
  }
  older_server=
  [[ " ${files[*]} " != *"/pg_upgrade.pl "* ]] || make_older_server "$work/older" || {
    count 0 1
    return 0
  }
  for file in "${files[@]}"; do copies+=("$work/$suite/$2/${file##*/}"); done
  chown -R "$server_user" "$work/$suite"
  PATH=$bin:$PATH PG_REGRESS=$(regress_program pg_regress) TESTDIR=$work/$suite TESTDATADIR=$work/$suite/tmp_check \
    SCYLLA_FAULTS=$work/$suite/faults/faults.so SCYLLA_NO_SPACE=$work/$suite/faults/no_space.so SCYLLA_CLOCK=$work/$suite/faults/clock.so \
    SCYLLA_OLDER_SERVER=$older_server TESTLOGDIR=$work/$suite/tmp_check/log TMPDIR=$socket_dir HOME=$work/$suite \
    PG_TEST_TIMEOUT_DEFAULT=${PG_TEST_TIMEOUT_DEFAULT:-120} PERL5LIB=$("$pg_config" --pkglibdir)/pgxs/src/test/perl \
    TAP_JOBS=2 harness "$suite" "${as_server[@]}" perl -- "${copies[@]}"
  ((suite_failed == 0)) || show_regress_logs "$suite"
}

show_regress_logs() { # SUITE
  local log
  for log in "$work/$1"/tmp_check/log/regress_log_*; do
    ! grep -q '^not ok\|^# Looks like\|timed out\|died' "$log" 2>/dev/null || show_tail "$log" 30
  done
}

# The commands that a newcomer types.
suite_scripts() {
  find_tests scripts sh || return 0
  HOME=$work/scripts SCRATCH=$work/scripts harness scripts bash -- "${files[@]}"
}

# Runs TAP files, as many at once as TAP_JOBS says: harness SUITE COMMAND... -- FILE...
# The limit of time is that of a file. A slow machine takes long for a suite, which is no fault.
harness() {
  local folder=$work/$1 passed=0 failed=1 limit=$group_limit group_limit=$((4 * group_limit))
  shift
  run_group env -C "$folder" perl "$checkout/test/lib/harness.pl" --dump "$folder/output" --counts "$folder/counts" \
    --failures "$work/failures" --limit "$limit" --jobs "${TAP_JOBS:-1}" -- "$@" || true
  [[ ! -s $folder/counts ]] || read -r passed failed <"$folder/counts"
  count "$passed" "$failed"
}
