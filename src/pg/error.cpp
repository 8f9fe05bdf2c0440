#include "pg/error_fields.h"

namespace scylla::error {

namespace {

int present_state(const char *status, const text *owner, int attempt) {
    if (owner != nullptr)
        return errdetail("Its status is %s, its owner is \"%s\" and its attempt is %d.", status, str(owner), attempt);
    return errdetail("Its status is %s, it has no owner and its attempt is %d.", status, attempt);
}

} // namespace

void not_installed() {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("extension \"scylla\" is not installed in this database"),
                    errhint("Use CREATE EXTENSION scylla.")));
}

void schema_renamed(const char *now) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_SCHEMA), errmsg("extension \"scylla\" has no schema \"scylla\""),
                    now != nullptr ? errdetail("Its schema has been renamed to \"%s\".", now) : 0,
                    now != nullptr ? errhint("Use ALTER SCHEMA %s RENAME TO scylla.", quote_identifier(now))
                                   : errhint("Restore the database from a backup."),
                    identify("extension", "schema")));
}

void no_such_table(const char *table) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("extension \"scylla\" has no table scylla.%s", table),
                    errdetail("It has been renamed, moved to another schema, or dropped."),
                    errhint("Use ALTER TABLE … RENAME or SET SCHEMA to undo that, or restore the database from a "
                            "backup."),
                    identify("extension", "table")));
}

void schema_is_fixed(const char *schema) {
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("schema \"%s\" of extension \"scylla\" cannot be renamed", schema),
                    errdetail("Functions of the extension find its objects by this name."),
                    errhint("Rename the schema or the objects that need the name."), identify("extension", "schema")));
}

void other_version(const char *installed, bool older) {
    ereport(
        ERROR,
        (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
         errmsg("extension \"scylla\" has version %s in this database, but the library that the server has loaded has "
                "version %s",
                installed, SCYLLA_VERSION),
         older ? errhint("Use ALTER EXTENSION scylla UPDATE.")
               : errhint("Install the library of version %s and restart the server.", installed),
         identify("extension", "version")));
}

void other_shape(const char *table, const char *problem) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("table \"%s\" of extension \"scylla\" has been changed", table), errdetail_internal("%s", problem),
             errhint("Scylla writes this table directly: undo the change."), identify("extension", "shape")));
}

void bypassed(const char *table) {
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("table \"%s\" of extension \"scylla\" cannot have triggers, rules, constraints, unique "
                           "indexes or row security, nor be unlogged",
                           table),
                    errdetail("Its rows are written directly, so these would have no effect or make calls fail. A "
                              "crash would empty an unlogged table."),
                    errhint("To follow tasks, use the setting \"events\" of their queue; to restrict access, use "
                            "grant_queue(); to use pg_repack, exclude the extension: -C scylla."),
                    identify("extension", "bypassed")));
}

void no_such_task(const text *rn) {
    ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND), errmsg("task \"%s\" does not exist", str(rn)),
                    identify("task", "exists")));
}

void no_such_provider(const text *provider, const text *rn, int64 element) {
    const char *in = element > 0 ? psprintf(" in element " INT64_FORMAT, element) : "";
    if (provider != nullptr)
        ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND),
                        errmsg("task \"%s\" in \"depends_on\"%s does not exist", str(provider), in),
                        identify("task", "provider")));
    ereport(ERROR,
            (errcode(ERRCODE_NO_DATA_FOUND), errmsg("a task that task \"%s\" depends on was just purged", str(rn)),
             identify("task", "provider")));
}

void dependency_cycle(const char *path) {
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("tasks depend on each other in a cycle"),
                    errdetail("%s", path), identify("task", "cycle")));
}

void no_such_plan(const text *plan) {
    ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND), errmsg("plan \"%s\" does not exist", str(plan)),
                    identify("plan", "exists")));
}

void duplicate_plan(const text *plan) {
    ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT), errmsg("plan \"%s\" already exists", str(plan)),
                    identify("plan", "unique")));
}

void plan_ended(const text *plan, const char *status) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("plan \"%s\" has already ended", str(plan)),
             errdetail("It is %s.", status), identify("plan", "live")));
}

void plan_not_ended(const text *plan) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("plan \"%s\" has not ended", str(plan)),
                    identify("plan", "ended")));
}

void nothing_to_rerun(const text *plan, bool only_failed) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("plan \"%s\" has no tasks to run again", str(plan)),
                    only_failed ? errdetail("Its tasks are completed, or were resubmitted already.")
                                : errdetail("It has no tasks."),
                    identify("plan", "failed")));
}

