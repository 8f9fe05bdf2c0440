// wait, wait_any, wait_plan: sleeping until a task can be leased or a plan is finished, without a snapshot and without
// a transaction id (shmem/waiters.h).
#include "pg/client.h"
#include "pg/clock.h"
#include "pg/error.h"
#include "pg/memory.h"
#include "shmem/waiters.h"
#include "api/call.h"
#include "task/rules.h"
#include "queue/lease.h"
#include "task/rights.h"

namespace scylla {

namespace {

constexpr int64 k_poll = 250'000; // microseconds, where there is no shared memory

void require_outside_transaction(FunctionCallInfo fcinfo, const char *call) {
    const bool outside = fcinfo->context != nullptr && IsA(fcinfo->context, CallContext) &&
                         !castNode(CallContext, fcinfo->context)->atomic;
    if (!outside)
        error::inside_transaction(call);
}

// The ids of the queues; k_no_queue for those that do not exist yet. 42501 if the worker may not work on one.
void find_queues(store::Store &store, std::span<text *const> names, std::span<int32> ids) {
    for (std::size_t i = 0; i < names.size(); i++) {
        const auto queue = find_queue(store, names[i]);
        if (queue)
            rights::require(store, *queue, model::Privilege::work);
        ids[i] = queue ? queue->id : shmem::k_no_queue;
    }
}

// One look. The index of a queue that has a ready task, or nothing. The backend is on the list of waiters before the
// snapshot of the look is taken. If rates allow no lease, *again is lowered to when they may (steady_now()).
std::optional<std::size_t> look_once(std::span<text *const> names, std::span<int32> ids, int64 *again) {
    std::optional<std::size_t> found;
    store::Store store = store::open(AccessShareLock);
    store.reads_queues =
        true; // it would sleep by what it finds, and who drops a queue tells of it only after waking the waiters
    find_queues(store, names, ids);
    if (shmem::shared != nullptr) {
        shmem::enlist(ids);
        refresh(store);
        find_queues(store, names, ids); // one may have been created in between
        shmem::enlist(ids);
    }
    const TimestampTz now = GetCurrentTimestamp();
    for (std::size_t i = 0; i < names.size() && !found; i++)
        if (ids[i] != shmem::k_no_queue && count_leasable(store, ids[i], 1, now, again) > 0)
            found = i;
    close(store);
    return found;
}

// Sleeps until the backend is signalled or the time has come (of steady_now()).
void sleep_until(int64 end) {
    for (;;) {
        if (shmem::shared != nullptr && shmem::signalled())
            return;
        const int64 now = steady_now();
        if (now >= end)
            return;
        const int64 left = shmem::shared != nullptr ? end - now : Min(end - now, k_poll);
        constexpr int64 k_longest = 60 * USECS_PER_SEC * 60; // what fits into a long everywhere
        WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                  static_cast<long>((Min(left, k_longest) + 999) / 1000), PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
        if (shmem::shared == nullptr)
            return;
    }
}

// Looks until there is something (look() puts the backend on the list of waiters first) or the time is over. True:
// there is. A look may say when to look again without a signal, by lowering its argument.
template <typename Look> bool look_until(int64 timeout, const char *call, Look look) {
    PreventCommandDuringRecovery(call); // nothing would happen here
    const int64 end = steady_now() + timeout;
    bool found = false;
    SPI_connect_ext(SPI_OPT_NONATOMIC);
    for (;;) {
        int64 again = end;
        found = look(&again);
        if (found || steady_now() >= end)
            break;
        SPI_commit(); // gives up the snapshot; the transaction that begins has none until the next look
        sleep_until(again);
        if (!client_is_there())
            error::client_gone(); // ends the transaction, and so passes the signal on
        if (shmem::shared != nullptr)
            shmem::rearm();
    }
    SPI_finish();
    return found;
}

// The index of a queue with a ready task, or nothing when the time is over.
std::optional<std::size_t> wait_for(std::span<text *const> names, int64 timeout, const char *call) {
    const auto ids = allocate<int32>(names.size());
    std::optional<std::size_t> found;
    look_until(timeout, call, [&](int64 *again) {
        found = look_once(names, ids, again);
        return found.has_value();
    });
    if (shmem::shared != nullptr)
        shmem::leave(found ? std::optional(ids[*found]) : std::nullopt);
    return found;
}

// Whether the plan is finished when it is, or when the time is over.
bool wait_for_plan(const text *name, int64 timeout, const char *call) {
    const bool finished = look_until(timeout, call, [&](int64 *) {
        if (shmem::shared != nullptr)
            shmem::enlist(std::array{shmem::k_plans});
        store::Store store = store::open(AccessShareLock);
        const auto plan = find_plan(store, name);
        if (!plan || !rights::owns(plan->owner))
            error::no_such_plan(name);
        close(store);
        return plan->finished.has_value();
    });
    if (shmem::shared != nullptr)
        shmem::leave(shmem::k_plans);
    return finished;
}

Datum return_one(FunctionCallInfo fcinfo, Datum value, bool null) {
    TupleDesc type = nullptr;
    if (get_call_result_type(fcinfo, nullptr, &type) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "the procedure does not return a row");
    type = BlessTupleDesc(type);
    return HeapTupleGetDatum(heap_form_tuple(type, &value, &null));
}

int64 get_timeout(FunctionCallInfo fcinfo) {
    const auto timeout = args::timeout("timeout", args::get_interval(fcinfo, 1));
    if (!timeout)
        error::bad_argument("timeout", "null", "It must be more than 0 and at most 365 days.");
    return *timeout;
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_wait) {
    using namespace scylla;
    text *queue = args::name("queue", args::get_text(fcinfo, 0));
    const int64 timeout = get_timeout(fcinfo);
    require_outside_transaction(fcinfo, "scylla.wait()");
    const auto found = wait_for({&queue, 1}, timeout, "scylla.wait()");
    return return_one(fcinfo, BoolGetDatum(found.has_value()), false);
}

SCYLLA_FUNCTION(scylla_wait_any) {
    using namespace scylla;
    const auto queues = args::get_array(fcinfo, 0, TEXTOID);
    if (!queues || queues->size < 1 || queues->size > shmem::k_max_wait_queues)
        error::bad_argument("queues", queues ? error::array_of(queues->size) : "null",
                            "It must be an array of 1 to 64 queues.");
    const auto names = allocate<text *>(static_cast<std::size_t>(queues->size));
    for (std::size_t i = 0; i < names.size(); i++)
        names[i] = args::name("queues", queues->null[i] ? nullptr : DatumGetTextPP(queues->value[i]),
                              static_cast<int64>(i + 1));
    const int64 timeout = get_timeout(fcinfo);
    require_outside_transaction(fcinfo, "scylla.wait_any()");
    const auto found = wait_for(names, timeout, "scylla.wait_any()");
    return return_one(fcinfo, found ? PointerGetDatum(names[*found]) : 0, !found);
}

SCYLLA_FUNCTION(scylla_wait_plan) {
    using namespace scylla;
    text *plan = args::name("plan", args::get_text(fcinfo, 0));
    const int64 timeout = get_timeout(fcinfo);
    require_outside_transaction(fcinfo, "scylla.wait_plan()");
    return return_one(fcinfo, BoolGetDatum(wait_for_plan(plan, timeout, "scylla.wait_plan()")), false);
}
