#include "server/handlers.h"

#include "pg/error.h"
#include "pg/identity.h"
#include "pg/subtransaction.h"
#include "pg/text.h"
#include "queue/lease.h"
#include "server/run_timer.h"
#include "shmem/workers.h"
#include "task/called.h"
#include "task/columns.h"
#include "task/defer.h"
#include "task/finish.h"
#include "task/history.h"
#include "task/release.h"
#include "task/rules.h"
#include "task/run_limit.h"

namespace scylla::handlers {

namespace {

constexpr const char *k_call = "scylla.work()";

// A task that this process has leased for a handler, in the memory that the worker has for it.
struct Leased {
    int64 id = 0; // 0: none
    int32 queue;
    int32 attempt;
    text *rn;
    text *handler;
    Datum task; // of type scylla.task
};

LeaseName name_of(const Worker &worker, const Leased &leased) { return {leased.rn, worker.name, leased.attempt}; }

// Tasks are leased and ended as the worker's user, whatever role the handler has set. The role is restored afterwards,
// or by abort processing. With a snapshot, because a process without a portal has none for the statements that run at
// the end of a task.
template <typename Work> auto as_worker(const Worker &worker, Work work) {
    const Identity handler = become(worker.user, 0);
    PushActiveSnapshot(GetTransactionSnapshot());
    const auto result = work();
    PopActiveSnapshot();
    restore(handler);
    return result;
}

// ---- leasing -------------------------------------------------------------------------------------------------------

struct Lessee {
    Leased leased;
    MemoryContext memory;
    const text *handler;
};

bool put(void *to, store::Store &store, const Task &task) {
    auto *lessee = static_cast<Lessee *>(to);
    MemoryContext caller = MemoryContextSwitchTo(lessee->memory);
    lessee->leased = {task.spec.id,
                      task.spec.queue,
                      task.carry.attempt,
                      DatumGetTextPCopy(PointerGetDatum(task.spec.rn)),
                      DatumGetTextPCopy(PointerGetDatum(lessee->handler)),
                      task_value(store, task, Show::all)};
    MemoryContextSwitchTo(caller);
    return true;
}

// A task of the queue, if there is one, and if it still has a handler and the worker may work on it.
Leased lease(const Worker &worker, const text *name) {
    return as_worker(worker, [&] {
        MemoryContextReset(worker.memory[1]);
        store::Store store = open_for_write(k_call);
        const auto queue = find_queue(store, name);
        Lessee lessee{{}, worker.memory[1], queue ? queue->handler : nullptr};
        if (lessee.handler != nullptr && rights::may(store, queue->id, model::Privilege::work))
            lease_tasks(store, {queue->name, worker.name, 1, std::nullopt}, {put, &lessee});
        close(store);
        return lessee.leased;
    });
}

// ---- calling -------------------------------------------------------------------------------------------------------

// The statement that calls the last handler.
constinit SPIPlanPtr statement = nullptr;
constinit char *statement_handler = nullptr;

SPIPlanPtr statement_for(const text *handler) {
    if (statement != nullptr && view(handler) == statement_handler)
        return statement;
    const char *sql = psprintf("select %s($1)", text_to_cstring(handler));
    Oid type = store::task_type();
    SPIPlanPtr prepared = SPI_prepare(sql, 1, &type);
    if (prepared == nullptr)
        elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
    char *name = MemoryContextStrdup(TopMemoryContext, text_to_cstring(handler));
    SPI_keepplan(prepared);
    if (statement != nullptr) {
        SPI_freeplan(statement);
        pfree(statement_handler);
    }
    statement = prepared;
    statement_handler = name;
    return statement;
}

// Returns the result of the handler; nullptr if it is null.
Jsonb *call(const Leased &leased) {
    MemoryContext caller = CurrentMemoryContext;
    PushActiveSnapshot(GetTransactionSnapshot());
    SPI_connect();
    Datum task = leased.task;
    const int code = SPI_execute_plan(statement_for(leased.handler), &task, nullptr, false, 0);
    if (code != SPI_OK_SELECT)
        elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(code));
    // The function may have been replaced by another kind since it was set.
    if (SPI_processed != 1 || SPI_gettypeid(SPI_tuptable->tupdesc, 1) != JSONBOID)
        error::other_handler(leased.handler);
    bool null = false;
    const Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null);
    MemoryContext spi = MemoryContextSwitchTo(caller);
    Jsonb *result = null ? nullptr : DatumGetJsonbPCopy(value);
    MemoryContextSwitchTo(spi);
    SPI_finish();
    PopActiveSnapshot();
    return result;
}

