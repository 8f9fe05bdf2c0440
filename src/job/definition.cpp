// Definitions of job types: what define_job() accepts, and what it stores.
#include "job/jobs.h"
#include "model/bounds.h"
#include "model/graph.h"
#include "pg/error.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "store/spi_rows.h"
#include "task/retry.h"
#include "task/rights.h"
#include "task/rules.h"

extern "C" {
#include "utils/varlena.h"
}

namespace scylla::job {

using store::Parameters;

namespace {

constinit SPIPlanPtr hold_statement = nullptr;
constinit SPIPlanPtr insert_statement = nullptr;
constinit SPIPlanPtr update_statement = nullptr;
constinit SPIPlanPtr dependant_statement = nullptr;
constinit SPIPlanPtr drop_statement = nullptr;
constinit SPIPlanPtr grant_statement = nullptr;
constinit SPIPlanPtr revoke_statement = nullptr;
constinit SPIPlanPtr closure_statement = nullptr;

constexpr const char *k_needs_rule =
    R"(It must be an array of objects {"job": name, "max_lag": interval, "args": {...}, "unique": boolean, "allow_missing": boolean}.)";
constexpr const char *k_object_rule = "It must be an object.";
constexpr const char *k_ids_rule = "It may not have the member \"ids\", which the plan sets.";
constexpr const char *k_select_work_rule =
    "It must be the name of a function with one argument of type jsonb that returns setof bigint or bigint[].";

int64 to_chunk_size(JsonbValue *value) {
    const int32 size = json::to_int("chunk_size", value);
    if (size < 1)
        error::bad_argument("chunk_size", json::show(value), "It must be at least 1; null: all ids are one chunk.");
    return size;
}

int64 to_lag(JsonbValue *value, int64 element) {
    const Interval *lag = json::to_interval("max_lag", value, element);
    const auto length = model::interval_length(lag->month, lag->day, lag->time, 0, model::k_max_retention);
    if (!length)
        error::bad_argument("max_lag", json::show(value), "It must be between 0 and 100 years.", element);
    return *length;
}

Need read_need(JsonbValue *object, int64 element) {
    if (object->type != jbvBinary || !JsonContainerIsObject(object->val.binary.data))
        error::bad_argument("needs", json::show(object), k_needs_rule, element);
    Need need{.job = nullptr, .max_lag = -1, .args = nullptr, .unique = false, .allow_missing = false};
    json::for_each_member(object->val.binary.data, [&](const char *argument, JsonbValue *value) {
        const std::string_view member(argument);
        if (value->type == jbvNull)
            return;
        if (member == "job")
            need.job = args::name(argument, json::to_text(argument, value, element), element);
        else if (member == "max_lag")
            need.max_lag = to_lag(value, element);
        else if (member == "args")
            need.args = read_args(argument, json::to_jsonb(value), element);
        else if (member == "unique")
            need.unique = json::to_bool(argument, value, element);
        else if (member == "allow_missing")
            need.allow_missing = json::to_bool(argument, value, element);
        else
            error::bad_argument("needs", json::show(object), k_needs_rule, element);
    });
    if (need.job == nullptr || need.max_lag < 0)
        error::bad_argument("needs", json::show(object), k_needs_rule, element);
    return need;
}

struct Found {
    Oid function;
    bool set;
};
// function 0: no such function, or not of the right kind.
Found look_for_select_work(const char *name) {
    List *parts = NIL;
    if (!SplitIdentifierString(pstrdup(name), '.', &parts) || parts == NIL || list_length(parts) > 3)
        return {InvalidOid, false};
    const Oid type = JSONBOID;
    const Oid function = LookupFuncName(compat::qualified_name(name), 1, &type, true);
    HeapTuple tuple = OidIsValid(function) ? SearchSysCache1(PROCOID, ObjectIdGetDatum(function)) : nullptr;
    if (!HeapTupleIsValid(tuple))
        return {InvalidOid, false};
    const auto *row = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
    const Found found{row->prokind == PROKIND_FUNCTION && row->prorettype == (row->proretset ? INT8OID : INT8ARRAYOID)
                          ? function
                          : InvalidOid,
                      row->proretset};
    ReleaseSysCache(tuple);
    return found;
}

// Locks the definition. Nothing: it does not exist.
struct Held {
    int64 id;
    const char *owner;
};
std::optional<Held> hold(const text *job) {
    Parameters parameters;
    parameters.add(job);
    const auto held = store::select<Held>(
        &hold_statement,
        "select id, owner::pg_catalog.text from scylla.job_definition where name operator(pg_catalog.=) $1 "
        "for no key update",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            store::Columns columns(row);
            const int64 id = columns.next_int64();
            return Held{id, columns.next_string()};
        });
    return held.empty() ? std::nullopt : std::optional(held[0]);
}

// types: the closure, each after those that need it. 22023 if some need each other.
void require_no_cycle(std::span<const Type> types) {
    const auto first = allocate<std::size_t>(types.size() + 1);
    Growing<std::size_t> targets;
    for (std::size_t i = 0; i < types.size(); i++) {
        first[i] = targets.size();
        for (const Need &need : types[i].needs)
            for (std::size_t other = 0; other < types.size(); other++)
                if (equal(types[other].name, need.job))
                    targets.push_back(other);
    }
    first[types.size()] = targets.size();
    const auto cycle = model::find_cycle({first, targets.all()}, allocate<model::CycleWork>(types.size()),
                                         allocate<std::size_t>(types.size()));
    if (cycle.empty())
        return;
    StringInfoData path;
    initStringInfo(&path);
    for (const std::size_t type : cycle)
        appendStringInfo(&path, "%s -> ", text_to_cstring(types[type].name));
    appendStringInfoString(&path, text_to_cstring(types[cycle[0]].name));
    error::job_cycle(path.data);
}

Jsonb *with_select_work(Jsonb *settings, const text *function) {
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::push_text(&state, "select_work", function);
    Jsonb *member = JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
    return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(settings), JsonbPGetDatum(member)));
}

} // namespace

