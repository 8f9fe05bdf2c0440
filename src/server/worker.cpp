// A server worker. It runs the job schedules of its role, and works in turns on the queues of the role that have a
// handler. It sleeps while there is nothing to do, is woken by commits like any waiting worker, and by the launcher,
// and ends after a minute.
//
// It is connected as the role, like any session, with the settings of that role. Between two tasks the session is as
// after DISCARD ALL. Its commits are asynchronous unless configured otherwise: after a crash the effects of a handler
// are lost only together with the completion, and a worker's commit that depends on it flushes it too.
//
// SIGTERM interrupts a call: the task is yielded, and the process ends. SIGINT interrupts it because the task was taken
// away (shmem/workers.h), or as an error of the handler, for example from pg_cancel_backend(). If the call does not
// end, the launcher condemns the worker: then SIGTERM ends the process as soon as it checks for interrupts.
#include "server/worker.h"

#include "pg/clock.h"
#include "pg/error.h"
#include "pg/growing.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "queue/handler.h"
#include "queue/lease.h"
#include "schedule/run.h"
#include "server/handlers.h"
#include "server/run_timer.h"
#include "shmem/waiters.h"
#include "shmem/workers.h"
#include "task/open.h"
#include "task/run_limit.h"

extern "C" {
#include "commands/async.h"
#include "commands/prepare.h"
#include "common/pg_prng.h"
#include "utils/portal.h"
#include "utils/timeout.h"
#include <signal.h>
}

