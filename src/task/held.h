// Fencing: the check that every call of a worker about its task goes through.
#pragma once

#include "pg/error.h"
#include "pg/text.h"
#include "task/moves.h"
#include "task/rights.h"

namespace scylla {

// How a worker names a lease: the task, the worker, and (optionally) the attempt.
struct LeaseName {
    text *rn;
    text *worker;
    std::optional<int32> attempt;
};

// The result. No spec: there is no such task for this worker. No lease: the worker does not hold it; `instead` is the
// task as it is (nothing only while a restore has not brought all tables yet).
struct Claim {
    std::optional<store::SpecRow> spec;
    std::optional<store::LeaseRow> lease;
    std::optional<Task> instead;
};

// Checks that the lease is held and calls `change` with its row. `change` returns false if a concurrent change came
// first; then everything is looked up again.
template <typename Change> Claim change_held(store::Store &store, const LeaseName &name, Change change) {
    for (;; refresh(store)) {
        Claim claim{find_spec(store, name.rn, store::With::no_spec), {}, {}};
        if (claim.spec && !rights::may_act(store, claim.spec->queue, model::Privilege::work))
            claim.spec.reset();
        if (!claim.spec)
            return claim;
        const auto lease = find_lease(store, claim.spec->id);
        const bool held =
            lease && equal(lease->owner, name.worker) && (!name.attempt || *name.attempt == lease->carry.attempt);
        if (!held) {
            claim.instead = lease ? task_of(*claim.spec, *lease) : find_task(store, *claim.spec);
            return claim;
        }
        claim.lease = lease;
        if (change(*claim.spec, *claim.lease))
            return claim;
    }
}

// Takes the lease out of its table, before the task moves to another.
inline Claim take_held(store::Store &store, const LeaseName &name) {
    return change_held(store, name, [&](const store::SpecRow &spec, const store::LeaseRow &row) {
        return take_lease(store, spec, row.tid, row.permit != nullptr, Wait::yes) == store::Taken::ok;
    });
}

// P0002 or 55000 if the lease is not held.
inline void require_held(const LeaseName &name, const Claim &claim) {
    if (!claim.spec || (!claim.lease && !claim.instead))
        error::no_such_task(name.rn);
    if (!claim.lease) {
        const Task &task = *claim.instead;
        const bool other_attempt = task.status == model::Status::running && equal(task.owner, name.worker);
        error::not_held(name.rn, name.worker, model::name(task.status), task.owner, task.carry.attempt,
                        other_attempt ? name.attempt : std::nullopt);
    }
}

} // namespace scylla
