// Limits of definitions and runs, from settings.
#pragma once

#include "model/sel/limits.h"
#include "model/workflow_limits.h"
#include "pg/settings.h"
#include "workflow/pace.h"

namespace scylla::workflow {

inline model::workflow::StepLimits step_limits() {
    return {.retries = settings::max_step_retries,
            .retry_wait = settings::max_retry_wait,
            .timeout = settings::max_workflow_timeout};
}

inline model::workflow::DefinitionLimits definition_limits() {
    return {.steps = settings::max_workflow_steps,
            .nesting = settings::max_workflow_nesting,
            .concurrency = settings::max_foreach_concurrency,
            .workflow_concurrency = settings::max_workflow_concurrency,
            .step_concurrency = settings::max_step_concurrency,
            .instance_step_concurrency = settings::max_instance_step_concurrency,
            .trigger_signals = settings::max_trigger_signals,
            .trigger_interval = settings::min_trigger_interval,
            .of_steps = step_limits(),
            .of_texts = {.id = settings::max_workflow_id_length,
                         .name = settings::max_workflow_name_length,
                         .text = settings::max_workflow_text_length}};
}

inline model::workflow::RunLimits run_limits() {
    return {.params = settings::max_run_params,
            .iterations = settings::max_loop_iterations,
            .concurrency = settings::max_foreach_concurrency,
            .leaves = settings::max_run_leaves,
            .of_steps = step_limits()};
}

// Of the expressions of a definition or request; its session waits for them.
inline model::sel::Limits request_limits() { return {.output = settings::max_params_length}; }

// Of expressions in the engine or a monitor, where all runs or triggers wait for one of them.
inline model::sel::Limits turn_limits() {
    model::sel::Limits limits{.steps = 20'000'000, .output = settings::max_params_length, .milliseconds = 1'000};
    if (pace.lane == Lane::fast)
        limits.patience = k_turn_time / 1'000;
    return limits;
}

} // namespace scylla::workflow
