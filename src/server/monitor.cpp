// A monitor: looks after one database. It sleeps until the next lease ends, the next task becomes due or it is time to
// look for old tasks, and is woken by a commit that brings an earlier time (shmem/timers.h).
//
// It never waits for an application: rows that somebody is just changing are left for the next round, and locks on
// tables are waited for one second only. It holds no transaction while it sleeps. It runs as the owner of the tables,
// not as the superuser that background workers are: an index that somebody adds to the tables may run that somebody's
// functions.
//
// Its commits are asynchronous. That loses nothing: what a round did is done again after a crash, and a worker's commit
// that builds on it flushes it too, as it comes later in the WAL.
#include "server/monitor.h"

#include "model/pace.h"
#include "pg/settings.h"
#include "shmem/stats.h"
#include "shmem/timers.h"
#include "shmem/waiters.h"
#include "task/events.h"
#include "plan/gates.h"
#include "task/gates.h"
#include "server/maintain.h"
#include "queue/lease.h"

namespace scylla::monitor {

namespace {

using shmem::Timer;

constexpr int64 k_portion = 1000;     // rows per transaction
constexpr int64 k_retry = 50'000;     // microseconds until rows that were busy are tried again
constexpr int64 k_first_doubt = 1000; // microseconds until what is in doubt is looked at again; twice that after it, …
constexpr int64 k_scan_share = 50;    // a look at all leases for safety takes at most 1/50 of the time
constexpr int64 k_purge_portion = 250; // tasks per transaction of the purge: a small bite out of what workers get
constexpr int64 k_events_interval = 10 * USECS_PER_SEC; // between two looks for old events

shmem::MonitorSlot *slot = nullptr;
Oid extension = InvalidOid; // that this database has, for the statistics

// Tells one set of queues from another.
struct QueueCount {
    int64 count;
    int64 ids; // their sum

