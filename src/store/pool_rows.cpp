#include "store/pool_rows.h"

#include "store/row_access.h"

namespace scylla::store {

LineRow line_row(const Scan &scan) {
    using namespace line_col;
    slot_getallattrs(scan.slot);
    return {.pool = DatumGetInt64(get(scan, pool)),
            .task_class = DatumGetInt64(get(scan, task_class)),
            .task = DatumGetInt64(get(scan, task)),
            .created = DatumGetTimestampTz(get(scan, created)),
            .queue = DatumGetInt32(get(scan, queue)),
            .priority = DatumGetInt16(get(scan, priority)),
            .needs = get_jsonb(scan, needs),
            .runtime = get_id(scan, runtime),
            .tid = scan.slot->tts_tid};
}

LineHead line_head(const Scan &scan) {
    return {DatumGetInt64(get(scan, line_col::task)), DatumGetInt32(get(scan, line_col::queue))};
}

ReservationRow reservation_row(const Scan &scan) {
    using namespace reservation_col;
    slot_getallattrs(scan.slot);
    return {.task = DatumGetInt64(get(scan, task)),
            .pool = DatumGetInt64(get(scan, pool)),
            .since = DatumGetTimestampTz(get(scan, since)),
            .version = DatumGetInt32(get(scan, version)),
            .ends = get_time(scan, ends),
            .chosen = get_name(scan, chosen),
            .amounts = get_jsonb(scan, amounts),
            .tid = scan.slot->tts_tid};
}

namespace {

std::array<Match, 2> behind_class(int64 pool, int64 after_class) {
    return {{{1, Int64GetDatum(pool), F_INT8EQ}, {2, Int64GetDatum(after_class), F_INT8GT, BTGreaterStrategyNumber}}};
}

std::array<Match, 3> of_class(int64 pool, int64 task_class, int64 after) {
    return {{{1, Int64GetDatum(pool), F_INT8EQ},
             {2, Int64GetDatum(task_class), F_INT8EQ},
             {3, Int64GetDatum(after), F_INT8GT, BTGreaterStrategyNumber}}};
}

Match behind_pool(int64 pool) { return {1, Int64GetDatum(pool), F_INT8GT, BTGreaterStrategyNumber}; }

} // namespace

Scan scan_line(Store &store, int64 pool, int64 after_class) {
    return begin(store[TableId::line], 0, store.snapshot, behind_class(pool, after_class));
}

void restart_line(Scan &scan, int64 pool, int64 after_class) { restart(scan, behind_class(pool, after_class)); }

Scan scan_class(Store &store, int64 pool, int64 task_class, int64 after) {
    return begin(store[TableId::line], 0, store.snapshot, of_class(pool, task_class, after));
}

void restart_class(Scan &scan, int64 pool, int64 task_class, int64 after) {
    restart(scan, of_class(pool, task_class, after));
}

Scan scan_lines(Store &store, int64 after_pool) {
    const Match match[] = {behind_pool(after_pool)};
    return begin(store[TableId::line], 0, store.snapshot, match);
}

void restart_lines(Scan &scan, int64 after_pool) {
    const Match match[] = {behind_pool(after_pool)};
    restart(scan, match);
}

Scan scan_lines_of(Store &store, int64 task) {
    const Match match[] = {{1, Int64GetDatum(task), F_INT8EQ}};
    return begin(store[TableId::line], 1, store.snapshot, match);
}

Scan scan_reservations_of(Store &store, int64 task) {
    const Match match[] = {{1, Int64GetDatum(task), F_INT8EQ}};
    return begin(store[TableId::reservation], 0, store.snapshot, match);
}

void insert(Store &store, const LineRow &row) {
    using namespace line_col;
    Values<line_col::k_count> values;
    values.set(pool, Int64GetDatum(row.pool));
    values.set(task_class, Int64GetDatum(row.task_class));
    values.set(task, Int64GetDatum(row.task));
    values.set(created, TimestampTzGetDatum(row.created));
    values.set(queue, Int32GetDatum(row.queue));
    values.set(priority, Int16GetDatum(row.priority));
    values.set_pointer(needs, row.needs);
    values.set_id(runtime, row.runtime);
    insert(store[TableId::line], values.value, values.null);
}

void insert(Store &store, const ReservationRow &row) {
    using namespace reservation_col;
    Values<reservation_col::k_count> values;
    values.set(task, Int64GetDatum(row.task));
    values.set(pool, Int64GetDatum(row.pool));
    values.set(since, TimestampTzGetDatum(row.since));
    values.set(version, Int32GetDatum(row.version));
    values.set_time(ends, row.ends);
    values.set_pointer(chosen, row.chosen);
    values.set_pointer(amounts, row.amounts);
    insert(store[TableId::reservation], values.value, values.null);
}

} // namespace scylla::store
