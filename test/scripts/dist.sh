#!/bin/bash
# The archive for PGXN, of the sources as they are: what make dist packs, and what META.json says of it. Prints TAP.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
source "$here/../lib/common.sh"
source "$here/../lib/packages.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tests=0
ok() { # STATUS NAME
  tests=$((tests + 1))
  if (($1 == 0)); then echo "ok $tests - $2"; else echo "not ok $tests - $2"; fi
}
check() { # NAME COMMAND...
  local status=0
  "${@:2}" >"$scratch/why" 2>&1 || status=$?
  ok "$status" "$1"
  ((status == 0)) || sed 's/^/#   /' "$scratch/why"
}

install_missing git unzip >&2
choose_server
# A repository of its own: what is not committed is packed too, and a copy without history can be.
mkdir "$scratch/sources"
tar -C "$checkout" -cf - --exclude=./.build --exclude=./.git --exclude='*.[od]' --exclude='*.so' . | tar -C "$scratch/sources" -xf - --no-same-owner
(
  cd "$scratch/sources"
  git init -q
  git add -A
  git -c user.name=test -c user.email=test commit -qm "as it is"
)
check "make dist" make -C "$scratch/sources" dist "PG_CONFIG=$pg_config"

read -r name version <<<"$(python3 -c 'import json, sys; m = json.load(open(sys.argv[1])); print(m["name"], m["version"])' "$checkout/META.json")"
check "its name is that of META.json" unzip -q "$scratch/sources/.build/dist/$name-$version.zip" -d "$scratch/unpacked"
unpacked=$scratch/unpacked/$name-$version
check "all is in one folder" test "$(ls "$scratch/unpacked")" = "$name-$version"
check "it has every file" diff <(git -C "$scratch/sources" ls-files | sort) <(cd "$unpacked" && find . -type f -o -type l | sed 's|^\./||' | sort)
check "the scripts are made from it" make -C "$unpacked" "PG_CONFIG=$pg_config" sql/scylla--0.2.sql sql/scylla--0.1--0.2.sql

cat >"$scratch/meta.py" <<'PYTHON'
import json
import os
import re
import sys

meta = json.load(open("META.json"))
for key in ("name", "version", "abstract", "maintainer", "license", "provides", "meta-spec"):
    assert meta.get(key), key
assert meta["meta-spec"]["version"] == "1.0.0"
number = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[A-Za-z][\w-]*)?$")
assert number.match(meta["version"])
assert meta["release_status"] in ("stable", "testing", "unstable")
for extension, provided in meta["provides"].items():
    assert number.match(provided["version"]) and provided["version"] == meta["version"], extension
    for key in ("file", "docfile"):
        assert os.path.exists(provided[key]), provided[key]
control = open("scylla.control").read()
# The servers that make builds for.
majors = re.search(r"filter-out (\d+)[\d ]* (\d+),", open("Makefile").read())
servers = ">= %s.0.0, < %d.0.0" % (majors[1], int(majors[2]) + 1)
assert meta["prereqs"]["runtime"]["requires"] == {"PostgreSQL": servers}, servers
assert "default_version = '%s'" % meta["version"].rsplit(".", 1)[0] in control
PYTHON
check "META.json says what is true" env -C "$unpacked" python3 "$scratch/meta.py"
# What the packages say of themselves is the same.
for file in client/python/pyproject.toml client/node/package.json; do
  check "$file has the version" grep -qE "version\"?( =|:) \"$version\"" "$checkout/$file"
done
echo "1..$tests"
