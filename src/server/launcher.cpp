// The launcher: decides which databases have a monitor.
//
// It reads the databases from pg_database: at its start, after CREATE DATABASE and similar commands (utility_hook.cpp)
// and once a minute. The install script announces the extension (scylla._announce), and so do commands that may bring
// it or its tables (utility_hook.cpp). Where the launcher knows of no monitor it starts one, which reports if there is
// no extension. The launcher believes that for a while only, each time for longer: what brings an extension may
// announce nothing. The launcher is not connected to a database, so it does not block commands on databases.
//
// Databases in which something is due have a monitor (shmem/databases.h); where nothing is for long, it exits. If more
// databases need one than there may be, one that sleeps makes room, and if none does, they take turns. A visit now and
// then finds what nothing has announced.
#include "server/monitor.h"
#include "server/worker.h"

#include "pg/clock.h"
#include "pg/growing.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "shmem/databases.h"

namespace scylla::monitor {

namespace {

using shmem::MonitorSlot;
using shmem::shared;

constexpr int64 k_rescan = 60 * USECS_PER_SEC;
constexpr int64 k_after_failure = 5 * USECS_PER_SEC; // until a monitor that ended with an error is started again
// Until a database without the extension is looked at again; doubled each time.
constexpr int64 k_first_absence = 5 * USECS_PER_SEC;
constexpr int64 k_last_absence = 600 * USECS_PER_SEC;
constexpr int64 k_turn = USECS_PER_SEC; // of a monitor that works, while others wait
// While others wait, until a monitor that works is looked at again: it may have nothing more to do.
constexpr int64 k_soon = 20'000;
constexpr int64 k_far = USECS_PER_SEC;                 // a monitor with nothing to do for so long makes room for others
constexpr int64 k_visit = 60 * USECS_PER_SEC;          // between two visits of a database in which nothing is due
constexpr int64 k_visit_share = 200;                   // a visit takes at most that part of the time of a processor
constexpr int64 k_between_visits = 10 * USECS_PER_SEC; // of any two databases

// All times here are those of steady_now(): the launcher measures waits, and does not use the time of day.
struct Database {
    Oid id;
    bool seen;              // by the present scan of pg_database
    int place = -1;         // in shmem/databases.h
    int64 waits = 0;        // since when something has been due there, without a monitor; 0: nothing is
    bool dismissed = false; // its last monitor made room for another process, or had nothing to do
    int64 last = 0;         // when a monitor was last started there
    int64 visit = 0;        // when it is to be visited, if nothing is due
    int64 announced = 0;    // when we learnt that the extension may have come there
    int64 absence = 0;      // how long we believe a monitor that has found no extension; 0: none has
    int64 not_before = 0;   // after a failure, or while we believe that there is no extension
    uint32 duty = 0;        // the first duty of the next monitor
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
    int64 next_visit;
    bool complained; // about the lack of worker processes, since a monitor was last started
};
constinit State state{};

Database *find(Oid id) {
    for (Database &database : state.databases.all())
        if (database.id == id)
            return &database;
    return nullptr;
}

void add(Oid id) { state.databases.add({.id = id, .seen = true, .place = shmem::take_place(id)}, TopMemoryContext); }

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
    for (const Database &database : all)
        if (!database.seen)
            shmem::give_up_place(database.place);
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
    database->not_before = 0;
    database->absence = 0;
    database->announced = now;
    shmem::note_due(database->id, 0);
}

void note_absence(Database *database, int64 now) {
    database->absence = database->absence == 0 ? k_first_absence : Min(2 * database->absence, k_last_absence);
    database->not_before = now + database->absence;
    shmem::note_absent(database->place);
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
            note_absence(database, now);
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
        if (database != nullptr) {
            const bool rested = pg_atomic_read_u32(&shared->slot[i].rested) != 0;
            const bool only_looked = rested && pg_atomic_read_u32(&shared->slot[i].visits) != 0;
            database->visit = now + Max(k_visit, only_looked ? k_visit_share * (now - worker.started) : 0);
            database->dismissed = database->dismissed || rested;
            shmem::note_left(database->place, now - worker.started);
        }
        if (database != nullptr && model::has_failed(shmem::state_of(shared->slot[i]))) {
            database->not_before = now + k_after_failure;
            // A duty that fails each time must not keep the other duties from being done.
            database->duty = pg_atomic_read_u32(&shared->slot[i].duty) + 1;
        }
        free_slot(i);
    }
}

