// Recurring tasks. When a schedule comes is told by model/cron.h; what is done then is SQL, in
// sql/functions/schedule.sql. Here are the arguments, and the changes of identity: schedules are kept as the owner of
// the tables, whoever calls, and their tasks are submitted as the role that made the schedule, whoever ticks.
#include "model/cron.h"
#include "pg/error.h"
#include "pg/text.h"
#include "store/table.h"
#include "api/call.h"
#include "task/rules.h"

namespace scylla {

namespace {

constexpr int64 k_epoch = static_cast<int64>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;

int64 to_unix(TimestampTz time) { return model::cron_detail::floor_div(time, USECS_PER_SEC) + k_epoch; }
TimestampTz to_timestamp(int64 unix_time) { return (unix_time - k_epoch) * USECS_PER_SEC; }

const char *rule_for(model::CronFault fault) {
    using enum model::CronFault;
    switch (fault) {
    case minute:
        return "The field for the minute must be a list of numbers and ranges between 0 and 59.";
    case hour:
        return "The field for the hour must be a list of numbers and ranges between 0 and 23.";
    case day:
        return "The field for the day of the month must be a list of numbers and ranges between 1 and 31, or \"$\".";
    case month:
        return "The field for the month must be a list of numbers and ranges between 1 and 12, or of names like "
               "\"jan\".";
    case weekday:
        return "The field for the day of the week must be a list of numbers and ranges between 0 and 7, or of names "
               "like "
               "\"mon\".";
    case shorthand:
        return "The names are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly.";
    case seconds:
        return "It must be between 1 and 59 seconds.";
    case none:
    case fields:
        break;
    }
    return "It must have five fields (minute, hour, day of the month, month, day of the week), or be a name like "
           "@daily or "
           "\"30 seconds\".";
}

model::Cron get_cron(FunctionCallInfo fcinfo, int n) {
    const text *value = args::get_text(fcinfo, n);
    model::Cron cron;
    const auto fault = value == nullptr ? model::CronFault::fields : model::parse_cron(view(value), cron);
    if (fault != model::CronFault::none)
        error::bad_argument("cron", error::quote(value), rule_for(fault));
    return cron;
}

pg_tz *get_timezone(FunctionCallInfo fcinfo, int n) {
    const text *value = args::get_text(fcinfo, n);
    pg_tz *zone = value == nullptr || view(value).size() > TZ_STRLEN_MAX ? nullptr : pg_tzset(text_to_cstring(value));
    if (zone == nullptr || !pg_tz_acceptable(zone))
        error::bad_argument("timezone", error::quote(value), "It must be the name of a time zone.");
    return zone;
}

TimestampTz get_time(FunctionCallInfo fcinfo, int n, const char *argument) {
    const TimestampTz time = PG_ARGISNULL(n) ? GetCurrentTimestamp() : PG_GETARG_TIMESTAMPTZ(n);
    if (TIMESTAMP_NOT_FINITE(time))
        error::bad_argument(argument, TIMESTAMP_IS_NOBEGIN(time) ? "-infinity" : "infinity", "It must be finite.");
    return time;
}

std::optional<int64> come_next(const model::Cron &cron, int64 after, const pg_tz *zone) {
    const auto next = model::next_time(cron, after, [zone](int64 moment) {
        const pg_time_t time = moment;
        long offset = 0;
        long next_offset = 0;
        int dst = 0;
        pg_time_t end = 0;
        const int changes = pg_next_dst_boundary(&time, &offset, &dst, &end, &next_offset, &dst, zone);
        if (changes < 0)
            elog(ERROR, "could not look up the time zone \"%s\"", pg_get_timezone_name(const_cast<pg_tz *>(zone)));
        return model::ZoneSpan{offset, changes > 0, end, next_offset};
    });
    return next && *next <= to_unix(END_TIMESTAMP - 1) ? next : std::nullopt;
}

// ---- the arguments of schedule -------------------------------------------------------------------------------------

// One of the given words.
template <std::size_t N>
void check_word(FunctionCallInfo fcinfo, int n, const char *argument, const std::array<std::string_view, N> &words,
                const char *rule) {
    const text *value = args::get_text(fcinfo, n);
    if (value == nullptr || std::find(words.begin(), words.end(), view(value)) == words.end())
        error::bad_argument(argument, error::quote(value), rule);
}

// A finite time, or nothing.
std::optional<TimestampTz> get_limit(FunctionCallInfo fcinfo, int n, const char *argument) {
    return PG_ARGISNULL(n) ? std::nullopt : std::optional(get_time(fcinfo, n, argument));
}

void check_schedule_name(const text *name) {
    const auto chars =
        name == nullptr ? 0 : pg_mbstrlen_with_len(view(name).data(), static_cast<int>(view(name).size()));
    if (chars < 1 || chars > model::k_max_schedule_chars)
        error::bad_argument("name", error::quote(name), "It must have 1 to 150 characters.");
}

// The schedule must come at some time between its start and its end.
void check_times(FunctionCallInfo fcinfo, int timezone_arg, int starts_arg, int ends_arg) {
    const model::Cron cron = get_cron(fcinfo, 1);
    const pg_tz *zone = get_timezone(fcinfo, timezone_arg);
    const auto starts = get_limit(fcinfo, starts_arg, "starts");
    const auto ends = get_limit(fcinfo, ends_arg, "ends");
    if (!come_next(cron, to_unix(GetCurrentTimestamp()), zone))
        error::bad_argument("cron", error::quote(args::get_text(fcinfo, 1)), "There is no such day.");
    const TimestampTz after = Max(GetCurrentTimestamp(), starts ? *starts - 1 : 0);
    const auto next = come_next(cron, to_unix(after), zone);
    if (ends && (!next || to_timestamp(*next) >= *ends))
        error::bad_argument("ends", timestamptz_to_str(*ends), "There must be a time of the schedule before it.");
}

void check_options(Jsonb *options) {
    if (options == nullptr || !JB_ROOT_IS_OBJECT(options))
        error::bad_argument("options", error::show(options), "It must be an object.");
    for (const std::string_view key : {"queue", "spec", "rn", "not_before"}) {
        JsonbValue value;
        if (getKeyJsonValueFromContainer(&options->root, key.data(), static_cast<int>(key.size()), &value) != nullptr)
            error::bad_argument("options", error::show(options),
                                "The schedule itself gives queue, spec, rn and not_before.");
    }
}

void check_planned_key(const text *key, const Jsonb *spec) {
    if (key != nullptr && !JB_ROOT_IS_OBJECT(spec))
        error::bad_argument("planned_key", error::quote(key), "The spec must be an object to have a key.");
}

// The tasks of a plan, as far as submit_many does not look at them: it will.
void check_tasks(Jsonb *tasks, const text *planned_key) {
    if (tasks == nullptr || !JB_ROOT_IS_ARRAY(tasks) || JB_ROOT_IS_SCALAR(tasks) || JB_ROOT_COUNT(tasks) == 0)
        error::bad_argument("tasks", error::show(tasks), "It must be an array of objects, and not empty.");
    for (uint32 i = 0; i < JB_ROOT_COUNT(tasks); i++) {
        Jsonb *task = JsonbValueToJsonb(getIthJsonbValueFromContainer(&tasks->root, i));
        if (!JB_ROOT_IS_OBJECT(task))
            error::bad_argument("tasks", error::show(task), "Each element must be an object.", i + 1);
        JsonbValue value;
        const auto find = [&](std::string_view key) {
            return getKeyJsonValueFromContainer(&task->root, key.data(), static_cast<int>(key.size()), &value);
        };
        if (find("plan") != nullptr || find("not_before") != nullptr)
            error::bad_argument("tasks", error::show(task), "The schedule itself gives plan and not_before.", i + 1);
        if (find("rn") != nullptr && value.type != jbvString)
            error::bad_argument("rn", error::show(JsonbValueToJsonb(&value)), "It must be a text.", i + 1);
        if (find("depends_on") != nullptr && value.type != jbvNull &&
            !(value.type == jbvBinary && JsonContainerIsArray(value.val.binary.data)))
            error::bad_argument("depends_on", error::show(JsonbValueToJsonb(&value)), "It must be an array of texts.",
                                i + 1);
        const bool has_object =
            find("spec") != nullptr && value.type == jbvBinary && JsonContainerIsObject(value.val.binary.data);
        if (planned_key != nullptr && !has_object)
            error::bad_argument("planned_key", error::quote(planned_key), "The spec must be an object to have a key.",
                                i + 1);
    }
}

// What schedule and schedule_plan have in common: the name, when it comes, and from the time zone on the policies.
void check_policies(FunctionCallInfo fcinfo, int timezone_arg) {
    check_schedule_name(args::get_text(fcinfo, 0));
    const int n = timezone_arg;
    check_word(fcinfo, n + 1, "overlap", std::array<std::string_view, 3>{"allow", "skip", "replace"},
               "It must be \"allow\", \"skip\" or \"replace\".");
    check_word(fcinfo, n + 2, "catch_up", std::array<std::string_view, 3>{"none", "latest", "all"},
               "It must be \"none\", \"latest\" or \"all\".");
    args::grace(args::get_interval(fcinfo, n + 3));
    args::max_catch_up(args::get_int(fcinfo, n + 4));
    args::schedule_jitter(args::get_interval(fcinfo, n + 5));
    check_times(fcinfo, n, n + 6, n + 7);
    if (text *key = args::get_text(fcinfo, n + 8); key != nullptr)
        args::name("planned_key", key);
}

// ---- identity ------------------------------------------------------------------------------------------------------

// Calls the internal function of the same name with an underscore before it as the owner of the tables. It is given the
// role that calls, and after that all arguments. The identity comes back at the end, or by abort processing.
Datum call_as_owner(FunctionCallInfo fcinfo) {
    const char *name = get_func_name(fcinfo->flinfo->fn_oid);
    const char *call = psprintf("scylla.%s()", name);
    PreventCommandIfReadOnly(call);
    PreventCommandIfParallelMode(call);
    PreventCommandDuringRecovery(call);
    List *internal = list_make2(makeString(pstrdup("scylla")), makeString(psprintf("_%s", name)));
    FmgrInfo function;
    const Oid any = InvalidOid; // -1: whatever the types of its arguments are; they have to be given all the same
    fmgr_info(LookupFuncName(internal, -1, &any, false), &function);
    LOCAL_FCINFO(inner, FUNC_MAX_ARGS);
    InitFunctionCallInfoData(*inner, &function, static_cast<short>(fcinfo->nargs + 1), DEFAULT_COLLATION_OID, nullptr,
                             nullptr);
    Oid user = InvalidOid;
    int context = 0;
    GetUserIdAndSecContext(&user, &context);
    inner->args[0] = {ObjectIdGetDatum(user), false};
    for (int i = 0; i < fcinfo->nargs; i++)
        inner->args[i + 1] = fcinfo->args[i];
    SetUserIdAndSecContext(store::tables_owner(), context | SECURITY_LOCAL_USERID_CHANGE);
    const Datum result = FunctionCallInvoke(inner);
    SetUserIdAndSecContext(user, context);
    fcinfo->isnull = inner->isnull;
    return result;
}

} // namespace
} // namespace scylla

