#include "store/table.h"

#include "model/version.h"
#include "pg/error.h"
#include "pg/memory.h"
#include "store/hints.h"

extern "C" {
#include "catalog/index.h"
}

namespace scylla::store {

namespace {

constexpr std::array<TableDef, k_tables> k_definitions = {{
    {"queue", 28, {{{"queue_pkey", {1}, 1, true, 0}, {"queue_name_key", {2}, 1, true, 0}}}, 2},
    {"task_spec", 13, {{{"task_spec_pkey", {1}, 1, true, 0}, {"task_spec_rn", {5}, 1, true, 0}}}, 2},
    {"task_ready",
     9,
     {{{"task_ready_order", {3, 6, 1}, 3, true, 0}, {"task_ready_key", {3, 9, 6, 1}, 4, false, 9}}},
     2},
    {"task_lease", 13, {{{"task_lease_pkey", {1}, 1, true, 0}, {"task_lease_permit", {6, 13, 1}, 3, false, 13}}}, 2},
    {"task_waiting", 8, {{{"task_waiting_pkey", {1}, 1, true, 0}, {"task_waiting_due", {2}, 1, false, 0}}}, 2},
    {"task_outcome", 13, {{{"task_outcome_pkey", {1}, 1, true, 0}, {}}}, 1},
    {"task_gate", 5, {{{"task_gate_pkey", {1, 3}, 2, true, 0}, {"task_gate_provider", {2, 1}, 2, false, 0}}}, 2},
    {"task_plan", 9, {{{"task_plan_pkey", {1}, 1, true, 0}, {"task_plan_name", {8}, 1, true, 0}}}, 2},
    {"task_dedup", 3, {{{"task_dedup_key", {1, 3}, 2, true, 0}, {}}}, 1},
    {"event", 10, {{{"event_pkey", {1, 2}, 2, true, 0}, {}}}, 1},
}};

// Oids of our tables and indexes, found by name and kept until the server says that one of them has changed.
struct Oids {
    bool valid;
    std::array<Oid, k_tables> table;
    std::array<std::array<Oid, 2>, k_tables> index;
};
constinit Oids oids{};
constinit uint64 invalidations = 0; // of whatever table
constinit uint64 changes = 0;       // of ours
constinit bool callbacks_registered = false;

bool is_ours(Oid relation) noexcept {
    for (std::size_t t = 0; t < k_tables; t++)
        if (oids.table[t] == relation || oids.index[t][0] == relation || oids.index[t][1] == relation)
            return true;
    return false;
}

void forget_oids() noexcept {
    changes++;
    oids.valid = false;
}

extern "C" void forget_relation(Datum, Oid relation) {
    invalidations++;
    if (relation == InvalidOid || is_ours(relation))
        forget_oids();
}

extern "C" void forget_schema(Datum, int, uint32) {
    invalidations++;
    forget_oids();
}

// The version of the extension's objects in this database; null if there are none.
const char *installed_version() {
    const char *version = nullptr;
    Relation rel = table_open(ExtensionRelationId, AccessShareLock);
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ, CStringGetDatum("scylla"));
    SysScanDesc scan = systable_beginscan(rel, ExtensionNameIndexId, true, nullptr, 1, &key);
    if (HeapTuple tuple = systable_getnext(scan); HeapTupleIsValid(tuple)) {
        bool null = false;
        version = TextDatumGetCString(heap_getattr(tuple, Anum_pg_extension_extversion, RelationGetDescr(rel), &null));
    }
    systable_endscan(scan);
    table_close(rel, AccessShareLock);
    return version;
}

// The library knows the places of columns, so it works with the objects of its own version only.
void require_own_version(const char *installed) {
    const auto theirs = model::release_of(installed);
    constexpr auto ours = model::release_of(SCYLLA_VERSION);
    if (theirs != ours)
        error::other_version(installed, theirs < ours);
}

// Returns false if the extension, a table or an index does not exist.
bool find_oids() {
    if (oids.valid)
        return true;
    if (!callbacks_registered) {
        CacheRegisterRelcacheCallback(forget_relation, 0);
        CacheRegisterSyscacheCallback(NAMESPACEOID, forget_schema, 0);
        callbacks_registered = true;
    }
    const uint64 seen = invalidations;
    const Oid schema = get_namespace_oid("scylla", true);
    const char *version = OidIsValid(schema) ? installed_version() : nullptr;
    if (version == nullptr)
        return false;
    require_own_version(version);
    Oids found{};
    for (std::size_t t = 0; t < k_tables; t++) {
        found.table[t] = get_relname_relid(k_definitions[t].name, schema);
        if (!OidIsValid(found.table[t]))
            return false;
        for (int i = 0; i < k_definitions[t].index_count; i++) {
            const auto at = static_cast<std::size_t>(i);
            found.index[t][at] = get_relname_relid(k_definitions[t].indexes[at].name, schema);
            if (!OidIsValid(found.index[t][at]))
                return false;
        }
    }
    found.valid = seen == invalidations; // else good for now, but to be looked up again
    oids = found;
    changes++; // what was told of them before was not known to be theirs
    return true;
}

// With a lock comes word of what others have committed while nobody held it: the extension may have been dropped and
// made again, or an index replaced by REINDEX CONCURRENTLY. So the oids are only good if they still are when the table
// is locked. Returns false if the extension is not there.
bool lock_present(TableId id, LOCKMODE mode) {
    const auto t = static_cast<std::size_t>(id);
    while (find_oids()) {
        const Oid known = oids.table[t];
        LockRelationOid(known, mode);
        if (find_oids() && oids.table[t] == known)
            return true;
        UnlockRelationOid(known, mode);
    }
    return false;
}

void require_oids() {
    if (!find_oids())
        error::not_installed();
}

Relation index_of(Table &table, std::size_t i) {
    if (table.index[i] == nullptr)
        table.index[i] = index_open(oids.index[static_cast<std::size_t>(table.id)][i], table.mode);
    return table.index[i];
}

bool has_own_indexes_only(const Table &table) {
    if (!table.rel->rd_indexvalid)
        list_free(RelationGetIndexList(table.rel)); // the relation keeps a list of its own
    return list_length(table.rel->rd_indexlist) == definition(table.id).index_count;
}

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

void insert_index_entries(Table &table, HeapTuple tuple, std::span<Datum> values, std::span<bool> nulls,
                          Version version) {
    if (!table.own_indexes_only) {
        insert_any_index_entries(table, tuple, Entries::all);
        return;
    }
    const TableDef &def = definition(table.id);
    for (std::size_t i = 0; i < static_cast<std::size_t>(def.index_count); i++) {
        const IndexDef &index_def = def.indexes[i];
        if (index_def.not_null != 0 && nulls[static_cast<std::size_t>(index_def.not_null - 1)])
            continue;
        std::array<Datum, 4> key{};
        std::array<bool, 4> key_null{};
        for (std::size_t k = 0; k < static_cast<std::size_t>(index_def.columns); k++) {
            const auto column = static_cast<std::size_t>(index_def.key[k] - 1);
            key[k] = values[column];
            key_null[k] = nulls[column];
        }
        // A btree does not look at the IndexInfo (it is for summarizing and expression indexes), so we have none.
        index_insert(index_of(table, i), key.data(), key_null.data(), &tuple->t_self, table.rel,
                     index_def.unique && version == Version::first ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO,
                     version == Version::next, nullptr);
    }
}

Scan make_scan(Table &table, std::size_t index, Snapshot snapshot, std::size_t keys, ScanDirection direction) {
    return {compat::index_beginscan(table.rel, index_of(table, index), snapshot, static_cast<int>(keys)),
            nullptr,
            MakeSingleTupleTableSlot(RelationGetDescr(table.rel), &TTSOpsBufferHeapTuple),
            direction,
            CurrentMemoryContext,
            table.id == TableId::queue || table.id == TableId::plan,
            0};
}

void tell_place(const Table &table, Datum first_column, const ItemPointerData &tid) {
    if (table.id == TableId::lease)
        lease_hints.remember(compat::file_number(table.rel), DatumGetUInt64(first_column), tid);
}

// A row without the columns at its end that are null: a row that is shorter than its table has nulls there, as after
// ALTER TABLE ADD COLUMN. Where no other column is null it needs no bitmap either, which is 8 bytes in a table of more
// than 8 columns.
HeapTuple form_row(const Table &table, std::span<Datum> values, std::span<bool> nulls) {
    HeapTuple tuple = heap_form_tuple(RelationGetDescr(table.rel), values.data(), nulls.data());
    HeapTupleHeader header = tuple->t_data;
    std::size_t columns = nulls.size();
    while (columns > 0 && nulls[columns - 1])
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
        return index.name != nullptr && std::string_view(index.name) == error->constraint_name;
    });
}

} // namespace

