// Recurring tasks: cron_next, schedule, schedule_plan, schedule_job, unschedule, run_schedules, arm_schedules.
#include "api/arguments.h"
#include "job/jobs.h"
#include "pg/error.h"
#include "pg/json.h"
#include "pg/settings.h"
#include "pg/text.h"
#include "queue/handler.h"
#include "schedule/calendar.h"
#include "schedule/change.h"
#include "schedule/run.h"
#include "server/run_timer.h"
#include "store/plans.h"
#include "store/table.h"
#include "task/rules.h"
#include "task/run_limit.h"

namespace scylla {

namespace {

using GivenTime = args::Named<std::optional<TimestampTz>>;

// Now if null.
TimestampTz to_time(const GivenTime &given) {
    const TimestampTz time = given.value ? *given.value : GetCurrentTimestamp();
    if (TIMESTAMP_NOT_FINITE(time))
        error::bad_argument(given.name, TIMESTAMP_IS_NOBEGIN(time) ? "-infinity" : "infinity", "It must be finite.");
    return time;
}

// ---- the arguments of schedule -------------------------------------------------------------------------------------

// A finite time, or nothing.
std::optional<TimestampTz> to_limit(const GivenTime &given) {
    return given.value ? std::optional(to_time(given)) : std::nullopt;
}

text *to_schedule_name(text *name) {
    const auto chars =
        name == nullptr ? 0 : pg_mbstrlen_with_len(view(name).data(), static_cast<int>(view(name).size()));
    if (chars < 1 || chars > model::k_max_schedule_chars)
        error::bad_argument("name", error::quote(name), "It must have 1 to 150 characters.");
    if (view(name).starts_with(store::k_run_prefix))
        error::bad_argument("name", error::quote(name), "Names with \"workflow:\" are for workflows.");
    return name;
}

// The schedule must come at some time between its start and its end.
void check_times(const store::schedules::Settings &settings) {
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
Jsonb *make_request(const text *job, Datum ids, Jsonb *args, Jsonb *options) {
    for (const std::string_view key : {"plan", "not_before", "request_id"}) {
        JsonbValue value;
        if (getKeyJsonValueFromContainer(&options->root, key.data(), static_cast<int>(key.size()), &value) != nullptr)
            error::bad_argument("options", error::show(options),
                                "The schedule itself gives plan, not_before and request_id.");
    }
    json::Builder object = json::build_object();
    object.member("job", job);
    if (ids != 0)
        object.member("ids", error::print(ids, INT8MULTIRANGEOID));
    object.member("args", args);
    object.member("options", options);
    return object.finish();
}

Jsonb *to_object(const args::Named<Jsonb *> &given) {
    if (given.value == nullptr)
        return json::empty_object();
    if (!json::is_object(given.value))
        error::bad_argument(given.name, error::show(given.value), "It must be an object.");
    return args::document(given);
}

// If the monitor ticks, a server worker runs the schedule.
void warn_of_missing_workers(const text *name) {
    if (!schedule::monitor_ticks())
        return;
    if (settings::max_server_workers == 0 || !may_run_workers(GetUserId()))
        error::warn_of_no_workers(name, settings::max_server_workers == 0);
}

text *or_utc(text *timezone) { return timezone != nullptr ? timezone : cstring_to_text("UTC"); }

// The common arguments of schedule, schedule_plan and schedule_job: the name, the cron expression, and the policies.
// task: the argument of submit_many().
store::schedules::Settings get_settings(const auto &given, Jsonb *task) {
    Interval *jitter = given.jitter();
    store::schedules::Settings settings{};
    settings.name = to_schedule_name(given.name());
    settings.cron = given.cron();
    settings.task = task;
    settings.timezone = or_utc(given.timezone());
    settings.overlap = args::one_of(given.overlap(), store::k_overlap_names,
                                    "It must be \"allow\", \"skip\" or \"replace\".", store::Overlap::allow);
    settings.catch_up = args::one_of(given.catch_up(), store::k_catch_up_names,
                                     "It must be \"none\", \"latest\" or \"all\".", store::CatchUp::latest);
    settings.grace = given.grace();
    (void)args::grace(settings.grace);
    settings.max_catch_up = args::max_catch_up(given.max_catch_up().value_or(100));
    settings.jitter = jitter != nullptr ? jitter : static_cast<Interval *>(palloc0(sizeof(Interval)));
    (void)args::schedule_jitter(settings.jitter);
    settings.starts = to_limit(given.starts());
    settings.ends = to_limit(given.ends());
    check_times(settings);
    settings.planned_key = args::optional_name(given.planned_key());
    return settings;
}

// {options…, "queue": …, "spec": …}
Jsonb *make_task(Jsonb *options, const text *queue, Jsonb *spec) {
    json::Builder object = json::build_object();
    object.member("queue", queue);
    object.member("spec", spec);
    Jsonb *task = object.finish();
    return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(options), JsonbPGetDatum(task)));
}

// ---- calls ---------------------------------------------------------------------------------------------------------

// The first checks of a call that writes, as in open_for_write().
void prepare_to_write(const char *call) {
    PreventCommandDuringRecovery(call); // a standby is read-only, too
    PreventCommandIfReadOnly(call);
    PreventCommandIfParallelMode(call);
}

Datum put(const store::schedules::Settings &settings, bool *is_null) {
    const auto first = schedule::put(settings, GetUserId());
    *is_null = !first;
    return TimestampTzGetDatum(first.value_or(0));
}

// The rehearsal calls the function select_work of the job, which gets no more time here than on its schedule.
Datum put_in_time(const store::schedules::Settings &settings, const text *job, bool *is_null) {
    Datum first = 0;
    handlers::start_run_timer(GetCurrentTimestamp() + default_call());
    PG_TRY();
    { first = put(settings, is_null); }
    PG_CATCH();
    {
        if (!handlers::stop_run_timer() || geterrcode() != ERRCODE_QUERY_CANCELED)
            PG_RE_THROW();
        FlushErrorState();
        error::select_work_too_slow(job);
    }
    PG_END_TRY();
    (void)handlers::stop_run_timer();
    return first;
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
    const args::CronNext given{fcinfo};
    const model::Cron cron = schedule::read_cron(given.cron());
    const TimestampTz after = to_time(given.after());
    const auto next = schedule::next_time({cron, schedule::read_timezone(or_utc(given.timezone()))}, after);
    if (!next)
        PG_RETURN_NULL();
    PG_RETURN_TIMESTAMPTZ(*next);
}

// schedule(name, cron, queue, spec, timezone, overlap, catch_up, grace, max_catch_up, jitter, starts, ends,
// planned_key, options)
SCYLLA_FUNCTION(scylla_schedule) {
    using namespace scylla;
    const args::Schedule given{fcinfo};
    store::schedules::Settings settings = get_settings(given, nullptr);
    const text *queue = args::name(given.queue());
    Jsonb *spec = args::spec(given.spec());
    check_planned_key(settings.planned_key, spec);
    Jsonb *options = given.options().value != nullptr ? args::document(given.options()) : json::empty_object();
    check_options(options);
    settings.task = make_task(options, queue, spec);
    prepare_to_write("scylla.schedule()");
    return put(settings, &fcinfo->isnull);
}

// schedule_plan(name, cron, tasks, timezone, overlap, catch_up, grace, max_catch_up, jitter, starts, ends, planned_key)
SCYLLA_FUNCTION(scylla_schedule_plan) {
    using namespace scylla;
    const args::SchedulePlan given{fcinfo};
    const store::schedules::Settings settings = get_settings(given, args::document(given.tasks()));
    check_tasks(settings.task, settings.planned_key);
    prepare_to_write("scylla.schedule_plan()");
    return put(settings, &fcinfo->isnull);
}

// schedule_job(name, cron, job, ids, args, timezone, overlap, catch_up, grace, max_catch_up, jitter, starts, ends,
// planned_key, options)
SCYLLA_FUNCTION(scylla_schedule_job) {
    using namespace scylla;
    const args::ScheduleJob given{fcinfo};
    store::schedules::Settings settings = get_settings(given, nullptr);
    const text *name = args::name(given.job());
    Jsonb *arguments = job::read_args("args", to_object(given.args()));
    if (settings.planned_key != nullptr && view(settings.planned_key) == "ids")
        error::bad_argument("planned_key", error::quote(settings.planned_key),
                            "The plan sets the member \"ids\" of the spec.");
    settings.task = make_request(name, given.ids(), arguments, to_object(given.options()));
    prepare_to_write("scylla.schedule_job()");
    const Datum first = put_in_time(settings, name, &fcinfo->isnull);
    warn_of_missing_workers(settings.name);
    return first;
}

SCYLLA_FUNCTION(scylla_unschedule) {
    using namespace scylla;
    const args::Unschedule given{fcinfo};
    prepare_to_write("scylla.unschedule()");
    schedule::remove(given.name(), GetUserId());
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
    if (all)
        schedule::mend_schedules(now);
    const int64 submitted = schedule::run_due_schedules(now, caller, all);
    if (all) {
        schedule::warn_of_asleep(now);
        store::schedules::note_tick(now);
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
    const TimestampTz now = to_time(args::RunSchedulesAt{fcinfo}.now());
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
