// not_yet, defer.
#include "task/defer.h"

#include "api/batch.h"
#include "api/call.h"
#include "api/rows.h"
#include "api/wait_for.h"
#include "task/rules.h"

SCYLLA_FUNCTION(scylla_not_yet) {
    using namespace scylla;
    const LeaseName name = get_lease_name(fcinfo, 3);
    const auto retry_after = args::retry_after(args::get_interval(fcinfo, 2));
    store::Store store = open_for_write("scylla.not_yet()");
    return return_task(fcinfo, store, not_yet(store, name, retry_after), Show::no_spec);
}

SCYLLA_FUNCTION(scylla_defer) {
    using namespace scylla;
    const LeaseName name = get_lease_name(fcinfo, 4);
    const Deferral deferral{.waits = read_wait_for(args::get_jsonb(fcinfo, 2)),
                            .state = args::document("state", args::get_jsonb(fcinfo, 3))};
    store::Store store = open_for_write("scylla.defer()");
    return return_task(fcinfo, store, defer(store, name, deferral), Show::no_spec);
}
