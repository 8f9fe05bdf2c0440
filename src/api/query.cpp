// get_task, list_tasks, has_live_tasks, _history: reads with a fresh snapshot. They write nothing and work on a
// standby.
#include "model/aging.h"
#include "pg/error.h"
#include "pg/growing.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "pg/text.h"
#include "api/arguments.h"
#include "api/rows.h"
#include "task/rules.h"
#include "queue/ready_scan.h"
#include "queue/unknown.h"
#include "task/history.h"
#include "task/results.h"
#include "task/rights.h"
#include "task/task.h"

namespace scylla {

using model::Status;
using store::Store;
using store::TableId;

namespace {

struct Filter {
    std::optional<int32> queue;
    std::optional<Status> status;
    const text *worker; // null: any
    int32 max_tasks;
};

bool owned(const Filter &filter, const text *owner) {
    return filter.worker == nullptr || (owner != nullptr && equal(owner, filter.worker));
}

// before: the number of tasks in the result.
void put_listed(Rows &rows, Store &store, const Task &task, int64 before) {
    if (is_full(rows))
        error::result_too_large(before, settings::result_limit());
    put_task(rows, store, task, Show::all);
}

// The table with the tasks in this status; of tasks in any status, and of ready ones, the table of all tasks.
TableId table_of(std::optional<Status> status) {
    switch (status.value_or(Status::ready)) {
    case Status::ready:
        return TableId::spec;
    case Status::running:
        return TableId::lease;
    case Status::waiting:
        return TableId::waiting;
    default:
        return TableId::outcome;
    }
}

bool wants_queue(Store &store, const Filter &filter, int32 queue) {
    return (!filter.queue || *filter.queue == queue) && rights::may(store, queue, model::Privilege::view);
}

// The task of a row; nothing if the filter does not want it.
template <typename Row>
std::optional<Task> select_task(Store &store, const Filter &filter, const Row &row, const text *owner) {
    if (!owned(filter, owner) || !wants_queue(store, filter, row.queue))
        return std::nullopt;
    const auto spec = find_spec(store, row.id, store::With::spec);
    return spec ? std::optional(task_of(*spec, row)) : std::nullopt;
}

// The same for the row at which a scan of the table stands.
std::optional<Task> select_task(Store &store, const Filter &filter, TableId table, const store::Scan &scan) {
    switch (table) {
    case TableId::lease: {
        const auto row = lease_row(scan);
        return select_task(store, filter, row, row.owner);
    }
    case TableId::waiting:
        return select_task(store, filter, waiting_row(scan), nullptr);
    case TableId::outcome: {
        const auto row = outcome_row(scan);
        return select_task(store, filter, row, row.owner);
    }
    default:
        break;
    }
    auto task = find_task(store, spec_row(scan, store::With::spec));
    if (task && !owned(filter, task->owner))
        task.reset();
    return task;
}

// The next row of a table that may be wanted. Of tasks and outcomes the index tells which ones are not.
bool next_row(Store &store, const Filter &filter, TableId table, store::Scan &scan) {
    if (table == TableId::waiting || table == TableId::lease)
        return next(scan);
    store::Head head;
    while (next_head(scan, &head))
        if ((!filter.status || store::status_datum(store, *filter.status) == head.status) &&
            wants_queue(store, filter, head.queue) && read_row(scan))
            return true;
    return false;
}

// The tasks of one table or, without a status, all: newest first. Not for ready tasks: list_ready() lists those.
void list_newest_first(Store &store, const Filter &filter, Rows &rows) {
    const TableId table = table_of(filter.status);
    store::Scan scan = table == TableId::waiting || table == TableId::lease
                           ? scan_by_id(store, table, BackwardScanDirection)
                           : scan_heads(store, table, PG_INT64_MAX, BackwardScanDirection);
    const RowMemory memory = begin_row_memory();
    for (int32 found = 0; found < filter.max_tasks && next_row(store, filter, table, scan); reset(memory))
        if (const auto task = select_task(store, filter, table, scan)) {
            put_listed(rows, store, *task, found);
            found++;
        }
    end(memory);
    end(scan);
}

// What the order of leasing over several queues needs of a ready task.
struct ListedTask {
    double effective;
    int32 queue;
    int16 priority;
    int64 id;
};

extern "C" int compare_listed(const void *a, const void *b) {
    const auto *left = static_cast<const ListedTask *>(a);
    const auto *right = static_cast<const ListedTask *>(b);
    if (left->effective != right->effective)
        return left->effective > right->effective ? -1 : 1;
    return left->id < right->id ? -1 : left->id > right->id;
}

// The tasks that would be leased first from a queue.
template <typename Use>
void for_first(Store &store, const store::QueueRow &queue, int32 max_tasks, TimestampTz now, Use use) {
    ReadyScan *scan = begin_ready(store, queue.id, queue.aging, now, scylla::Use::no_heads);
    const RowMemory memory = begin_row_memory();
    store::ReadyRow row;
    for (int32 found = 0; found < max_tasks && next_ready(scan, &row); reset(memory))
        if (const auto spec = find_spec(store, row.id, store::With::spec)) {
            use(*spec, row);
            found++;
        }
    end(memory);
    end_ready(scan);
}

// In the order of leasing. Without a queue: the best among the first tasks of each queue.
void list_ready(Store &store, const std::optional<store::QueueRow> &queue, int32 max_tasks, Rows &rows) {
    const TimestampTz now = GetCurrentTimestamp();
    if (queue) {
        int64 found = 0;
        for_first(store, *queue, max_tasks, now, [&](const store::SpecRow &spec, const store::ReadyRow &row) {
            put_listed(rows, store, task_of(spec, row), found++);
        });
        return;
    }
    Growing<ListedTask> listed;
    MemoryContext outer = CurrentMemoryContext;
    store::Scan queues = scan_queues(store);
    while (next(queues)) {
        const store::QueueRow each = queue_row(queues);
        if (!rights::may(store, each.id, model::Privilege::view))
            continue;
        for_first(store, each, max_tasks, now, [&](const store::SpecRow &spec, const store::ReadyRow &row) {
            listed.add({model::effective_priority(row.priority, now - spec.created, each.aging), row.queue,
                        row.priority, row.id},
                       outer);
        });
    }
    end(queues);
    qsort(listed.at, listed.count, sizeof(ListedTask), compare_listed);
    for (std::size_t i = 0; i < listed.count && i < static_cast<std::size_t>(max_tasks); i++) {
        const auto spec = find_spec(store, listed[i].id, store::With::spec);
        const auto ready = find_ready(store, listed[i].queue, listed[i].priority, listed[i].id);
        if (spec && ready)
            put_listed(rows, store, task_of(*spec, *ready), static_cast<int64>(i));
    }
}

// Whether a row of the table belongs to one of the queues.
bool has_row(Store &store, TableId table, std::span<const int32> queues) {
    store::Scan scan = scan_by_id(store, table, ForwardScanDirection);
    bool found = false;
    while (!found && next(scan))
        found = std::find(queues.begin(), queues.end(), store::queue_of(scan, table)) != queues.end();
    end(scan);
    return found;
}

bool has_ready(Store &store, int32 queue) {
    store::Scan scan = scan_ready(store, queue);
    const bool found = next(scan);
    end(scan);
    return found;
}

// Roles that may work on a queue or see its numbers may know whether it is empty.
void require_look(Store &store, const store::QueueRow &queue) {
    if (!rights::may_watch(queue))
        rights::require(store, queue, model::Privilege::work);
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_get_task) {
    using namespace scylla;
    const args::GetTask given{fcinfo};
    text *rn = args::name(given.rn());
    store::Store store = store::open(AccessShareLock);
    const auto spec = find_spec(store, rn, store::With::spec);
    if (!spec || !rights::may(store, spec->queue, model::Privilege::view))
        error::no_such_task(rn);
    return return_task(fcinfo, store, require_task(store, *spec), Show::all);
}

SCYLLA_FUNCTION(scylla_list_tasks) {
    using namespace scylla;
    const args::ListTasks given{fcinfo};
    text *queue_name = args::optional_name(given.queue());
    Filter filter{std::nullopt, given.status() == 0 ? std::nullopt : std::optional(store::status_of(given.status())),
                  args::optional_name(given.worker()), args::max_tasks(given.max_tasks().value_or(100))};
    Rows rows = begin_rows(fcinfo);
    store::Store store = store::open(AccessShareLock);
    const auto queue = queue_name == nullptr ? std::nullopt : find_queue(store, queue_name);
    if (queue)
        filter.queue = queue->id;
    if (queue_name == nullptr || (queue && rights::may(store, queue->id, model::Privilege::view))) {
        if (filter.status != model::Status::ready)
            list_newest_first(store, filter, rows);
        else if (filter.worker == nullptr) // a ready task has no owner
            list_ready(store, queue, filter.max_tasks, rows);
    }
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_has_live_tasks) {
    using namespace scylla;
    const args::HasLiveTasks given{fcinfo};
    const auto names = given.queues().value;
    if (!names)
        error::bad_argument("queues", "null", "It must be an array.");
    store::Store store = store::open(AccessShareLock);
    const auto ids = allocate<int32>(static_cast<std::size_t>(names->size));
    std::size_t count = 0;
    for (std::size_t i = 0; i < ids.size(); i++) {
        const text *name =
            args::name("queues", names->null[i] ? nullptr : DatumGetTextPP(names->value[i]), static_cast<int64>(i + 1));
        if (const auto queue = find_queue(store, name)) {
            require_look(store, *queue);
            ids[count++] = queue->id;
        } else
            tell_unknown_queue(store, name);
    }
    const auto queues = ids.first(count);
    bool found = std::any_of(queues.begin(), queues.end(), [&](int32 queue) { return has_ready(store, queue); });
    if (!queues.empty())
        found =
            found || has_row(store, store::TableId::lease, queues) || has_row(store, store::TableId::waiting, queues);
    close(store);
    PG_RETURN_BOOL(found);
}

// The aggregate _args(results): builds args for the view, as a lease does.
SCYLLA_FUNCTION(scylla_args_add) {
    using namespace scylla;
    MemoryContext memory = nullptr;
    if (AggCheckCallContext(fcinfo, &memory) == 0)
        elog(ERROR, "called outside of an aggregate");
    MemoryContext caller = MemoryContextSwitchTo(memory);
    auto *results = PG_ARGISNULL(0) ? nullptr : reinterpret_cast<Results *>(PG_GETARG_POINTER(0));
    if (results == nullptr) {
        results = static_cast<Results *>(palloc(sizeof(Results)));
        *results = Results{};
    }
    if (!results->too_large)
        add_result(*results, PG_ARGISNULL(1) ? nullptr : PG_GETARG_JSONB_P_COPY(1));
    MemoryContextSwitchTo(caller);
    PG_RETURN_POINTER(results);
}

SCYLLA_FUNCTION(scylla_args_end) {
    using namespace scylla;
    const Results results = PG_ARGISNULL(0) ? Results{} : *reinterpret_cast<Results *>(PG_GETARG_POINTER(0));
    Jsonb *array = to_array(results);
    if (array == nullptr)
        PG_RETURN_NULL();
    PG_RETURN_JSONB_P(array);
}

SCYLLA_FUNCTION(scylla_check_max_tasks) {
    using namespace scylla;
    const args::CheckMaxTasks given{fcinfo};
    args::max_tasks(given.max_tasks().value_or(0));
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_history) {
    using namespace scylla;
    Jsonb *stored = PG_ARGISNULL(0) ? nullptr : PG_GETARG_JSONB_P(0);
    const bool assigned = !PG_ARGISNULL(1) && !PG_ARGISNULL(2) && !PG_ARGISNULL(3);
    if (stored != nullptr && (!JB_ROOT_IS_ARRAY(stored) || JB_ROOT_IS_SCALAR(stored)))
        error::bad_argument("history", error::show(stored), "It must be an array.");
    Jsonb *history =
        assigned ? full_history(stored, PG_GETARG_TEXT_PP(1), PG_GETARG_INT32(2), PG_GETARG_TIMESTAMPTZ(3)) : stored;
    if (history == nullptr)
        return DirectFunctionCall1(jsonb_in, CStringGetDatum("[]"));
    PG_RETURN_JSONB_P(history);
}