bool is_check(store::Store &store, const text *rn) {
    const auto spec = find_spec(store, rn, store::With::no_spec);
    return spec && spec->is_check;
}

store::TableId table_of(model::Status status) {
    switch (status) {
    case model::Status::waiting:
        return store::TableId::waiting;
    case model::Status::ready:
        return store::TableId::ready;
    case model::Status::running:
        return store::TableId::lease;
    case model::Status::completed:
    case model::Status::aborted:
    case model::Status::cancelled:
        break;
    }
    return store::TableId::outcome;
}

// Completes the task, or answers "not yet" for a check without a result, unless its handler has ended the lease itself.
// Keep::no: another process has ended it, and the changes of the handler must be rolled back.
Keep complete(const Worker &worker, const Leased &leased, Jsonb *result) {
    return as_worker(worker, [&] {
        store::Store store = open_for_write(k_call);
        const LeaseName name = name_of(worker, leased);
        const Claim claim = result == nullptr && is_check(store, name.rn)
                                ? not_yet_if_held(store, name)
                                : complete_if_held(store, name, {args::document("result", result), nullptr});
        const bool ended_by_handler =
            claim.instead && is_own_row(store, table_of(claim.instead->status), claim.instead->tid);
        close(store);
        return claim.lease || ended_by_handler ? Keep::yes : Keep::no;
    });
}

// ---- results -------------------------------------------------------------------------------------------------------

const char *cut(const char *value) {
    constexpr int k_longest = 4000; // bytes of an error
    if (value == nullptr)
        return nullptr;
    const int size = static_cast<int>(strlen(value));
    return size <= k_longest ? value : pnstrdup(value, static_cast<Size>(pg_mbcliplen(value, size, k_longest)));
}

Jsonb *error_of(const ErrorData *error) {
    const std::array<ErrorArgument, 3> arguments{
        {{"detail", cut(error->detail)}, {"hint", cut(error->hint)}, {"context", cut(error->context)}}};
    const char *message = error->message != nullptr ? cut(error->message) : "";
    return make_error(psprintf("sqlstate-%s", unpack_sql_state(error->sqlerrcode)), arguments, message);
}

// How a call has ended.
struct Ended {
    ErrorData *error;             // null: it is committed
    bool interrupted;             // by somebody else; for a session by its user, unless its task was taken away
    std::optional<int64> overran; // the session has interrupted it itself: it has reached this run_timeout
};

bool is_to_be_yielded(const Ended &ended) {
    return ended.error->sqlerrcode == ERRCODE_QUERY_CANCELED && ended.interrupted && !ended.overran;
}

Jsonb *overrun(store::Store &store, const Leased &leased, int64 micros) {
    const auto row = find_lease(store, leased.id);
    return run_timeout_error(store, row ? run_of(*row) : Run{}, micros);
}

// Fails a task with the error of its handler. An interrupt is no failure: the task is yielded.
void give_back(const Worker &worker, const Leased &leased, const Ended &ended) {
    as_worker(worker, [&] {
        store::Store store = open_for_write(k_call);
        const LeaseName name = name_of(worker, leased);
        const auto error = [&] {
            return ended.overran ? overrun(store, leased, *ended.overran) : error_of(ended.error);
        };
        const bool given_back =
            is_to_be_yielded(ended) ? yield_if_held(store, name) : fail_if_held(store, name, {error(), std::nullopt});
        close(store);
        return given_back;
    });
}

// Commits the transaction. Returns the error, in the memory of the task, if the commit fails.
ErrorData *try_commit(const Worker &worker) {
    ErrorData *volatile error = nullptr;
    PG_TRY();
    { worker.transactions.commit(); }
    PG_CATCH();
    {
        MemoryContextSwitchTo(worker.memory[0]);
        error = CopyErrorData();
        FlushErrorState();
        worker.transactions.recover();
    }
    PG_END_TRY();
    MemoryContextSwitchTo(worker.memory[0]);
    return error;
}

bool is_session(const Worker &worker) { return worker.begin_call == nullptr; }

