// Writing the tables: inserts one by one and in bulk, removals, new versions, and their index entries.
#include "pg/error.h"
#include "pg/growing.h"
#include "pg/memory.h"
#include "store/hints.h"
#include "store/table.h"

extern "C" {
#include "access/tupdesc_details.h"
}

namespace scylla::store {

namespace {

// An entry of a scattered index.
struct LateEntry {
    std::array<int64, 2> key;
    ItemPointerData tid;
};

// Whether the rows of a batch go all over the index: gates come in the order of their tasks, and their providers are in
// any order. A batch inserts its entries at its end, sorted. Such an index has two columns of int8.
bool is_scattered(const Table &table, std::size_t index) { return table.id == TableId::gate && index == 1; }

} // namespace

struct Bulk {
    MemoryContext context; // of the rows
    std::size_t count;
    std::array<TupleTableSlot *, 128> row; // made when first used
    Growing<LateEntry> late;
};

namespace {

// A heap-only tuple gets entries in summarizing indexes only: an entry in a btree would lead to it past its chain, and
// to whatever row is there once the chain has been pruned.
enum class Entries : bool { all, summarizing };

// Entries in whatever indexes the table has: expressions, predicates and all.
void insert_any_index_entries(Table &table, HeapTuple tuple, Entries entries) {
    EState *estate = CreateExecutorState();
    ResultRelInfo *target = makeNode(ResultRelInfo);
    InitResultRelInfo(target, table.rel, 0, nullptr, 0);
    ExecOpenIndices(target, false);
    TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(table.rel), &TTSOpsHeapTuple);
    ExecStoreHeapTuple(tuple, slot, false);
    slot->tts_tid = tuple->t_self;
    slot->tts_tableOid = RelationGetRelid(table.rel);
    list_free(compat::exec_insert_index_tuples(target, slot, estate, entries == Entries::summarizing));
    ExecDropSingleTupleTableSlot(slot);
    ExecCloseIndices(target);
    FreeExecutorState(estate);
}

// The row is new, or a version of a row whose keys have not changed: then nothing can be a duplicate, and a check would
// walk over all earlier versions that are not vacuumed yet.
enum class Version : bool { first, next };

// Whether a row is written only by the transaction that makes the task, or has removed its row before. Then the same
// holds for each row.
bool has_one_writer(TableId table) {
    return table == TableId::ready || table == TableId::waiting || table == TableId::lease || table == TableId::memo;
}

void insert_index_entries(Table &table, HeapTuple tuple, std::span<Datum> values, std::span<bool> nulls,
                          Version version) {
    if (!table.own_indexes_only) {
        insert_any_index_entries(table, tuple, Entries::all);
        return;
    }
    const bool again = version == Version::next || has_one_writer(table.id);
    const TableDef &def = definition(table.id);
    for (std::size_t i = 0; i < static_cast<std::size_t>(def.index_count); i++) {
        const IndexDef &index_def = def.indexes[i];
        if (index_def.not_null != 0 && nulls[static_cast<std::size_t>(index_def.not_null - 1)])
            continue;
        std::array<Datum, 4> key{};
        std::array<bool, 4> key_null{};
        for (std::size_t k = 0; k < static_cast<std::size_t>(index_def.columns); k++) {
            const auto column = static_cast<std::size_t>(index_def.key[k].column - 1);
            key[k] = values[column];
            key_null[k] = nulls[column];
        }
        if (table.bulk != nullptr && is_scattered(table, i)) {
            table.bulk->late.add({{DatumGetInt64(key[0]), DatumGetInt64(key[1])}, tuple->t_self},
                                 GetMemoryChunkContext(table.bulk));
            continue;
        }
        // A btree does not look at the IndexInfo (it is for summarizing and expression indexes), so we have none.
        index_insert(index_of(table, i), key.data(), key_null.data(), &tuple->t_self, table.rel,
                     index_def.unique && !again ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, again, nullptr);
    }
}

void tell_place(const Table &table, Datum first_column, const ItemPointerData &tid) {
    if (table.id == TableId::lease)
        lease_hints.remember(compat::file_number(table.rel), DatumGetUInt64(first_column), tid);
}

// Whether a row that ends before this column reads as null there. Not if the column was added with a default.
bool reads_as_null(TupleDesc desc, std::size_t column) {
    return desc->constr == nullptr || desc->constr->missing == nullptr || !desc->constr->missing[column].am_present;
}

// With null in the columns behind ours, which have been dropped (store/shape.cpp).
HeapTuple form_longer(TupleDesc desc, std::span<Datum> values, std::span<bool> nulls) {
    const auto columns = static_cast<std::size_t>(desc->natts);
    std::span<Datum> all = allocate<Datum>(columns);
    std::span<bool> all_null = allocate<bool>(columns);
    std::fill(all_null.begin(), all_null.end(), true);
    std::copy(values.begin(), values.end(), all.begin());
    std::copy(nulls.begin(), nulls.end(), all_null.begin());
    return heap_form_tuple(desc, all.data(), all_null.data());
}

// A row without the columns at its end that are null: a row that is shorter than its table has nulls there, as after
// ALTER TABLE ADD COLUMN. Where no other column is null it needs no bitmap either, which is 8 bytes in a table of more
// than 8 columns.
HeapTuple form_row(const Table &table, std::span<Datum> values, std::span<bool> nulls) {
    TupleDesc desc = RelationGetDescr(table.rel);
    HeapTuple tuple = static_cast<std::size_t>(desc->natts) == values.size()
                          ? heap_form_tuple(desc, values.data(), nulls.data())
                          : form_longer(desc, values, nulls);
    HeapTupleHeader header = tuple->t_data;
    std::size_t columns = nulls.size();
    while (columns > 0 && nulls[columns - 1] && reads_as_null(desc, columns - 1))
        columns--;
    const bool has_null = std::find(nulls.begin(), nulls.begin() + static_cast<std::ptrdiff_t>(columns), true) !=
                          nulls.begin() + static_cast<std::ptrdiff_t>(columns);
    const auto data =
        static_cast<uint8>(MAXALIGN(SizeofHeapTupleHeader + (has_null ? BITMAPLEN(static_cast<int>(columns)) : 0)));
    const std::size_t saved = header->t_hoff - data;
    HeapTupleHeaderSetNatts(header, static_cast<uint16>(columns));
    if (!has_null)
        header->t_infomask &= static_cast<uint16>(~HEAP_HASNULL);
    if (saved > 0) {
        char *row = reinterpret_cast<char *>(header);
        memmove(row + data, row + header->t_hoff, tuple->t_len - header->t_hoff);
        header->t_hoff = data;
        tuple->t_len -= static_cast<uint32>(saved);
    }
    return tuple;
}

void insert_now(Table &table, std::span<Datum> values, std::span<bool> nulls) {
    HeapTuple tuple = form_row(table, values, nulls);
    heap_insert(table.rel, tuple, GetCurrentCommandId(true), 0, nullptr);
    insert_index_entries(table, tuple, values, nulls, Version::first);
    tell_place(table, values[0], tuple->t_self);
    heap_freetuple(tuple);
}

// Whether the error that is being handled is one of our unique indexes refusing a row. Not the primary key: ids are
// ours, and a repeated one means that a sequence was not restored.
bool is_duplicate(const Table &table) {
    const ErrorData *error = CopyErrorData();
    if (error->sqlerrcode != ERRCODE_UNIQUE_VIOLATION || error->constraint_name == nullptr)
        return false;
    const auto indexes = std::span(definition(table.id).indexes).subspan(1);
    return std::any_of(indexes.begin(), indexes.end(), [error](const IndexDef &index) {
        return index.name != nullptr && is_name_of(index, error->constraint_name);
    });
}

// Heap first, then the index entries row by row.
void flush(Table &table) {
    Bulk &bulk = *table.bulk;
    if (bulk.count == 0)
        return;
    heap_multi_insert(table.rel, bulk.row.data(), static_cast<int>(bulk.count), GetCurrentCommandId(true), 0, nullptr);
    const auto columns = definition(table.id).columns.size();
    for (TupleTableSlot *row : std::span(bulk.row).first(bulk.count)) {
        slot_getallattrs(row);
        HeapTuple tuple = ExecFetchSlotHeapTuple(row, false, nullptr);
        tuple->t_self = row->tts_tid;
        insert_index_entries(table, tuple, {row->tts_values, columns}, {row->tts_isnull, columns}, Version::first);
        tell_place(table, row->tts_values[0], row->tts_tid);
        ExecClearTuple(row);
    }
    bulk.count = 0;
    MemoryContextReset(bulk.context);
}

void insert_late_entries(Table &table) {
    const std::span<LateEntry> entries = table.bulk->late.all();
    std::sort(entries.begin(), entries.end(), [](const LateEntry &a, const LateEntry &b) {
        return a.key[0] != b.key[0] ? a.key[0] < b.key[0] : a.key[1] < b.key[1];
    });
    for (LateEntry &entry : entries) {
        CHECK_FOR_INTERRUPTS();
        std::array<Datum, 2> key{Int64GetDatum(entry.key[0]), Int64GetDatum(entry.key[1])};
        std::array<bool, 2> key_null{};
        index_insert(index_of(table, 1), key.data(), key_null.data(), &entry.tid, table.rel, UNIQUE_CHECK_NO, false,
                     nullptr);
    }
}

} // namespace

