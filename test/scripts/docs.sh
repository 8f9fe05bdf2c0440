#!/bin/bash
# The documentation, held against the extension. Prints TAP.
#
# Every ```sql block of README.md and docs/*.md runs, in order, in a database of its file's own, each block in a session of its
# own. A block must not fail, unless it says with what: ```sql error=55000 (its last statement then does). A ```text block
# right after it is its output. ```sql not-run is only shown.
#
# The ```sh blocks run in pages that say so in a comment: in order, in one shell, in an empty folder, with the command line. A block
# with file=NAME, of any language, is the content of that file. What differs between two runs (times, UUIDs, spaces) may differ from
# the ```text block; ```sh until is repeated until it prints what is shown.
#
# Links in all pages and READMEs lead somewhere, and the README of a room of src/ names each of its files.
#
# docs/reference.md must have the exact signature of every function, every setting with its default, and every column of every
# view in order; META.json the version that make builds.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
source "$here/../lib/common.sh"
source "$here/../lib/packages.sh"
source "$here/../lib/build.sh"
source "$here/../lib/cluster.sh"

tests=0
ok() { # STATUS NAME [FILE-THAT-TELLS-WHY]
  tests=$((tests + 1))
  if (($1 == 0)); then
    echo "ok $tests - $2"
  else
    echo "not ok $tests - $2"
    [[ -z ${3-} ]] || sed 's/^/#   /' "$3"
  fi
}

main() {
  choose_server
  choose_server_user
  clean_up_with finish
  make_work_folder docs >&2
  {
    make_private_server
    install_missing python3 jq
    build_extension "$work/build.log"
    build_tested_command_line "$work/build.log"
    cluster_start docs "shared_preload_libraries = 'scylla'" "fsync = off" "full_page_writes = off" "max_worker_processes = 64"
  } >&2
  sql() { "$bin/psql" -XqAt -v ON_ERROR_STOP=1 "$@"; }

  local file
  for file in "$checkout"/README.md "$checkout"/docs/*.md; do run_blocks "$file"; done

  for file in $(grep -l '^<!-- The sh blocks of this page run in the tests' "$checkout"/docs/*.md); do run_shell_blocks "$file"; done

  check_picture

  sql -c 'create database reference'
  export PGDATABASE=reference
  sql -c 'create extension scylla'
  check_signatures
  check_settings
  check_columns
  check_queue_settings
  check_kinds
  check_version
  check_links
  check_rooms
  echo "1..$tests"
}

finish() {
  stop_all_servers
  [[ -z ${work:-} ]] || remove_work_folder
}

# ---- blocks -----------------------------------------------------------------------------------------------------------

# Writes the blocks of a file to FOLDER: LINE.sql, LINE.info (what follows the word sql), LINE.text (the output, if given).
extract() { # FILE FOLDER
  awk -v folder="$2" '
    fence && /^ *```/        { fence = 0; close(out); out = ""; if (kind == "sql") after = block; next }
    fence                    { if (out != "") print > out; next }
    /^ *```/ {
      fence = 1
      kind = $1; sub(/^`+/, "", kind)
      out = ""
      if (kind == "sql") {
        block = sprintf("%s/%05d", folder, NR)
        out = block ".sql"; printf "" > out
        info = $0; sub(/^ *```sql */, "", info); print info > (block ".info"); close(block ".info")
      } else if (kind == "text" && after != "") {
        out = after ".text"; printf "" > out
      }
      after = ""
      next
    }
    /[^ \t]/                 { after = "" }
  ' "$1"
}

