#include "pool/pools.h"

#include "pg/error.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "shmem/pending.h"
#include "store/index_plans.h"
#include "store/locks.h"
#include "store/spi.h"
#include "task/gates.h"
#include "task/rights.h"

namespace scylla {

using model::Policy;

namespace {

// With limits, so that no query plan reads the heads or reports of all pools to find those of one.
#define SCYLLA_POOL_COLUMNS                                                                                            \
    "select p.id, p.name, p.policy, p.max_bypass, p.drained, p.metrics_max_age, r.at, p.capacity, "                    \
    "r.used, p.owner, p.users, p.reporters, p.admins, coalesce(h.task, 0), coalesce(h.passed, 0), p.version "          \
    "from scylla.resource_pool p "                                                                                     \
    "left join lateral (select k.task, k.passed from scylla.pool_head k where k.pool operator(pg_catalog.=) p.id "     \
    "limit 1) h on true "                                                                                              \
    "left join lateral (select u.at, u.used from scylla.pool_report u where u.pool operator(pg_catalog.=) p.id "       \
    "order by u.at desc limit 1) r on true "

constinit SPIPlanPtr find_statement = nullptr;
constinit SPIPlanPtr read_statement = nullptr;
constinit SPIPlanPtr some_statement = nullptr;
constinit SPIPlanPtr named_statement = nullptr;
constinit SPIPlanPtr numbers_statement = nullptr;
constinit SPIPlanPtr create_statement = nullptr;
constinit SPIPlanPtr head_statement = nullptr;
constinit SPIPlanPtr alter_statement = nullptr;
constinit SPIPlanPtr drain_statement = nullptr;
constinit SPIPlanPtr report_statement = nullptr;
constinit SPIPlanPtr drop_statement = nullptr;
constinit SPIPlanPtr exists_statement = nullptr;
constinit SPIPlanPtr passed_statement = nullptr;
constinit std::array<SPIPlanPtr, 3> grant_statements{};
constinit std::array<SPIPlanPtr, 3> revoke_statements{};

Datum value(std::size_t row, int column, bool *null) {
    return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, null);
}

template <typename T, typename Copy> T *copy(std::size_t row, int column, Copy how) {
    bool null = false;
    const Datum datum = value(row, column, &null);
    return null ? nullptr : static_cast<T *>(how(datum));
}
Jsonb *copy_jsonb(std::size_t row, int column) {
    return copy<Jsonb>(row, column, [](Datum datum) { return DatumGetJsonbPCopy(datum); });
}
ArrayType *copy_array(std::size_t row, int column) {
    return copy<ArrayType>(row, column, [](Datum datum) { return DatumGetArrayTypePCopy(datum); });
}

Policy policy_of(const text *name) {
    for (std::size_t p = 0; p < k_policies.size(); p++)
        if (view(name) == k_policies[p])
            return static_cast<Policy>(p);
    elog(ERROR, "unexpected policy \"%s\" of a pool", text_to_cstring(name));
}

PoolRow pool_row(std::size_t row) {
    bool null = false;
    PoolRow pool{};
    pool.id = DatumGetInt64(value(row, 1, &null));
    pool.name = DatumGetTextPCopy(value(row, 2, &null));
    pool.policy = policy_of(DatumGetTextPP(value(row, 3, &null)));
    pool.max_bypass = DatumGetInt32(value(row, 4, &null));
    pool.drained = DatumGetBool(value(row, 5, &null));
    pool.metrics_max_age = copy<Interval>(
        row, 6, [](Datum datum) { return DatumGetIntervalP(datumCopy(datum, false, sizeof(Interval))); });
    const Datum at = value(row, 7, &null);
    if (!null)
        pool.reported_at = DatumGetTimestampTz(at);
    pool.capacity = copy_jsonb(row, 8);
    pool.reported = copy_jsonb(row, 9);
    pool.owner = pstrdup(NameStr(*DatumGetName(value(row, 10, &null))));
    for (int p = 0; p < 3; p++)
        pool.grantees[static_cast<std::size_t>(p)] = copy_array(row, 11 + p);
    pool.head = DatumGetInt64(value(row, 14, &null));
    pool.passed = DatumGetInt64(value(row, 15, &null));
    pool.version = DatumGetInt32(value(row, 16, &null));
    return pool;
}

// The argument of a statement; without a type: none.
struct Argument {
    Oid type = InvalidOid;
    Datum value = 0;
};

// The rows that are committed or of this transaction, each converted by `read`. With an argument, only indexes are
// used, with one plan for any number of values.
template <typename Row>
std::span<const Row> query(SPIPlanPtr *plan, const char *sql, const Argument &argument, Row (*read)(std::size_t)) {
    std::array<Oid, 1> types{argument.type};
    std::array<Datum, 1> values{argument.value};
    const bool has_argument = OidIsValid(argument.type);
    MemoryContext caller = CurrentMemoryContext;
    PushActiveSnapshot(GetLatestSnapshot());
    store::AsOwner as_owner;
    as_owner.begin();
    if (*plan == nullptr) {
        SPIPlanPtr prepared = SPI_prepare_cursor(sql, has_argument ? 1 : 0, types.data(), CURSOR_OPT_GENERIC_PLAN);
        if (prepared == nullptr)
            elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
        SPI_keepplan(prepared);
        *plan = prepared;
    }
    const int settings_level = has_argument ? store::use_indexes_only() : 0;
    const int code = SPI_execute_plan(*plan, values.data(), nullptr, true, 0);
    if (code != SPI_OK_SELECT)
        elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(code));
    if (has_argument)
        AtEOXact_GUC(true, settings_level);
    MemoryContext spi = MemoryContextSwitchTo(caller);
    const auto rows = allocate<Row>(SPI_processed);
    for (std::size_t i = 0; i < rows.size(); i++)
        rows[i] = read(i);
    MemoryContextSwitchTo(spi);
    as_owner.end();
    PopActiveSnapshot();
    return rows;
}

