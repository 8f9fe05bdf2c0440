#include "server/duties.h"

extern "C" {
#include "access/twophase.h"
}

#include "model/appointment.h"
#include "pg/clock.h"
#include "pg/growing.h"
#include "pg/hash.h"
#include "pg/settings.h"
#include "queue/handler.h"
#include "queue/lease.h"
#include "schedule/run.h"
#include "server/maintain.h"
#include "server/session.h"
#include "shmem/stats.h"
#include "shmem/waiters.h"
#include "shmem/workers.h"
#include "store/task/transactions.h"
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
constexpr int64 k_tick_interval = 60 * USECS_PER_SEC; // between two calls of store::schedules::note_tick()

// ---- duties that rooms have registered -----------------------------------------------------------------------------

using model::Appointment;
constinit std::array<Appointment, k_max_duties> appointments{};

// The walks that find what no hint tells of run now.
void hurry_walks() {
    const std::span<const Duty> duties = registered_duties();
    for (std::size_t i = 0; i < duties.size(); i++)
        if (duties[i].is_second_way)
            appointments[i] = model::hurry(appointments[i]);
}

// Transactions that are prepared, of which hints have been lost: what they bring is found by those walks, once they
// have ended. COMMIT PREPARED itself tells nothing.
struct PreparedLook {
    TimestampTz at;
    bool is_stale; // hints have been lost since the last look: of all that are prepared now
    Growing<TransactionId> lost;
};
constinit PreparedLook prepared_look{};