void begin_bulk(Table &table) {
    keep_freed_memory();
    table.bulk = static_cast<Bulk *>(palloc0(sizeof(Bulk)));
    table.bulk->context = AllocSetContextCreate(CurrentMemoryContext, "scylla bulk", ALLOCSET_DEFAULT_SIZES);
}

void end_bulk(Table &table) {
    flush(table);
    insert_late_entries(table);
    for (TupleTableSlot *row : table.bulk->row)
        if (row != nullptr)
            ExecDropSingleTupleTableSlot(row);
    MemoryContextDelete(table.bulk->context);
    if (table.bulk->late.at != nullptr)
        pfree(table.bulk->late.at);
    pfree(table.bulk);
    table.bulk = nullptr;
}

void insert(Table &table, std::span<Datum> values, std::span<bool> nulls) {
    if (table.bulk == nullptr) {
        insert_now(table, values, nulls);
        return;
    }
    Bulk &bulk = *table.bulk;
    TupleTableSlot *&row = bulk.row[bulk.count];
    if (row == nullptr) {
        MemoryContext caller = MemoryContextSwitchTo(GetMemoryChunkContext(table.bulk));
        row = MakeSingleTupleTableSlot(RelationGetDescr(table.rel), &TTSOpsHeapTuple);
        MemoryContextSwitchTo(caller);
    }
    MemoryContext caller = MemoryContextSwitchTo(bulk.context);
    ExecStoreHeapTuple(form_row(table, values, nulls), row, false);
    MemoryContextSwitchTo(caller);
    if (++bulk.count == bulk.row.size())
        flush(table);
}

