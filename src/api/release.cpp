// yield, cancel.
#include "task/release.h"

#include "api/batch.h"
#include "api/call.h"
#include "api/rows.h"
#include "task/rules.h"

SCYLLA_FUNCTION(scylla_yield) {
    using namespace scylla;
    const LeaseName name = get_lease_name(fcinfo, 2);
    store::Store store = open_for_write("scylla.yield()");
    return return_task(fcinfo, store, yield_task(store, name), Show::no_spec);
}

SCYLLA_FUNCTION(scylla_cancel) {
    using namespace scylla;
    const text *rn = args::name("rn", args::get_text(fcinfo, 0));
    store::Store store = open_for_write("scylla.cancel()");
    const Task task = cancel(store, rn);
    const bool may_view = rights::may(store, task.spec.queue, model::Privilege::view);
    return return_task(fcinfo, store, task, may_view ? Show::all : Show::no_content);
}
