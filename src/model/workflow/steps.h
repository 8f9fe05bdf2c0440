// The steps of a definition (docs/workflows.md, The document).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/workflow_limits.h"
#include "model/workflow/param.h"
#include "model/workflow/param_defaults.h"
#include "model/workflow/reader.h"

namespace scylla::model::workflow {

inline constexpr std::string_view k_failure_modes[] = {"FAIL_AFTER_RUNNING", "FAIL_IMMEDIATELY", "IGNORE_FAILURE"};

// The kind of a step, from the name of the member that an element of "steps" has.
std::optional<StepKind> find_kind(std::string_view name) noexcept;
std::string_view name_of(StepKind kind) noexcept;

// Parameters with the members that a user may write.
ParamMap read_user_params(const Reader &reader, const Object &of, std::string_view name);

// A step that has a job template.
struct TemplateUse {
    std::string job_type;
    std::string version;
};
// The job templates that are known when a definition is checked (definition.h), and those that its steps use.
struct TemplatesAtHand {
    const sel::Value *templates = nullptr; // null: they have not been read yet
    const sel::Value *known = nullptr;
    std::string version{};           // of a step without a version of its own, unless its run sets another
    std::vector<TemplateUse> used{}; // each once
};

// The member "steps" of a workflow.
void check_steps(const Reader &reader, const Object &workflow, TemplatesAtHand &templates);

} // namespace scylla::model::workflow