    bool operator==(const QueueCount &) const = default;
};

// When each kind of work is to be done next by what this monitor knows itself.
struct Agenda {
    TimestampTz now;                             // when it was looked at last
    std::array<TimestampTz, shmem::k_timers> at; // as found in the tables, or a retry
    std::array<TimestampTz, shmem::k_timers>
        safety;          // a look without any sign, for commits that could not tell (see pending.h)
    TimestampTz waiters; // the look for workers that wait although there is work
    QueueCount queues;   // at the last look for workers that wait for queues that do not exist
    TimestampTz purge;
    int64 purge_after;     // how far the walk through the terminal tasks is
    TimestampTz purged;    // when its last portion ended, while it goes on
    int64 newest_at_purge; // the latest task then
    TimestampTz gates;     // the walk through all that waits for gates, and through the plans
    int64 gates_after;
    int64 plans_after;
    bool hurry;         // the walk goes on without a pause: a commit had more to tell than there was room for
    bool walk_again;    // it had begun before that: another is to follow
    TimestampTz events; // the look for old events
    int64 events_from;
    bool told_again; // what an earlier monitor may have left untold
};

// Tasks and plans that were in doubt when they were looked at last.
struct Doubts {
    std::size_t count;
    TimestampTz at; // when to look again
    int64 delay;
    std::array<int64, 4 * shmem::k_rechecks> id;
};
constinit Doubts doubts{};

// Providers that have ended, some of whose dependants are still to be looked at, oldest first. What an error makes it
// lose the walk through all that waits finds, with which a monitor begins.
struct Backlog {
    std::size_t count;
    std::size_t room;
    store::Ended *rows;
};
constinit Backlog backlog{};

int64 interval() { return static_cast<int64>(settings::monitor_interval) * 1000; }

extern "C" void leave_slot(int, Datum) {
    pg_atomic_write_u32(&slot->proc, 0);
    shmem::wake_launcher();
}

// Lets the launcher know that there is nothing to monitor, and exits.
[[noreturn]] void report_absent() {
    LWLockAcquire(shmem::shared->lock, LW_EXCLUSIVE);
    if (shmem::shared->absent_count < shmem::k_max_marked)
        shmem::shared->absent[shmem::shared->absent_count++] = MyDatabaseId;
    LWLockRelease(shmem::shared->lock);
    pg_atomic_write_u32(&slot->stop, 1); // leaving on purpose: the launcher need not take it for a failure
    proc_exit(0);
}

// Settings of the database or its owner that would bite.
void override_settings() {
    constexpr struct {
        const char *name;
        const char *value;
    } k_settings[] = {{"search_path", "pg_catalog, pg_temp"},
                      {"default_transaction_isolation", "read committed"},
                      {"default_transaction_read_only", "off"},
                      {"default_transaction_deferrable", "off"},
                      {"statement_timeout", "0"},
                      {"idle_in_transaction_session_timeout", "0"},
                      {"idle_session_timeout", "0"},
                      {"lock_timeout", "1s"},
                      {"synchronous_commit", "off"}};
    for (const auto &setting : k_settings)
        SetConfigOption(setting.name, setting.value, PGC_SUSET, PGC_S_OVERRIDE);
}

// Runs `work` on a store in a transaction of its own, as the owner of the tables.
template <typename Work> void in_transaction(const char *activity, Work work) {
    SetCurrentStatementStartTimestamp();
    StartTransactionCommand();
    pgstat_report_activity(STATE_RUNNING, activity);
    if (!store::hold_installed())
        report_absent(); // the extension has been dropped
    extension = store::identity();
    Oid user = InvalidOid;
    int context = 0;
    GetUserIdAndSecContext(&user, &context);
    SetUserIdAndSecContext(store::tables_owner(), context | SECURITY_RESTRICTED_OPERATION);
    PushActiveSnapshot(GetTransactionSnapshot()); // for functions in somebody's index on the tables
    store::Store store = store::open(RowExclusiveLock, store::TableId::spec);
    work(store);
    close(store);
    PopActiveSnapshot();
    SetUserIdAndSecContext(user, context);
    CommitTransactionCommand();
    pgstat_report_activity(STATE_IDLE, nullptr);
}

using Round = void (*)(store::Store &, TimestampTz, Portion *, TimestampTz *);

void count_round(shmem::Work work, const Portion &portion, int64 micros) {
    shmem::count_round({MyDatabaseId, extension, 0}, work, portion.done, micros);
}

void run_timer(Agenda &agenda, Timer timer, const char *activity, Round round) {
    const auto t = static_cast<std::size_t>(timer);
    const TimestampTz now = GetCurrentTimestamp();
    if (now < agenda.at[t] && now < agenda.safety[t] && now < earliest(*slot, timer))
        return;
    clear(*slot, timer);
    Portion portion{k_portion, 0, false};
    TimestampTz next = shmem::k_never;
    in_transaction(activity, [&](store::Store &store) { round(store, now, &portion, &next); });
    const TimestampTz end = GetCurrentTimestamp();
    count_round(timer == Timer::due ? shmem::Work::opening : shmem::Work::expiring, portion, end - now);
    if (portion.more)
        next = portion.done > 0 ? end : end + k_retry;
    agenda.at[t] = next;
    agenda.safety[t] = end + Max(interval(), timer == Timer::deadline ? (end - now) * k_scan_share : 0);
    shmem::lower(*slot, timer, next);
}

// Old tasks can wait, workers cannot: between two portions there is a pause.
void run_purge(Agenda &agenda) {
    const TimestampTz now = GetCurrentTimestamp();
    if (now < agenda.purge)
        return;
    Portion portion{k_purge_portion, 0, false};
    int64 newest = 0;
    in_transaction("purging old tasks", [&](store::Store &store) {
        if (agenda.purge_after == 0) {
            Portion plans{k_portion, 0, false};
            purge_old_plans(store, now, &plans);
            if (plans.done > 0)
                refresh(store);
        }
        purge_old_tasks(store, now, &portion, &agenda.purge_after);
        newest = store::last_task_id();
    });
    const TimestampTz end = GetCurrentTimestamp();
    count_round(shmem::Work::purging, portion, end - now);
    const int64 arrived = agenda.purged != 0 ? newest - agenda.newest_at_purge : 0;
    const int64 pause = model::pause_after(end - now, portion.limit, arrived, end - agenda.purged);
    agenda.purge = end + (portion.more ? pause : Max(interval(), (end - now) * model::k_background_share));
    agenda.purged = portion.more ? end : 0;
    agenda.newest_at_purge = newest;
}

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

// Wakes those who wait for a plan if others are finished than before. They look for themselves, so once too often is no
// harm.
void signal_finished_plans(store::Store &store) {
    static constinit uint64 seen = 0;
    uint64 finished = 0; // a checksum of their ids
    store::Scan scan = scan_plans(store, 0);
    while (next(scan))
        if (const store::PlanRow plan = plan_row(scan); plan.finished)
            finished += static_cast<uint64>(plan.id) * 0x9E3779B97F4A7C15U + 1;
    end(scan);
    if (finished != seen)
        shmem::signal(MyDatabaseId, shmem::k_plans, PG_INT64_MAX);
    seen = finished;
}

void run_events(Agenda &agenda) {
    const TimestampTz now = GetCurrentTimestamp();
    if (now < agenda.events)
        return;
    Portion portion{k_portion, 0, false};
    in_transaction("purging old events",
                   [&](store::Store &store) { purge_old_events(store, now, &portion, &agenda.events_from); });
    const TimestampTz end = GetCurrentTimestamp();
    agenda.events = end + Max(portion.more ? 0 : k_events_interval, (end - now) * model::k_background_share);
}

// Tells by NOTIFY of queues that have got something to lease.
void run_notify(Agenda &agenda) {
    std::array<int32, 256> queues;
    const std::size_t count = shmem::take_untold({MyDatabaseId, extension, 0}, !agenda.told_again, queues);
    agenda.told_again = true;
    if (count > 0)
        in_transaction("notifying", [&](store::Store &store) {
            for (std::size_t i = 0; i < count; i++)
                notify(store, queues[i]);
        });
}

// Wakes workers that wait although there is work: a commit without a callback made it, or the worker that was woken for
// it has died. Those that wait for a queue that did not exist look again when there are others than before.
void run_waiters(Agenda &agenda) {
    const TimestampTz now = GetCurrentTimestamp();
    if (now < agenda.waiters)
        return;
    std::array<int32, 4096> queues;
    const std::size_t count = shmem::waited_for(queues);
    if (count > 0)
        in_transaction("looking for overlooked tasks", [&](store::Store &store) {
            for (std::size_t i = 0; i < count; i++) {
                if (queues[i] == shmem::k_plans)
                    signal_finished_plans(store);
                else if (queues[i] == shmem::k_no_queue) {
                    const QueueCount seen = count_queues(store);
                    if (seen != agenda.queues)
                        shmem::signal(MyDatabaseId, shmem::k_no_queue, PG_INT64_MAX);
                    agenda.queues = seen;
                } else if (const int64 ready = count_leasable(store, queues[i], k_portion, now); ready > 0)
                    shmem::signal(MyDatabaseId, queues[i], ready);
            }
        });
    agenda.waiters = GetCurrentTimestamp() + interval();
}

void add_doubt(int64 id, Agenda &agenda) {
    for (std::size_t i = 0; i < doubts.count; i++)
        if (doubts.id[i] == id)
            return;
    if (doubts.count < doubts.id.size())
        doubts.id[doubts.count++] = id;
    else
        agenda.gates = 0; // the walk will find it
}

// Takes over what commits have told (shmem::note_recheck()).
void take_rechecks(Agenda &agenda) {
    std::array<int64, shmem::k_rechecks> told;
    LWLockAcquire(shmem::shared->lock, LW_EXCLUSIVE);
    const std::size_t count = slot->rechecks;
    std::copy_n(slot->recheck, count, told.begin());
    if (slot->recheck_all) {
        agenda.gates = 0;
        agenda.walk_again = agenda.gates_after != 0 || agenda.plans_after != 0;
        agenda.hurry = true;
    }
    slot->rechecks = 0;
    slot->recheck_all = false;
    LWLockRelease(shmem::shared->lock);
    for (std::size_t i = 0; i < count; i++)
        add_doubt(told[i], agenda);
    if (count > 0) {
        doubts.at = 0;
        doubts.delay = k_first_doubt;
    }
}

// Before a round adds what has ended in it.
void resume_backlog(store::Store &store) {
    for (std::size_t i = 0; i < backlog.count; i++)
        note_ended(store, backlog.rows[i]);
}

// Does a portion of it, and keeps what is left.
void settle_backlog(store::Store &store, TimestampTz now) {
    settle_portion(store, now, k_portion);
    if (store.ended.count > backlog.room) {
        backlog.room = 2 * store.ended.count;
        if (backlog.rows != nullptr)
            pfree(backlog.rows);
        backlog.rows =
            static_cast<store::Ended *>(MemoryContextAllocHuge(TopMemoryContext, backlog.room * sizeof(store::Ended)));
    }
    std::copy_n(store.ended.rows, store.ended.count, backlog.rows);
    backlog.count = store.ended.count;
    store.ended.count = 0;
}

// What was in doubt is decided when the transactions that made it so have ended, which mostly is at once.
void run_doubts(Agenda &agenda) {
    take_rechecks(agenda);
    const TimestampTz now = GetCurrentTimestamp();
    const bool looks = doubts.count > 0 && now >= doubts.at;
    if (!looks && backlog.count == 0)
        return;
    in_transaction("opening gates", [&](store::Store &store) {
        resume_backlog(store);
        std::size_t left = looks ? 0 : doubts.count;
        for (std::size_t i = 0; looks && i < doubts.count; i++)
            if (!recheck(store, doubts.id[i], now))
                doubts.id[left++] = doubts.id[i];
        doubts.count = left;
        settle_backlog(store, now);
    });
    if (!looks)
        return;
    doubts.at = GetCurrentTimestamp() + doubts.delay;
    doubts.delay = Min(doubts.delay * 2, interval());
}

void run_gates(Agenda &agenda) {
    const TimestampTz now = GetCurrentTimestamp();
    if (now < agenda.gates)
        return;
    in_transaction("looking for open gates", [&](store::Store &store) {
        resume_backlog(store);
        if (agenda.plans_after == 0)
            recheck_waiting(store, now, k_portion, &agenda.gates_after);
        settle_backlog(store, now);
        if (agenda.gates_after == 0)
            recheck_plans(store, now, k_portion, &agenda.plans_after);
    });
    const TimestampTz end = GetCurrentTimestamp();
    const bool more = agenda.gates_after != 0 || agenda.plans_after != 0;
    agenda.gates = end + (more && agenda.hurry ? 0 : Max(more ? 0 : interval(), (end - now) * k_scan_share));
    if (!more) {
        agenda.hurry = agenda.walk_again;
        agenda.walk_again = false;
        if (agenda.hurry)
            agenda.gates = 0;
    }
}

TimestampTz next_time(const Agenda &agenda) {
    TimestampTz next = Min(Min(agenda.purge, agenda.events), Min(agenda.waiters, agenda.gates));
    if (doubts.count > 0)
        next = Min(next, doubts.at);
    if (backlog.count > 0)
        next = 0;
    for (const Timer timer : {Timer::due, Timer::deadline}) {
        const auto t = static_cast<std::size_t>(timer);
        next = Min(next, Min(agenda.safety[t], Min(agenda.at[t], earliest(*slot, timer))));
    }
    return next;
}

void sleep_until(TimestampTz when, Agenda &agenda) {
    const TimestampTz now = GetCurrentTimestamp();
    if (when > now) {
        pgstat_report_stat(false);
        // Rounded up to the next millisecond: waking too early would only mean to sleep again.
        const auto timeout = static_cast<long>(Min((when - now + 999) / 1000, interval() / 1000 + 1));
        WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, timeout, PG_WAIT_EXTENSION);
    }
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
    if (ConfigReloadPending) {
        ConfigReloadPending = false;
        ProcessConfigFile(PGC_SIGHUP);
        agenda = {}; // the interval or the retention may be shorter now
    }
}

void run_due(Agenda &agenda) { run_timer(agenda, Timer::due, "opening due tasks", open_due_tasks); }
void run_deadlines(Agenda &agenda) { run_timer(agenda, Timer::deadline, "ending expired leases", end_expired_leases); }

// What it does in turn, each if it is time for it.
using Duty = void (*)(Agenda &);
constexpr std::array<Duty, 8> k_duties{run_due,    run_deadlines, run_doubts, run_gates,
                                       run_notify, run_waiters,   run_purge,  run_events};

// Until it is asked to stop.
void run() {
    Agenda agenda{};     // everything is to be done at once
    agenda.hurry = true; // an earlier monitor may have left many tasks that wait for nothing
    const uint32 first = pg_atomic_read_u32(&slot->duty);
    while (pg_atomic_read_u32(&slot->stop) == 0) {
        const TimestampTz now = GetCurrentTimestamp();
        if (now < agenda.now) { // the clock was set back: what was to come soon might be far away now
            agenda = {};
            doubts.at = 0;
        }
        agenda.now = now;
        for (uint32 i = 0; i < k_duties.size(); i++) {
            const uint32 duty = (first + i) % k_duties.size();
            pg_atomic_write_u32(&slot->duty, duty); // an error ends us: the next one begins after it
            k_duties[duty](agenda);
        }
        pg_atomic_write_u32(&slot->duty, k_duties.size() - 1);
        sleep_until(next_time(agenda), agenda);
    }
}

// An error ends this process; what it was is left in the statistics.
void count_error() {
    MemoryContextSwitchTo(TopMemoryContext);
    const ErrorData *error = CopyErrorData();
    if (OidIsValid(extension))
        shmem::count_error({MyDatabaseId, extension, 0}, error->message);
}

} // namespace

