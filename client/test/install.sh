#!/bin/bash
# Installs into a folder of its own, and builds and runs an application against that: by CMake, shared and static, and by
# pkg-config.
set -euo pipefail
build=$1 compiler=$2
here=$(dirname "$(readlink -f "$0")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install "$build" --prefix "$folder/usr" >/dev/null
cmake -S "$here/install" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/usr" -DCMAKE_CXX_COMPILER="$compiler"
cmake --build "$folder/build"
for program in with_shared with_static; do
  [[ $("$folder/build/$program") == ready ]]
done

pkgconfig=$(dirname "$(find "$folder/usr" -name scylla-client.pc)")
# shellcheck disable=SC2046 # lists of words
PKG_CONFIG_PATH=$pkgconfig "$compiler" -std=c++20 "$here/install/main.cpp" -o "$folder/by_pkgconfig" \
  $(PKG_CONFIG_PATH=$pkgconfig pkg-config --cflags --libs scylla-client)
[[ $(LD_LIBRARY_PATH=${pkgconfig%/*} "$folder/by_pkgconfig") == ready ]]

# The examples of the documentation: one is a whole program, the others become functions beside it.
awk '/^```/ { inside = $0 == "```cpp"; blocks += inside; next }
     inside && /^#include/ { includes = includes $0 "\n"; next }
     inside { text[blocks] = text[blocks] $0 "\n" }
     END {
       printf "%s", includes
       for (i = 1; i <= blocks; i++)
         printf "%s", text[i] ~ /int main/ ? text[i] : "void example_" i "(pqxx::connection &connection) {\n" text[i] "}\n"
     }' "$here/../../docs/client.md" >"$folder/example.cpp"
[[ $(grep -c '^void example\|^int main' "$folder/example.cpp") == 2 ]]
# shellcheck disable=SC2046 # a list of words
PKG_CONFIG_PATH=$pkgconfig "$compiler" -std=c++20 -Wall -Wextra -Werror "$folder/example.cpp" -o "$folder/example" \
  $(PKG_CONFIG_PATH=$pkgconfig pkg-config --cflags --libs scylla-client)

! grep -rlE 'include.*(postgres\.h|fmgr\.h|server/)' "$folder/usr/include"
