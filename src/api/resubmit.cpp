// resubmit, resubmit_many, dead_tasks, rerun_plan.
#include "task/resubmit.h"

#include "api/call.h"
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

model::Status get_final_status(FunctionCallInfo fcinfo, int n) {
    if (PG_ARGISNULL(n))
        return model::Status::aborted;
    const model::Status status = store::status_of(PG_GETARG_DATUM(n));
    if (!model::is_final(status))
        error::bad_argument("status", model::name(status), "It must be \"aborted\", \"cancelled\" or \"completed\".");
    return status;
}

std::optional<TimestampTz> get_time(FunctionCallInfo fcinfo, int n) {
    return PG_ARGISNULL(n) ? std::nullopt : std::optional(PG_GETARG_TIMESTAMPTZ(n));
}

const char *get_code(FunctionCallInfo fcinfo, int n) {
    const text *code = args::get_text(fcinfo, n);
    return code == nullptr ? nullptr : text_to_cstring(code);
}

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
    const text *rn = args::name("rn", args::get_text(fcinfo, 0));
    text *new_rn = args::optional_name("new_rn", args::get_text(fcinfo, 1));
    store::Store store = open_for_write("scylla.resubmit()");
    const Task task = resubmit(store, rn, new_rn);
    const bool may_view = rights::may(store, task.spec.queue, model::Privilege::view);
    return return_task(fcinfo, store, task, may_view ? Show::all : Show::no_content);
}

SCYLLA_FUNCTION(scylla_resubmit_many) {
    using namespace scylla;
    const text *name = args::name("queue", args::get_text(fcinfo, 0));
    EndedFilter filter{.queue = {},
                       .status = get_final_status(fcinfo, 1),
                       .code = get_code(fcinfo, 2),
                       .after = get_time(fcinfo, 3),
                       .before = get_time(fcinfo, 4),
                       .max_tasks = args::max_tasks(args::get_int(fcinfo, 5).value_or(1000))};
    const bool preview = args::get_bool(fcinfo, 6).value_or(false);
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
    const text *name = PG_ARGISNULL(0) ? nullptr : args::name("queue", args::get_text(fcinfo, 0));
    EndedFilter filter{.queue = {},
                       .status = model::Status::aborted,
                       .code = get_code(fcinfo, 1),
                       .max_tasks = args::max_tasks(args::get_int(fcinfo, 2).value_or(100))};
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
    const text *name = args::name("plan", args::get_text(fcinfo, 0));
    const bool only_failed = args::get_bool(fcinfo, 1).value_or(false);
    text *new_name = args::optional_name("new_plan", args::get_text(fcinfo, 2));
    store::Store store = open_for_write("scylla.rerun_plan()");
    new_name = rerun_plan(store, {.plan = name, .only_failed = only_failed, .new_name = new_name});
    close(store);
    PG_RETURN_TEXT_P(new_name);
}
