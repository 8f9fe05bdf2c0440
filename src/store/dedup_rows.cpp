// Deduplication keys.
#include "pg/memory.h"
#include "pg/text.h"
#include "store/row_access.h"

namespace scylla::store {

namespace {

struct DedupRow {
    int64 id;
    std::optional<TimestampTz> until;
    ItemPointerData tid;
};

DedupRow dedup_row(const Scan &scan) {
    slot_getallattrs(scan.slot);
    return {DatumGetInt64(get(scan, dedup_col::id)), get_time(scan, dedup_col::until), scan.slot->tts_tid};
}

std::optional<DedupRow> find_row(Store &store, int32 queue, const text *key) {
    const Match keys[] = {{1, Int32GetDatum(queue), F_INT4EQ}, {2, PointerGetDatum(key), F_TEXTEQ}};
    return look_up(store, TableId::dedup, 0, keys, dedup_row);
}

bool is_over(const DedupRow &row) { return !row.until || *row.until <= GetCurrentTimestamp(); }

// Nothing: its task has ended, and does not keep the key. A task that does not exist is being restored.
std::optional<KeyHolder> holder(Store &store, const DedupRow &row) {
    const auto outcome = find_outcome(store, row.id);
    if (outcome && (outcome->status != model::Status::completed || is_over(row)))
        return std::nullopt;
    return KeyHolder{row.id, row.until, outcome.has_value()};
}

// What becomes of the row of a task, with a snapshot of its own: the store's may be older than the task, if a
// provider's failure ends it. ok also if it is gone: another task has taken the key over (submit's on_duplicate).
template <typename Wanted> Taken remove_row(Store &store, const SpecRow &row, bool wait, Wanted wanted) {
    Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
    const Match key[] = {{1, Int32GetDatum(row.queue), F_INT4EQ}, {2, PointerGetDatum(row.dedup_key), F_TEXTEQ}};
    Scan scan = begin(store[TableId::dedup], 0, snapshot, key);
    Taken taken = Taken::ok;
    if (next(scan)) {
        const DedupRow found = dedup_row(scan);
        if (found.id == row.id && wanted(found))
            taken = remove(store[TableId::dedup], found.tid, snapshot, wait);
    }
    end(scan);
    UnregisterSnapshot(snapshot);
    return taken;
}

} // namespace

std::optional<KeyHolder> find_dedup_key(Store &store, int32 queue, const text *key) {
    const auto row = find_row(store, queue, key);
    return row ? holder(store, *row) : std::nullopt;
}

bool keeps_dedup_key(Store &store, const SpecRow &row) {
    if (row.dedup_key == nullptr)
        return false;
    const auto found = find_dedup_key(store, row.queue, row.dedup_key);
    return found && found->id == row.id;
}

bool remove_dedup_key(Store &store, const SpecRow &row, bool wait) {
    return remove_row(store, row, wait, [](const DedupRow &) { return true; }) != Taken::busy;
}

void end_dedup_key(Store &store, const SpecRow &row, bool completed) {
    (void)remove_row(store, row, false, [&](const DedupRow &found) { return !completed || is_over(found); });
}

void remove_free_dedup_keys(Store &store, std::span<const SpecRow> rows) {
    const auto order = allocate<std::size_t>(rows.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < rows.size(); i++) {
        const auto row = find_row(store, rows[i].queue, rows[i].dedup_key);
        if (row && !holder(store, *row))
            order[count++] = i;
    }
    std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), [&](std::size_t a, std::size_t b) {
        return rows[a].queue != rows[b].queue ? rows[a].queue < rows[b].queue
                                              : view(rows[a].dedup_key) < view(rows[b].dedup_key);
    });
    for (const std::size_t i : order.first(count))
        if (const auto row = find_row(store, rows[i].queue, rows[i].dedup_key))
            (void)remove(store[TableId::dedup], row->tid, store.snapshot, true);
    if (count > 0)
        CommandCounterIncrement();
}

} // namespace scylla::store