Jsonb *read_args(const char *argument, Jsonb *args, int64 element) {
    if (args == nullptr)
        return nullptr;
    if (!json::is_object(args))
        error::bad_argument(argument, error::show(args), k_object_rule, element);
    JsonbValue value;
    if (getKeyJsonValueFromContainer(&args->root, "ids", 3, &value) != nullptr)
        error::bad_argument(argument, error::show(args), k_ids_rule, element);
    return args::document(argument, args, element);
}

const text *find_select_work(const text *name) {
    const Found found = look_for_select_work(text_to_cstring(name));
    if (!OidIsValid(found.function))
        error::bad_argument("select_work", error::quote(name), k_select_work_rule);
    if (!compat::may_execute(found.function, GetUserId()))
        aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, get_func_name(found.function));
    return cstring_to_text(quote_qualified_identifier(get_namespace_name(get_func_namespace(found.function)),
                                                      get_func_name(found.function)));
}

bool returns_set(const text *job, const text *select_work) {
    const Found found = look_for_select_work(text_to_cstring(select_work));
    if (!OidIsValid(found.function))
        error::other_select_work(job, text_to_cstring(select_work));
    return found.set;
}

Settings read_settings(Jsonb *settings) {
    Settings read;
    if (!json::is_object(settings))
        error::bad_argument("settings", error::show(settings), k_object_rule);
    json::for_each_member(&settings->root, [&](const char *argument, JsonbValue *value) {
        const std::string_view member(argument);
        const bool is_null = value->type == jbvNull;
        if (member == "sources" || member == "sinks")
            (void)args::document(argument, json::to_jsonb(value));
        else if (member == "chunk_size")
            read.chunk_size = is_null ? 0 : to_chunk_size(value);
        else if (member == "select_work")
            read.select_work = is_null ? nullptr : json::to_text(argument, value);
        else if (member == "args")
            read.args = is_null ? nullptr : read_args(argument, json::to_jsonb(value));
        else if (member == "allow_multiple")
            read.allow_multiple = is_null || json::to_bool(argument, value);
        else if (member == "priority")
            read.priority = is_null ? 0 : args::priority(json::to_int(argument, value));
        else if (member == "max_attempts")
            read.max_attempts = is_null ? std::nullopt : args::max_attempts(json::to_int(argument, value));
        else if (member == "retry")
            read.retry = is_null ? nullptr : json::to_jsonb(value);
        else if (member == "run_timeout")
            read.run_timeout = is_null ? std::nullopt : args::timeout(argument, json::to_interval(argument, value, 0));
        else
            error::bad_argument("settings", error::quote(cstring_to_text(argument)),
                                "There is no such setting of a job.");
    });
    if (read.retry != nullptr)
        (void)read_retry_policy(args::document("retry", read.retry));
    return read;
}

