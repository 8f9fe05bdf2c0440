// work.
#include "server/handlers.h"

#include "api/arguments.h"
#include "api/wait.h"
#include "pg/clock.h"
#include "pg/error.h"
#include "queue/wait.h"
#include "task/open.h"
#include "task/rights.h"
#include "task/rules.h"

namespace {

using namespace scylla;

// Raises an error if the current user may not work on the queue by its handler.
void require_handler(const text *name) {
    store::Store store = open_for_write("scylla.work()");
    const store::QueueRow queue = rights::require_queue(store, name, model::Privilege::work);
    if (queue.handler == nullptr)
        error::no_handler(name);
    close(store);
}

} // namespace

SCYLLA_FUNCTION(scylla_work) {
    const scylla::args::Work given{fcinfo};
    TupleDesc type = one_result(fcinfo);
    text *queue = args::name(given.queue());
    const auto max_tasks = given.max_tasks().value;
    if (max_tasks && *max_tasks < 1)
        error::bad_argument("max_tasks", psprintf("%d", *max_tasks), "It must be at least 1.");
    const int64 timeout = args::wait_time("timeout", given.timeout()).value_or(0);
    require_outside_transaction(fcinfo, "scylla.work()");
    require_handler(queue);

    SPI_connect_ext(SPI_OPT_NONATOMIC);
    handlers::Worker worker = handlers::make_worker({SPI_commit, [] {}});
    const int64 most = max_tasks ? int64{*max_tasks} : PG_INT64_MAX;
    int64 count = 0;
    bool is_there = true;
    while (count < most && is_there) {
        count += run_tasks(worker, queue, most - count);
        is_there = count < most && timeout > 0 && wait_for_task({&queue, 1}, {timeout, "scylla.work()"}).has_value();
    }
    SPI_finish();
    return return_one(type, Int64GetDatum(count), false);
}
