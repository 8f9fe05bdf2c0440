#!/bin/bash
# The rooms of src/, held against the table in docs/internals.md, section "Layers": which file may include which; and other rules of the
# sources that a search can check. Prints TAP.
#
# A row of the table is a folder of src/ ("src/" itself: the files in no folder) and, in the last column, the folders whose
# files it may include besides its own. Server headers are none of ours, and not looked at.
set -euo pipefail
checkout=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd -P)

number=0
# A test that has passed if there are no findings.
none() { # NAME FINDINGS
  number=$((number + 1))
  if [[ -z $2 ]]; then
    echo "ok $number - $1"
  else
    echo "not ok $number - $1"
    sed 's/^/# /' <<<"$2"
  fi
}

# The rows of the table as lines: the room, and after it the rooms that it may include.
table() {
  sed -n '/^## Layers$/,/^## /p' "$checkout/docs/internals.md" | awk -F'|' '
    $2 ~ /^ `src\/([a-z]+\/)*` $/ {
      room = $2; may = $(NF - 1)
      gsub(/[` ]|src\/|\/`/, "", room)
      gsub(/[`,]/, "", may)
      print (room == "" ? "." : room), may
    }'
}

# Every include of one of our files: the file, and what it includes, both below src/. A header below store/ may be made of an .sql file.
includes() {
  local file name
  {
    (cd "$checkout/src" && grep -Ero --include='*.cpp' --include='*.h' '^ *# *include *"[^"]+"' . || true)
    # What a declaration in such a file names is included by the header.
    (cd "$checkout/src" && grep -Er --include='*.sql' '^-- (words|type) .* [a-z_/]+\.h$' . | sed -E 's| ([^ ]+)$| "\1"|' || true)
  } | sed -E 's|^\./([^:]+):.*"([^"]+)"|\1 \2|' | while read -r file name; do
    [[ ! -e $checkout/src/$name && ! -e $checkout/src/${name%.h}.sql ]] || echo "$file $name"
  done
}

# The folders below store/ have statements and types of one subject each, and are of its room.
room_of() { case $1 in store/*) echo store ;; *) dirname "$1" ;; esac; }

declare -A rooms=() may=()
while read -r room others; do
  rooms[$room]=1
  for other in $others; do may[$room $other]=1; done
done < <(table)
mapfile -t edges < <(includes)

none "the table and the sources can be read" \
  "$( ((${#rooms[@]} >= 5)) || echo "the table has ${#rooms[@]} rows"
      ((${#edges[@]} >= 100)) || echo "there are ${#edges[@]} includes")"

none "every room is in the table" \
  "$(cd "$checkout/src" && find . -name '*.cpp' -o -name '*.h' | sed 's|^\./||' | while read -r file; do
       [[ -n ${rooms[$(room_of "$file")]-} ]] || echo "$file"
     done | sort)"

none "every row of the table is a room, and names rooms" \
  "$(for room in "${!rooms[@]}"; do
       compgen -G "$checkout/src/$room/*.[ch]*" >/dev/null || echo "src/$room has no sources"
     done
     for pair in "${!may[@]}"; do
       [[ -n ${rooms[${pair#* }]-} ]] || echo "src/${pair% *} may include src/${pair#* }, which is no room of the table"
     done)"

none "no file includes one of a room that the table does not allow" \
  "$(for edge in "${edges[@]}"; do
       from=$(room_of "${edge% *}") to=$(room_of "${edge#* }")
       [[ $from == "$to" || -n ${may[$from $to]-} ]] || echo "src/${edge% *} includes ${edge#* }"
     done | sort)"

# tsort names what is in a circle on its standard error.
none "no room includes itself by way of others" "$(printf '%s\n' "${!may[@]}" | tsort 2>&1 >/dev/null || true)"
none "no file includes itself by way of others" "$(printf '%s\n' "${edges[@]}" | tsort 2>&1 >/dev/null || true)"

none "only src/api sees the calls of SQL functions" \
  "$(cd "$checkout/src" && grep -Erl --include='*.cpp' --include='*.h' '\bFunctionCallInfo\b|\bfcinfo\b|\bSCYLLA_FUNCTION\(' . |
       sed 's|^\./||' | grep -Ev '^(api/|pg/prelude\.h$)' | sort || true)"

none "no file counts the arguments of a call" \
  "$(cd "$checkout/src" && grep -Ern --include='*.cpp' --include='*.h' '\(fcinfo, [0-9]' . | sed 's|^\./||' | sort || true)"

# Tables are named in src/store and sql/ only.
none "no SQL outside src/store names a table" \
  "$(cd "$checkout/src" && grep -Ern --include='*.cpp' --include='*.h' '^[^/]*"[^"]*\b(from|join|into|update|using) scylla\.[a-z_]+' . |
       sed 's|^\./||' | grep -v '^store/' | sort || true)"

none "outside src/store, only what runs SQL of users or of pg_cron, or GRANT, prepares it" \
  "$(cd "$checkout/src" && grep -Erl --include='*.cpp' --include='*.h' '\b(SPI_prepare|SPI_execute\w*|store::prepare|store::run)\(' . |
       sed 's|^\./||' | grep -Ev '^(store/|job/resolve\.cpp|schedule/pg_cron\.cpp|server/handlers\.cpp|task/role_kinds\.cpp|workflow/statements\.cpp)' | sort || true)"

none "every heavyweight lock is in src/store/locks.h" \
  "$(cd "$checkout/src" && grep -Er --include='*.cpp' --include='*.h' '\bSET_LOCKTAG_' . | sed 's|^\./||' |
       grep -v '^store/locks\.h:' | sort || true)"

# Whoever catches an error of the server and goes on as if nothing had happened works in a broken transaction. So what follows
# FlushErrorState() last is an abort, or raises another error: elog() and the functions of error:: do not return, by their types.
none "a caught error is undone by an abort, or another takes its place" \
  "$(cd "$checkout/src" && find . -name '*.cpp' -o -name '*.h' | sort | xargs awk '
       /PG_CATCH\(\);/      { catches = 1; flushed = 0; last = "" }
       catches && /PG_END_TRY\(\);/ {
         catches = 0
         if (flushed && last !~ /^(RollbackAndReleaseCurrentSubTransaction\(|abort_and_begin\(|AbortCurrentTransaction\(|worker\.transactions\.recover\(|PG_RE_THROW\(|elog\(ERROR, |error::[a-z_]+\()/)
           print FILENAME ":" FNR ": " last
       }
       catches && /FlushErrorState\(\);/ { flushed = 1 }
       catches && /;$/ { last = $0; sub(/^ +/, "", last) }')"
none "the functions of error:: do not return, but for notices and warnings" \
  "$(cd "$checkout/src/pg" && grep -n '^ *\(inline \)\?void [a-z_]*(' error.h | grep -Ev ' (tell|warn)_' || true)"

echo "1..$number"
