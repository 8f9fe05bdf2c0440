#!/bin/bash
# The benchmark runs to its end, and every floor that it is to hold is held against a figure. Which figure is not looked at: on a
# machine that does other things meanwhile it means nothing. Prints TAP.
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
source "$here/../lib/tap.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The column "here" of the table of floors.
figure_of() { awk -F ' *[|] *' -v measure="$1" '$2 == measure {print $3}' <<<"$output"; } # MEASURE

run "$here/../../bench/run" --smoke
errors+=$'\n'$(tail -n 30 <<<"$output")
ok "$status" "it runs to the end"
without=
[[ $output != *'Not measured: pg-boss'* ]] || without='submit, to pg-boss' # said in its notes: it could not be installed
while IFS= read -r measure; do
  # Some have floors for sizes that a short run does not load.
  [[ $measure != fan-out* && $measure != *' 100,000'* && $measure != 100,000* && $measure != "$without" ]] || continue
  like "$(figure_of "$measure")" '^[0-9,.]+$' "measured: $measure"
done < <(sed -n '/^## Floors/,/^## Figures/s/^| \([a-zA-Z].*[^ ]\) *| [-0-9,.]* *| [≥≤].*/\1/p' <<<"$output")
((tests > 20)) || ok 1 "the table of floors is there"
done_testing
