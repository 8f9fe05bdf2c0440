#include "schedule/submission.h"

#include "pg/error.h"
#include "pg/identity.h"
#include "pg/subtransaction.h"
#include "pg/text.h"
#include "store/plan/plans.h"
#include "store/schedule/calls.h"
#include "store/spi.h"

namespace scylla::schedule {

namespace {

constinit Maker registered{};

Oid role_of(const store::schedules::Schedule &schedule) {
    const Oid role = get_role_oid(schedule.owner, true);
    if (!OidIsValid(role))
        error::no_schedule_role(schedule.owner);
    return role;
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
    store::call_as(role, [&] { store::calls::run_job(request); });
}

text *make_as(Oid role, const Maker &maker, const store::schedules::Settings &settings, TimestampTz planned) {
    return act_as(role, [&] { return maker.make(settings, planned); });
}

} // namespace

bool may_act_for(Oid user, const char *owner) {
    const Oid role = get_role_oid(owner, true);
    return OidIsValid(role) ? has_privs_of_role(user, role) : superuser_arg(user);
}

void submit_as(Oid role, const Submission &submission) {
    store::call_as(role, [&] {
        if (submission.plan != nullptr)
            store::calls::create_plan(submission.plan, submission.plan_spec);
        store::calls::submit_many(submission.tasks);
        if (submission.plan != nullptr)
            store::calls::open_plan(submission.plan);
    });
}

void register_maker(const Maker &maker) { registered = maker; }

const Maker *find_maker(const store::schedules::Settings &schedule) {
    JsonbContainer *task = &schedule.task->root;
    JsonbValue value;
    const auto has = [&](const char *member) {
        return getKeyJsonValueFromContainer(task, member, static_cast<int>(strlen(member)), &value) != nullptr;
    };
    return JB_ROOT_IS_OBJECT(schedule.task) && has(registered.member) && !has("queue") ? &registered : nullptr;
}

text *submit_planned(const store::schedules::Schedule &schedule, TimestampTz planned) {
    const store::schedules::Settings &settings = schedule.settings;
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

bool is_last_live(const store::schedules::Schedule &schedule) {
    const text *last = schedule.state.last_task;
    if (last == nullptr)
        return false;
    return is_plan(schedule.settings) ? store::plans::is_live(last) : store::schedules::is_live_task(last);
}

void cancel_last(const store::schedules::Schedule &schedule) {
    const ErrorData *error = attempt([&] {
        store::call_as(role_of(schedule), [&] {
            const text *last = schedule.state.last_task;
            if (is_plan(schedule.settings))
                store::calls::cancel_plan(last);
            else
                store::calls::cancel(last);
        });
    });
    if (error == nullptr)
        return;
    const bool has_just_ended =
        error->sqlerrcode == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE || error->sqlerrcode == ERRCODE_NO_DATA_FOUND;
    if (!has_just_ended)
        ReThrowError(const_cast<ErrorData *>(error));
}

} // namespace scylla::schedule
