#include "store/plans.h"

#include "pg/error.h"
#include "pg/text.h"

namespace scylla::store {

std::optional<int64> insert_plan(const text *name, Jsonb *spec, PlanMaker maker) {
    if (maker != PlanMaker::workflow && view(name).starts_with(k_run_prefix))
        error::reserved_plan(name);
    return plans::add({.name = name, .spec = spec, .owner = GetUserNameFromId(GetUserId(), false), .maker = maker});
}

std::optional<PlanRow> hold_plan(const text *name, Hold how) {
    const auto plan = how == Hold::share ? plans::share(name) : plans::hold(name);
    if (!plan)
        return std::nullopt;
    return PlanRow{.id = plan->id,
                   .created = plan->created,
                   .opened = plan->opened,
                   .finished = plan->finished,
                   .cancelled = plan->cancelled,
                   .failed = plan->failed,
                   .owner = plan->owner,
                   .name = plan->name,
                   .maker = plan->maker};
}

} // namespace scylla::store