std::span<const Need> read_needs(Jsonb *needs) {
    if (needs == nullptr || !JB_ROOT_IS_ARRAY(needs) || JB_ROOT_IS_SCALAR(needs))
        error::bad_argument("needs", error::show(needs), k_needs_rule);
    const auto read = allocate<Need>(JB_ROOT_COUNT(needs));
    for (std::size_t i = 0; i < read.size(); i++)
        read[i] =
            read_need(getIthJsonbValueFromContainer(&needs->root, static_cast<uint32>(i)), static_cast<int64>(i) + 1);
    return read;
}

void define(store::Store &store, const Definition &definition) {
    const Settings settings = read_settings(definition.settings);
    Jsonb *stored = settings.select_work == nullptr
                        ? definition.settings
                        : with_select_work(definition.settings, find_select_work(settings.select_work));
    const auto needs = read_needs(definition.needs);
    for (std::size_t i = 0; i < needs.size(); i++)
        if (!equal(needs[i].job, definition.job) && read_closure(needs[i].job, nullptr).empty())
            error::no_such_job(needs[i].job);
    (void)rights::require_queue(store, definition.queue, model::Privilege::submit);

    const auto held = hold(definition.job);
    if (held && !rights::owns(held->owner))
        error::not_job_owner(definition.job);
    NameData owner{};
    namestrcpy(&owner, GetUserNameFromId(GetUserId(), false));
    Parameters parameters;
    parameters.add(definition.job)
        .add(definition.queue)
        .add(JSONBOID, JsonbPGetDatum(stored))
        .add(JSONBOID, JsonbPGetDatum(definition.needs));
    if (held)
        store::change(&update_statement,
                      "update scylla.job_definition set queue = $2, settings = $3, needs = $4, "
                      "changed = pg_catalog.clock_timestamp() where name operator(pg_catalog.=) $1",
                      parameters, SPI_OK_UPDATE);
    else
        store::change(&insert_statement,
                      "insert into scylla.job_definition (name, queue, settings, needs, owner) "
                      "values ($1, $2, $3, $4, $5)",
                      parameters.add(NAMEOID, NameGetDatum(&owner)), SPI_OK_INSERT);
    require_no_cycle(read_closure(definition.job, nullptr));
}

int64 require_own(const text *job) {
    const auto held = hold(job);
    if (!held)
        error::no_such_job(job);
    if (!rights::owns(held->owner))
        error::not_job_owner(job);
    return held->id;
}

