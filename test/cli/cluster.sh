#!/bin/bash
# client/examples/cluster: a few dozen jobs on a simulated cluster, with a job manager that is killed half way. It ends with 0 if every
# job has ended as it should, nothing was ever over the capacity, and check() finds nothing.
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=test/lib/tap.sh
source "$here/../lib/tap.sh"
begin_test cluster
sql 'create extension scylla'
wait_until holds "select pid is not null from scylla.stat_monitor"

run timeout 300 /usr/bin/python3 "$here/../../client/examples/cluster/run" 60 "$scratch/picture.svg"
is "$status" 0 'all went well'
((status == 0)) || sed 's/^/# /' <<<"$output$errors"
like "$output" 'a job manager is killed' 'though a job manager was killed'
like "$output" '[1-9][0-9]* completed, [1-9][0-9]* of them after a lost node; [1-9][0-9]* given up' 'jobs were completed, retried and given up'
is "$(sql "select count(*) from scylla.task where queue = 'cluster-jobs' and status = 'aborted' and errors -> -1 ->> 'code' <> 'access-denied'")" 0 \
  'only what cannot succeed was given up'
is "$(sql "select count(*) > 0 from scylla.pool where pool = 'cluster' and reported is not null and free = capacity")" t 'usage was reported, and the cluster is free again'
like "$(tail -n 1 "$scratch/picture.svg")" '</svg>' 'the picture is complete'
is "$(/usr/bin/python3 -c 'import sys, xml.dom.minidom as x; print(len(x.parse(sys.argv[1]).getElementsByTagName("polygon")))' "$scratch/picture.svg")" 3 \
  'and shows memory, cores and the line'
done_testing
