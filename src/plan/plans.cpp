#include "plan/plans.h"

#include "pg/error.h"
#include "pg/growing.h"
#include "pg/memory.h"
#include "plan/gates.h"
#include "task/gates.h"
#include "queue/wait.h"
#include "shmem/pending.h"
#include "shmem/waiters.h"
#include "store/plans.h"
#include "task/names.h"
#include "task/release.h"
#include "task/rights.h"

namespace scylla {

namespace {

// Locks a plan for a change. P0002.
store::PlanRow hold_own_plan(const text *name) {
    const auto plan = store::hold_plan(name, store::Hold::change);
    if (!plan || !rights::owns(plan->owner))
        error::no_such_plan(name);
    if (plan->maker == store::PlanMaker::workflow)
        error::plan_of_run(name);
    return *plan;
}

// The same for a plan that has not ended. 55000.
store::PlanRow hold_live_plan(const text *name) {
    const store::PlanRow plan = hold_own_plan(name);
    if (plan.finished)
        error::plan_ended(name, plan.cancelled ? "cancelled" : "finished");
    return plan;
}

} // namespace

std::span<const int64> members_of(store::Store &store, int64 plan) {
    Growing<int64> ids;
    store::Scan scan = scan_dependants(store, plan);
    while (next(scan))
        ids.add(gate_row(scan).task);
    end(scan);
    return ids.all();
}

text *create_plan(text *name, Jsonb *spec, store::PlanMaker maker) {
    if (name == nullptr)
        name = make_up_name(GetCurrentTimestamp());
    if (!store::insert_plan(name, spec, maker))
        error::duplicate_plan(name);
    return name;
}

void open_plan(store::Store &store, const text *name) {
    const store::PlanRow plan = hold_live_plan(name);
    if (plan.opened)
        error::plan_open(name);
    const TimestampTz now = GetCurrentTimestamp();
    store::plans::open(plan.id, now);
    note_opened(store, plan.id);
    settle_all_gates(store, now);
}

int64 cancel_plan(store::Store &store, const text *name) {
    const store::PlanRow plan = hold_live_plan(name);
    refresh(store); // transactions that were adding to it have ended
    const TimestampTz now = GetCurrentTimestamp();
    const auto ids = members_of(store, plan.id);
    const RowMemory memory = begin_row_memory();
    int64 cancelled = 0;
    // All members before the gates of their dependants: so each member is cancelled, and not aborted for a cancelled
    // provider.
    for (const int64 id : ids) {
        CHECK_FOR_INTERRUPTS();
        if (const auto spec = find_spec(store, id, store::With::no_spec))
            cancelled += cancel_task(store, *spec, now).done ? 1 : 0;
        reset(memory);
    }
    end(memory);
    store::plans::cancel(plan.id, now);
    shmem::note_plan_finished();
    settle_gates(store, now);
    return cancelled;
}

store::PlanRow require_plan(store::Store &store, const text *name) {
    const auto plan = find_plan(store, name);
    if (!plan || !rights::owns(plan->owner))
        error::no_such_plan(name);
    return *plan;
}

void set_plan_owner(const text *name, const text *owner) {
    const store::PlanRow plan = hold_own_plan(name);
    rights::require_new_owner(owner, "plan");
    store::plans::set_owner(plan.id, owner);
}

bool wait_for_plan(text *name, const Patience &patience) {
    const auto look = [](void *what, int64 *) {
        if (shmem::shared != nullptr)
            shmem::enlist(std::array{shmem::k_plans});
        store::Store store = store::open(AccessShareLock);
        const store::PlanRow plan = require_plan(store, static_cast<const text *>(what));
        close(store);
        return plan.finished.has_value();
    };
    const bool finished = wait_until(patience, {look, name});
    if (shmem::shared != nullptr)
        shmem::leave(shmem::k_plans);
    return finished;
}

} // namespace scylla
