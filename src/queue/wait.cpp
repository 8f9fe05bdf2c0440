#include "queue/wait.h"

#include "pg/client.h"
#include "pg/clock.h"
#include "pg/error.h"
#include "pg/memory.h"
#include "queue/lease.h"
#include "queue/unknown.h"
#include "shmem/waiters.h"
#include "task/rights.h"

namespace scylla {

namespace {

constexpr int64 k_poll = 250'000; // microseconds, where there is no shared memory

// Sleeps until the backend is signalled or the time has come (of steady_now()).
void sleep_until(int64 end) {
    for (;;) {
        if (shmem::shared != nullptr && shmem::signalled())
            return;
        const int64 now = steady_now();
        if (now >= end)
            return;
        const int64 left = shmem::shared != nullptr ? end - now : Min(end - now, k_poll);
        constexpr int64 k_longest = 60 * USECS_PER_SEC * 60; // what fits into a long everywhere
        WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                  static_cast<long>((Min(left, k_longest) + 999) / 1000), PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
        if (shmem::shared == nullptr)
            return;
    }
}

} // namespace

bool wait_until(const Patience &patience, const Look &look) {
    PreventCommandDuringRecovery(patience.call); // nothing would happen here
    const int64 end = steady_now() + patience.timeout;
    bool found = false;
    SPI_connect_ext(SPI_OPT_NONATOMIC);
    for (;;) {
        int64 again = end;
        found = look.at(look.what, &again);
        if (found || steady_now() >= end)
            break;
        SPI_commit(); // gives up the snapshot; the transaction that begins has none until the next look
        sleep_until(again);
        if (!client_is_there())
            error::client_gone(); // ends the transaction, and so passes the signal on
        if (shmem::shared != nullptr)
            shmem::rearm();
    }
    SPI_finish();
    return found;
}

namespace {

// The ids of the queues; k_no_queue for those that do not exist yet. 42501 if the worker may not work on one.
void find_queues(store::Store &store, std::span<text *const> names, std::span<int32> ids) {
    for (std::size_t i = 0; i < names.size(); i++) {
        const auto queue = find_queue(store, names[i]);
        if (queue)
            rights::require(store, *queue, model::Privilege::work);
        else
            tell_unknown_queue(names[i]);
        ids[i] = queue ? queue->id : shmem::k_no_queue;
    }
}

// One look. The index of a queue that has a ready task, or nothing. The backend is on the list of waiters before the
// snapshot of the look is taken. If rates allow no lease, *again is lowered to when they may (steady_now()).
std::optional<std::size_t> look_once(std::span<text *const> names, std::span<int32> ids, int64 *again) {
    std::optional<std::size_t> found;
    store::Store store = store::open(AccessShareLock);
    store.reads_queues =
        true; // it would sleep by what it finds, and who drops a queue tells of it only after waking the waiters
    find_queues(store, names, ids);
    if (shmem::shared != nullptr) {
        shmem::enlist(ids);
        refresh(store);
        find_queues(store, names, ids); // one may have been created in between
        shmem::enlist(ids);
    }
    const TimestampTz now = GetCurrentTimestamp();
    for (std::size_t i = 0; i < names.size() && !found; i++)
        if (ids[i] != shmem::k_no_queue && count_leasable(store, ids[i], 1, now, again) > 0)
            found = i;
    close(store);
    return found;
}

struct Queues {
    std::span<text *const> names;
    std::span<int32> ids;
    std::optional<std::size_t> found;
};

} // namespace

std::optional<std::size_t> wait_for_task(std::span<text *const> names, const Patience &patience) {
    Queues queues{names, allocate<int32>(names.size()), std::nullopt};
    const auto look = [](void *what, int64 *again) {
        auto &of = *static_cast<Queues *>(what);
        of.found = look_once(of.names, of.ids, again);
        return of.found.has_value();
    };
    wait_until(patience, {look, &queues});
    if (shmem::shared != nullptr)
        shmem::leave(queues.found ? std::optional(queues.ids[*queues.found]) : std::nullopt);
    return queues.found;
}

} // namespace scylla
