// New tasks that need not get in line: their permits are free, and no task is in line for them.
//
// A task of a run (src/workflow) that needs permits gets them in the call that submits it, if all its pools are open,
// have an empty line and enough permits left. That saves the row in line, a pass, and the message that it has been
// placed. A task that finds others in line gets in line too, so none is overtaken.
#pragma once

#include "task/line.h"

namespace scylla {

// Those with the highest priority first. As a pass does (pool/pass.h), under its lock.
void reserve_at_once(store::Store &store, std::span<Newcomer> tasks);

} // namespace scylla