const TableDef &definition(TableId id) noexcept { return k_definitions[static_cast<std::size_t>(id)]; }

bool hold_installed() {
    const Oid extension = get_extension_oid("scylla", true);
    if (!OidIsValid(extension))
        return false;
    // What DROP EXTENSION locks before anything else: or each of us could hold a table that the other one wants.
    LockDatabaseObject(ExtensionRelationId, extension, 0, AccessShareLock);
    return lock_present(TableId::spec, AccessShareLock);
}

Oid identity() {
    require_oids();
    return oids.table[static_cast<std::size_t>(TableId::spec)];
}

uint64 table_changes() noexcept { return changes; }

void tell_changed(TableId id) {
    require_oids();
    CacheInvalidateRelcacheByRelid(oids.table[static_cast<std::size_t>(id)]);
}

void tell_at_once(TableId id) {
    require_oids();
    SharedInvalidationMessage message;
    message.rc.id = SHAREDINVALRELCACHE_ID;
    message.rc.dbId = MyDatabaseId;
    message.rc.relId = oids.table[static_cast<std::size_t>(id)];
    SendSharedInvalidMessages(&message, 1);
}

Oid tables_owner() {
    lock_table(TableId::spec, AccessShareLock);
    Relation rel = table_open(oids.table[static_cast<std::size_t>(TableId::spec)], NoLock);
    const Oid role = rel->rd_rel->relowner;
    table_close(rel, AccessShareLock);
    return role;
}

