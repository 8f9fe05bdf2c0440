#!/bin/bash
# The roles of docs/operations.md, pasted as they stand there: each can do its whole job with the command line, and nothing else.
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=test/lib/tap.sh
source "$here/../lib/tap.sh"
begin_test roles
sql 'create extension scylla'

# The SQL of one section of a document.
pasted() { # DOCUMENT SECTION
  sed -n "/^## $2\$/,/^## /p" "$1" | sed -n '/^```sql$/,/^```$/p' | grep -v '^```'
}
statements=$(pasted "$here/../../docs/operations.md" Roles)
like "$statements" "grant_role\('worker', 'mailer'\)" 'there are statements to paste'
run psql -XqAt -v ON_ERROR_STOP=1 -c "$statements"
is "$status$errors" 0 'and they can be pasted'
sql 'alter role shop login; alter role mailer login; alter role support login'
as() { # ROLE COMMAND...
  run timeout 60 env PGUSER="$1" "${@:2}"
}

# ---- shop: client, submit and view on "mail" ---------------------------------------------------------------------------

as shop scylla submit mail '{"to": "ada"}' --rn ada
is "$status $output" '0 ada' 'a client submits'
echo '{"to": "bob"}' | PGUSER=shop scylla submit mail --lines >/dev/null
as shop scylla get ada --field status
is "$status $output" '0 ready' 'and looks at what it has submitted'
as shop scylla list --queue mail
is "$status $(grep -c ready <<<"$output")" '0 2' 'also as a list'
as shop psql -XqAt -c 'select count(*) from scylla.task'
is "$status $output" '0 2' 'and with queries'
as shop bash -c 'scylla plan create both >/dev/null && scylla submit mail 1 --plan both --rn in-plan && scylla plan open both && scylla plan get both --json && scylla plan dot both'
is "$status" 0 'it makes plans, opens them, and looks at them'
as shop scylla plan cancel both
is "$status $output" '0 1' 'and cancels them'
as shop scylla plan wait both --timeout 10s
like "$output" cancelled 'and waits for them'
as shop scylla submit mail 1 --rn regretted
as shop scylla cancel regretted
is "$status" 0 'and cancels tasks'
as shop scylla work mail --exec true
is "$status" 1 'but does not work'

# ---- mailer: worker, work on "mail" ------------------------------------------------------------------------------------

as mailer scylla work mail --until-empty --exec true
is "$status" 0 'a worker works until the queue is empty'
like "$errors" 'completed 2, failed 0' 'and so it is'
PGUSER=shop scylla submit mail 1 --rn later --delay 1s >/dev/null
as mailer scylla work mail other --until-empty --jobs 2 --prefetch 3 --exec true --worker m-1 --lease 5s
is "$status $(sql "select status || ' ' || owner from scylla.get_task('later')")" '0 completed m-1' \
  'it waits for a task that is delayed, with all options, on several queues'
PGUSER=shop scylla submit mail 1 --rn fails --max-attempts 2 --retry '{"initial": "0"}' >/dev/null
as mailer scylla work mail --until-empty --exec 'exit 1'
is "$(sql "select status || ' ' || failures from scylla.get_task('fails')")" 'aborted 2' 'it reports failures'
PGUSER=mailer scylla work mail --jobs 2 --exec 'touch "$0.runs"; sleep 60' 2>"$scratch/worker" &
worker=$!
PGUSER=shop scylla submit mail 1 --rn given-back >/dev/null
wait_until holds "select status = 'running' from scylla.get_task('given-back')"
kill -TERM "$worker"
wait "$worker"
is "$? $(sql "select status from scylla.get_task('given-back')")" '0 ready' 'and gives back what it holds'
as mailer scylla submit mail 1
is "$status" 1 'but does not submit'
as mailer psql -XqAt -c "select scylla.has_live_tasks('{mail}')"
is "$output" t 'it learns whether there is something to do'
sql "select scylla.create_queue('private')" >/dev/null
as mailer scylla work private --until-empty --exec true
is "$status" 1 'not of other queues'
like "$errors" 'permission denied for queue "private"' 'as it is told'

# ---- support: reader, view on "mail" -----------------------------------------------------------------------------------

as support scylla list
is "$status $(grep -c given-back <<<"$output")" '0 1' 'a reader lists tasks'
as support scylla get ada
is "$status" 0 'and looks at one'
as support psql -XqAt -c "select sum(tasks) > 3 from scylla.count_tasks('mail')"
is "$status $output" '0 t' 'and counts'
as support scylla cancel given-back
is "$status" 1 'but changes nothing'
sql 'drop owned by shop, mailer, support; drop role shop, mailer, support'
done_testing