void plan_open(const text *plan) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("plan \"%s\" is already open", str(plan)),
                    identify("plan", "building")));
}

void duplicate_key(const text *key, const text *queue) {
    ereport(ERROR,
            (errcode(ERRCODE_UNIQUE_VIOLATION),
             errmsg("a live task of queue \"%s\" already has the deduplication key \"%s\"", str(queue), str(key)),
             identify("task", "dedup")));
}

void key_kept(const text *key, const text *queue, TimestampTz until) {
    ereport(ERROR, (errcode(ERRCODE_UNIQUE_VIOLATION),
                    errmsg("a completed task of queue \"%s\" keeps the deduplication key \"%s\" until %s", str(queue),
                           str(key), timestamptz_to_str(until)),
                    identify("task", "dedup")));
}

void no_such_queue(const text *queue, const char *similar) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue \"%s\" does not exist", str(queue)),
                    similar != nullptr ? errhint("Perhaps you meant queue \"%s\".", similar) : 0,
                    identify("queue", "exists")));
}

void tell_no_such_queue(const text *queue, const char *similar, bool created_by_submit) {
    const char *create =
        created_by_submit ? "The first submit to it creates it." : "Use scylla.create_queue() to create it.";
    ereport(NOTICE, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue \"%s\" does not exist", str(queue)),
                     similar != nullptr ? errhint("Perhaps you meant queue \"%s\". %s", similar, create)
                                        : errhint("%s", create),
                     identify("queue", "exists")));
}

void tell_short_retention(const char *setting, const Interval *value) {
    ereport(WARNING, (errmsg("%s is %s", setting, print(PointerGetDatum(value), INTERVALOID)),
                      errhint("A number without a unit is a number of seconds."), identify("queue", setting)));
}

void settings_changed(const text *queue) {
    ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                    errmsg("could not apply the settings of queue \"%s\" because they changed", str(queue)),
                    errhint("The call might succeed if retried."), identify("queue", "settings")));
}

void duplicate_task(const text *rn) {
    ereport(ERROR,
            (errcode(ERRCODE_UNIQUE_VIOLATION), errmsg("task \"%s\" already exists", str(rn)),
             errhint("With on_duplicate => 'ignore', an existing task is left as it is."), identify("task", "unique")));
}

void duplicate_queue(const text *queue) {
    ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT), errmsg("queue \"%s\" already exists", str(queue)),
                    identify("queue", "unique")));
}

void queue_paused(const text *queue) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("queue \"%s\" is paused", str(queue)),
                    identify("queue", "paused")));
}

void limit_reached(const text *queue, const char *setting, int limit, const text *key) {
    if (key != nullptr)
        ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                        errmsg("key \"%s\" of queue \"%s\" has reached its %s", str(key), str(queue), setting),
                        errdetail("The limit is %d.", limit), identify("queue", setting)));
    ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                    errmsg("queue \"%s\" has reached its %s", str(queue), setting),
                    errdetail("The limit is %d.", limit), identify("queue", setting)));
}

void rate_reached(const text *queue, const text *key) {
    if (key != nullptr)
        ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                        errmsg("key \"%s\" of queue \"%s\" has used up its rate", str(key), str(queue)),
                        identify("queue", "rate_per_key")));
    ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                    errmsg("queue \"%s\" has used up its rate", str(queue)), identify("queue", "rate")));
}

void queue_not_empty(const text *queue) {
    ereport(ERROR, (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST), errmsg("queue \"%s\" has tasks", str(queue)),
                    errhint("Use force => true to drop them too."), identify("queue", "empty")));
}

void not_held(const text *rn, const text *worker, const char *status, const text *owner, int attempt,
              std::optional<int> given) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("task \"%s\" is not held by worker \"%s\"", str(rn), str(worker)),
                    present_state(status, owner, attempt),
                    given ? errhint("Attempt %d is running, attempt %d was given.", attempt, *given) : 0,
                    identify("task", "held")));
}

void not_ready(const text *rn, const char *status, const text *owner, int attempt, const char *reason) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("task \"%s\" is not ready", str(rn)),
                    present_state(status, owner, attempt), reason != nullptr ? errhint("%s", reason) : 0,
                    identify("task", "ready")));
}

void not_live(const text *rn, const char *status, const text *owner, int attempt) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("task \"%s\" has already ended", str(rn)),
                    present_state(status, owner, attempt), identify("task", "live")));
}

void not_reschedulable(const text *rn, const char *status, const text *owner, int attempt) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("task \"%s\" is neither ready nor waiting for its time", str(rn)),
                    present_state(status, owner, attempt), identify("task", "reschedulable")));
}

