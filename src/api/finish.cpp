// complete, complete_many, complete_and_lease, abort, fail, backoff.
#include "task/finish.h"

#include "api/batch.h"
#include "api/arguments.h"
#include "api/lease.h"
#include "api/rows.h"
#include "model/backoff.h"
#include "task/rules.h"

SCYLLA_FUNCTION(scylla_complete) {
    using namespace scylla;
    const args::Complete given{fcinfo};
    const LeaseName name = get_lease_name(given);
    const Outcome outcome{args::document(given.result()), args::document(given.metrics())};
    store::Store store = open_for_write("scylla.complete()");
    return return_task(fcinfo, store, complete(store, name, outcome), Show::no_spec);
}

SCYLLA_FUNCTION(scylla_complete_many) {
    using namespace scylla;
    const args::CompleteMany given{fcinfo};
    const Batch batch = get_batch(
        {.rns = given.rns(), .worker = given.worker(), .attempts = given.attempts(), .results = given.results()});
    store::Store store = open_for_write("scylla.complete_many()");
    complete_each(store, batch);
    return return_batch(fcinfo, store, batch);
}

SCYLLA_FUNCTION(scylla_complete_and_lease) {
    using namespace scylla;
    const args::CompleteAndLease given{fcinfo};
    const Batch batch = get_batch(
        {.rns = given.rns(), .worker = given.worker(), .attempts = given.attempts(), .results = given.results()});
    const LeaseRequest request = get_lease_request(given);
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
    const args::Abort given{fcinfo};
    const LeaseName name = get_lease_name(given);
    Jsonb *error = args::error(given.error());
    store::Store store = open_for_write("scylla.abort()");
    return return_task(fcinfo, store, abort_task(store, name, error), Show::no_spec);
}

SCYLLA_FUNCTION(scylla_fail) {
    using namespace scylla;
    const args::Fail given{fcinfo};
    const LeaseName name = get_lease_name(given);
    const Failure failure{args::error(given.error()), args::retry_after(given.retry_after())};
    store::Store store = open_for_write("scylla.fail()");
    return return_task(fcinfo, store, fail(store, name, failure), Show::no_spec);
}

SCYLLA_FUNCTION(scylla_backoff) {
    using namespace scylla;
    const args::Backoff given{fcinfo};
    const auto count = given.count().value;
    if (!count || *count < 0)
        error::bad_argument("count", count ? psprintf("%d", *count) : "null", "It must be at least 0.");
    const auto to_delay = [](const args::Named<Interval *> &delay, int64 by_default) {
        return delay.value == nullptr ? by_default : args::delay(delay.name, delay.value);
    };
    const model::Backoff backoff{to_delay(given.initial(), model::k_second / 10),
                                 args::factor(given.factor().value_or(1.5)),
                                 to_delay(given.max(), 10 * model::k_second)};
    auto *interval = static_cast<Interval *>(palloc0(sizeof(Interval)));
    interval->time = model::delay(backoff, *count);
    PG_RETURN_INTERVAL_P(interval);
}
