# shellcheck shell=bash
# The fuzzers of test/fuzzers: how they are built and run, for ./test/fuzz and for the suite unit.

# Sets fuzzers: their names.
find_fuzzers() {
  mapfile -t fuzzers < <(cd "$checkout/test/fuzzers" && printf '%s\n' *.cpp | sed 's/\.cpp$//')
}

build_fuzzers() { # LOG
  if ! run_group flock "$checkout/.build/lock.fuzz" bash -euc '
      cmake -S "$1/test/fuzzers" -B "$2" -DCMAKE_CXX_COMPILER=clang++
      cmake --build "$2" -j2
    ' fuzz "$checkout" "$checkout/.build/fuzz" >"$1" 2>&1; then
    show_tail "$1" 60
    return 1
  fi
}

# New inputs are written to FOLDER, and failing inputs beside it.
run_fuzzer() { # FUZZER FOLDER [OPTION...]
  local corpus=("$2")
  [[ ! -d $checkout/test/fuzzers/corpus/$1 ]] || corpus+=("$checkout/test/fuzzers/corpus/$1")
  run_group "$checkout/.build/fuzz/fuzz_$1" -timeout=20 -max_len=1000 -artifact_prefix="$2." "${@:3}" "${corpus[@]}"
}
