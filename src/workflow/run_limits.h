// How large runs may be, as settings say.
#pragma once

#include "model/workflow_limits.h"
#include "pg/settings.h"

namespace scylla::workflow {

inline model::workflow::RunLimits run_limits() {
    return {.params = settings::max_run_params,
            .iterations = settings::max_loop_iterations,
            .concurrency = settings::max_foreach_concurrency};
}

} // namespace scylla::workflow
