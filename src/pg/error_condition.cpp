// Callbacks, signals and triggers.
#include "pg/error_fields.h"

namespace scylla::error {

void duplicate_callback(const text *token) {
    ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT), errmsg("callback \"%s\" already exists", str(token)),
                    identify("callback", "unique")));
}

void no_such_callback(const text *token, int64 element) {
    const char *in = element > 0 ? psprintf(" in element " INT64_FORMAT, element) : "";
    ereport(ERROR,
            (errcode(ERRCODE_NO_DATA_FOUND), errmsg("callback \"%s\"%s does not exist or has expired", str(token), in),
             identify("callback", "exists")));
}

void no_such_signal(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("signal \"%s\" does not exist", str(name)),
                    errdetail("Nobody has sent it or waited for it yet."), identify("signal", "exists")));
}

void no_such_sent_signal(const text *name, int64 seq) {
    ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND), errmsg("signal \"%s\" has no number " INT64_FORMAT, str(name), seq),
                    errdetail("It was not sent, or has been removed after scylla.signal_retention."),
                    identify("signal", "sent")));
}

void signal_purged(int64 seq) {
    ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND), errmsg("signal number " INT64_FORMAT " does not exist", seq),
                    errdetail("It has been removed after scylla.signal_retention."), identify("signal", "sent")));
}

void no_signal_privilege(const text *name, const char *role, const char *privilege) {
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for signal \"%s\"", str(name)),
                    errdetail("Role \"%s\" does not have the privilege \"%s\".", role, privilege),
                    hint_grant("grant_signal", name, role, privilege), identify("signal", "privilege")));
}

void duplicate_trigger(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT), errmsg("trigger \"%s\" already exists", str(name)),
                    identify("trigger", "unique")));
}

void no_such_trigger(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("trigger \"%s\" does not exist", str(name)),
                    identify("trigger", "exists")));
}

void no_trigger_role(const char *role) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("role \"%s\" does not exist", role),
                    errdetail("It created the trigger, whose action is carried out as this role."),
                    identify("trigger", "owner")));
}

void trigger_of_workflow(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("trigger \"%s\" belongs to a workflow", str(name)),
                    errhint("Deactivate the workflow, or set its property signal_trigger_disabled."),
                    identify("trigger", "workflow")));
}

} // namespace scylla::error
