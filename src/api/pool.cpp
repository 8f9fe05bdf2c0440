// create_pool, alter_pool, drop_pool, drain_pool, resume_pool, report_usage, grant_pool, revoke_pool, place.
#include "api/arguments.h"
#include "api/observed.h"
#include "api/rows.h"
#include "pg/error.h"
#include "pg/json.h"
#include "pg/text.h"
#include "pool/first.h"
#include "pool/pass.h"
#include "pool/pools.h"
#include "shmem/pending.h"
#include "store/plans.h"
#include "task/open.h"
#include "task/rights.h"
#include "task/rules.h"

namespace scylla {

namespace {

model::Policy to_policy(const text *value) {
    for (std::size_t p = 0; p < model::k_policies.size(); p++)
        if (view(value) == model::k_policies[p])
            return static_cast<model::Policy>(p);
    error::bad_argument("policy", error::quote(value), "It must be \"strict\", \"greedy\" or \"backfill\".");
}

int32 to_max_bypass(JsonbValue *value) {
    const int32 number = json::to_int("max_bypass", value);
    if (number < 0)
        error::bad_argument("max_bypass", json::show(value), "It must not be negative.");
    return number;
}

// The members that alter_pool() and the settings of create_pool() have in common. False: it is none of them.
bool read_setting(std::string_view name, JsonbValue *value, PoolSettings *settings) {
    const bool is_default = value->type == jbvNull;
    if (name == "max_bypass")
        settings->max_bypass = is_default ? k_max_bypass : to_max_bypass(value);
    else if (name == "metrics_max_age") {
        settings->changes_max_age = true;
        settings->metrics_max_age = is_default ? nullptr : json::to_interval("metrics_max_age", value);
        (void)args::timeout("metrics_max_age", settings->metrics_max_age);
    } else
        return false;
    return true;
}

PoolSettings read_settings(Jsonb *object) {
    PoolSettings settings{};
    if (object == nullptr)
        return settings;
    if (!json::is_object(object))
        error::bad_argument("settings", error::show(object), "It must be an object.");
    json::for_each_member(&object->root, [&](const char *name, JsonbValue *value) {
        if (!read_setting(name, value, &settings))
            error::bad_argument("settings", error::quote(cstring_to_text(name)),
                                "It may have \"max_bypass\" and \"metrics_max_age\".");
    });
    return settings;
}

PoolSettings read_changes(Jsonb *object) {
    PoolSettings changes{};
    if (!json::is_object(object))
        error::bad_argument("changes", error::show(object), "It must be an object.");
    json::for_each_member(&object->root, [&](const char *name, JsonbValue *value) {
        const std::string_view member(name);
        if (member == "capacity") {
            changes.capacity = json::to_jsonb(value);
            (void)read_amounts("capacity", changes.capacity);
        } else if (member == "policy")
            changes.policy = value->type == jbvNull ? model::Policy::backfill : to_policy(json::to_text(name, value));
        else if (!read_setting(member, value, &changes))
            error::bad_argument("changes", error::quote(cstring_to_text(name)),
                                "It may have \"capacity\", \"policy\", \"max_bypass\" and \"metrics_max_age\".");
    });
    return changes;
}

PoolPrivilege to_privilege(const args::Named<text *> &given) {
    return args::one_of<PoolPrivilege>(given, k_pool_privileges, "It must be \"use\", \"report\" or \"admin\".");
}

// The pool to change. Those of workflows change with the workflows only.
const text *to_pool(const args::Named<text *> &given) {
    const text *pool = args::name(given);
    if (view(pool).starts_with(store::k_run_prefix))
        error::bad_argument("pool", error::quote(pool), "Names with \"workflow:\" are for workflows.");
    return pool;
}

void put_placed(void *to, const store::SpecRow &spec, const text *pool) {
    const auto *rows = static_cast<const Rows *>(to);
    Datum values[] = {PointerGetDatum(spec.rn), PointerGetDatum(pool)};
    bool nulls[] = {false, pool == nullptr};
    tuplestore_putvalues(rows->store, rows->type, values, nulls);
}

// The pools that the caller may place in.
std::span<const int64> pools_to_place(store::Store &store, const text *name) {
    Growing<int64> ids;
    if (name != nullptr)
        ids.add(require_pool(name, PoolPrivilege::admin).id);
    else
        for (const PoolRow &pool : store::pools::by_ids(pools_in_line(store)))
            if (may(pool, PoolPrivilege::admin))
                ids.add(pool.id);
    return ids.all();
}

// Whether the caller may see tasks of the queue that wait for the pool. pools: by id.
bool may_see(store::Store &store, std::span<const PoolRow> pools, int32 queue, int64 pool) {
    if (rights::may(store, queue, model::Privilege::view))
        return true;
    const auto found = std::lower_bound(pools.begin(), pools.end(), pool,
                                        [](const PoolRow &row, int64 wanted) { return row.id < wanted; });
    return found != pools.end() && found->id == pool && may(*found, PoolPrivilege::admin);
}

// The pool of that name, if there is one; without a name, those with a line, in the order of their names.
std::span<PoolRow> pools_to_list(store::Store &store, const text *name) {
    Growing<PoolRow> pools;
    if (name == nullptr)
        pools.add_all(store::pools::by_ids(pools_in_line(store)));
    else if (const auto pool = store::pools::find(name))
        pools.add(*pool);
    std::sort(pools.at, pools.at + pools.count,
              [](const PoolRow &a, const PoolRow &b) { return view(a.name) < view(b.name); });
    return pools.all();
}

template <typename Change> void change_pool(const args::Named<text *> &pool, const char *call, Change change) {
    const text *name = to_pool(pool);
    store::Store store = open_for_settings(call);
    change(name);
    close(store);
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_create_pool) {
    using namespace scylla;
    const args::CreatePool given{fcinfo};
    const text *name = to_pool(given.pool());
    PoolSettings settings = read_settings(given.settings());
    settings.capacity = given.capacity();
    (void)read_amounts("capacity", settings.capacity);
    if (const text *policy = given.policy())
        settings.policy = to_policy(policy);
    store::Store store = open_for_settings("scylla.create_pool()");
    create_pool(name, settings);
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_alter_pool) {
    using namespace scylla;
    const args::AlterPool given{fcinfo};
    const PoolSettings changes = read_changes(given.changes());
    change_pool(given.pool(), "scylla.alter_pool()", [&](const text *name) { alter_pool(name, changes); });
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_drop_pool) {
    using namespace scylla;
    const text *name = to_pool(args::DropPool{fcinfo}.pool());
    store::Store store = open_for_settings("scylla.drop_pool()");
    drop_pool(store, name);
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_drain_pool) {
    using namespace scylla;
    change_pool(args::DrainPool{fcinfo}.pool(), "scylla.drain_pool()",
                [](const text *name) { set_drained(name, true); });
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_resume_pool) {
    using namespace scylla;
    change_pool(args::ResumePool{fcinfo}.pool(), "scylla.resume_pool()",
                [](const text *name) { set_drained(name, false); });
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_report_usage) {
    using namespace scylla;
    const args::ReportUsage given{fcinfo};
    Jsonb *used = given.used();
    const TimestampTz at = observed_at(given.at());
    (void)read_amounts("used", used);
    change_pool(given.pool(), "scylla.report_usage()", [&](const text *name) { report_usage(name, used, at); });
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_grant_pool) {
    using namespace scylla;
    const args::GrantPool given{fcinfo};
    const text *role = args::name(given.role());
    const PoolPrivilege privilege = to_privilege(given.privilege());
    change_pool(given.pool(), "scylla.grant_pool()", [&](const text *name) { grant_pool(name, role, privilege); });
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_revoke_pool) {
    using namespace scylla;
    const args::RevokePool given{fcinfo};
    const text *role = args::name(given.role());
    const PoolPrivilege privilege = to_privilege(given.privilege());
    change_pool(given.pool(), "scylla.revoke_pool()", [&](const text *name) { revoke_pool(name, role, privilege); });
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_place) {
    using namespace scylla;
    const args::Place given{fcinfo};
    const text *name = args::optional_name(given.pool());
    Rows rows = begin_rows(fcinfo);
    store::Store store = open_for_write("scylla.place()");
    const auto pools = pools_to_place(store, name);
    if (!pools.empty())
        for (PassResult result{0, true}; result.more;)
            result = run_pass(store, {.pools = pools, .tells = true, .sink = {.put = put_placed, .to = &rows}});
    close(store);
    return 0;
}

// For the view pool_queue: (task_class, reason) and (pool, task, planned), of what the caller may see.
SCYLLA_FUNCTION(scylla_pool_lines) {
    using namespace scylla;
    const Rows rows = begin_rows(fcinfo);
    store::Store store = store::open(AccessShareLock, store::TableId::spec);
    const auto pools = store::pools::by_ids(pools_in_line(store));
    const Explanation lines = explain_lines(store);
    for (const WaitReason &each : lines.reasons) {
        if (!may_see(store, pools, each.queue, each.pool))
            continue;
        Datum values[] = {Int64GetDatum(each.task_class), CStringGetTextDatum(each.reason), 0, 0, 0};
        bool nulls[] = {false, false, true, true, true};
        tuplestore_putvalues(rows.store, rows.type, values, nulls);
    }
    for (const PlannedHead &each : lines.heads) {
        if (!may_see(store, pools, each.queue, each.pool))
            continue;
        Datum values[] = {0, 0, Int64GetDatum(each.pool), Int64GetDatum(each.task),
                          TimestampTzGetDatum(each.start.value_or(0))};
        bool nulls[] = {true, true, false, false, !each.start};
        tuplestore_putvalues(rows.store, rows.type, values, nulls);
    }
    close(store);
    return 0;
}

// For list_pool_queue(): (pool, seq) of the first tasks in line that the caller may see.
SCYLLA_FUNCTION(scylla_first_in_line) {
    using namespace scylla;
    const args::FirstInLine given{fcinfo};
    const text *name = args::optional_name("pool", given.of_pool());
    auto wanted = static_cast<std::size_t>(args::max_tasks(given.max_tasks().value_or(100)));
    const Rows rows = begin_rows(fcinfo);
    store::Store store = store::open(AccessShareLock);
    for (const PoolRow &pool : pools_to_list(store, name)) {
        const auto places = first_in_line(store, pool, wanted);
        wanted -= places.size();
        for (const LinePlace &place : places) {
            Datum values[] = {PointerGetDatum(pool.name), Int64GetDatum(place.task)};
            bool nulls[] = {false, false};
            tuplestore_putvalues(rows.store, rows.type, values, nulls);
        }
        if (wanted == 0)
            break;
    }
    close(store);
    return 0;
}
