#include "task/called.h"

#include "store/locks.h"

namespace scylla {

void hold_call(store::Store &store, int64 task, int32 attempt) {
    const LOCKTAG tag = call_lock_tag(store, task, attempt);
    (void)LockAcquire(&tag, ShareLock, false, false);
}

bool is_called(store::Store &store, int64 task, int32 attempt) {
    const LOCKTAG tag = call_lock_tag(store, task, attempt);
    if (LockAcquire(&tag, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
        return true;
    LockRelease(&tag, ExclusiveLock, false);
    return false;
}

} // namespace scylla
