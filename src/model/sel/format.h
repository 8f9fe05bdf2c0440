// String.format(), after java.util.Formatter.
#pragma once

#include <string>

#include "model/sel/context.h"

namespace scylla::model::sel {

std::string format(Context &context, std::string_view pattern, Args args);

} // namespace scylla::model::sel
