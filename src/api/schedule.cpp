// Recurring tasks: cron_next, schedule, schedule_plan, schedule_job, unschedule, run_schedules, arm_schedules.
#include "api/call.h"
#include "job/jobs.h"
#include "pg/error.h"
#include "pg/json.h"
#include "pg/settings.h"
#include "pg/text.h"
#include "queue/handler.h"
#include "schedule/calendar.h"
#include "schedule/change.h"
#include "schedule/run.h"
#include "store/plans.h"
#include "store/table.h"
#include "task/rules.h"

namespace scylla {

namespace {

TimestampTz get_time(FunctionCallInfo fcinfo, int n, const char *argument) {
    const TimestampTz time = PG_ARGISNULL(n) ? GetCurrentTimestamp() : PG_GETARG_TIMESTAMPTZ(n);
    if (TIMESTAMP_NOT_FINITE(time))
        error::bad_argument(argument, TIMESTAMP_IS_NOBEGIN(time) ? "-infinity" : "infinity", "It must be finite.");
    return time;
}

// ---- the arguments of schedule -------------------------------------------------------------------------------------

// A finite time, or nothing.
std::optional<TimestampTz> get_limit(FunctionCallInfo fcinfo, int n, const char *argument) {
    return PG_ARGISNULL(n) ? std::nullopt : std::optional(get_time(fcinfo, n, argument));
}

// One of the given words, as its index.
template <typename Enum, std::size_t N>
Enum get_word(FunctionCallInfo fcinfo, int n, const char *argument, const std::array<std::string_view, N> &words,
              const char *rule) {
    const text *value = args::get_text(fcinfo, n);
    const auto found = value == nullptr ? words.end() : std::find(words.begin(), words.end(), view(value));
    if (found == words.end())
        error::bad_argument(argument, error::quote(value), rule);
    return static_cast<Enum>(found - words.begin());
}

text *get_schedule_name(FunctionCallInfo fcinfo, int n) {
    text *name = args::get_text(fcinfo, n);
    const auto chars =
        name == nullptr ? 0 : pg_mbstrlen_with_len(view(name).data(), static_cast<int>(view(name).size()));
    if (chars < 1 || chars > model::k_max_schedule_chars)
        error::bad_argument("name", error::quote(name), "It must have 1 to 150 characters.");
    if (view(name).starts_with(store::k_run_prefix))
        error::bad_argument("name", error::quote(name), "Names with \"workflow:\" are for workflows.");
    return name;
}

// The schedule must come at some time between its start and its end.
void check_times(const store::ScheduleSettings &settings) {
    const schedule::Calendar calendar = schedule::read_calendar(settings.cron, settings.timezone);
    const TimestampTz now = GetCurrentTimestamp();
    if (!schedule::next_time(calendar, now))
        error::bad_argument("cron", error::quote(settings.cron), "There is no such day.");
    const auto next = schedule::next_time(calendar, Max(now, settings.starts ? *settings.starts - 1 : 0));
    if (settings.ends && (!next || *next >= *settings.ends))
        error::bad_argument("ends", timestamptz_to_str(*settings.ends),
                            "There must be a time of the schedule before it.");
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

// Checks of a plan's tasks that submit_many does not make. submit_many checks the rest when it is called.
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
        if (find("rn") != nullptr && value.type != jbvString && value.type != jbvNull)
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

// The request of a job, with the checks that run_job() does not make. run_job() checks the rest when it is called.
Jsonb *make_request(FunctionCallInfo fcinfo, const text *job, Jsonb *args, Jsonb *options) {
    for (const std::string_view key : {"plan", "not_before", "request_id"}) {
        JsonbValue value;
        if (getKeyJsonValueFromContainer(&options->root, key.data(), static_cast<int>(key.size()), &value) != nullptr)
            error::bad_argument("options", error::show(options),
                                "The schedule itself gives plan, not_before and request_id.");
    }
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::push_text(&state, "job", job);
    if (!PG_ARGISNULL(3))
        json::push_text(&state, "ids", cstring_to_text(error::print(PG_GETARG_DATUM(3), INT8MULTIRANGEOID)));
    json::push_json(&state, "args", args);
    json::push_json(&state, "options", options);
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

Jsonb *get_object(FunctionCallInfo fcinfo, int n, const char *argument) {
    Jsonb *value = args::get_jsonb(fcinfo, n);
    if (value == nullptr)
        return json::empty_object();
    if (!json::is_object(value))
        error::bad_argument(argument, error::show(value), "It must be an object.");
    return args::document(argument, value);
}

// If the monitor ticks, a server worker runs the schedule.
void warn_of_missing_workers(const text *name) {
    if (!schedule::monitor_ticks())
        return;
    if (settings::max_server_workers == 0 || !may_run_workers(GetUserId()))
        error::warn_of_no_workers(name, settings::max_server_workers == 0);
}

// A null becomes the default.
void set_default(FunctionCallInfo fcinfo, int n, Datum value) {
    if (PG_ARGISNULL(n))
        fcinfo->args[n] = {value, false};
}

// The common arguments of schedule, schedule_plan and schedule_job: the name, the cron expression and, from the time
// zone on, the policies. task: the argument of submit_many().
store::ScheduleSettings get_settings(FunctionCallInfo fcinfo, int timezone_arg, Jsonb *task) {
    const int n = timezone_arg;
    set_default(fcinfo, n, CStringGetTextDatum("UTC"));
    set_default(fcinfo, n + 1, CStringGetTextDatum("allow"));
    set_default(fcinfo, n + 2, CStringGetTextDatum("latest"));
    set_default(fcinfo, n + 4, Int32GetDatum(100));
    set_default(fcinfo, n + 5, PointerGetDatum(palloc0(sizeof(Interval))));
    store::ScheduleSettings settings{};
    settings.name = get_schedule_name(fcinfo, 0);
    settings.cron = args::get_text(fcinfo, 1);
    settings.task = task;
    settings.timezone = args::get_text(fcinfo, n);
    settings.overlap = get_word<store::Overlap>(fcinfo, n + 1, "overlap", store::k_overlap_names,
                                                "It must be \"allow\", \"skip\" or \"replace\".");
    settings.catch_up = get_word<store::CatchUp>(fcinfo, n + 2, "catch_up", store::k_catch_up_names,
                                                 "It must be \"none\", \"latest\" or \"all\".");
    settings.grace = args::get_interval(fcinfo, n + 3);
    (void)args::grace(settings.grace);
    settings.max_catch_up = args::max_catch_up(PG_GETARG_INT32(n + 4));
    settings.jitter = args::get_interval(fcinfo, n + 5);
    (void)args::schedule_jitter(settings.jitter);
    settings.starts = get_limit(fcinfo, n + 6, "starts");
    settings.ends = get_limit(fcinfo, n + 7, "ends");
    check_times(settings);
    settings.planned_key = args::optional_name("planned_key", args::get_text(fcinfo, n + 8));
    return settings;
}

// {options…, "queue": …, "spec": …}
Jsonb *make_task(Jsonb *options, const text *queue, Jsonb *spec) {
    JsonbParseState *state = nullptr;
    const auto put_key = [&state](const char *name) {
        JsonbValue key{};
        key.type = jbvString;
        key.val.string.val = const_cast<char *>(name);
        key.val.string.len = static_cast<int>(strlen(name));
        pushJsonbValue(&state, WJB_KEY, &key);
    };
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    put_key("queue");
    JsonbValue value{};
    value.type = jbvString;
    value.val.string.val = const_cast<char *>(view(queue).data());
    value.val.string.len = static_cast<int>(view(queue).size());
    pushJsonbValue(&state, WJB_VALUE, &value);
    put_key("spec");
    JsonbValue root{};
    if (!JB_ROOT_IS_SCALAR(spec)) {
        root.type = jbvBinary;
        root.val.binary.data = &spec->root;
        root.val.binary.len = static_cast<int>(VARSIZE(spec) - VARHDRSZ);
    } else
        root = *getIthJsonbValueFromContainer(&spec->root, 0);
    pushJsonbValue(&state, WJB_VALUE, &root);
    Jsonb *task = JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
    return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(options), JsonbPGetDatum(task)));
}

// ---- calls ---------------------------------------------------------------------------------------------------------

// The first checks of a call that writes, as in open_for_write().
void prepare_to_write(const char *call) {
    PreventCommandDuringRecovery(call); // a standby is read-only, too
    PreventCommandIfReadOnly(call);
    PreventCommandIfParallelMode(call);
}

Datum put(const store::ScheduleSettings &settings, bool *is_null) {
    const auto first = schedule::put(settings, GetUserId());
    *is_null = !first;
    return TimestampTzGetDatum(first.value_or(0));
}

bool is_off() { return settings::schedules == static_cast<int>(settings::Schedules::off); }

// Functions that only 0.1 had. The objects of 0.1 raise this error when they are called.
[[noreturn]] void refuse_released(const char *name) {
    (void)store::tables_owner();
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("function %s() belongs to version 0.1", name),
                    errhint("Use ALTER EXTENSION scylla UPDATE.")));
}

} // namespace
} // namespace scylla

