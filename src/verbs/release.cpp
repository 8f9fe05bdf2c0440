// yield, cancel: taking a task from its worker, by the worker or by a client.
#include "verbs/args.h"
#include "verbs/held.h"
#include "verbs/history.h"

namespace scylla {

namespace {

using model::Status;
using store::TableId;

// Takes the row of a live task out of its table; false: a concurrent change came first. The task has ended: 55000.
bool take_live(store::Store &store, const Task &task) {
    switch (task.status) {
    case Status::waiting:
        return take(store, TableId::waiting, task.tid, Wait::yes) == store::Taken::ok;
    case Status::ready:
        return take_ready(store, task.spec, task.tid, Wait::yes) == store::Taken::ok;
    case Status::running:
        return take(store, TableId::lease, task.tid, Wait::yes) == store::Taken::ok;
    case Status::completed:
    case Status::aborted:
    case Status::cancelled:
        break;
    }
    error::not_live(task.spec.rn, model::name(task.status), task.owner, task.carry.attempt);
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_yield) {
    using namespace scylla;
    const LeaseName name{args::name("rn", args::get_text(fcinfo, 0)), args::name("worker", args::get_text(fcinfo, 1)),
                         args::get_int(fcinfo, 2)};
    store::Store store = open_for_write("scylla.yield()");
    const Claim claim = take_held(store, name);
    require_held(name, claim);
    const TimestampTz now = GetCurrentTimestamp();
    const Task task = make_ready(store, *claim.spec, carry_on(*claim.lease, Ending::yield, now), now);
    return return_task(fcinfo, store, task, Show::no_spec);
}

SCYLLA_FUNCTION(scylla_cancel) {
    using namespace scylla;
    text *rn = args::name("rn", args::get_text(fcinfo, 0));
    store::Store store = open_for_write("scylla.cancel()");
    for (;; refresh(store)) {
        const auto spec = find_spec(store, rn, store::With::spec);
        if (!spec)
            error::no_such_task(rn);
        const Task task = require_task(store, *spec);
        if (!take_live(store, task))
            continue;
        const Final end{model::Status::cancelled, task.progress, task.owner, task.leased, task.carry, nullptr, nullptr};
        return return_task(fcinfo, store, make_final(store, *spec, end, GetCurrentTimestamp()), Show::all);
    }
}
