// Arguments that name a run of a workflow.
#pragma once

#include "api/call.h"
#include "pg/error.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "task/rules.h"
#include "workflow/actions.h"

namespace scylla::args {

inline const text *get_workflow_id(FunctionCallInfo fcinfo) { return name("workflow", get_text(fcinfo, 0)); }

inline int64 get_instance(FunctionCallInfo fcinfo) {
    if (PG_ARGISNULL(1))
        error::bad_argument("instance", "null", "It must not be null.");
    return PG_GETARG_INT64(1);
}

// The initiator of a run that a caller starts.
inline Jsonb *manual_initiator() {
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::push_text(&state, "type", cstring_to_text("MANUAL"));
    json::push_text(&state, "user", cstring_to_text(GetUserNameFromId(GetUserId(), false)));
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

inline std::span<const int64> get_iterations(FunctionCallInfo fcinfo, int n) {
    const auto given = get_array(fcinfo, n, INT8OID);
    if (!given)
        return {};
    const auto numbers = allocate<int64>(static_cast<std::size_t>(given->size));
    for (std::size_t i = 0; i < numbers.size(); i++) {
        if (given->null[i])
            error::bad_argument("iterations", "null", "It must not contain nulls.");
        numbers[i] = DatumGetInt64(given->value[i]);
    }
    return numbers;
}

// (workflow, instance, step, iterations)
inline workflow::StepName get_step(FunctionCallInfo fcinfo) {
    return {.workflow = get_workflow_id(fcinfo),
            .instance = get_instance(fcinfo),
            .step = name("step", get_text(fcinfo, 2)),
            .iterations = get_iterations(fcinfo, 3)};
}

} // namespace scylla::args
