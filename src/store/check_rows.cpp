#include "store/check_rows.h"

#include "store/row_access.h"

namespace scylla::store {

CheckRow check_row(const Scan &scan) {
    using namespace check_col;
    return {
        .id = DatumGetInt64(get(scan, id)), .digest = DatumGetByteaPCopy(get(scan, digest)), .tid = scan.slot->tts_tid};
}

int64 check_id(const Scan &scan) { return DatumGetInt64(get(scan, check_col::id)); }

std::optional<CheckRow> find_check(Store &store, int64 id) { return look_up_id(store, TableId::check, id, check_row); }

Scan scan_checks_after(Store &store, int64 after) {
    const Match key[] = {{1, Int64GetDatum(after), F_INT8GT, BTGreaterStrategyNumber}};
    return begin(store[TableId::check], 0, store.snapshot, key);
}

void insert(Store &store, const CheckRow &row) {
    using namespace check_col;
    Values<check_col::k_count> values;
    values.set(id, Int64GetDatum(row.id));
    values.set(digest, PointerGetDatum(row.digest));
    insert(store[TableId::check], values.value, values.null);
}

Taken remove_check(Store &store, int64 id, Waiting waiting) {
    const auto row = find_check(store, id);
    if (!row)
        return Taken::ok;
    const Taken taken = remove(store[TableId::check], row->tid, store.snapshot, waiting == Waiting::yes);
    return taken == Taken::gone ? Taken::ok : taken;
}

} // namespace scylla::store
