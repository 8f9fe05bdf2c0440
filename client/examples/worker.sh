#!/bin/bash
# A worker in Bash, with psql: counts the words of {"text": "..."}.   PGDATABASE=... worker.sh QUEUE
# (`scylla work` needs no code at all.)
set -euo pipefail
literal() { printf "'%s'" "${1//\'/\'\'}"; }
queue=$(literal "$1")
stopping=
trap 'stopping=yes' TERM

# One psql for the worker's whole life. ask SQL sets the array rows; an error goes to standard error and leaves no rows.
coproc database { trap '' TERM; exec psql -XqAt -F ' '; }
ask() {
  local line
  rows=()
  printf '%s;\n\\echo end-of-answer\n' "$1" >&"${database[1]}"
  while IFS= read -r line <&"${database[0]}"; do
    [[ $line != end-of-answer ]] || return 0
    rows+=("$line")
  done
  exit 1 # the server has gone
}

ask 'select scylla.register_worker()'
me=$(literal "${rows[0]}")
while [[ -z $stopping ]]; do
  # What takes longer than the lease calls scylla.heartbeat() in between.
  ask "select unnest(array['E''' || replace(replace(replace(rn, '\\', '\\\\'), '''', ''''''), E'\n', '\n') || '''', attempt::text,
                           case jsonb_typeof(spec -> 'text') when 'string'
                           then '=' || replace(replace(spec ->> 'text', '\\', '\\\\'), E'\n', '\n') end])
         from scylla.lease($queue, $me, timeout => '30 s')"
  if ((${#rows[@]} == 0)); then
    ask "call scylla.wait($queue, '1 s')"
  elif [[ -n ${rows[2]} ]]; then
    words=$(printf '%b' "${rows[2]#=}" | wc -w)
    ask "select status from scylla.complete(${rows[0]}, $me, '{\"words\": $words}', attempt => ${rows[1]})"
  else
    ask "select status from scylla.abort(${rows[0]}, $me, '{\"code\": \"no-text\"}', attempt => ${rows[1]})"
  fi
done
