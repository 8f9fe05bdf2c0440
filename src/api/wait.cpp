// wait, wait_any, wait_plan.
#include "queue/wait.h"

#include "api/arguments.h"
#include "api/wait.h"
#include "pg/error.h"
#include "pg/memory.h"
#include "plan/plans.h"
#include "shmem/waiters.h"
#include "task/rules.h"

namespace scylla {

TupleDesc one_result(FunctionCallInfo fcinfo) {
    TupleDesc type = nullptr;
    if (get_call_result_type(fcinfo, nullptr, &type) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "the procedure does not return a row");
    return BlessTupleDesc(type);
}

Datum return_one(TupleDesc type, Datum value, bool null) {
    return HeapTupleGetDatum(heap_form_tuple(type, &value, &null));
}

void require_outside_transaction(FunctionCallInfo fcinfo, const char *call) {
    const bool is_outside = fcinfo->context != nullptr && IsA(fcinfo->context, CallContext) &&
                            !castNode(CallContext, fcinfo->context)->atomic;
    if (!is_outside)
        error::inside_transaction(call);
}

namespace {

Patience get_patience(FunctionCallInfo fcinfo, const args::Named<Interval *> &given, const char *call) {
    const auto timeout = args::timeout(given);
    require_outside_transaction(fcinfo, call);
    return {timeout.value_or(30 * model::k_second), call};
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_wait) {
    using namespace scylla;
    const args::Wait given{fcinfo};
    TupleDesc type = one_result(fcinfo);
    text *queue = args::name(given.queue());
    const Patience patience = get_patience(fcinfo, given.timeout(), "scylla.wait()");
    const auto found = wait_for_task({&queue, 1}, patience);
    return return_one(type, BoolGetDatum(found.has_value()), false);
}

SCYLLA_FUNCTION(scylla_wait_any) {
    using namespace scylla;
    const args::WaitAny given{fcinfo};
    TupleDesc type = one_result(fcinfo);
    const auto queues = given.queues().value;
    if (!queues || queues->size < 1 || queues->size > shmem::k_max_wait_queues)
        error::bad_argument("queues", queues ? error::array_of(queues->size) : "null",
                            "It must be an array of 1 to 64 queues.");
    const auto names = allocate<text *>(static_cast<std::size_t>(queues->size));
    for (std::size_t i = 0; i < names.size(); i++)
        names[i] = args::name("queues", queues->null[i] ? nullptr : DatumGetTextPP(queues->value[i]),
                              static_cast<int64>(i + 1));
    const Patience patience = get_patience(fcinfo, given.timeout(), "scylla.wait_any()");
    const auto found = wait_for_task(names, patience);
    return return_one(type, found ? PointerGetDatum(names[*found]) : 0, !found);
}

SCYLLA_FUNCTION(scylla_wait_plan) {
    using namespace scylla;
    const args::WaitPlan given{fcinfo};
    TupleDesc type = one_result(fcinfo);
    text *plan = args::name(given.plan());
    const Patience patience = get_patience(fcinfo, given.timeout(), "scylla.wait_plan()");
    return return_one(type, BoolGetDatum(wait_for_plan(plan, patience)), false);
}
