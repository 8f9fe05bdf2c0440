#include "schedule/submission.h"

#include "pg/error.h"
#include "pg/identity.h"
#include "pg/subtransaction.h"
#include "pg/text.h"
#include "store/spi.h"

namespace scylla::schedule {

namespace {

constinit SPIPlanPtr submit_statement = nullptr;
constinit SPIPlanPtr create_plan_statement = nullptr;
constinit SPIPlanPtr open_plan_statement = nullptr;
constinit SPIPlanPtr run_job_statement = nullptr;
constinit SPIPlanPtr cancel_statement = nullptr;
constinit SPIPlanPtr cancel_plan_statement = nullptr;

constinit Maker registered{};

Oid role_of(const store::ScheduleRow &schedule) {
    const Oid role = get_role_oid(schedule.owner, true);
    if (!OidIsValid(role))
        error::no_schedule_role(schedule.owner);
    return role;
}

struct Argument {
    Oid type;
    Datum value;
};
Argument argument(const text *value) { return {TEXTOID, PointerGetDatum(value)}; }
Argument argument(Jsonb *value) { return {JSONBOID, JsonbPGetDatum(value)}; }

void call(SPIPlanPtr *plan, const char *sql, std::span<const Argument> arguments) {
    std::array<Oid, 2> types{};
    std::array<Datum, 2> values{};
    for (std::size_t i = 0; i < arguments.size(); i++) {
        types[i] = arguments[i].type;
        values[i] = arguments[i].value;
    }
    store::run(plan, sql, std::span(types).first(arguments.size()), std::span(values).first(arguments.size()), nullptr,
               SPI_OK_SELECT);
}

// The function that selects the ids of a job may take any time. A tick that runs the schedules of several roles calls
// it for superusers only. A server worker is connected as the role.
void require_own_time(Oid role, Jsonb *request) {
    JsonbValue ids;
    const bool selects = getKeyJsonValueFromContainer(&request->root, "ids", 3, &ids) == nullptr;
    if (selects && role != GetUserId() && !superuser_arg(role))
        error::job_needs_worker();
}

void run_job_as(Oid role, Jsonb *request) {
    require_own_time(role, request);
    store::AsRole as_role;
    as_role.begin(role);
    call(&run_job_statement,
         "select pg_catalog.count(*) from scylla.run_job($1 operator(pg_catalog.->>) 'job', "
         "($1 operator(pg_catalog.->>) 'ids')::pg_catalog.int8multirange, $1 operator(pg_catalog.->) 'args', "
         "$1 operator(pg_catalog.->) 'options')",
         std::array{argument(request)});
    as_role.end();
}

text *make_as(Oid role, const Maker &maker, const store::ScheduleSettings &settings, TimestampTz planned) {
    return act_as(role, [&] { return maker.make(settings, planned); });
}

} // namespace

bool may_act_for(Oid user, const char *owner) {
    const Oid role = get_role_oid(owner, true);
    return OidIsValid(role) ? has_privs_of_role(user, role) : superuser_arg(user);
}

void submit_as(Oid role, const Submission &submission) {
    store::AsRole as_role;
    as_role.begin(role);
    if (submission.plan != nullptr)
        call(&create_plan_statement, "select pg_catalog.count(*) from scylla.create_plan($1, $2)",
             std::array{argument(submission.plan), argument(submission.plan_spec)});
    call(&submit_statement, "select pg_catalog.count(*) from scylla.submit_many($1, 'error')",
         std::array{argument(submission.tasks)});
    if (submission.plan != nullptr)
        call(&open_plan_statement, "select pg_catalog.count(*) from scylla.open_plan($1)",
             std::array{argument(submission.plan)});
    as_role.end();
}

void register_maker(const Maker &maker) { registered = maker; }

const Maker *find_maker(const store::ScheduleSettings &schedule) {
    JsonbContainer *task = &schedule.task->root;
    JsonbValue value;
    const auto has = [&](const char *member) {
        return getKeyJsonValueFromContainer(task, member, static_cast<int>(strlen(member)), &value) != nullptr;
    };
    return JB_ROOT_IS_OBJECT(schedule.task) && has(registered.member) && !has("queue") ? &registered : nullptr;
}

text *submit_planned(const store::ScheduleRow &schedule, TimestampTz planned) {
    const store::ScheduleSettings &settings = schedule.settings;
    if (const Maker *maker = find_maker(settings))
        return make_as(role_of(schedule), *maker, settings, planned);
    text *name = planned_name(settings, planned);
    if (is_job(settings)) {
        run_job_as(role_of(schedule), planned_request(settings, planned));
        return name;
    }
    Jsonb *tasks = planned_tasks(settings, planned);
    Jsonb *spec = planned_spec(settings, planned);
    submit_as(role_of(schedule), {.tasks = tasks, .plan = is_plan(settings) ? name : nullptr, .plan_spec = spec});
    return name;
}

bool is_last_live(const store::ScheduleRow &schedule) {
    const text *last = schedule.state.last_task;
    if (last == nullptr)
        return false;
    return is_plan(schedule.settings) ? store::is_live_plan(last) : store::is_live_task(last);
}

void cancel_last(const store::ScheduleRow &schedule) {
    const ErrorData *error = attempt([&] {
        store::AsRole as_owner;
        as_owner.begin(role_of(schedule));
        const std::array arguments{argument(schedule.state.last_task)};
        if (is_plan(schedule.settings))
            call(&cancel_plan_statement, "select pg_catalog.count(*) from scylla.cancel_plan($1)", arguments);
        else
            call(&cancel_statement, "select pg_catalog.count(*) from scylla.cancel($1)", arguments);
        as_owner.end();
    });
    if (error == nullptr)
        return;
    const bool has_just_ended =
        error->sqlerrcode == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE || error->sqlerrcode == ERRCODE_NO_DATA_FOUND;
    if (!has_just_ended)
        ReThrowError(const_cast<ErrorData *>(error));
}

} // namespace scylla::schedule
