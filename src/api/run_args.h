// Arguments that name a run of a workflow.
#pragma once

#include "api/call.h"
#include "pg/error.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "task/rules.h"
#include "workflow/actions.h"

namespace scylla::args {

inline int64 to_instance(const Named<std::optional<int64>> &given) {
    if (!given.value)
        error::bad_argument(given.name, "null", "It must not be null.");
    return *given.value;
}

// The last run of the instance, which the current user may view. 42704, 42501, P0002.
int64 last_run(const text *workflow, int64 instance);
inline int64 require_run(const auto &given) { return last_run(name(given.workflow()), to_instance(given.instance())); }

// The initiator of a run that a caller starts.
inline Jsonb *manual_initiator() {
    json::Builder object = json::build_object();
    object.member("type", "MANUAL");
    object.member("user", GetUserNameFromId(GetUserId(), false));
    return object.finish();
}

inline std::span<const int64> to_iterations(const std::optional<Array> &given) {
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

inline workflow::StepName get_step(const auto &given) {
    return {.workflow = name(given.workflow()),
            .instance = to_instance(given.instance()),
            .step = name(given.step()),
            .iterations = to_iterations(given.iterations())};
}

} // namespace scylla::args
