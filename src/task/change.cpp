#include "task/change.h"

#include "pg/error.h"
#include "task/gates.h"
#include "task/line.h"
#include "task/moves.h"
#include "task/rights.h"

namespace scylla {

using model::Status;
using store::Store;
using store::TableId;

store::SpecRow require_spec(Store &store, const text *rn, model::Privilege privilege) {
    const auto spec = find_spec(store, rn, store::With::spec);
    if (!spec || !rights::may_act(store, spec->queue, privilege))
        error::no_such_task(rn);
    return *spec;
}

Task reschedule(Store &store, const text *rn, TimestampTz not_before) {
    const TimestampTz now = GetCurrentTimestamp();
    for (;; refresh(store)) {
        const store::SpecRow spec = require_spec(store, rn, model::Privilege::submit);
        const Task task = require_task(store, spec);
        const bool waits_for_time = task.status == Status::waiting && task.due;
        if (task.status != Status::ready && !waits_for_time)
            error::not_reschedulable(rn, model::name(task.status), task.owner, task.carry.attempt);
        if (task.status == Status::ready && not_before <= now)
            return task;
        const TableId table = waits_for_time ? TableId::waiting : TableId::ready;
        if (take(store, table, spec, task.tid, Wait::yes) != store::Taken::ok)
            continue; // a concurrent change came first
        if (not_before <= now)
            return make_startable(store, spec, task.carry, now);
        leave_pools(store, spec); // it is placed anew when it is due
        return make_waiting(store, spec, task.carry, not_before, now);
    }
}

void delete_task(Store &store, const text *rn) {
    for (;; refresh(store)) {
        const store::SpecRow spec = require_spec(store, rn, model::Privilege::admin);
        const Task task = require_task(store, spec);
        if (!model::is_final(task.status))
            error::not_ended(rn, model::name(task.status), task.owner, task.carry.attempt);
        // This waits for who is just making a task depend on it. So only then is it known who does.
        if (take(store, TableId::spec, spec, spec.tid, Wait::yes) != store::Taken::ok)
            continue;
        if (has_live_dependants(store, spec.id))
            error::task_needed(rn);
        if (take(store, TableId::outcome, spec, task.tid, Wait::yes) != store::Taken::ok)
            elog(ERROR, "outcome of task " INT64_FORMAT " was changed while its specification was removed", spec.id);
        leave_plan(store, spec);
        remove_gates(store, spec);
        shmem::count(stat_key(spec.queue), shmem::Count::purged);
        settle_gates(store, GetCurrentTimestamp());
        return;
    }
}

} // namespace scylla
