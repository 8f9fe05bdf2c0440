// The launcher: decides which databases have a monitor.
//
// It reads the databases from pg_database: at its start, after CREATE DATABASE and similar commands (utility_hook.cpp)
// and once a minute. The install script announces the extension (scylla._announce). If the launcher does not know
// whether a database has the extension, it starts a monitor, which reports if not. The launcher is not connected to a
// database, so it does not block commands on databases.
#include "server/monitor.h"
#include "server/worker.h"

#include "pg/clock.h"
#include "pg/growing.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "shmem/shared.h"

namespace scylla::monitor {

namespace {

using shmem::MonitorSlot;
using shmem::shared;

constexpr int64 k_rescan = 60 * USECS_PER_SEC;
constexpr int64 k_after_failure = 5 * USECS_PER_SEC; // until a monitor that ended with an error is started again

// All times here are those of steady_now(): the launcher measures waits, and does not use the time of day.
struct Database {
    Oid id;
    bool absent = false;  // the extension does not exist, as far as is known
    bool seen;            // by the present scan of pg_database
    int64 last = 0;       // when a monitor was last started there
    int64 announced = 0;  // when we learnt that the extension has been created there
    int64 not_before = 0; // after a failure
    uint32 duty = 0;      // the first duty of the next monitor
};

struct Worker {
    BackgroundWorkerHandle *handle; // null: the slot is free
    int64 started;
};

// All of it is in TopMemoryContext, for the life of the process.
struct State {
    Growing<Database, 64> databases;
    std::array<Worker, shmem::k_max_monitors> workers;
    int64 next_scan;
    bool complained; // about the lack of worker processes, since a monitor was last started
};
constinit State state{};

Database *find(Oid id) {
    for (Database &database : state.databases.all())
        if (database.id == id)
            return &database;
    return nullptr;
}

void add(Oid id) { state.databases.add({.id = id, .seen = true}, TopMemoryContext); }

// Not for templates (a connection there would block every CREATE DATABASE), databases that allow no connection, and
// those that a failed DROP DATABASE left behind.
bool can_have_monitor(Form_pg_database row) {
    constexpr int k_invalid = -2; // DATCONNLIMIT_INVALID_DB, which early minor versions of 15 lack
    return row->datallowconn && !row->datistemplate && row->datconnlimit != k_invalid;
}

void read_databases() {
    for (Database &database : state.databases.all())
        database.seen = false;
    StartTransactionCommand();
    Relation rel = table_open(DatabaseRelationId, AccessShareLock);
    TableScanDesc scan = table_beginscan_catalog(rel, 0, nullptr);
    for (HeapTuple tuple = heap_getnext(scan, ForwardScanDirection); tuple != nullptr;
         tuple = heap_getnext(scan, ForwardScanDirection)) {
        auto *const row = reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple));
        if (!can_have_monitor(row))
            continue;
        if (Database *known = find(row->oid))
            known->seen = true;
        else
            add(row->oid);
    }
    table_endscan(scan);
    table_close(rel, AccessShareLock);
    CommitTransactionCommand();
    const auto all = state.databases.all();
    const auto kept = std::remove_if(all.begin(), all.end(), [](const Database &database) { return !database.seen; });
    state.databases.count = static_cast<std::size_t>(kept - all.begin());
    // Stops the monitors of databases that have become templates, or allow no connections any more.
    for (int i = 0; i < shared->slots; i++) {
        const Oid database = pg_atomic_read_u32(&shared->slot[i].database);
        if (OidIsValid(database) && find(database) == nullptr)
            shmem::ask_to_leave(shared->slot[i]);
    }
}

void announce(Database *database, int64 now) {
    database->absent = false;
    database->announced = now;
}

// Reads the messages of backends and monitors in shared memory.
void read_messages(int64 now) {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    for (int i = 0; i < shared->announced_count; i++)
        if (Database *database = find(shared->announced[i]))
            announce(database, now);
    if (shared->announced_all)
        for (Database &database : state.databases.all())
            announce(&database, now);
    shared->announced_count = 0;
    shared->announced_all = false;
    for (int i = 0; i < shared->absent_count; i++) {
        Database *database = find(shared->absent[i]);
        // A monitor that was started before the announcement may have checked before the commit.
        if (database != nullptr && database->last > database->announced)
            database->absent = true;
    }
    shared->absent_count = 0;
    // Removes blocks by backends that have died.
    int kept = 0;
    for (int i = 0; i < shared->blocked_count; i++)
        if (BackendPidGetProc(shared->blocked[i].pid) != nullptr)
            shared->blocked[kept++] = shared->blocked[i];
    shared->blocked_count = kept;
    LWLockRelease(shared->lock);
}

} // namespace

