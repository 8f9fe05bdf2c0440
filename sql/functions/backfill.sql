-- Backfills: see docs/workflows.md.

create or replace function scylla.backfill(workflow text, items jsonb, version text = 'active', concurrency int = 1, newest_first boolean = false,
    existing text = 'start', yields boolean = false) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_backfill';
comment on function scylla.backfill is
'Starts a workflow once for each item, a limited number at a time, and returns the number of the backfill (scylla.workflow_backfill).
  items         an array of objects, the parameters of each run; or an object that gives each parameter a list or a range, of which
                all combinations run; the last name (in the order of jsonb) changes fastest: {"region": ["eu", "us"],
                "day": {"from": "2026-01-01", "to": "2026-01-31", "step": "1 day", "format": "date", "timezone": "UTC"}}.
                from and to are both included. Numbers: step 1 unless given. Times: step "1 day"; format "date" (2026-01-31, the default),
                "dateint" (20260131), "timestamp" (2026-01-31T00:00:00Z) or "millis" (since 1970). 1..25,000 items
  version       as for start_workflow(); selected now, for all items
  concurrency   1..25,000: how many of its runs may be unfinished at the same time
  newest_first  the items are started from the last to the first
  existing      start: an item runs whatever ran before; skip: not if the last run with the same parameters has SUCCEEDED or has not
                ended; skip_all: not if there is any run with the same parameters
  yields        its runs wait in line behind all other runs of the workflow, and their tasks have priority 0
Errors: 42704 no such workflow or version; 42501 no privilege run; 55000 no version is active; 22023 bad argument, or the parameters of the
first items cannot be evaluated. Locks: as start_workflow(). The idea, and existing, are those of backfills in Airflow.';

create or replace function scylla.preview_backfill(workflow text, items jsonb, version text = 'active', newest_first boolean = false,
    existing text = 'start', out number int, out params jsonb, out action text, out instance bigint, out status text) returns setof record
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_preview_backfill';
comment on function scylla.preview_backfill is
'Shows what backfill() would do: its items in order, and for each the action "start" or "skip", with the instance and status of the last run
with the same parameters (null: there is none). Errors: as backfill(), but parameters are not evaluated.';

create or replace function scylla.pause_backfill(backfill bigint) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_pause_backfill';
comment on function scylla.pause_backfill is
'Pauses a backfill: nothing more starts until resume_backfill(). Its runs continue. Errors: P0002 no such backfill; 42501 no privilege run; 55000 it has ended;
22023 bad argument. Locks: waits for a transaction that changes the same backfill.';

create or replace function scylla.resume_backfill(backfill bigint) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_resume_backfill';
comment on function scylla.resume_backfill is
'Continues a paused backfill; no error if it is not paused. From now on its runs are started as the current user. Errors: as pause_backfill(). Locks: as start_workflow().';

create or replace function scylla.cancel_backfill(backfill bigint, stop_runs boolean = false) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_cancel_backfill';
comment on function scylla.cancel_backfill is
'Cancels a backfill: nothing more starts, and with stop_runs its runs are stopped. Returns the number of items that were not started. Errors and locks: as pause_backfill().';