BackgroundWorker make_worker(const char *name, const char *function) {
    BackgroundWorker worker{};
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
    worker.bgw_start_time = BgWorkerStart_RecoveryFinished; // not on a standby until it is promoted
    strlcpy(worker.bgw_library_name, "scylla", sizeof(worker.bgw_library_name));
    strlcpy(worker.bgw_function_name, function, sizeof(worker.bgw_function_name));
    strlcpy(worker.bgw_name, name, sizeof(worker.bgw_name));
    strlcpy(worker.bgw_type, name, sizeof(worker.bgw_type));
    return worker;
}

} // namespace scylla::monitor

void scylla_monitor_main(Datum slot_index) {
    using namespace scylla;
    using namespace scylla::monitor;
    slot = &shmem::shared->slot[DatumGetInt32(slot_index)];
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    pqsignal(SIGTERM, die);
    BackgroundWorkerUnblockSignals();
    before_shmem_exit(leave_slot, 0);
    pg_atomic_write_u32(&slot->proc, static_cast<uint32>(compat::my_proc_number()) + 1);
    pg_memory_barrier(); // whoever asked us to stop before that did not wake us

    if (pg_atomic_read_u32(&slot->stop) != 0)
        proc_exit(0);
    BackgroundWorkerInitializeConnectionByOid(pg_atomic_read_u32(&slot->database), InvalidOid, 0);
    override_settings();
    pgstat_report_appname("scylla monitor");

    PG_TRY();
    { run(); }
    PG_CATCH();
    {
        count_error();
        PG_RE_THROW();
    }
    PG_END_TRY();
    proc_exit(0);
}
