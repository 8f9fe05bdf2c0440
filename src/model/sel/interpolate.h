// Texts with references to parameters: $name, ${name}, and $$ for a $.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/sel/context.h"

namespace scylla::model::sel {

// References in inserted values are not replaced.
std::string interpolate(Context &context, std::string_view text);
// The names that a text refers to, each once.
std::vector<std::string> references_in(std::string_view text);

} // namespace scylla::model::sel
