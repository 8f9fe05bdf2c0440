// Runs a program.
#pragma once

#include "model/sel/context.h"
#include "model/sel/program.h"

namespace scylla::model::sel {

// The value of the program. Throws Failure, with its place.
Value evaluate(const Program &program, Context &context);

} // namespace scylla::model::sel
