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
    error_message,
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

// The member of an object, if it is a text that is not empty.
std::optional<std::string_view> text_member(JsonbContainer *object, std::string_view key) {
    JsonbValue value;
    if (getKeyJsonValueFromContainer(object, key.data(), static_cast<int>(key.size()), &value) == nullptr ||
        value.type != jbvString || value.val.string.len == 0)
        return std::nullopt;
    return std::string_view{value.val.string.val, static_cast<std::size_t>(value.val.string.len)};
}

// What the last error says; null: there is none.
text *message_of(Jsonb *errors) {
    const uint32 count = errors != nullptr ? JB_ROOT_COUNT(errors) : 0;
    const JsonbValue *last = count > 0 ? getIthJsonbValueFromContainer(&errors->root, count - 1) : nullptr;
    if (last == nullptr || last->type != jbvBinary || !JsonContainerIsObject(last->val.binary.data))
        return nullptr;
    const auto message = text_member(last->val.binary.data, "message");
    const auto said = message ? message : text_member(last->val.binary.data, "code");
    return said ? cstring_to_text_with_len(said->data(), static_cast<int>(said->size())) : nullptr;
}

// What the task keeps from run to run. A lease that has not ended, or has ended the task, leaves nothing; but a copy of
// a task that was deferred begins with its state, and has gates.
std::optional<store::MemoRow> memo_of(Store &store, const Task &task) {
    const int32 earlier_leases = task.carry.attempt - (task.leased ? 1 : 0);
    return earlier_leases > 0 || task.spec.gates ? find_memo(store, task.spec.id) : std::nullopt;
}

// A row while it is filled. Columns that nothing sets are null.
struct Row {
    TaskColumns &columns;

    void set(Column column, Datum datum) const {
        columns.value[column] = datum;
        columns.null[column] = false;
    }
    void set_pointer(Column column, const void *pointer) const {
        if (pointer != nullptr)
            set(column, PointerGetDatum(pointer));
    }
    void set_time(Column column, std::optional<TimestampTz> time) const {
        if (time)
            set(column, TimestampTzGetDatum(*time));
    }
    void set_json(Column column, Jsonb *json) const {
        set_pointer(column, json);
        columns.size += json != nullptr ? static_cast<int64>(VARSIZE(json)) : 0;
    }
    void set_array(Column column, Jsonb *array) const { set_json(column, array != nullptr ? array : empty_array()); }
};

// A view of another version has more columns, or less: they are only ever appended.
TaskColumns null_columns(TupleDesc row_type) {
    const auto columns = Max(static_cast<std::size_t>(row_type->natts), static_cast<std::size_t>(known_columns));
    auto *value = static_cast<Datum *>(palloc0(columns * sizeof(Datum)));
    auto *null = static_cast<bool *>(palloc(columns * sizeof(bool)));
    std::fill_n(null, columns, true);
    return {value, null, 0};
}

// What every task has.
void put_common(const Row &row, Store &store, const Task &task) {
    row.set_pointer(rn, task.spec.rn);
    if (const auto &its_queue = queue_of(store, task.spec.queue).row)
        row.set_pointer(queue, its_queue->name);
    row.set(status, store::status_datum(store, task.status));
    row.set(priority, Int32GetDatum(task.spec.priority));
    row.set(progress, Float4GetDatum(task.progress));
    row.set(created, TimestampTzGetDatum(task.spec.created));
    row.set(updated, TimestampTzGetDatum(task.updated));
    row.set_time(not_before, task.due ? task.due : task.spec.not_before);
    if (task.spec.plan)
        row.set_pointer(plan, store::plan_name(store, *task.spec.plan));
    const bool is_placed = task.status == model::Status::ready || task.status == model::Status::running;
    if (task.spec.needs != nullptr && is_placed) // others hold nothing any more, which this call may not see yet
        row.set_pointer(pool, chosen_pool(store, task.spec));
}

void put_runs(const Row &row, const Task &task) {
    row.set_pointer(owner, task.owner);
    row.set_time(deadline, task.deadline);
    row.set(attempt, Int32GetDatum(task.carry.attempt));
    row.set(failures, Int32GetDatum(task.carry.failures));
    if (task.spec.max_attempts)
        row.set(max_attempts, Int32GetDatum(*task.spec.max_attempts));
}

void put_specification(const Row &row, Store &store, const Task &task) {
    row.set_json(spec, shown(task.spec.spec));
    row.set_json(args, task.spec.gates ? results_of_providers(store, task.spec) : empty_array());
}

// The rest of what users put in.
void put_content(const Row &row, const Task &task) {
    Jsonb *shown_errors = shown(task.carry.errors);
    row.set_array(errors, shown_errors);
    row.set_pointer(error_message, message_of(shown_errors));
    row.set_array(history, full_history(task.carry.history, task.owner, task.carry.attempt, task.leased));
    row.set_json(result, shown(task.result));
    row.set_json(metrics, shown(task.metrics));
    row.set_pointer(key, task.spec.key);
}

void put_memo(const Row &row, const std::optional<store::MemoRow> &memo, Show show) {
    row.set(answers, Int64GetDatum(memo ? memo->answers : 0));
    if (!memo)
        return;
    row.set_time(answered, memo->answered);
    if (show != Show::no_content)
        row.set_json(state, shown(memo->state));
}

} // namespace

TaskColumns task_columns(Store &store, const Task &task, Show show, TupleDesc row_type) {
    TaskColumns columns = null_columns(row_type);
    const Row row{columns};
    put_common(row, store, task);
    put_runs(row, task);
    if (show == Show::all)
        put_specification(row, store, task);
    if (show != Show::no_content)
        put_content(row, task);
    put_memo(row, memo_of(store, task), show);
    return columns;
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
