#!/bin/bash
# scylla queue: every setting of a queue, by whatever name the server knows it.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test queues
sql 'create extension scylla'

run scylla queue create mail default_timeout=5min aging=0.5 'retry={"initial": "2 s"}'
is "$status$output$errors" 0 'queue create'
is "$(sql "select default_timeout, aging, retry from scylla.queue_settings where queue = 'mail'")" \
  '00:05:00|0.5|{"initial": "2 s"}' 'with settings'
run scylla queue create plain
run scylla queue create mail
is "$status $errors" '1 scylla: queue "mail" already exists' 'it exists'

run scylla queue set mail default_timeout=5 aging= max_attempts=4 retention='1 day' 'retry={"initial": "3 s"}' paused=true
is "$status$output$errors" 0 'queue set'
is "$(sql "select default_timeout, aging, max_attempts, retention, retry, paused from scylla.queue_settings where queue = 'mail'")" \
  '00:00:05|0|4|1 day|{"initial": "3 s"}|t' 'each in its type; name= is the default'
run scylla queue set mail no_such=1
is "$status" 1 'no such setting'
like "$errors" 'no_such' 'is named'
run scylla queue set mail 'paused; drop=1'
is "$status $(head -n 1 <<<"$errors")" '2 scylla: "paused; drop=1" is no setting' 'and neither is what is no name'
run scylla queue create other 'aging => 1, retention=1'
is "$status" 2 'not in create either'
run scylla queue set mail aging=high
is "$status" 1 'a value of the wrong type'
run scylla queue set nobody aging=1
is "$status $errors" '1 scylla: queue "nobody" does not exist' 'no such queue'

run scylla queue resume mail
is "$status $(sql "select paused from scylla.queue_settings where queue = 'mail'")" '0 f' 'queue resume'
run scylla queue pause mail
is "$status $(sql "select paused from scylla.queue_settings where queue = 'mail'")" '0 t' 'queue pause'

run scylla queue list
is "$(head -n 2 <<<"$output" | tr -s ' ' | sed 's/{.*//')" $'queue paused settings\nmail t ' 'queue list'
run scylla queue list --json
is "$(sql "select string_agg(q ->> 'queue', ' ') from jsonb_array_elements('$output') as q")" 'mail plain' 'as JSON'
run scylla queue get mail
is "$status $(grep '^max_attempts' <<<"$output" | tr -s ' ')" '0 max_attempts 4' 'queue get'
run scylla queue get mail --json
is "$(sql "select '$output'::jsonb = to_jsonb(q) from scylla.queue_settings as q where queue = 'mail'")" t 'as JSON'
# Every setting of src/store/queue_settings.h.
settings=$(sed -n '/k_queue_settings{{/,/^}};/s/^ *{"\([a-z_]*\)".*/\1/p' \
  "$(dirname "$(readlink -f "$0")")/../../src/store/queue_settings.h")
for name in ${settings:-none}; do
  run scylla queue set plain "$name="
  is "$status$errors" 0 "queue set: $name"
done
run scylla queue get plain --json
for name in ${settings:-none} pending; do
  is "$(sql "select '$output'::jsonb ? '$name'")" t "queue get: $name"
done
run scylla queue get nobody
is "$status $errors" '1 scylla: queue "nobody" does not exist' 'queue get: no such queue'

# ---- rights -------------------------------------------------------------------------------------------------------------

sql 'create role guest'
run scylla queue grant mail guest submit
is "$status$output$errors" 0 'queue grant'
run scylla queue grants mail
is "$(tr -s ' ' <<<"$output")" $'queue role privilege\nmail guest submit\nmail postgres owner' 'queue grants'
run scylla queue grants --json
is "$(sql "select string_agg(g ->> 'role', ' ') from jsonb_array_elements('$output') as g")" 'guest postgres postgres' 'as JSON'
run scylla queue revoke mail guest submit
is "$status $(sql "select count(*) from scylla.queue_grants where role = 'guest'")" '0 0' 'queue revoke'
run scylla queue owner plain guest
is "$status $(sql "select role from scylla.queue_grants where queue = 'plain'")" '0 guest' 'queue owner'
run scylla queue grant mail guest depend
is "$status $(sql "select privilege from scylla.queue_grants where role = 'guest' and queue = 'mail'")" '0 depend' 'each privilege can be granted'
run scylla queue grant mail nobody_at_all view
is "$status $errors" '1 scylla: role "nobody_at_all" does not exist' 'no such role'
run scylla queue grant mail guest everything
is "$status" 2 'no such privilege'
run scylla queue owner plain postgres
sql 'drop role guest'

scylla submit plain 1 >/dev/null
run scylla queue drop plain
is "$status" 1 'queue drop: not with tasks'
run scylla queue drop plain --force
is "$status $(sql "select count(*) from scylla.queue_settings where queue = 'plain'")" '0 0' 'but with --force'
done_testing
