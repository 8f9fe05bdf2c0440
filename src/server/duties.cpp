#include "server/duties.h"

#include "model/appointment.h"
#include "pg/clock.h"
#include "pg/settings.h"
#include "queue/handler.h"
#include "queue/lease.h"
#include "schedule/run.h"
#include "server/maintain.h"
#include "server/session.h"
#include "shmem/stats.h"
#include "shmem/waiters.h"
#include "shmem/workers.h"
#include "task/duty.h"
#include "task/events.h"
#include "task/gates.h"
#include "workflow/runs.h"

namespace scylla::monitor {

namespace {

using shmem::Timer;

constexpr int64 k_portion = 1000;          // rows per transaction
constexpr int64 k_first_doubt = 1000;      // microseconds until a doubt is checked again; doubled each time
constexpr int64 k_purge_portion = 250;     // tasks per transaction of the purge: it delays workers only briefly
constexpr int64 k_schedules = 200;         // that a portion reads
constexpr int64 k_schedules_time = 50'000; // microseconds of a portion, so that the other duties get their turn
constexpr int64 k_ask_again = 500'000;     // microseconds until a worker that runs schedules is requested again
constexpr int64 k_tick_interval = 60 * USECS_PER_SEC; // between two calls of store::note_tick()

// ---- duties that rooms have registered -----------------------------------------------------------------------------

using model::Appointment;
constinit std::array<Appointment, k_max_duties> appointments{};

// Hints have been dropped, or those of an earlier monitor are lost, so the walks that find the same run now.
void look_everywhere() {
    const std::span<const Duty> duties = registered_duties();
    for (std::size_t i = 0; i < duties.size(); i++)
        if (duties[i].is_second_way)
            appointments[i] = model::hurry(appointments[i]);
}

// `done`: rows, in the last turn.
model::DutyPace pace_of(const Duty &duty, int64 done = 0) {
    return {.pause = duty.pause > 0 ? duty.pause : interval(),
            .share = duty.share * (duty.is_removal && done == 0 ? model::k_vain : 1),
            .has_timer = duty.timer.has_value()};
}

TimestampTz next_time(const Duty &duty, const Appointment &appointment) {
    if (duty.has_more != nullptr && duty.has_more())
        return 0;
    return model::due_at(pace_of(duty), appointment, duty.timer ? earliest(*slot, *duty.timer) : shmem::k_never);
}

void run_registered(const Duty &duty, Appointment &appointment) {
    DutyTurn turn{.now = GetCurrentTimestamp(), .portion = {.limit = duty.limit}};
    if (turn.now < next_time(duty, appointment))
        return;
    if (duty.timer)
        clear(*slot, *duty.timer);
    in_transaction(duty.activity, [&](store::Store &store) { duty.work(store, turn); });
    const TimestampTz end = GetCurrentTimestamp();
    if (duty.statistics)
        shmem::count_round(database_id(), *duty.statistics, turn.portion.done, end - turn.now);
    appointment = model::appoint(
        pace_of(duty, turn.portion.done),
        {.began = turn.now, .ended = end, .next = turn.next, .done = turn.portion.done, .more = turn.portion.more},
        appointment.hurried_walks);
    if (duty.timer)
        shmem::lower(*slot, *duty.timer, appointment.at);
}

// ---- old tasks -----------------------------------------------------------------------------------------------------

struct PurgeWalk {
    TimestampTz at;
    int64 after;      // the walk through the terminal tasks continues behind this id
    int64 plans;      // the same for that through the plans
    TimestampTz last; // when its last portion ended, during a walk
    int64 newest;     // the latest task at that time
};
constinit PurgeWalk purge_walk{};

// Old tasks can wait, workers cannot: there is a pause between two portions.
void purge_portion() {
    const TimestampTz now = GetCurrentTimestamp();
    if (now < purge_walk.at)
        return;
    Portion portion{.limit = k_purge_portion};
    Portion plans{.limit = k_purge_portion};
    int64 newest = 0;
    in_transaction("purging old tasks", [&](store::Store &store) {
        if (purge_walk.after == 0 || purge_walk.plans != 0)
            purge_old_plans(store, now, &plans, &purge_walk.plans);
        if (plans.done > 0)
            refresh(store);
        purge_old_tasks(store, now, &portion, &purge_walk.after);
        portion.more = portion.more || plans.more;
        newest = store::last_task_id();
    });
    const TimestampTz end = GetCurrentTimestamp();
    shmem::count_round(database_id(), shmem::Work::purging, portion.done, end - now);
    const int64 arrived = purge_walk.last != 0 ? newest - purge_walk.newest : 0;
    const int64 share = model::k_background_share * (portion.done + plans.done == 0 ? model::k_vain : 1);
    const int64 pause = model::pause_after(end - now, portion.limit, arrived, end - purge_walk.last, share);
    purge_walk.at = end + (portion.more ? pause : Max(interval(), (end - now) * share));
    purge_walk.last = portion.more ? end : 0;
    purge_walk.newest = newest;
}

// ---- workers that wait -------------------------------------------------------------------------------------------

// Distinguishes one set of queues from another.
struct QueueCount {
    int64 count;
    int64 ids; // their sum