// Hints have been dropped, or those of an earlier monitor are lost.
void look_everywhere() {
    hurry_walks();
    prepared_look.is_stale = true;
    prepared_look.at = 0;
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

TimestampTz next_known_time(const Duty &duty, const Appointment &appointment) {
    if (duty.has_more != nullptr && duty.has_more())
        return 0;
    return model::known_at(pace_of(duty), appointment, duty.timer ? earliest(*slot, *duty.timer) : shmem::k_never,
                           shmem::k_never);
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
    appointment = model::appoint(pace_of(duty, turn.portion.done),
                                 {.began = turn.now - turn.before,
                                  .ended = end,
                                  .next = turn.next,
                                  .done = turn.portion.done,
                                  .more = turn.portion.more},
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
    uint64 changes;    // store::table_changes() then
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
    const bool again = !waiter_look.told_again;
    const std::size_t count = shmem::take_untold(database_id(), again, queues);
    waiter_look.told_again = true;
    if (count > 0)
        in_transaction("notifying", [&](store::Store &store) {
            // A full queue stays full after all listeners have read it: only a NOTIFY that succeeds removes what has
            // been read, or whoever asks how full it is.
            if (again)
                (void)OidFunctionCall0(F_PG_NOTIFICATION_QUEUE_USAGE);
            for (std::size_t i = 0; i < count; i++)
                notify(store, queues[i]);
        });
}

// Wakes waiters for queues that did not exist if the set of queues has changed.
void signal_new_queues(store::Store &store) {
    if (waiter_look.changes == store.changes)
        return;
    const QueueCount seen = count_queues(store);
    if (seen != waiter_look.queues) {
        shmem::signal_unknown(MyDatabaseId);
        shmem::signal(MyDatabaseId, shmem::k_any_new_queue, PG_INT64_MAX);
    }
    waiter_look.queues = seen;
    waiter_look.changes = store.changes;
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
                else if (awaited[i] == shmem::k_slow_agenda) // its engine looks by itself
                    continue;
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

// ---- prepared transactions -----------------------------------------------------------------------------------------

void add_prepared(Growing<TransactionId> *ids) {
    for (const int64 id : store::transactions::prepared(static_cast<int64>(MyDatabaseId)))
        ids->add(static_cast<TransactionId>(id), TopMemoryContext);
}

bool is_over(TransactionId id, std::span<const TransactionId> prepared) {
    return std::find(prepared.begin(), prepared.end(), id) == prepared.end();
}

TimestampTz next_prepared_look() {
    const bool any = prepared_look.is_stale || prepared_look.lost.count > 0;
    return any && max_prepared_xacts > 0 ? prepared_look.at : shmem::k_never;
}

void look_at_prepared() {
    static constinit Growing<TransactionId> prepared{};
    const TimestampTz now = GetCurrentTimestamp();
    if (now < next_prepared_look())
        return;
    prepared.clear();
    as_owner_in_transaction("looking for prepared transactions", [] { add_prepared(&prepared); });
    bool has_ended = false;
    std::size_t left = 0;
    for (const TransactionId id : prepared_look.lost.all())
        if (is_over(id, prepared.all()))
            has_ended = true;
        else
            prepared_look.lost[left++] = id;
    prepared_look.lost.count = left;
    if (prepared_look.is_stale) {
        prepared_look.lost.clear();
        prepared_look.lost.add_all(prepared.all(), TopMemoryContext);
    }
    prepared_look.is_stale = false;
    prepared_look.at = now + interval();
    if (has_ended)
        hurry_walks();
}

// ---- schedules -----------------------------------------------------------------------------------------------------

constinit Appointment schedule_appointment{};

// Requests workers that run the schedules of jobs, one for each role. Returns when to check for these again.
TimestampTz want_workers_for_jobs(std::span<const store::schedules::OwnerOfJobs> owners, TimestampTz now) {
    TimestampTz next = shmem::k_never;
    for (const store::schedules::OwnerOfJobs &jobs : owners) {
        const bool due = jobs.at <= now;
        next = Min(next, due ? now + k_ask_again : jobs.at);
        const Oid role = due ? get_role_oid(jobs.owner, true) : InvalidOid;
        if (OidIsValid(role) && may_run_workers(role))
            shmem::want_workers({MyDatabaseId, role, 1, steady_now(), 0});
    }
    return next;
}

// The schedules that come next, in memory that outlives the transaction.
struct ScheduleLook {
    std::span<store::schedules::Next> own; // that the monitor runs itself
    TimestampTz jobs_at;                   // when to check for the others again
};
ScheduleLook look_at_schedules(MemoryContext memory, TimestampTz now) {
    static constinit bool has_warned = false;
    ScheduleLook look{};
    as_owner_in_transaction("looking for schedules", [&] {
        MemoryContext caller = MemoryContextSwitchTo(memory);
        MemoryContextSwitchTo(caller);
        schedule::mend_schedules(now);
        MemoryContextSwitchTo(memory);
        look.own = store::schedules::next_without_jobs(store::schedule_home(), now, k_schedules);
        MemoryContextSwitchTo(caller);
        const auto jobs = store::schedules::next_jobs(store::schedule_home());
        look.jobs_at = want_workers_for_jobs(jobs, now);
        if (!look.own.empty() || !jobs.empty())
            store::schedules::note_tick(now);
        if (!has_warned)
            schedule::warn_of_asleep(now);
        has_warned = true;
    });
    return look;
}

// Runs the schedules that are due, each in a transaction of its own, until the time of a portion is over. Returns the
// time of the first one that is left.
TimestampTz run_portion_of_schedules(std::span<const store::schedules::Next> schedules, TimestampTz now) {
    for (const store::schedules::Next &next : schedules) {
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

TimestampTz next_doubt() { return doubts.count > 0 ? doubts.at : shmem::k_never; }
TimestampTz next_known_doubt() {
    LWLockAcquire(shmem::shared->lock, LW_SHARED);
    const bool any = slot->rechecks > 0 || slot->recheck_all;
    LWLockRelease(shmem::shared->lock);
    return any ? 0 : next_doubt();
}

TimestampTz next_telling() { return waiter_look.told_again ? shmem::k_never : 0; }
TimestampTz next_known_telling() { return shmem::is_any_untold() ? 0 : next_telling(); }

// Duties that are not portions of a walk.
struct OwnDuty {
    const char *name;
    void (*run)(); // if it is time
    TimestampTz (*next)();
    TimestampTz (*next_known)(); // as next_known_duty()
    void (*restart)(); // its next turn is due, and begins anew: settings or the clock have changed, or its last one
                       // failed
};
constexpr std::array<OwnDuty, 6> k_own{{
    {"running schedules", tick, next_tick,
     [] { return Min(schedule_appointment.at, earliest(*slot, Timer::schedule)); }, [] { schedule_appointment = {}; }},
    {"opening gates", decide_doubts, next_doubt, next_known_doubt, [] { doubts.at = 0; }},
    {"notifying", tell_listeners, next_telling, next_known_telling, [] { waiter_look.told_again = false; }},
    {"looking for overlooked tasks", look_for_waiters, [] { return waiter_look.at; },
     [] { return waiter_look.at == 0 ? 0 : shmem::k_never; },
     [] {
         waiter_look.at = 0;
         waiter_look.queues = {};
         waiter_look.changes = 0;
     }},
    {"purging old tasks", purge_portion, [] { return purge_walk.at; },
     [] { return purge_walk.last != 0 || purge_walk.at == 0 ? purge_walk.at : shmem::k_never; },
     [] { purge_walk = {}; }},
    {"looking for prepared transactions", look_at_prepared, next_prepared_look, next_prepared_look,
     [] { prepared_look.at = 0; }},
}};

const Duty &registered(uint32 number) { return registered_duties()[number - k_own.size()]; }

TimestampTz next_turn(uint32 number) {
    if (number < k_own.size())
        return k_own[number].next();
    return next_time(registered(number), appointments[number - k_own.size()]);
}

TimestampTz next_known_turn(uint32 number) {
    if (number < k_own.size())
        return k_own[number].next_known();
    return next_known_time(registered(number), appointments[number - k_own.size()]);
}

void take_turn(uint32 number) {
    if (number < k_own.size())
        k_own[number].run();
    else
        run_registered(registered(number), appointments[number - k_own.size()]);
}

void restart(uint32 number) {
    if (number < k_own.size()) {
        k_own[number].restart();
        return;
    }
    appointments[number - k_own.size()] = {};
    if (registered(number).restart != nullptr)
        registered(number).restart();
}

// ---- errors --------------------------------------------------------------------------------------------------------

constexpr int64 k_first_failure = USECS_PER_SEC; // until a duty that has failed is tried again; doubled each time
constexpr int64 k_last_failure = 30 * USECS_PER_SEC;
constexpr int64 k_silence = 60 * USECS_PER_SEC; // between two messages about the same error of a duty

struct Failure {
    int64 delay; // 0: its last turn went well
    TimestampTz again;
    TimestampTz logged;
    uint64 message; // a hash of the last one that was logged
};
constinit std::array<Failure, k_own.size() + k_max_duties> failures{};
static_assert(failures.size() <= 64, "MonitorSlot::failing has a bit for each");

// What the turn had taken from shared memory was for nothing.
void replace_hints() {
    look_everywhere();
    LWLockAcquire(shmem::shared->lock, LW_EXCLUSIVE);
    slot->all_pools = true;
    LWLockRelease(shmem::shared->lock);
}

void show_failing(uint32 number, bool fails) {
    const uint64 bit = uint64{1} << number;
    const uint64 before = pg_atomic_read_u64(&slot->failing);
    if (before == 0 && fails)
        pg_atomic_write_u64(&slot->failing_since, static_cast<uint64>(GetCurrentTimestamp()));
    pg_atomic_write_u64(&slot->failing, fails ? before | bit : before & ~bit);
}

// One that is still failing is told of once a minute.
void log_failure(uint32 number, const ErrorData *error, TimestampTz now) {
    Failure &failure = failures[number];
    const uint64 message = hash_of(error->message != nullptr ? error->message : "");
    if (message == failure.message && now < failure.logged + k_silence && now >= failure.logged)
        return;
    failure.message = message;
    failure.logged = now;
    ereport(WARNING,
            (errcode(error->sqlerrcode),
             errmsg("scylla monitor: %s: %s", name_of_duty(number), error->message != nullptr ? error->message : ""),
             error->detail != nullptr ? errdetail_internal("%s", error->detail) : 0,
             error->hint != nullptr ? errhint("%s", error->hint)
                                    : errhint("This duty is tried again within %d s; the others go on.",
                                              static_cast<int>(k_last_failure / USECS_PER_SEC)),
             error->context != nullptr ? errcontext("%s", error->context) : 0));
}

bool concerns_all(const ErrorData *error) {
    const auto is = [](const char *field, const char *value) { return field != nullptr && strcmp(field, value) == 0; };
    return is(error->schema_name, "scylla") && is(error->table_name, "extension");
}

void recover(uint32 number, const ErrorData *error) {
    pgstat_report_activity(STATE_IDLE, nullptr);
    count_error(error);
    const TimestampTz now = GetCurrentTimestamp();
    Failure &failure = failures[number];
    failure.delay = failure.delay == 0 ? k_first_failure : Min(2 * failure.delay, k_last_failure);
    failure.again = now + failure.delay;
    restart(number);
    if (failure.delay == k_first_failure)
        replace_hints();
    show_failing(number, true);
    log_failure(number, error, now);
}

void note_success(uint32 number) {
    failures[number].delay = 0;
    show_failing(number, false);
    replace_hints(); // those that turns took which failed
}

} // namespace

uint32 count_duties() { return static_cast<uint32>(k_own.size() + registered_duties().size()); }

const char *name_of_duty(uint32 number) {
    return number < k_own.size() ? k_own[number].name : registered(number).activity;
}

void run_duty(uint32 number) {
    if (failures[number].delay > 0 && GetCurrentTimestamp() < failures[number].again)
        return;
    ErrorData *volatile error = nullptr;
    PG_TRY();
    {
        take_turn(number);
        if (failures[number].delay > 0)
            note_success(number);
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(TopMemoryContext);
        error = CopyErrorData();
        if (concerns_all(error))
            PG_RE_THROW();
        FlushErrorState();
        LWLockReleaseAll();
        AbortCurrentTransaction();
    }
    PG_END_TRY();
    if (error != nullptr) {
        recover(number, error);
        FreeErrorData(error);
    }
}

namespace {

TimestampTz first_of_all(TimestampTz (*turn)(uint32)) {
    TimestampTz next = shmem::k_never;
    for (uint32 i = 0; i < count_duties(); i++)
        next = Min(next, failures[i].delay > 0 ? Max(turn(i), failures[i].again) : turn(i));
    return next;
}

} // namespace

TimestampTz next_duty() { return first_of_all(next_turn); }

TimestampTz next_known_duty() { return first_of_all(next_known_turn); }

void restart_duties() {
    for (uint32 i = 0; i < count_duties(); i++) {
        restart(i);
        failures[i].again = 0;
    }
}

void begin_duties() {
    keep_backlog();
    look_everywhere();
}

} // namespace scylla::monitor
