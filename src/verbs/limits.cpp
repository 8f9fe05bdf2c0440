#include "verbs/limits.h"

namespace scylla {

using store::Store;
using store::TableId;

text *permit_of(const store::QueueRow &queue) { return queue.max_running ? cstring_to_text("") : nullptr; }

namespace {

LOCKTAG tag_of(Store &store, int32 queue) {
    // What a lease needs is open before: to wait for the lock of a table is to wait for others' transactions.
    for (const TableId table : {TableId::spec, TableId::ready, TableId::lease})
        (void)store[table];
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, MyDatabaseId, RelationGetRelid(store[TableId::queue].rel), static_cast<Oid>(queue), 0);
    return tag;
}

// With all that has been committed, and that this call has done itself: it may have ended leases.
void look_again(Store &store) {
    CommandCounterIncrement();
    refresh(store);
}

} // namespace

void lock_limits(Store &store, int32 queue) {
    const LOCKTAG tag = tag_of(store, queue);
    (void)LockAcquire(&tag, ExclusiveLock, false, false);
    look_again(store);
}

bool lock_limits_unless_full(Store &store, const store::QueueRow &queue) {
    const LOCKTAG tag = tag_of(store, queue.id);
    if (LockAcquire(&tag, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL) {
        if (free_permits(store, queue) < 1)
            return false;
        (void)LockAcquire(&tag, ExclusiveLock, false, false);
    }
    look_again(store);
    return true;
}

void unlock_limits(Store &store, int32 queue) {
    const LOCKTAG tag = tag_of(store, queue);
    (void)LockRelease(&tag, ExclusiveLock, false);
}

int64 free_permits(Store &store, const store::QueueRow &queue) {
    return queue.max_running ? *queue.max_running - count_permits(store, queue.id) : PG_INT64_MAX;
}

} // namespace scylla
