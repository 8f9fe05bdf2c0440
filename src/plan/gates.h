// Plans as providers of gates (task/gates.h): a plan is a gate of each of its tasks, which opening it opens. It is
// finished by whoever ends the last of its live tasks, in the same transaction.
#pragma once

#include "store/rows.h"

namespace scylla {

// When the library is loaded.
void register_plan_gates();

// To be called for a plan that has just been opened, before settle_gates().
void note_opened(store::Store &store, int64 plan);

} // namespace scylla
