// Sleeping until there is something to do, without a snapshot and without a transaction id (shmem/waiters.h). It
// commits, so it is for procedures that are called outside a transaction block.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// How long, in microseconds, and for whom: the SQL name for the message.
struct Patience {
    int64 timeout;
    const char *call;
};

// Whether there is something. It puts the backend on the list of waiters first. It may say when to look again without a
// signal, by lowering *again (steady_now()).
struct Look {
    bool (*at)(void *what, int64 *again);
    void *what;
};

// Looks until there is something or the time is over. True: there is. The backend is still on the list of waiters.
bool wait_until(const Patience &patience, const Look &look);

// The index of a queue with a task that can be leased, or nothing when the time is over. 42501 if the current user may
// not work on one of the queues. They need not exist.
std::optional<std::size_t> wait_for_task(std::span<text *const> names, const Patience &patience);

} // namespace scylla
