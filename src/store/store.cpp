// The store itself, what belongs to no one table, and the sequences.
#include "store/row_access.h"

namespace scylla::store {

namespace {

Oid sequence(const char *name) {
    const Oid oid = get_relname_relid(name, get_namespace_oid("scylla", false));
    if (!OidIsValid(oid))
        elog(ERROR, "sequence \"%s\" does not exist", name);
    return oid;
}

Oid status_type() {
    const Oid type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("task_status"),
                                     ObjectIdGetDatum(get_namespace_oid("scylla", false)));
    if (!OidIsValid(type))
        elog(ERROR, "type \"scylla.task_status\" does not exist");
    return type;
}

} // namespace

Oid task_type() {
    const Oid view = get_relname_relid("task", get_namespace_oid("scylla", false));
    if (!OidIsValid(view))
        elog(ERROR, "view \"scylla.task\" does not exist");
    return get_rel_type_id(view);
}

namespace {

void end_lookups(Store &store) {
    for (auto &of_table : store.lookups)
        for (Lookup &lookup : of_table)
            if (lookup.open) {
                end(lookup.scan);
                lookup.open = false;
            }
    if (store.specs.open)
        end(store.specs.scan);
    store.specs.open = false;
    store.spec_shown = 0;
}

Store make_store(LOCKMODE mode) {
    Store store{};
    store.mode = mode;
    store.context = CurrentMemoryContext;
    store.changes_at_opening = PG_UINT64_MAX; // until the first snapshot
    return store;
}

} // namespace

bool is_own_row(Store &store, TableId table, const ItemPointerData &tid) {
    TupleTableSlot *slot = slot_of(store, table);
    if (!fetch(store[table], tid, store.snapshot, slot))
        return false;
    bool null = false;
    const auto xmin = DatumGetTransactionId(slot_getsysattr(slot, MinTransactionIdAttributeNumber, &null));
    ExecClearTuple(slot);
    return TransactionIdIsCurrentTransactionId(xmin);
}

Table &Store::operator[](TableId id) {
    Table &table = tables[static_cast<std::size_t>(id)];
    if (table.rel == nullptr)
        table = open(id, mode);
    return table;
}

Store open(LOCKMODE mode) {
    Store store = make_store(mode);
    refresh(store);
    return store;
}

Store open(LOCKMODE mode, TableId first) {
    Store store = make_store(mode);
    (void)store[first];
    refresh(store);
    return store;
}

void refresh(Store &store) {
    end_lookups(store);
    if (store.snapshot != nullptr)
        UnregisterSnapshot(store.snapshot);
    AcceptInvalidationMessages();
    store.changes = table_changes();
    if (store.changes_at_opening == PG_UINT64_MAX)
        store.changes_at_opening = store.changes;
    store.snapshot = RegisterSnapshot(GetLatestSnapshot());
    store.last_queue = {};
}

TupleTableSlot *slot_of(Store &store, TableId table) {
    TupleTableSlot *&slot = store.slots[static_cast<std::size_t>(table)];
    if (slot == nullptr) {
        MemoryContext caller = MemoryContextSwitchTo(store.context);
        slot = MakeSingleTupleTableSlot(RelationGetDescr(store[table].rel), &TTSOpsBufferHeapTuple);
        MemoryContextSwitchTo(caller);
    }
    return slot;
}

namespace {

// A transaction that changes settings announces that before it looks for rows that were written without knowing them.
// So this check comes after all writes: of two concurrent transactions at least one sees the other.
bool settings_have_changed(const Store &store) {
    if (store.uses.count == 0 && store.pool_uses.count == 0)
        return false;
    pg_memory_barrier();
    AcceptInvalidationMessages();
    return store.changes_at_opening != table_changes();
}

} // namespace

constinit SettingsHook settings_changed_hook = nullptr;
constinit SettingsHook pools_changed_hook = nullptr;

void close(Store &store) {
    if (settings_have_changed(store)) {
        settings_changed_hook(store);
        pools_changed_hook(store);
    }
    end_lookups(store);
    for (TupleTableSlot *slot : store.slots)
        if (slot != nullptr)
            ExecDropSingleTupleTableSlot(slot);
    for (Table &table : store.tables)
        close(table);
    UnregisterSnapshot(store.snapshot);
    store.snapshot = nullptr;
    if (store.mode != AccessShareLock)
        CommandCounterIncrement();
}

void note_ended(Store &store, const Ended &ended) { store.ended.add(ended, store.context); }

void note_pool_use(Store &store, int64 pool, const text *name) {
    for (const PoolUse &use : store.pool_uses.all())
        if (use.id == pool)
            return;
    MemoryContext caller = MemoryContextSwitchTo(store.context);
    store.pool_uses.add({pool, DatumGetTextPCopy(PointerGetDatum(name))});
    MemoryContextSwitchTo(caller);
}

