// resubmit, resubmit_many, dead_tasks, rerun_plan.
#include "task/resubmit.h"

#include "api/arguments.h"
#include "api/rows.h"
#include "pg/error.h"
#include "pg/growing.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "plan/rerun.h"
#include "task/open.h"
#include "task/rights.h"
#include "task/rules.h"

namespace scylla {

namespace {

model::Status to_final_status(Datum given) {
    if (given == 0)
        return model::Status::aborted;
    const model::Status status = store::status_of(given);
    if (!model::is_final(status))
        error::bad_argument("status", model::name(status), "It must be \"aborted\", \"cancelled\" or \"completed\".");
    return status;
}

const char *to_code(const text *code) { return code == nullptr ? nullptr : text_to_cstring(code); }

void put(const Rows &rows, const text *rn, const text *new_rn) {
    Datum values[] = {PointerGetDatum(rn), PointerGetDatum(new_rn)};
    bool nulls[] = {false, new_rn == nullptr};
    tuplestore_putvalues(rows.store, rows.type, values, nulls);
}

// The ids of the tasks that are found. They must outlive the rows.
struct Found {
    MemoryContext context;
    Growing<int64> ids;
};

bool keep_id(void *to, store::Store &, const Task &task) {
    auto *found = static_cast<Found *>(to);
    found->ids.add(task.spec.id, found->context);
    return true;
}

// The tasks that the filter finds, oldest first.
std::span<const store::SpecRow> find_specs(store::Store &store, const EndedFilter &filter, store::With with) {
    Found found{.context = CurrentMemoryContext, .ids = {}};
    find_ended(store, filter, ForwardScanDirection, {keep_id, &found});
    const auto specs = allocate<store::SpecRow>(found.ids.count);
    std::size_t count = 0;
    for (const int64 id : found.ids.all())
        if (const auto spec = find_spec(store, id, with))
            specs[count++] = *spec;
    return specs.first(count);
}

struct Listed {
    Rows rows;
    int64 count;
};

bool put_listed(void *to, store::Store &store, const Task &task) {
    auto *listed = static_cast<Listed *>(to);
    if (is_full(listed->rows))
        error::result_too_large(listed->count, settings::result_limit());
    put_task(listed->rows, store, task, Show::all);
    listed->count++;
    return true;
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_resubmit) {
    using namespace scylla;
    const args::Resubmit given{fcinfo};
    const text *rn = args::name(given.rn());
    text *new_rn = args::optional_name(given.new_rn());
    store::Store store = open_for_write("scylla.resubmit()");
    const Task task = resubmit(store, rn, new_rn);
    const bool may_view = rights::may(store, task.spec.queue, model::Privilege::view);
    return return_task(fcinfo, store, task, may_view ? Show::all : Show::no_content);
}

SCYLLA_FUNCTION(scylla_resubmit_many) {
    using namespace scylla;
    const args::ResubmitMany given{fcinfo};
    const text *name = args::name(given.queue());
    EndedFilter filter{.queue = {},
                       .status = to_final_status(given.status()),
                       .code = to_code(given.code()),
                       .after = given.ended_after(),
                       .before = given.ended_before(),
                       .max_tasks = args::max_tasks(given.max_tasks().value_or(1000))};
    const bool preview = given.preview().value_or(false);
    const Rows rows = begin_rows(fcinfo);
    store::Store store = open_for_write("scylla.resubmit_many()");
    const store::QueueRow queue = rights::require_queue(store, name, model::Privilege::submit);
    rights::require(store, queue, model::Privilege::view);
    filter.queue = queue.id;
    const auto specs = find_specs(store, filter, preview ? store::With::no_spec : store::With::spec);
    if (preview)
        for (const store::SpecRow &spec : specs)
            put(rows, spec.rn, nullptr);
    else
        for (const Copy &copy : copy_tasks(store, specs, {}))
            put(rows, copy.rn, copy.new_rn);
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_dead_tasks) {
    using namespace scylla;
    const args::DeadTasks given{fcinfo};
    const text *name = args::optional_name(given.queue());
    EndedFilter filter{.queue = {},
                       .status = model::Status::aborted,
                       .code = to_code(given.code()),
                       .max_tasks = args::max_tasks(given.max_tasks().value_or(100))};
    Listed listed{begin_rows(fcinfo), 0};
    store::Store store = store::open(AccessShareLock);
    const auto queue = name == nullptr ? std::nullopt : find_queue(store, name);
    if (queue)
        filter.queue = queue->id;
    if (name == nullptr || queue)
        find_ended(store, filter, BackwardScanDirection, {put_listed, &listed});
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_rerun_plan) {
    using namespace scylla;
    const args::RerunPlan given{fcinfo};
    const text *name = args::name(given.plan());
    const bool only_failed = given.only_failed().value_or(false);
    text *new_name = args::optional_name(given.new_plan());
    store::Store store = open_for_write("scylla.rerun_plan()");
    new_name = rerun_plan(store, {.plan = name, .only_failed = only_failed, .new_name = new_name});
    close(store);
    PG_RETURN_TEXT_P(new_name);
}
