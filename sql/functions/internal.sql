-- Functions for internal use.

create or replace function scylla._history(history jsonb, worker text, attempt integer, leased timestamptz) returns jsonb
    language c immutable parallel safe as 'MODULE_PATHNAME', 'scylla_history';
comment on function scylla._history is
'The complete history of a task: the stored entries and, unless leased is null, the assignment of the last lease, which the tables
store in columns.';

create or replace function scylla._args_add(internal, jsonb) returns internal
    language c stable parallel safe as 'MODULE_PATHNAME', 'scylla_args_add';
create or replace function scylla._args_end(internal) returns jsonb
    language c stable parallel safe as 'MODULE_PATHNAME', 'scylla_args_end';
create or replace aggregate scylla._args(result jsonb) (sfunc = scylla._args_add, stype = internal, finalfunc = scylla._args_end);
comment on function scylla._args_add is 'A part of scylla._args.';
comment on function scylla._args_end is 'A part of scylla._args.';
comment on aggregate scylla._args(jsonb) is
'The results of the tasks that a task depends on as an array; null if their text is longer than scylla.max_value_size.';

create or replace function scylla._announce() returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_announce';
comment on function scylla._announce is
    'Informs the launcher, when this transaction commits, that this database has the extension. Called by the install script.';

create or replace function scylla._check_max_tasks(max_tasks integer) returns void
    language c immutable parallel safe as 'MODULE_PATHNAME', 'scylla_check_max_tasks';
comment on function scylla._check_max_tasks is
    'Raises an error for a bad value of the argument max_tasks, for functions that are not in C.';
