// The steps of a definition (sections 1.4 and 1.5).
#pragma once

#include <optional>
#include <string_view>

#include "model/workflow_limits.h"
#include "model/workflow/param.h"
#include "model/workflow/param_defaults.h"
#include "model/workflow/reader.h"

namespace scylla::model::workflow {

inline constexpr std::int64_t k_max_timeout = 120 * 86'400; // seconds

inline constexpr std::string_view k_failure_modes[] = {"FAIL_AFTER_RUNNING", "FAIL_IMMEDIATELY", "IGNORE_FAILURE"};

// The member of an element of "steps" that says what it is.
std::optional<StepKind> find_kind(std::string_view name) noexcept;

// Parameters as a user may write them.
ParamMap read_user_params(const Reader &reader, const Object &of, std::string_view name);

// The member "steps" of a workflow.
void check_steps(const Reader &reader, const Object &workflow, const DefinitionLimits &limits);

} // namespace scylla::model::workflow
