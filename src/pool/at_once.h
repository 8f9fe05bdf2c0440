// New tasks that need not get in line: there is room for them, and nobody waits for it.
//
// A task of a run (src/workflow) that needs permits gets them in the call that submits it, if all its pools are open,
// have an empty line and enough left. That spares its place in line, a pass, and the message that it has been placed.
// Whoever comes when somebody is in line gets in line too, so nobody is passed over.
#pragma once

#include "task/line.h"

namespace scylla {

// Those with the highest priority first. As a pass does (pool/pass.h), under its lock.
void reserve_at_once(store::Store &store, std::span<Newcomer> tasks);

} // namespace scylla
