// Job templates: a control table, accessed by SQL (docs/workflows.md). The model defines what a valid template is, and
// what a step gets from it (model/workflow/templates.h).
#pragma once

#include "model/workflow/definition.h"
#include "pg/prelude.h"

namespace scylla::workflow {

// Creates or replaces a version of a template. 22023, 42501.
void create_template(Jsonb *document);
// 42704, 42501, 2BP01 others inherit from it.
void drop_template(const text *job_type, const text *version);

// For check_definition(): these templates and those that they inherit from, as JSON.
std::string_view templates_at_hand(std::span<const model::workflow::TemplateName> names);

// For a turn of a run of this owner: the supply for the need of a template. Empty: there is no such template.
std::string_view template_supply(const model::workflow::TemplateName &name, const char *owner);

} // namespace scylla::workflow
