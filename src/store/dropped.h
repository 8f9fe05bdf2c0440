// Queues that have been dropped with tasks, whose tasks are still to be removed (task/dropped.h).
#pragma once

#include "store/rows.h"

namespace scylla::store {

void insert_dropped(const QueueRow &queue);
// Whether there may be any. Cheap.
bool any_dropped();
bool is_dropped(int32 queue);
// Some of them, sorted, behind an id. Returns how many.
std::size_t find_dropped(int32 after, std::span<int32> queues);
// Nothing is left of these. False: in this database no task has got an id yet, so a restore has brought these queues,
// and will bring their tasks: they are kept.
bool forget_dropped(std::span<const int32> queues);

} // namespace scylla::store
