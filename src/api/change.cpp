// reschedule, set_priority, delete_task.
#include "task/change.h"

#include "api/call.h"
#include "api/rows.h"
#include "task/open.h"
#include "task/rights.h"
#include "task/rules.h"

SCYLLA_FUNCTION(scylla_reschedule) {
    using namespace scylla;
    const text *rn = args::name("rn", args::get_text(fcinfo, 0));
    const auto not_before = args::not_before(PG_ARGISNULL(1) ? std::nullopt : std::optional(PG_GETARG_TIMESTAMPTZ(1)));
    store::Store store = open_for_write("scylla.reschedule()");
    const Task task = reschedule(store, rn, not_before.value_or(GetCurrentTimestamp()));
    const bool may_view = rights::may(store, task.spec.queue, model::Privilege::view);
    return return_task(fcinfo, store, task, may_view ? Show::all : Show::no_content);
}

SCYLLA_FUNCTION(scylla_set_priority) {
    using namespace scylla;
    const text *rn = args::name("rn", args::get_text(fcinfo, 0));
    const int16 priority = args::priority(args::get_int(fcinfo, 1));
    store::Store store = open_for_write("scylla.set_priority()");
    const Task task = set_priority(store, rn, priority);
    const bool may_view = rights::may(store, task.spec.queue, model::Privilege::view);
    return return_task(fcinfo, store, task, may_view ? Show::all : Show::no_content);
}

SCYLLA_FUNCTION(scylla_delete_task) {
    using namespace scylla;
    const text *rn = args::name("rn", args::get_text(fcinfo, 0));
    store::Store store = open_for_write("scylla.delete_task()");
    delete_task(store, rn);
    close(store);
    PG_RETURN_VOID();
}
