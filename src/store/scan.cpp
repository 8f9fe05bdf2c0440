// Reading the tables: by an index, whole, or a row by its place.
#include "store/table.h"

namespace scylla::store {

namespace {

Scan make_scan(Table &table, std::size_t index, Snapshot snapshot, std::size_t matches, ScanDirection direction) {
    return {.by_index = compat::index_beginscan(table.rel, index_of(table, index), snapshot, static_cast<int>(matches)),
            .whole = nullptr,
            .slot = MakeSingleTupleTableSlot(RelationGetDescr(table.rel), &TTSOpsBufferHeapTuple),
            .direction = direction,
            .context = CurrentMemoryContext,
            .prunes = table.id == TableId::queue || table.id == TableId::plan,
            .dead = 0};
}

IndexFetchHeapData *page_of(const Scan &scan) {
    return reinterpret_cast<IndexFetchHeapData *>(scan.by_index->xs_heapfetch);
}

} // namespace

void restart(Scan &scan, std::span<const Match> matches) {
    std::array<ScanKeyData, 4> scan_keys;
    for (std::size_t k = 0; k < matches.size(); k++)
        ScanKeyEntryInitialize(&scan_keys[k], 0, matches[k].column, matches[k].strategy, InvalidOid,
                               scan.by_index->indexRelation->rd_indcollation[matches[k].column - 1],
                               matches[k].comparison, matches[k].value);
    index_rescan(scan.by_index, scan_keys.data(), static_cast<int>(matches.size()), nullptr, 0);
}

void release_row(Scan &scan) {
    ExecClearTuple(scan.slot);
    compat::unpin_page(page_of(scan));
}

Scan begin(Table &table, std::size_t index, Snapshot snapshot, std::span<const Match> matches,
           ScanDirection direction) {
    Scan scan = make_scan(table, index, snapshot, matches.size(), direction);
    restart(scan, matches);
    return scan;
}

Scan begin_index_only(Table &table, std::size_t index, Snapshot snapshot, std::span<const Match> matches,
                      ScanDirection direction) {
    Scan scan = make_scan(table, index, snapshot, matches.size(), direction);
    scan.by_index->xs_want_itup = true;
    restart(scan, matches);
    return scan;
}

bool skip_to_entry(Scan &scan) {
    CHECK_FOR_INTERRUPTS();
    MemoryContext caller = MemoryContextSwitchTo(scan.context);
    const bool found = index_getnext_tid(scan.by_index, scan.direction) != nullptr;
    MemoryContextSwitchTo(caller);
    return found;
}

Found next_entry(Scan &scan) {
    if (!skip_to_entry(scan))
        return Found::end;
    MemoryContext caller = MemoryContextSwitchTo(scan.context);
    const bool found = index_fetch_heap(scan.by_index, scan.slot);
    MemoryContextSwitchTo(caller);
    return found ? Found::row : Found::dead;
}

Datum entry_column(const Scan &scan, int column) {
    bool null = false;
    return index_getattr(scan.by_index->xs_itup, column, scan.by_index->xs_itupdesc, &null);
}

Scan begin_whole(Table &table, Snapshot snapshot) {
    return {.by_index = nullptr,
            .whole = compat::table_beginscan(table.rel, snapshot),
            .slot = MakeSingleTupleTableSlot(RelationGetDescr(table.rel), &TTSOpsBufferHeapTuple),
            .direction = ForwardScanDirection,
            .context = CurrentMemoryContext,
            .prunes = true,
            .dead = 0};
}

namespace {

// What index_fetch_heap() does, without clearing the page of dead versions on the way.
bool fetch_unpruned(Scan &scan) {
    IndexScanDesc index = scan.by_index;
    auto *slot = reinterpret_cast<BufferHeapTupleTableSlot *>(scan.slot);
    ItemPointerData tid = index->xs_heaptid;
    // Row after row is on the same page: it stays pinned, as there.
    Buffer buffer = compat::pin_page(page_of(scan), ItemPointerGetBlockNumber(&tid));
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    bool all_dead = false;
    const bool found = heap_hot_search_buffer(&tid, index->heapRelation, buffer, index->xs_snapshot,
                                              &slot->base.tupdata, &all_dead, true);
    LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
    if (found) {
        pgstat_count_heap_fetch(index->indexRelation);
        ExecStoreBufferHeapTuple(&slot->base.tupdata, scan.slot, buffer);
    }
    if (!index->xactStartedInRecovery)
        index->kill_prior_tuple = all_dead;
    return found;
}

bool fetch_row(Scan &scan) { return scan.prunes ? index_fetch_heap(scan.by_index, scan.slot) : fetch_unpruned(scan); }

// What index_getnext_slot() does, counting the dead entries.
bool next_by_index(Scan &scan) {
    while (index_getnext_tid(scan.by_index, scan.direction) != nullptr) {
        if (fetch_row(scan))
            return true;
        scan.dead++;
        CHECK_FOR_INTERRUPTS();
    }
    return false;
}

} // namespace

bool read_row(Scan &scan) {
    MemoryContext caller = MemoryContextSwitchTo(scan.context);
    const bool found = fetch_row(scan);
    MemoryContextSwitchTo(caller);
    return found;
}

bool next(Scan &scan) {
    CHECK_FOR_INTERRUPTS();
    MemoryContext caller = MemoryContextSwitchTo(scan.context);
    const bool found =
        scan.by_index != nullptr ? next_by_index(scan) : table_scan_getnextslot(scan.whole, scan.direction, scan.slot);
    MemoryContextSwitchTo(caller);
    return found;
}

void end(Scan &scan) {
    ExecDropSingleTupleTableSlot(scan.slot);
    if (scan.by_index != nullptr)
        index_endscan(scan.by_index);
    else
        table_endscan(scan.whole);
}

namespace {

// Whether the table has the page. An open table cannot be truncated, so the size that this process once found, or was
// told since, is enough; a system call for every row is not needed.
bool has_page(const Table &table, const ItemPointerData &tid) {
    const BlockNumber block = ItemPointerGetBlockNumber(&tid);
    const BlockNumber known = RelationGetSmgr(table.rel)->smgr_cached_nblocks[MAIN_FORKNUM];
    return (known != InvalidBlockNumber && block < known) || block < RelationGetNumberOfBlocks(table.rel);
}

} // namespace

bool is_empty(const Table &table) { return RelationGetNumberOfBlocks(table.rel) == 0; }

bool fetch(Table &table, const ItemPointerData &tid, Snapshot snapshot, TupleTableSlot *slot) {
    // Somebody may have let vacuum shorten the table.
    if (!has_page(table, tid))
        return false;
    ItemPointerData where = tid;
    return table_tuple_fetch_row_version(table.rel, &where, snapshot, slot);
}

} // namespace scylla::store