// Of the rows that the owner of the tables may see.
PoolNumbers numbers_of(std::size_t row) {
    bool null = false;
    return {.pool = DatumGetTextPCopy(value(row, 1, &null)),
            .resource = DatumGetTextPCopy(value(row, 2, &null)),
            .capacity = DatumGetFloat8(value(row, 3, &null)),
            .reserved = DatumGetFloat8(value(row, 4, &null)),
            .free = DatumGetFloat8(value(row, 5, &null)),
            .waiting = DatumGetInt64(value(row, 6, &null)),
            .placed = DatumGetInt64(value(row, 7, &null)),
            .open = DatumGetBool(value(row, 8, &null))};
}

// Changes one pool. False: no row was changed.
template <std::size_t Count>
bool change(SPIPlanPtr *plan, const char *sql, std::array<Oid, Count> types, std::array<Datum, Count> values,
            const char *nulls, int expected = SPI_OK_UPDATE) {
    store::AsOwner as_owner;
    as_owner.begin();
    store::run(plan, sql, types, values, nulls, expected);
    const bool changed = SPI_processed > 0;
    as_owner.end();
    return changed;
}

void change_roles(SPIPlanPtr *plan, const char *sql, int64 pool, const text *role) {
    change<2>(plan, sql, {INT8OID, TEXTOID}, {Int64GetDatum(pool), PointerGetDatum(role)}, nullptr);
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
    return rights::has_any(user, pool.owner, pool.grantees[static_cast<std::size_t>(PoolPrivilege::admin)]) ||
           rights::has_any(user, pool.owner, pool.grantees[static_cast<std::size_t>(privilege)]);
}

bool may_see(const PoolRow &pool) { return may(pool, PoolPrivilege::use) || may(pool, PoolPrivilege::report); }

std::optional<PoolRow> find_pool(const text *name) {
    const auto pools = query(&find_statement, SCYLLA_POOL_COLUMNS "where p.name operator(pg_catalog.=) $1",
                             {TEXTOID, PointerGetDatum(name)}, pool_row);
    return pools.empty() ? std::nullopt : std::optional(pools[0]);
}

std::span<const PoolRow> read_pools() {
    return query(&read_statement, SCYLLA_POOL_COLUMNS "order by p.id", {}, pool_row);
}

std::span<const PoolRow> read_pools(std::span<const int64> ids) {
    const auto datums = allocate<Datum>(ids.size());
    for (std::size_t i = 0; i < ids.size(); i++)
        datums[i] = Int64GetDatum(ids[i]);
    ArrayType *array =
        construct_array(datums.data(), static_cast<int>(ids.size()), INT8OID, sizeof(int64), FLOAT8PASSBYVAL, 'd');
    return query(&some_statement, SCYLLA_POOL_COLUMNS "where p.id operator(pg_catalog.=) any ($1) order by p.id",
                 {INT8ARRAYOID, PointerGetDatum(array)}, pool_row);
}

std::span<const PoolRow> read_pools(std::span<const std::string_view> names) {
    const auto datums = allocate<Datum>(names.size());
    for (std::size_t i = 0; i < names.size(); i++)
        datums[i] = PointerGetDatum(cstring_to_text_with_len(names[i].data(), static_cast<int>(names[i].size())));
    ArrayType *array = construct_array(datums.data(), static_cast<int>(names.size()), TEXTOID, -1, false, 'i');
    return query(&named_statement, SCYLLA_POOL_COLUMNS "where p.name operator(pg_catalog.=) any ($1)",
                 {TEXTARRAYOID, PointerGetDatum(array)}, pool_row);
}

