// The numbers of queues: counters in shared memory, and how many tasks are in each state.
//
// The numbers of tasks are kept in shared memory once the tables have been counted, which the first call after a start
// does. Later calls count again when the last count is long enough ago for the processor time that it took
// (model/pace.h), so that counting costs next to nothing. A new count corrects for commits without a callback.
#pragma once

#include "model/status.h"
#include "shmem/stats.h"
#include "store/rows.h"

namespace scylla {

// How many tasks of a queue are in each state.
struct Tally {
    int32 queue;
    std::array<int64, model::k_status_names.size()> tasks;
};

// Counts the tables with a fresh snapshot: tallies by queue.
HTAB *count_tasks(store::Store &store);
// The tally of a queue; it may have no tasks.
Tally &tally_of(HTAB *tallies, int32 queue);

struct QueueNumbers {
    const text *name;
    int32 id;
    shmem::Places now_in;
    std::optional<TimestampTz> ready_since; // see find_ready_since()
    const shmem::QueueStats *stats;         // null: no event since counting began
    TimestampTz reset;                      // when that was; 0: no counting
};

struct AllNumbers {
    bool has_counters; // there is shared memory
    TimestampTz now;
    std::span<QueueNumbers> queues; // that the current user may watch, by id
};
// may_count: the tables may be counted to correct what is known.
AllNumbers find_numbers(store::Store &store, bool may_count);

} // namespace scylla
