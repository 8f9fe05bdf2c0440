#include "task/columns.h"

#include "model/bounds.h"
#include "pg/json_text.h"
#include "store/memo_rows.h"
#include "task/gates.h"
#include "task/history.h"
#include "task/line.h"
#include "task/results.h"

namespace scylla {

using store::Store;

namespace {

// Columns of scylla.task, 0-based.
enum Column : std::size_t {
    rn,
    queue,
    spec,
    status,
    priority,
    progress,
    created,
    updated,
    owner,
    deadline,
    errors,
    history,
    result,
    metrics,
    args,
    attempt,
    failures,
    max_attempts,
    not_before,
    plan,
    key,
    pool,
    state,
    answers,
    answered,
    known_columns
};

// One for the life of the process.
Jsonb *empty_array() {
    static constinit Jsonb *array = nullptr;
    if (array == nullptr) {
        MemoryContext caller = MemoryContextSwitchTo(TopMemoryContext);
        array = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("[]")));
        MemoryContextSwitchTo(caller);
    }
    return array;
}

// What the tasks that this one depends on have given, in the order in which they were declared; null if it is too much
// for one value. That must not be an error: the task would stand in the way of every lease of its queue.
Jsonb *results_of_providers(Store &store, const store::SpecRow &spec_row) {
    Results results;
    store::Scan scan = scan_gates(store, spec_row.id);
    while (next(scan)) {
        const store::GateRow gate = gate_row(scan);
        if (gate.kind != store::GateKind::plan && gate.kind != store::GateKind::pool && !results.too_large)
            add_result(results, value_of(store, gate));
    }
    end(scan);
    return results.values.count == 0 && !results.too_large ? empty_array() : to_array(results);
}

// Version 0.1 accepted values whose text is too large to be sent. They are not shown, so that they block no other task.
Jsonb *shown(Jsonb *value) {
    return value != nullptr && text_is_larger(value, model::k_max_sent_bytes) ? nullptr : value;
}

// What the task keeps from run to run. A lease that has not ended, or has ended the task, leaves nothing; but a copy of
// a task that was deferred begins with its state, and has gates.
std::optional<store::MemoRow> memo_of(Store &store, const Task &task) {
    const int32 earlier_leases = task.carry.attempt - (task.leased ? 1 : 0);
    return earlier_leases > 0 || task.spec.gates ? find_memo(store, task.spec.id) : std::nullopt;
}

} // namespace

TaskColumns task_columns(Store &store, const Task &task, Show show, TupleDesc row_type) {
    // A view of another version has more columns, or less: they are only ever appended.
    const auto columns = Max(static_cast<std::size_t>(row_type->natts), static_cast<std::size_t>(known_columns));
    auto *value = static_cast<Datum *>(palloc0(columns * sizeof(Datum)));
    auto *null = static_cast<bool *>(palloc(columns * sizeof(bool)));
    std::fill_n(null, columns, true);
    const auto set = [&](Column column, Datum datum) {
        value[column] = datum;
        null[column] = false;
    };
    const auto set_pointer = [&](Column column, const void *pointer) {
        if (pointer != nullptr)
            set(column, PointerGetDatum(pointer));
    };
    int64 size = 0;
    const auto set_json = [&](Column column, Jsonb *json) {
        set_pointer(column, json);
        size += json != nullptr ? static_cast<int64>(VARSIZE(json)) : 0;
    };
    const auto set_array = [&](Column column, Jsonb *array) {
        set_json(column, array != nullptr ? array : empty_array());
    };

    set_pointer(rn, task.spec.rn);
    if (const auto &its_queue = queue_of(store, task.spec.queue).row)
        set_pointer(queue, its_queue->name);
    if (show == Show::all) {
        set_json(spec, shown(task.spec.spec));
        set_json(args, task.spec.gates ? results_of_providers(store, task.spec) : empty_array());
    }
    set(status, store::status_datum(store, task.status));
    set(priority, Int32GetDatum(task.spec.priority));
    set(progress, Float4GetDatum(task.progress));
    set(created, TimestampTzGetDatum(task.spec.created));
    set(updated, TimestampTzGetDatum(task.updated));
    set_pointer(owner, task.owner);
    if (task.deadline)
        set(deadline, TimestampTzGetDatum(*task.deadline));
    if (show != Show::no_content) {
        set_array(errors, shown(task.carry.errors));
        set_array(history, full_history(task.carry.history, task.owner, task.carry.attempt, task.leased));
        set_json(result, shown(task.result));
        set_json(metrics, shown(task.metrics));
        set_pointer(key, task.spec.key);
    }
    set(attempt, Int32GetDatum(task.carry.attempt));
    set(failures, Int32GetDatum(task.carry.failures));
    if (task.spec.max_attempts)
        set(max_attempts, Int32GetDatum(*task.spec.max_attempts));
    const auto memo = memo_of(store, task);
    if (memo && show != Show::no_content)
        set_json(state, shown(memo->state));
    if (memo && memo->answered)
        set(answered, TimestampTzGetDatum(*memo->answered));
    set(answers, Int64GetDatum(memo ? memo->answers : 0));
    const auto opens = task.due ? task.due : task.spec.not_before;
    if (opens)
        set(not_before, TimestampTzGetDatum(*opens));
    const bool is_placed = task.status == model::Status::ready || task.status == model::Status::running;
    if (task.spec.needs != nullptr && is_placed) // others hold nothing any more, which this call may not see yet
        set_pointer(pool, chosen_pool(store, task.spec));
    if (task.spec.plan)
        set_pointer(plan, store::plan_name(store, *task.spec.plan));
    return {value, null, size};
}

Datum task_value(Store &store, const Task &task, Show show) {
    TupleDesc row_type = lookup_rowtype_tupdesc(store::task_type(), -1);
    const TaskColumns columns = task_columns(store, task, show, row_type);
    HeapTuple tuple = heap_form_tuple(row_type, columns.value, columns.null);
    const Datum value = heap_copy_tuple_as_datum(tuple, row_type);
    ReleaseTupleDesc(row_type);
    return value;
}

} // namespace scylla
