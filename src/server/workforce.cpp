// Manages server workers: the monitor of each database requests those that its queues need, and the launcher starts
// them, up to scylla.max_server_workers in the whole server.
#include "server/worker.h"

#include "model/fair.h"
#include "pg/clock.h"
#include "pg/growing.h"
#include "pg/settings.h"
#include "queue/handler.h"
#include "queue/lease.h"
#include "server/monitor.h"
#include "server/session.h"
#include "shmem/workers.h"
#include "store/queue_list.h"
#include "task/duty.h"
#include "task/run_limit.h"
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
constexpr int64 k_grace = 5 * USECS_PER_SEC;         // for a call that was told to end, until its process is ended
constexpr int64 k_patience = 2 * USECS_PER_SEC;      // for a role that waits for a slot, until its monitor asks again

// ---- the monitor ---------------------------------------------------------------------------------------------------

// A queue with a handler.
struct Handled {
    int32 queue;
    NameData owner;
};

std::optional<Handled> handled(const store::Scan &scan) {
    const store::QueueRow row = queue_row(scan);
    if (row.handler == nullptr || row.paused)
        return std::nullopt;
    Handled result{.queue = row.id, .owner = {}};
    namestrcpy(&result.owner, row.owner);
    return result;
}

// Adds tasks to those for which a role needs workers.
void add(Growing<WantedWorkers> &wanted, Oid role, int32 queue, int64 tasks) {
    const int64 calls = shmem::count_calls(MyDatabaseId, role, queue);
    for (WantedWorkers &each : wanted.all())
        if (each.role == role) {
            each.tasks += tasks;
            if (calls < shmem::count_calls(MyDatabaseId, role, each.queue))
                each.queue = queue;
            return;
        }
    wanted.add({MyDatabaseId, role, tasks, steady_now(), queue});
}

void want_workers(store::Store &store, DutyTurn &turn) {
    Growing<WantedWorkers> wanted;
    if (settings::max_server_workers == 0)
        return;
    static constinit store::QueueList<Handled> known{};
    for (const Handled &each : list_queues(store, known, handled)) {
        const Oid role = get_role_oid(NameStr(each.owner), true);
        if (!OidIsValid(role) || !may_run_workers(role))
            continue;
        const int64 tasks = count_leasable(store, each.queue, shmem::k_max_workers, turn.now);
        if (tasks > 0)
            add(wanted, role, each.queue, tasks);
    }
    if (wanted.size() == 0)
        return;
    // The first may get what there is, so each is the first in its turn.
    static constinit std::size_t turns = 0;
    const std::size_t first = turns++ % wanted.size();
    for (std::size_t i = 0; i < Min(wanted.size(), std::size_t{shmem::k_max_workers}); i++)
        shmem::want_workers(wanted[(first + i) % wanted.size()]);
    turn.next = Min(turn.next, turn.now + k_patience / 2);
}

// A running engine reads the agenda itself. The launcher tells us when it has ended.
void want_engine(store::Store & /*store*/, DutyTurn &turn) {
    if (shmem::shared == nullptr || settings::max_server_workers == 0 || shmem::has_engine(MyDatabaseId))
        return;
    turn.next = workflow::next_time();
    if (turn.next > turn.now)
        return;
    shmem::want_workers({MyDatabaseId, InvalidOid, 1, steady_now(), 0});
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

// When each role last got a worker: the one that has waited longest comes first.
struct Served {
    Oid database;
    Oid role;
    int64 at;
};
constinit std::array<Served, std::size_t{shmem::k_max_wanted}> served{};

int64 served_at(const WantedWorkers &wanted) {
    const auto *at = std::find_if(served.begin(), served.end(), [&](const Served &each) {
        return each.database == wanted.database && each.role == wanted.role;
    });
    return at != served.end() ? at->at : 0;
}

void note_served(const WantedWorkers &wanted, int64 now) {
    auto *at = std::min_element(served.begin(), served.end(), [&](const Served &a, const Served &b) {
        const auto rank = [&](const Served &each) {
            return each.database == wanted.database && each.role == wanted.role ? 0 : each.at + 1;
        };
        return rank(a) < rank(b);
    });
    *at = {wanted.database, wanted.role, now};
}

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
    slot.slow = is_engine(wanted.role) && wanted.queue != 0;
    slot.pid = 0;
    shmem::forget_call(slot);
    slot.condemned = false;
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
    note_served(wanted, now);
    return true;
}

