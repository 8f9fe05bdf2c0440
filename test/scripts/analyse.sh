#!/bin/bash
# The sources are as clang-format leaves them, and cppcheck finds nothing in them. (clang-tidy takes too long for every run:
# ./test/analyse.) Prints TAP.
set -euo pipefail
checkout=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd -P)
number=0

# Every version of a tool judges differently. The versions named here are those of Debian 12, where continuous integration runs.
judge() { # TOOL VERSION VERSION-COMMAND CHECK...
  local tool=$1 version=$2 there output
  there=$($3 2>/dev/null || apt-cache policy "$tool" 2>/dev/null | grep Candidate: || true)
  shift 3
  number=$((number + 1))
  if [[ ! $there =~ [^0-9.]$version([.-]|$) ]]; then
    echo "ok $number - $tool finds nothing # SKIP here is ${there:-no $tool}, and not $version"
  elif output=$("$@" 2>&1); then
    echo "ok $number - $tool finds nothing"
  else
    echo "not ok $number - $tool finds nothing"
    sed 's/^/# /' <<<"$output"
  fi
}

judge cppcheck 2.10 'cppcheck --version' "$checkout/test/analyse" cppcheck
judge clang-format 14 'clang-format --version' "$checkout/test/analyse" clang-format
echo "1..$number"
