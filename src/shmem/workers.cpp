#include "shmem/workers.h"

extern "C" {
#include <signal.h>
}

#include "pg/clock.h"
#include "shmem/databases.h"

namespace scylla::shmem {

void keep_wanted(const WantedWorkers &wanted) {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    int at = 0;
    while (at < shared->wanted_count &&
           (shared->wanted[at].database != wanted.database || shared->wanted[at].role != wanted.role ||
            (shared->wanted[at].queue == 0) != (wanted.queue == 0)))
        at++;
    if (at < shared->wanted_count && shared->wanted[at].tasks > wanted.tasks)
        at = k_max_wanted;
    if (at < k_max_wanted) { // else the next look asks again
        shared->wanted[at] = wanted;
        shared->wanted_count = Max(shared->wanted_count, at + 1);
    }
    LWLockRelease(shared->lock);
}

void want_workers(const WantedWorkers &wanted) {
    keep_wanted(wanted);
    wake_launcher();
}

std::size_t take_wanted(std::span<WantedWorkers, k_max_wanted> wanted) {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    const auto count = static_cast<std::size_t>(shared->wanted_count);
    std::copy_n(shared->wanted, count, wanted.begin());
    shared->wanted_count = 0;
    LWLockRelease(shared->lock);
    return count;
}

namespace {

// Under the lock.
void tell_to_end(WorkerSlot &worker) {
    if (worker.calls && worker.told == 0)
        worker.told = steady_now();
}

} // namespace

void forget_call(WorkerSlot &worker) noexcept {
    worker.calls = false;
    worker.task = 0;
    worker.queue = 0;
    worker.told = 0;
}

void ask_to_leave(WorkerSlot &worker) noexcept {
    (void)advance(worker.state, model::ProcessEvent::stop);
    wake(pg_atomic_read_u32(&worker.proc));
}

void stop(WorkerSlot &worker) noexcept {
    ask_to_leave(worker);
    // A pid is of this worker as long as the slot is in use: it removes it itself, under the lock.
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    if (worker.pid != 0) {
        tell_to_end(worker);
        kill(worker.pid, SIGTERM);
    }
    LWLockRelease(shared->lock);
    wake_launcher();
}

void condemn(WorkerSlot &worker) noexcept {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    worker.condemned = true;
    LWLockRelease(shared->lock);
    stop(worker);
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

bool has_engine(Oid database, bool slow) noexcept {
    return std::any_of(std::begin(shared->worker), std::end(shared->worker), [&](WorkerSlot &worker) {
        return pg_atomic_read_u32(&worker.database) == database && !OidIsValid(worker.role) && worker.slow == slow &&
               state_of(worker) != model::ProcessState::stopping;
    });
}

void ask_for_engine(Oid database) noexcept {
    if (MonitorSlot *slot = monitor_slot(database); slot != nullptr && lower(*slot, Timer::workflow, 0))
        wake(pg_atomic_read_u32(&slot->proc));
    note_due(database, 0);
}

namespace {

const char *describe(WorkerSlot &worker) {
    const bool goes_on = worker.calls && worker.told == 0; // asked to exit when its call has ended
    if (state_of(worker) == model::ProcessState::stopping && !goes_on)
        return "stopping";
    if (worker.pid == 0)
        return "starting";
    if (worker.calls)
        return "running";
    return pg_atomic_read_u32(&worker.idle) != 0 ? "idle" : "looking";
}

} // namespace

std::size_t look_at_workers(std::span<WorkerState, k_max_workers> states) {
    std::size_t count = 0;
    LWLockAcquire(shared->lock, LW_SHARED);
    for (WorkerSlot &worker : shared->worker)
        if (const Oid database = pg_atomic_read_u32(&worker.database); database != 0)
            states[count++] = {worker.pid,   database,  worker.role, describe(worker), worker.calls,
                               worker.queue, worker.of, worker.name, worker.since,     is_lost(worker)};
    LWLockRelease(shared->lock);
    return count;
}

CallNow call_of(WorkerSlot &worker) noexcept {
    LWLockAcquire(shared->lock, LW_SHARED);
    const CallNow call = worker.calls
                             ? CallNow{.length = Max(steady_now() - worker.began, int64{1}),
                                       .queue = worker.queue,
                                       .is_task = worker.task != 0,
                                       .told_for = worker.told != 0 ? Max(steady_now() - worker.told, int64{1}) : 0}
                             : CallNow{};
    LWLockRelease(shared->lock);
    return call;
}

bool is_lost(WorkerSlot &worker) noexcept { return worker.condemned && worker.calls; }

int64 count_calls(Oid database, Oid role, int32 queue) noexcept {
    LWLockAcquire(shared->lock, LW_SHARED);
    const auto count = std::count_if(std::begin(shared->worker), std::end(shared->worker), [&](WorkerSlot &worker) {
        return pg_atomic_read_u32(&worker.database) == database && worker.role == role && worker.calls &&
               worker.queue == queue;
    });
    LWLockRelease(shared->lock);
    return count;
}

std::optional<TimestampTz> all_busy_since(int64 workers) noexcept {
    int64 busy = 0;
    TimestampTz last = 0;
    LWLockAcquire(shared->lock, LW_SHARED);
    for (WorkerSlot &worker : shared->worker)
        if (pg_atomic_read_u32(&worker.database) != 0 && worker.calls && !is_lost(worker)) {
            busy++;
            last = Max(last, worker.since);
        }
    LWLockRelease(shared->lock);
    return workers > 0 && busy >= workers ? std::optional(last) : std::nullopt;
}

void set_idle(WorkerSlot &worker, bool idle) noexcept {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    pg_atomic_write_u32(&worker.idle, idle ? 1 : 0);
    worker.since = GetCurrentTimestamp();
    LWLockRelease(shared->lock);
}

namespace {

void copy(std::string_view from, CallText &to) {
    const int size = static_cast<int>(from.size());
    const int most = static_cast<int>(to.size()) - 1;
    const int kept = size <= most ? size : pg_mbcliplen(from.data(), size, most);
    std::copy_n(from.data(), kept, to.begin());
    to[static_cast<std::size_t>(kept)] = 0;
}

} // namespace

void begin_call(WorkerSlot &worker, const Call &call) noexcept {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    worker.calls = true;
    worker.task = call.task;
    worker.queue = call.queue;
    copy(call.of, worker.of);
    copy(call.name, worker.name);
    worker.since = GetCurrentTimestamp();
    worker.began = steady_now();
    worker.told = 0;
    worker.interrupted = false;
    LWLockRelease(shared->lock);
}

bool end_call(WorkerSlot &worker) noexcept {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    forget_call(worker);
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

void interrupt_calls(Oid database, std::span<int64> tasks) noexcept {
    std::sort(tasks.begin(), tasks.end());
    bool any = false;
    const auto is_one = [&](int64 task) { return std::binary_search(tasks.begin(), tasks.end(), task); };
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    for (SessionCall &call : shared->session_call)
        if (call.pid != 0 && call.database == database && is_one(call.task)) {
            call.interrupted = true;
            kill(call.pid, SIGINT);
        }
    for (WorkerSlot &worker : shared->worker)
        if (worker.task != 0 && worker.pid != 0 && pg_atomic_read_u32(&worker.database) == database &&
            is_one(worker.task)) {
            worker.interrupted = true;
            tell_to_end(worker);
            kill(worker.pid, SIGINT);
            any = true;
        }
    LWLockRelease(shared->lock);
    if (any)
        wake_launcher(); // it ends the process if the call does not end
}

} // namespace scylla::shmem
