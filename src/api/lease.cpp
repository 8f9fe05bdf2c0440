// lease, lease_task.
#include "api/lease.h"

#include "api/arguments.h"
#include "api/rows.h"
#include "task/rules.h"

SCYLLA_FUNCTION(scylla_lease) {
    using namespace scylla;
    const LeaseRequest request = get_lease_request(args::Lease{fcinfo});
    Rows rows = begin_rows(fcinfo);
    store::Store store = open_for_write("scylla.lease()");
    lease_tasks(store, request, sink_of(rows));
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_lease_task) {
    using namespace scylla;
    const args::LeaseTask given{fcinfo};
    const TaskLeaseRequest request{args::name(given.rn()), args::name(given.worker()), args::timeout(given.timeout())};
    store::Store store = open_for_write("scylla.lease_task()");
    return return_task(fcinfo, store, lease_task(store, request), Show::all);
}