// cron_next(cron, after, timezone)
SCYLLA_FUNCTION(scylla_cron_next) {
    using namespace scylla;
    const model::Cron cron = get_cron(fcinfo, 0);
    const TimestampTz after = get_time(fcinfo, 1, "after");
    const auto next = come_next(cron, to_unix(after), get_timezone(fcinfo, 2));
    if (!next)
        PG_RETURN_NULL();
    PG_RETURN_TIMESTAMPTZ(to_timestamp(*next));
}

// _cron_due(cron, timezone, after, until, max_times, out total, out times): how often the schedule came after one
// moment until another, and the last max_times of these times in order.
SCYLLA_FUNCTION(scylla_cron_due) {
    using namespace scylla;
    const model::Cron cron = get_cron(fcinfo, 0);
    const pg_tz *zone = get_timezone(fcinfo, 1);
    int64 after = to_unix(get_time(fcinfo, 2, "after"));
    const int64 until = to_unix(get_time(fcinfo, 3, "until"));
    const int64 max_times = PG_GETARG_INT32(4);
    int64 total = 0;
    if (cron.seconds > 0) {
        // Of these there may be very many.
        using model::cron_detail::floor_div;
        total = Max(floor_div(until, cron.seconds) - floor_div(after, cron.seconds), 0);
        if (total > max_times)
            after = (floor_div(until, cron.seconds) - max_times) * cron.seconds;
    }
    // A ring, as it is not known how many will come.
    auto *const ring = static_cast<Datum *>(palloc(sizeof(Datum) * static_cast<Size>(max_times)));
    int64 found = 0;
    for (auto time = come_next(cron, after, zone); time && *time <= until; time = come_next(cron, *time, zone)) {
        CHECK_FOR_INTERRUPTS();
        ring[found++ % max_times] = TimestampTzGetDatum(to_timestamp(*time));
    }
    const int64 kept = Min(found, max_times);
    auto *const times = static_cast<Datum *>(palloc(sizeof(Datum) * static_cast<Size>(kept + 1)));
    for (int64 i = 0; i < kept; i++)
        times[i] = ring[(found - kept + i) % max_times];

    TupleDesc type = nullptr;
    if (get_call_result_type(fcinfo, nullptr, &type) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "_cron_due() must return a row");
    const Datum array = PointerGetDatum(construct_array(times, static_cast<int>(kept), TIMESTAMPTZOID,
                                                        sizeof(TimestampTz), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
    Datum values[] = {Int64GetDatum(Max(total, found)), array};
    bool nulls[] = {false, false};
    PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(type), values, nulls)));
}

