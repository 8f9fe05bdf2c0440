// Facts about a run and its steps: getFromInstance and getFromStep of one field.
#pragma once

#include <string>

#include "model/sel/context.h"
#include "model/workflow/graph.h"

namespace scylla::model::workflow {

// Between a step, or a signal, and its parameter in a name.
inline constexpr std::string_view k_between = "__";

std::optional<sel::Value> fact_of_run(const Definition &definition, const RunName &name, std::string_view field,
                                      sel::Context &context);

// The member of an object in JSON, if it is a text; empty if there is none.
std::string member_text(std::string_view json, std::string_view member, sel::Context &context);
std::optional<std::int64_t> member_number(std::string_view json, std::string_view member, sel::Context &context);

// Of the signals that have started the run: by its name and that of the signal, or by its name alone.
std::optional<sel::Value> param_of_signal(const RunName &name, sel::Args args, sel::Context &context);
// signal__param
std::optional<sel::Value> joined_param_of_signal(const RunName &name, std::string_view joined, sel::Context &context);

// Always the same for one attempt of a step.
std::string uuid_of_step(const RunName &name, std::string_view path, std::string_view step, std::int32_t attempt);

} // namespace scylla::model::workflow
