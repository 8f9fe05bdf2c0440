// Plans as providers of gates (task/gates.h): each task of a plan has a gate on it, which opens when the plan is
// opened. The call that ends the last live task of a plan finishes the plan, in the same transaction.
#pragma once

#include "store/rows.h"

namespace scylla {

// When the library is loaded.
void register_plan_gates();

// To be called for a plan that has just been opened, before settle_gates().
void note_opened(store::Store &store, int64 plan);

} // namespace scylla
