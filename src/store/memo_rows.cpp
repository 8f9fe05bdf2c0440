#include "store/memo_rows.h"

#include "store/row_access.h"

namespace scylla::store {

namespace {

MemoRow memo_row(const Scan &scan) {
    using namespace memo_col;
    return {.id = DatumGetInt64(get(scan, id)),
            .answers = DatumGetInt64(get(scan, answers)),
            .answered = get_time(scan, answered),
            .state = get_jsonb(scan, state),
            .tid = scan.slot->tts_tid};
}

void remove(Store &store, const MemoRow &row) {
    if (remove(store[TableId::memo], row.tid, store.snapshot, true) != Taken::ok)
        elog(ERROR, "what task " INT64_FORMAT " keeps was changed by somebody who does not hold the task", row.id);
}

} // namespace

std::optional<MemoRow> find_memo(Store &store, int64 id) {
    if (is_empty(store[TableId::memo]))
        return std::nullopt;
    return look_up_id(store, TableId::memo, id, memo_row);
}

void put(Store &store, const MemoRow &row, const std::optional<MemoRow> &old) {
    using namespace memo_col;
    if (old)
        remove(store, *old);
    Values<memo_col::k_count> values;
    values.set(id, Int64GetDatum(row.id));
    values.set(answers, Int64GetDatum(row.answers));
    values.set_time(answered, row.answered);
    values.set_pointer(state, row.state);
    insert(store[TableId::memo], values.value, values.null);
}

void remove_memo(Store &store, int64 id) {
    if (const auto row = find_memo(store, id))
        remove(store, *row);
}

} // namespace scylla::store
