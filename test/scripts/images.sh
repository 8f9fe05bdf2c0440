#!/bin/bash
# Container images, without a program that builds them: what make images would run, and whether the files that the images are made from
# agree with the sources. Prints TAP.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
source "$here/../lib/common.sh"
source "$here/../lib/packages.sh"
choose_server
cd "$checkout"
version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" scylla.control)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
printf '#!/bin/sh\necho "$*" >>"%s/calls"\n' "$scratch" >"$scratch/podman"
chmod +x "$scratch/podman"

number=0
is() { # HAVE WANT NAME
  number=$((number + 1))
  if [[ $1 == "$2" ]]; then
    echo "ok $number - $3"
  else
    echo "not ok $number - $3"
    diff <(echo "$2") <(echo "$1") | sed 's/^/# /'
  fi
}

PATH=$scratch:$PATH make -s "PG_CONFIG=$pg_config" images IMAGE=there/pgscylla
is "$(sed -n 's/.*PG_MAJOR=\([0-9]*\) -t \(.*\) \.$/\1 \2/p' "$scratch/calls")" "$(
  for major in 15 16 17 18 19; do echo "$major there/pgscylla:$version-pg$major"; done
  for major in 18 19; do echo "$major there/pgscylla:$version-pg$major-volume --target volume"; done
)" 'make images builds an image for each server, and volumes for those that can mount one'
is "$(sed -n 's/^COPY \([^-].*\) .*/\1/p' packaging/Containerfile | xargs ls -d | paste -sd ' ')" 'LICENSE Makefile scylla.control sql src' \
  'the image is built from files that exist'
is "$(python3 - "$version" <<'PYTHON'
import sys, yaml
cluster, database = (yaml.safe_load(open(f"packaging/cnpg/{name}.yaml")) for name in ("cluster", "database"))
[volume] = cluster["spec"]["postgresql"]["extensions"]
print(cluster["kind"], cluster["spec"]["postgresql"]["shared_preload_libraries"], volume["name"], volume["image"]["reference"].split("/")[-1])
print(database["kind"], database["spec"]["cluster"]["name"] == cluster["metadata"]["name"], database["spec"]["extensions"])
PYTHON
)" "Cluster ['scylla'] scylla pgscylla:$version-pg18-volume
Database True [{'name': 'scylla', 'version': '$version'}]" 'the example of CloudNativePG names the image, the library and the version'
is "$(sed -n '/^FROM scratch/,/^FROM/s/^COPY .*lib\/ \(.*\)$/\1/p' packaging/Containerfile)" /lib/ 'a volume has the library where the server is told to look'
echo "1..$number"
