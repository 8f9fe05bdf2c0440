// Sleeping until there is something to do, without a snapshot or a transaction id (shmem/waiters.h). It commits, so it
// is for procedures that are called outside a transaction block.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// How long, in microseconds, and the SQL name of the call for the message.
struct Patience {
    int64 timeout;
    const char *call;
};

// Whether there is something to do. It adds the backend to the list of waiters first. It may lower *again
// (steady_now()), the time of the next look without a signal.
struct Look {
    bool (*at)(void *what, int64 *again);
    void *what;
};

// Looks until there is something to do or the time is over. True: there is, and the backend is still on the list of
// waiters.
bool wait_until(const Patience &patience, const Look &look);

// The index of a queue with a task that can be leased, or nothing when the time is over. 42501 if the current user may
// not work on one of the queues. A queue need not exist.
std::optional<std::size_t> wait_for_task(std::span<text *const> names, const Patience &patience);

} // namespace scylla