bool can_start(const Database &database, int64 now) {
    return database.not_before <= now && shmem::monitor_slot(database.id) == nullptr && !is_blocked(database.id);
}

// Notes in which databases something is due. Returns when something will be due in the next one.
int64 look_for_due(int64 now) {
    const TimestampTz clock = GetCurrentTimestamp();
    int64 next = now + k_rescan;
    for (Database &database : state.databases.all()) {
        const TimestampTz due = database.place >= 0 ? shmem::due_at(database.place) : shmem::k_never;
        if (due > clock || !can_start(database, now)) {
            database.waits = 0;
            shmem::note_waiting(database.place, 0);
            if (due > clock && due < clock + k_rescan)
                next = Min(next, now + (due - clock));
        } else if (database.waits == 0) {
            database.waits = now;
            shmem::note_waiting(database.place, clock);
        }
    }
    return next;
}

// The database in which something has been due for longest.
Database *next_waiting() {
    Database *best = nullptr;
    for (Database &database : state.databases.all())
        if (database.waits != 0 && shmem::monitor_slot(database.id) == nullptr &&
            (best == nullptr || database.waits < best->waits ||
             (database.waits == best->waits && database.last < best->last)))
            best = &database;
    return best;
}

// Whether a monitor that is started there now only looks.
bool is_visit(const Database &database) { return database.waits == 0 && database.dismissed; }

// Of the others, the one whose visit is overdue for longest.
Database *next_visited(int64 now, bool is_any_slot_vacant) {
    Database *best = nullptr;
    for (Database &database : state.databases.all()) {
        const bool may_stay = is_any_slot_vacant && !database.dismissed;
        const bool is_time = now >= state.next_visit && now >= database.visit;
        if (database.waits == 0 && (may_stay || is_time) && can_start(database, now) &&
            (best == nullptr || database.visit < best->visit))
            best = &database;
    }
    return best;
}

// When the next of them is to be visited.
int64 next_visit_at(int64 now) {
    int64 next = PG_INT64_MAX;
    for (const Database &database : state.databases.all())
        if (is_visit(database) && can_start(database, now))
            next = Min(next, Max(database.visit, state.next_visit));
    return next;
}

// False: the server has no room for another worker process.
bool start(int i, Database *database, int64 now) {
    MonitorSlot &slot = shared->slot[i];
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    (void)shmem::advance(slot.state, model::ProcessEvent::launch);
    pg_atomic_write_u32(&slot.proc, 0);
    pg_atomic_write_u32(&slot.present, 0);
    pg_atomic_write_u32(&slot.visits, is_visit(*database) ? 1 : 0);
    pg_atomic_write_u32(&slot.rested, 0);
    pg_atomic_write_u64(&slot.failing, 0);
    pg_atomic_write_u32(&slot.duty, database->duty);
    for (pg_atomic_uint64 &wake : slot.wake)
        pg_atomic_write_u64(&wake, 0); // the monitor begins by checking everything
    slot.recheck_all = false;          // it begins by looking everywhere
    slot.rechecks = 0;
    slot.all_pools = true;
    slot.pools = 0;
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
    database->waits = 0;
    database->dismissed = false;
    shmem::note_waiting(database->place, 0);
    shmem::note_visit(database->place);
    return true;
}

void complain_once() {
    if (!state.complained)
        ereport(WARNING, (errmsg("scylla could not start a monitor: no worker process is left"),
                          errhint("Increase max_worker_processes, or lower scylla.max_monitors.")));
    state.complained = true;
}

bool is_stopping(int i) { return shmem::state_of(shared->slot[i]) == model::ProcessState::stopping; }

