// Deduplication keys.
#include "store/row_access.h"

namespace scylla::store {

std::optional<int64> find_dedup_key(Store &store, int32 queue, const text *key) {
    const Match keys[] = {{1, Int32GetDatum(queue), F_INT4EQ}, {2, PointerGetDatum(key), F_TEXTEQ}};
    return look_up(store, TableId::dedup, 0, keys,
                   [](const Scan &scan) { return DatumGetInt64(get(scan, dedup_col::id)); });
}

void remove_dedup_key(Store &store, const SpecRow &row) {
    // With a snapshot of its own: the store's may be older than the task, if a provider's failure ends it.
    Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
    const Match key[] = {{1, Int32GetDatum(row.queue), F_INT4EQ}, {2, PointerGetDatum(row.dedup_key), F_TEXTEQ}};
    Scan scan = begin(store[TableId::dedup], 0, snapshot, key);
    // It is gone where somebody has just taken it over (submit's on_duplicate).
    if (next(scan) && DatumGetInt64(get(scan, dedup_col::id)) == row.id)
        (void)remove(store[TableId::dedup], scan.slot->tts_tid, snapshot, true);
    end(scan);
    UnregisterSnapshot(snapshot);
}

} // namespace scylla::store
