// The parameters that every workflow and every step has (docs/workflows.md, Parameters).
#pragma once

#include <cstdint>

#include "model/workflow/param.h"

namespace scylla::model::workflow {

// Zones and dates of the run. They ask getFromInstance for the zones of triggers, the owner and the id.
const ParamMap &default_workflow_params();

enum class StepKind : std::uint8_t { typed, subworkflow, foreach, while_, template_ };

const ParamMap &default_step_params();
ParamMap default_params_of_kind(StepKind kind);

} // namespace scylla::model::workflow
