#include "store/row_access.h"

namespace scylla::store {

EventRow event_row(const Scan &scan) {
    using namespace event_col;
    return {.position = DatumGetInt64(get(scan, position)),
            .id = DatumGetInt64(get(scan, id)),
            .time = DatumGetTimestampTz(get(scan, event_col::time)),
            .queue = DatumGetInt32(get(scan, queue)),
            .attempt = DatumGetInt32(get(scan, attempt)),
            .failures = DatumGetInt32(get(scan, failures)),
            .status = status_of(get(scan, event_col::status)),
            .queue_name = get_name(scan, event_col::queue_name),
            .rn = get_name(scan, rn),
            .worker = get_name(scan, worker),
            .tid = scan.slot->tts_tid};
}

Scan scan_events_at(Store &store, int64 position, int64 after) {
    const Match keys[] = {{1, Int64GetDatum(position), F_INT8EQ},
                          {2, Int64GetDatum(after), F_INT8GT, BTGreaterStrategyNumber}};
    return begin(store[TableId::event], 0, store.snapshot, keys);
}

Scan scan_events(Store &store, int64 from) {
    const Match key[] = {{1, Int64GetDatum(from), F_INT8GE, BTGreaterEqualStrategyNumber}};
    return begin(store[TableId::event], 0, store.snapshot, key);
}

void insert(Store &store, const EventRow &row) {
    using namespace event_col;
    Values<event_col::k_count> values;
    values.set(position, Int64GetDatum(row.position));
    values.set(id, Int64GetDatum(row.id));
    values.set(event_col::time, TimestampTzGetDatum(row.time));
    values.set(queue, Int32GetDatum(row.queue));
    values.set(attempt, Int32GetDatum(row.attempt));
    values.set(failures, Int32GetDatum(row.failures));
    values.set(event_col::status, status_datum(store, row.status));
    values.set_pointer(event_col::queue_name, row.queue_name);
    values.set_pointer(rn, row.rn);
    values.set_pointer(worker, row.worker);
    insert(store[TableId::event], values.value, values.null);
}

} // namespace scylla::store
