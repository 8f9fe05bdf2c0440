#include "shmem/workers.h"

extern "C" {
#include <signal.h>
}

#include "shmem/timers.h"

namespace scylla::shmem {

void keep_wanted(const WantedWorkers &wanted) {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    int at = 0;
    while (at < shared->wanted_count &&
           (shared->wanted[at].database != wanted.database || shared->wanted[at].role != wanted.role))
        at++;
    if (at < shared->wanted_count && shared->wanted[at].tasks > wanted.tasks)
        at = k_max_workers;
    if (at < k_max_workers) { // else the next look asks again
        shared->wanted[at] = wanted;
        shared->wanted_count = Max(shared->wanted_count, at + 1);
    }
    LWLockRelease(shared->lock);
}

void want_workers(const WantedWorkers &wanted) {
    keep_wanted(wanted);
    wake_launcher();
}

std::size_t take_wanted(std::span<WantedWorkers, k_max_workers> wanted) {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    const auto count = static_cast<std::size_t>(shared->wanted_count);
    std::copy_n(shared->wanted, count, wanted.begin());
    shared->wanted_count = 0;
    LWLockRelease(shared->lock);
    return count;
}

void ask_to_leave(WorkerSlot &worker) noexcept {
    (void)advance(worker.state, model::ProcessEvent::stop);
    wake(pg_atomic_read_u32(&worker.proc));
}

void stop(WorkerSlot &worker) noexcept {
    ask_to_leave(worker);
    // A pid is of this worker as long as the slot is in use: it removes it itself, under the lock.
    LWLockAcquire(shared->lock, LW_SHARED);
    if (worker.pid != 0)
        kill(worker.pid, SIGTERM);
    LWLockRelease(shared->lock);
}

bool stop_workers(Oid database) noexcept {
    bool any = false;
    for (WorkerSlot &worker : shared->worker)
        if (pg_atomic_read_u32(&worker.database) == database) {
            any = true;
            stop(worker);
        }
    return any;
}

bool has_engine(Oid database) noexcept {
    return std::any_of(std::begin(shared->worker), std::end(shared->worker), [&](WorkerSlot &worker) {
        return pg_atomic_read_u32(&worker.database) == database && !OidIsValid(worker.role) &&
               state_of(worker) != model::ProcessState::stopping;
    });
}

void ask_for_engine(Oid database) noexcept {
    for (MonitorSlot &slot : std::span(shared->slot).first(static_cast<std::size_t>(shared->slots)))
        if (pg_atomic_read_u32(&slot.database) == database && lower(slot, Timer::workflow, 0))
            wake(pg_atomic_read_u32(&slot.proc));
}

namespace {

const char *describe(WorkerSlot &worker) {
    if (state_of(worker) == model::ProcessState::stopping)
        return "stopping";
    if (worker.pid == 0)
        return "starting";
    if (worker.task != 0)
        return "running";
    return pg_atomic_read_u32(&worker.idle) != 0 ? "idle" : "looking";
}

} // namespace

std::size_t look_at_workers(Oid database, std::span<WorkerState, k_max_workers> states) {
    std::size_t count = 0;
    LWLockAcquire(shared->lock, LW_SHARED);
    for (WorkerSlot &worker : shared->worker)
        if (pg_atomic_read_u32(&worker.database) == database)
            states[count++] = {worker.pid, worker.role, describe(worker), worker.task, worker.since};
    LWLockRelease(shared->lock);
    return count;
}

void set_idle(WorkerSlot &worker, bool idle) noexcept {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    pg_atomic_write_u32(&worker.idle, idle ? 1 : 0);
    worker.since = GetCurrentTimestamp();
    LWLockRelease(shared->lock);
}

void begin_call(WorkerSlot &worker, int64 task) noexcept {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    worker.task = task;
    worker.since = GetCurrentTimestamp();
    worker.interrupted = false;
    LWLockRelease(shared->lock);
}

int64 length_of_call(WorkerSlot &worker) noexcept {
    LWLockAcquire(shared->lock, LW_SHARED);
    const int64 length = worker.task != 0 ? Max(GetCurrentTimestamp() - worker.since, int64{1}) : 0;
    LWLockRelease(shared->lock);
    return length;
}

bool end_call(WorkerSlot &worker) noexcept {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    worker.task = 0;
    worker.since = GetCurrentTimestamp();
    const bool interrupted = worker.interrupted;
    LWLockRelease(shared->lock);
    return interrupted;
}

// ---- sessions ------------------------------------------------------------------------------------------------------

namespace {

constinit SessionCall *own_call = nullptr; // of this session
constinit bool leaves_at_exit = false;

extern "C" void leave_session_call(int, Datum) { (void)end_session_call(); }

} // namespace

void begin_session_call(int64 task) {
    if (shared == nullptr)
        return;
    if (!leaves_at_exit)
        before_shmem_exit(leave_session_call, 0);
    leaves_at_exit = true;
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    SessionCall *free = std::find_if(std::begin(shared->session_call), std::end(shared->session_call),
                                     [](const SessionCall &call) { return call.pid == 0; });
    own_call = free == std::end(shared->session_call) ? nullptr : free;
    if (own_call != nullptr)
        *own_call = {MyProcPid, MyDatabaseId, task, false};
    LWLockRelease(shared->lock);
}

bool end_session_call() noexcept {
    if (own_call == nullptr)
        return false;
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    const bool interrupted = own_call->interrupted;
    *own_call = {};
    LWLockRelease(shared->lock);
    own_call = nullptr;
    return interrupted;
}

void interrupt_call(Oid database, int64 task) noexcept {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    for (SessionCall &call : shared->session_call)
        if (call.pid != 0 && call.task == task && call.database == database) {
            call.interrupted = true;
            kill(call.pid, SIGINT);
        }
    for (WorkerSlot &worker : shared->worker)
        if (worker.task == task && worker.pid != 0 && pg_atomic_read_u32(&worker.database) == database) {
            worker.interrupted = true;
            kill(worker.pid, SIGINT);
        }
    LWLockRelease(shared->lock);
}

} // namespace scylla::shmem
