#include "store/rows.h"

#include "pg/text.h"
#include "store/hints.h"

namespace scylla::store {

namespace {

// Columns in the order of sql/tables.sql, 1-based as the server counts.
namespace queue_col {
enum : int {
    id = 1,
    name,
    created,
    default_timeout,
    retention,
    aging,
    max_attempts,
    retry,
    retention_completed,
    retention_aborted,
    retention_cancelled,
    paused,
    max_running,
    events,
    notify,
    owner,
    submitters,
    workers,
    viewers,
    admins
};
}
namespace spec_col {
enum : int {
    id = 1,
    created,
    queue,
    priority,
    rn,
    spec,
    not_before,
    max_attempts,
    gates,
    plan,
    retry,
    dedup_key,
    key
};
}
namespace ready_col {
enum : int { id = 1, updated, queue, attempt, failures, priority, history, errors };
}
namespace lease_col {
enum : int { id = 1, deadline, leased, updated, timeout, queue, attempt, failures, progress, owner, history, errors, permit };
}
namespace waiting_col {
enum : int { id = 1, due, updated, queue, attempt, failures, history, errors };
}
namespace event_col {
enum : int { position = 1, id, time, queue, attempt, failures, status, queue_name, rn, worker };
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
namespace gate_col {
enum : int { task = 1, provider, ord, kind, on_failure };
}
namespace plan_col {
enum : int { id = 1, created, opened, finished, cancelled, failed, owner, name, spec };
}
namespace dedup_col {
enum : int { queue = 1, id, key };
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

ArrayType *get_array(const Scan &scan, int column) {
    bool null = false;
    const Datum value = slot_getattr(scan.slot, column, &null);
    return null ? nullptr : DatumGetArrayTypePCopy(value);
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

std::optional<int64> get_id(const Scan &scan, int column) {
    bool null = false;
    const Datum value = slot_getattr(scan.slot, column, &null);
    return null ? std::nullopt : std::optional(DatumGetInt64(value));
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

// The row of a unique key, read by `read`. The direction is that in which to go through the versions of the row that the index
// knows: they are in the order of their places.
template <typename Read>
auto look_up(Store &store, TableId table, std::size_t index, std::span<const Key> keys, Read read,
             ScanDirection direction = ForwardScanDirection)
    -> std::optional<decltype(read(std::declval<const Scan &>()))> {
    Lookup &lookup = store.lookups[static_cast<std::size_t>(table)][index];
    if (lookup.open)
        restart(lookup.scan, keys);
    else {
        MemoryContext caller = MemoryContextSwitchTo(store.context);
        lookup = {true, begin(store[table], index, store.snapshot, keys, direction)};
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
    void set_int(int column, std::optional<int32> number) {
        if (number)
            set(column, Int32GetDatum(*number));
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
    const Scan here{nullptr, nullptr, slot, ForwardScanDirection, CurrentMemoryContext, true, 0};
    if (fetch(store[table], *tid, store.snapshot, slot) && is_it(here))
        row = read(here);
    ExecDropSingleTupleTableSlot(slot);
    return row;
}

uint64 hash_name(const text *name) {
    return hash_bytes_extended(reinterpret_cast<const unsigned char *>(view(name).data()),
                               static_cast<int>(view(name).size()), 0);
}

template <typename Read>
auto look_up_id(Store &store, TableId table, int64 id, Read read, ScanDirection direction = ForwardScanDirection) {
    const Key key[] = {{1, Int64GetDatum(id), F_INT8EQ}};
    return look_up(store, table, 0, key, read, direction);
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
    if (store.specs.open)
        end(store.specs.scan);
    store.specs.open = false;
    store.spec_shown = 0;
}

} // namespace

namespace {

Store make_store(LOCKMODE mode) {
    Store store{};
    store.mode = mode;
    store.context = CurrentMemoryContext;
    return store;
}

} // namespace

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
    store.snapshot = RegisterSnapshot(GetLatestSnapshot());
    store.last_queue = {};
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

void note_ended(Store &store, const Ended &ended) {
    EndedList &list = store.ended;
    if (list.count == list.room) {
        list.room = Max(list.room * 2, std::size_t{8});
        list.rows = static_cast<Ended *>(list.rows == nullptr ? MemoryContextAlloc(store.context, list.room * sizeof(Ended))
                                                              : repalloc_huge(list.rows, list.room * sizeof(Ended)));
    }
    list.rows[list.count++] = ended;
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
    using namespace queue_col;
    return {DatumGetInt32(get(scan, id)),
            get_name(scan, name),
            get_interval(scan, default_timeout),
            DatumGetFloat8(get(scan, aging)),
            get_int(scan, max_attempts),
            DatumGetBool(get(scan, paused)),
            get_int(scan, max_running),
            DatumGetBool(get(scan, events)),
            DatumGetBool(get(scan, notify)),
            pstrdup(NameStr(*DatumGetName(get(scan, owner)))),
            {get_array(scan, submitters), get_array(scan, workers), get_array(scan, viewers), get_array(scan, admins)},
            scan.slot->tts_tid};
}

QueueSettings queue_settings(const Scan &scan) {
    using namespace queue_col;
    return {get_interval(scan, default_timeout),     get_interval(scan, retention),
            DatumGetFloat8(get(scan, aging)),        get_int(scan, max_attempts),
            get_jsonb(scan, retry),                  get_interval(scan, retention_completed),
            get_interval(scan, retention_aborted),   get_interval(scan, retention_cancelled),
            DatumGetBool(get(scan, paused)),         get_int(scan, max_running),
            DatumGetBool(get(scan, events)),         DatumGetBool(get(scan, notify))};
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
            get_int(scan, spec_col::gates),
            get_id(scan, spec_col::plan),
            get_jsonb(scan, spec_col::retry),
            get_name(scan, spec_col::dedup_key),
            get_name(scan, spec_col::key),
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
            get_name(scan, permit),
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

EventRow event_row(const Scan &scan) {
    using namespace event_col;
    return {DatumGetInt64(get(scan, position)),
            DatumGetInt64(get(scan, id)),
            DatumGetTimestampTz(get(scan, event_col::time)),
            DatumGetInt32(get(scan, queue)),
            DatumGetInt32(get(scan, attempt)),
            DatumGetInt32(get(scan, failures)),
            status_of(get(scan, event_col::status)),
            get_name(scan, event_col::queue_name),
            get_name(scan, rn),
            get_name(scan, worker),
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

GateRow gate_row(const Scan &scan) {
    using namespace gate_col;
    return {DatumGetInt64(get(scan, task)),
            DatumGetInt64(get(scan, provider)),
            DatumGetInt32(get(scan, ord)),
            static_cast<GateKind>(DatumGetChar(get(scan, kind))),
            static_cast<OnFailure>(DatumGetChar(get(scan, on_failure))),
            scan.slot->tts_tid};
}

PlanRow plan_row(const Scan &scan) {
    using namespace plan_col;
    return {DatumGetInt64(get(scan, id)), get_time(scan, opened), get_time(scan, finished), DatumGetBool(get(scan, cancelled)),
            DatumGetBool(get(scan, failed)), pstrdup(NameStr(*DatumGetName(get(scan, owner)))), get_name(scan, name)};
}

// ---- finding ---------------------------------------------------------------------------------------------------------

namespace {

// A queue by its hint, else by the index. It becomes the last queue.
template <typename Is> std::optional<QueueRow> find_queue(Store &store, uint64 hint, Is is_it, std::size_t index, const Key &key) {
    MemoryContext caller = MemoryContextSwitchTo(store.context);
    const Oid file = compat::file_number(store[TableId::queue].rel);
    auto row = look_at(store, TableId::queue, queue_hints.recall(file, hint), is_it, queue_row);
    if (!row) {
        row = look_up(store, TableId::queue, index, {&key, 1}, queue_row);
        if (row)
            queue_hints.remember(file, hint, row->tid);
    }
    if (row)
        store.last_queue = {row->id, row, {}};
    MemoryContextSwitchTo(caller);
    return row;
}

} // namespace

std::optional<QueueRow> find_queue(Store &store, const text *name) {
    const auto is_it = [name](const Scan &scan) { return equal(DatumGetTextPP(get(scan, queue_col::name)), name); };
    return find_queue(store, hash_name(name), is_it, 1, {1, PointerGetDatum(name), F_TEXTEQ});
}

std::optional<QueueSettings> find_settings(Store &store, int32 queue) {
    const Key key[] = {{1, Int32GetDatum(queue), F_INT4EQ}};
    return look_up(store, TableId::queue, 0, key, queue_settings);
}

LastQueue &queue_of(Store &store, int32 id) {
    if (store.last_queue.id != id) {
        const auto is_it = [id](const Scan &scan) { return DatumGetInt32(get(scan, queue_col::id)) == id; };
        if (!find_queue(store, static_cast<uint64>(id), is_it, 0, {1, Int32GetDatum(id), F_INT4EQ}))
            store.last_queue = {id, {}, {}};
    }
    return store.last_queue;
}

std::optional<PlanRow> find_plan(Store &store, const text *name) {
    const Key key[] = {{1, PointerGetDatum(name), F_TEXTEQ}};
    return look_up(store, TableId::plan, 1, key, plan_row);
}

std::optional<PlanRow> find_plan(Store &store, int64 id) { return look_up_id(store, TableId::plan, id, plan_row); }

text *plan_name(Store &store, int64 id) {
    if (store.last_plan != id) {
        MemoryContext caller = MemoryContextSwitchTo(store.context);
        const auto plan = find_plan(store, id);
        MemoryContextSwitchTo(caller);
        store.last_plan = id;
        store.last_plan_name = plan ? plan->name : nullptr;
    }
    return store.last_plan_name;
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

namespace {

// Whoever leases a task comes back to it by its name.
void expect(Store &store, const SpecRow &row) {
    if (store.mode != AccessShareLock)
        spec_hints.remember(compat::file_number(store[TableId::spec].rel), hash_name(row.rn), row.tid);
}

} // namespace

std::optional<SpecRow> find_spec(Store &store, int64 id, With with) {
    auto row = look_up_id(store, TableId::spec, id, [with](const Scan &scan) { return spec_row(scan, with); });
    if (row)
        expect(store, *row);
    return row;
}

std::optional<SpecRow> find_next_spec(Store &store, int64 id, With with) {
    constexpr int k_steps = 8; // a descent costs about as much
    Lookup &specs = store.specs;
    const auto step = [&] {
        store.spec_shown = next(specs.scan) ? DatumGetInt64(get(specs.scan, spec_col::id)) : 0;
        return store.spec_shown;
    };
    if (store.spec_shown != 0 && store.spec_shown < id)
        for (int i = 0; i < k_steps && step() != 0 && store.spec_shown < id; i++)
            ;
    if (store.spec_shown != id) {
        const Key key[] = {{1, Int64GetDatum(id), F_INT8GE, BTGreaterEqualStrategyNumber}};
        if (specs.open)
            restart(specs.scan, key);
        else {
            MemoryContext caller = MemoryContextSwitchTo(store.context);
            specs = {true, begin(store[TableId::spec], 0, store.snapshot, key)};
            MemoryContextSwitchTo(caller);
        }
        step();
    }
    if (store.spec_shown != id)
        return std::nullopt;
    const SpecRow row = spec_row(specs.scan, with);
    expect(store, row);
    return row;
}

std::optional<ReadyRow> find_ready(Store &store, int32 queue, int16 priority, int64 id) {
    const Key key[] = {{1, Int32GetDatum(queue), F_INT4EQ}, {2, Int16GetDatum(priority), F_INT2EQ}, {3, Int64GetDatum(id), F_INT8EQ}};
    return look_up(store, TableId::ready, 0, key, ready_row);
}

std::optional<LeaseRow> find_lease(Store &store, int64 id) {
    const Oid file = compat::file_number(store[TableId::lease].rel);
    const auto hint = lease_hints.recall(file, static_cast<uint64>(id));
    const auto is_it = [id](const Scan &scan) { return DatumGetInt64(get(scan, lease_col::id)) == id; };
    if (auto row = look_at(store, TableId::lease, hint, is_it, lease_row))
        return row;
    // Backwards: while a snapshot holds back vacuum, heartbeats make the table grow, and the newest version is the last.
    return look_up_id(store, TableId::lease, id, lease_row, BackwardScanDirection);
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

std::array<Key, 4> ready_range(int32 queue, int16 priority, int64 low, int64 high) {
    return {{{1, Int32GetDatum(queue), F_INT4EQ},
             {2, Int16GetDatum(priority), F_INT2EQ},
             {3, Int64GetDatum(low), F_INT8GE, BTGreaterEqualStrategyNumber},
             {3, Int64GetDatum(high), F_INT8LE, BTLessEqualStrategyNumber}}};
}

// The key on the id lets everything pass: a scan keeps its number of keys when it is restarted.
std::array<Key, 3> ready_from_priority(int32 queue, int16 priority) {
    return {{{1, Int32GetDatum(queue), F_INT4EQ},
             {2, Int16GetDatum(priority), F_INT2LE, BTLessEqualStrategyNumber},
             {3, Int64GetDatum(PG_INT64_MIN), F_INT8GE, BTGreaterEqualStrategyNumber}}};
}

} // namespace

Scan scan_ready_range(Store &store, int32 queue, int16 priority, int64 low, int64 high) {
    return begin(store[TableId::ready], 0, store.snapshot, ready_range(queue, priority, low, high));
}

void restart_ready_range(Scan &scan, int32 queue, int16 priority, int64 low, int64 high) {
    restart(scan, ready_range(queue, priority, low, high));
}

Scan scan_ready_keys(Store &store, int32 queue, int16 priority) {
    return begin_keys(store[TableId::ready], 0, store.snapshot, ready_from_priority(queue, priority));
}

void restart_ready_keys(Scan &scan, int32 queue, int16 priority) { restart(scan, ready_from_priority(queue, priority)); }

void restart_ready_keys(Scan &scan, int32 queue, int16 priority, int64 from) {
    const Key keys[] = {{1, Int32GetDatum(queue), F_INT4EQ},
                        {2, Int16GetDatum(priority), F_INT2EQ},
                        {3, Int64GetDatum(from), F_INT8GE, BTGreaterEqualStrategyNumber}};
    restart(scan, keys);
}

Scan scan_by_id(Store &store, TableId table, ScanDirection direction) {
    return begin(store[table], 0, store.snapshot, {}, direction);
}

Scan scan_leases(Store &store) { return begin_whole(store[TableId::lease], store.snapshot); }

Scan scan_by_due(Store &store) { return begin(store[TableId::waiting], 1, store.snapshot, {}); }

Scan scan_events_at(Store &store, int64 position, int64 after) {
    const Key keys[] = {{1, Int64GetDatum(position), F_INT8EQ}, {2, Int64GetDatum(after), F_INT8GT, BTGreaterStrategyNumber}};
    return begin(store[TableId::event], 0, store.snapshot, keys);
}

Scan scan_events(Store &store, int64 from) {
    const Key key[] = {{1, Int64GetDatum(from), F_INT8GE, BTGreaterEqualStrategyNumber}};
    return begin(store[TableId::event], 0, store.snapshot, key);
}

namespace {

Scan scan_after(Store &store, TableId table, int64 after) {
    const Key key[] = {{1, Int64GetDatum(after), F_INT8GT, BTGreaterStrategyNumber}};
    return begin(store[table], 0, store.snapshot, key);
}

} // namespace

Scan scan_outcomes(Store &store, int64 after) { return scan_after(store, TableId::outcome, after); }
Scan scan_waiting(Store &store, int64 after) { return scan_after(store, TableId::waiting, after); }
Scan scan_plans(Store &store, int64 after) { return scan_after(store, TableId::plan, after); }

Scan scan_gates(Store &store, int64 task) {
    const Key key[] = {{1, Int64GetDatum(task), F_INT8EQ}};
    return begin(store[TableId::gate], 0, store.snapshot, key);
}

Scan scan_dependants(Store &store, int64 provider) {
    const Key key[] = {{1, Int64GetDatum(provider), F_INT8EQ}};
    return begin(store[TableId::gate], 1, store.snapshot, key);
}

Found next_ready_key(Scan &scan, ReadyKey *key) {
    const Found found = next_key(scan);
    if (found != Found::end)
        *key = {DatumGetInt16(key_column(scan, 2)), DatumGetInt64(key_column(scan, 3))};
    return found;
}

TimestampTz lease_deadline(const Scan &scan) { return DatumGetTimestampTz(get(scan, lease_col::deadline)); }

OutcomeKey outcome_key(const Scan &scan) {
    using namespace outcome_col;
    return {DatumGetInt64(get(scan, id)), DatumGetTimestampTz(get(scan, finished)), DatumGetInt32(get(scan, queue)),
            get(scan, outcome_col::status), scan.slot->tts_tid};
}

Scan scan_all(Store &store, TableId table) { return begin_whole(store[table], store.snapshot); }

model::Status outcome_status(Store &store, const Scan &scan) {
    const Datum status = get(scan, outcome_col::status);
    for (const model::Status final : {model::Status::completed, model::Status::aborted, model::Status::cancelled})
        if (status_datum(store, final) == status)
            return final;
    elog(ERROR, "unexpected status %u in task_outcome", DatumGetObjectId(status));
}

// ---- inserting -------------------------------------------------------------------------------------------------------

namespace {

Values<13> spec_values(const SpecRow &row) {
    Values<13> values;
    values.set(spec_col::id, Int64GetDatum(row.id));
    values.set(spec_col::created, TimestampTzGetDatum(row.created));
    values.set(spec_col::queue, Int32GetDatum(row.queue));
    values.set(spec_col::priority, Int16GetDatum(row.priority));
    values.set_pointer(spec_col::rn, row.rn);
    values.set_pointer(spec_col::spec, row.spec);
    values.set_time(spec_col::not_before, row.not_before);
    values.set_int(spec_col::max_attempts, row.max_attempts);
    values.set_int(spec_col::gates, row.gates);
    if (row.plan)
        values.set(spec_col::plan, Int64GetDatum(*row.plan));
    else
        values.set_null(spec_col::plan);
    values.set_pointer(spec_col::retry, row.retry);
    values.set_pointer(spec_col::dedup_key, row.dedup_key);
    values.set_pointer(spec_col::key, row.key);
    return values;
}

} // namespace

bool insert(Store &store, const SpecRow &row) {
    Values<13> values = spec_values(row);
    return insert_unique(store[TableId::spec], values.value, values.null);
}

void insert_made_up(Store &store, const SpecRow &row) {
    Values<13> values = spec_values(row);
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
    Values<13> values;
    values.set(id, Int64GetDatum(row.id));
    values.set(deadline, TimestampTzGetDatum(row.deadline));
    values.set(leased, TimestampTzGetDatum(row.leased));
    values.set(updated, TimestampTzGetDatum(row.updated));
    values.set(timeout, Int64GetDatum(row.timeout));
    values.set(queue, Int32GetDatum(row.queue));
    values.set(progress, Float4GetDatum(row.progress));
    values.set_pointer(owner, row.owner);
    values.set_carry(row.carry, attempt, failures, history, errors);
    values.set_pointer(permit, row.permit);
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

void insert(Store &store, const EventRow &row) {
    using namespace event_col;
    Values<10> values;
    values.set(position, Int64GetDatum(row.position));
    values.set(id, Int64GetDatum(row.id));
    values.set(event_col::time, TimestampTzGetDatum(row.time));
    values.set(queue, Int32GetDatum(row.queue));
    values.set(attempt, Int32GetDatum(row.attempt));
    values.set(failures, Int32GetDatum(row.failures));
    values.set(event_col::status, status_datum(store, row.status));
    values.set_pointer(event_col::queue_name, row.queue_name);
    values.set_pointer(rn, row.rn);
    values.set_pointer(worker, row.worker);
    insert(store[TableId::event], values.value, values.null);
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

void insert(Store &store, const GateRow &row) {
    using namespace gate_col;
    Values<5> values;
    values.set(task, Int64GetDatum(row.task));
    values.set(provider, Int64GetDatum(row.provider));
    values.set(ord, Int32GetDatum(row.ord));
    values.set(kind, CharGetDatum(static_cast<char>(row.kind)));
    values.set(on_failure, CharGetDatum(static_cast<char>(row.on_failure)));
    insert(store[TableId::gate], values.value, values.null);
}

std::optional<int64> find_dedup_key(Store &store, int32 queue, const text *key) {
    const Key keys[] = {{1, Int32GetDatum(queue), F_INT4EQ}, {2, PointerGetDatum(key), F_TEXTEQ}};
    return look_up(store, TableId::dedup, 0, keys, [](const Scan &scan) { return DatumGetInt64(get(scan, dedup_col::id)); });
}

void remove_dedup_key(Store &store, const SpecRow &row) {
    // With a snapshot of its own: the store's may be older than the task, if a provider's failure ends it.
    Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
    const Key key[] = {{1, Int32GetDatum(row.queue), F_INT4EQ}, {2, PointerGetDatum(row.dedup_key), F_TEXTEQ}};
    Scan scan = begin(store[TableId::dedup], 0, snapshot, key);
    if (!next(scan) || DatumGetInt64(get(scan, dedup_col::id)) != row.id)
        elog(ERROR, "the deduplication key of task " INT64_FORMAT " is missing", row.id);
    if (remove(store[TableId::dedup], scan.slot->tts_tid, snapshot, true) != Taken::ok)
        elog(ERROR, "the deduplication key of task " INT64_FORMAT " was removed by somebody else", row.id);
    end(scan);
    UnregisterSnapshot(snapshot);
}

Taken update_lease(Store &store, const LeaseRow &row) {
    using namespace lease_col;
    Table &table = store[TableId::lease];
    Values<13> values;
    std::array<bool, 13> replace{};
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

namespace {

// Ids, each once.
struct Ids {
    int64 *value;
    std::size_t count;
    std::size_t room;
};

void add(Ids &ids, int64 id) {
    if (ids.count == ids.room) {
        ids.room = Max(ids.room * 2, std::size_t{64});
        const std::size_t bytes = ids.room * sizeof(int64);
        ids.value = static_cast<int64 *>(ids.value == nullptr ? palloc(bytes) : repalloc_huge(ids.value, bytes));
    }
    ids.value[ids.count++] = id;
}

Scan scan_permits(Store &store, int32 queue, Snapshot snapshot) {
    const Key key[] = {{1, Int32GetDatum(queue), F_INT4EQ}};
    return begin(store[TableId::lease], 1, snapshot, key);
}

} // namespace

// Why this counts every lease that is held, or may be once its transaction commits, whoever heartbeats or ends leases meanwhile:
// nobody adds a lease while we count, so all of them are in the index.
//   * The first scan finds the leases of transactions that are in progress while it runs: that their inserter is in progress is
//     true of the row from the first look to the last, whatever else happens to it.
//   * The snapshot is taken after that. Of a lease whose inserter it sees as committed the second scan finds exactly one version
//     unless the lease has ended by then, as of any row. Whoever is in progress for the snapshot was in progress in the first scan.
// A single scan with a dirty snapshot would not do: a heartbeat that commits meanwhile may move a row from where the scan has not
// been to where it has.
int64 count_permits(Store &store, int32 queue) {
    Ids ids{};
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    Scan scan = scan_permits(store, queue, &dirty);
    while (next(scan))
        if (TransactionIdIsValid(dirty.xmin))
            add(ids, DatumGetInt64(get(scan, lease_col::id)));
    end(scan);
    refresh(store);
    scan = scan_permits(store, queue, store.snapshot);
    while (next(scan))
        add(ids, DatumGetInt64(get(scan, lease_col::id)));
    end(scan);
    std::sort(ids.value, ids.value + ids.count);
    return std::unique(ids.value, ids.value + ids.count) - ids.value;
}

void give_permits(Store &store, int32 queue, text *permit) {
    Table &table = store[TableId::lease];
    Values<13> values;
    std::array<bool, 13> replace{};
    values.set_pointer(lease_col::permit, permit);
    replace[lease_col::permit - 1] = true;
    Scan scan = begin_whole(table, store.snapshot);
    while (next(scan)) {
        if (DatumGetInt32(get(scan, lease_col::queue)) != queue || get_name(scan, lease_col::permit) != nullptr)
            continue;
        ItemPointerData tid;
        if (update(table, scan.slot, values.value, values.null, replace, &tid) != Taken::ok)
            elog(ERROR, "a lease of queue %d was changed while it was given a permit", queue);
    }
    end(scan);
}

Taken update_settings(Store &store, const QueueRow &queue, const QueueSettings &settings) {
    using namespace queue_col;
    Table &table = store[TableId::queue];
    Values<20> values;
    std::array<bool, 20> replace{};
    for (int column = default_timeout; column <= notify; column++)
        replace[static_cast<std::size_t>(column - 1)] = true;
    values.set_pointer(default_timeout, settings.default_timeout);
    values.set_pointer(retention, settings.retention);
    values.set(aging, Float8GetDatum(settings.aging));
    values.set_int(max_attempts, settings.max_attempts);
    values.set_pointer(retry, settings.retry);
    values.set_pointer(retention_completed, settings.retention_completed);
    values.set_pointer(retention_aborted, settings.retention_aborted);
    values.set_pointer(retention_cancelled, settings.retention_cancelled);
    values.set(paused, BoolGetDatum(settings.paused));
    values.set_int(max_running, settings.max_running);
    values.set(events, BoolGetDatum(settings.events));
    values.set(notify, BoolGetDatum(settings.notify));
    TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(table.rel), &TTSOpsBufferHeapTuple);
    if (!fetch(table, queue.tid, store.snapshot, slot))
        elog(ERROR, "queue %d has vanished", queue.id);
    ItemPointerData tid = queue.tid;
    const Taken taken = update(table, slot, values.value, values.null, replace, &tid);
    ExecDropSingleTupleTableSlot(slot);
    return taken;
}

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
