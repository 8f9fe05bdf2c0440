#include "pg/error.h"

#include "pg/json_text.h"

#include "pg/text.h"

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

void not_installed() {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("extension \"scylla\" is not installed in this database"),
                    errhint("Use CREATE EXTENSION scylla.")));
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
    ereport(
        ERROR,
        (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
         errmsg("table \"%s\" of extension \"scylla\" cannot have triggers, rules, constraints or row security", table),
         errdetail("Its rows are written directly, so these would have no effect."),
         errhint("To follow tasks, use the setting \"events\" of their queue; to restrict access, use "
                 "grant_queue()."),
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
                    errmsg("nothing of plan \"%s\" is to be done again", str(plan)),
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

void no_such_queue(const text *queue) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue \"%s\" does not exist", str(queue)),
                    identify("queue", "exists")));
}

void tell_no_such_queue(const text *queue, bool created_by_submit) {
    ereport(NOTICE, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue \"%s\" does not exist", str(queue)),
                     created_by_submit ? errhint("The first submit to it creates it.")
                                       : errhint("Use scylla.create_queue() to create it."),
                     identify("queue", "exists")));
}

void tell_short_retention(const char *setting, const Interval *value) {
    ereport(WARNING, (errmsg("%s is %s", setting, print(PointerGetDatum(value), INTERVALOID)),
                      errhint("A number without a unit is a number of seconds."), identify("queue", setting)));
}

void settings_changed(const text *queue) {
    ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                    errmsg("could not go by the settings of queue \"%s\" because they changed", str(queue)),
                    errhint("The call might succeed if retried."), identify("queue", "settings")));
}

void duplicate_task(const text *rn) {
    ereport(ERROR, (errcode(ERRCODE_UNIQUE_VIOLATION), errmsg("task \"%s\" already exists", str(rn)),
                    identify("task", "unique")));
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
                    errmsg("task \"%s\" is neither ready nor waits for its time", str(rn)),
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

namespace {

const char *cut(std::string_view all) {
    constexpr int k_shown = 60;
    const auto size = static_cast<int>(all.size());
    const int shown = pg_mbcharcliplen(all.data(), size, k_shown);
    return psprintf("%.*s%s", shown, all.data(), shown < size ? "..." : "");
}

// The beginning of a text that the model has written.
const char *clip(std::string_view text) {
    constexpr std::size_t k_shown = 1'000;
    const auto size = static_cast<int>(std::min(text.size(), k_shown));
    return pnstrdup(text.data(), static_cast<Size>(pg_mbcliplen(text.data(), size, size)));
}

} // namespace

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

const char *quote(const text *value) { return value == nullptr ? "null" : psprintf("\"%s\"", cut(view(value))); }

const char *show(Jsonb *value) {
    constexpr int64 k_max_made = 1 << 20; // of text, to show its beginning
    if (value == nullptr)
        return "null";
    if (text_is_larger(value, k_max_made))
        return outline(value, text_size(value));
    return cut(JsonbToCString(nullptr, &value->root, static_cast<int>(VARSIZE(value))));
}

const char *outline(const Jsonb *value, int64 size) {
    return psprintf("%s of " INT64_FORMAT " bytes",
                    JB_ROOT_IS_OBJECT(value)   ? "an object"
                    : JB_ROOT_IS_SCALAR(value) ? "a value"
                                               : "an array",
                    size);
}

const char *print(Datum value, Oid type) {
    Oid output = InvalidOid;
    bool varlena = false;
    getTypeOutputInfo(type, &output, &varlena);
    return OidOutputFunctionCall(output, value);
}

const char *array_of(int64 size) {
    return psprintf("an array of " INT64_FORMAT " element%s", size, size == 1 ? "" : "s");
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

void duplicate_trigger(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT), errmsg("trigger \"%s\" already exists", str(name)),
                    identify("trigger", "unique")));
}

void no_such_job(const text *job) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("job \"%s\" does not exist", str(job)),
                    identify("job", "exists")));
}

