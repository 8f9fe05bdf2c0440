#include "shmem/workers.h"

extern "C" {
#include <signal.h>
}

namespace scylla::shmem {

void want_workers(const WantedWorkers &wanted) {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    int at = 0;
    while (at < shared->wanted_count &&
           (shared->wanted[at].database != wanted.database || shared->wanted[at].role != wanted.role))
        at++;
    if (at < k_max_workers) { // else the next look asks again
        shared->wanted[at] = wanted;
        shared->wanted_count = Max(shared->wanted_count, at + 1);
    }
    LWLockRelease(shared->lock);
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
    pg_atomic_write_u32(&worker.stop, 1);
    pg_memory_barrier();
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

void begin_call(WorkerSlot &worker, int64 task) noexcept {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    worker.task = task;
    worker.interrupted = false;
    LWLockRelease(shared->lock);
}

bool end_call(WorkerSlot &worker) noexcept {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    worker.task = 0;
    const bool interrupted = worker.interrupted;
    LWLockRelease(shared->lock);
    return interrupted;
}

void interrupt_call(Oid database, int64 task) noexcept {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    for (WorkerSlot &worker : shared->worker)
        if (worker.task == task && worker.pid != 0 && pg_atomic_read_u32(&worker.database) == database) {
            worker.interrupted = true;
            kill(worker.pid, SIGINT);
        }
    LWLockRelease(shared->lock);
}

} // namespace scylla::shmem
