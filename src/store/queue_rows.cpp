#include "store/row_access.h"

namespace scylla::store {

namespace {

OnFull on_full_of(const Scan &scan) {
    const char *shed = k_on_full_names[static_cast<std::size_t>(OnFull::shed)];
    return view(DatumGetTextPP(get(scan, queue_col::on_full))) == shed ? OnFull::shed : OnFull::error;
}

} // namespace

QueueRow queue_row(const Scan &scan) {
    using namespace queue_col;
    slot_getallattrs(scan.slot);
    return {DatumGetInt32(get(scan, id)),
            get_name(scan, name),
            get_interval(scan, default_timeout),
            DatumGetFloat8(get(scan, aging)),
            get_int(scan, max_attempts),
            DatumGetBool(get(scan, paused)),
            get_int(scan, max_running),
            DatumGetBool(get(scan, events)),
            DatumGetBool(get(scan, notify)),
            get_int(scan, max_running_per_key),
            get_int(scan, max_depth),
            on_full_of(scan),
            !is_null(scan, key_weights),
            get_jsonb(scan, rate),
            get_jsonb(scan, rate_per_key),
            pstrdup(NameStr(*DatumGetName(get(scan, owner)))),
            {get_array(scan, submitters), get_array(scan, workers), get_array(scan, viewers), get_array(scan, admins),
             get_array(scan, dependers)},
            scan.slot->tts_tid,
            get_name(scan, handler)};
}

QueueSettings queue_settings(const Scan &scan) {
    using namespace queue_col;
    slot_getallattrs(scan.slot);
    return {get_interval(scan, default_timeout),
            get_interval(scan, retention),
            DatumGetFloat8(get(scan, aging)),
            get_int(scan, max_attempts),
            get_jsonb(scan, retry),
            get_interval(scan, retention_completed),
            get_interval(scan, retention_aborted),
            get_interval(scan, retention_cancelled),
            DatumGetBool(get(scan, paused)),
            get_int(scan, max_running),
            DatumGetBool(get(scan, events)),
            DatumGetBool(get(scan, notify)),
            get_int(scan, max_running_per_key),
            get_int(scan, max_depth),
            on_full_of(scan),
            get_jsonb(scan, key_weights),
            get_jsonb(scan, rate),
            get_jsonb(scan, rate_per_key),
            get_name(scan, handler)};
}

// ---- looking up a queue --------------------------------------------------------------------------------------------
//
// Every call needs its queue, and queues seldom change. So a process keeps the rows that it has read, as long as it
// hears of no change (table_changes()); that spares the table, and with it a lock.
//
// It hears of a change a moment after the changing transaction has woken those who wait. So a queue that holds back
// tasks, for whose change somebody may wait, is read each time: he would find it as it was, and go back to sleep. The
// other way round the moment does no harm: who leases from a queue that has just been paused was a moment earlier. What
// must not overlap with the use of the old settings is kept off by locks (alter_queue(), drop_queue()), which are given
// up later.

namespace {

bool holds_back(const QueueRow &row) {
    return row.paused || row.max_running || row.max_running_per_key || row.rate != nullptr ||
           row.rate_per_key != nullptr;
}

struct Known {
    uint64 changes;        // table_changes() when it was read; 0: never
    MemoryContext context; // in which the row is; null: none has been here yet
    QueueRow row;
};
// By the hash of the name, and by the id.
constinit std::array<Known, 256> known_queues{};

Known &place_of(uint64 hint) noexcept { return known_queues[hint % known_queues.size()]; }

template <typename T> T *copy(const T *value, int size) {
    return value == nullptr ? nullptr
                            : reinterpret_cast<T *>(DatumGetPointer(datumCopy(PointerGetDatum(value), false, size)));
}

QueueRow copy(const QueueRow &row) {
    QueueRow own = row;
    own.name = copy(row.name, -1);
    own.default_timeout = copy(row.default_timeout, sizeof(Interval));
    own.rate = copy(row.rate, -1);
    own.rate_per_key = copy(row.rate_per_key, -1);
    own.owner = pstrdup(row.owner);
    for (ArrayType *&roles : own.grantees)
        roles = copy(roles, -1);
    own.handler = copy(row.handler, -1);
    return own;
}

// Nothing can have changed since before the snapshot with which it was read, or a change is still to be heard of.
void keep(const Store &store, uint64 hint, const QueueRow &row) {
    if (holds_back(row) || store.changes != table_changes())
        return;
    Known &place = place_of(hint);
    place.changes = 0;
    if (place.context == nullptr)
        place.context = AllocSetContextCreate(TopMemoryContext, "scylla queue", ALLOCSET_SMALL_SIZES);
    MemoryContextReset(place.context);
    MemoryContext caller = MemoryContextSwitchTo(place.context);
    place.row = copy(row);
    MemoryContextSwitchTo(caller);
    place.changes = store.changes;
}

// A queue as this process knows it, else by the index. It becomes the last queue.
template <typename Is>
std::optional<QueueRow> find_queue(Store &store, uint64 hint, Is is_it, std::size_t index, const Match &key) {
    MemoryContext caller = MemoryContextSwitchTo(store.context);
    const Known &known = place_of(hint);
    std::optional<QueueRow> row;
    if (known.changes != 0 && known.changes == table_changes() && !store.reads_queues && is_it(known.row))
        row = copy(known.row);
    else if ((row = look_up(store, TableId::queue, index, {&key, 1}, queue_row)))
        keep(store, hint, *row);
    if (row)
        store.last_queue = {row->id, row, {}};
    MemoryContextSwitchTo(caller);
    return row;
}

} // namespace

std::optional<QueueRow> find_queue(Store &store, const text *name) {
    const auto is_it = [name](const QueueRow &row) { return equal(row.name, name); };
    return find_queue(store, hash_name(name), is_it, 1, {1, PointerGetDatum(name), F_TEXTEQ});
}

std::optional<QueueSettings> find_settings(Store &store, int32 queue) {
    const Match key[] = {{1, Int32GetDatum(queue), F_INT4EQ}};
    return look_up(store, TableId::queue, 0, key, queue_settings);
}

LastQueue &queue_of(Store &store, int32 id) {
    if (store.last_queue.id != id) {
        const auto is_it = [id](const QueueRow &row) { return row.id == id; };
        if (!find_queue(store, static_cast<uint64>(id), is_it, 0, {1, Int32GetDatum(id), F_INT4EQ}))
            store.last_queue = {id, {}, {}};
    }
    return store.last_queue;
}

Scan scan_queues(Store &store) { return begin(store[TableId::queue], 0, store.snapshot, {}); }

Taken update_settings(Store &store, const QueueRow &queue, const QueueSettings &settings) {
    using namespace queue_col;
    Table &table = store[TableId::queue];
    Values<queue_col::k_count> values;
    std::array<bool, queue_col::k_count> replace{};
    for (int column = default_timeout; column < owner; column++)
        replace[static_cast<std::size_t>(column - 1)] = true;
    replace[handler - 1] = true;
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
    values.set_int(max_running_per_key, settings.max_running_per_key);
    values.set_int(max_depth, settings.max_depth);
    values.set(on_full, CStringGetTextDatum(k_on_full_names[static_cast<std::size_t>(settings.on_full)]));
    values.set_pointer(key_weights, settings.key_weights);
    values.set_pointer(rate, settings.rate);
    values.set_pointer(rate_per_key, settings.rate_per_key);
    values.set_pointer(handler, settings.handler);
    TupleTableSlot *slot = slot_of(store, TableId::queue);
    if (!fetch(table, queue.tid, store.snapshot, slot))
        elog(ERROR, "queue %d has vanished", queue.id);
    tell_changed(TableId::queue);
    ItemPointerData tid = queue.tid;
    return update(table, slot, values.value, values.null, replace, &tid);
}

Taken remove_queue(Store &store, const QueueRow &queue) {
    tell_changed(TableId::queue);
    return remove(store[TableId::queue], queue.tid, store.snapshot, true);
}

} // namespace scylla::store
