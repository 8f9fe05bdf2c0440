// lease, lease_task.
#include "api/lease.h"

#include "api/call.h"
#include "api/rows.h"
#include "task/rules.h"

namespace scylla {

LeaseRequest get_lease_request(FunctionCallInfo fcinfo, LeaseArguments where) {
    return {args::name("queue", args::get_text(fcinfo, where.queue)),
            args::name("worker", args::get_text(fcinfo, where.worker)),
            args::max_tasks(args::get_int(fcinfo, where.max_tasks).value_or(1)),
            args::timeout("timeout", args::get_interval(fcinfo, where.timeout))};
}

} // namespace scylla

SCYLLA_FUNCTION(scylla_lease) {
    using namespace scylla;
    const LeaseRequest request = get_lease_request(fcinfo, {.queue = 0, .worker = 1, .max_tasks = 2, .timeout = 3});
    Rows rows = begin_rows(fcinfo);
    store::Store store = open_for_write("scylla.lease()");
    lease_tasks(store, request, sink_of(rows));
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_lease_task) {
    using namespace scylla;
    const TaskLeaseRequest request{args::name("rn", args::get_text(fcinfo, 0)),
                                   args::name("worker", args::get_text(fcinfo, 1)),
                                   args::timeout("timeout", args::get_interval(fcinfo, 2))};
    store::Store store = open_for_write("scylla.lease_task()");
    return return_task(fcinfo, store, lease_task(store, request), Show::all);
}
