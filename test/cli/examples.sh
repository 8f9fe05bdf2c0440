#!/bin/bash
# The workers of client/examples, one per language: all of them do the same, and end on SIGTERM holding nothing.
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=test/lib/tap.sh
source "$here/../lib/tap.sh"
examples=$here/../../client/examples
begin_test examples
sql 'create extension scylla'

all_ended() { holds "select bool_and(status in ('completed', 'aborted')) from scylla.task where queue = '$language'"; }

specs=('{"text": "one"}' '{"text": "two words"}' '{"text": "it'"'"'s \\ \"three\"\n"}' '{"text": ""}' '{"text": "  "}' '{}')
# None of these has a text, and none of them ends a worker.
bad=('[]' '5' '"text"' 'true' '["text"]' '{"text": 5}' '{"text": null}' '{"text": ["a"]}' '{"text": {"split": "x"}}')
language=
worker() { # LANGUAGE COMMAND...
  language=$1
  is "$(($(wc -l <"${*: -1}") < 40))" 1 "$language: under 40 lines"
  set -- "${@:2}"
  [[ $language != c++ ]] || set -- "$SCYLLA_EXAMPLES/worker"
  for i in "${!specs[@]}"; do scylla submit "$language" "${specs[i]}" --rn "$language $i" >/dev/null; done
  for i in "${!bad[@]}"; do scylla submit "$language" "${bad[i]}" --rn "$language bad $i" >/dev/null; done
  scylla submit "$language" '{"text": "a b c d e"}' --rn "$language c"$'\n'"'quoted' \\ \"name\"" >/dev/null
  "$@" "$language" >"$scratch/log" 2>&1 &
  wait_until all_ended
  ok $? "$language: every task ends"
  scylla submit "$language" '{"text": "a b c d"}' --rn "$language late" >/dev/null
  wait_until all_ended
  ok $? "$language: one that comes later, too"
  is "$(sql "select string_agg(coalesce(result ->> 'words', errors #>> '{0,code}'), ' ' order by rn collate \"C\") from scylla.task where queue = '$language' and rn !~ 'bad'")" \
    '1 2 3 0 0 no-text 5 4' "$language: each as it should"
  is "$(sql "select distinct status || ' ' || attempt || ' ' || (errors #>> '{0,code}') from scylla.task where queue = '$language' and rn ~ 'bad'")" \
    'aborted 1 no-text' "$language: what has no text is aborted, whatever it is"
  kill -TERM $!
  wait $!
  is "$? $(<"$scratch/log")" '0 ' "$language: SIGTERM ends it"
  is "$(sql "select count(*) from scylla.task where status = 'running'")" 0 "$language: it holds nothing"
}

worker c++ "$examples/worker.cpp"
worker python /usr/bin/python3 "$examples/worker.py"
worker javascript node "$examples/worker.js"
worker bash "$examples/worker.sh"
done_testing
