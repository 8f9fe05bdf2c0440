#include "pool/pools.h"

#include "pg/error.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "shmem/pending.h"
#include "store/locks.h"
#include "task/gates.h"
#include "task/rights.h"

namespace scylla {

using model::Policy;

namespace {

ArrayType *grantees(const PoolRow &pool, PoolPrivilege privilege) {
    switch (privilege) {
    case PoolPrivilege::use:
        return pool.users;
    case PoolPrivilege::report:
        return pool.reporters;
    case PoolPrivilege::admin:
        break;
    }
    return pool.admins;
}

// The resources of a report must be among those of the capacity.
void require_resources(Jsonb *capacity, std::span<const ResourceAmount> amounts, const char *argument,
                       const text *pool) {
    const auto known = read_amounts("capacity", capacity);
    for (const ResourceAmount &each : amounts)
        if (std::none_of(known.begin(), known.end(),
                         [&](const ResourceAmount &other) { return other.resource == each.resource; })) {
            const text *resource =
                cstring_to_text_with_len(each.resource.data(), static_cast<int>(each.resource.size()));
            error::bad_argument(argument, error::quote(resource),
                                psprintf("Pool \"%s\" has no such resource.", text_to_cstring(pool)));
        }
}

// For scylla.pool_history.
void note_change(const text *pool) {
    CommandCounterIncrement();
    store::pools::note_change(pool, GetUserNameFromId(GetUserId(), false));
}

} // namespace

bool is_stale(const PoolRow &pool, TimestampTz now) {
    if (pool.metrics_max_age == nullptr)
        return false;
    if (!pool.reported_at)
        return true;
    const TimestampTz until = DatumGetTimestampTz(DirectFunctionCall2(
        timestamptz_pl_interval, TimestampTzGetDatum(*pool.reported_at), IntervalPGetDatum(pool.metrics_max_age)));
    return until < now;
}

bool may(const PoolRow &pool, PoolPrivilege privilege) {
    const Oid user = GetUserId();
    return rights::has_any(user, pool.owner, pool.admins) ||
           rights::has_any(user, pool.owner, grantees(pool, privilege));
}

bool may_see(const PoolRow &pool) { return may(pool, PoolPrivilege::use) || may(pool, PoolPrivilege::report); }

std::span<const store::pools::Numbers> read_pool_numbers() {
    const auto all = store::pools::numbers();
    if (has_privs_of_role(GetUserId(), ROLE_PG_MONITOR))
        return all;
    Growing<std::string_view> names;
    for (const PoolRow &pool : store::pools::all())
        if (may_see(pool))
            names.add(view(pool.name));
    const auto may_see_these = names.all();
    std::sort(may_see_these.begin(), may_see_these.end());
    Growing<store::pools::Numbers> seen;
    for (const store::pools::Numbers &row : all)
        if (std::binary_search(may_see_these.begin(), may_see_these.end(), view(row.pool)))
            seen.add(row);
    return seen.all();
}

PoolRow require_pool(const text *name) {
    const auto pool = store::pools::find(name);
    if (!pool)
        error::no_such_pool(name);
    return *pool;
}

PoolRow require_pool(const text *name, PoolPrivilege privilege) {
    const PoolRow pool = require_pool(name);
    if (!may(pool, privilege))
        error::no_pool_privilege(name, GetUserNameFromId(GetUserId(), false),
                                 k_pool_privileges[static_cast<std::size_t>(privilege)]);
    return pool;
}

void create_pool(const text *name, const PoolSettings &settings) {
    if (store::pools::create({.name = name,
                              .capacity = settings.capacity,
                              .policy = settings.policy.value_or(Policy::backfill),
                              .max_bypass = settings.max_bypass.value_or(k_max_bypass),
                              .metrics_max_age = settings.metrics_max_age,
                              .owner = GetUserNameFromId(GetUserId(), false)}) == 0)
        error::duplicate_pool(name);
    CommandCounterIncrement();
    store::pools::create_head(name);
    note_change(name);
}

void alter_pool(const text *name, const PoolSettings &changes) {
    const PoolRow pool = require_pool(name, PoolPrivilege::admin);
    store::pools::alter({.id = pool.id,
                         .capacity = changes.capacity,
                         .policy = changes.policy,
                         .max_bypass = changes.max_bypass,
                         .changes_max_age = changes.changes_max_age,
                         .metrics_max_age = changes.metrics_max_age});
    note_change(name);
    shmem::note_pool(pool.id);
}

void set_drained(const text *name, bool drained) {
    const PoolRow pool = require_pool(name, PoolPrivilege::admin);
    store::pools::set_drained(pool.id, drained);
    note_change(name);
    shmem::note_pool(pool.id);
}

void report_usage(const text *name, Jsonb *used, TimestampTz at) {
    const PoolRow pool = require_pool(name, PoolPrivilege::report);
    require_resources(pool.capacity, read_amounts("used", used), "used", name);
    store::pools::report(pool.id, used, at);
    shmem::note_pool(pool.id);
}

// A submit that has found the pool may write its task after the check for tasks here. As in drop_queue(), this removes
// the pool, announces that, and then looks for tasks; the submit looks for the pool after it has written its task. A
// submit that finds the pool while it is being removed waits.
void drop_pool(store::Store &store, const text *name) {
    const PoolRow pool = require_pool(name, PoolPrivilege::admin);
    const LOCKTAG tag = pool_lock_tag(pool.id);
    (void)LockAcquire(&tag, ExclusiveLock, false, false); // to the end of the transaction
    if (store::pools::remove(pool.id) == 0)
        error::no_such_pool(name); // it has been removed meanwhile
    store::tell_at_once(store::TableId::line);
    store::tell_changed(store::TableId::line);
    refresh(store);
    if (has_live_dependants(store, pool.id))
        error::pool_in_use(name);
}

void require_found_pools(store::Store &store) {
    for (const store::PoolUse &use : store.pool_uses.all())
        if (store::pools::lock(use.id) == 0)
            error::no_such_pool(use.name); // it was dropped by a transaction that did not see the tasks
}

void grant_pool(const text *name, const text *role, PoolPrivilege privilege) {
    const PoolRow pool = require_pool(name, PoolPrivilege::admin);
    rights::require_grantee(role, "pool");
    store::pools::grant_to(pool.id, k_pool_privileges[static_cast<std::size_t>(privilege)], role);
}

void revoke_pool(const text *name, const text *role, PoolPrivilege privilege) {
    const PoolRow pool = require_pool(name, PoolPrivilege::admin);
    store::pools::revoke_from(pool.id, k_pool_privileges[static_cast<std::size_t>(privilege)], role);
}

namespace {

// Why the pool can never satisfy the needs, as a sentence; null: it can. A capacity of 0 means closed for now.
const char *problem(const PoolRow &pool, std::span<const ResourceAmount> amounts) {
    const auto capacity = read_amounts("capacity", pool.capacity);
    for (const ResourceAmount &need : amounts) {
        const char *resource = pnstrdup(need.resource.data(), need.resource.size());
        const auto *has = std::find_if(capacity.data(), capacity.data() + capacity.size(),
                                       [&](const ResourceAmount &each) { return each.resource == need.resource; });
        if (has == capacity.data() + capacity.size())
            return psprintf("Pool \"%s\" has no resource \"%s\".", text_to_cstring(pool.name), resource);
        if (has->amount > 0 && need.amount > has->amount)
            return psprintf("Pool \"%s\" has only %s of \"%s\".", text_to_cstring(pool.name), show(has->amount),
                            resource);
    }
    return nullptr;
}

PoolRow pool_to_use(store::Store &store, std::string_view name, const NeedsFrom &from) {
    const text *wanted = cstring_to_text_with_len(name.data(), static_cast<int>(name.size()));
    const PoolRow pool = from.is_granted ? require_pool(wanted) : require_pool(wanted, PoolPrivilege::use);
    const LOCKTAG tag = pool_lock_tag(pool.id);
    (void)LockAcquire(&tag, ShareLock, false, false);
    LockRelease(&tag, ShareLock, false);
    note_pool_use(store, pool.id, wanted);
    return pool;
}

} // namespace

std::span<const int64> find_pools(store::Store &store, Jsonb *value, const NeedsFrom &from) {
    const int64 element = from.element;
    const Needs needs = read_needs(value, element);
    Growing<int64> ids;
    for (const PoolNeeds &each : needs.all) {
        const PoolRow pool = pool_to_use(store, each.pool, from);
        if (const char *what = problem(pool, each.amounts))
            error::bad_argument("needs", error::show(value), what, element);
        ids.add(pool.id);
    }
    const char *first_problem = nullptr;
    bool served = needs.any.empty();
    for (const std::string_view name : needs.any) {
        const PoolRow pool = pool_to_use(store, name, from);
        const char *what = problem(pool, needs.of_any);
        served = served || what == nullptr;
        first_problem = first_problem != nullptr ? first_problem : what;
        ids.add(pool.id);
    }
    if (!served)
        error::bad_argument("needs", error::show(value), first_problem, element);
    return ids.all();
}

} // namespace scylla
