// What few tasks keep from run to run. Written only by the transaction that has taken the row of the task's state.
#pragma once

#include "store/rows.h"

namespace scylla::store {

struct MemoRow {
    int64 id;
    int64 answers = 0; // "not yet"
    std::optional<TimestampTz> answered = {};
    Jsonb *state = nullptr; // may be null
    ItemPointerData tid = {};
};

std::optional<MemoRow> find_memo(Store &store, int64 id);
// Instead of the one that was found, if there was one.
void put(Store &store, const MemoRow &row, const std::optional<MemoRow> &old);
void remove_memo(Store &store, int64 id);

} // namespace scylla::store