// cron_next(cron, after, timezone)
SCYLLA_FUNCTION(scylla_cron_next) {
    using namespace scylla;
    const model::Cron cron = schedule::read_cron(args::get_text(fcinfo, 0));
    const TimestampTz after = get_time(fcinfo, 1, "after");
    set_default(fcinfo, 2, CStringGetTextDatum("UTC"));
    const auto next = schedule::next_time({cron, schedule::read_timezone(args::get_text(fcinfo, 2))}, after);
    if (!next)
        PG_RETURN_NULL();
    PG_RETURN_TIMESTAMPTZ(*next);
}

// schedule(name, cron, queue, spec, timezone, overlap, catch_up, grace, max_catch_up, jitter, starts, ends,
// planned_key, options)
SCYLLA_FUNCTION(scylla_schedule) {
    using namespace scylla;
    store::ScheduleSettings settings = get_settings(fcinfo, 4, nullptr);
    const text *queue = args::name("queue", args::get_text(fcinfo, 2));
    Jsonb *spec = args::spec(args::get_jsonb(fcinfo, 3));
    check_planned_key(settings.planned_key, spec);
    set_default(fcinfo, 13, DirectFunctionCall1(jsonb_in, CStringGetDatum("{}")));
    Jsonb *options = args::document("options", args::get_jsonb(fcinfo, 13));
    check_options(options);
    settings.task = make_task(options, queue, spec);
    prepare_to_write("scylla.schedule()");
    return put(settings, &fcinfo->isnull);
}

