// not_yet, defer.
#include "task/defer.h"

#include "api/batch.h"
#include "api/arguments.h"
#include "api/rows.h"
#include "api/wait_for.h"
#include "task/rules.h"

SCYLLA_FUNCTION(scylla_not_yet) {
    using namespace scylla;
    const args::NotYet given{fcinfo};
    const LeaseName name = get_lease_name(given);
    const auto retry_after = args::retry_after(given.retry_after());
    store::Store store = open_for_write("scylla.not_yet()");
    return return_task(fcinfo, store, not_yet(store, name, retry_after), Show::no_spec);
}

SCYLLA_FUNCTION(scylla_defer) {
    using namespace scylla;
    const args::Defer given{fcinfo};
    const LeaseName name = get_lease_name(given);
    const Deferral deferral{.waits = read_wait_for(given.wait_for()), .state = args::document(given.state())};
    store::Store store = open_for_write("scylla.defer()");
    return return_task(fcinfo, store, defer(store, name, deferral), Show::no_spec);
}
