#include "shmem/pending.h"

#include "shmem/timers.h"
#include "shmem/waiters.h"

namespace scylla::shmem {

namespace {

// Ready tasks of one queue and priority that this transaction has made or taken: one, or several in ids from low to high.
struct Item {
    Oid file;
    int32 queue;
    int16 priority;
    bool taken;
    bool is_new;
    int64 low;
    int64 high;
    int64 count;
};
constexpr std::size_t k_items = 64;

struct Pending {
    bool any;
    bool extension;
    bool databases;
    bool queue;
    bool overflow; // not every row is in an item
    bool sub_rolled_back; // a savepoint was: rows that were taken may be there again
    std::size_t items;
    std::array<Item, k_items> item;
    std::array<bool, k_timers> any_time;
    std::array<TimestampTz, k_timers> time; // counts if any_time says so
};
constinit Pending pending{};

// Adds a row to an item of the same kind. False: there is none.
bool merge(const Item &noted) {
    for (std::size_t i = pending.items; i-- > 0;) {
        Item &item = pending.item[i];
        if (item.queue != noted.queue || item.priority != noted.priority || item.file != noted.file ||
            item.taken != noted.taken || item.is_new != noted.is_new)
            continue;
        item.low = Min(item.low, noted.low);
        item.high = Max(item.high, noted.high);
        item.count++;
        return true;
    }
    return false;
}

void note(const Item &noted) {
    if (shared == nullptr)
        return;
    pending.any = true;
    // Rows with new ids, and rows that were taken, are as good in one item as in many. Rows that come back are kept apart as
    // long as there is room: together they pull the frontier down to the lowest of them.
    if ((noted.is_new || noted.taken) && merge(noted))
        return;
    if (pending.items < k_items)
        pending.item[pending.items++] = noted;
    else if (!merge(noted))
        pending.overflow = true;
}

void tell_monitor() noexcept {
    for (int i = 0; i < shared->slots; i++) {
        MonitorSlot &slot = shared->slot[i];
        if (pg_atomic_read_u32(&slot.database) != MyDatabaseId)
            continue;
        bool earlier = false;
        for (std::size_t t = 0; t < k_timers; t++)
            if (pending.any_time[t] && lower(slot, static_cast<Timer>(t), pending.time[t]))
                earlier = true;
        if (earlier)
            wake(pg_atomic_read_u32(&slot.proc));
        return;
    }
}

void announce_extension() noexcept {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    if (shared->announced_count < k_max_marked)
        shared->announced[shared->announced_count++] = MyDatabaseId;
    else
        shared->announced_all = true;
    LWLockRelease(shared->lock);
    wake_launcher();
}

void give_back_databases() noexcept {
    pg_atomic_write_u32(&shared->rescan, 1); // before the launcher can see that they are free: they may be gone
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    int kept = 0;
    for (int i = 0; i < shared->blocked_count; i++)
        if (shared->blocked[i].pid != MyProcPid)
            shared->blocked[kept++] = shared->blocked[i];
    shared->blocked_count = kept;
    LWLockRelease(shared->lock);
    wake_launcher();
}

// The heads first: a waiter that is woken goes by them.
void tell_tasks(bool committed) noexcept {
    if (committed && pending.overflow)
        forget(MyDatabaseId);
    for (std::size_t i = 0; i < pending.items; i++) {
        const Item &item = pending.item[i];
        if (committed && !item.taken)
            tell({MyDatabaseId, item.file, item.queue}, item.priority, item.low, item.high);
    }
    for (std::size_t i = 0; i < pending.items; i++) {
        const Item &item = pending.item[i];
        // What was taken by a transaction, or a part of it, that rolls back can be leased again.
        if (item.taken ? !committed || pending.sub_rolled_back : committed)
            signal(MyDatabaseId, item.queue, item.count);
    }
    if (pending.overflow)
        signal_all(MyDatabaseId);
    if (committed && pending.queue)
        signal(MyDatabaseId, k_no_queue, PG_INT64_MAX);
}

// Must not fail: the transaction is committed. It allocates nothing and reads no catalog.
extern "C" void at_end_of_transaction(XactEvent event, void *) {
    if (event == XACT_EVENT_ABORT)
        leave(std::nullopt); // an error while waiting
    if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
        return;
    if (!pending.any) {
        pending.sub_rolled_back = false;
        return;
    }
    if (event != XACT_EVENT_PREPARE)
        tell_tasks(event == XACT_EVENT_COMMIT);
    if (event == XACT_EVENT_COMMIT) {
        if (pending.extension)
            announce_extension();
        tell_monitor();
    }
    if (pending.databases)
        give_back_databases();
    pending.any = false;
    pending.extension = false;
    pending.databases = false;
    pending.queue = false;
    pending.overflow = false;
    pending.sub_rolled_back = false;
    pending.items = 0;
    pending.any_time = {};
}

extern "C" void at_end_of_subtransaction(SubXactEvent event, SubTransactionId, SubTransactionId, void *) {
    if (event == SUBXACT_EVENT_ABORT_SUB)
        pending.sub_rolled_back = true;
}

} // namespace

void note_ready(Oid file, int32 queue, int16 priority, int64 id, bool is_new) {
    note({file, queue, priority, false, is_new, id, id, 1});
}

void note_taken(Oid file, int32 queue, int16 priority, int64 id) {
    note({file, queue, priority, true, false, id, id, 1});
}

void note_queue() {
    if (shared == nullptr)
        return;
    pending.queue = true;
    pending.any = true;
}

void note_time(Timer timer, TimestampTz when) {
    if (shared == nullptr)
        return;
    const auto t = static_cast<std::size_t>(timer);
    if (!pending.any_time[t] || when < pending.time[t])
        pending.time[t] = when;
    pending.any_time[t] = true;
    pending.any = true;
}

void note_extension() {
    if (shared == nullptr)
        return;
    pending.extension = true;
    pending.any = true;
}

void note_databases() {
    if (shared == nullptr)
        return;
    pending.databases = true;
    pending.any = true;
}

Own own_lowest(Oid file, int32 queue, int16 priority) {
    Own own{0, 0};
    for (std::size_t i = 0; i < pending.items; i++) {
        const Item &item = pending.item[i];
        if (item.queue != queue || item.priority != priority || item.file != file)
            continue;
        int64 &lowest = item.taken ? own.taken : own.made;
        lowest = lowest == 0 ? item.low : Min(lowest, item.low);
    }
    return own;
}

bool own_unknown() { return pending.overflow; }

void install_callbacks() {
    RegisterXactCallback(at_end_of_transaction, nullptr);
    RegisterSubXactCallback(at_end_of_subtransaction, nullptr);
}

} // namespace scylla::shmem