// The time at which the monitor of a slot has something to do.
TimestampTz due_in(int i) {
    const Database *database = find(pg_atomic_read_u32(&shared->slot[i].database));
    const TimestampTz first = earliest(shared->slot[i]);
    return database != nullptr && database->place >= 0 ? Min(first, shmem::idle_until(database->place)) : first;
}

void dismiss(int i) {
    if (Database *database = find(pg_atomic_read_u32(&shared->slot[i].database)))
        database->dismissed = true;
    shmem::ask_to_leave(shared->slot[i]);
}

} // namespace

bool dismiss_idle_monitor(Oid except) {
    const TimestampTz far = GetCurrentTimestamp() + k_far;
    int idlest = -1;
    for (int i = 0; i < shared->slots; i++) {
        const Oid database = pg_atomic_read_u32(&shared->slot[i].database);
        if (OidIsValid(database) && database != except && !is_stopping(i) && due_in(i) > far &&
            (idlest < 0 || due_in(i) > due_in(idlest)))
            idlest = i;
    }
    if (idlest >= 0)
        dismiss(idlest);
    return idlest >= 0;
}

namespace {

// Where all monitors work, the one that has worked longest leaves when its turn is over. Returns when that is.
int64 end_longest_turn(int64 now) {
    int longest = -1;
    for (int i = 0; i < shared->slots; i++)
        if (pg_atomic_read_u32(&shared->slot[i].database) != 0 && !is_stopping(i) &&
            (longest < 0 || state.workers[static_cast<std::size_t>(i)].started <
                                state.workers[static_cast<std::size_t>(longest)].started))
            longest = i;
    if (longest < 0)
        return now + k_rescan;
    const int64 turn_ends = state.workers[static_cast<std::size_t>(longest)].started + k_turn;
    if (now < turn_ends)
        return turn_ends;
    dismiss(longest);
    return now + k_turn;
}

// Asks as many monitors to leave as databases wait. Their exit wakes us. Returns when to check again.
int64 make_room(int64 now) {
    int64 waiting = 0;
    for (const Database &database : state.databases.all())
        waiting += database.waits != 0 ? 1 : 0;
    for (int i = 0; i < shared->slots; i++)
        waiting -= is_stopping(i) ? 1 : 0;
    while (waiting > 0 && dismiss_idle_monitor(InvalidOid))
        waiting--;
    return waiting > 0 ? Min(end_longest_turn(now), now + k_soon) : now + k_turn;
}

int find_vacant() {
    for (int i = 0; i < shared->slots; i++)
        if (pg_atomic_read_u32(&shared->slot[i].database) == 0)
            return i;
    return -1;
}

// Makes room for a visit of a database in which nothing is due, if a monitor elsewhere is idle. Returns when to check
// again.
int64 prepare_visit(int64 now) {
    bool is_room_coming = next_visited(now, false) == nullptr;
    for (int i = 0; i < shared->slots; i++)
        is_room_coming = is_room_coming || is_stopping(i);
    if (!is_room_coming)
        (void)dismiss_idle_monitor(InvalidOid);
    return now + k_between_visits;
}

// Starts the monitors that are needed. Returns when to check again.
int64 assign(int64 now) {
    const int64 next = look_for_due(now);
    for (int vacant = find_vacant(); vacant >= 0; vacant = find_vacant()) {
        Database *database = next_waiting();
        if (database == nullptr)
            database = next_visited(now, true);
        if (database == nullptr)
            return Min(next, next_visit_at(now));
        if (is_visit(*database))
            state.next_visit = now + k_between_visits;
        if (!start(vacant, database, now)) {
            if (database->waits != 0 && free_process(database->id, now))
                return now + k_turn;
            complain_once();
            return now + k_after_failure;
        }
        state.complained = false;
    }
    return Min(next, next_waiting() != nullptr ? make_room(now) : prepare_visit(now));
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

int64 next_pause_over(int64 now, int64 next) {
    for (const Database &database : state.databases.all())
        if (database.not_before > now)
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
    return next_pause_over(now, next);
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