namespace scylla::monitor {

namespace {

constexpr int64 k_turn = 50'000;             // microseconds on one queue while others have tasks, too
constexpr int64 k_idle = 60 * USECS_PER_SEC; // then it ends
constexpr std::size_t k_queues = shmem::k_max_wait_queues - 1;

shmem::WorkerSlot *place = nullptr; // of this process
int64 turn_ends = 0;
volatile sig_atomic_t terminated = 0;
volatile sig_atomic_t is_calling = 0;
bool has_caught = false; // the handler has caught an interrupt because its task was taken away

void end_process() {
    InterruptPending = 1;
    ProcDiePending = 1;
}

extern "C" void on_terminate(SCYLLA_SIGNAL) {
    const int saved = errno;
    terminated = 1;
    if (place->condemned)
        end_process();
    else if (is_calling != 0) {
        InterruptPending = 1;
        QueryCancelPending = 1;
    }
    SetLatch(MyLatch);
    errno = saved;
}

// A handler that catches the interrupt of SIGTERM and continues is ended at its next step. A handler whose task was
// taken away is interrupted again wherever it catches that. If it then begins another subtransaction, it is ended too.
extern "C" void on_subtransaction(SubXactEvent event, SubTransactionId, SubTransactionId, void *) {
    constexpr int k_level_of_call = 2;
    if (is_calling == 0 || GetCurrentTransactionNestLevel() <= k_level_of_call)
        return;
    const bool aborts = event == SUBXACT_EVENT_ABORT_SUB;
    if (aborts && terminated != 0)
        end_process();
    else if (aborts && place->interrupted) {
        has_caught = true;
        InterruptPending = 1;
        QueryCancelPending = 1;
    } else if (event == SUBXACT_EVENT_START_SUB && has_caught) {
        (void)shmem::advance(place->state, model::ProcessEvent::stop); // no failure: another worker may start at once
        end_process();
    }
}

extern "C" void leave_worker_slot(int, Datum) {
    shmem::leave(std::nullopt); // it may end while it waits, outside a transaction
    LWLockAcquire(shmem::shared->lock, LW_EXCLUSIVE);
    place->pid = 0;
    shmem::forget_call(*place);
    LWLockRelease(shmem::shared->lock);
    pg_atomic_write_u32(&place->proc, 0);
    shmem::wake_launcher();
}

bool is_to_end() { return terminated != 0 || !shmem::is_running(*place); }
bool may_go_on() { return !is_to_end() && steady_now() < turn_ends; }

void begin_transaction() {
    SetCurrentStatementStartTimestamp();
    StartTransactionCommand();
}

void commit_and_begin() {
    CommitTransactionCommand();
    pgstat_report_stat(false);
    begin_transaction();
}

void abort_and_begin() {
    AbortCurrentTransaction();
    begin_transaction();
}

// Does what DISCARD ALL does, except for cached plans, which are not visible.
void discard_session() {
    PortalHashTableDeleteAll();
    SetPGVariable("session_authorization", NIL, false);
    ResetAllOptions();
    DropAllPreparedStatements();
    Async_UnlistenAll();
    LockReleaseAll(USER_LOCKMETHOD, true);
    ResetTempTableNamespace();
    ResetSequenceCaches();
}

void begin_call(const shmem::Call &call) {
    discard_session();
    pgstat_report_appname(pnstrdup(call.name.data(), call.name.size()));
    QueryCancelPending = 0; // meant for an earlier task that has ended
    has_caught = false;
    shmem::begin_call(*place, call);
    is_calling = 1;
    if (terminated != 0) {
        InterruptPending = 1;
        QueryCancelPending = 1;
    }
    if (StatementTimeout > 0)
        enable_timeout_after(STATEMENT_TIMEOUT, StatementTimeout);
}

// Whether the server is being shut down or this worker was asked to make room; otherwise a user has terminated it.
bool was_asked_to_stop() {
    for (int i = 0; i < 10; i++) {
        if (!shmem::is_running(*place) || pg_atomic_read_u32(&shmem::shared->launcher) == 0)
            return true;
        pg_usleep(10'000);
    }
    return false;
}

bool end_call() {
    is_calling = 0;
    disable_timeout(STATEMENT_TIMEOUT, false);
    const bool interrupted = shmem::end_call(*place);
    if (interrupted)
        QueryCancelPending = 0; // set when subtransactions were aborted
    pgstat_report_appname("scylla worker");
    return interrupted || (terminated != 0 && was_asked_to_stop());
}

// ---- schedules of jobs ---------------------------------------------------------------------------------------------

// Also ends the transaction.
template <typename Work> void with_snapshot(Work work) {
    PushActiveSnapshot(GetTransactionSnapshot());
    work();
    PopActiveSnapshot();
    commit_and_begin();
}

// A schedule that has run for as long as a handler may. Returned in this memory context.
ErrorData *took_too_long() {
    auto *error = static_cast<ErrorData *>(palloc0(sizeof(ErrorData)));
    error->sqlerrcode = ERRCODE_QUERY_CANCELED;
    error->message = psprintf("it took longer than scylla.handler_timeout (%s)",
                              GetConfigOptionByName("scylla.handler_timeout", nullptr, false));
    return error;
}

// Runs a schedule. Returns the error that has rolled it back, in this memory context. Begins and ends in a transaction.
ErrorData *run_schedule(const text *name) {
    MemoryContext caller = CurrentMemoryContext;
    ErrorData *volatile error = nullptr;
    PG_TRY();
    {
        with_snapshot([&] { (void)schedule::run_schedule(name, GetCurrentTimestamp()); });
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(caller);
        error = CopyErrorData();
        FlushErrorState();
        abort_and_begin();
    }
    PG_END_TRY();
    MemoryContextSwitchTo(caller);
    return error;
}

// Runs due schedules of this role, each in a transaction of its own, until its turn ends. Begins and ends in a
// transaction.
int64 run_schedules(MemoryContext memory) {
    if (!schedule::monitor_ticks())
        return 0;
    MemoryContext caller = MemoryContextSwitchTo(memory);
    std::span<store::schedules::DueJob> due;
    with_snapshot([&] {
        due = store::schedules::due_jobs(store::schedule_home(), GetUserNameFromId(GetUserId(), false),
                                         GetCurrentTimestamp());
    });
    turn_ends = steady_now() + k_turn;
    for (const store::schedules::DueJob &next : due) {
        if (!may_go_on())
            break;
        MemoryContextSwitchTo(memory);
        begin_call({0, 0, view(next.job), view(next.name)});
        handlers::start_run_timer(GetCurrentTimestamp() + default_call());
        const ErrorData *error = run_schedule(next.name);
        if (handlers::stop_run_timer() && error != nullptr)
            error = took_too_long();
        const bool interrupted = end_call();
        QueryCancelPending = 0; // it may have arrived after the call
        if (!interrupted && error != nullptr)
            with_snapshot([&] { schedule::note_undone(next.name, error); });
    }
    MemoryContextSwitchTo(caller);
    return static_cast<int64>(due.size());
}

// ---- queues --------------------------------------------------------------------------------------------------------

// A queue of this role that has a handler.
struct Queue {
    text *name;
    int32 id;
    int64 calls; // of other workers of the role
    uint32 place;
};
struct Queues {
    std::span<Queue> all;                        // those with the fewest calls first, others in any order
    std::array<shmem::Awaited, k_queues + 1> id; // of the first of them, and k_any_new_queue
    std::size_t count;
};

std::span<Queue> in_turn(std::span<Queue> queues) {
    for (Queue &queue : queues) {
        queue.calls = shmem::count_calls(MyDatabaseId, GetUserId(), queue.id);
        queue.place = pg_prng_uint32(&pg_global_prng_state);
    }
    std::sort(queues.begin(), queues.end(), [](const Queue &a, const Queue &b) {
        return a.calls != b.calls ? a.calls < b.calls : a.place < b.place;
    });
    return queues;
}

[[noreturn]] void end_without_failure() {
    (void)shmem::advance(place->state, model::ProcessEvent::stop);
    proc_exit(0);
}

// Returned in memory that outlives the transaction. Exits if the extension or the role is gone, or the role may not
// have workers any more.
Queues read_queues(MemoryContext memory) {
    if (!store::hold_installed())
        proc_exit(0);
    const char *role = GetUserNameFromId(GetUserId(), true);
    if (role == nullptr)
        proc_exit(0);
    if (!may_run_workers(GetUserId()))
        end_without_failure();
    store::Store store = store::open(AccessShareLock);
    store::Scan scan = scan_queues(store);
    MemoryContext caller = MemoryContextSwitchTo(memory);
    Growing<Queue> found;
    while (next(scan)) {
        const store::QueueRow row = queue_row(scan);
        if (row.handler != nullptr && !row.paused && std::string_view(row.owner) == role)
            found.add({row.name, row.id, 0, 0});
    }
    MemoryContextSwitchTo(caller);
    end(scan);
    close(store);
    Queues queues{.all = in_turn(found.all()), .id = {}, .count = Min(found.size(), k_queues)};
    for (std::size_t i = 0; i < queues.count; i++)
        queues.id[i] = queues.all[i].id;
    queues.id[queues.count] = shmem::k_any_new_queue;
    return queues;
}

// Enters the list of waiters before the snapshot is taken: for so many queues as can be waited for. For tasks of others
// the launcher wakes the worker. *again: when rates may allow a lease (steady_now()).
bool look(const Queues &queues, int64 *again) {
    shmem::enlist(std::span(queues.id).first(queues.count + 1));
    store::Store store = store::open(AccessShareLock);
    store.reads_queues = true;
    bool found = false;
    for (std::size_t i = 0; i < queues.count && !found; i++)
        found = count_leasable(store, static_cast<int32>(queues.id[i]), 1, GetCurrentTimestamp(), again) > 0;
    close(store);
    return found;
}

void sleep_until(int64 end) {
    while (!shmem::signalled() && !is_to_end()) {
        const int64 left = end - steady_now();
        if (left <= 0)
            break;
        const int events = WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                                     static_cast<long>((left + 999) / 1000), PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
        if ((events & WL_LATCH_SET) != 0)
            break; // a signal, or the launcher: there may be a task
    }
}

// Waits for tasks. Begins and ends in a transaction.
void wait_for_tasks(const Queues &queues, int64 idle_ends) {
    int64 again = idle_ends;
    std::optional<shmem::Awaited> used;
    if (!look(queues, &again)) {
        shmem::set_idle(*place, true);
        CommitTransactionCommand();
        pgstat_report_stat(true);
        pgstat_report_activity(STATE_IDLE, nullptr);
        sleep_until(again);
        shmem::set_idle(*place, false);
        begin_transaction();
        used = shmem::signalled();
    }
    shmem::leave(used);
}

void work() {
    begin_transaction();
    MemoryContextSwitchTo(TopMemoryContext);
    handlers::Worker worker = handlers::make_worker({commit_and_begin, abort_and_begin});
    worker.begin_call = begin_call;
    worker.end_call = end_call;
    worker.may_go_on = may_go_on;
    MemoryContext memory = AllocSetContextCreate(TopMemoryContext, "scylla queues", ALLOCSET_DEFAULT_SIZES);
    int64 idle_ends = steady_now() + k_idle;
    while (!is_to_end()) {
        if (ConfigReloadPending) {
            ConfigReloadPending = false;
            ProcessConfigFile(PGC_SIGHUP);
        }
        MemoryContextReset(memory);
        discard_session();
        pgstat_report_activity(STATE_RUNNING, "calling functions");
        const Queues queues = read_queues(memory);
        int64 count = run_schedules(memory);
        for (const Queue &queue : queues.all) {
            if (is_to_end())
                break;
            turn_ends = steady_now() + k_turn;
            count += run_tasks(worker, queue.name, PG_INT64_MAX);
        }
        if (count > 0)
            idle_ends = steady_now() + k_idle;
        else if (steady_now() >= idle_ends)
            break;
        else if (!is_to_end())
            wait_for_tasks(queues, idle_ends);
    }
    CommitTransactionCommand();
}

} // namespace
} // namespace scylla::monitor

void scylla_worker_main(Datum slot_index) {
    using namespace scylla;
    using namespace scylla::monitor;
    place = &shmem::shared->worker[DatumGetInt32(slot_index)];
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    pqsignal(SIGTERM, on_terminate);
    BackgroundWorkerUnblockSignals();
    before_shmem_exit(leave_worker_slot, 0);
    pg_atomic_write_u32(&place->proc, static_cast<uint32>(compat::my_proc_number()) + 1);
    LWLockAcquire(shmem::shared->lock, LW_EXCLUSIVE);
    place->pid = MyProcPid;
    place->since = GetCurrentTimestamp();
    LWLockRelease(shmem::shared->lock);
    // After our process number: a stop that came before it did not wake us.
    (void)shmem::advance(place->state, model::ProcessEvent::attach);
    if (is_to_end())
        proc_exit(0);
    BackgroundWorkerInitializeConnectionByOid(pg_atomic_read_u32(&place->database), place->role,
                                              compat::k_bypass_login);
    SetConfigOption("synchronous_commit", "off", PGC_USERSET, PGC_S_DYNAMIC_DEFAULT);
    RegisterSubXactCallback(on_subtransaction, nullptr);
    pgstat_report_appname("scylla worker");
    work();
    end_without_failure();
}
