// Arguments that name a run of a workflow.
#pragma once

#include "api/call.h"
#include "pg/error.h"
#include "task/rules.h"

namespace scylla::args {

inline const text *get_workflow_id(FunctionCallInfo fcinfo) { return name("workflow", get_text(fcinfo, 0)); }

inline int64 get_instance(FunctionCallInfo fcinfo) {
    if (PG_ARGISNULL(1))
        error::bad_argument("instance", "null", "It must not be null.");
    return PG_GETARG_INT64(1);
}

} // namespace scylla::args
