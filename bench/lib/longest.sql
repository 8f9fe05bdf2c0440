-- The age of the longest transaction of whoever purges, again and again.
select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)
  from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid() and (backend_type like 'scylla%' or query like '%purge%')
\watch 0.1
