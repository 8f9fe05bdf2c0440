// create_plan, open_plan, cancel_plan, plan_completed, set_plan_owner.
#include "plan/plans.h"

#include "api/arguments.h"
#include "task/open.h"
#include "task/rules.h"

SCYLLA_FUNCTION(scylla_create_plan) {
    using namespace scylla;
    const args::CreatePlan given{fcinfo};
    text *name = args::optional_name(given.name());
    Jsonb *spec = args::document(given.spec());
    store::Store store = open_for_settings("scylla.create_plan()");
    name = create_plan(name, spec);
    close(store);
    PG_RETURN_TEXT_P(name);
}

SCYLLA_FUNCTION(scylla_open_plan) {
    using namespace scylla;
    const args::OpenPlan given{fcinfo};
    const text *name = args::name(given.plan());
    store::Store store = open_for_write("scylla.open_plan()");
    open_plan(store, name);
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_cancel_plan) {
    using namespace scylla;
    const args::CancelPlan given{fcinfo};
    const text *name = args::name(given.plan());
    store::Store store = open_for_write("scylla.cancel_plan()");
    const int64 cancelled = cancel_plan(store, name);
    close(store);
    PG_RETURN_INT64(cancelled);
}

SCYLLA_FUNCTION(scylla_plan_completed) {
    using namespace scylla;
    const args::PlanCompleted given{fcinfo};
    const text *name = args::name(given.plan());
    store::Store store = store::open(AccessShareLock);
    const store::PlanRow plan = require_plan(store, name);
    close(store);
    PG_RETURN_BOOL(plan.finished && !plan.cancelled && !plan.failed);
}

SCYLLA_FUNCTION(scylla_set_plan_owner) {
    using namespace scylla;
    const args::SetPlanOwner given{fcinfo};
    const text *name = args::name(given.plan());
    const text *owner = args::name(given.owner());
    store::Store store = open_for_write("scylla.set_plan_owner()");
    set_plan_owner(name, owner);
    close(store);
    PG_RETURN_VOID();
}
