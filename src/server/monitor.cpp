// A monitor: works for one database. It sleeps until the next lease ends, the next task becomes due or it is time to
// purge old tasks, and is woken by a commit with an earlier time (shmem/timers.h).
//
// An error in a duty ends the turn of that duty only (server/duties.h).
//
// When the launcher needs its process for another database, or nothing is due for long, it leaves the time of its next
// work behind, and exits.
//
// It never waits for an application: rows that another transaction is changing are left for the next round, and it
// waits for locks on tables for one second at most. It holds no transaction while it sleeps. It runs as the owner of
// the tables and not as a superuser, like background workers in general: an index that a user adds to the tables may
// call functions of that user.
//
// Its commits are asynchronous. That loses nothing: the work of a round is done again after a crash, and a worker's
// commit that depends on it flushes it too, as it is later in the WAL.
#include "server/monitor.h"

#include "model/appointment.h"
#include "pg/settings.h"
#include "server/duties.h"
#include "server/session.h"
#include "shmem/databases.h"
#include "shmem/waiters.h"

namespace scylla::monitor {

namespace {

void sleep_until(TimestampTz when) {
    const TimestampTz now = GetCurrentTimestamp();
    pgstat_report_stat(false); // also if it never sleeps: autovacuum depends on it
    if (when > now) {
        // Rounded up to the next millisecond: after waking too early it would only sleep again.
        const auto timeout = static_cast<long>(Min((when - now + 999) / 1000, interval() / 1000 + 1));
        WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, timeout, PG_WAIT_EXTENSION);
    }
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
    if (ConfigReloadPending) {
        ConfigReloadPending = false;
        ProcessConfigFile(PGC_SIGHUP);
        restart_duties(); // the interval or the retention may be shorter now
    }
}

TimestampTz longest_idle() { return static_cast<TimestampTz>(settings::monitor_idle) * 1000; }

// Since when there is nothing to do; 0: there is.
TimestampTz note_idle(TimestampTz since) {
    if (next_known_duty() <= GetCurrentTimestamp())
        return 0;
    if (since != 0)
        return since;
    // Whoever only visits has stayed long enough when it has looked everywhere.
    const bool visits = pg_atomic_read_u32(&slot->visits) != 0;
    return GetCurrentTimestamp() - (visits ? longest_idle() : 0);
}

// When the monitor exits because nothing is due. k_never: something is within the time for which it stays, or workers
// wait, for whom it looks now and then.
TimestampTz rests_at(TimestampTz idle_since) {
    if (idle_since == 0 || settings::monitor_idle < 0 || !shmem::is_served() || shmem::is_anybody_waiting())
        return shmem::k_never;
    const TimestampTz at = idle_since + longest_idle();
    return next_known_duty() > Max(at, GetCurrentTimestamp()) + longest_idle() ? at : shmem::k_never;
}

void rest() {
    pg_atomic_write_u32(&slot->rested, 1);
    (void)shmem::advance(slot->state, model::ProcessEvent::stop);
}

// Works until it is asked to stop, or nothing is due for long.
void run() {
    begin_duties();
    TimestampTz idle_since = 0;
    const uint32 duties = count_duties();
    const uint32 first = pg_atomic_read_u32(&slot->duty);
    model::ClockWatch clock;
    while (shmem::is_running(*slot)) {
        if (clock.is_set_back(GetCurrentTimestamp()))
            restart_duties();
        for (uint32 i = 0; i < duties; i++) {
            const uint32 duty = (first + i) % duties;
            pg_atomic_write_u32(&slot->duty, duty); // if this ends us, the next monitor begins after it
            run_duty(duty);
        }
        pg_atomic_write_u32(&slot->duty, duties - 1);
        idle_since = note_idle(idle_since);
        shmem::note_idle_until(next_known_duty());
        const TimestampTz rests = rests_at(idle_since);
        if (rests <= GetCurrentTimestamp()) {
            rest();
            break;
        }
        if (idle_since != 0)
            pg_atomic_write_u32(&slot->visits, 0); // it stays
        sleep_until(Min(next_duty(), rests));
        shmem::note_idle_until(0);
        if (next_known_duty() <= GetCurrentTimestamp())
            idle_since = 0;
    }
    shmem::leave_database(next_known_duty);
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
    using namespace scylla::monitor;
    begin_session(DatumGetInt32(slot_index));
    PG_TRY();
    { run(); }
    PG_CATCH();
    {
        MemoryContextSwitchTo(TopMemoryContext);
        count_error(CopyErrorData());
        PG_RE_THROW();
    }
    PG_END_TRY();
    proc_exit(0);
}
