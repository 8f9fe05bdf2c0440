// yield, cancel.
#include "task/release.h"

#include "api/batch.h"
#include "api/arguments.h"
#include "api/rows.h"
#include "task/rules.h"

SCYLLA_FUNCTION(scylla_yield) {
    using namespace scylla;
    const LeaseName name = get_lease_name(args::Yield{fcinfo});
    store::Store store = open_for_write("scylla.yield()");
    return return_task(fcinfo, store, yield_task(store, name), Show::no_spec);
}

SCYLLA_FUNCTION(scylla_cancel) {
    using namespace scylla;
    const args::Cancel given{fcinfo};
    const text *rn = args::name(given.rn());
    store::Store store = open_for_write("scylla.cancel()");
    const Task task = cancel(store, rn);
    const bool may_view = rights::may(store, task.spec.queue, model::Privilege::view);
    return return_task(fcinfo, store, task, may_view ? Show::all : Show::no_content);
}