void not_job_owner(const text *job) {
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("must be owner of job \"%s\"", str(job)),
                    identify("job", "owner")));
}

void no_job_role(const text *job, const char *role) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("role \"%s\" does not exist", role),
                    errdetail("It defined the job \"%s\", whose ids are selected as this role.", str(job)),
                    identify("job", "owner")));
}

void job_needed(const text *job, const text *by) {
    ereport(ERROR, (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                    errmsg("job \"%s\" is needed by job \"%s\"", str(job), str(by)), identify("job", "needed")));
}

void job_cycle(const char *path) {
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("jobs need each other: %s", path),
                    identify("job", "cycle")));
}

void job_running(const text *job, const text *plan) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("job \"%s\" is running", str(job)),
             errdetail("Its plan \"%s\" has not finished, and the setting \"allow_multiple\" is false.", str(plan)),
             identify("job", "live")));
}

void job_too_large(const text *job, const char *what, int64 limit) {
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("job \"%s\" would need more than " INT64_FORMAT " %s", str(job), limit, what),
                    errhint("Ask for fewer ids at a time, or make the chunks larger."), identify("job", "max_tasks")));
}

void other_select_work(const text *job, const char *function) {
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("function \"%s\", which selects the ids of job \"%s\", is gone or was replaced", function,
                           str(job)),
                    errdetail("It must have one argument of type jsonb and return setof bigint or bigint[]."),
                    identify("job", "select_work")));
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

void no_signal_privilege(const text *name, const char *role, const char *privilege) {
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for signal \"%s\"", str(name)),
                    errdetail("Role \"%s\" does not have the privilege \"%s\".", role, privilege),
                    identify("signal", "privilege")));
}

void no_such_pool(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("pool \"%s\" does not exist", str(name)),
                    identify("pool", "exists")));
}

void duplicate_pool(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT), errmsg("pool \"%s\" already exists", str(name)),
                    identify("pool", "unique")));
}

void no_pool_privilege(const text *name, const char *role, const char *privilege) {
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for pool \"%s\"", str(name)),
                    errdetail("Role \"%s\" does not have the privilege \"%s\".", role, privilege),
                    identify("pool", "privilege")));
}

void no_such_workflow(const text *id) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("workflow \"%s\" does not exist", str(id)),
                    identify("workflow", "exists")));
}

void no_such_workflow_version(const text *id, const char *version) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                    errmsg("version %s of workflow \"%s\" does not exist", version, str(id)),
                    identify("workflow", "version")));
}

void no_such_workflow_tag(const text *id, const char *tag) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("workflow \"%s\" has no tag \"%s\"", str(id), cut(tag)),
                    identify("workflow", "tag")));
}

void workflow_not_parallel(const text *id) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the run strategy of workflow \"%s\" has no concurrency to reset", str(id)),
                    errdetail("Its rule is not PARALLEL."), identify("workflow", "parallel")));
}

void workflow_inactive(const text *id) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("workflow \"%s\" has no active version", str(id)),
                    errhint("Use scylla.activate_workflow()."), identify("workflow", "active")));
}

void no_workflow_privilege(const text *id, const char *role, const char *privilege) {
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for workflow \"%s\"", str(id)),
                    errdetail("Role \"%s\" does not have the privilege \"%s\".", role, privilege),
                    identify("workflow", "privilege")));
}

void bad_properties(std::string_view where, std::string_view what, int count) {
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    where.empty() ? errmsg("invalid properties of a workflow: %s", clip(what))
                                  : errmsg("invalid properties of a workflow: %s: %s", clip(where), clip(what)),
                    count > 1 ? errdetail("They have %d problems, of which this is the first.", count) : 0,
                    identify("workflow", "definition")));
}

void bad_definition(std::string_view where, std::string_view what, int count) {
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             where.empty() ? errmsg("invalid definition of a workflow: %s", clip(what))
                           : errmsg("invalid definition of a workflow: %s: %s", clip(where), clip(what)),
             count > 1 ? errdetail("It has %d problems, of which this is the first.", count) : 0,
             count > 1 ? errhint("scylla.validate_workflow() lists them.") : 0, identify("workflow", "definition")));
}