// A slot that counts for scylla.max_server_workers.
struct Held {
    WorkerSlot *slot;
    model::SlotUse use;
    shmem::CallNow call;
    int64 started;

    [[nodiscard]] bool is_long() const { return call.length >= k_turn; }
    [[nodiscard]] bool ends_soon() const { return is_stopping(*slot) && (!is_long() || call.told_for > 0); }
};
using HeldSlots = std::array<Held, std::size_t{shmem::k_max_workers}>;

std::span<Held> find_held(HeldSlots &all) {
    constexpr int32 k_no_queue = -1;
    std::size_t count = 0;
    for (std::size_t i = 0; i < hired.size(); i++) {
        WorkerSlot &slot = shared->worker[i];
        if (!is_in_use(slot) || is_engine(slot.role) || shmem::is_lost(slot))
            continue;
        const shmem::CallNow call = shmem::call_of(slot);
        const int32 queue = call.length > 0 ? call.queue : k_no_queue;
        all[count++] = {&slot, {pg_atomic_read_u32(&slot.database), slot.role, queue}, call, hired[i].started};
    }
    return std::span(all).first(count);
}

// The call that makes room for `wanted`, if that is fairer; of several the shortest, which loses least. Its task is
// yielded.
const Held *find_unfair(std::span<const Held> held, const WantedWorkers &wanted) {
    std::array<model::SlotUse, std::size_t{shmem::k_max_workers}> uses;
    for (std::size_t i = 0; i < held.size(); i++)
        uses[i] = held[i].use;
    const model::SlotUse use{wanted.database, wanted.role, wanted.queue};
    const Held *best = nullptr;
    int64 most = 0;
    for (const Held &each : held) {
        const int64 gain = each.is_long() ? model::fairer(std::span(uses).first(held.size()), each.use, use) : 0;
        if (gain > most || (gain > 0 && gain == most && each.call.length < best->call.length)) {
            best = &each;
            most = gain;
        }
    }
    return best;
}

// Where each slot has a long call, the last of them takes no longer than scylla.handler_timeout, whatever its queue
// allows, while a role has no slot.
const Held *find_last(std::span<const Held> held) {
    const Held *last = nullptr;
    for (const Held &each : held) {
        if (!each.is_long())
            return nullptr;
        if (last == nullptr || each.call.length < last->call.length)
            last = &each;
    }
    return last != nullptr && last->call.length > default_call() ? last : nullptr;
}

// The worker that has had a slot longest, of those that pass; nullptr: none.
template <typename Passes> const Held *find_longest(std::span<const Held> held, int64 now, Passes passes) {
    const Held *longest = nullptr;
    for (const Held &each : held)
        if (!is_stopping(*each.slot) && now - each.started >= k_turn && passes(each) &&
            (longest == nullptr || each.started < longest->started))
            longest = &each;
    return longest;
}

// Makes room for a role: asks an idle worker to exit, or for a role without any the one with the longest turn, when it
// has run its task. Where that would take long, a call is interrupted, but never the only one that there can be.
void make_room(const WantedWorkers &wanted, int64 now, bool has_any) {
    HeldSlots all;
    const std::span<const Held> held = find_held(all);
    for (const Held &each : held)
        if (each.ends_soon())
            return;
    for (const Held &each : held)
        if (pg_atomic_read_u32(&each.slot->idle) != 0) {
            shmem::ask_to_leave(*each.slot);
            return;
        }
    const Held *asked = has_any ? nullptr : find_longest(held, now, [](const Held &each) { return !each.is_long(); });
    if (asked != nullptr) {
        shmem::ask_to_leave(*asked->slot);
        return;
    }
    const Held *interrupted = held.size() < 2 ? nullptr : find_unfair(held, wanted);
    if (interrupted == nullptr && held.size() >= 2 && !has_any)
        interrupted = find_last(held);
    if (interrupted != nullptr)
        shmem::stop(*interrupted->slot);
    else if (const Held *longest = has_any ? nullptr : find_longest(held, now, [](const Held &) { return true; }))
        shmem::ask_to_leave(*longest->slot);
}

