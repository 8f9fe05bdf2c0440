#!/bin/bash
# docs/guarantees.md, held against the tests that it names: each is there by its title, and no sentence is without one. Prints TAP.
set -euo pipefail
checkout=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd -P)
document=$checkout/docs/guarantees.md

tests=0
ok() { # STATUS NAME
  tests=$((tests + 1))
  if (($1 == 0)); then echo "ok $tests - $2"; else echo "not ok $tests - $2"; fi
}

# A title may go over the end of a line in a comment.
has_title() { # FILE TITLE
  [[ -f $checkout/$1 ]] && sed 's/^ *\(#\|--\) */ /' "$checkout/$1" | tr -s '\n ' ' ' | grep -qF -- "$2"
}

section='' sentence='' shown=yes
finish_sentence() {
  [[ -z $sentence ]] || ok "$([[ $shown == yes ]]; echo $?)" "$section, $sentence is shown by a test"
}
while IFS= read -r line; do
  if [[ $line =~ ^##\ (.*) ]]; then
    finish_sentence
    section=${BASH_REMATCH[1]} sentence=''
  elif [[ $line =~ ^([0-9]+)\.\  ]]; then
    finish_sentence
    sentence=${BASH_REMATCH[1]} shown=no
  elif [[ $line =~ ^\ +-\ \`(test/[^\`]+)\`:\ \"(.*)\"$ ]]; then
    file=${BASH_REMATCH[1]} title=${BASH_REMATCH[2]} status=0
    has_title "$file" "$title" || status=1
    ok "$status" "$section, $sentence: $file has \"$title\""
    shown=yes
  elif [[ $line =~ ^\ +- ]]; then
    ok 1 "$section, $sentence: $line names a test and its title"
  fi
done <"$document"
finish_sentence
ok "$((tests > 100 ? 0 : 1))" "there are many of them"
echo "1..$tests"
