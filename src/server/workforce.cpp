// Manages server workers: the monitor of each database requests those that its queues need, and the launcher starts
// them, up to scylla.max_server_workers in the whole server.
#include "server/worker.h"

#include "pg/clock.h"
#include "pg/settings.h"
#include "queue/handler.h"
#include "queue/lease.h"
#include "server/monitor.h"
#include "server/session.h"
#include "shmem/workers.h"
#include "task/duty.h"
#include "workflow/runs.h"

namespace scylla::monitor {

namespace {

using shmem::shared;
using shmem::WantedWorkers;
using shmem::WorkerSlot;

constexpr int64 k_turn = USECS_PER_SEC;              // of a role while another role has no worker
constexpr int64 k_long_call = 50'000;                // a worker that has called a handler for so long is not waited for
constexpr int64 k_ask_again = 100'000;               // until an engine that has not started is requested again
constexpr int64 k_after_failure = 5 * USECS_PER_SEC; // until a role whose worker ended with an error gets another

// ---- the monitor ---------------------------------------------------------------------------------------------------

// Adds tasks to those for which a role needs workers.
void add(std::span<WantedWorkers> wanted, std::size_t *count, Oid role, int64 tasks) {
    std::size_t at = 0;
    while (at < *count && wanted[at].role != role)
        at++;
    if (at == wanted.size())
        return;
    if (at == *count)
        wanted[(*count)++] = {MyDatabaseId, role, 0, steady_now()};
    wanted[at].tasks += tasks;
}

void want_workers(store::Store &store, DutyTurn &turn) {
    std::array<WantedWorkers, shmem::k_max_workers> wanted;
    std::size_t count = 0;
    if (settings::max_server_workers == 0)
        return;
    store::Scan scan = scan_queues(store);
    while (next(scan)) {
        const store::QueueRow row = queue_row(scan);
        if (row.handler == nullptr || row.paused)
            continue;
        const Oid role = get_role_oid(row.owner, true);
        if (!OidIsValid(role) || !may_run_workers(role))
            continue;
        const int64 tasks = count_leasable(store, row.id, shmem::k_max_workers, turn.now);
        if (tasks > 0)
            add(wanted, &count, role, tasks);
    }
    end(scan);
    for (std::size_t i = 0; i < count; i++)
        shmem::want_workers(wanted[i]);
}

// A running engine reads the agenda itself. The launcher tells us when it has ended.
void want_engine(store::Store & /*store*/, DutyTurn &turn) {
    if (shmem::shared == nullptr || settings::max_server_workers == 0 || shmem::has_engine(MyDatabaseId))
        return;
    turn.next = workflow::next_time();
    if (turn.next > turn.now)
        return;
    shmem::want_workers({MyDatabaseId, InvalidOid, 1, steady_now()});
    turn.next = turn.now + k_ask_again;
}

// ---- the launcher --------------------------------------------------------------------------------------------------

struct Hired {
    BackgroundWorkerHandle *handle; // null: the slot is free
    int64 started;
};
constinit std::array<Hired, shmem::k_max_workers> hired{};

// Roles whose worker has failed.
struct Barred {
    Oid database;
    Oid role;
    int64 until;
};
constinit std::array<Barred, shmem::k_max_workers> barred{};
constinit bool complained = false; // about the lack of worker processes, since one was last started

bool is_in_use(const WorkerSlot &slot) { return pg_atomic_read_u32(&const_cast<WorkerSlot &>(slot).database) != 0; }
// An engine is not a server worker for handlers, and not limited by scylla.max_server_workers.
bool is_engine(Oid role) { return !OidIsValid(role); }
bool is_stopping(WorkerSlot &slot) { return shmem::state_of(slot) == model::ProcessState::stopping; }

bool is_barred(const WantedWorkers &wanted, int64 now) {
    return std::any_of(barred.begin(), barred.end(), [&](const Barred &each) {
        return each.database == wanted.database && each.role == wanted.role && now < each.until;
    });
}

void bar(Oid database, Oid role, int64 now) {
    auto *oldest = std::min_element(barred.begin(), barred.end(),
                                    [](const Barred &a, const Barred &b) { return a.until < b.until; });
    *oldest = {database, role, now + k_after_failure};
}

void free_slot(std::size_t i) {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    (void)shmem::advance(shared->worker[i].state, model::ProcessEvent::reap);
    pg_atomic_write_u32(&shared->worker[i].database, 0);
    LWLockRelease(shared->lock);
    ConditionVariableBroadcast(&shared->exited);
    if (hired[i].handle != nullptr)
        pfree(hired[i].handle);
    hired[i].handle = nullptr;
}

// False: the server has no room for another worker process.
bool start(std::size_t i, const WantedWorkers &wanted, int64 now) {
    WorkerSlot &slot = shared->worker[i];
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    (void)shmem::advance(slot.state, model::ProcessEvent::launch);
    pg_atomic_write_u32(&slot.proc, 0);
    pg_atomic_write_u32(&slot.idle, 0);
    slot.role = wanted.role;
    slot.pid = 0;
    slot.task = 0;
    slot.since = GetCurrentTimestamp();
    pg_atomic_write_u32(&slot.database, wanted.database);
    LWLockRelease(shared->lock);
    BackgroundWorker worker = is_engine(wanted.role) ? make_worker("scylla engine", "scylla_engine_main")
                                                     : make_worker("scylla worker", "scylla_worker_main");
    worker.bgw_restart_time = BGW_NEVER_RESTART;
    worker.bgw_main_arg = Int32GetDatum(static_cast<int32>(i));
    worker.bgw_notify_pid = MyProcPid;
    MemoryContext caller = MemoryContextSwitchTo(TopMemoryContext);
    const bool registered = RegisterDynamicBackgroundWorker(&worker, &hired[i].handle);
    MemoryContextSwitchTo(caller);
    if (!registered) {
        hired[i].handle = nullptr;
        free_slot(i);
        return false;
    }
    hired[i].started = now;
    return true;
}

// Stops a worker for a role that needs one: an idle one, otherwise, for a role without any, the one with the longest
// turn.
void make_room(int64 now, bool has_any) {
    WorkerSlot *longest = nullptr;
    int64 started = now - k_turn;
    for (std::size_t i = 0; i < hired.size(); i++) {
        WorkerSlot &slot = shared->worker[i];
        if (!is_in_use(slot) || is_stopping(slot) || is_engine(slot.role))
            continue;
        if (pg_atomic_read_u32(&slot.idle) != 0) {
            shmem::ask_to_leave(slot);
            return;
        }
        if (!has_any && hired[i].started < started) {
            longest = &slot;
            started = hired[i].started;
        }
    }
    if (longest != nullptr)
        shmem::ask_to_leave(*longest);
}

// The present workers of a role.
struct Staff {
    std::size_t in_use; // of all roles
    std::optional<std::size_t> vacant;
    int64 present;
    int64 soon;    // of these, how many will look for tasks soon
    int64 calling; // of these, how many call a handler, which may take long
    bool idle;
};
Staff find_staff(const WantedWorkers &wanted) {
    Staff staff{};
    for (std::size_t i = 0; i < hired.size(); i++) {
        WorkerSlot &slot = shared->worker[i];
        if (!is_in_use(slot)) {
            staff.vacant = staff.vacant ? staff.vacant : i;
            continue;
        }
        staff.in_use += is_engine(slot.role) ? 0 : 1;
        if (is_stopping(slot) || slot.role != wanted.role || pg_atomic_read_u32(&slot.database) != wanted.database)
            continue;
        staff.present++;
        const int64 call = shmem::length_of_call(slot);
        staff.soon += call < k_long_call ? 1 : 0;
        staff.calling += call > 0 && call < k_long_call ? 1 : 0;
        if (pg_atomic_read_u32(&slot.idle) != 0) {
            staff.idle = true;
            shmem::wake(pg_atomic_read_u32(&slot.proc)); // it may not know a new queue
        }
    }
    return staff;
}

// False: check again what is wanted, when the workers have called their handlers for long.
bool assign(const WantedWorkers &wanted, int64 now) {
    const Staff staff = find_staff(wanted);
    if (staff.idle || is_barred(wanted, now) || is_blocked(wanted.database))
        return true;
    if (staff.soon >= wanted.tasks)
        return staff.soon - staff.calling >= wanted.tasks;
    const bool is_full = staff.in_use >= static_cast<std::size_t>(settings::max_server_workers);
    if (is_full && !is_engine(wanted.role)) {
        make_room(now, staff.present > 0);
        return true;
    }
    if (!staff.vacant)
        return true;
    if (start(*staff.vacant, wanted, now)) {
        complained = false;
        return true;
    }
    if (!complained)
        ereport(WARNING, (errmsg("scylla could not start a server worker: no worker process is left"),
                          errhint("Increase max_worker_processes, or lower scylla.max_server_workers.")));
    complained = true;
    return true;
}

} // namespace

void register_handler_duty() {
    register_duty({.activity = "looking for tasks of handlers", .work = want_workers, .timer = shmem::Timer::handler});
}

void register_engine_duty() {
    register_duty({.activity = "looking at the agenda of workflows",
                   .work = want_engine,
                   .timer = shmem::Timer::workflow,
                   .is_second_way = true});
}

int64 assign_workers(int64 now) {
    std::array<WantedWorkers, shmem::k_max_workers> wanted;
    const std::size_t count = shmem::take_wanted(wanted);
    if (settings::max_server_workers == 0) {
        stop_all_workers();
        return PG_INT64_MAX;
    }
    int64 next = PG_INT64_MAX;
    for (std::size_t i = 0; i < count; i++)
        if (!assign(wanted[i], now) && now - wanted[i].since < 4 * k_long_call) {
            shmem::keep_wanted(wanted[i]);
            next = now + k_long_call;
        }
    return next;
}

void reap_workers(int64 now) {
    for (std::size_t i = 0; i < hired.size(); i++) {
        pid_t pid = 0;
        if (hired[i].handle == nullptr || GetBackgroundWorkerPid(hired[i].handle, &pid) != BGWH_STOPPED)
            continue;
        WorkerSlot &place = shared->worker[i];
        const Oid database = pg_atomic_read_u32(&place.database);
        const Oid role = place.role;
        if (model::has_failed(shmem::state_of(place)))
            bar(database, role, now);
        free_slot(i);
        if (is_engine(role))
            shmem::ask_for_engine(database); // the agenda may have rows that it has not read
    }
}

void stop_all_workers() {
    for (WorkerSlot &place : shared->worker)
        if (is_in_use(place))
            shmem::stop(place);
}

void wait_for_orphaned_workers() {
    for (std::size_t i = 0; i < hired.size(); i++) {
        WorkerSlot &place = shared->worker[i];
        while (pg_atomic_read_u32(&place.proc) != 0) {
            shmem::stop(place);
            WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 10, PG_WAIT_EXTENSION);
            ResetLatch(MyLatch);
            CHECK_FOR_INTERRUPTS();
        }
        free_slot(i);
    }
}

} // namespace scylla::monitor
