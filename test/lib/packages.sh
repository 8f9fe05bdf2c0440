# shellcheck shell=bash
# Debian packages: finds or chooses the PostgreSQL to build against and installs what is missing.
#
# Works on Debian 12 (PostgreSQL 15), 13 (17) and later ones (18, 19). PG_CONFIG=/path or PG_MAJOR=n in the environment select another server.

# Sets pg_major and pg_config. An installed server with its development files is preferred to one from apt.
choose_server() {
  if [[ -n ${PG_CONFIG:-} ]]; then
    pg_config=$(command -v "$PG_CONFIG") || die "PG_CONFIG=$PG_CONFIG is no program"
    pg_major=$("$pg_config" --version | sed -E 's/[^0-9]*([0-9]+).*/\1/')
    return
  fi
  pg_major=${PG_MAJOR:-$(installed_major)}
  if [[ -z $pg_major ]]; then
    apt_update
    pg_major=$(offered_major)
  fi
  pg_config=/usr/lib/postgresql/$pg_major/bin/pg_config
}

installed_major() {
  local major
  for major in 19 18 17 16 15; do
    if [[ -x /usr/lib/postgresql/$major/bin/postgres && -e /usr/lib/postgresql/$major/lib/pgxs/src/makefiles/pgxs.mk ]]; then
      echo "$major"
      return
    fi
  done
}

# The version behind Debian's metapackage "postgresql".
offered_major() {
  apt-cache depends postgresql | sed -nE 's/.*Depends: postgresql-([0-9]+)$/\1/p' | head -n 1
}

packages_to_build() { echo g++ make "postgresql-$pg_major" "postgresql-server-dev-$pg_major"; }
packages_to_build_client() {
  echo cmake pkgconf libpqxx-dev libcli11-dev libyaml-cpp-dev libcpp-httplib-dev zlib1g-dev
  # libpq 19 says that it needs libcurl, and its package does not bring it.
  ((${pg_major:-0} < 19)) || echo libcurl4-openssl-dev
}
packages_to_test() {
  echo libgtest-dev nlohmann-json3-dev python3-psycopg2 python3-yaml man-db zsh fish perl libipc-run-perl python3-prometheus-client pgbouncer \
    $(extensions_to_test)
}

# A server that is new has none of the extensions in Debian. pgTAP, which is SQL only, is then that of the server before it
# (make_private_server copies it); pg_cron is compiled for a server, and tap/pg_cron says that it is not there.
extensions_to_test() {
  if is_offered "postgresql-$pg_major-pgtap"; then
    echo "postgresql-$pg_major-pgtap" "postgresql-$pg_major-cron"
  else
    echo "postgresql-$((pg_major - 1))-pgtap"
  fi
}

packages_to_fuzz() { echo clang libclang-rt-dev cmake pkgconf libpq-dev nlohmann-json3-dev; }
packages_to_build_server() { echo dpkg-dev bison flex zlib1g-dev libicu-dev valgrind; }
packages_to_analyse() { echo clang clang-format clang-tidy cppcheck; }
packages_to_test_python() { echo python3-psycopg mypy python3-build python3-setuptools python3-wheel; }
# Packages that suites install if they are missing.
packages_to_try() { echo graphviz prometheus-postgres-exporter nodejs node-pg git unzip "$(packages_to_test_python)"; }

# The driver for node: Debian's, or npm's for a node from elsewhere, which does not work with Debian's. Sets NODE_PATH.
install_node_driver() {
  export NODE_PATH=/usr/share/nodejs:$checkout/.build/node/node_modules
  if ! command -v node >/dev/null; then
    install_missing nodejs node-pg
  elif ! node -e 'require("pg")' 2>/dev/null; then
    step "installing pg in .build/node"
    flock "$checkout/.build/lock.npm" npm install --no-audit --no-fund --silent --prefix "$checkout/.build/node" pg@8
  fi
}

