#include "pool/permits.h"

#include "pg/error.h"
#include "pool/pools.h"
#include "shmem/pending.h"
#include "store/locks.h"
#include "store/plans.h"
#include "task/rights.h"

namespace scylla {

namespace {

// The capacity of a workflow's pool that has no bound. No bound of a workflow is as large; the pool of a tag may have
// it as its bound.
constexpr int64 k_unbounded = 999'999'999'999'999;

// A pool that another transaction is dropping counts as gone: nothing waits for that transaction.
bool is_being_dropped(int64 pool) {
    const LOCKTAG tag = pool_lock_tag(pool);
    if (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
        return true;
    LockRelease(&tag, ShareLock, false);
    return false;
}

} // namespace

void set_permits(const text *pool, const char *owner, std::optional<int64> count) {
    const auto changed = store::permits::set(pool, count.value_or(k_unbounded));
    for (const int64 id : changed)
        shmem::note_pool(id);
    if (!changed.empty() || !count)
        return;
    store::permits::create({.pool = pool, .count = *count, .owner = owner, .max_bypass = k_max_bypass});
    CommandCounterIncrement();
    store::pools::create_head(pool);
}

std::span<const PermitPool> find_permit_pools(std::span<const text *const> names) {
    Growing<PermitPool> pools;
    for (const PermitPool &each : store::permits::find(names, k_unbounded, store::k_run_prefix))
        if (!is_being_dropped(each.id))
            pools.add(each);
    return pools.all();
}

bool may_use(const PermitPool &pool, Oid role) {
    return rights::has_any(role, pool.owner, pool.admins) || rights::has_any(role, pool.owner, pool.users);
}

} // namespace scylla
