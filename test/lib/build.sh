# shellcheck shell=bash
# Builds the extension and installs it into a private copy of the server, so that nothing outside the checkout changes.
#
# PostgreSQL finds its lib and share folders relative to its own program file when the end of that path is the compiled one.
# <work>/root/usr/lib/postgresql/N/bin with real copies of the programs is therefore a complete server of its own; its lib
# and share folders are real folders full of links to the system's files, and `make install DESTDIR=<work>/root` adds ours.

# Sets prefix and bin, and fills the prefix with the server.
make_private_server() {
  local folder
  prefix=$work/root
  bin=$prefix$("$pg_config" --bindir)
  rm -rf "$prefix"
  mkdir -p "$bin"
  cp -pr "$("$pg_config" --bindir)/." "$bin"
  for folder in "$("$pg_config" --pkglibdir)" "$("$pg_config" --sharedir)"; do
    mkdir -p "$prefix${folder%/*}"
    cp -rs "$folder" "$prefix${folder%/*}"
    # An older system-wide installation must be neither visible nor overwritten through links.
    find "$prefix$folder" -name 'scylla*' -type l -delete
  done
  add_pgtap_of_older_server
  [[ -z ${SCYLLA_VALGRIND:-} ]] || put_under_valgrind
}

# If this server has no pgTAP of its own (packages.sh).
add_pgtap_of_older_server() {
  local share older
  share=$("$pg_config" --sharedir)
  older=${share/%$pg_major/$((pg_major - 1))}
  [[ -e $share/extension/pgtap.control || ! -e $older/extension/pgtap.control ]] || cp -s "$older"/extension/pgtap* "$prefix$share/extension"
}

# Lets valgrind run the server, however it is started (test/asserts). Each process writes its findings to a file of its own.
put_under_valgrind() {
  local logs=$work/valgrind
  mkdir -p "$logs"
  chown "$server_user" "$logs"
  mv "$bin/postgres" "$bin/postgres.checked"
  cat >"$bin/postgres" <<WRAPPER
#!/bin/sh
# initdb and a look at the version have nothing to do with us.
case \${1-} in --boot | --single | --check | -V | --version | --describe-config) exec "$bin/postgres.checked" "\$@" ;; esac
exec valgrind --quiet --leak-check=no --track-origins=yes --error-markers=VALGRIND-BEGIN,VALGRIND-END \\
  --suppressions="$("$pg_config" --bindir)/../valgrind.supp" --log-file="$logs/%p" "$bin/postgres.checked" "\$@"
WRAPPER
  chmod 755 "$bin/postgres"
}

# CXX=clang++ in the environment selects another compiler than that of the server and of CMake. Each has CMake folders of its own.
build_folder() { printf '%s\n' "$checkout/.build/$1${CXX:+-${CXX##*/}}"; } # NAME

# Headers are compiled once, but not with ccache: it would find nothing that was compiled with a header of another folder.
may_precompile() { [[ $(readlink -f "$(command -v "$1")") != */ccache ]]; } # COMPILER

# Builds in the checkout and installs into the prefix. Several people may test in one checkout: one builds at a time.
# Objects made for another server, or by another compiler, are not reused. SCYLLA_QUICK: not optimised, with the assertions of the C++ library.
build_extension() { # LOG [MAKE-ARGUMENT...]
  local log=$1 version compiler=${CXX:-g++}
  shift
  version="$("$pg_config" --version)${CXX:+ with $CXX}"
  step "building for $version"
  ! may_precompile "$compiler" || set -- PCH=1 "$@"
  set -- ${SCYLLA_QUICK:+QUICK=1} "$@"
  if ! run_group flock "$checkout/.build/lock" bash -euc '
      version=$1 prefix=$2 stamp=$4/.build/built-for; shift 2
      [[ ! -e $stamp || $(<"$stamp") == "$version" ]] || make "$@" clean
      printf "%s\n" "$version" >"$stamp"
      make -j2 "$@" all
      make "$@" install DESTDIR="$prefix"
    ' build "$version, $("$compiler" --version | head -n 1)${SCYLLA_QUICK:+, not optimised, with assertions}" "$prefix" -C "$checkout" "PG_CONFIG=$pg_config" ${CXX:+"CXX=$CXX"} "$@" >"$log" 2>&1; then
    show_tail "$log" 60
    return 1
  fi
}

# Builds the library that makes a server fail (test/faults) in the folder.
build_faults() { # FOLDER
  local warnings=(-Wall -Wextra -Werror)
  mkdir -p "$1"
  g++ -std=c++20 -O1 -g -fPIC -shared -fno-exceptions -fno-rtti "${warnings[@]}" -isystem "$("$pg_config" --includedir-server)" \
    -I"$checkout/src" -DPGDLLEXPORT='__attribute__((visibility("default")))' -o "$1/faults.so" "$checkout/test/faults/faults.cpp" &&
    gcc -O1 -g -fPIC -shared "${warnings[@]}" -o "$1/no_space.so" "$checkout/test/faults/no_space.c" -ldl &&
    gcc -O1 -g -fPIC -shared "${warnings[@]}" -o "$1/clock.so" "$checkout/test/faults/clock.c" -ldl
}

# A private server of the oldest version that is installed beside ours, with the extension, for pg_upgrade. Sets older_server to its
# folder, or leaves it empty if there is none.
make_older_server() { # FOLDER
  local major
  older_server=
  for major in 15 16 17 18; do
    ((major < pg_major)) && [[ -x /usr/lib/postgresql/$major/bin/postgres && -e /usr/include/postgresql/$major/server/postgres.h ]] || continue
    # From a copy of the sources: our objects must not be mixed with objects for another server.
    mkdir -p "$1/source/.build"
    cp -r "$checkout"/{src,sql,Makefile,scylla.control} "$1/source"
    find "$1/source" -name '*.[od]' -delete
    (
      pg_config=/usr/lib/postgresql/$major/bin/pg_config work=$1 checkout=$1/source
      make_private_server
      build_extension "$1/build.log" WERROR=1
    ) || return
    older_server=$1/root/usr/lib/postgresql/$major
    return
  done
}

# Builds the command line, unoptimised and as a few large files, which takes a quarter of the time. CMake remembers the arguments.
build_command_line() { # LOG [FOLDER [TARGET [CMAKE-ARGUMENT...]]]
  if ! run_group flock "$checkout/.build/lock.cli" bash -euc '
      source=$1 build=$2 target=$3; shift 3
      cmake -S "$source" -B "$build" -DCMAKE_UNITY_BUILD=ON "$@"
      cmake --build "$build" -j2 --target "$target"
    ' build "$checkout/client" "${2:-$checkout/.build/cli}" "${3:-scylla_cli}" "${@:4}" >"$1" 2>&1; then
    show_tail "$1" 60
    return 1
  fi
}

# The same for tests: with the examples, and warnings are errors. Sets command_line to its folder, which is that of ./quickstart.
build_tested_command_line() { # LOG
  local sanitize=${SCYLLA_SANITIZE:-}
  command_line=$(build_folder "cli${sanitize:+-${sanitize%%,*}}")
  build_command_line "$1" "$command_line" all -DSCYLLA_WERROR=ON -DSCYLLA_EXAMPLES=ON \
    ${sanitize:+"-DSCYLLA_SANITIZE=$sanitize" -DCMAKE_BUILD_TYPE=Debug}
}