// schedule(name, cron, queue, spec, timezone, overlap, catch_up, grace, max_catch_up, jitter, starts, ends,
// planned_key, options)
SCYLLA_FUNCTION(scylla_schedule) {
    using namespace scylla;
    check_policies(fcinfo, 4);
    args::name("queue", args::get_text(fcinfo, 2));
    const Jsonb *spec = args::spec(args::get_jsonb(fcinfo, 3));
    check_planned_key(args::get_text(fcinfo, 12), spec);
    check_options(args::document("options", args::get_jsonb(fcinfo, 13)));
    return call_as_owner(fcinfo);
}

// schedule_plan(name, cron, tasks, timezone, overlap, catch_up, grace, max_catch_up, jitter, starts, ends, planned_key)
SCYLLA_FUNCTION(scylla_schedule_plan) {
    using namespace scylla;
    check_policies(fcinfo, 3);
    check_tasks(args::document("tasks", args::get_jsonb(fcinfo, 2)), args::get_text(fcinfo, 11));
    return call_as_owner(fcinfo);
}

// unschedule, run_schedules, arm_schedules
SCYLLA_FUNCTION(scylla_call_as_owner) { return scylla::call_as_owner(fcinfo); }

// _as_role(role, query, argument): runs a query whose result is one number, $1 being the argument, as a role that the
// present one may become.
SCYLLA_FUNCTION(scylla_as_role) {
    using namespace scylla;
    const Oid role = PG_GETARG_OID(0);
    compat::require_can_become(GetUserId(), role);
    const char *query = text_to_cstring(PG_GETARG_TEXT_PP(1));
    Oid types[] = {JSONBOID};
    Datum values[] = {PG_GETARG_DATUM(2)};
    Oid user = InvalidOid;
    int context = 0;
    GetUserIdAndSecContext(&user, &context);
    SetUserIdAndSecContext(role, context | SECURITY_LOCAL_USERID_CHANGE);
    SPI_connect();
    const int code = SPI_execute_with_args(query, 1, types, values, nullptr, false, 0);
    if (code != SPI_OK_SELECT || SPI_processed != 1 || SPI_gettypeid(SPI_tuptable->tupdesc, 1) != INT8OID)
        elog(ERROR, "a query for _as_role() did not give a number: %s", SPI_result_code_string(code));
    bool is_null = false;
    const int64 result = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
    SPI_finish();
    SetUserIdAndSecContext(user, context);
    PG_RETURN_INT64(is_null ? 0 : result);
}
