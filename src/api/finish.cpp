// complete, complete_many, complete_and_lease, abort, fail, backoff.
#include "task/finish.h"

#include "api/batch.h"
#include "api/call.h"
#include "api/lease.h"
#include "api/rows.h"
#include "model/backoff.h"
#include "task/rules.h"

SCYLLA_FUNCTION(scylla_complete) {
    using namespace scylla;
    const LeaseName name = get_lease_name(fcinfo, 4);
    const Outcome outcome{args::document("result", args::get_jsonb(fcinfo, 2)),
                          args::document("metrics", args::get_jsonb(fcinfo, 3))};
    store::Store store = open_for_write("scylla.complete()");
    return return_task(fcinfo, store, complete(store, name, outcome), Show::no_spec);
}

SCYLLA_FUNCTION(scylla_complete_many) {
    using namespace scylla;
    const Batch batch = get_batch(fcinfo, {.rns = 0, .worker = 1, .results = 2, .attempts = 3});
    store::Store store = open_for_write("scylla.complete_many()");
    complete_each(store, batch);
    return return_batch(fcinfo, store, batch);
}

SCYLLA_FUNCTION(scylla_complete_and_lease) {
    using namespace scylla;
    const Batch batch = get_batch(fcinfo, {.rns = 0, .worker = 1, .results = 5, .attempts = 6});
    const LeaseRequest request = get_lease_request(fcinfo, {.queue = 2, .worker = 1, .max_tasks = 3, .timeout = 4});
    store::Store store = open_for_write("scylla.complete_and_lease()");
    if (complete_all(store, batch)) {
        // Tasks that this has made ready can be leased below.
        CommandCounterIncrement();
        refresh(store);
    }
    Rows rows = begin_rows(fcinfo);
    lease_tasks(store, request, sink_of(rows));
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_abort) {
    using namespace scylla;
    const LeaseName name = get_lease_name(fcinfo, 3);
    Jsonb *error = args::error(args::get_jsonb(fcinfo, 2));
    store::Store store = open_for_write("scylla.abort()");
    return return_task(fcinfo, store, abort_task(store, name, error), Show::no_spec);
}

SCYLLA_FUNCTION(scylla_fail) {
    using namespace scylla;
    const LeaseName name = get_lease_name(fcinfo, 4);
    const Failure failure{args::error(args::get_jsonb(fcinfo, 2)), args::retry_after(args::get_interval(fcinfo, 3))};
    store::Store store = open_for_write("scylla.fail()");
    return return_task(fcinfo, store, fail(store, name, failure), Show::no_spec);
}

SCYLLA_FUNCTION(scylla_backoff) {
    using namespace scylla;
    const auto count = args::get_int(fcinfo, 0);
    if (!count || *count < 0)
        error::bad_argument("count", count ? psprintf("%d", *count) : "null", "It must be at least 0.");
    const auto get_delay = [&](int n, const char *argument, int64 by_default) {
        return PG_ARGISNULL(n) ? by_default : args::delay(argument, args::get_interval(fcinfo, n));
    };
    const model::Backoff backoff{get_delay(1, "initial", model::k_second / 10),
                                 args::factor(args::get_float(fcinfo, 2).value_or(1.5)),
                                 get_delay(3, "max", 10 * model::k_second)};
    auto *interval = static_cast<Interval *>(palloc0(sizeof(Interval)));
    interval->time = model::delay(backoff, *count);
    PG_RETURN_INTERVAL_P(interval);
}
