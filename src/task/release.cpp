// yield, cancel: taking a task from its worker, by the worker or by a client.
#include "task/release.h"

#include "api/call.h"
#include "api/rows.h"
#include "task/rules.h"
#include "plan/gates.h"
#include "task/held.h"
#include "task/history.h"

namespace scylla {

namespace {

using model::Status;
using store::TableId;

// Takes the row of a live task out of its table.
store::Taken take_live(store::Store &store, const Task &task) {
    switch (task.status) {
    case Status::waiting:
        return take(store, TableId::waiting, task.spec, task.tid, Wait::yes);
    case Status::ready:
        return take(store, TableId::ready, task.spec, task.tid, Wait::yes);
    default:
        return take_lease(store, task.spec, task.tid, task.limited, Wait::yes);
    }
}

} // namespace

Cancelled cancel_task(store::Store &store, const store::SpecRow &spec, TimestampTz now) {
    for (;; refresh(store)) {
        const Task task = require_task(store, spec);
        if (model::is_final(task.status))
            return {task, false};
        if (take_live(store, task) != store::Taken::ok)
            continue; // a concurrent change came first
        const Final end{Status::cancelled, task.progress, task.owner, task.leased, task.carry, nullptr, nullptr};
        return {make_final(store, spec, end, now), true};
    }
}

} // namespace scylla

SCYLLA_FUNCTION(scylla_yield) {
    using namespace scylla;
    const LeaseName name{args::name("rn", args::get_text(fcinfo, 0)), args::name("worker", args::get_text(fcinfo, 1)),
                         args::get_int(fcinfo, 2)};
    store::Store store = open_for_write("scylla.yield()");
    const Claim claim = take_held(store, name);
    require_held(name, claim);
    const TimestampTz now = GetCurrentTimestamp();
    shmem::count(stat_key(claim.spec->queue), shmem::Count::yielded);
    const Task task = make_ready(store, *claim.spec, carry_on(*claim.lease, Ending::yield, now), now);
    return return_task(fcinfo, store, task, Show::no_spec);
}

SCYLLA_FUNCTION(scylla_cancel) {
    using namespace scylla;
    text *rn = args::name("rn", args::get_text(fcinfo, 0));
    store::Store store = open_for_write("scylla.cancel()");
    const auto spec = find_spec(store, rn, store::With::spec);
    if (!spec || !rights::may_act(store, spec->queue, model::Privilege::submit))
        error::no_such_task(rn);
    const TimestampTz now = GetCurrentTimestamp();
    const auto [task, done] = cancel_task(store, *spec, now);
    if (!done)
        error::not_live(rn, model::name(task.status), task.owner, task.carry.attempt);
    settle_gates(store, now);
    const Show show = rights::may(store, spec->queue, model::Privilege::view) ? Show::all : Show::no_content;
    return return_task(fcinfo, store, task, show);
}
