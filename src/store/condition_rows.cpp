#include "store/condition_rows.h"

#include "store/row_access.h"

namespace scylla::store {

ConditionEndRow condition_end_row(const Scan &scan) {
    using namespace condition_end_col;
    return {.id = DatumGetInt64(get(scan, id)),
            .ended = DatumGetTimestampTz(get(scan, ended)),
            .failed = DatumGetBool(get(scan, failed)),
            .value = get_jsonb(scan, value),
            .tid = scan.slot->tts_tid};
}

bool condition_has_failed(const Scan &scan) { return DatumGetBool(get(scan, condition_end_col::failed)); }

SignalConditionRow signal_condition_row(const Scan &scan) {
    using namespace signal_condition_col;
    return {.id = DatumGetInt64(get(scan, id)),
            .digest = DatumGetInt64(get(scan, digest)),
            .created = DatumGetTimestampTz(get(scan, created)),
            .since = get_time(scan, since),
            .name = get_name(scan, name),
            .bound = get_name(scan, bound),
            .match = get_jsonb(scan, match),
            .of_step = DatumGetBool(get(scan, of_step)),
            .tid = scan.slot->tts_tid};
}

std::optional<int64> id_for_gates(const Scan &scan) {
    using namespace signal_condition_col;
    return DatumGetBool(get(scan, of_step)) ? std::nullopt : std::optional(DatumGetInt64(get(scan, id)));
}

SignalShapeRow signal_shape_row(const Scan &scan) {
    using namespace signal_shape_col;
    return {.id = DatumGetInt64(get(scan, id)),
            .name = get_name(scan, name),
            .shape = get_jsonb(scan, shape),
            .tid = scan.slot->tts_tid};
}

std::optional<ConditionEndRow> find_condition_end(Store &store, int64 id) {
    return look_up_id(store, TableId::condition_end, id, condition_end_row);
}

std::optional<SignalConditionRow> find_signal_condition(Store &store, int64 id) {
    return look_up_id(store, TableId::signal_condition, id, signal_condition_row);
}

Scan scan_signal_conditions_after(Store &store, int64 after) {
    const Match key[] = {{1, Int64GetDatum(after), F_INT8GT, BTGreaterStrategyNumber}};
    return begin(store[TableId::signal_condition], 0, store.snapshot, key);
}

void insert(Store &store, const ConditionEndRow &row) {
    using namespace condition_end_col;
    Values<condition_end_col::k_count> values;
    values.set(id, Int64GetDatum(row.id));
    values.set(ended, TimestampTzGetDatum(row.ended));
    values.set(failed, BoolGetDatum(row.failed));
    values.set_pointer(value, row.value);
    insert(store[TableId::condition_end], values.value, values.null);
}

void insert(Store &store, const SignalConditionRow &row) {
    using namespace signal_condition_col;
    Values<signal_condition_col::k_count> values;
    values.set(id, Int64GetDatum(row.id));
    values.set(digest, Int64GetDatum(row.digest));
    values.set(created, TimestampTzGetDatum(row.created));
    values.set_time(since, row.since);
    values.set_pointer(name, row.name);
    values.set_pointer(bound, row.bound);
    values.set_pointer(match, row.match);
    values.set(of_step, BoolGetDatum(row.of_step));
    insert(store[TableId::signal_condition], values.value, values.null);
}

void insert(Store &store, const SignalShapeRow &row) {
    using namespace signal_shape_col;
    Values<signal_shape_col::k_count> values;
    values.set(id, Int64GetDatum(row.id));
    values.set_pointer(name, row.name);
    values.set_pointer(shape, row.shape);
    insert(store[TableId::signal_shape], values.value, values.null);
}

} // namespace scylla::store
