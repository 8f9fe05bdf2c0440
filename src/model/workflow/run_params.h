// The parameters of a new run (docs/workflows.md, Parameters).
#pragma once

#include <string>

#include "model/workflow/graph.h"
#include "model/workflow/reader.h"

namespace scylla::model::workflow {

// As JSON. Throws ParamFailure and sel::Failure.
std::string values_of_run(const Definition &definition, const RunName &name, std::string_view request,
                          sel::World &world, const sel::Limits &limits);

// For a run that is not the first of its instance. before: the values of the run before it.
std::string values_of_restart(const Definition &definition, const RunName &name, std::string_view before,
                              std::string_view given, sel::World &world, const sel::Limits &limits);

// Parameters that are given for defined ones: in the form of definitions, or just values.
ParamMap read_given(sel::Context &context, const ParamMap &defined, const sel::Map &given);

// The rules for names in a definition. Their length is a limit of definitions, which may have been higher.
void check_name_given(const Reader &reader, std::string_view name);

} // namespace scylla::model::workflow
