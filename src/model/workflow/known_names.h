// Names of parameters in a definition (docs/workflows.md, Parameters): each name in an expression, a condition or a
// text must be one that its run can know.
#pragma once

#include "model/workflow/reader.h"
#include "model/workflow/steps.h"

namespace scylla::model::workflow {

// Those in "params" of the workflow, which know no steps.
void check_names_of_params(const Reader &reader, const Object &workflow, const ParamMap &params);
// All others. workflow: has no other problem. templates: have been read, if steps use any.
void check_names(const Reader &reader, const Object &workflow, const TemplatesAtHand &templates);

// Whether only a run can have a parameter of that name, which its trigger or its backfill gives.
bool is_given_by_trigger(const sel::Map &workflow, std::string_view name) noexcept;

} // namespace scylla::model::workflow