void insert_unique(Table &table, std::span<Datum> values, std::span<bool> nulls, void (*refuse)(const text *name),
                   const text *name) {
    MemoryContext context = CurrentMemoryContext;
    PG_TRY();
    { insert_now(table, values, nulls); }
    PG_CATCH();
    {
        MemoryContextSwitchTo(context);
        if (!is_duplicate(table))
            PG_RE_THROW();
        // One error takes the other's place: nothing goes on in this transaction.
        FlushErrorState();
        refuse(name);
        elog(ERROR, "a duplicate in \"%s\" was not refused", definition(table.id).name);
    }
    PG_END_TRY();
}

Taken standing(Table &table, const ItemPointerData &tid) {
    Buffer buffer = ReadBuffer(table.rel, ItemPointerGetBlockNumber(&tid));
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    Page page = BufferGetPage(buffer);
    const OffsetNumber offset = ItemPointerGetOffsetNumber(&tid);
    TM_Result result = TM_Deleted;
    if (offset <= PageGetMaxOffsetNumber(page) && ItemIdIsNormal(PageGetItemId(page, offset))) {
        ItemId item = PageGetItemId(page, offset);
        HeapTupleData tuple{};
        tuple.t_self = tid;
        tuple.t_tableOid = RelationGetRelid(table.rel);
        tuple.t_data = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item));
        tuple.t_len = ItemIdGetLength(item);
        result = HeapTupleSatisfiesUpdate(&tuple, GetCurrentCommandId(false), buffer);
    }
    UnlockReleaseBuffer(buffer);
    return result == TM_Ok ? Taken::ok : result == TM_BeingModified ? Taken::busy : Taken::gone;
}

namespace {

TM_Result lock_key(Table &table, ItemPointerData tid, Snapshot snapshot, LockWaitPolicy policy) {
    TM_FailureData failure;
    TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(table.rel), &TTSOpsBufferHeapTuple);
    const TM_Result result = table_tuple_lock(table.rel, &tid, snapshot, slot, GetCurrentCommandId(false),
                                              LockTupleKeyShare, policy, 0, &failure);
    ExecDropSingleTupleTableSlot(slot);
    return result;
}

} // namespace