bool is_blocked(Oid database) {
    bool blocked = false;
    LWLockAcquire(shared->lock, LW_SHARED);
    for (int i = 0; i < shared->blocked_count; i++)
        blocked = blocked || shared->blocked[i].database == database;
    LWLockRelease(shared->lock);
    return blocked;
}

namespace {

void free_slot(int i) {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    (void)shmem::advance(shared->slot[i].state, model::ProcessEvent::reap);
    pg_atomic_write_u32(&shared->slot[i].database, 0);
    LWLockRelease(shared->lock);
    ConditionVariableBroadcast(&shared->exited);
    if (state.workers[static_cast<std::size_t>(i)].handle != nullptr)
        pfree(state.workers[static_cast<std::size_t>(i)].handle);
    state.workers[static_cast<std::size_t>(i)].handle = nullptr;
}

// Frees the slots of monitors that have exited.
void reap(int64 now) {
    for (int i = 0; i < shared->slots; i++) {
        Worker &worker = state.workers[static_cast<std::size_t>(i)];
        pid_t pid = 0;
        if (worker.handle == nullptr || GetBackgroundWorkerPid(worker.handle, &pid) != BGWH_STOPPED)
            continue;
        Database *database = find(pg_atomic_read_u32(&shared->slot[i].database));
        if (database != nullptr && model::has_failed(shmem::state_of(shared->slot[i]))) {
            database->not_before = now + k_after_failure;
            // A duty that fails each time must not keep the other duties from being done.
            database->duty = pg_atomic_read_u32(&shared->slot[i].duty) + 1;
        }
        free_slot(i);
    }
}

bool has_monitor(Oid database) {
    for (int i = 0; i < shared->slots; i++)
        if (pg_atomic_read_u32(&shared->slot[i].database) == database)
            return true;
    return false;
}

// The database that has waited longest for a monitor and can have one.
Database *next_database(int64 now) {
    Database *best = nullptr;
    for (Database &database : state.databases.all())
        if (!database.absent && database.not_before <= now && (best == nullptr || database.last < best->last) &&
            !has_monitor(database.id) && !is_blocked(database.id))
            best = &database;
    return best;
}

// False: the server has no room for another worker process.
bool start(int i, Database *database, int64 now) {
    MonitorSlot &slot = shared->slot[i];
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    (void)shmem::advance(slot.state, model::ProcessEvent::launch);
    pg_atomic_write_u32(&slot.proc, 0);
    pg_atomic_write_u32(&slot.duty, database->duty);
    for (pg_atomic_uint64 &wake : slot.wake)
        pg_atomic_write_u64(&wake, 0); // the monitor begins by checking everything
    pg_atomic_write_u32(&slot.database, database->id);
    LWLockRelease(shared->lock);

    BackgroundWorker worker = make_worker("scylla monitor", "scylla_monitor_main");
    worker.bgw_restart_time = BGW_NEVER_RESTART;
    worker.bgw_main_arg = Int32GetDatum(i);
    worker.bgw_notify_pid = MyProcPid;
    BackgroundWorkerHandle *handle = nullptr;
    MemoryContext caller = MemoryContextSwitchTo(TopMemoryContext);
    const bool registered = RegisterDynamicBackgroundWorker(&worker, &handle);
    MemoryContextSwitchTo(caller);
    if (!registered) {
        free_slot(i);
        return false;
    }
    state.workers[static_cast<std::size_t>(i)] = {handle, now};
    database->last = now;
    database->not_before = 0;
    return true;
}

void complain_once() {
    if (!state.complained)
        ereport(WARNING, (errmsg("scylla could not start a monitor: no worker process is left"),
                          errhint("Increase max_worker_processes, or lower scylla.max_monitors.")));
    state.complained = true;
}

// Starts the monitors that are needed. If all slots are in use, the one that has run longest is stopped after its turn.
// Returns when to check again.
int64 assign(int64 now) {
    for (;;) {
        Database *database = next_database(now);
        if (database == nullptr)
            return now + k_rescan;
        int longest = -1;
        int vacant = -1;
        for (int i = 0; i < shared->slots && vacant < 0; i++) {
            const Worker &worker = state.workers[static_cast<std::size_t>(i)];
            if (pg_atomic_read_u32(&shared->slot[i].database) == 0)
                vacant = i;
            else if (longest < 0 || worker.started < state.workers[static_cast<std::size_t>(longest)].started)
                longest = i;
        }
        if (vacant >= 0) {
            if (start(vacant, database, now)) {
                state.complained = false;
                continue;
            }
            complain_once();
            return now + k_after_failure;
        }
        const int64 turn = Max(static_cast<int64>(settings::monitor_interval) * 1000, USECS_PER_SEC);
        const int64 turn_ends = state.workers[static_cast<std::size_t>(longest)].started + turn;
        if (now < turn_ends)
            return turn_ends;
        shmem::ask_to_leave(shared->slot[longest]);
        return now + USECS_PER_SEC; // its exit wakes us
    }
}

void stop_all() {
    for (int i = 0; i < shared->slots; i++)
        if (pg_atomic_read_u32(&shared->slot[i].database) != 0)
            shmem::ask_to_leave(shared->slot[i]);
    stop_all_workers();
}

extern "C" void leave_launcher(int, Datum) {
    pg_atomic_write_u32(&shared->launcher, 0);
    stop_all();
}

// Waits for monitors of an earlier launcher, which have been asked to stop.
void wait_for_orphans() {
    for (int i = 0; i < shared->slots; i++) {
        while (pg_atomic_read_u32(&shared->slot[i].proc) != 0) {
            shmem::ask_to_leave(shared->slot[i]);
            WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 10, PG_WAIT_EXTENSION);
            ResetLatch(MyLatch);
            CHECK_FOR_INTERRUPTS();
        }
        free_slot(i);
    }
}

