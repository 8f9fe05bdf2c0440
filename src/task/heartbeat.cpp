#include "task/heartbeat.h"

#include "shmem/pending.h"
#include "task/run_limit.h"

namespace scylla {

namespace {

Claim extend(store::Store &store, const LeaseName &name, const Extension &by) {
    return change_held(store, name, [&](const store::SpecRow &, store::LeaseRow &row) {
        const TimestampTz now = GetCurrentTimestamp(); // again, if it had to wait for another change of the lease
        row.deadline = std::min(now + by.timeout.value_or(row.timeout), run_ends(store, run_of(row)));
        row.updated = now;
        row.progress = by.progress.value_or(row.progress);
        if (update_lease(store, row) != store::Taken::ok)
            return false;
        shmem::note_time(shmem::Timer::deadline, row.deadline);
        return true;
    });
}

} // namespace

Task extend_lease(store::Store &store, const LeaseName &name, const Extension &by) {
    const Claim claim = extend(store, name, by);
    require_held(name, claim);
    return task_of(*claim.spec, *claim.lease);
}

void extend_leases(store::Store &store, const Batch &batch, const Extension &by) {
    for_each(
        batch, [&](BatchItem &item) { settle(item, extend(store, item.name, by), model::Status::running); },
        settle_repeat);
}

} // namespace scylla