Taken hold(Table &table, const ItemPointerData &tid, Snapshot snapshot) {
    return lock_key(table, tid, snapshot, LockWaitBlock) == TM_Ok ? Taken::ok : Taken::gone;
}

Taken try_hold(Table &table, const ItemPointerData &tid, Snapshot snapshot) {
    switch (lock_key(table, tid, snapshot, LockWaitSkip)) {
    case TM_Ok:
        return Taken::ok;
    case TM_BeingModified:
    case TM_WouldBlock:
        return Taken::busy;
    default:
        return Taken::gone;
    }
}

Taken remove(Table &table, const ItemPointerData &tid, Snapshot snapshot, bool wait) {
    ItemPointerData where = tid;
    TM_FailureData failure;
    const TM_Result result = compat::table_tuple_delete(table.rel, &where, snapshot, wait, &failure);
    switch (result) {
    case TM_Ok:
        return Taken::ok;
    case TM_BeingModified:
    case TM_WouldBlock:
        return Taken::busy;
    case TM_Updated:
    case TM_Deleted:
        return Taken::gone;
    case TM_Invisible:
    case TM_SelfModified:
        break;
    }
    elog(ERROR, "row of \"%s\" was changed by its own command", definition(table.id).name);
}

namespace {

// Clears the page of dead versions if another one of this size would not go on it. Scans of the server do so whenever
// the part that fillfactor keeps free is not free: after every version, and a page has room for many.
void make_room(Table &table, const ItemPointerData &tid, std::size_t size) {
    Buffer buffer = ReadBuffer(table.rel, ItemPointerGetBlockNumber(&tid));
    if (PageGetHeapFreeSpace(BufferGetPage(buffer)) < MAXALIGN(size)) // without a lock: it need not be exact
        compat::heap_page_prune_opt(table.rel, buffer);
    ReleaseBuffer(buffer);
}

// The index entries of a new version of a row.
void insert_next_entries(Table &table, HeapTuple tuple, compat::TU_UpdateIndexes update) {
    if (update == compat::TU_None)
        return;
    if (update == compat::TU_Summarizing) {
        insert_any_index_entries(table, tuple, Entries::summarizing);
        return;
    }
    const auto columns = static_cast<std::size_t>(RelationGetNumberOfAttributes(table.rel));
    auto *values = static_cast<Datum *>(palloc(columns * sizeof(Datum)));
    auto *nulls = static_cast<bool *>(palloc(columns));
    heap_deform_tuple(tuple, RelationGetDescr(table.rel), values, nulls);
    insert_index_entries(table, tuple, {values, columns}, {nulls, columns}, Version::next);
}

} // namespace

Taken update(Table &table, TupleTableSlot *slot, const NewVersion &version, ItemPointerData *tid, bool wait) {
    slot_getallattrs(slot);
    for (std::size_t i = 0; i < version.replace.size(); i++)
        if (!version.replace[i]) {
            version.values[i] = slot->tts_values[i];
            version.nulls[i] = slot->tts_isnull[i];
        }
    HeapTuple tuple = form_row(table, version.values, version.nulls);
    ItemPointerData old = slot->tts_tid;
    ExecClearTuple(slot); // a page that somebody holds is not cleared; so the values no longer lead anywhere
    make_room(table, old, tuple->t_len);
    TM_FailureData failure;
    compat::TU_UpdateIndexes update_indexes = compat::TU_None;
    const TM_Result result =
        compat::heap_update(table.rel, &old, tuple, GetCurrentCommandId(true), wait, &failure, &update_indexes);
    switch (result) {
    case TM_Ok:
        insert_next_entries(table, tuple, update_indexes);
        *tid = tuple->t_self;
        heap_freetuple(tuple);
        return Taken::ok;
    case TM_BeingModified:
    case TM_WouldBlock:
        return Taken::busy;
    case TM_Updated:
    case TM_Deleted:
        heap_freetuple(tuple);
        return Taken::gone;
    case TM_Invisible:
    case TM_SelfModified:
        break;
    }
    elog(ERROR, "row of \"%s\" was changed by its own command", definition(table.id).name);
}

} // namespace scylla::store