void bad_params(const char *workflow, const char *what) {
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("the parameters of workflow \"%s\" cannot be evaluated: %s", workflow, what),
                    identify("workflow", "params")));
}

void subworkflows_too_deep(int most) {
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("subworkflows are nested more than %d deep", most),
                    identify("workflow", "depth")));
}

void workflow_runs(const text *workflow, int64 runs) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("workflow \"%s\" has runs that have not ended: " INT64_FORMAT, str(workflow), runs),
                    errhint("Use scylla.stop_run(), and drop it when they have ended."), identify("workflow", "live")));
}

void no_such_instance(const text *workflow, int64 instance) {
    ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND),
                    errmsg("workflow \"%s\" has no instance " INT64_FORMAT, str(workflow), instance),
                    identify("workflow", "instance")));
}

void no_such_step(const text *workflow, int32 version, const text *step) {
    ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND),
                    errmsg("version %d of workflow \"%s\" has no step \"%s\"", version, str(workflow), str(step)),
                    identify("workflow", "step")));
}

void no_such_breakpoint(const text *workflow, const text *step) {
    ereport(ERROR,
            (errcode(ERRCODE_NO_DATA_FOUND),
             errmsg("workflow \"%s\" has no such breakpoint on step \"%s\"", str(workflow), str(step)),
             errhint("It must be named by the version, instance and run with which it was set."),
             identify("workflow", "breakpoint")));
}

void no_such_iteration(const char *place) {
    ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND), errmsg("%s does not exist: there is no such iteration", place),
                    identify("workflow", "iteration")));
}

void step_not_created(const char *place) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("%s has not been created yet", place),
                    errhint("Try again when the steps before it are complete."), identify("workflow", "created")));
}

void step_refuses(const char *place, std::string_view status, const char *what) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("%s is %s and cannot be %s", place, clip(status), what), identify("workflow", "status")));
}

void action_pending(const char *place) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("another action on %s has not been taken up yet", place), errhint("Try again."),
                    identify("workflow", "pending")));
}

void instance_ended(const text *workflow, int64 instance) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("the last run of instance " INT64_FORMAT " of workflow \"%s\" has ended", instance, str(workflow)),
             identify("workflow", "ended")));
}

void instance_runs(const text *workflow, int64 instance) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the last run of instance " INT64_FORMAT " of workflow \"%s\" has not ended", instance,
                           str(workflow)),
                    errhint("Wait until it has ended, or use scylla.stop_run()."), identify("workflow", "running")));
}

void instance_complete(const text *workflow, int64 instance) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("all steps of instance " INT64_FORMAT " of workflow \"%s\" are complete", instance, str(workflow)),
             errhint("Restart it from its beginning, or from one of its steps."), identify("workflow", "complete")));
}

void step_not_a_start(const text *workflow, int64 instance, const text *step) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("instance " INT64_FORMAT " of workflow \"%s\" cannot be restarted from step \"%s\"",
                           instance, str(workflow), str(step)),
                    errdetail("A step before it is not complete."),
                    errhint("Restart it from that step, or from what is incomplete."), identify("workflow", "start")));
}

void instance_not_failed(const text *workflow, int64 instance) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the last run of instance " INT64_FORMAT " of workflow \"%s\" has not failed", instance,
                           str(workflow)),
                    identify("workflow", "failed")));
}

void strategy_with_runs(const text *workflow, std::string_view rule, int64 runs, const char *what) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the run strategy of workflow \"%s\" cannot become %s: " INT64_FORMAT " of its runs %s",
                           str(workflow), clip(rule), runs, what),
                    errhint(strcmp(what, "have failed") == 0 ? "Use scylla.unblock_workflow()."
                                                             : "Wait until they have ended, or use scylla.stop_run()."),
                    identify("workflow", "strategy")));
}

