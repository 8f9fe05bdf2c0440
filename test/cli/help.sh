#!/bin/bash
# Help, man page, completion and docs/command-line.md say the same: all of it comes from one description.
#
#   test/cli/help.sh --update    writes the help into docs/command-line.md
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=test/lib/tap.sh
source "$here/../lib/tap.sh"
page=$here/../../docs/command-line.md

# Every command, one per line: "scylla submit", "scylla queue create", ...
commands() { # COMMAND
  local words subcommand
  read -ra words <<<"$1"
  echo "$1"
  "${words[@]}" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' | while read -r subcommand; do
    commands "$1 $subcommand"
  done
}

# The block after a heading of the page.
shown() { awk -v heading="### $1" '$0 == heading { found = 1 } found && /^```$/ { exit } inside { print } found && /^```text/ { inside = 1 }' "$page"; }

if [[ ${1-} == --update ]]; then
  sed '/^<!-- help: do not edit below -->/q' "$page" >"$page.new"
  commands scylla | while read -r command; do
    read -ra words <<<"$command"
    # shellcheck disable=SC2016 # backquotes
    printf '\n### %s\n\n```text\n%s\n```\n' "$command" "$("${words[@]}" --help)"
  done >>"$page.new"
  mv "$page.new" "$page"
  exit
fi

scratch=$(mktemp -d "${SCRATCH:-/tmp}/help.XXXXXX")
mapfile -t all < <(commands scylla)
ok "$((${#all[@]} < 10))" 'there are commands'
manual=$(scylla man | man -l - 2>"$scratch/warnings" | col -b)
is "$(<"$scratch/warnings")" '' 'the man page is well-formed'
for command in "${all[@]}"; do
  read -ra words <<<"$command"
  help=$("${words[@]}" --help)
  is "$(shown "$command")" "$help" "docs/command-line.md has the help of $command"
  for name in $(grep -o '^  [^ ].*' <<<"$help" | grep -o -- '--[a-z-]*' | sort -u); do
    grep -q -- "$name" <<<"$manual"
    ok $? "the man page has $name of $command"
  done
done
is "$(grep '^### scylla' "$page" | sort)" "$(printf '### %s\n' "${all[@]}" | sort)" 'and no other commands'

# ---- completion -----------------------------------------------------------------------------------------------------------

# shellcheck source=/dev/null
source <(scylla completion)
complete_line() { # WORD... (the last is the one to be completed)
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _scylla
  echo "${COMPREPLY[*]}"
}
is "$(complete_line scylla ca)" cancel 'completion: commands'
is "$(complete_line scylla queue cr)" create 'completion: commands of commands'
is "$(complete_line scylla submit q --pr)" --priority 'completion: options'
is "$(complete_line scylla submit q --js)" --json 'completion: general options'
is "$(complete_line scylla list --status c)" 'completed cancelled' 'completion: values'
is "$(complete_line scylla submit q --rn c)" '' 'completion: no values where anything may stand'
done_testing
