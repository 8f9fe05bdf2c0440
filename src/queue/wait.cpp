#include "queue/wait.h"

#include "pg/client.h"
#include "pg/clock.h"
#include "pg/error.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "queue/lease.h"
#include "queue/unknown.h"
#include "shmem/waiters.h"
#include "task/rights.h"

namespace scylla {

namespace {

constexpr int64 k_poll = 250'000; // microseconds, where there is no shared memory

// Sleeps until the backend is signalled, the time has come (of steady_now()) or the client has gone.
void sleep_until(int64 end) {
    for (;;) {
        if (shmem::shared != nullptr && shmem::signalled())
            return;
        const int64 now = steady_now();
        if (now >= end)
            return;
        const int64 left = shmem::shared != nullptr ? end - now : Min(end - now, k_poll);
        constexpr int64 k_longest = 60 * USECS_PER_SEC * 60; // what fits into a long everywhere
        const bool is_gone = sleep_beside_client(static_cast<long>((Min(left, k_longest) + 999) / 1000));
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
        if (is_gone || shmem::shared == nullptr)
            return;
    }
}

} // namespace

bool wait_until(const Patience &patience, const Look &look) {
    PreventCommandDuringRecovery(patience.call); // no task can appear there
    const int64 end = steady_now() + patience.timeout;
    bool found = false;
    SPI_connect_ext(SPI_OPT_NONATOMIC);
    for (;;) {
        int64 again = end;
        found = look.at(look.what, &again);
        if (found || steady_now() >= end)
            break;
        SPI_commit(); // releases the snapshot; the new transaction has none until the next look
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

constexpr int32 k_no_queue = 0; // it does not exist yet

struct Queues {
    std::span<text *const> names;
    std::span<int32> ids;
    std::optional<std::size_t> found;
};

// 42501 if the worker may not work on one.
void find_queues(store::Store &store, const Queues &queues) {
    for (std::size_t i = 0; i < queues.names.size(); i++) {
        const auto queue = find_queue(store, queues.names[i]);
        if (queue)
            rights::require(store, *queue, model::Privilege::work);
        else
            tell_unknown_queue(store, queues.names[i]);
        queues.ids[i] = queue ? queue->id : k_no_queue;
    }
}

std::span<shmem::Awaited> awaited(const Queues &queues) {
    const auto all = allocate<shmem::Awaited>(queues.names.size());
    for (std::size_t i = 0; i < all.size(); i++)
        all[i] = queues.ids[i] != k_no_queue ? queues.ids[i] : shmem::unknown_queue(view(queues.names[i]));
    return all;
}

// One look. The index of a queue that has a ready task, or nothing. The backend is on the list of waiters before the
// snapshot of the look is taken. If rates allow no lease, *again is lowered to when they may (steady_now()).
std::optional<std::size_t> look_once(const Queues &queues, int64 *again) {
    std::optional<std::size_t> found;
    store::Store store = store::open(AccessShareLock);
    store.reads_queues =
        true; // it would sleep by what it finds, and drop_queue() sends its message only after waking the waiters
    find_queues(store, queues);
    if (shmem::shared != nullptr) {
        shmem::enlist(awaited(queues));
        refresh(store);
        find_queues(store, queues); // one may have been created in between
        shmem::enlist_known(awaited(queues));
    }
    const TimestampTz now = GetCurrentTimestamp();
    for (std::size_t i = 0; i < queues.ids.size() && !found; i++)
        if (queues.ids[i] != k_no_queue && count_leasable(store, queues.ids[i], 1, now, again) > 0)
            found = i;
    close(store);
    return found;
}

} // namespace

std::optional<std::size_t> wait_for_task(std::span<text *const> names, const Patience &patience) {
    Queues queues{names, allocate<int32>(names.size()), std::nullopt};
    const auto look = [](void *what, int64 *again) {
        auto &of = *static_cast<Queues *>(what);
        of.found = look_once(of, again);
        return of.found.has_value();
    };
    wait_until(patience, {look, &queues});
    if (shmem::shared != nullptr)
        shmem::leave(queues.found ? std::optional<shmem::Awaited>(queues.ids[*queues.found]) : std::nullopt);
    return queues.found;
}

} // namespace scylla