void note_use(Store &store, const QueueRow &queue, Use use) {
    const auto uses = store.uses.all();
    QueueUse *known = uses.data();
    QueueUse *const end = known + uses.size();
    if (!uses.empty() && end[-1].queue == queue.id)
        known = end - 1;
    else
        while (known != end && known->queue != queue.id)
            known++;
    if (known == end) {
        store.uses.add({.queue = queue.id,
                        .name = queue.name,
                        .use = {},
                        .had_permits = true,
                        .had_max_running = true,
                        .had_max_depth = true,
                        .had_keys = true},
                       store.context);
        known = &store.uses.last();
    }
    known->use[static_cast<std::size_t>(use)] = true;
    switch (use) {
    case Use::made_ready:
        known->had_keys = known->had_keys && goes_by_keys(queue);
        break;
    case Use::leased:
        known->had_permits = known->had_permits && has_limits(queue);
        known->had_max_running = known->had_max_running && queue.max_running;
        break;
    case Use::submitted:
        known->had_max_depth = known->had_max_depth && queue.max_depth;
        break;
    }
}

Datum status_datum(Store &store, model::Status status) {
    Oid &value = store.status[static_cast<std::size_t>(status)];
    if (!OidIsValid(value))
        value = GetSysCacheOid2(ENUMTYPOIDNAME, Anum_pg_enum_oid, ObjectIdGetDatum(status_type()),
                                CStringGetDatum(model::name(status)));
    return ObjectIdGetDatum(value);
}

model::Status status_of(Datum status) {
    HeapTuple tuple = SearchSysCache1(ENUMOID, status);
    if (!HeapTupleIsValid(tuple))
        elog(ERROR, "value %u of scylla.task_status does not exist", DatumGetObjectId(status));
    const std::string_view label = NameStr(reinterpret_cast<Form_pg_enum>(GETSTRUCT(tuple))->enumlabel);
    std::size_t i = 0;
    while (i < model::k_status_names.size() && label != model::k_status_names[i])
        i++;
    ReleaseSysCache(tuple);
    if (i == model::k_status_names.size())
        elog(ERROR, "value %u of scylla.task_status is not a status", DatumGetObjectId(status));
    return static_cast<model::Status>(i);
}

namespace {

Scan scan_after(Store &store, TableId table, int64 after) {
    const Match key[] = {{1, Int64GetDatum(after), F_INT8GT, BTGreaterStrategyNumber}};
    return begin(store[table], 0, store.snapshot, key);
}

} // namespace

Scan scan_by_id(Store &store, TableId table, ScanDirection direction) {
    return begin(store[table], 0, store.snapshot, {}, direction);
}

Scan scan_before(Store &store, TableId table, int64 before) {
    const Match key[] = {{1, Int64GetDatum(before), F_INT8LT, BTLessStrategyNumber}};
    return begin(store[table], 0, store.snapshot, key, BackwardScanDirection);
}

Scan scan_heads(Store &store, TableId table, int64 from, ScanDirection direction) {
    const Match above{1, Int64GetDatum(from), F_INT8GT, BTGreaterStrategyNumber};
    const Match below{1, Int64GetDatum(from), F_INT8LT, BTLessStrategyNumber};
    return begin_index_only(store[table], 0, store.snapshot, {direction == ForwardScanDirection ? &above : &below, 1},
                            direction);
}

Scan scan_waiting(Store &store, int64 after) { return scan_after(store, TableId::waiting, after); }
Scan scan_plans(Store &store, int64 after) { return scan_after(store, TableId::plan, after); }

Scan scan_all(Store &store, TableId table) { return begin_whole(store[table], store.snapshot); }

int32 queue_of(const Scan &scan, TableId table) {
    switch (table) {
    case TableId::queue:
        return DatumGetInt32(get(scan, queue_col::id));
    case TableId::spec:
        return DatumGetInt32(get(scan, spec_col::queue));
    case TableId::ready:
        return DatumGetInt32(get(scan, ready_col::queue));
    case TableId::lease:
        return DatumGetInt32(get(scan, lease_col::queue));
    case TableId::waiting:
        return DatumGetInt32(get(scan, waiting_col::queue));
    case TableId::event:
        return DatumGetInt32(get(scan, event_col::queue));
    case TableId::outcome:
        return DatumGetInt32(get(scan, outcome_col::queue));
    case TableId::dedup:
        return DatumGetInt32(get(scan, dedup_col::queue));
    case TableId::gate:
    case TableId::plan:
    case TableId::condition_end:
    case TableId::signal_condition:
    case TableId::signal_shape:
    case TableId::line:
    case TableId::reservation:
    case TableId::memo:
    case TableId::check:
        break;
    }
    elog(ERROR, "rows of table %d belong to no queue", static_cast<int>(table));
}

int64 next_task_id() { return nextval_internal(sequence("task_id_seq"), false); }

int64 last_task_id() {
    LOCAL_FCINFO(call, 1);
    InitFunctionCallInfoData(*call, nullptr, 1, InvalidOid, nullptr, nullptr);
    call->args[0].value = ObjectIdGetDatum(sequence("task_id_seq"));
    call->args[0].isnull = false;
    const Datum last = pg_sequence_last_value(call);
    return call->isnull ? 0 : DatumGetInt64(last);
}

int64 next_worker() { return nextval_internal(sequence("worker_seq"), false); }
int64 next_event_id() { return nextval_internal(sequence("event_id_seq"), false); }

} // namespace scylla::store