std::span<const PoolNumbers> read_pool_numbers() {
    const auto all =
        query(&numbers_statement,
              "select p.pool, c.key, c.value::float8, (p.reserved ->> c.key)::float8, (p.free ->> c.key)::float8, "
              "p.waiting, p.placed, not (p.drained or p.stale) from scylla._pool p "
              "cross join lateral pg_catalog.jsonb_each_text(p.capacity) c "
              "order by p.pool collate pg_catalog.\"C\", c.key collate pg_catalog.\"C\"",
              {}, numbers_of);
    if (has_privs_of_role(GetUserId(), ROLE_PG_MONITOR))
        return all;
    Growing<std::string_view> names;
    for (const PoolRow &pool : read_pools())
        if (may_see(pool))
            names.add(view(pool.name));
    const auto may_see_these = names.all();
    std::sort(may_see_these.begin(), may_see_these.end());
    Growing<PoolNumbers> seen;
    for (const PoolNumbers &row : all)
        if (std::binary_search(may_see_these.begin(), may_see_these.end(), view(row.pool)))
            seen.add(row);
    return seen.all();
}

PoolRow require_pool(const text *name) {
    const auto pool = find_pool(name);
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
    NameData owner{};
    namestrcpy(&owner, GetUserNameFromId(GetUserId(), false));
    const char nulls[] = {' ', ' ', ' ', ' ', settings.metrics_max_age == nullptr ? 'n' : ' ', ' '};
    if (!change<6>(
            &create_statement,
            "insert into scylla.resource_pool (name, capacity, policy, max_bypass, metrics_max_age, owner) "
            "values ($1, $2, $3, $4, $5, $6) on conflict (name) do nothing",
            {TEXTOID, JSONBOID, TEXTOID, INT4OID, INTERVALOID, NAMEOID},
            {PointerGetDatum(name), PointerGetDatum(settings.capacity),
             CStringGetTextDatum(k_policies[static_cast<std::size_t>(settings.policy.value_or(Policy::backfill))]),
             Int32GetDatum(settings.max_bypass.value_or(k_max_bypass)), PointerGetDatum(settings.metrics_max_age),
             NameGetDatum(&owner)},
            nulls, SPI_OK_INSERT))
        error::duplicate_pool(name);
    CommandCounterIncrement();
    change<1>(&head_statement,
              "insert into scylla.pool_head (pool, task, passed) select id, 0, 0 from scylla.resource_pool "
              "where name operator(pg_catalog.=) $1",
              {TEXTOID}, {PointerGetDatum(name)}, nullptr, SPI_OK_INSERT);
}

void alter_pool(const text *name, const PoolSettings &changes) {
    const PoolRow pool = require_pool(name, PoolPrivilege::admin);
    const char nulls[] = {
        ' ', changes.capacity == nullptr ? 'n' : ' ',       changes.policy ? ' ' : 'n', changes.max_bypass ? ' ' : 'n',
        ' ', changes.metrics_max_age == nullptr ? 'n' : ' '};
    change<6>(&alter_statement,
              "update scylla.resource_pool set capacity = coalesce($2, capacity), "
              "version = version operator(pg_catalog.+) case when $2 is null then 0 else 1 end, policy = coalesce($3, "
              "policy), "
              "max_bypass = coalesce($4, max_bypass), metrics_max_age = case when $5 then $6 else metrics_max_age end "
              "where id operator(pg_catalog.=) $1",
              {INT8OID, JSONBOID, TEXTOID, INT4OID, BOOLOID, INTERVALOID},
              {Int64GetDatum(pool.id), PointerGetDatum(changes.capacity),
               CStringGetTextDatum(k_policies[static_cast<std::size_t>(changes.policy.value_or(Policy::backfill))]),
               Int32GetDatum(changes.max_bypass.value_or(0)), BoolGetDatum(changes.changes_max_age),
               PointerGetDatum(changes.metrics_max_age)},
              nulls);
    shmem::note_pool(pool.id);
}

void set_drained(const text *name, bool drained) {
    const PoolRow pool = require_pool(name, PoolPrivilege::admin);
    change<2>(&drain_statement, "update scylla.resource_pool set drained = $2 where id operator(pg_catalog.=) $1",
              {INT8OID, BOOLOID}, {Int64GetDatum(pool.id), BoolGetDatum(drained)}, nullptr);
    shmem::note_pool(pool.id);
}

