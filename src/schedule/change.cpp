#include "schedule/change.h"

#include "pg/error.h"
#include "pg/subtransaction.h"
#include "schedule/pg_cron.h"
#include "schedule/run.h"
#include "shmem/pending.h"

namespace scylla::schedule {

namespace {

// Raises the error that a submit would raise, unless it depends on the moment: a full queue, the name or the key of the
// first task, a lock, a live run of the job. Two tasks of a plan with one name are an error.
void rehearse(const store::schedules::Schedule &schedule) {
    const TimestampTz planned = schedule.state.next_run.value_or(schedule.state.handled);
    const int settings_level = limit_waiting(Patience::short_);
    ErrorData *error = attempt([&] { submit_planned(schedule, planned); }, Keep::no);
    AtEOXact_GUC(true, settings_level);
    if (error == nullptr || error->sqlerrcode == ERRCODE_CONFIGURATION_LIMIT_EXCEEDED ||
        error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE || is_dedup_key_taken(error) || is_job_running(error) ||
        (is_name_taken(error) && !is_plan(schedule.settings)) || error->sqlerrcode == ERRCODE_DUPLICATE_OBJECT)
        return;
    ReThrowError(error);
}

} // namespace

std::optional<TimestampTz> put(const store::schedules::Settings &settings, Oid caller) {
    const bool is_first = !store::schedules::has_any();
    store::schedules::Schedule schedule = store::schedules::put({.settings = settings,
                                                                 .owner = GetUserNameFromId(caller, false),
                                                                 .home = store::schedule_home(),
                                                                 .now = GetCurrentTimestamp()});
    if (!may_act_for(caller, schedule.owner))
        error::not_schedule_owner(settings.name);
    schedule.state.next_run = next_run(schedule);
    store::schedules::write(schedule.settings.name, schedule.state);
    rehearse(schedule);
    keep_job(is_first ? Warn::yes : Warn::no);
    note_next(schedule.state);
    return schedule.state.next_run;
}

namespace {

// The workflow of the schedule has other uses than its times: a missing ticker is only a warning.
void keep_job_of_made(Warn warn) {
    const ErrorData *error = attempt([&] { keep_job(warn); });
    if (error != nullptr && warn == Warn::yes)
        ereport(WARNING, (errmsg("schedules do not run by themselves: %s", error->message),
                          errhint("Preload scylla, or call scylla.run_schedules() from time to time.")));
}

} // namespace

void put_made(const store::schedules::Settings &settings, const char *owner) {
    const bool is_first = !store::schedules::has_any();
    store::schedules::Schedule schedule = store::schedules::put(
        {.settings = settings, .owner = owner, .home = store::schedule_home(), .now = GetCurrentTimestamp()});
    if (strcmp(schedule.owner, owner) != 0)
        error::not_schedule_owner(settings.name);
    schedule.state.next_run = next_run(schedule);
    store::schedules::write(schedule.settings.name, schedule.state);
    keep_job_of_made(is_first ? Warn::yes : Warn::no);
    note_next(schedule.state);
}

void remove_made(const text *name) {
    store::schedules::remove(name);
    keep_job_of_made(Warn::no);
}

void remove(const text *name, Oid caller) {
    const auto schedule = name == nullptr ? std::nullopt : store::schedules::hold(name);
    if (!schedule || !may_act_for(caller, schedule->owner))
        error::no_such_schedule(name);
    if (find_maker(schedule->settings) != nullptr)
        error::schedule_of_workflow(name);
    store::schedules::remove(name);
    keep_job(Warn::no);
}

int64 arm(Oid caller) {
    int64 armed = 0;
    for (const store::schedules::Asleep &schedule : store::schedules::asleep(store::schedule_home()))
        if (may_act_for(caller, schedule.owner)) {
            store::schedules::arm(schedule.name, store::schedule_home());
            armed++;
        }
    if (armed > 0)
        shmem::note_time(shmem::Timer::schedule, GetCurrentTimestamp());
    if (store::schedules::has_any())
        keep_job(Warn::yes);
    return armed;
}

} // namespace scylla::schedule
