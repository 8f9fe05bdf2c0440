#!/bin/bash
# scylla watch: a screen on a terminal, lines elsewhere, objects with --json.
set -uo pipefail
# shellcheck source=test/lib/tap.sh
source "$(dirname "$(readlink -f "$0")")/../lib/tap.sh"
begin_test watch
sql 'create extension scylla'
sql "select from scylla.submit_bulk('mail', array_fill('1'::jsonb, array[5])); select from scylla.submit('other', '1')"
sql "select from scylla.lease('mail', 'worker-9', 2, '1 h')"

run scylla watch --count 1
is "$status $(wc -l <<<"$output")" '0 2' 'a line per queue'
like "$(head -n 1 <<<"$output")" \
  '^20[0-9-]+ [0-9:]+\+00 mail waiting=0 ready=3 running=2 oldest=[0-9.]+ s submitted/s=- completed/s=- failed/s=-$' 'with its state'
run scylla watch other --count 1
is "$status $(wc -l <<<"$output")" '0 1' 'only the queues that are asked for'
run scylla watch --count 2 --interval 50ms --json
is "$(wc -l <<<"$output")" 2 'as JSON: an object per round'
object=$(tail -n 1 <<<"$output")
is "$(sql "select concat_ws(' ', o #>> '{queues,0,queue}', o #>> '{queues,0,ready}', o #>> '{workers,0,worker}', o #>> '{workers,0,leases}')
             from (select '$object'::jsonb) as t(o)")" 'mail 3 worker-9 2' 'with the columns of the views'

# Rates: the second round comes after something has happened.
coproc watched { exec scylla watch other --interval 300ms; }
read -r first <&"${watched[0]}"
like "$first" 'submitted/s=-' 'no rates at first'
sql "select from scylla.submit_bulk('other', array_fill('1'::jsonb, array[100]))"
rate=0
while read -r line <&"${watched[0]}" && [[ $rate == 0 || $rate == 0.0 ]]; do rate=$(sed -n 's/.*submitted.s=\([0-9.]*\).*/\1/p' <<<"$line"); done
like "$rate" '^[1-9][0-9]' 'then what has happened since'
# shellcheck disable=SC2154 # the pid of the coprocess, which bash forgets as soon as that has ended
pid=$watched_PID
kill -TERM "$pid"
wait "$pid"
is $? 0 'SIGTERM ends it'
run scylla watch --interval soon
is "$status" 2 'a time that is none'

# A terminal, by script(1), of 12 rows and 40 columns.
run script -qec 'stty rows 12 cols 40; exec scylla watch --count 1' /dev/null
is "$status" 0 'on a terminal'
escape=$'\e'
[[ $output == *"$escape[?1049h"*"$escape[H"*"$escape[?25h$escape[?1049l"* ]]
ok $? 'a screen of its own, which is left'
like "$output" 'queue  waiting  ready  running  oldest  '"$escape" 'lines are cut'
like "$output" 'worker-9 ' 'workers are shown, too'
script -qefc 'exec scylla watch --interval 1h' "$scratch/typescript" >"$scratch/screen" </dev/null &
shown() { grep -qs worker-9 "$scratch/screen"; }
wait_until shown
ok $? 'it is shown while it runs'
kill -INT "$(pgrep -P $!)"
wait $!
[[ $(tail -c 200 "$scratch/screen") == *"$escape[?25h$escape[?1049l"* ]]
ok $? 'SIGINT gives the terminal back'

# Keys: what is typed changes what is shown.
mkfifo "$scratch/keys"
script -qefc 'stty rows 20 cols 120; exec scylla watch --interval 1h' "$scratch/typescript-2" <"$scratch/keys" >"$scratch/screen-2" &
exec {keys}>"$scratch/keys"
latest() { tr '\n\r' '  ' <"$scratch/screen-2" | sed "s/.*$escape\\[H//"; }
type_and_see() { # KEYS REGEX NAME
  printf '%s' "$1" >&"$keys"
  seen() { [[ $(latest) =~ $2 ]]; }
  wait_until seen "$@"
  ok $? "$3"
}
type_and_see '' 'ort: queue .* mail .* other ' 'by name at first'
type_and_see r 'everse: yes .* other .* mail ' 'r reverses the order'
type_and_see rsss 'ort: running .* mail .* other ' 's goes to the next column'
type_and_see '/oth' 'ilter: oth_' '/ begins a filter'
type_and_see $'\n' 'ilter: oth  ' 'which ends with the line'
[[ $(latest) != *mail* ]]
ok $? 'and leaves what it matches'
type_and_see $'\e' 'ilter: none .* mail ' 'Esc ends it'
type_and_see p 'ause: PAUSED' 'p pauses'
type_and_see p 'ause: no' 'and goes on'
printf q >&"$keys"
wait $!
is $? 0 'q quits'
exec {keys}>&-
done_testing
