-- What psql's backslash commands show of the API.
\d scylla.task
\pset format unaligned
\dT scylla.task_status
\df scylla.(submit|submit_many|submit_bulk)
\df scylla.(lease|lease_task|complete_and_lease)
\df scylla.(heartbeat|heartbeat_many)
\df scylla.(complete|complete_many|abort|fail|yield|cancel)
\df scylla.(get_task|list_tasks)
\df scylla.(create_queue|register_worker)
\df scylla.(wait|wait_any)
\df scylla.(reset_expired|purge|maintain|check)
