// Workflows, their instances and steps, statements of steps, and backfills.
#include "pg/error_fields.h"

namespace scylla::error {

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

void workflow_inactive(const text *id) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("workflow \"%s\" has no active version", str(id)),
                    errhint("Use scylla.activate_workflow()."), identify("workflow", "active")));
}

void workflow_not_parallel(const text *id) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the run strategy of workflow \"%s\" has no concurrency to reset", str(id)),
                    errdetail("Its rule is not PARALLEL."), identify("workflow", "parallel")));
}

void workflow_runs(const text *workflow, int64 runs) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("workflow \"%s\" has runs that have not ended: " INT64_FORMAT, str(workflow), runs),
                    errhint("Use scylla.stop_run(), and drop it when they have ended."), identify("workflow", "live")));
}

void no_workflow_privilege(const text *id, const char *role, const char *privilege) {
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for workflow \"%s\"", str(id)),
                    errdetail("Role \"%s\" does not have the privilege \"%s\".", role, privilege),
                    hint_grant("grant_workflow", id, role, privilege), identify("workflow", "privilege")));
}

void bad_definition(std::string_view where, std::string_view what, int count) {
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             where.empty() ? errmsg("invalid definition of a workflow: %s", clip(what))
                           : errmsg("invalid definition of a workflow: %s: %s", clip(where), clip(what)),
             count > 1 ? errdetail("It has %d problems, of which this is the first.", count) : 0,
             count > 1 ? errhint("scylla.validate_workflow() lists them.") : 0, identify("workflow", "definition")));
}

void bad_properties(std::string_view where, std::string_view what, int count) {
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    where.empty() ? errmsg("invalid properties of a workflow: %s", clip(what))
                                  : errmsg("invalid properties of a workflow: %s: %s", clip(where), clip(what)),
                    count > 1 ? errdetail("They have %d problems, of which this is the first.", count) : 0,
                    identify("workflow", "definition")));
}

// Never seen: the engine evaluates them later.
void too_slow_for_now() {
    ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE), errmsg("the parameters are evaluated later")));
}

void bad_params(const char *workflow, const char *what) {
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("the parameters of workflow \"%s\" cannot be evaluated: %s", workflow, what),
                    identify("workflow", "params")));
}

void strategy_with_runs(const text *workflow, std::string_view rule, int64 runs, const char *what) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the run strategy of workflow \"%s\" cannot become %s: " INT64_FORMAT " of its runs %s",
                           str(workflow), clip(rule), runs, what),
                    errhint(strcmp(what, "have failed") == 0 ? "Use scylla.unblock_workflow()."
                                                             : "Wait until they have ended, or use scylla.stop_run()."),
                    identify("workflow", "strategy")));
}

void subworkflows_too_deep(int most) {
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("subworkflows are nested more than %d deep", most),
                    identify("workflow", "depth")));
}

void no_such_instance(const text *workflow, int64 instance) {
    ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND),
                    errmsg("workflow \"%s\" has no instance " INT64_FORMAT, str(workflow), instance),
                    identify("workflow", "instance")));
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

void instance_not_failed(const text *workflow, int64 instance) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the last run of instance " INT64_FORMAT " of workflow \"%s\" has not failed", instance,
                           str(workflow)),
                    identify("workflow", "failed")));
}

void no_such_step(const text *workflow, int32 version, const text *step) {
    ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND),
                    errmsg("version %d of workflow \"%s\" has no step \"%s\"", version, str(workflow), str(step)),
                    identify("workflow", "step")));
}

void no_such_iteration(const char *place) {
    ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND), errmsg("%s does not exist: there is no such iteration", place),
                    identify("workflow", "iteration")));
}

void no_such_breakpoint(const text *workflow, const text *step) {
    ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND),
                    errmsg("workflow \"%s\" has no such breakpoint on step \"%s\"", str(workflow), str(step)),
                    errhint("It must be named by the version, instance and run with which it was set."),
                    identify("workflow", "breakpoint")));
}

void step_not_created(const char *place) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("%s has not been created yet", place),
                    errhint("Try again when the steps before it are complete."), identify("workflow", "created")));
}

void step_not_a_start(const text *workflow, int64 instance, const text *step) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("instance " INT64_FORMAT " of workflow \"%s\" cannot be restarted from step \"%s\"",
                           instance, str(workflow), str(step)),
                    errdetail("A step before it is not complete."),
                    errhint("Restart it from that step, or from what is incomplete."), identify("workflow", "start")));
}

void step_refuses(const char *place, std::string_view status, const char *what) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("%s is %s and cannot be %s", place, clip(status), what), identify("workflow", "status")));
}

void action_pending(const char *place) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("another action on %s is still pending", place),
             errhint("Try again."), identify("workflow", "pending")));
}

void no_statement(const text *rn) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("task \"%s\" does not belong to a running step of type Sql", str(rn)),
                    errhint("scylla.run_sql() is the handler of a queue to which only workflows submit tasks."),
                    identify("workflow", "statement")));
}

void statement_not_allowed(const text *workflow, const text *step, const char *role, const char *user) {
    ereport(ERROR,
            (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
             errmsg("the statement of step \"%s\" cannot run as role \"%s\"", str(step), user),
             errdetail("Role \"%s\", from which workflow \"%s\" has it, cannot become role \"%s\".", role,
                       str(workflow), user),
             errhint("Give the step a queue of its own with the parameter \"queue\", whose owner is a role that the "
                     "workflow's owner and the author of its version are members of."),
             identify("workflow", "privilege")));
}

void statement_refused(const text *step, int code, const char *what) {
    ereport(ERROR, (errcode(code), errmsg("the statement of step \"%s\" cannot %s", str(step), what),
                    identify("workflow", "statement")));
}

void statement_rows(const text *step, const char *column, int64 rows) {
    ereport(ERROR,
            (errcode(ERRCODE_CARDINALITY_VIOLATION),
             errmsg("the statement of step \"%s\" has returned " INT64_FORMAT " rows, and its column \"%s\" sets a "
                    "parameter",
                    str(step), rows, column),
             errhint("Return one row, or give the column another name than the parameter."),
             identify("workflow", "output")));
}

void statement_null(const text *step, const char *column) {
    ereport(ERROR,
            (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
             errmsg("the statement of step \"%s\" has returned null for its parameter \"%s\"", str(step), column),
             errhint("Use coalesce(), or give the column another name than the parameter."),
             identify("workflow", "output")));
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

} // namespace scylla::error
