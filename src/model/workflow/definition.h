// Definitions of workflows: the problems of one, for callers that must not see an exception. Entry points
// are noexcept, and nothing here owns memory by a destructor.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "model/sel/sel.h"
#include "model/workflow_limits.h"

namespace scylla::model::workflow {

struct ShownProblem {
    std::string_view where; // steps[3].foreach.steps[0].id; empty: the document as a whole
    std::string_view what;
};

// Identifies a job template.
struct TemplateName {
    std::string_view job_type;
    std::string_view version;
};
inline constexpr std::string_view k_default_template = "default";              // the version where none is named
inline constexpr std::string_view k_template_version = "job_template_version"; // the parameter that names one

struct Checked {
    sel::OutcomeKind kind; // value, stopped or out_of_memory
    std::span<const ShownProblem> problems;
    std::span<const TemplateName> templates; // of the steps, if the check was not given them: repeat it with them
    void *owned;
};

// json: the request that creates a workflow. Checks everything that needs no other object. At the end,
// as a dry run, the parameters of the workflow are evaluated, and those of the steps merged. templates: {"templates":
// an array of those that the steps name, and of those that they inherit from, "known": the job types that have any
// version}; empty: not read yet.
Checked check_definition(std::string_view json, sel::World &world, const sel::Limits &limits,
                         const DefinitionLimits &of_definitions = {}, std::string_view templates = {}) noexcept;
// json: the request that creates a job template. Checks everything that needs no other template.
Checked check_template(std::string_view json, sel::World &world, const sel::Limits &limits,
                       const DefinitionLimits &of_definitions = {}) noexcept;
// Whether a template and those that it inherits from fit together. templates: an array of them all. Places are in the
// definition of the template.
Checked check_inheritance(std::string_view templates, const TemplateName &name, sel::World &world,
                          const sel::Limits &limits) noexcept;
// Checks a change of a workflow's properties: properties, and members that only a change has.
Checked check_change(std::string_view json, sel::World &world, const sel::Limits &limits,
                     const DefinitionLimits &of_definitions = {}) noexcept;
// Whether a run can be given parameters with these names, which are the members of json.
Checked check_given(std::string_view json, sel::World &world, const sel::Limits &limits) noexcept;
void release(Checked &checked) noexcept;

} // namespace scylla::model::workflow
