// Makers of plans (jobs, workflows) hear of the tasks of their plans. A maker registers its hooks when the library is
// loaded.
#pragma once

#include "store/rows.h"

namespace scylla {

// Called in the transaction that ends tasks of a plan, with the role that owns it and those tasks, before their
// dependants are looked at.
using CompletionHook = void (*)(const char *owner, std::span<const store::Ended> tasks);
void register_completion(store::PlanMaker maker, CompletionHook hook);
// Calls the hooks for the tasks in store.ended.
void tell_completed(store::Store &store);

// Called in the transaction that places tasks of a plan: they got their permits from pools (pool/pass.h).
struct PlacedTask {
    int64 id;
    int64 plan;
};
using PlacementHook = void (*)(std::span<const PlacedTask> tasks);
void register_placement(store::PlanMaker maker, PlacementHook hook);
void tell_placed(store::Store &store, std::span<const PlacedTask> tasks);

} // namespace scylla