Table open(TableId id, LOCKMODE mode) {
    lock_table(id, mode);
    Table table{id, mode, table_open(oids.table[static_cast<std::size_t>(id)], NoLock), {}, false, nullptr};
    if (RelationGetNumberOfAttributes(table.rel) != definition(id).columns)
        elog(ERROR, "table \"%s\" has %d columns instead of %d", definition(id).name,
             RelationGetNumberOfAttributes(table.rel), definition(id).columns);
    if (mode != AccessShareLock)
        table.own_indexes_only = has_own_indexes_only(table);
    return table;
}

void lock_table(TableId id, LOCKMODE mode) {
    while (!lock_present(id, mode))
        require_oids(); // says so; if it has come meanwhile, again
}

void close(Table &table) {
    if (table.rel == nullptr)
        return;
    for (Relation &index : table.index) {
        if (index != nullptr)
            index_close(index, NoLock);
        index = nullptr;
    }
    table_close(table.rel, NoLock);
    table.rel = nullptr;
}

void restart(Scan &scan, std::span<const Key> keys) {
    std::array<ScanKeyData, 4> scan_keys;
    for (std::size_t k = 0; k < keys.size(); k++)
        ScanKeyEntryInitialize(&scan_keys[k], 0, keys[k].column, keys[k].strategy, InvalidOid,
                               scan.by_index->indexRelation->rd_indcollation[keys[k].column - 1], keys[k].comparison,
                               keys[k].value);
    index_rescan(scan.by_index, scan_keys.data(), static_cast<int>(keys.size()), nullptr, 0);
}

void release_row(Scan &scan) {
    ExecClearTuple(scan.slot);
    table_index_fetch_reset(scan.by_index->xs_heapfetch);
}

Scan begin(Table &table, std::size_t index, Snapshot snapshot, std::span<const Key> keys, ScanDirection direction) {
    Scan scan = make_scan(table, index, snapshot, keys.size(), direction);
    restart(scan, keys);
    return scan;
}

Scan begin_keys(Table &table, std::size_t index, Snapshot snapshot, std::span<const Key> keys) {
    Scan scan = make_scan(table, index, snapshot, keys.size(), ForwardScanDirection);
    scan.by_index->xs_want_itup = true;
    restart(scan, keys);
    return scan;
}

Found next_key(Scan &scan) {
    CHECK_FOR_INTERRUPTS();
    MemoryContext caller = MemoryContextSwitchTo(scan.context);
    Found found = Found::end;
    if (index_getnext_tid(scan.by_index, scan.direction) != nullptr)
        found = index_fetch_heap(scan.by_index, scan.slot) ? Found::row : Found::dead;
    MemoryContextSwitchTo(caller);
    return found;
}

Datum key_column(const Scan &scan, int column) {
    bool null = false;
    return index_getattr(scan.by_index->xs_itup, column, scan.by_index->xs_itupdesc, &null);
}

Scan begin_whole(Table &table, Snapshot snapshot) {
    return {nullptr,
            table_beginscan(table.rel, snapshot, 0, nullptr),
            MakeSingleTupleTableSlot(RelationGetDescr(table.rel), &TTSOpsBufferHeapTuple),
            ForwardScanDirection,
            CurrentMemoryContext,
            true,
            0};
}

