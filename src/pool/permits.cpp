#include "pool/permits.h"

#include "pg/error.h"
#include "pool/pools.h"
#include "shmem/pending.h"
#include "store/locks.h"
#include "store/plans.h"
#include "store/spi_arrays.h"
#include "task/rights.h"

namespace scylla {

using store::Columns;
using store::Parameters;

namespace {

// The capacity of a workflow's pool that has no bound. No bound of a workflow is as large; the pool of a tag may have
// it as its bound.
constexpr int64 k_unbounded = 999'999'999'999'999;

constinit SPIPlanPtr set_statement = nullptr;
constinit SPIPlanPtr make_statement = nullptr;
constinit SPIPlanPtr head_statement = nullptr;
constinit SPIPlanPtr remove_statement = nullptr;
constinit SPIPlanPtr find_statement = nullptr;

struct Found {
    int64 id;
    PermitPool pool;
};

// A pool that another transaction is dropping counts as gone: nothing waits for that transaction.
bool is_being_dropped(int64 pool) {
    const LOCKTAG tag = pool_lock_tag(pool);
    if (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
        return true;
    LockRelease(&tag, ShareLock, false);
    return false;
}

void make(const text *pool, const char *owner, int64 count) {
    Parameters parameters;
    parameters.add(pool).add(count).add(TEXTOID, CStringGetTextDatum(owner)).add(INT4OID, Int32GetDatum(k_max_bypass));
    store::change(&make_statement,
                  "insert into scylla.resource_pool (name, capacity, policy, max_bypass, owner) values ($1, "
                  "pg_catalog.jsonb_build_object('permits', $2), 'backfill', $4, $3::pg_catalog.name) "
                  "on conflict (name) do nothing",
                  parameters, SPI_OK_INSERT);
    CommandCounterIncrement();
    Parameters of;
    of.add(pool);
    store::change(&head_statement,
                  "insert into scylla.pool_head (pool, task, passed) select id, 0, 0 from scylla.resource_pool "
                  "where name operator(pg_catalog.=) $1 on conflict (pool) do nothing",
                  of, SPI_OK_INSERT);
}

} // namespace

void set_permits(const text *pool, const char *owner, std::optional<int64> count) {
    Parameters parameters;
    parameters.add(pool).add(count.value_or(k_unbounded));
    const auto changed = store::select<int64>(
        &set_statement,
        "update scylla.resource_pool set capacity = pg_catalog.jsonb_build_object('permits', $2), "
        "version = version operator(pg_catalog.+) 1 where name operator(pg_catalog.=) $1 and capacity "
        "operator(pg_catalog.<>) pg_catalog.jsonb_build_object('permits', $2) returning id",
        parameters, SPI_OK_UPDATE_RETURNING, [](uint64 row) { return Columns(row).next_int64(); });
    for (const int64 id : changed)
        shmem::note_pool(id);
    if (changed.empty() && count)
        make(pool, owner, *count);
}

void remove_permits(const text *pool) {
    Parameters parameters;
    parameters.add(pool);
    store::change(&remove_statement,
                  "with pool as (select id from scylla.resource_pool where name operator(pg_catalog.=) $1 "
                  "for update skip locked), "
                  "head as (delete from scylla.pool_head h using pool p where h.pool operator(pg_catalog.=) p.id), "
                  "report as (delete from scylla.pool_report r using pool p where r.pool operator(pg_catalog.=) p.id) "
                  "delete from scylla.resource_pool r using pool p where r.id operator(pg_catalog.=) p.id",
                  parameters, SPI_OK_DELETE);
}

std::span<const PermitPool> find_permit_pools(std::span<const text *const> names) {
    store::ArrayColumn column(TEXTOID);
    for (const text *name : names)
        column.add(PointerGetDatum(name));
    Parameters parameters;
    column.give_to(parameters);
    parameters.add(k_unbounded).add(cstring_to_text(store::k_run_prefix.data()));
    const auto found =
        store::select<Found>(&find_statement,
                             "select id, name, owner::pg_catalog.text, users, admins from scylla.resource_pool "
                             "where name operator(pg_catalog.=) any ($1) and not (capacity operator(pg_catalog.=) "
                             "pg_catalog.jsonb_build_object('permits', $2) and "
                             "pg_catalog.starts_with(name, $3))",
                             parameters, SPI_OK_SELECT, [](uint64 row) {
                                 Columns columns(row);
                                 Found read{};
                                 read.id = columns.next_int64();
                                 read.pool.name = columns.next_text();
                                 read.pool.owner = columns.next_string();
                                 read.pool.users = columns.next_array();
                                 read.pool.admins = columns.next_array();
                                 return read;
                             });
    Growing<PermitPool> pools;
    for (const Found &each : found)
        if (!is_being_dropped(each.id))
            pools.add(each.pool);
    return pools.all();
}

bool may_use(const PermitPool &pool, Oid role) {
    return rights::has_any(role, pool.owner, pool.admins) || rights::has_any(role, pool.owner, pool.users);
}

} // namespace scylla
