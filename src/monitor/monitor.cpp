// A monitor: looks after one database. It sleeps until the next lease ends, the next task becomes due or it is time to look
// for old tasks, and is woken by a commit that brings an earlier time (shmem/timers.h).
//
// It never waits for an application: rows that somebody is just changing are left for the next round, and locks on tables are
// waited for one second only. It holds no transaction while it sleeps. It runs as the owner of the tables, not as the
// superuser that background workers are: an index that somebody adds to the tables may run that somebody's functions.
//
// Its commits are asynchronous. That loses nothing: what a round did is done again after a crash, and a worker's commit that
// builds on it flushes it too, as it comes later in the WAL.
#include "monitor/monitor.h"

#include "settings.h"
#include "shmem/timers.h"
#include "shmem/waiters.h"
#include "verbs/maintain.h"
#include "verbs/ready_scan.h"

namespace scylla::monitor {

namespace {

using shmem::Timer;

constexpr int64 k_portion = 1000;            // rows per transaction
constexpr int64 k_retry = 50 * 1000;         // microseconds until rows that were busy are tried again
constexpr int64 k_scan_share = 50;           // a look at all leases for safety takes at most 1/50 of the time
constexpr int64 k_purge_share = 10;          // and the walk through the terminal tasks 1/10

shmem::MonitorSlot *slot = nullptr;

// When each kind of work is to be done next by what this monitor knows itself.
struct Agenda {
    std::array<TimestampTz, shmem::k_timers> at;     // as found in the tables, or a retry
    std::array<TimestampTz, shmem::k_timers> safety; // a look without any sign, for commits that could not tell (see pending.h)
    TimestampTz waiters; // the look for workers that wait although there is work
    TimestampTz purge;
    int64 purge_after; // how far the walk through the terminal tasks is
};

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
    if (!store::installed())
        report_absent(); // the extension has been dropped
    Oid user = InvalidOid;
    int context = 0;
    GetUserIdAndSecContext(&user, &context);
    SetUserIdAndSecContext(store::tables_owner(), context | SECURITY_RESTRICTED_OPERATION);
    PushActiveSnapshot(GetTransactionSnapshot()); // for functions in somebody's index on the tables
    store::Store store = store::open(RowExclusiveLock);
    work(store);
    close(store);
    PopActiveSnapshot();
    SetUserIdAndSecContext(user, context);
    CommitTransactionCommand();
    pgstat_report_activity(STATE_IDLE, nullptr);
}

using Round = void (*)(store::Store &, TimestampTz, Portion *, TimestampTz *);

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
    if (portion.more)
        next = portion.done > 0 ? end : end + k_retry;
    agenda.at[t] = next;
    agenda.safety[t] = end + Max(interval(), timer == Timer::deadline ? (end - now) * k_scan_share : 0);
    shmem::lower(*slot, timer, next);
}

void run_purge(Agenda &agenda) {
    const TimestampTz now = GetCurrentTimestamp();
    if (now < agenda.purge)
        return;
    Portion portion{k_portion, 0, false};
    in_transaction("purging old tasks", [&](store::Store &store) {
        purge_old_tasks(store, now, &portion, &agenda.purge_after);
    });
    const TimestampTz end = GetCurrentTimestamp();
    agenda.purge = portion.more ? end : end + Max(interval(), (end - now) * k_purge_share);
}

// Wakes workers that wait although there is work: a commit without a callback made it, or the worker that was woken for it
// has died.
void run_waiters(Agenda &agenda) {
    const TimestampTz now = GetCurrentTimestamp();
    if (now < agenda.waiters)
        return;
    std::array<int32, 4096> queues;
    const std::size_t count = shmem::waited_for(queues);
    if (count > 0)
        in_transaction("looking for overlooked tasks", [&](store::Store &store) {
            for (std::size_t i = 0; i < count; i++) {
                if (const int64 ready = count_ready(store, queues[i], k_portion, now); ready > 0)
                    shmem::signal(MyDatabaseId, queues[i], ready);
            }
        });
    agenda.waiters = GetCurrentTimestamp() + interval();
}

TimestampTz next_time(const Agenda &agenda) {
    TimestampTz next = Min(agenda.purge, agenda.waiters);
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

    Agenda agenda{}; // everything is to be done at once
    while (pg_atomic_read_u32(&slot->stop) == 0) {
        run_timer(agenda, Timer::due, "opening due tasks", open_due_tasks);
        run_timer(agenda, Timer::deadline, "ending expired leases", end_expired_leases);
        run_waiters(agenda);
        run_purge(agenda);
        sleep_until(next_time(agenda), agenda);
    }
    proc_exit(0);
}
