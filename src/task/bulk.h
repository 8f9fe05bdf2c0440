// Acting on many tasks that a filter finds. Tasks that another transaction is changing are left out, and reported.
#pragma once

#include "task/find.h"

namespace scylla {

enum class BulkVerb : std::uint8_t { cancel, yield };

// A task that was found, and what became of it.
struct BulkTask {
    int64 id;
    text *rn;
    Cursor cursor;
    model::Status status; // the present one
    const char *problem;  // a sentence; null: it is done
};

struct Bulk {
    Growing<BulkTask> tasks;    // in the order in which they were found
    std::optional<Cursor> next; // where to go on; nothing: there are no more
};

// Finds the tasks, and does nothing yet.
Bulk find_bulk(store::Store &store, const TaskFilter &filter, const std::optional<Cursor> &after,
               const FindLimits &limits);
// Does it, without waiting for anybody.
void carry_out(store::Store &store, BulkVerb verb, Bulk &bulk);

} // namespace scylla
