// Jobs.
#include "pg/error_fields.h"

namespace scylla::error {

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

void select_work_too_slow(const text *job) {
    ereport(ERROR, (errcode(ERRCODE_QUERY_CANCELED),
                    errmsg("select_work of job \"%s\" took longer than scylla.handler_timeout (%s)", str(job),
                           GetConfigOptionByName("scylla.handler_timeout", nullptr, false)),
                    errhint("Name the ids in scylla.schedule_job(), or make the function faster."),
                    identify("job", "select_work")));
}

void other_select_work(const text *job, const char *function) {
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("function \"%s\", which selects the ids of job \"%s\", is gone or was replaced", function,
                           str(job)),
                    errdetail("It must have one argument of type jsonb and return setof bigint or bigint[]."),
                    identify("job", "select_work")));
}

} // namespace scylla::error
