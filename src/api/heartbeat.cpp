// heartbeat, heartbeat_many.
#include "task/heartbeat.h"

#include "api/batch.h"
#include "api/call.h"
#include "api/rows.h"
#include "task/rules.h"

SCYLLA_FUNCTION(scylla_heartbeat) {
    using namespace scylla;
    const LeaseName name = get_lease_name(fcinfo, 4);
    const Extension by{args::progress(args::get_float(fcinfo, 2)),
                       args::timeout("timeout", args::get_interval(fcinfo, 3))};
    store::Store store = open_for_write("scylla.heartbeat()");
    return return_task(fcinfo, store, extend_lease(store, name, by), Show::no_spec);
}

SCYLLA_FUNCTION(scylla_heartbeat_many) {
    using namespace scylla;
    const Batch batch = get_batch(fcinfo, {.rns = 0, .worker = 1, .results = -1, .attempts = 3});
    const Extension by{std::nullopt, args::timeout("timeout", args::get_interval(fcinfo, 2))};
    store::Store store = open_for_write("scylla.heartbeat_many()");
    extend_leases(store, batch, by);
    return return_batch(fcinfo, store, batch);
}
