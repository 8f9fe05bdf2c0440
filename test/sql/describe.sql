-- What psql's backslash commands show of the API.
\d scylla.task
\pset format unaligned
\dT scylla.task_status
\df scylla.(submit|submit_many|submit_bulk)
\df scylla.(lease|lease_task|complete_and_lease)
\df scylla.(heartbeat|heartbeat_many)
\df scylla.(complete|complete_many|abort|fail|yield|not_yet|defer|cancel)
\df scylla.(reschedule|set_priority|delete_task|resubmit|resubmit_many|resubmit_matching|dead_tasks|rerun_plan)
\df scylla.(get_task|list_tasks|find_tasks|cancel_many|yield_many|explain_waiting)
\df scylla.(create_queue|alter_queue|pause_queue|resume_queue|drop_queue|register_worker|backoff)
\df scylla.(grant_queue|revoke_queue|set_queue_owner)
\df scylla.(create_callback|resolve_callback|reject_callback|send_signal|grant_signal|revoke_signal|set_signal_owner)
\df scylla.(create_trigger|drop_trigger|pause_trigger|resume_trigger|clear_trigger)
\df scylla.(create_plan|open_plan|cancel_plan|plan_completed|set_plan_owner)
\df scylla.(plan_dot|plan_mermaid|plan_timeline)
\df scylla.(wait|wait_any|wait_plan|work)
\df scylla.(cron_next|schedule|schedule_plan|schedule_job|unschedule|run_schedules|arm_schedules)
\df scylla.(reset_expired|purge|maintain|check)
