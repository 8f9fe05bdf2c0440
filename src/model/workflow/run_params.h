// The parameters of a new run (section 4.4).
#pragma once

#include <string>

#include "model/workflow/graph.h"

namespace scylla::model::workflow {

inline constexpr std::size_t k_max_run_params = 128;

// As JSON. Throws ParamFailure and sel::Failure.
std::string values_of_run(const Definition &definition, const RunName &name, std::string_view request,
                          sel::World &world, const sel::Limits &limits);

} // namespace scylla::model::workflow
