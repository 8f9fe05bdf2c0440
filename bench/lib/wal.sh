# shellcheck shell=bash
# Bytes of WAL per task, by verb. Images of whole pages are switched off: how many there are depends on when checkpoints come.

measure_wal() {
  local contender tasks=8000 submit pair lease vacuum
  [[ -z $smoke ]] || tasks=800
  step "wal: $tasks tasks, one call per transaction"
  # Vacuum would come when it likes; it has a line of its own.
  sql postgres -c 'alter system set autovacuum = off' -c 'alter system set full_page_writes = off' -c 'select pg_reload_conf()' >/dev/null
  for contender in scylla plain; do
    local folder=$here/contenders/$contender
    prepare "$folder" wal 2000 # so that the first pages exist
    wal_of "$contender" submit "$folder/submit.sql" "$tasks"
    wal_of "$contender" lease "$folder/lease.sql" "$tasks"
    prepare "$folder" wal $((2 * tasks))
    wal_of "$contender" "lease and complete" "$folder/single.sql" "$tasks"
    [[ ! -e $folder/heartbeat.sql ]] || {
      wal_of "$contender" vacuum '' "$tasks"
      prepare "$folder" heartbeat 1000
      tasks=1000 wal_of "$contender" heartbeat "$folder/heartbeat.sql" "$tasks"
      continue
    }
    wal_of "$contender" vacuum '' "$tasks"
  done
  sql postgres -c 'alter system reset autovacuum' -c 'alter system reset full_page_writes' -c 'select pg_reload_conf()' >/dev/null
}

wal_of() { # CONTENDER VERB SCRIPT TASKS
  local from to bytes count=$4
  from=$(sql "$1" -c 'select pg_current_wal_insert_lsn()')
  if [[ -n $3 ]]; then
    bench "wal $2" "$1" "$1" "$3" 8 -t $((count / 8))
  else
    sql "$1" -c vacuum
  fi
  # Something of ours with a flush behind it, so that the records up to it can be read from the files.
  sql "$1" -c "select pg_logical_emit_message(true, 'bench', 'end')" >/dev/null
  to=$(sql "$1" -c 'select pg_current_wal_flush_lsn()')
  # Total  <records> [100%] <record size> [..%] <image size> [..%] <both> [100%]
  bytes=$(as_server "$bin/pg_waldump" -p "$cluster_folder/pg_wal" -s "$from" -e "$to" --stats 2>/dev/null |
    awk -v n="$count" '$1 == "Total" {gsub(/\[[^]]*\]/, ""); printf "%.1f", $5 / n}')
  figure "wal $2" "$1" "${bytes:-0}"
}
