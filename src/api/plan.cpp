// create_plan, open_plan, cancel_plan, plan_completed, set_plan_owner. What a plan is to its tasks is in plan/gates.h:
// a gate of each, which opening the plan opens.
#include "pg/error.h"
#include "pg/memory.h"
#include "shmem/pending.h"
#include "store/plans.h"
#include "api/call.h"
#include "task/rules.h"
#include "plan/gates.h"
#include "task/names.h"
#include "task/release.h"
#include "task/rights.h"

namespace scylla {

namespace {

// Holds a plan to be changed. P0002.
store::PlanRow hold_own_plan(const text *name) {
    const auto plan = store::hold_plan(name, store::Hold::change);
    if (!plan || !rights::owns(plan->owner))
        error::no_such_plan(name);
    return *plan;
}

// The same for one that has not ended. 55000.
store::PlanRow hold_live_plan(const text *name) {
    const store::PlanRow plan = hold_own_plan(name);
    if (plan.finished)
        error::plan_ended(name, plan.cancelled ? "cancelled" : "finished");
    return plan;
}

std::span<int64> members(store::Store &store, int64 plan) {
    std::size_t count = 0;
    std::size_t room = 64;
    auto *ids = static_cast<int64 *>(palloc(room * sizeof(int64)));
    store::Scan scan = scan_dependants(store, plan);
    while (next(scan)) {
        if (count == room) {
            room *= 2;
            ids = static_cast<int64 *>(repalloc_huge(ids, room * sizeof(int64)));
        }
        ids[count++] = gate_row(scan).task;
    }
    end(scan);
    return {ids, count};
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_create_plan) {
    using namespace scylla;
    text *name = args::optional_name("name", args::get_text(fcinfo, 0));
    store::Store store = open_for_settings("scylla.create_plan()");
    if (name == nullptr)
        name = make_up_name(GetCurrentTimestamp());
    if (!store::insert_plan(name, args::get_jsonb(fcinfo, 1)))
        error::duplicate_plan(name);
    close(store);
    PG_RETURN_TEXT_P(name);
}

SCYLLA_FUNCTION(scylla_open_plan) {
    using namespace scylla;
    text *name = args::name("plan", args::get_text(fcinfo, 0));
    store::Store store = open_for_write("scylla.open_plan()");
    const store::PlanRow plan = hold_live_plan(name);
    if (plan.opened)
        error::plan_open(name);
    const TimestampTz now = GetCurrentTimestamp();
    store::open_plan(plan.id, now);
    note_opened(store, plan.id);
    settle_gates(store, now);
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_cancel_plan) {
    using namespace scylla;
    text *name = args::name("plan", args::get_text(fcinfo, 0));
    store::Store store = open_for_write("scylla.cancel_plan()");
    const store::PlanRow plan = hold_live_plan(name);
    refresh(store); // whoever was adding to it has ended
    const TimestampTz now = GetCurrentTimestamp();
    const auto ids = members(store, plan.id);
    const RowMemory memory = begin_row_memory();
    int64 cancelled = 0;
    // All of them before anybody who depends on them is looked at: they are cancelled, and not aborted for a cancelled
    // provider.
    for (const int64 id : ids) {
        CHECK_FOR_INTERRUPTS();
        if (const auto spec = find_spec(store, id, store::With::no_spec))
            cancelled += cancel_task(store, *spec, now).done ? 1 : 0;
        reset(memory);
    }
    end(memory);
    store::cancel_plan(plan.id, now);
    shmem::note_plan_finished();
    settle_gates(store, now);
    close(store);
    PG_RETURN_INT64(cancelled);
}

SCYLLA_FUNCTION(scylla_plan_completed) {
    using namespace scylla;
    text *name = args::name("plan", args::get_text(fcinfo, 0));
    store::Store store = store::open(AccessShareLock);
    const auto plan = find_plan(store, name);
    if (!plan || !rights::owns(plan->owner))
        error::no_such_plan(name);
    close(store);
    PG_RETURN_BOOL(plan->finished && !plan->cancelled && !plan->failed);
}

SCYLLA_FUNCTION(scylla_set_plan_owner) {
    using namespace scylla;
    text *name = args::name("plan", args::get_text(fcinfo, 0));
    text *owner = args::name("owner", args::get_text(fcinfo, 1));
    store::Store store = open_for_write("scylla.set_plan_owner()");
    const store::PlanRow plan = hold_own_plan(name);
    rights::require_new_owner(owner, "plan");
    store::set_plan_owner(plan.id, owner);
    close(store);
    PG_RETURN_VOID();
}
