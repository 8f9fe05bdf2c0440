// Queues that have been dropped with tasks, whose tasks are still to be removed (task/dropped.h).
#pragma once

#include "store/rows.h"

namespace scylla::store {

// Whether there may be any. Cheap.
bool any_dropped();
// Gives a task of one another name. gone: somebody else has changed or removed the row. Waits for a transaction that is
// doing so.
Taken rename_dropped(Store &store, const SpecRow &row, text *rn);
// Some of them, sorted, behind an id. Returns how many.
std::size_t find_dropped(int32 after, std::span<int32> queues);
// Nothing is left of these. False: in this database no task has got an id yet, so a restore has brought these queues,
// and will bring their tasks: they are kept.
bool forget_dropped(std::span<const int32> queues);

} // namespace scylla::store