run_blocks() { # FILE
  local file=$1 name=${1#"$checkout/"} folder block database
  folder=$work/blocks/${name//\//-}
  mkdir -p "$folder"
  extract "$file" "$folder"
  database=${name//[^a-z]/_}
  PGDATABASE=postgres sql -c "create database $database"
  PGDATABASE=$database sql -c "create extension scylla"
  for block in "$folder"/*.sql; do
    [[ -e $block ]] || continue
    PGDATABASE=$database run_block "${block%.sql}" "$name"
  done
}

run_block() { # BLOCK FILE-NAME
  local block=$1 name="$2:$((10#${1##*/}))" info status=0
  info=$(<"$block.info")
  case $info in
    not-run)
      ok 0 "$name # SKIP only shown"
      return
      ;;
    '' | error=?????) ;;
    *)
      echo "unknown: $info" >"$block.why"
      ok 1 "$name" "$block.why"
      return
      ;;
  esac
  # Leases in the examples outlive a slow machine; there is no pg_cron.
  PGOPTIONS="-c scylla.default_timeout=1h -c scylla.schedules=manual -c client_min_messages=warning" \
    "$bin/psql" -Xq -P footer=off -P pager=off -v ON_ERROR_STOP=1 -v VERBOSITY=verbose -f "$block.sql" >"$block.out" 2>"$block.err" || status=$?
  cat "$block.err" "$block.out" >"$block.why"
  if [[ $info == error=* ]]; then
    if [[ $status == 3 && $(<"$block.err") =~ ERROR:\ +${info#error=}: ]]; then status=0; else status=1; fi
    ok "$status" "$name fails with ${info#error=}" "$block.why"
    return
  fi
  ok "$status" "$name" "$block.why"
  [[ -e $block.text ]] || return 0
  status=0
  # Blank lines and the rule that psql prints for a result without columns are no output.
  sed -i 's/ *$//; /^$/d; /^--$/d' "$block.out" "$block.text"
  diff "$block.text" "$block.out" >"$block.why" || status=$?
  ok "$status" "$name has the output shown" "$block.why"
}

# ---- blocks for a shell -------------------------------------------------------------------------------------------------

# Writes the blocks of a page to FOLDER: LINE.sh, LINE.info, LINE.text, and LINE.file with the name of a file in LINE.info.
extract_shell() { # FILE FOLDER
  awk -v folder="$2" '
    fence && /^ *```/ { fence = 0; close(out); out = ""; if (kind == "sh") after = block; next }
    fence             { if (out != "") print > out; next }
    /^ *```/ {
      fence = 1
      kind = $1; sub(/^`+/, "", kind)
      out = ""
      block = sprintf("%s/%05d", folder, NR)
      if (match($0, /file=[^ ]+/)) {
        print substr($0, RSTART + 5, RLENGTH - 5) > (block ".info"); close(block ".info")
        out = block ".file"; printf "" > out
        kind = "file"
      } else if (kind == "sh" && $2 != "not-run") {
        print $2 > (block ".info"); close(block ".info")
        out = block ".sh"; printf "" > out
      } else if (kind == "text" && after != "") {
        out = after ".text"; printf "" > out
      }
      after = ""
      next
    }
    /[^ \t]/          { after = "" }
  ' "$1"
}

run_shell_blocks() { # FILE
  local file=$1 name=${1#"$checkout/"} folder database block status
  folder=$work/shell/${name//\//-}
  mkdir -p "$folder/blocks" "$folder/place"
  extract_shell "$file" "$folder/blocks"
  database=shell_${name//[^a-z]/_}
  PGDATABASE=postgres sql -c "create database $database"
  PGDATABASE=$database sql -c "create extension scylla"
  status=0
  (cd "$folder/place" && PGDATABASE=$database PATH=$command_line/cli:$bin:$PATH TZ=UTC exec timeout 600 \
    bash -c "$(declare -f what_stays same_output run_shell_block)"'; for block in "$1"/*.info; do run_shell_block "$block"; done' \
    docs "$folder/blocks" </dev/null >"$folder/log" 2>&1) || status=$?
  ok "$status" "the sh blocks of $name run to the end" "$folder/log"
  for block in "$folder"/blocks/*.sh; do
    status=$(cat "${block%.sh}.status" 2>/dev/null) || status=1
    ok "$status" "$name:$((10#$(basename "$block" .sh))) runs" "${block%.sh}.err"
    [[ -e ${block%.sh}.text ]] || continue
    status=0
    diff <(what_stays <"${block%.sh}.text") <(what_stays <"${block%.sh}.out") >"$work/why" || status=$?
    ok "$status" "$name:$((10#$(basename "$block" .sh))) prints what is shown" "$work/why"
  done
}

# The output without what differs between two runs.
what_stays() {
  sed -E 's/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/UUID/g; s/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]+(\+00)?/TIME/g
    s/\b[0-9]{2}:[0-9]{2}:[0-9]{2}\b/DURATION/g; s/-{3,}/---/g; s/ +/ /g; s/ $//; /^$/d'
}

same_output() { # BLOCK
  [[ $(what_stays <"$1.text") == "$(what_stays <"$1.out")" ]]
}

# Runs in the shell of the page.
run_shell_block() { # INFO-FILE
  local of=${1%.info} kind deadline
  kind=$(<"$1")
  if [[ -e $of.file ]]; then
    cp "$of.file" "$kind"
    return
  fi
  deadline=$((SECONDS + 120))
  while :; do
    source "$of.sh" >"$of.out" 2>"$of.err"
    echo $? >"$of.status"
    [[ $kind == until ]] && ! same_output "$of" && ((SECONDS < deadline)) || break
    sleep 0.2
  done
}

# The picture in the reference: docs/plan.dot is what plan_dot says of the example, and docs/plan.svg what Graphviz makes of it,
# wherever a version of it may place the parts.
check_picture() {
  local status=0
  PGDATABASE=docs_reference_md sql -c "select rtrim(scylla.plan_dot('nightly'), E'\n')" >"$work/plan.dot"
  diff "$checkout/docs/plan.dot" "$work/plan.dot" >"$work/why" || status=$?
  ok "$status" "docs/plan.dot is the plan of the example" "$work/why"
  status=0
  install_missing graphviz >&2
  dot -Tsvg "$work/plan.dot" >"$work/plan.svg" 2>"$work/why" || status=$?
  ok "$status" "Graphviz can draw it" "$work/why"
  status=0
  diff <(parts_of_picture "$checkout/docs/plan.svg") <(parts_of_picture "$work/plan.svg") >"$work/why" || status=$?
  ok "$status" "docs/plan.svg shows it" "$work/why"
}

# Titles, labels and colours, in order.
parts_of_picture() { # FILE
  grep -oE '<title>[^<]*</title>|<text [^>]*>[^<]*</text>|fill="#[0-9a-f]{6}"' "$1" | sed 's/<text [^>]*>/<text>/'
}

# ---- the reference ------------------------------------------------------------------------------------------------------

reference=$checkout/docs/reference.md

# Each line of standard input must be found in the reference.
expect_in_reference() { # WHAT
  local line status count=0
  while IFS= read -r line; do
    count=$((count + 1)) status=0
    grep -qF -- "$line" "$reference" || status=1
    echo "docs/reference.md lacks: $line" >"$work/why"
    ok "$status" "$1 ${line:0:60}" "$work/why"
  done
  status=0
  ((count > 0)) || status=1
  ok "$status" "there is something to look for: $1"
}

check_signatures() {
  sql <<'SQL' >"$work/signatures"
    with argument as (
      select p.oid, p.proname, p.prokind, p.proretset as returns_set, a.n, a.name, a.mode, format_type(a.type, null) as type,
             pg_get_function_arg_default(p.oid, a.n::int) as "default"
        from pg_proc p
        join pg_depend d on d.objid = p.oid and d.classid = 'pg_proc'::regclass and d.deptype = 'e'
        join pg_extension e on e.oid = d.refobjid and d.refclassid = 'pg_extension'::regclass and e.extname = 'scylla'
        left join lateral unnest(p.proargnames, coalesce(p.proargmodes, array_fill('i'::"char", array[p.pronargs::int])),
                            coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality as a(name, mode, type, n) on true
       where p.proname !~ '^_'
    ), part as (
      select oid, proname, prokind, returns_set, n, mode,
             case mode when 'b' then 'inout ' else '' end || name || ' '
             || replace(replace(replace(type, 'timestamp with time zone', 'timestamptz'), 'integer', 'int'), 'double precision', 'float8')
             || coalesce(' = ' || replace(replace(replace(replace(replace(replace(
                      regexp_replace("default", '::[a-z0-9._ ]+(\[\])?$', ''), 'NULL', 'null'), '''00:00:30''', '''30 s'''),
                      '''00:00:00.1''', '''100 ms'''), '''00:00:10''', '''10 s'''), '''01:00:00''', '''1 hour'''),
                      '''00:00:00''', '''0'''), '')
             as declaration
        from argument
    )
    select 'scylla.' || proname || '(' || coalesce(string_agg(declaration, ', ' order by n) filter (where mode in ('i', 'b')), '') || ')'
           || case when prokind = 'p' then ''
                   when bool_or(mode = 'o') then case when bool_or(returns_set) then ' → setof (' else ' → (' end || string_agg(declaration, ', ' order by n) filter (where mode = 'o') || ')'
                   else ' → ' || replace(replace(pg_get_function_result(oid), 'SETOF', 'setof'), 'timestamp with time zone', 'timestamptz') end
      from part group by oid, proname, prokind order by proname;
SQL
  expect_in_reference "the signature" <"$work/signatures"
}

check_settings() {
  sql -c "
    select '| \`' || name || '\` | '
           || regexp_replace(current_setting(name), '^([0-9]+)([a-z]+)$', '\1 \2') || ' |'
      from pg_settings where name like 'scylla.%' order by name" >"$work/settings"
  expect_in_reference "the setting" <"$work/settings"
}

# The columns of each view, in order: the first words of the rows of the table in its section.
check_columns() {
  local name status
  for name in $(sql -c "select relname from pg_class where relnamespace = 'scylla'::regnamespace and relkind = 'v' and relname !~ '^_' order by 1"); do
    status=0
    sql -c "select '| \`' || attname || '\` | ' || replace(replace(replace(replace(format_type(atttypid, null), 'timestamp with time zone', 'timestamptz'),
                   'integer', 'int'), 'double precision', 'float8'), 'scylla.', '') || ' |'
              from pg_attribute where attrelid = 'scylla.$name'::regclass and attnum > 0 and not attisdropped order by attnum" >"$work/columns"
    awk -v heading="## The view scylla.$name" '/^## /{ inside = $0 == heading } inside' "$reference" |
      sed -n 's/^\(| `[a-z_]*` | [][a-z0-9 _]* |\).*/\1/p' >"$work/columns.shown"
    diff "$work/columns.shown" "$work/columns" >"$work/why" || status=$?
    ok "$status" "the columns of scylla.$name" "$work/why"
  done
}

# What can be set of a queue is described once, in src/store/queue_settings.h. All else has the same, and mostly in the same order.
check_queue_settings() {
  local types=$checkout/client/include/scylla/types.h
  sed -n '/k_queue_settings{{/,/^}};/s/^ *{"\([a-z_]*\)".*/\1/p' "$checkout/src/store/queue_settings.h" >"$work/settings"
  sort "$work/settings" >"$work/settings.sorted"
  same_settings 'the arguments of create_queue' <<<"$(sql -c "select unnest(proargnames[2:]) from pg_proc
    where oid = (select oid from pg_proc where pronamespace = 'scylla'::regnamespace and proname = 'create_queue')")"
  same_settings 'the view queue_settings' <<<"$(sql -c "select attname from pg_attribute
    where attrelid = 'scylla.queue_settings'::regclass and attnum > 0 and attname not in ('queue', 'created', 'pending') order by attnum")"
  same_settings 'the table of create_queue in reference.md' <<<"$(
    sed -n '/^### create_queue$/,/^### /s/^| \(`[a-z_`, ]*\) |.*/\1/p' "$checkout/docs/reference.md" |
      grep -o '[a-z_]*' | grep -vx queue)"
  same_settings "the client's table of settings" <<<"$(sed -n '/k_settings\[\] = {/,/^};/p' "$checkout/client/src/client_queues.cpp" |
    sed -n 's/^[^"]*"\([a-z_]*\)", "[a-z0-9]*".*/\1/p')"
  same_settings "the client's queue_options" <<<"$(members_of queue_options "$types")"
  same_settings "the client's queue_info" <<<"$(members_of queue_info "$types" | grep -Evx 'queue|created|pending')"
  same_settings "the client's queue_changes" sorted <<<"$(sed -n '/^class queue_changes {/,/^};/p' "$types" |
    sed -n 's/^ *queue_changes &\([a-z_]*\)(.*/\1/p' | sed '/^set$/d; s/^shed$/on_full/' | sort)"
  same_settings 'the console' sorted <<<"$(sed -n '/^const settingNames = \[/,/\];/p' "$checkout/client/console/web/tasks.js" |
    grep -o '"[a-z_]*"' | tr -d '"' | grep -vx pending | sort)"
}

# The names of the members of a struct. on_full is a boolean in the client.
members_of() { # STRUCT FILE
  sed -n "/^struct $1 {/,/^};/p" "$2" | sed '1d; $d; s|//.*||' | tr '\n;' ' \n' | sed -En 's/ *(=.*)?$//; s/^.* ([a-z_]+)$/\1/p' |
    sed 's/^shed$/on_full/'
}

# Whether the lines of the standard input are the settings, in their order or sorted.
same_settings() { # WHAT [sorted]
  local status=0
  diff "$work/settings${2:+.$2}" - >"$work/why" || status=1
  ok "$status" "$1: all settings of queues" "$work/why"
}

# What each kind of role contains: the last table of docs/roles.md.
check_kinds() {
  local status=0
  sql >"$work/kinds" <<'SQL'
    with object as (
      select object, array_agg(kind order by n) as kinds
        from scylla.role_kinds() with ordinality k (kind, privilege, object, n) where kind is not null group by object
    ), shown as (
      select object, array_to_string(array(
               select kind from unnest(kinds) with ordinality k (kind, n)
                where not (kind like 'console_%' and replace(kind, 'console_', '') = any (kinds)) order by n), ', ') as kinds
        from object
    )
    select '| ' || string_agg('`' || object || '`', ', ' order by object collate "C") || ' | ' || kinds || ' |'
      from shown group by kinds order by kinds collate "C";
SQL
  sed -n '/^## What each kind contains$/,$p' "$checkout/docs/roles.md" | grep '^| `' >"$work/kinds.shown" || status=1
  diff "$work/kinds.shown" "$work/kinds" >"$work/why" || status=1
  ok "$status" 'docs/roles.md has what each kind of role contains' "$work/why"
}

check_version() {
  local version status=0
  version=$(sql -c "select extversion from pg_extension where extname = 'scylla'")
  [[ $(grep -c "\"version\": \"$version.0\"" "$checkout/META.json") == 2 ]] || status=1
  ok "$status" "META.json is about version $version"
  status=0
  grep -q "^## $version" "$checkout/CHANGELOG.md" || status=1
  ok "$status" "CHANGELOG.md has a section about version $version"
}

# Links between the documents lead to a file and, with #, to a heading of it.
check_links() {
  local file target path anchor status
  for file in "$checkout"/*.md "$checkout"/{test,bench}/README.md "$checkout"/src/*/README.md "$checkout"/docs/*.md; do
    while IFS= read -r target; do
      path=${target%%#*} anchor='' status=0
      [[ $target != *#* ]] || anchor=${target#*#}
      path=${path:+${file%/*}/$path}
      path=${path:-$file}
      [[ -e $path ]] || status=1
      if [[ -n $anchor && $status == 0 ]]; then
        sed -n 's/^#\{1,6\} //p' "$path" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-' | grep -qxF -- "$anchor" || status=1
      fi
      echo "leads nowhere: $target" >"$work/why"
      ok "$status" "${file#"$checkout/"} links to $target" "$work/why"
    done < <(awk '/^ *```/ { code = !code; next } !code' "$file" | grep -oE '\]\([^)]+\)' | sed 's/^](//; s/)$//' | grep -v '^https\?:' | sort -u)
  done
}

# The README of a room names each of its sources, by the name of the file or without its ending.
check_rooms() {
  local readme room file
  for readme in "$checkout"/src/*/README.md; do
    room=${readme%/*}
    for file in "$room"/*.{h,cpp,sql,pl}; do
      [[ -e $file ]] || continue
      file=${file##*/}
      grep -qF -e "\`$file\`" -e "\`${file%.*}\`" "$readme" || echo "$file"
    done >"$work/why"
    ok "$([[ ! -s $work/why ]] && echo 0 || echo 1)" "${readme#"$checkout/"} names each file of its room" "$work/why"
  done
}

main
