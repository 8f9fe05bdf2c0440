// explain_waiting: why a task does not run. It writes nothing and works on a standby.
#include "api/arguments.h"
#include "api/rows.h"
#include "pg/error.h"
#include "queue/reasons.h"
#include "task/gates.h"
#include "task/rights.h"
#include "task/rules.h"

namespace scylla {

namespace {

struct ReasonRows {
    Rows rows;
    int32 count;
};

void put_reason(void *to, const Reason &reason) {
    auto *all = static_cast<ReasonRows *>(to);
    const auto time = [](std::optional<TimestampTz> value) { return TimestampTzGetDatum(value.value_or(0)); };
    std::array<Datum, 5> values{Int32GetDatum(++all->count), CStringGetTextDatum(reason.waits_for), time(reason.since),
                                time(reason.until), CStringGetTextDatum(reason.detail)};
    std::array<bool, 5> nulls{false, false, !reason.since, !reason.until, false};
    tuplestore_putvalues(all->rows.store, all->rows.type, values.data(), nulls.data());
}

void put_label(void *to, int64 provider, const char *label) {
    std::array<Datum, 2> values{Int64GetDatum(provider), CStringGetTextDatum(label)};
    std::array<bool, 2> nulls{};
    const auto *rows = static_cast<const Rows *>(to);
    tuplestore_putvalues(rows->store, rows->type, values.data(), nulls.data());
}

} // namespace
} // namespace scylla

// For pictures of plans: no rows for a task that the current user may not view, or that does not wait any more.
SCYLLA_FUNCTION(scylla_plan_waits) {
    using namespace scylla;
    const args::PlanWaits given{fcinfo};
    const text *rn = given.rn();
    Rows rows = begin_rows(fcinfo);
    store::Store store = store::open(AccessShareLock);
    const auto spec = rn != nullptr ? find_spec(store, rn, store::With::no_spec) : std::nullopt;
    const bool is_visible = spec && rights::may(store, spec->queue, model::Privilege::view);
    if (const auto waiting = is_visible ? find_waiting(store, spec->id) : std::nullopt)
        label_waits(store, *spec, *waiting, GetCurrentTimestamp(), {put_label, &rows});
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_explain_waiting) {
    using namespace scylla;
    const args::ExplainWaiting given{fcinfo};
    text *rn = args::name(given.rn());
    ReasonRows all{begin_rows(fcinfo), 0};
    const ReasonSink sink{put_reason, &all};
    store::Store store = store::open(AccessShareLock);
    const auto spec = find_spec(store, rn, store::With::no_spec);
    if (!spec || !rights::may(store, spec->queue, model::Privilege::view))
        error::no_such_task(rn);
    const TimestampTz now = GetCurrentTimestamp();
    const auto queue = queue_of(store, spec->queue).row; // a copy: the calls below look up other queues
    if (const auto waiting = find_waiting(store, spec->id))
        explain_waiting(store, *spec, *waiting, now, sink);
    else if (const auto ready = find_ready(store, spec->queue, spec->priority, spec->id); ready && queue)
        explain_ready(store, {*spec, *ready, *queue}, now, sink);
    close(store);
    return 0;
}
