// Definitions of job types: what define_job() accepts, and what it stores.
#include "job/jobs.h"
#include "model/bounds.h"
#include "model/graph.h"
#include "pg/error.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "store/job/jobs.h"
#include "task/retry.h"
#include "task/rights.h"
#include "task/rules.h"

extern "C" {
#include "utils/varlena.h"
}

namespace scylla::job {

namespace {

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

// The two ends of a range in JSON. Whole numbers up to 2^53, which a double has exactly.
std::optional<model::JobRange> to_range(JsonbValue *value) {
    constexpr float8 k_most = 9'007'199'254'740'992;
    JsonbContainer *ends = value->type == jbvBinary ? value->val.binary.data : nullptr;
    if (ends == nullptr || !JsonContainerIsArray(ends) || JsonContainerSize(ends) != 2)
        return std::nullopt;
    std::array<float8, 2> of{};
    for (std::size_t i = 0; i < of.size(); i++) {
        JsonbValue *end = getIthJsonbValueFromContainer(ends, static_cast<uint32>(i));
        if (end->type != jbvNumeric)
            return std::nullopt;
        of[i] = json::to_float("ids", end);
        if (!(std::abs(of[i]) <= k_most) || std::trunc(of[i]) != of[i])
            return std::nullopt;
    }
    if (of[0] > of[1])
        return std::nullopt;
    return model::JobRange{static_cast<int64>(of[0]), static_cast<int64>(of[1]) + 1};
}

// [[1, 3], [5, 5]], as in the specs of tasks.
Datum to_ids(JsonbValue *value) {
    JsonbContainer *array = value->type == jbvBinary ? value->val.binary.data : nullptr;
    Growing<model::JobRange> ranges;
    bool is_sound = array != nullptr && JsonContainerIsArray(array);
    for (uint32 i = 0; is_sound && i < JsonContainerSize(array); i++) {
        const auto range = to_range(getIthJsonbValueFromContainer(array, i));
        is_sound = range.has_value();
        if (range)
            ranges.push_back(*range);
    }
    if (!is_sound)
        error::bad_argument("ids", json::show(value),
                            "It must be an array of ranges with both ends, as [[1, 3], [5, 5]].");
    return make_ids(ranges.all());
}

// A month counts as 30 days, so that a hundred and one years would be less than 36,500 days.
int64 to_lag(const char *argument, JsonbValue *value, int64 element = 0) {
    constexpr int32 k_most_months = 100 * 12;
    const Interval *lag = json::to_interval(argument, value, element);
    const auto length = model::interval_length(lag->month, lag->day, lag->time, 0, model::k_max_retention);
    if (!length || lag->month > k_most_months)
        error::bad_argument(argument, json::show(value), "It must be between 0 and 100 years.", element);
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
            need.max_lag = to_lag(argument, value, element);
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
    json::Builder object = json::build_object();
    object.member("select_work", function);
    Jsonb *member = object.finish();
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
        else if (member == "ids")
            read.ids = is_null ? 0 : to_ids(value);
        else if (member == "max_wait")
            read.max_wait = is_null ? std::nullopt : std::optional(to_lag(argument, value));
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
    if (read.ids != 0 && read.select_work != nullptr)
        error::bad_argument("ids", error::print(read.ids, INT8MULTIRANGEOID),
                            "A job with the function select_work has no ids of its own.");
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

    const auto held = store::jobs::hold(definition.job);
    if (held && !rights::owns(held->owner))
        error::not_job_owner(definition.job);
    if (held)
        store::jobs::change(
            {.job = definition.job, .queue = definition.queue, .settings = stored, .needs = definition.needs});
    else
        store::jobs::add({.job = definition.job,
                          .queue = definition.queue,
                          .settings = stored,
                          .needs = definition.needs,
                          .owner = GetUserNameFromId(GetUserId(), false)});
    require_no_cycle(read_closure(definition.job, nullptr));
}

int64 require_own(const text *job) {
    const auto held = store::jobs::hold(job);
    if (!held)
        error::no_such_job(job);
    if (!rights::owns(held->owner))
        error::not_job_owner(job);
    return held->id;
}

void drop(const text *job) {
    const int64 id = require_own(job);
    if (const auto dependant = store::jobs::find_dependant(job))
        error::job_needed(job, *dependant);
    store::jobs::remove(id);
}

void grant_run(const text *job, const text *role) {
    const int64 id = require_own(job);
    rights::require_grantee(role, "job");
    store::jobs::grant_run(id, role);
}

void revoke_run(const text *job, const text *role) { store::jobs::revoke_run(require_own(job), role); }

std::span<const Type> read_closure(const text *job, const text *variant) {
    const auto rows = store::jobs::closure(job, variant != nullptr ? variant : cstring_to_text(""));
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
