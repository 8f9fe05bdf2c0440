#include "workflow/triggers.h"

#include "model/workflow/trigger_times.h"

#include "store/workflow/workflows.h"

namespace scylla::workflow {

std::span<Jsonb *const> active_triggers(const text *workflow, TriggerKind kind) {
    const bool by_time = kind == TriggerKind::time;
    return store::workflows::active_triggers(workflow, by_time ? "time_triggers" : "signal_triggers",
                                             by_time ? "time_trigger_disabled" : "signal_trigger_disabled");
}

Interval *grace_of(Jsonb *trigger) {
    const auto seconds = model::workflow::read_trigger_seconds(scalar_member(trigger, "grace"));
    if (!seconds)
        return nullptr;
    auto *grace = static_cast<Interval *>(palloc0(sizeof(Interval)));
    grace->time = *seconds * USECS_PER_SEC;
    return grace;
}

} // namespace scylla::workflow
