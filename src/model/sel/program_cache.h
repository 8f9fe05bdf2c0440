// Programs of short expressions, kept for the next time: to parse one takes longer than to evaluate it, and each run
// of a workflow evaluates the same ones.
#pragma once

#include <memory>
#include <string_view>

#include "model/sel/program.h"

namespace scylla::model::sel {

// As Program::parse(), and throws the same.
std::shared_ptr<const Program> program_of(std::string_view text, const Limits &limits);

} // namespace scylla::model::sel
