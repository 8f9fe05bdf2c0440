// explain_waiting, explain_run: why a task, or a run of a workflow, does not go on. They write nothing and work on a
// standby.
#include "api/arguments.h"
#include "api/rows.h"
#include "api/run_args.h"
#include "pg/error.h"
#include "queue/reasons.h"
#include "shmem/pending.h"
#include "store/workflow/run_views.h"
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

// Nothing for a task that is running or has ended.
void explain(store::Store &store, const store::SpecRow &spec, TimestampTz now, const ReasonSink &sink) {
    const auto queue = queue_of(store, spec.queue).row; // a copy: the calls below look up other queues
    if (const auto waiting = find_waiting(store, spec.id))
        explain_waiting(store, spec, *waiting, now, sink);
    else if (const auto ready = find_ready(store, spec.queue, spec.priority, spec.id); ready && queue)
        explain_ready(store, {spec, *ready, *queue}, now, sink);
}

// The task of a step.
void explain_task(store::Store &store, int64 id, TimestampTz now, const ReasonSink &sink) {
    const auto spec = find_spec(store, id, store::With::no_spec);
    if (!spec || !rights::may(store, spec->queue, model::Privilege::view)) {
        put(sink, {"its task to end", std::nullopt, std::nullopt, "It is in a queue that you may not view."});
    } else if (const auto lease = find_lease(store, id)) {
        put(sink, {psprintf("task %s to end", text_to_cstring(spec->rn)), lease->leased, std::nullopt,
                   psprintf("Worker \"%s\" runs it: attempt %d, progress %.0f %%, lease until %s.",
                            text_to_cstring(lease->owner), lease->carry.attempt, lease->progress * 100.0,
                            timestamptz_to_str(lease->deadline))});
    } else if (find_outcome(store, id)) {
        put(sink, {"the monitor", std::nullopt, std::nullopt, "Its task has ended. The engine comes to it next."});
    } else {
        explain(store, *spec, now, sink);
    }
}

// A row of explain_run().
struct WaitRow {
    Rows &rows;
    const store::run_views::Wait &of;
};

void put_wait(void *to, const Reason &reason) {
    const auto *row = static_cast<const WaitRow *>(to);
    const auto &of = row->of;
    const auto time = [](std::optional<TimestampTz> value) { return TimestampTzGetDatum(value.value_or(0)); };
    std::array<Datum, 8> values{PointerGetDatum(of.workflow),
                                Int64GetDatum(of.instance),
                                PointerGetDatum(of.step),
                                PointerGetDatum(of.iterations),
                                CStringGetTextDatum(reason.waits_for),
                                time(reason.since),
                                time(reason.until),
                                CStringGetTextDatum(reason.detail)};
    std::array<bool, 8> nulls{false, false,         of.step == nullptr, of.iterations == nullptr,
                              false, !reason.since, !reason.until,      false};
    tuplestore_putvalues(row->rows.store, row->rows.type, values.data(), nulls.data());
}

constexpr int32 k_rows = 100;

// P0002 if the version that the run has has no such step.
void require_step(const text *workflow, int64 instance, const text *step) {
    const int32 version = workflow::require_last(workflow, instance).version;
    const auto definition = workflow::find_version(workflow, version);
    if (!definition || !model::workflow::loops_around(workflow::definition_of(*definition), view(step)))
        error::no_such_step(workflow, version, step);
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
    explain(store, *spec, now, sink);
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_explain_run) {
    using namespace scylla;
    const args::ExplainRun given{fcinfo};
    const int32 max_rows = args::max_tasks(given.max_rows().value_or(k_rows), "max_rows");
    const text *step = given.step() != nullptr ? args::name(given.step()) : nullptr;
    const int64 run = args::require_run(given);
    if (step != nullptr)
        require_step(given.workflow(), args::to_instance(given.instance()), step);
    Rows rows = begin_rows(fcinfo);
    const auto waits = store::run_views::explain({.run = run,
                                                  .role = static_cast<int64>(GetUserId()),
                                                  .step = step,
                                                  .most = max_rows,
                                                  .monitored = shmem::has_monitor()});
    const TimestampTz now = GetCurrentTimestamp();
    store::Store store = store::open(AccessShareLock);
    for (const auto &wait : waits) {
        WaitRow row{rows, wait};
        const ReasonSink sink{put_wait, &row};
        if (wait.task != 0)
            explain_task(store, wait.task, now, sink);
        else
            put(sink, {text_to_cstring(wait.waits_for), wait.since, wait.until, text_to_cstring(wait.detail)});
    }
    close(store);
    return 0;
}