// When the run began, and when it must have ended.
struct RunTime {
    TimestampTz began = 0;
    TimestampTz ends = DT_NOEND;
};

RunTime run_time(store::Store &store, const Leased &leased) {
    const auto row = find_lease(store, leased.id);
    return row ? RunTime{row->leased, run_ends(store, run_of(*row))} : RunTime{};
}

RunTime begin_call(const Worker &worker, const Leased &leased, const text *queue) {
    store::Store store = store::open(AccessShareLock);
    hold_call(store, leased.id, leased.attempt);
    const RunTime time = is_session(worker) ? run_time(store, leased) : RunTime{};
    close(store);
    if (is_session(worker)) {
        shmem::begin_session_call(leased.id);
        start_run_timer(time.ends);
    } else
        worker.begin_call({leased.id, leased.queue, view(queue), view(leased.rn)});
    return time;
}

// Ends a session's call. True: its task was taken away, and the interrupt for that has been received.
bool end_session_call(const ErrorData *error) {
    if (!shmem::end_session_call())
        return false;
    const bool raised = error != nullptr && error->sqlerrcode == ERRCODE_QUERY_CANCELED;
    for (int i = 0; i < 10 && !raised && !QueryCancelPending; i++)
        pg_usleep(1'000); // the signal has been sent
    QueryCancelPending = 0;
    return true;
}

Ended end_call(const Worker &worker, const RunTime &time, ErrorData *error) {
    if (!is_session(worker))
        return {error, worker.end_call(), std::nullopt};
    const bool taken_away = end_session_call(error);
    const bool overran = stop_run_timer();
    return {error, !taken_away, overran ? std::optional(time.ends - time.began) : std::nullopt};
}

// The server's macros for it use ++ and --, which C++20 deprecates for what is volatile.
void hold_cancels() noexcept { QueryCancelHoldoffCount = QueryCancelHoldoffCount + 1; }
void release_cancels() noexcept { QueryCancelHoldoffCount = QueryCancelHoldoffCount - 1; }

// Calls the handler of the task and, if `more`, leases the next one.
Ended run(Worker &worker, const Leased &leased, const text *queue, bool more, Leased *next) {
    // A cancel request since the task was leased waits for the call, so that the task is given back.
    hold_cancels();
    const RunTime time = begin_call(worker, leased, queue);
    release_cancels();
    ErrorData *error = attempt_any([&] {
        CHECK_FOR_INTERRUPTS();
        const Keep keep = complete(worker, leased, call(leased));
        *next = more && keep == Keep::yes ? lease(worker, queue) : Leased{};
        return keep;
    });
    Ended ended = end_call(worker, time, error);
    if (error == nullptr)
        ended.error = try_commit(worker);
    if (ended.error != nullptr)
        *next = {};
    return ended;
}

} // namespace

Worker make_worker(const Transactions &transactions) {
    return {transactions,
            cstring_to_text(psprintf("scylla-worker-%d", MyProcPid)),
            GetUserId(),
            {AllocSetContextCreate(CurrentMemoryContext, "scylla task", ALLOCSET_DEFAULT_SIZES),
             AllocSetContextCreate(CurrentMemoryContext, "scylla next task", ALLOCSET_DEFAULT_SIZES)}};
}

int64 run_tasks(Worker &worker, const text *queue, int64 max_tasks) {
    MemoryContext caller = CurrentMemoryContext;
    int64 count = 0;
    Leased leased = max_tasks > 0 ? lease(worker, queue) : Leased{};
    worker.transactions.commit();
    while (leased.id != 0) {
        std::swap(worker.memory[0], worker.memory[1]);
        MemoryContextSwitchTo(worker.memory[0]);
        count++;
        Leased next;
        const auto more = [&] { return count < max_tasks && (worker.may_go_on == nullptr || worker.may_go_on()); };
        const Ended ended = run(worker, leased, queue, more(), &next);
        if (ended.error != nullptr) {
            give_back(worker, leased, ended);
            worker.transactions.commit();
            if (is_session(worker) && is_to_be_yielded(ended))
                ReThrowError(ended.error);
        }
        if (next.id == 0 && more()) { // this task has released its permits now
            next = lease(worker, queue);
            worker.transactions.commit();
        }
        leased = next;
    }
    MemoryContextSwitchTo(caller);
    return count;
}

} // namespace scylla::handlers
