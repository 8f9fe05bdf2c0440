// The engine of workflows: a process for each database with rows on the agenda (workflow/runs.h). It sleeps while there
// is nothing to do, is woken by commits, and ends after a minute. If there is none, the monitor has one started.
//
// It runs as the owner of the tables and executes no user's code: the model evaluates expressions of definitions. Its
// commits are asynchronous: what a crash undoes is on the agenda again, and a worker's commit that depends on one
// flushes it too.
#include "pg/clock.h"
#include "server/session.h"
#include "server/worker.h"
#include "shmem/waiters.h"
#include "shmem/workers.h"
#include "workflow/runs.h"

namespace scylla::monitor {

namespace {

constexpr int64 k_idle = 60 * USECS_PER_SEC; // then it ends
constexpr int64 k_look = USECS_PER_SEC;      // between two checks without a signal
// While another transaction holds a lock that it needs: doubled each time. A commit wakes the engine before it releases
// its locks, so the first look is soon.
constexpr int64 k_first_postponement = 1'000;
constexpr int64 k_last_postponement = 50'000;

shmem::WorkerSlot *place = nullptr; // of this process

extern "C" void leave_engine_slot(int, Datum) {
    LWLockAcquire(shmem::shared->lock, LW_EXCLUSIVE);
    place->pid = 0;
    LWLockRelease(shmem::shared->lock);
    pg_atomic_write_u32(&place->proc, 0);
    shmem::wake_launcher();
}

bool is_to_end() { return !shmem::is_running(*place); }

workflow::Advance take_turn(workflow::Outlook outlook) {
    workflow::Advance result;
    as_owner_in_transaction("advancing workflows", [&] { result = workflow::advance(outlook); });
    return result;
}

void sleep_for(int64 micros) {
    shmem::set_idle(*place, true);
    pgstat_report_stat(false);
    WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, static_cast<long>((micros + 999) / 1000),
              PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
    shmem::set_idle(*place, false);
    if (ConfigReloadPending) {
        ConfigReloadPending = false;
        ProcessConfigFile(PGC_SIGHUP);
    }
}

// How long there is nothing to do, unless another process wakes us.
int64 pause_after(const workflow::Advance &result, int64 postponement) {
    if (result.postponed)
        return postponement;
    const TimestampTz now = GetCurrentTimestamp();
    return result.next >= now + k_look ? k_look : Max(result.next - now, int64{0});
}

void run() {
    int64 idle_ends = steady_now() + k_idle;
    int64 postponement = k_first_postponement;
    auto outlook = workflow::Outlook::work;
    while (!is_to_end()) {
        shmem::enlist(std::array{shmem::k_agenda}); // before the snapshot is taken
        const workflow::Advance result = take_turn(outlook);
        // After work without another signal there is mostly nothing left.
        const bool is_called = shmem::signalled().has_value();
        outlook = result.more && !is_called ? workflow::Outlook::idle : workflow::Outlook::work;
        if (result.more)
            idle_ends = steady_now() + k_idle;
        else if (steady_now() >= idle_ends)
            break;
        else if (!is_called)
            sleep_for(pause_after(result, postponement));
        postponement = result.postponed ? Min(postponement * 2, k_last_postponement) : k_first_postponement;
        shmem::leave(shmem::k_agenda);
    }
}

} // namespace
} // namespace scylla::monitor

void scylla_engine_main(Datum slot_index) {
    using namespace scylla;
    using namespace scylla::monitor;
    place = &shmem::shared->worker[DatumGetInt32(slot_index)];
    before_shmem_exit(leave_engine_slot, 0);
    pg_atomic_write_u32(&place->proc, static_cast<uint32>(compat::my_proc_number()) + 1);
    LWLockAcquire(shmem::shared->lock, LW_EXCLUSIVE);
    place->pid = MyProcPid;
    place->since = GetCurrentTimestamp();
    LWLockRelease(shmem::shared->lock);
    if (shmem::advance(place->state, model::ProcessEvent::attach) != model::ProcessState::running)
        proc_exit(0);
    begin_process("scylla engine", pg_atomic_read_u32(&place->database));
    run();
    (void)shmem::advance(place->state, model::ProcessEvent::stop); // not a failure
    proc_exit(0);
}
