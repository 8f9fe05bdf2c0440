// Job templates.
#include "pg/error_fields.h"

namespace scylla::error {

void bad_template(std::string_view where, std::string_view what, int count) {
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    where.empty() ? errmsg("invalid job template: %s", clip(what))
                                  : errmsg("invalid job template: %s: %s", clip(where), clip(what)),
                    count > 1 ? errdetail("It has %d problems, of which this is the first.", count) : 0,
                    identify("job_template", "definition")));
}

void bad_heir(const text *job_type, const text *version, std::string_view where, std::string_view what) {
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("job template \"%s\" of version \"%s\", which inherits from this one, would be invalid",
                           str(job_type), str(version)),
                    errdetail("%s: %s", clip(where), clip(what)), identify("job_template", "definition")));
}

void no_such_template(const text *job_type, const text *version) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                    errmsg("job template \"%s\" of version \"%s\" does not exist", str(job_type), str(version)),
                    identify("job_template", "exists")));
}

void no_template_privilege(const text *job_type, const char *role) {
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("permission denied for job template \"%s\"", str(job_type)),
                    errdetail("Role \"%s\" is not its owner.", role), identify("job_template", "owner")));
}

void template_inherited(const text *job_type, const text *version, const text *heir, const text *heir_version) {
    ereport(ERROR,
            (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
             errmsg("job template \"%s\" of version \"%s\" is inherited by \"%s\" of version \"%s\"", str(job_type),
                    str(version), str(heir), str(heir_version)),
             errhint("Drop that one first, or make it without this parent."), identify("job_template", "inherited")));
}

void template_used(const text *job_type, const text *version, const text *workflow) {
    ereport(ERROR, (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                    errmsg("job template \"%s\" of version \"%s\" is the last of its job type, and workflow \"%s\" "
                           "uses it",
                           str(job_type), str(version), str(workflow)),
                    errhint("Activate a version of the workflow without it first, or deactivate the workflow."),
                    identify("job_template", "used")));
}

} // namespace scylla::error