// The engine that has run longest, of those of other databases that are idle, or that work; nullptr: there is none.
WorkerSlot *find_engine(Oid except, bool idle, int64 now) {
    std::size_t longest = hired.size();
    for (std::size_t i = 0; i < hired.size(); i++) {
        WorkerSlot &engine = shared->worker[i];
        if (is_in_use(engine) && is_engine(engine.role) && !is_stopping(engine) &&
            pg_atomic_read_u32(&engine.database) != except && (pg_atomic_read_u32(&engine.idle) != 0) == idle &&
            (idle || now - hired[i].started >= k_turn) &&
            (longest == hired.size() || hired[i].started < hired[longest].started))
            longest = i;
    }
    return longest < hired.size() ? &shared->worker[longest] : nullptr;
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
        staff.in_use += is_engine(slot.role) || shmem::is_lost(slot) ? 0 : 1;
        const bool is_other = is_engine(slot.role) && slot.slow != (wanted.queue != 0);
        if (is_stopping(slot) || slot.role != wanted.role || is_other ||
            pg_atomic_read_u32(&slot.database) != wanted.database)
            continue;
        staff.present++;
        const int64 call = shmem::call_of(slot).length;
        staff.soon += call < k_long_call ? 1 : 0;
        staff.calling += call > 0 && call < k_long_call ? 1 : 0;
        if (pg_atomic_read_u32(&slot.idle) != 0) {
            staff.idle = true;
            shmem::wake(pg_atomic_read_u32(&slot.proc)); // it may not know a new queue
        }
    }
    return staff;
}

// False: check again what is wanted, when the workers have called their handlers for long, or a slot may be free.
bool assign(const WantedWorkers &wanted, int64 now) {
    const Staff staff = find_staff(wanted);
    if (staff.idle || is_barred(wanted, now) || is_blocked(wanted.database))
        return true;
    if (staff.soon >= wanted.tasks)
        return staff.soon - staff.calling >= wanted.tasks || now - wanted.since >= 4 * k_long_call;
    const bool is_full = staff.in_use >= static_cast<std::size_t>(settings::max_server_workers);
    if (is_full && !is_engine(wanted.role)) {
        make_room(wanted, now, staff.present > 0);
        return now - wanted.since >= k_patience;
    }
    if (staff.vacant && start(*staff.vacant, wanted, now)) {
        complained = false;
        return true;
    }
    if (is_engine(wanted.role) && free_process(wanted.database, now))
        return now - wanted.since >= k_patience;
    if (!staff.vacant)
        return true;
    if (!complained)
        ereport(WARNING, (errmsg("scylla could not start a server worker: no worker process is left"),
                          errhint("Increase max_worker_processes, or lower scylla.max_server_workers.")));
    complained = true;
    return true;
}

// Ends the processes of calls that were told to end, and did not. Tells calls to end that a monitor has not ended in
// time. Returns when to check again.
int64 end_long_calls(int64 now) {
    int64 next = PG_INT64_MAX;
    for (std::size_t i = 0; i < hired.size(); i++) {
        WorkerSlot &slot = shared->worker[i];
        if (!is_in_use(slot) || is_engine(slot.role) || shmem::is_lost(slot))
            continue;
        const shmem::CallNow call = shmem::call_of(slot);
        if (call.length == 0)
            continue;
        const int64 longest = (call.is_task ? longest_call() : default_call()) + k_grace;
        const int64 left = call.told_for > 0 ? k_grace - call.told_for : longest - call.length;
        if (left > 0)
            next = Min(next, now + left);
        else if (call.told_for > 0)
            shmem::condemn(slot);
        else
            shmem::stop(slot);
    }
    return next;
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

bool free_process(Oid except, int64 now) {
    for (WorkerSlot &each : shared->worker)
        if (is_in_use(each) && is_engine(each.role) && is_stopping(each))
            return true; // its exit wakes the launcher
    const auto leave = [](WorkerSlot *engine) {
        if (engine != nullptr)
            shmem::ask_to_leave(*engine);
        return engine != nullptr;
    };
    return leave(find_engine(except, true, now)) || dismiss_idle_monitor(except) ||
           leave(find_engine(except, false, now));
}

int64 assign_workers(int64 now) {
    std::array<WantedWorkers, std::size_t{shmem::k_max_wanted}> wanted;
    const auto all = std::span(wanted).first(shmem::take_wanted(wanted));
    if (settings::max_server_workers == 0) {
        stop_all_workers();
        return PG_INT64_MAX;
    }
    // First those without any worker, and of these who has waited longest.
    std::sort(all.begin(), all.end(), [](const WantedWorkers &a, const WantedWorkers &b) {
        const bool has_any = find_staff(a).present > 0;
        return has_any != (find_staff(b).present > 0) ? !has_any : served_at(a) < served_at(b);
    });
    int64 next = end_long_calls(now);
    for (const WantedWorkers &each : all)
        if (!assign(each, now)) {
            shmem::keep_wanted(each);
            next = Min(next, now + k_long_call);
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
