// heartbeat, heartbeat_many: extending leases in place (a HOT update: no index knows what changes).
#include "shmem/pending.h"
#include "api/call.h"
#include "api/rows.h"
#include "task/rules.h"
#include "api/batch.h"
#include "task/held.h"

namespace scylla {

namespace {

Claim extend(store::Store &store, const LeaseName &name, std::optional<float4> progress, std::optional<int64> timeout) {
    return change_held(store, name, [&](const store::SpecRow &, store::LeaseRow &row) {
        const TimestampTz now = GetCurrentTimestamp(); // again, if it had to wait for another change of the lease
        row.deadline = now + timeout.value_or(row.timeout);
        row.updated = now;
        row.progress = progress.value_or(row.progress);
        if (update_lease(store, row) != store::Taken::ok)
            return false;
        shmem::note_time(shmem::Timer::deadline, row.deadline);
        return true;
    });
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_heartbeat) {
    using namespace scylla;
    const LeaseName name{args::name("rn", args::get_text(fcinfo, 0)), args::name("worker", args::get_text(fcinfo, 1)),
                         args::get_int(fcinfo, 4)};
    const auto progress = args::progress(args::get_float(fcinfo, 2));
    const auto timeout = args::timeout("timeout", args::get_interval(fcinfo, 3));
    store::Store store = open_for_write("scylla.heartbeat()");
    const Claim claim = extend(store, name, progress, timeout);
    require_held(name, claim);
    return return_task(fcinfo, store, task_of(*claim.spec, *claim.lease), Show::no_spec);
}

SCYLLA_FUNCTION(scylla_heartbeat_many) {
    using namespace scylla;
    const Batch batch = get_batch(fcinfo, {.rns = 0, .worker = 1, .results = -1, .attempts = 3});
    const auto timeout = args::timeout("timeout", args::get_interval(fcinfo, 2));
    store::Store store = open_for_write("scylla.heartbeat_many()");
    for_each(
        batch,
        [&](BatchItem &item) { settle(item, extend(store, item.name, std::nullopt, timeout), model::Status::running); },
        settle_repeat);
    return return_batch(fcinfo, store, batch);
}