int64 next_failure_over(int64 now, int64 next) {
    for (const Database &database : state.databases.all())
        if (!database.absent && database.not_before > now)
            next = Min(next, database.not_before);
    return next;
}

// Checks everything once. Returns when to check again at the latest.
int64 look() {
    const int64 now = steady_now();
    if (pg_atomic_exchange_u32(&shared->rescan, 0) != 0 || now >= state.next_scan) {
        read_databases();
        state.next_scan = now + k_rescan;
    }
    read_messages(now);
    reap(now);
    reap_workers(now);
    if (!settings::monitor) {
        stop_all();
        return state.next_scan;
    }
    const int64 workers = assign_workers(now);
    const int64 next = Min(Min(assign(now), state.next_scan), workers);
    return next_failure_over(now, next);
}

} // namespace

void install() {
    install_utility_hook();
    if (IsBinaryUpgrade)
        return;
    BackgroundWorker worker = make_worker("scylla launcher", "scylla_launcher_main");
    worker.bgw_restart_time = 1;
    RegisterBackgroundWorker(&worker);
}

} // namespace scylla::monitor

void scylla_launcher_main(Datum) {
    using namespace scylla;
    using namespace scylla::monitor;
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    pqsignal(SIGTERM, die);
    BackgroundWorkerUnblockSignals();
    before_shmem_exit(leave_launcher, 0);
    pg_atomic_write_u32(&shared->launcher, static_cast<uint32>(compat::my_proc_number()) + 1);
    BackgroundWorkerInitializeConnection(nullptr, nullptr, 0);
    pgstat_report_appname("scylla launcher");
    wait_for_orphans();
    wait_for_orphaned_workers();
    for (;;) {
        const int64 next = look();
        const int64 now = steady_now();
        const auto timeout = static_cast<long>(next > now ? (next - now + 999) / 1000 : 0);
        if (timeout > 0)
            WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, timeout, PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
        if (ConfigReloadPending) {
            ConfigReloadPending = false;
            ProcessConfigFile(PGC_SIGHUP);
        }
    }
}