# npm, and the compiler of TypeScript: Debian's for Debian's node.
install_node_tools() {
  if is_installed node-pg; then
    install_missing npm node-typescript
  elif ! node -e 'require("typescript")' 2>/dev/null; then
    step "installing typescript in .build/node"
    flock "$checkout/.build/lock.npm" npm install --no-audit --no-fund --silent --prefix "$checkout/.build/node" typescript@5
  fi
}

# A browser, its driver, and a checker for accessibility. Sets NODE_PATH.
install_browser() {
  export NODE_PATH=$checkout/.build/node/node_modules
  command -v node >/dev/null || install_missing nodejs
  command -v npm >/dev/null || install_missing npm
  command -v chromium >/dev/null || install_missing chromium
  if ! node -e 'require("playwright-core"), require("axe-core")' 2>/dev/null; then
    step "installing playwright-core and axe-core in .build/node"
    flock "$checkout/.build/lock.npm" npm install --no-audit --no-fund --silent --prefix "$checkout/.build/node" playwright-core@1 axe-core@4
  fi
}

# Installs those of the named packages that are missing. With PG_CONFIG the server is the caller's, not apt's.
install_missing() { # PACKAGE...
  local package missing=()
  for package; do
    [[ -n ${PG_CONFIG:-} && $package == postgresql-* ]] || is_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  step "installing ${missing[*]}${apt_log:+ (log: $apt_log)}"
  apt_update
  # If no server is needed, none has been chosen.
  if [[ " ${missing[*]} " == *" postgresql-${pg_major-none} "* ]]; then
    apt_install postgresql-common # brings the settings that without_system_cluster changes
    without_system_cluster without_services apt_install "${missing[@]}"
  else
    without_services apt_install "${missing[@]}"
  fi
}

# Of a package that is not installed, apt may have to be asked with new lists.
is_offered() { # PACKAGE
  is_installed "$1" || [[ -n $(apt-cache policy "$1") ]] || { apt_update >&2 && [[ -n $(apt-cache policy "$1") ]]; }
}

is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "neither root nor sudo: cannot run: $*"
  fi
}

# With apt_log, the output of apt goes there, and is shown only if apt fails.
apt_get() {
  mkdir -p "$checkout/.build"
  if [[ -z ${apt_log:-} ]]; then
    run_apt_get "$@"
  elif ! run_apt_get "$@" >>"$apt_log" 2>&1; then
    show_tail "$apt_log"
    return 1
  fi
}

# Two suites may call apt at once, and apt waits for others only when it installs.
run_apt_get() {
  as_root flock "$checkout/.build/lock.apt" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

apt_install() { apt_get install --no-install-recommends "$@"; }

# Only once per run.
apt_update() {
  [[ -z ${apt_is_updated:-} ]] || return 0
  apt_get update
  apt_is_updated=yes
}

# Debian's server package creates and starts a cluster "main" when it is first installed. It is not wanted: disable it
# while the command runs, by the setting that the package's own script reads.
without_system_cluster() ( # COMMAND...
  folder=/etc/postgresql-common/createcluster.d
  file=$folder/zz-scylla-no-main-cluster.conf
  made_folder=
  [[ -d $folder ]] || made_folder=yes
  restore() {
    as_root rm -f "$file"
    [[ -z $made_folder ]] || as_root rmdir --ignore-fail-on-non-empty "$folder"
  }
  trap restore EXIT
  as_root mkdir -p "$folder"
  echo 'create_main_cluster = false' | as_root tee "$file" >/dev/null
  "$@"
)

# Debian's packages start their services (pgbouncer), which our tests do not want. The program that the package scripts
# ask for permission refuses while the command runs.
without_services() ( # COMMAND...
  policy=/usr/sbin/policy-rc.d
  if [[ -e $policy ]]; then
    "$@"
    exit
  fi
  trap 'as_root rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
  as_root chmod 755 "$policy"
  "$@"
)
