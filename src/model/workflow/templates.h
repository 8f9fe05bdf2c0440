// Job templates (docs/workflows.md, Job templates): parameters and tags that all steps of one sub_type start from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/workflow/definition.h"
#include "model/workflow/param.h"
#include "model/workflow/param_defaults.h"
#include "model/workflow/reader.h"

namespace scylla::model::workflow {

// A template with everything that it inherits.
struct JobTemplate {
    std::string type{}; // of the steps that may use it
    ParamMap params{};
    std::vector<std::string> tags{};
};

// templates: an array of stored ones, with those that the named one inherits from. Nothing: it does not exist. Throws
// ParamFailure with the place in its definition, and sel::Failure.
std::optional<JobTemplate> join_template(const Reader &reader, const sel::Value &templates, const TemplateName &name);

// "job template "spark" of version "v1""
std::string show_template(const TemplateName &name);
// A request that creates a template.
void check_template_request(const Reader &reader, const sel::Value &json);

// Why a template cannot be used for steps of that type; empty: it can.
std::string type_fault(const JobTemplate &found, const TemplateName &name, std::string_view type);

// The parameters of a step before its run, in layers: its defaults, the parameters of its template, its own. Not
// finished: a run may add layers.
ParamMap merge_over_template(sel::Context &context, const ParamMap &of_template, const ParamMap &written);

} // namespace scylla::model::workflow
