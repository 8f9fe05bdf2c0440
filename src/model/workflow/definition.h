// Definitions of workflows (section 1): what is wrong with one, as those use it who must not see an exception. Entry
// points are noexcept, and nothing here owns memory by a destructor.
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

struct Checked {
    sel::OutcomeKind kind; // value, stopped or out_of_memory
    std::span<const ShownProblem> problems;
    void *owned;
};

// json: the request with which a workflow is made. Everything of section 1.5 that needs no other object; at the end, as
// a dry run, the parameters of the workflow are evaluated, and those of the steps merged.
Checked check_definition(std::string_view json, sel::World &world, const sel::Limits &limits,
                         const DefinitionLimits &of_definitions = {}) noexcept;
// What is to become of the properties of a workflow: properties, and what only a change has (section 1.2).
Checked check_change(std::string_view json, sel::World &world, const sel::Limits &limits) noexcept;
void release(Checked &checked) noexcept;

} // namespace scylla::model::workflow