void drop(const text *job) {
    const int64 id = require_own(job);
    Parameters parameters;
    parameters.add(job);
    const auto dependant =
        store::select<text *>(&dependant_statement,
                              "select d.name from scylla.job_definition d where d.name operator(pg_catalog.<>) $1 and "
                              "d.needs operator(pg_catalog.@>) "
                              "pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('job', $1)) limit 1",
                              parameters, SPI_OK_SELECT, [](uint64 row) { return store::Columns(row).next_text(); });
    if (!dependant.empty())
        error::job_needed(job, dependant[0]);
    Parameters of;
    of.add(id);
    store::change(&drop_statement,
                  "with success as (delete from scylla.job_success where job operator(pg_catalog.=) $1) "
                  "delete from scylla.job_definition where id operator(pg_catalog.=) $1",
                  of, SPI_OK_DELETE);
}

void grant_run(const text *job, const text *role) {
    const int64 id = require_own(job);
    rights::require_grantee(role, "job");
    Parameters parameters;
    parameters.add(id).add(role);
    store::change(
        &grant_statement,
        "update scylla.job_definition set runners = "
        "pg_catalog.array_append(pg_catalog.array_remove(runners, $2), $2) where id operator(pg_catalog.=) $1",
        parameters, SPI_OK_UPDATE);
}

void revoke_run(const text *job, const text *role) {
    const int64 id = require_own(job);
    Parameters parameters;
    parameters.add(id).add(role);
    store::change(&revoke_statement,
                  "update scylla.job_definition set runners = nullif(pg_catalog.array_remove(runners, $2), '{}') "
                  "where id operator(pg_catalog.=) $1",
                  parameters, SPI_OK_UPDATE);
}

namespace {

struct ClosureRow {
    int64 id;
    const text *name;
    const char *owner;
    text *queue;
    Jsonb *settings;
    Jsonb *needs;
    ArrayType *runners;
    std::optional<TimestampTz> last_plan;
};

// $1: the name of a job type; $2: a variant.
constexpr const char *k_closure =
    "with recursive closure (name) as (select $1 union select n.value operator(pg_catalog.->>) 'job' from closure c "
    "join scylla.job_definition d on d.name operator(pg_catalog.=) c.name "
    "cross join lateral pg_catalog.jsonb_array_elements(d.needs) n) "
    "select d.id, d.name, d.owner::pg_catalog.text, d.queue, d.settings, d.needs, d.runners, "
    "(select r.created from scylla.job_run r "
    "join scylla.task_plan p on p.id operator(pg_catalog.=) r.plan where r.job operator(pg_catalog.=) d.id "
    "and r.variant operator(pg_catalog.=) $2 and p.finished is not null and not p.cancelled and not p.failed "
    "order by r.created desc limit 1) "
    "from closure c join scylla.job_definition d on d.name operator(pg_catalog.=) c.name "
    "order by d.name operator(pg_catalog.<>) $1, d.name";

} // namespace

std::span<const Type> read_closure(const text *job, const text *variant) {
    Parameters parameters;
    parameters.add(job).add(variant != nullptr ? variant : cstring_to_text(""));
    const auto rows =
        store::select<ClosureRow>(&closure_statement, k_closure, parameters, SPI_OK_SELECT, [](uint64 row) {
            store::Columns columns(row);
            ClosureRow read{};
            read.id = columns.next_int64();
            read.name = columns.next_text();
            read.owner = columns.next_string();
            read.queue = columns.next_text();
            read.settings = columns.next_jsonb();
            read.needs = columns.next_jsonb();
            read.runners = columns.next_array();
            read.last_plan = columns.next_time();
            return read;
        });
    const auto types = allocate<Type>(rows.size());
    for (std::size_t i = 0; i < rows.size(); i++)
        types[i] = {.id = rows[i].id,
                    .name = rows[i].name,
                    .owner = rows[i].owner,
                    .queue = rows[i].queue,
                    .settings = read_settings(rows[i].settings),
                    .needs = read_needs(rows[i].needs),
                    .runners = rows[i].runners,
                    .last_plan = rows[i].last_plan.value_or(model::k_never)};
    return types;
}

} // namespace scylla::job