void report_usage(const text *name, Jsonb *used, TimestampTz at) {
    const PoolRow pool = require_pool(name, PoolPrivilege::report);
    require_resources(pool.capacity, read_amounts("used", used), "used", name);
    change<3>(&report_statement,
              "with older as (delete from scylla.pool_report r using (select ctid from scylla.pool_report "
              "where pool operator(pg_catalog.=) $1 and at operator(pg_catalog.<) $3 for update skip locked) old "
              "where r.ctid operator(pg_catalog.=) old.ctid) "
              "insert into scylla.pool_report (pool, at, used) values ($1, $3, $2)",
              {INT8OID, JSONBOID, TIMESTAMPTZOID},
              {Int64GetDatum(pool.id), PointerGetDatum(used), TimestampTzGetDatum(at)}, nullptr, SPI_OK_INSERT);
    shmem::note_pool(pool.id);
}

// A submit that has found the pool may write its task after the check for tasks here. As in drop_queue(), this removes
// the pool, announces that, and then looks for tasks; the submit looks for the pool after it has written its task. A
// submit that finds the pool while it is being removed waits.
void drop_pool(store::Store &store, const text *name) {
    const PoolRow pool = require_pool(name, PoolPrivilege::admin);
    const LOCKTAG tag = pool_lock_tag(pool.id);
    (void)LockAcquire(&tag, ExclusiveLock, false, false); // to the end of the transaction
    const bool removed = change<1>(&drop_statement,
                                   "with head as (delete from scylla.pool_head where pool operator(pg_catalog.=) $1), "
                                   "reports as (delete from scylla.pool_report where pool operator(pg_catalog.=) $1) "
                                   "delete from scylla.resource_pool where id operator(pg_catalog.=) $1",
                                   {INT8OID}, {Int64GetDatum(pool.id)}, nullptr, SPI_OK_DELETE);
    if (!removed)
        error::no_such_pool(name); // it has been removed meanwhile
    store::tell_at_once(store::TableId::line);
    store::tell_changed(store::TableId::line);
    refresh(store);
    if (has_live_dependants(store, pool.id))
        error::pool_in_use(name);
}

void require_found_pools(store::Store &store) {
    for (const store::PoolUse &use : store.pool_uses.all()) {
        const bool exists = change<1>(&exists_statement,
                                      "select 1 from scylla.resource_pool where id operator(pg_catalog.=) $1 "
                                      "for key share",
                                      {INT8OID}, {Int64GetDatum(use.id)}, nullptr, SPI_OK_SELECT);
        if (!exists)
            error::no_such_pool(use.name); // it was dropped by a transaction that did not see the tasks
    }
}

void grant_pool(const text *name, const text *role, PoolPrivilege privilege) {
    constexpr std::array<const char *, 3> k_statements = {
        "update scylla.resource_pool set users = pg_catalog.array_append(pg_catalog.array_remove(users, $2), $2) "
        "where id operator(pg_catalog.=) $1",
        "update scylla.resource_pool set reporters = "
        "pg_catalog.array_append(pg_catalog.array_remove(reporters, $2), $2) where id operator(pg_catalog.=) $1",
        "update scylla.resource_pool set admins = pg_catalog.array_append(pg_catalog.array_remove(admins, $2), $2) "
        "where id operator(pg_catalog.=) $1"};
    const PoolRow pool = require_pool(name, PoolPrivilege::admin);
    rights::require_grantee(role, "pool");
    const auto p = static_cast<std::size_t>(privilege);
    change_roles(&grant_statements[p], k_statements[p], pool.id, role);
}

void revoke_pool(const text *name, const text *role, PoolPrivilege privilege) {
    constexpr std::array<const char *, 3> k_statements = {
        "update scylla.resource_pool set users = nullif(pg_catalog.array_remove(users, $2), '{}') "
        "where id operator(pg_catalog.=) $1",
        "update scylla.resource_pool set reporters = nullif(pg_catalog.array_remove(reporters, $2), '{}') "
        "where id operator(pg_catalog.=) $1",
        "update scylla.resource_pool set admins = nullif(pg_catalog.array_remove(admins, $2), '{}') "
        "where id operator(pg_catalog.=) $1"};
    const PoolRow pool = require_pool(name, PoolPrivilege::admin);
    const auto p = static_cast<std::size_t>(privilege);
    change_roles(&revoke_statements[p], k_statements[p], pool.id, role);
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

void note_passed(int64 pool, int64 head, int64 passed) {
    change<3>(&passed_statement,
              "update scylla.pool_head h set task = $2, passed = $3 from (select pool from scylla.pool_head "
              "where pool operator(pg_catalog.=) $1 for update skip locked) held "
              "where h.pool operator(pg_catalog.=) held.pool",
              {INT8OID, INT8OID, INT8OID}, {Int64GetDatum(pool), Int64GetDatum(head), Int64GetDatum(passed)}, nullptr);
}

} // namespace scylla
