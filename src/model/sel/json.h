// Values from JSON, and as JSON.
#pragma once

#include <string>
#include <string_view>

#include "model/sel/context.h"

namespace scylla::model::sel {

// Numbers without point and exponent are LONG where they fit, all others DOUBLE; objects are MAP.
Value read_json(Context &context, std::string_view text);
// Compact. Dates become text in ISO 8601.
std::string write_json(Context &context, const Value &value);
// As text to be inserted into another text: a string as it is, arrays and maps as JSON.
std::string write_text(Context &context, const Value &value);

} // namespace scylla::model::sel
