// The engine of workflows: a process for each database with rows on the agenda (workflow/runs.h). It sleeps while there
// is nothing to do, is woken by commits, and ends after a minute. If there is none, the monitor has one started.
//
// It runs as the owner of the tables and executes no user's code: the model evaluates expressions of definitions. Its
// commits are asynchronous: what a crash undoes is on the agenda again, and a worker's commit that depends on one
// flushes it too.
//
// Evaluations that take long are left to a second such process, that of the slow lane (workflow/pace.h), which the
// first one asks for. Without it, because the server has no room, the first one does them when it has nothing else to
// do.
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
    shmem::leave(std::nullopt); // it may end while it waits, outside a transaction
    LWLockAcquire(shmem::shared->lock, LW_EXCLUSIVE);
    place->pid = 0;
    LWLockRelease(shmem::shared->lock);
    pg_atomic_write_u32(&place->proc, 0);
    shmem::wake_launcher();
}

bool is_to_end() { return !shmem::is_running(*place); }

workflow::Advance advance_alone(workflow::Lane lane, const workflow::Advance &before = {}) {
    workflow::Advance result;
    as_owner_in_transaction("advancing workflows", [&] { result = workflow::advance(lane, before); });
    return result;
}

// Wakes the engine of the slow lane, or asks for it. False: there is none for now.
bool hand_over_slow() {
    if (shmem::has_engine(MyDatabaseId, true)) {
        shmem::signal(MyDatabaseId, shmem::k_slow_agenda, 1);
        return true;
    }
    shmem::want_workers({MyDatabaseId, InvalidOid, 1, steady_now(), 1});
    return false;
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

// What the lane of this process has, and if nobody else does it for a while, what the slow one has.
workflow::Advance look(const workflow::Advance &before, int64 *asked) {
    if (place->slow) {
        const workflow::Advance result = advance_alone(workflow::Lane::slow);
        return {.more = result.more, .postponed = result.postponed || result.has_slow};
    }
    const workflow::Advance result = advance_alone(workflow::Lane::fast, before);
    if (result.more || !result.has_slow || hand_over_slow()) {
        *asked = 0;
        return result;
    }
    if (*asked == 0)
        *asked = steady_now();
    return steady_now() - *asked < k_look ? result : advance_alone(workflow::Lane::slow);
}

void run() {
    const shmem::Awaited awaited = place->slow ? shmem::k_slow_agenda : shmem::k_agenda;
    int64 idle_ends = steady_now() + k_idle;
    int64 postponement = k_first_postponement;
    int64 asked = 0; // when it began to ask for another engine; 0: it does not
    workflow::Advance result;
    while (!is_to_end()) {
        shmem::enlist(std::array{awaited}); // before the snapshot is taken
        result = look(result, &asked);
        if (result.more)
            idle_ends = steady_now() + k_idle;
        else if (steady_now() >= idle_ends)
            break;
        else if (!shmem::signalled())
            sleep_for(pause_after(result, postponement));
        postponement = result.postponed ? Min(postponement * 2, k_last_postponement) : k_first_postponement;
        shmem::leave(awaited);
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