// schedule_plan(name, cron, tasks, timezone, overlap, catch_up, grace, max_catch_up, jitter, starts, ends, planned_key)
SCYLLA_FUNCTION(scylla_schedule_plan) {
    using namespace scylla;
    const store::ScheduleSettings settings =
        get_settings(fcinfo, 3, args::document("tasks", args::get_jsonb(fcinfo, 2)));
    check_tasks(settings.task, settings.planned_key);
    prepare_to_write("scylla.schedule_plan()");
    return put(settings, &fcinfo->isnull);
}

// schedule_job(name, cron, job, ids, args, timezone, overlap, catch_up, grace, max_catch_up, jitter, starts, ends,
// planned_key, options)
SCYLLA_FUNCTION(scylla_schedule_job) {
    using namespace scylla;
    store::ScheduleSettings settings = get_settings(fcinfo, 5, nullptr);
    const text *name = args::name("job", args::get_text(fcinfo, 2));
    Jsonb *arguments = job::read_args("args", get_object(fcinfo, 4, "args"));
    if (settings.planned_key != nullptr && view(settings.planned_key) == "ids")
        error::bad_argument("planned_key", error::quote(settings.planned_key),
                            "The plan sets the member \"ids\" of the spec.");
    settings.task = make_request(fcinfo, name, arguments, get_object(fcinfo, 14, "options"));
    prepare_to_write("scylla.schedule_job()");
    const Datum first = put(settings, &fcinfo->isnull);
    warn_of_missing_workers(settings.name);
    return first;
}

SCYLLA_FUNCTION(scylla_unschedule) {
    using namespace scylla;
    prepare_to_write("scylla.unschedule()");
    schedule::remove(args::get_text(fcinfo, 0), GetUserId());
    PG_RETURN_VOID();
}

// If the monitor ticks, a role runs only the schedules of roles whose rights it has: the schedules that it runs are
// blocked as long as its transaction is open, and it must not block those of others.
SCYLLA_FUNCTION(scylla_run_schedules) {
    using namespace scylla;
    (void)fcinfo;
    prepare_to_write("scylla.run_schedules()");
    const Oid caller = GetUserId();
    const bool all = !schedule::monitor_ticks() || has_privs_of_role(caller, store::tables_owner());
    if (is_off())
        PG_RETURN_INT64(0);
    const TimestampTz now = GetCurrentTimestamp();
    const int64 submitted = schedule::run_due_schedules(now, caller, all);
    if (all) {
        schedule::warn_of_asleep(now);
        store::note_tick(now);
    }
    PG_RETURN_INT64(submitted);
}

// _run_schedules_at(now): for tests, so that they need not wait.
SCYLLA_FUNCTION(scylla_run_schedules_at) {
    using namespace scylla;
    prepare_to_write("scylla._run_schedules_at()");
    const Oid caller = GetUserId();
    if (!has_privs_of_role(caller, store::tables_owner()))
        error::internal_function("scylla._run_schedules_at()");
    const TimestampTz now = get_time(fcinfo, 0, "now");
    if (is_off())
        PG_RETURN_INT64(0);
    const int64 submitted = schedule::run_due_schedules(now, caller, true);
    schedule::warn_of_asleep(now);
    PG_RETURN_INT64(submitted);
}

SCYLLA_FUNCTION(scylla_arm_schedules) {
    using namespace scylla;
    (void)fcinfo;
    prepare_to_write("scylla.arm_schedules()");
    PG_RETURN_INT64(schedule::arm(GetUserId()));
}

SCYLLA_FUNCTION(scylla_call_as_owner) {
    (void)fcinfo;
    scylla::refuse_released("call_as_owner");
}

SCYLLA_FUNCTION(scylla_as_role) {
    (void)fcinfo;
    scylla::refuse_released("_as_role");
}

SCYLLA_FUNCTION(scylla_cron_due) {
    (void)fcinfo;
    scylla::refuse_released("_cron_due");
}
