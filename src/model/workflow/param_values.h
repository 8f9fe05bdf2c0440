// Values of parameters: of one type as another, copied, compared.
#pragma once

#include <optional>

#include "model/sel/context.h"
#include "model/workflow/param.h"

namespace scylla::model::workflow {

// The type of a value that an expression has made. An empty array is one of strings.
ParamType type_of(const sel::Value &value) noexcept;
// The same for one that was read from JSON.
ParamType natural_type(const sel::Value &value) noexcept;
// The value as one of that type (rule 7 of section 4.3); nothing if it cannot be represented as such.
std::optional<sel::Value> to_type(sel::Context &context, const sel::Value &value, ParamType type);
// In the heap of the context, so that changing one of them leaves the other as it is.
sel::Value copy_value(sel::Context &context, const sel::Value &value);
// Of literals. Doubles are equal as numbers.
bool same_value(const sel::Value &one, const sel::Value &other);

// A literal that is not looked through for references: the parameter of an earlier run, or what a step has put out.
Param make_evaluated(sel::Context &context, ParamType type, const sel::Value &value);
// Such a value, under what the definition says of who may change it.
Param with_modes(const Param &defined, Param value);

} // namespace scylla::model::workflow