void no_such_backfill(int64 id) {
    ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND), errmsg("backfill " INT64_FORMAT " does not exist", id),
                    identify("backfill", "exists")));
}

void backfill_ended(int64 id) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("backfill " INT64_FORMAT " has ended", id), identify("backfill", "ended")));
}

void reserved_plan(const text *name) {
    bad_argument("plan", quote(name), "Names that begin with \"workflow:\" are those of runs of workflows.");
}

void plan_of_run(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("plan \"%s\" belongs to a run of a workflow", str(name)),
                    errhint("The engine of workflows adds its tasks and ends it: use scylla.stop_run()."),
                    identify("plan", "run")));
}

void pool_in_use(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                    errmsg("pool \"%s\" is needed by tasks that have not ended", str(name)),
                    errhint("Use scylla.drain_pool(), and drop it when these tasks have ended or are cancelled."),
                    identify("pool", "needed")));
}

void no_privilege(const text *queue, const char *role, const char *privilege) {
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for queue \"%s\"", str(queue)),
                    errdetail("Role \"%s\" does not have the privilege \"%s\".", role, privilege),
                    identify("queue", "privilege")));
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

void warn_of_no_workers(const text *schedule, bool off) {
    const char *why = off ? "The setting \"scylla.max_server_workers\" is 0."
                          : "Before PostgreSQL 17, workers inside the server can run only as roles that may log in.";
    ereport(WARNING, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                      errmsg("no server worker can run the schedule \"%s\"", str(schedule)), errdetail("%s", why)));
}

void job_needs_worker() {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("a job selects ids for a schedule only where the monitor runs schedules"),
             errdetail("The function that selects them could hold up the schedules of other roles."),
             errhint("Name the ids in scylla.schedule_job(), or preload scylla and set scylla.schedules to auto."),
             identify("schedule", "worker")));
}

void no_such_schedule(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                    errmsg("schedule \"%s\" does not exist", name == nullptr ? "<NULL>" : str(name)),
                    identify("schedule", "exists")));
}

void not_schedule_owner(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for schedule \"%s\"", str(name)),
                    errdetail("It belongs to another role."), identify("schedule", "owner")));
}

void schedule_of_workflow(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("schedule \"%s\" belongs to a workflow", str(name)),
                    errhint("Deactivate the workflow, or set its property time_trigger_disabled."),
                    identify("schedule", "workflow")));
}

void trigger_of_workflow(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("trigger \"%s\" belongs to a workflow", str(name)),
                    errhint("Deactivate the workflow, or set its property signal_trigger_disabled."),
                    identify("trigger", "workflow")));
}

void no_schedule_role(const char *role) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("role \"%s\" does not exist", role),
                    errdetail("It made the schedule, whose tasks are submitted as this role."),
                    identify("schedule", "owner")));
}

void no_ticker(NoTicker why) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("pg_cron is not available"),
             why == NoTicker::nothing
                 ? errdetail("Nothing runs schedules: this server runs no monitor, and does not preload pg_cron.")
                 : errdetail("The extension pg_cron has not been created in this database."),
             why == NoTicker::nothing
                 ? errhint("Add scylla to shared_preload_libraries, restart the server, and set "
                           "scylla.schedules to \"auto\"; or preload pg_cron; or set scylla.schedules to "
                           "\"manual\" and call scylla.run_schedules() by other means.")
                 : errhint("create extension pg_cron"),
             identify("schedule", "pg_cron")));
}

void pg_cron_too_old(const char *version) {
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("pg_cron %s cannot run a job every few seconds", version),
             errhint("Use a schedule of minutes, pg_cron 1.5 or later, or scylla.schedules = auto."),
             identify("schedule", "pg_cron")));
}

void internal_function(const char *call) {
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for %s", call),
                    errdetail("It is internal: only the owner of the extension may call it."),
                    identify("extension", "internal")));
}

void no_such_role(const text *role, const char *table) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("role \"%s\" does not exist", str(role)),
                    identify(table, "role")));
}

} // namespace scylla::error