void not_unleased(const text *rn, const char *status, const text *owner, int attempt) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("task \"%s\" is neither waiting nor ready", str(rn)), present_state(status, owner, attempt),
                    identify("task", "unleased")));
}

void not_ended(const text *rn, const char *status, const text *owner, int attempt) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("task \"%s\" has not ended", str(rn)),
                    present_state(status, owner, attempt), errhint("Use scylla.cancel() to end it."),
                    identify("task", "ended")));
}

void already_resubmitted(const text *rn, const text *newest) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("task \"%s\" was already resubmitted", str(rn)),
             newest == nullptr ? 0 : errdetail("Its last copy is task \"%s\".", str(newest)),
             identify("task", "resubmitted")));
}

void task_needed(const text *rn) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("task \"%s\" is still needed", str(rn)),
                    errdetail("A live task depends on it."), identify("task", "needed")));
}

void bad_argument(const char *name, const char *value, const char *rule, int64 element) {
    if (element > 0)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("invalid value for argument \"%s\" in element " INT64_FORMAT ": %s", name, element, value),
                 errdetail_internal("%s", rule), identify("task", "argument")));
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("invalid value for argument \"%s\": %s", name, value),
             errdetail_internal("%s", rule), identify("task", "argument")));
}

void not_utf8() {
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("expressions need a database in UTF8"),
             errdetail("The encoding of this one is %s.", GetDatabaseEncodingName()), identify("task", "encoding")));
}

void bad_expression(const char *what, const ExpressionFault &fault) {
    const char *message = clip(fault.message);
    if (fault.line == 0)
        ereport(ERROR, (errcode(fault.sqlstate), errmsg("%s: %s", what, message), identify("task", "expression")));
    ereport(ERROR,
            (errcode(fault.sqlstate), errmsg("%s, line %d, column %d: %s", what, fault.line, fault.column, message),
             identify("task", "expression")));
}

void result_too_large(int64 tasks, int64 limit) {
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("tasks are too large for one result"),
                    errdetail("The first " INT64_FORMAT " have " INT64_FORMAT
                              " bytes or more, as \"scylla.max_result_size\" says.",
                              tasks, limit),
                    errhint("Ask for fewer tasks, or select only the columns that you need from the view scylla.task."),
                    identify("task", "max_result_size")));
}

void inside_transaction(const char *call) {
    ereport(ERROR,
            (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION), errmsg("%s cannot run inside a transaction block", call),
             errhint("Call it as a statement of its own, outside BEGIN, functions and multi-statement queries, with "
                     "autocommit on."),
             identify("task", "transaction")));
}

void client_gone() {
    ereport(ERROR,
            (errcode(ERRCODE_CONNECTION_FAILURE), errmsg("connection to client lost"), identify("task", "client")));
}

void no_privilege(const text *queue, const char *role, const char *privilege) {
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for queue \"%s\"", str(queue)),
                    errdetail("Role \"%s\" does not have the privilege \"%s\".", role, privilege),
                    hint_grant("grant_queue", queue, role, privilege), identify("queue", "privilege")));
}

void not_owner(const text *queue) {
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("must be owner of queue \"%s\"", str(queue)),
                    identify("queue", "owner")));
}

void no_handler(const text *queue) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("queue \"%s\" has no handler", str(queue)),
             errhint("Set it with scylla.alter_queue()."), identify("queue", "handler")));
}

void other_handler(const text *handler) {
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("function %s(scylla.task) does not return one value of type jsonb", str(handler)),
                    identify("queue", "handler")));
}

void warn_of_nologin(const text *queue, const char *role) {
    ereport(WARNING,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("role \"%s\", the owner of queue \"%s\", does not have the attribute LOGIN", role, str(queue)),
             errdetail("Before PostgreSQL 17, workers inside the server can run only as roles that may log in.")));
}

void internal_function(const char *call) {
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for %s", call),
                    errdetail("It is internal: only the owner of the extension may call it."),
                    identify("extension", "internal")));
}

void no_usage(const char *role) {
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for schema scylla"),
                    errdetail("Role \"%s\" does not have the privilege USAGE.", role),
                    errhint("scylla.grant_role() gives it to a role, with the functions that a kind of role needs."),
                    identify("extension", "privilege")));
}

void not_extension_owner(const char *owner) {
    ereport(ERROR,
            (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("must be owner of extension \"scylla\""),
             errhint("Role \"%s\", its members and superusers may do this.", owner), identify("extension", "owner")));
}

void no_such_role(const text *role, const char *table) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("role \"%s\" does not exist", str(role)),
                    identify(table, "role")));
}

} // namespace scylla::error
