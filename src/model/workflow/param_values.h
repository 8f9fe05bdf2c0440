// Values of parameters: conversion, copies, comparison.
#pragma once

#include <optional>

#include "model/sel/context.h"
#include "model/workflow/param.h"

namespace scylla::model::workflow {

// The type of a value that an expression has made. An empty array is one of strings.
ParamType type_of(const sel::Value &value) noexcept;
// The same for one that was read from JSON.
ParamType natural_type(const sel::Value &value) noexcept;
// The value converted to that type; nothing if that is not possible.
std::optional<sel::Value> to_type(sel::Context &context, const sel::Value &value, ParamType type);
// A copy in the heap of the context, so that a change of one does not change the other.
sel::Value copy_value(sel::Context &context, const sel::Value &value);
// For literals. Doubles are compared as numbers.
bool same_value(const sel::Value &one, const sel::Value &other);

// A literal without references: the parameter of an earlier run, or output of a step.
Param make_evaluated(sel::Context &context, ParamType type, const sel::Value &value);
// Such a value, with the modes that the definition sets.
Param with_modes(const Param &defined, Param value);

} // namespace scylla::model::workflow