    bool operator==(const QueueCount &) const = default;
};

struct WaiterLook {
    TimestampTz at;
    QueueCount queues; // at the last check for workers that wait for queues that do not exist
    bool told_again;   // notifications that an earlier monitor may have missed have been sent
};
constinit WaiterLook waiter_look{};

QueueCount count_queues(store::Store &store) {
    QueueCount queues{0, 0};
    store::Scan scan = scan_queues(store);
    while (next(scan)) {
        queues.count++;
        queues.ids += queue_row(scan).id;
    }
    end(scan);
    return queues;
}

// Notifies listeners of queues that have new tasks to lease.
void tell_listeners() {
    std::array<int32, 256> queues;
    const std::size_t count = shmem::take_untold(database_id(), !waiter_look.told_again, queues);
    waiter_look.told_again = true;
    if (count > 0)
        in_transaction("notifying", [&](store::Store &store) {
            for (std::size_t i = 0; i < count; i++)
                notify(store, queues[i]);
        });
}

// Wakes waiters for queues that did not exist if the set of queues has changed.
void signal_new_queues(store::Store &store) {
    const QueueCount seen = count_queues(store);
    if (seen != waiter_look.queues) {
        shmem::signal_unknown(MyDatabaseId);
        shmem::signal(MyDatabaseId, shmem::k_any_new_queue, PG_INT64_MAX);
    }
    waiter_look.queues = seen;
}

void signal_engine(TimestampTz now) {
    if (workflow::next_time() <= now)
        shmem::signal(MyDatabaseId, shmem::k_agenda, 1);
}

// Wakes workers that wait although there is work: a commit without a callback made it, or the worker that was woken for
// it has died.
void look_for_waiters() {
    const TimestampTz now = GetCurrentTimestamp();
    if (now < waiter_look.at)
        return;
    std::array<shmem::Awaited, 4096> awaited;
    const std::size_t count = shmem::waited_for(awaited);
    if (count > 0)
        in_transaction("looking for overlooked tasks", [&](store::Store &store) {
            for (std::size_t i = 0; i < count; i++) {
                if (awaited[i] == shmem::k_plans)
                    shmem::signal(MyDatabaseId, shmem::k_plans,
                                  PG_INT64_MAX); // each checks for itself whether its plan has finished
                else if (awaited[i] == shmem::k_agenda)
                    signal_engine(now);
                else if (awaited[i] == shmem::k_any_new_queue)
                    signal_new_queues(store);
                else if (const int64 ready = count_leasable(store, static_cast<int32>(awaited[i]), k_portion, now);
                         ready > 0)
                    shmem::signal(MyDatabaseId, awaited[i], ready);
            }
        });
    waiter_look.at = GetCurrentTimestamp() + interval();
}

// ---- doubts --------------------------------------------------------------------------------------------------------

// Tasks and plans that were in doubt when they were last checked.
struct Doubts {
    std::size_t count;
    TimestampTz at; // of the next check
    int64 delay;
    std::array<int64, 4 * shmem::k_rechecks> id;
};
constinit Doubts doubts{};

void add_doubt(int64 id) {
    for (std::size_t i = 0; i < doubts.count; i++)
        if (doubts.id[i] == id)
            return;
    if (doubts.count < doubts.id.size())
        doubts.id[doubts.count++] = id;
    else
        look_everywhere(); // the walks will find it
}

// Takes over the notes of commits (shmem::note_recheck()).
void take_rechecks() {
    std::array<int64, shmem::k_rechecks> told;
    LWLockAcquire(shmem::shared->lock, LW_EXCLUSIVE);
    const std::size_t count = slot->rechecks;
    std::copy_n(slot->recheck, count, told.begin());
    if (slot->recheck_all)
        look_everywhere();
    slot->rechecks = 0;
    slot->recheck_all = false;
    LWLockRelease(shmem::shared->lock);
    for (std::size_t i = 0; i < count; i++)
        add_doubt(told[i]);
    if (count > 0) {
        doubts.at = 0;
        doubts.delay = k_first_doubt;
    }
}

// Doubts are resolved when the transactions that cause them have ended, which is usually at once.
void decide_doubts() {
    take_rechecks();
    const TimestampTz now = GetCurrentTimestamp();
    if (doubts.count == 0 || now < doubts.at)
        return;
    in_transaction("opening gates", [&](store::Store &store) {
        std::size_t left = 0;
        for (std::size_t i = 0; i < doubts.count; i++)
            if (!recheck(store, doubts.id[i], now))
                doubts.id[left++] = doubts.id[i];
        doubts.count = left;
        settle_gates(store, now);
    });
    doubts.at = GetCurrentTimestamp() + doubts.delay;
    doubts.delay = Min(doubts.delay * 2, interval());
}

// ---- schedules -----------------------------------------------------------------------------------------------------

constinit Appointment schedule_appointment{};

// Requests workers that run the schedules of jobs, one for each role. Returns when to check for these again.
TimestampTz want_workers_for_jobs(std::span<const store::JobSchedules> owners, TimestampTz now) {
    TimestampTz next = shmem::k_never;
    for (const store::JobSchedules &jobs : owners) {
        const bool due = jobs.at <= now;
        next = Min(next, due ? now + k_ask_again : jobs.at);
        const Oid role = due ? get_role_oid(jobs.owner, true) : InvalidOid;
        if (OidIsValid(role) && may_run_workers(role))
            shmem::want_workers({MyDatabaseId, role, 1, steady_now()});
    }
    return next;
}

// The schedules that are due first, in memory that outlives the transaction.
struct ScheduleLook {
    std::span<store::NextSchedule> own; // that the monitor runs itself
    TimestampTz jobs_at;                // when to check for the others again
};
ScheduleLook look_at_schedules(MemoryContext memory, TimestampTz now) {
    static constinit bool has_warned = false;
    ScheduleLook look{};
    as_owner_in_transaction("looking for schedules", [&] {
        MemoryContext caller = MemoryContextSwitchTo(memory);
        look.own = store::next_schedules_without_jobs(k_schedules);
        MemoryContextSwitchTo(caller);
        const auto jobs = store::next_jobs();
        look.jobs_at = want_workers_for_jobs(jobs, now);
        if (!look.own.empty() || !jobs.empty())
            store::note_tick(now);
        if (!has_warned)
            schedule::warn_of_asleep(now);
        has_warned = true;
    });
    return look;
}

// Runs the schedules that are due, each in a transaction of its own, until the time of a portion is over. Returns the
// time of the first one that is left.
TimestampTz run_portion_of_schedules(std::span<const store::NextSchedule> schedules, TimestampTz now) {
    for (const store::NextSchedule &next : schedules) {
        if (next.at > now || GetCurrentTimestamp() - now > k_schedules_time)
            return next.at;
        as_owner_in_transaction("running a schedule",
                                [&] { schedule::run_schedule(next.name, GetCurrentTimestamp()); });
    }
    return schedules.size() == k_schedules ? now : shmem::k_never;
}

TimestampTz next_tick() {
    return Min(Min(schedule_appointment.at, schedule_appointment.safety), earliest(*slot, Timer::schedule));
}

void tick() {
    const TimestampTz now = GetCurrentTimestamp();
    if (now < next_tick())
        return;
    clear(*slot, Timer::schedule);
    TimestampTz next = shmem::k_never;
    if (schedule::monitor_ticks()) {
        static constinit MemoryContext memory = nullptr;
        if (memory == nullptr)
            memory = AllocSetContextCreate(TopMemoryContext, "scylla schedules", ALLOCSET_DEFAULT_SIZES);
        MemoryContextReset(memory);
        const ScheduleLook look = look_at_schedules(memory, now);
        next = Min(look.jobs_at, run_portion_of_schedules(look.own, now));
    }
    schedule_appointment = {next, GetCurrentTimestamp() + Min(interval(), k_tick_interval), 0};
    shmem::lower(*slot, Timer::schedule, next);
}

// ---- the list ------------------------------------------------------------------------------------------------------

// Duties that are not portions of a walk.
struct OwnDuty {
    void (*run)(); // if it is time
    TimestampTz (*next)();
};
constexpr std::array<OwnDuty, 5> k_own{{
    {tick, next_tick},
    {decide_doubts, [] { return doubts.count > 0 ? doubts.at : shmem::k_never; }},
    {tell_listeners, [] { return shmem::k_never; }},
    {look_for_waiters, [] { return waiter_look.at; }},
    {purge_portion, [] { return purge_walk.at; }},
}};

} // namespace

uint32 count_duties() { return static_cast<uint32>(k_own.size() + registered_duties().size()); }

void run_duty(uint32 number) {
    if (number < k_own.size())
        k_own[number].run();
    else
        run_registered(registered_duties()[number - k_own.size()], appointments[number - k_own.size()]);
}

TimestampTz next_duty() {
    TimestampTz next = shmem::k_never;
    for (const OwnDuty &duty : k_own)
        next = Min(next, duty.next());
    const std::span<const Duty> duties = registered_duties();
    for (std::size_t i = 0; i < duties.size(); i++)
        next = Min(next, next_time(duties[i], appointments[i]));
    return next;
}

void restart_duties() {
    appointments = {};
    schedule_appointment = {};
    purge_walk = {};
    waiter_look = {};
    doubts.at = 0;
    for (const Duty &duty : registered_duties())
        if (duty.restart != nullptr)
            duty.restart();
}

void begin_duties() {
    keep_backlog();
    look_everywhere();
}

} // namespace scylla::monitor
