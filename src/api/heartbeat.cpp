// heartbeat, heartbeat_many.
#include "task/heartbeat.h"

#include "api/batch.h"
#include "api/arguments.h"
#include "api/rows.h"
#include "task/rules.h"

SCYLLA_FUNCTION(scylla_heartbeat) {
    using namespace scylla;
    const args::Heartbeat given{fcinfo};
    const LeaseName name = get_lease_name(given);
    const Extension by{args::progress(given.progress()), args::timeout(given.timeout())};
    store::Store store = open_for_write("scylla.heartbeat()");
    return return_task(fcinfo, store, extend_lease(store, name, by), Show::no_spec);
}

SCYLLA_FUNCTION(scylla_heartbeat_many) {
    using namespace scylla;
    const args::HeartbeatMany given{fcinfo};
    const Batch batch = get_batch({.rns = given.rns(), .worker = given.worker(), .attempts = given.attempts()});
    const Extension by{std::nullopt, args::timeout(given.timeout())};
    store::Store store = open_for_write("scylla.heartbeat_many()");
    extend_leases(store, batch, by);
    return return_batch(fcinfo, store, batch);
}
