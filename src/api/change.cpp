// reschedule, set_priority, delete_task.
#include "task/change.h"

#include "api/arguments.h"
#include "api/rows.h"
#include "task/open.h"
#include "task/rights.h"
#include "task/rules.h"

SCYLLA_FUNCTION(scylla_reschedule) {
    using namespace scylla;
    const args::Reschedule given{fcinfo};
    const text *rn = args::name(given.rn());
    const auto not_before = args::not_before(given.not_before());
    store::Store store = open_for_write("scylla.reschedule()");
    const Task task = reschedule(store, rn, not_before.value_or(GetCurrentTimestamp()));
    const bool may_view = rights::may(store, task.spec.queue, model::Privilege::view);
    return return_task(fcinfo, store, task, may_view ? Show::all : Show::no_content);
}

SCYLLA_FUNCTION(scylla_set_priority) {
    using namespace scylla;
    const args::SetPriority given{fcinfo};
    const text *rn = args::name(given.rn());
    const int16 priority = args::priority(given.priority());
    store::Store store = open_for_write("scylla.set_priority()");
    const Task task = set_priority(store, rn, priority);
    const bool may_view = rights::may(store, task.spec.queue, model::Privilege::view);
    return return_task(fcinfo, store, task, may_view ? Show::all : Show::no_content);
}

SCYLLA_FUNCTION(scylla_delete_task) {
    using namespace scylla;
    const args::DeleteTask given{fcinfo};
    const text *rn = args::name(given.rn());
    store::Store store = open_for_write("scylla.delete_task()");
    delete_task(store, rn);
    close(store);
    PG_RETURN_VOID();
}
