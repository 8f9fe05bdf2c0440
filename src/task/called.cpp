#include "task/called.h"

namespace scylla {

namespace {

// The run of a task: by the lower half of its id and of its attempt. Runs that share a lock would have to be at it at
// the same time, 4 billion tasks apart; then the lease of one ends late.
LOCKTAG tag_of(store::Store &store, int64 task, int32 attempt) {
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, MyDatabaseId, RelationGetRelid(store[store::TableId::lease].rel), static_cast<Oid>(task),
                       static_cast<uint16>(attempt));
    return tag;
}

} // namespace

void hold_call(store::Store &store, int64 task, int32 attempt) {
    const LOCKTAG tag = tag_of(store, task, attempt);
    (void)LockAcquire(&tag, ShareLock, false, false);
}

bool is_called(store::Store &store, int64 task, int32 attempt) {
    const LOCKTAG tag = tag_of(store, task, attempt);
    if (LockAcquire(&tag, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
        return true;
    LockRelease(&tag, ExclusiveLock, false);
    return false;
}

} // namespace scylla
