#include "store/rows.h"

#include "pg/text.h"
#include "store/hints.h"

namespace scylla::store {

namespace {

// Columns in the order of sql/tables.sql, 1-based as the server counts.
namespace queue_col {
enum : int { id = 1, name, created, default_timeout, retention, aging };
}
namespace spec_col {
enum : int { id = 1, created, queue, priority, rn, spec, not_before, max_attempts };
}
namespace ready_col {
enum : int { id = 1, updated, queue, attempt, failures, priority, history, errors };
}
namespace lease_col {
enum : int { id = 1, deadline, leased, updated, timeout, queue, attempt, failures, progress, owner, history, errors };
}
namespace waiting_col {
enum : int { id = 1, due, updated, queue, attempt, failures, history, errors };
}
namespace outcome_col {
enum : int {
    id = 1,
    finished,
    leased,
    queue,
    attempt,
    failures,
    progress,
    status,
    owner,
    history,
    errors,
    result,
    metrics
};
}

// ---- reading a slot --------------------------------------------------------------------------------------------------

Datum get(const Scan &scan, int column) {
    bool null = false;
    const Datum value = slot_getattr(scan.slot, column, &null);
    if (null)
        elog(ERROR, "unexpected null in column %d of relation %u", column, scan.slot->tts_tableOid);
    return value;
}

Interval *get_interval(const Scan &scan, int column) {
    bool null = false;
    const Datum value = slot_getattr(scan.slot, column, &null);
    return null ? nullptr : DatumGetIntervalP(datumCopy(value, false, sizeof(Interval)));
}

Jsonb *get_jsonb(const Scan &scan, int column) {
    bool null = false;
    const Datum value = slot_getattr(scan.slot, column, &null);
    return null ? nullptr : DatumGetJsonbPCopy(value);
}

std::optional<TimestampTz> get_time(const Scan &scan, int column) {
    bool null = false;
    const Datum value = slot_getattr(scan.slot, column, &null);
    return null ? std::nullopt : std::optional(DatumGetTimestampTz(value));
}

std::optional<int32> get_int(const Scan &scan, int column) {
    bool null = false;
    const Datum value = slot_getattr(scan.slot, column, &null);
    return null ? std::nullopt : std::optional(DatumGetInt32(value));
}

text *get_name(const Scan &scan, int column) {
    bool null = false;
    const Datum value = slot_getattr(scan.slot, column, &null);
    return null ? nullptr : DatumGetTextPCopy(value);
}

Carry get_carry(const Scan &scan, int attempt, int failures, int history, int errors) {
    return {DatumGetInt32(get(scan, attempt)), DatumGetInt32(get(scan, failures)), get_jsonb(scan, history),
            get_jsonb(scan, errors)};
}

// The row of a unique key, read by `read`.
template <typename Read>
auto look_up(Store &store, TableId table, std::size_t index, std::span<const Key> keys, Read read)
    -> std::optional<decltype(read(std::declval<const Scan &>()))> {
    Lookup &lookup = store.lookups[static_cast<std::size_t>(table)][index];
    if (lookup.open)
        restart(lookup.scan, keys);
    else {
        MemoryContext caller = MemoryContextSwitchTo(store.context);
        lookup = {true, begin(store[table], index, store.snapshot, keys)};
        MemoryContextSwitchTo(caller);
    }
    std::optional<decltype(read(std::declval<const Scan &>()))> row;
    if (next(lookup.scan))
        row = read(lookup.scan);
    release_row(lookup.scan);
    return row;
}

// ---- filling a row ---------------------------------------------------------------------------------------------------

template <int Columns> struct Values {
    std::array<Datum, Columns> value{};
    std::array<bool, Columns> null{};

    void set(int column, Datum datum) {
        value[static_cast<std::size_t>(column - 1)] = datum;
        null[static_cast<std::size_t>(column - 1)] = false;
    }
    void set_null(int column) { null[static_cast<std::size_t>(column - 1)] = true; }
    void set_pointer(int column, const void *pointer) {
        if (pointer == nullptr)
            set_null(column);
        else
            set(column, PointerGetDatum(pointer));
    }
    void set_time(int column, std::optional<TimestampTz> time) {
        if (time)
            set(column, TimestampTzGetDatum(*time));
        else
            set_null(column);
    }
    void set_carry(const Carry &carry, int attempt, int failures, int history, int errors) {
        set(attempt, Int32GetDatum(carry.attempt));
        set(failures, Int32GetDatum(carry.failures));
        set_pointer(history, carry.history);
        set_pointer(errors, carry.errors);
    }
};

// The row that a hint leads to, if it is there and `is_it` says that it is the right one.
template <typename Read, typename Is>
auto look_at(Store &store, TableId table, const std::optional<ItemPointerData> &tid, Is is_it, Read read)
    -> std::optional<decltype(read(std::declval<const Scan &>()))> {
    std::optional<decltype(read(std::declval<const Scan &>()))> row;
    if (!tid)
        return row;
    TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(store[table].rel), &TTSOpsBufferHeapTuple);
    const Scan here{nullptr, nullptr, slot, ForwardScanDirection, CurrentMemoryContext};
    if (fetch(store[table], *tid, store.snapshot, slot) && is_it(here))
        row = read(here);
    ExecDropSingleTupleTableSlot(slot);
    return row;
}

uint64 hash_name(const text *name) {
    return hash_bytes_extended(reinterpret_cast<const unsigned char *>(view(name).data()),
                               static_cast<int>(view(name).size()), 0);
}

template <typename Read> auto look_up_id(Store &store, TableId table, int64 id, Read read) {
    const Key key[] = {{1, Int64GetDatum(id), F_INT8EQ}};
    return look_up(store, table, 0, key, read);
}

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

// ---- the store -------------------------------------------------------------------------------------------------------

Table &Store::operator[](TableId id) {
    Table &table = tables[static_cast<std::size_t>(id)];
    if (table.rel == nullptr)
        table = open(id, mode);
    return table;
}

namespace {

void end_lookups(Store &store) {
    for (auto &of_table : store.lookups)
        for (Lookup &lookup : of_table)
            if (lookup.open) {
                end(lookup.scan);
                lookup.open = false;
            }
}

} // namespace

Store open(LOCKMODE mode) {
    Store store{};
    store.mode = mode;
    store.context = CurrentMemoryContext;
    refresh(store);
    return store;
}

void refresh(Store &store) {
    end_lookups(store);
    if (store.snapshot != nullptr)
        UnregisterSnapshot(store.snapshot);
    store.snapshot = RegisterSnapshot(GetLatestSnapshot());
}

void close(Store &store) {
    end_lookups(store);
    for (Table &table : store.tables)
        close(table);
    UnregisterSnapshot(store.snapshot);
    store.snapshot = nullptr;
    if (store.mode != AccessShareLock)
        CommandCounterIncrement();
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

// ---- rows of slots ---------------------------------------------------------------------------------------------------

QueueRow queue_row(const Scan &scan) {
    return {DatumGetInt32(get(scan, queue_col::id)), get_name(scan, queue_col::name),
            get_interval(scan, queue_col::default_timeout), get_interval(scan, queue_col::retention),
            DatumGetFloat8(get(scan, queue_col::aging))};
}

SpecRow spec_row(const Scan &scan, With with) {
    return {DatumGetInt64(get(scan, spec_col::id)),
            DatumGetTimestampTz(get(scan, spec_col::created)),
            DatumGetInt32(get(scan, spec_col::queue)),
            DatumGetInt16(get(scan, spec_col::priority)),
            get_name(scan, spec_col::rn),
            with == With::spec ? get_jsonb(scan, spec_col::spec) : nullptr,
            get_time(scan, spec_col::not_before),
            get_int(scan, spec_col::max_attempts),
            scan.slot->tts_tid};
}

ReadyRow ready_row(const Scan &scan) {
    using namespace ready_col;
    return {DatumGetInt64(get(scan, id)),       DatumGetTimestampTz(get(scan, updated)),
            DatumGetInt32(get(scan, queue)),    DatumGetInt16(get(scan, priority)),
            get_carry(scan, attempt, failures, history, errors), scan.slot->tts_tid};
}

LeaseRow lease_row(const Scan &scan) {
    using namespace lease_col;
    return {DatumGetInt64(get(scan, id)),
            DatumGetTimestampTz(get(scan, deadline)),
            DatumGetTimestampTz(get(scan, leased)),
            DatumGetTimestampTz(get(scan, updated)),
            DatumGetInt64(get(scan, timeout)),
            DatumGetInt32(get(scan, queue)),
            DatumGetFloat4(get(scan, progress)),
            get_name(scan, owner),
            get_carry(scan, attempt, failures, history, errors),
            scan.slot->tts_tid};
}

WaitingRow waiting_row(const Scan &scan) {
    using namespace waiting_col;
    return {DatumGetInt64(get(scan, id)),
            get_time(scan, due),
            DatumGetTimestampTz(get(scan, updated)),
            DatumGetInt32(get(scan, queue)),
            get_carry(scan, attempt, failures, history, errors),
            scan.slot->tts_tid};
}

OutcomeRow outcome_row(const Scan &scan) {
    using namespace outcome_col;
    return {DatumGetInt64(get(scan, id)),
            DatumGetTimestampTz(get(scan, finished)),
            get_time(scan, leased),
            DatumGetInt32(get(scan, queue)),
            DatumGetFloat4(get(scan, progress)),
            status_of(get(scan, outcome_col::status)),
            get_name(scan, owner),
            get_carry(scan, attempt, failures, history, errors),
            get_jsonb(scan, result),
            get_jsonb(scan, metrics),
            scan.slot->tts_tid};
}

// ---- finding ---------------------------------------------------------------------------------------------------------

std::optional<QueueRow> find_queue(Store &store, const text *name) {
    const Key key[] = {{1, PointerGetDatum(name), F_TEXTEQ}};
    return look_up(store, TableId::queue, 1, key, queue_row);
}

std::optional<QueueRow> find_queue(Store &store, int32 id) {
    const Key key[] = {{1, Int32GetDatum(id), F_INT4EQ}};
    return look_up(store, TableId::queue, 0, key, queue_row);
}

text *queue_name(Store &store, int32 id) {
    if (store.last_queue != id) {
        MemoryContext caller = MemoryContextSwitchTo(store.context);
        const auto queue = find_queue(store, id);
        MemoryContextSwitchTo(caller);
        store.last_queue = id;
        store.last_queue_name = queue ? queue->name : nullptr;
    }
    return store.last_queue_name;
}

std::optional<SpecRow> find_spec(Store &store, const text *rn, With with) {
    const auto read = [with](const Scan &scan) { return spec_row(scan, with); };
    const Oid file = compat::file_number(store[TableId::spec].rel);
    const uint64 hash = hash_name(rn);
    const auto is_it = [rn](const Scan &scan) { return equal(DatumGetTextPP(get(scan, spec_col::rn)), rn); };
    if (auto row = look_at(store, TableId::spec, spec_hints.recall(file, hash), is_it, read))
        return row;
    const Key key[] = {{1, PointerGetDatum(rn), F_TEXTEQ}};
    auto row = look_up(store, TableId::spec, 1, key, read);
    if (row)
        spec_hints.remember(file, hash, row->tid);
    return row;
}

std::optional<SpecRow> find_spec(Store &store, int64 id, With with) {
    auto row = look_up_id(store, TableId::spec, id, [with](const Scan &scan) { return spec_row(scan, with); });
    // Whoever leases a task comes back to it by its name.
    if (row && store.mode != AccessShareLock)
        spec_hints.remember(compat::file_number(store[TableId::spec].rel), hash_name(row->rn), row->tid);
    return row;
}

std::optional<ReadyRow> find_ready(Store &store, int32 queue, int16 priority, int64 id) {
    const Key key[] = {{1, Int32GetDatum(queue), F_INT4EQ}, {2, Int16GetDatum(priority), F_INT2EQ}, {3, Int64GetDatum(id), F_INT8EQ}};
    return look_up(store, TableId::ready, 0, key, ready_row);
}

std::optional<LeaseRow> find_lease(Store &store, int64 id) {
    const Oid file = compat::file_number(store[TableId::lease].rel);
    const auto hint = lease_hints.recall(file, static_cast<uint64>(id));
    if (hint)
        prune(store[TableId::lease], *hint); // heartbeats leave many versions on the page
    const auto is_it = [id](const Scan &scan) { return DatumGetInt64(get(scan, lease_col::id)) == id; };
    if (auto row = look_at(store, TableId::lease, hint, is_it, lease_row))
        return row;
    return look_up_id(store, TableId::lease, id, lease_row);
}

std::optional<WaitingRow> find_waiting(Store &store, int64 id) {
    return look_up_id(store, TableId::waiting, id, waiting_row);
}

std::optional<OutcomeRow> find_outcome(Store &store, int64 id) {
    return look_up_id(store, TableId::outcome, id, outcome_row);
}

Scan scan_queues(Store &store) { return begin(store[TableId::queue], 0, store.snapshot, {}); }

Scan scan_ready(Store &store, int32 queue) {
    const Key key[] = {{1, Int32GetDatum(queue), F_INT4EQ}};
    return begin(store[TableId::ready], 0, store.snapshot, key);
}

namespace {

std::array<Key, 4> ready_range(int32 queue, int16 priority, int64 from, int64 before) {
    return {{{1, Int32GetDatum(queue), F_INT4EQ},
             {2, Int16GetDatum(priority), F_INT2EQ},
             {3, Int64GetDatum(from), F_INT8GE, BTGreaterEqualStrategyNumber},
             {3, Int64GetDatum(before), F_INT8LT, BTLessStrategyNumber}}};
}

} // namespace

Scan scan_ready_range(Store &store, int32 queue, int16 priority, int64 from, int64 before) {
    return begin(store[TableId::ready], 0, store.snapshot, ready_range(queue, priority, from, before));
}

Scan scan_ready_keys(Store &store, int32 queue, int16 priority, int64 from, int64 before) {
    return begin_keys(store[TableId::ready], 0, store.snapshot, ready_range(queue, priority, from, before));
}

Scan scan_by_id(Store &store, TableId table, ScanDirection direction) {
    return begin(store[table], 0, store.snapshot, {}, direction);
}

Scan scan_leases(Store &store) { return begin_whole(store[TableId::lease], store.snapshot); }

Scan scan_by_due(Store &store) { return begin(store[TableId::waiting], 1, store.snapshot, {}); }

Scan scan_outcomes(Store &store, int64 after) {
    const Key key[] = {{1, Int64GetDatum(after), F_INT8GT, BTGreaterStrategyNumber}};
    return begin(store[TableId::outcome], 0, store.snapshot, key);
}

Found next_ready_key(Scan &scan, int64 *id) {
    Datum key = 0;
    const Found found = next_key(scan, 3, &key);
    *id = DatumGetInt64(key);
    return found;
}

TimestampTz lease_deadline(const Scan &scan) { return DatumGetTimestampTz(get(scan, lease_col::deadline)); }

OutcomeKey outcome_key(const Scan &scan) {
    using namespace outcome_col;
    return {DatumGetInt64(get(scan, id)), DatumGetTimestampTz(get(scan, finished)), DatumGetInt32(get(scan, queue)),
            scan.slot->tts_tid};
}

// ---- inserting -------------------------------------------------------------------------------------------------------

namespace {

Values<8> spec_values(const SpecRow &row) {
    Values<8> values;
    values.set(spec_col::id, Int64GetDatum(row.id));
    values.set(spec_col::created, TimestampTzGetDatum(row.created));
    values.set(spec_col::queue, Int32GetDatum(row.queue));
    values.set(spec_col::priority, Int16GetDatum(row.priority));
    values.set_pointer(spec_col::rn, row.rn);
    values.set_pointer(spec_col::spec, row.spec);
    values.set_time(spec_col::not_before, row.not_before);
    if (row.max_attempts)
        values.set(spec_col::max_attempts, Int32GetDatum(*row.max_attempts));
    else
        values.set_null(spec_col::max_attempts);
    return values;
}

} // namespace

bool insert(Store &store, const SpecRow &row) {
    Values<8> values = spec_values(row);
    return insert_unique(store[TableId::spec], values.value, values.null);
}

void insert_made_up(Store &store, const SpecRow &row) {
    Values<8> values = spec_values(row);
    insert(store[TableId::spec], values.value, values.null);
}

void insert(Store &store, const ReadyRow &row) {
    using namespace ready_col;
    Values<8> values;
    values.set(id, Int64GetDatum(row.id));
    values.set(updated, TimestampTzGetDatum(row.updated));
    values.set(queue, Int32GetDatum(row.queue));
    values.set(priority, Int16GetDatum(row.priority));
    values.set_carry(row.carry, attempt, failures, history, errors);
    insert(store[TableId::ready], values.value, values.null);
}

void insert(Store &store, const LeaseRow &row) {
    using namespace lease_col;
    Values<12> values;
    values.set(id, Int64GetDatum(row.id));
    values.set(deadline, TimestampTzGetDatum(row.deadline));
    values.set(leased, TimestampTzGetDatum(row.leased));
    values.set(updated, TimestampTzGetDatum(row.updated));
    values.set(timeout, Int64GetDatum(row.timeout));
    values.set(queue, Int32GetDatum(row.queue));
    values.set(progress, Float4GetDatum(row.progress));
    values.set_pointer(owner, row.owner);
    values.set_carry(row.carry, attempt, failures, history, errors);
    insert(store[TableId::lease], values.value, values.null);
}

void insert(Store &store, const WaitingRow &row) {
    using namespace waiting_col;
    Values<8> values;
    values.set(id, Int64GetDatum(row.id));
    values.set_time(due, row.due);
    values.set(updated, TimestampTzGetDatum(row.updated));
    values.set(queue, Int32GetDatum(row.queue));
    values.set_carry(row.carry, attempt, failures, history, errors);
    insert(store[TableId::waiting], values.value, values.null);
}

void insert(Store &store, const OutcomeRow &row) {
    using namespace outcome_col;
    Values<13> values;
    values.set(id, Int64GetDatum(row.id));
    values.set(finished, TimestampTzGetDatum(row.finished));
    values.set_time(leased, row.leased);
    values.set(queue, Int32GetDatum(row.queue));
    values.set(progress, Float4GetDatum(row.progress));
    values.set(outcome_col::status, status_datum(store, row.status));
    values.set_pointer(owner, row.owner);
    values.set_carry(row.carry, attempt, failures, history, errors);
    values.set_pointer(result, row.result);
    values.set_pointer(metrics, row.metrics);
    insert(store[TableId::outcome], values.value, values.null);
}

Taken update_lease(Store &store, const LeaseRow &row) {
    using namespace lease_col;
    Table &table = store[TableId::lease];
    Values<12> values;
    std::array<bool, 12> replace{};
    values.set(deadline, TimestampTzGetDatum(row.deadline));
    values.set(updated, TimestampTzGetDatum(row.updated));
    values.set(progress, Float4GetDatum(row.progress));
    for (const int column : {deadline, updated, progress})
        replace[static_cast<std::size_t>(column - 1)] = true;
    TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(table.rel), &TTSOpsBufferHeapTuple);
    if (!fetch(table, row.tid, store.snapshot, slot))
        elog(ERROR, "lease " INT64_FORMAT " has vanished", row.id);
    ItemPointerData tid = row.tid;
    const Taken taken = update(table, slot, values.value, values.null, replace, &tid);
    ExecDropSingleTupleTableSlot(slot);
    if (taken == Taken::ok)
        lease_hints.remember(compat::file_number(table.rel), static_cast<uint64>(row.id), tid);
    return taken;
}

int64 next_task_id() { return nextval_internal(sequence("task_id_seq"), false); }
int64 next_worker() { return nextval_internal(sequence("worker_seq"), false); }

} // namespace scylla::store