namespace {

// What index_fetch_heap() does, without clearing the page of dead versions on the way.
bool fetch_unpruned(Scan &scan) {
    IndexScanDesc index = scan.by_index;
    auto *slot = reinterpret_cast<BufferHeapTupleTableSlot *>(scan.slot);
    ItemPointerData tid = index->xs_heaptid;
    // Row after row is on the same page: it stays pinned, as there.
    auto *heap = reinterpret_cast<IndexFetchHeapData *>(index->xs_heapfetch);
    heap->xs_cbuf = ReleaseAndReadBuffer(heap->xs_cbuf, index->heapRelation, ItemPointerGetBlockNumber(&tid));
    Buffer buffer = heap->xs_cbuf;
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

// What index_getnext_slot() does, counting the dead entries.
bool next_by_index(Scan &scan) {
    while (index_getnext_tid(scan.by_index, scan.direction) != nullptr) {
        if (scan.prunes ? index_fetch_heap(scan.by_index, scan.slot) : fetch_unpruned(scan))
            return true;
        scan.dead++;
        CHECK_FOR_INTERRUPTS();
    }
    return false;
}

} // namespace

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

struct Bulk {
    MemoryContext context; // of the rows
    std::size_t count;
    std::array<TupleTableSlot *, 128> row; // made when first used
};

namespace {

// Heap first, then the index entries row by row.
void flush(Table &table) {
    Bulk &bulk = *table.bulk;
    if (bulk.count == 0)
        return;
    heap_multi_insert(table.rel, bulk.row.data(), static_cast<int>(bulk.count), GetCurrentCommandId(true), 0, nullptr);
    const auto columns = static_cast<std::size_t>(definition(table.id).columns);
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

} // namespace

void begin_bulk(Table &table) {
    keep_freed_memory();
    table.bulk = static_cast<Bulk *>(palloc0(sizeof(Bulk)));
    table.bulk->context = AllocSetContextCreate(CurrentMemoryContext, "scylla bulk", ALLOCSET_DEFAULT_SIZES);
}

void end_bulk(Table &table) {
    flush(table);
    for (TupleTableSlot *row : table.bulk->row)
        if (row != nullptr)
            ExecDropSingleTupleTableSlot(row);
    MemoryContextDelete(table.bulk->context);
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

bool insert_unique(Table &table, std::span<Datum> values, std::span<bool> nulls) {
    MemoryContext context = CurrentMemoryContext;
    volatile bool inserted = true;
    PG_TRY();
    { insert_now(table, values, nulls); }
    PG_CATCH();
    {
        MemoryContextSwitchTo(context);
        if (!is_duplicate(table))
            PG_RE_THROW();
        FlushErrorState();
        inserted = false;
    }
    PG_END_TRY();
    return inserted;
}

namespace {

// Whether the table has the page. As long as the table is open nobody can shorten it, so what this process once found,
// or was told about since, will do; asking the system is a call for every row.
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

Taken hold(Table &table, const ItemPointerData &tid, Snapshot snapshot) {
    ItemPointerData where = tid;
    TM_FailureData failure;
    TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(table.rel), &TTSOpsBufferHeapTuple);
    const TM_Result result = table_tuple_lock(table.rel, &where, snapshot, slot, GetCurrentCommandId(false),
                                              LockTupleKeyShare, LockWaitBlock, 0, &failure);
    ExecDropSingleTupleTableSlot(slot);
    return result == TM_Ok ? Taken::ok : Taken::gone;
}

Taken remove(Table &table, const ItemPointerData &tid, Snapshot snapshot, bool wait) {
    ItemPointerData where = tid;
    TM_FailureData failure;
    const TM_Result result = table_tuple_delete(table.rel, &where, GetCurrentCommandId(true), snapshot, InvalidSnapshot,
                                                wait, &failure, false);
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
        heap_page_prune_opt(table.rel, buffer);
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

Taken update(Table &table, TupleTableSlot *slot, std::span<Datum> values, std::span<bool> nulls,
             std::span<bool> replace, ItemPointerData *tid, bool wait) {
    slot_getallattrs(slot);
    for (std::size_t i = 0; i < replace.size(); i++)
        if (!replace[i]) {
            values[i] = slot->tts_values[i];
            nulls[i] = slot->tts_isnull[i];
        }
    HeapTuple tuple = form_row(table, values, nulls);
    ItemPointerData old = slot->tts_tid;
    ExecClearTuple(slot); // a page that somebody holds is not cleared; so `values` no longer lead anywhere
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
