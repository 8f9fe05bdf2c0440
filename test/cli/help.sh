#!/bin/bash
# Help, man page, completion and docs/command-line.md say the same: all of it comes from one description.
#
#   test/cli/help.sh --update    writes the help into docs/command-line.md
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=test/lib/tap.sh
source "$here/../lib/tap.sh"
page=$here/../../docs/command-line.md

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

# Each prints what the words may be completed to, of which the last is still being typed; sorted, on one line.
# shellcheck source=/dev/null
source <(scylla completion bash)
in_bash() { # WORD...
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _scylla
  printf '%s\n' "${COMPREPLY[@]}"
}
# What zsh hands to its completion, and takes from it, without a terminal: all candidates, of which it then takes those that match.
in_zsh() { # WORD...
  zsh -f -c 'compdef() { }; compadd() { shift; print -l -- "$@" }; source <(scylla completion zsh)
             words=("$@") CURRENT=$#; _scylla' zsh "$@" | grep -- "^${*: -1}"
}
in_fish() { fish --no-config -c 'scylla completion fish | source; complete -C "$argv"' -- "$@"; } # WORD...
for shell in bash zsh fish; do
  completes() { # WORDS EXPECTED NAME
    local words
    read -ra words <<<"$1"
    is "$("in_$shell" "${words[@]}" | sort | xargs)" "$2" "completion in $shell: $3"
  }
  completes 'scylla ca' 'callback cancel' commands
  completes 'scylla queue cr' create 'commands of commands'
  completes 'scylla submit q --pr' --priority options
  completes 'scylla submit q --js' --json 'general options'
  completes 'scylla list --status c' 'cancelled completed' values
  completes 'scylla --json list --status c' 'cancelled completed' 'with general options in front'
  completes 'scylla submit q --rn c' '' 'no values where anything may stand'
done
run bash -c 'scylla man >/dev/full'
is "$status $errors" '1 scylla: could not write to standard output' 'what could not be written is told'
run scylla completion tcsh
is "$status" 2 'no completion for other shells'
done_testing
