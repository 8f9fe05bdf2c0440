#include "task/release.h"

#include "shmem/pending.h"

#include "task/gates.h"
#include "task/history.h"

namespace scylla {

namespace {

using model::Status;
using store::TableId;

Task given_back(store::Store &store, const Claim &claim) {
    const TimestampTz now = GetCurrentTimestamp();
    shmem::count(stat_id(claim.spec->queue), shmem::Count::yielded);
    return make_ready(store, *claim.spec, carry_on(*claim.lease, Ending::yield, now), now);
}

} // namespace

store::Taken take_live(store::Store &store, const Task &task, Wait wait) {
    switch (task.status) {
    case Status::waiting:
        return take(store, TableId::waiting, task.spec, task.tid, wait);
    case Status::ready:
        return take(store, TableId::ready, task.spec, task.tid, wait);
    default:
        const store::Taken taken = take_lease(store, task.spec, task.tid, task.limited, wait);
        if (taken == store::Taken::ok)
            shmem::note_taken_away(task.spec.id);
        return taken;
    }
}

namespace {

Task cancelled(store::Store &store, const store::SpecRow &spec, const Task &task, TimestampTz now) {
    return make_final(store, spec,
                      {.status = Status::cancelled,
                       .progress = task.progress,
                       .owner = task.owner,
                       .leased = task.leased,
                       .carry = task.carry},
                      now);
}

} // namespace

Cancelled cancel_task(store::Store &store, const store::SpecRow &spec, TimestampTz now) {
    for (;; refresh(store)) {
        const Task task = require_task(store, spec);
        if (model::is_final(task.status))
            return {task, false};
        if (take_live(store, task, Wait::yes) == store::Taken::ok)
            return {cancelled(store, spec, task, now), true};
        // a concurrent change came first
    }
}

Cancelling try_cancel_task(store::Store &store, const store::SpecRow &spec, TimestampTz now) {
    const auto task = find_task(store, spec);
    if (!task)
        return Cancelling::busy; // its plan's owner removes it
    if (model::is_final(task->status))
        return Cancelling::ended;
    if (take_live(store, *task, Wait::no) != store::Taken::ok)
        return Cancelling::busy; // or it has just been changed, and is looked at again
    cancelled(store, spec, *task, now);
    return Cancelling::done;
}

Task yield_task(store::Store &store, const LeaseName &name) {
    const Claim claim = take_held(store, name);
    require_held(name, claim);
    return given_back(store, claim);
}

bool yield_if_held(store::Store &store, const LeaseName &name) {
    const Claim claim = take_held(store, name);
    if (claim.lease)
        given_back(store, claim);
    return claim.lease.has_value();
}

Task cancel(store::Store &store, const text *rn) {
    const auto spec = find_spec(store, rn, store::With::spec);
    if (!spec || !rights::may_act(store, spec->queue, model::Privilege::submit))
        error::no_such_task(rn);
    const TimestampTz now = GetCurrentTimestamp();
    const auto [task, done] = cancel_task(store, *spec, now);
    if (!done)
        error::not_live(rn, model::name(task.status), task.owner, task.carry.attempt);
    settle_gates(store, now);
    return task;
}

} // namespace scylla
