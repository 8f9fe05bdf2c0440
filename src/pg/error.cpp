#include "pg/error.h"

namespace scylla::error {

namespace {

// For text that ends up in a message.
const char *str(const text *value) { return text_to_cstring(value); }

int identify(const char *table, const char *constraint) {
    err_generic_string(PG_DIAG_SCHEMA_NAME, "scylla");
    err_generic_string(PG_DIAG_TABLE_NAME, table);
    return err_generic_string(PG_DIAG_CONSTRAINT_NAME, constraint);
}

int present_state(const char *status, const text *owner, int attempt) {
    if (owner != nullptr)
        return errdetail("Its status is %s, its owner is \"%s\" and its attempt is %d.", status, str(owner), attempt);
    return errdetail("Its status is %s, it has no owner and its attempt is %d.", status, attempt);
}

} // namespace

void no_such_task(const text *rn) {
    ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND), errmsg("task \"%s\" does not exist", str(rn)),
                    identify("task", "exists")));
}

void no_such_queue(const text *queue) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue \"%s\" does not exist", str(queue)),
                    identify("queue", "exists")));
}

void duplicate_task(const text *rn) {
    ereport(ERROR, (errcode(ERRCODE_UNIQUE_VIOLATION), errmsg("task \"%s\" already exists", str(rn)),
                    identify("task", "unique")));
}

void duplicate_queue(const text *queue) {
    ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT), errmsg("queue \"%s\" already exists", str(queue)),
                    identify("queue", "unique")));
}

void not_held(const text *rn, const text *worker, const char *status, const text *owner, int attempt) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("task \"%s\" is not held by worker \"%s\"", str(rn), str(worker)),
                    present_state(status, owner, attempt), identify("task", "held")));
}

void not_ready(const text *rn, const char *status, const text *owner, int attempt) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("task \"%s\" is not ready", str(rn)),
                    present_state(status, owner, attempt), identify("task", "ready")));
}

void not_live(const text *rn, const char *status, const text *owner, int attempt) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("task \"%s\" has already ended", str(rn)),
                    present_state(status, owner, attempt), identify("task", "live")));
}

void bad_argument(const char *name, const char *value, const char *rule, int64 element) {
    if (element > 0)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("invalid value for argument \"%s\" in element " INT64_FORMAT ": %s", name, element, value),
                        errdetail_internal("%s", rule), identify("task", "argument")));
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("invalid value for argument \"%s\": %s", name, value), errdetail_internal("%s", rule),
                    identify("task", "argument")));
}

void not_supported(const char *argument) {
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("argument \"%s\" is not available in this version", argument),
                    identify("task", "supported")));
}

void inside_transaction(const char *call) {
    ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION), errmsg("%s cannot run inside a transaction block", call),
                    errhint("Call it as a statement of its own, outside BEGIN, functions and multi-statement queries, with "
                            "autocommit on."),
                    identify("task", "transaction")));
}

void client_gone() {
    ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE), errmsg("connection to client lost"), identify("task", "client")));
}

} // namespace scylla::error
