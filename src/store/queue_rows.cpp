#include "pg/hash.h"
#include "store/row_access.h"

namespace scylla::store {

namespace {

// A setting has the name of its column.
consteval std::array<int, k_queue_settings.size()> find_columns() {
    std::array<int, k_queue_settings.size()> columns{};
    for (std::size_t place = 0; place < columns.size(); place++)
        while (std::string_view(queue_col::k_columns[static_cast<std::size_t>(columns[place]++)].name) !=
               k_queue_settings[place].name)
            continue;
    return columns;
}
constexpr std::array k_setting_columns = find_columns();

} // namespace

namespace {

OnFull on_full_of(const Scan &scan) {
    const char *shed = k_on_full_names[static_cast<std::size_t>(OnFull::shed)];
    return view(DatumGetTextPP(get(scan, queue_col::on_full))) == shed ? OnFull::shed : OnFull::error;
}

SettingSet pending_of(const Scan &scan) {
    SettingSet pending{};
    if (is_null(scan, queue_col::pending))
        return pending;
    Datum *name = nullptr;
    int count = 0;
    deconstruct_array(get_array(scan, queue_col::pending), TEXTOID, -1, false, TYPALIGN_INT, &name, nullptr, &count);
    for (int i = 0; i < count; i++)
        for (std::size_t place = 0; place < k_queue_settings.size(); place++)
            if (view(DatumGetTextPP(name[i])) == k_queue_settings[place].name)
                pending.add(place);
    return pending;
}

Datum names_of(SettingSet pending) {
    std::array<Datum, k_queue_settings.size()> name{};
    int count = 0;
    for (std::size_t place = 0; place < k_queue_settings.size(); place++)
        if (pending.has(place))
            name[static_cast<std::size_t>(count++)] = CStringGetTextDatum(k_queue_settings[place].name);
    return PointerGetDatum(construct_array(name.data(), count, TEXTOID, -1, false, TYPALIGN_INT));
}

// The transaction in progress that is removing the row.
TransactionId dropper_of(const Scan &scan) {
    const HeapTupleHeader header = header_of(scan);
    if ((header->t_infomask & HEAP_XMAX_INVALID) != 0)
        return InvalidTransactionId;
    const Buffer buffer = reinterpret_cast<const BufferHeapTupleTableSlot *>(scan.slot)->buffer;
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    const bool is_removed =
        !HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask) && ItemPointerEquals(&header->t_ctid, &scan.slot->tts_tid);
    const TransactionId xmax = is_removed ? HeapTupleHeaderGetUpdateXid(header) : InvalidTransactionId;
    LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
    if (!is_removed)
        return InvalidTransactionId;
    return TransactionIdIsCurrentTransactionId(xmax) || !TransactionIdIsInProgress(xmax) ? InvalidTransactionId : xmax;
}

// Pending settings do not bind calls yet.
void hold_off(QueueRow &row) {
    for (const auto &[place, bound] : {std::pair{place_of("max_running"), &QueueRow::max_running},
                                       std::pair{place_of("max_running_per_key"), &QueueRow::max_running_per_key},
                                       std::pair{place_of("max_depth"), &QueueRow::max_depth}})
        if (row.pending.has(place) && row.*bound)
            row.*bound = k_no_bound;
    row.keeps_keys = goes_by_keys(row);
    if (row.pending.has(place_of("key_weights")))
        row.is_shared = false;
    if (row.pending.has(place_of("rate_per_key")))
        row.rate_per_key = nullptr;
}

} // namespace

QueueRow queue_row(const Scan &scan) {
    using namespace queue_col;
    slot_getallattrs(scan.slot);
    QueueRow row{.id = DatumGetInt32(get(scan, id)),
                 .name = get_name(scan, name),
                 .default_timeout = get_interval(scan, default_timeout),
                 .aging = DatumGetFloat8(get(scan, aging)),
                 .max_attempts = get_int(scan, max_attempts),
                 .paused = DatumGetBool(get(scan, paused)),
                 .max_running = get_int(scan, max_running),
                 .events = DatumGetBool(get(scan, events)),
                 .notify = DatumGetBool(get(scan, notify)),
                 .max_running_per_key = get_int(scan, max_running_per_key),
                 .max_depth = get_int(scan, max_depth),
                 .on_full = on_full_of(scan),
                 .is_shared = !is_null(scan, key_weights),
                 .rate = get_jsonb(scan, rate),
                 .rate_per_key = get_jsonb(scan, rate_per_key),
                 .owner = pstrdup(NameStr(*DatumGetName(get(scan, owner)))),
                 .grantees = {get_array(scan, submitters), get_array(scan, workers), get_array(scan, viewers),
                              get_array(scan, admins), get_array(scan, dependers)},
                 .tid = scan.slot->tts_tid,
                 .handler = get_name(scan, handler),
                 .run_timeout = get_interval(scan, run_timeout),
                 .pending = pending_of(scan),
                 .keeps_keys = false,
                 .version = HeapTupleHeaderGetXmin(header_of(scan)),
                 .dropper = dropper_of(scan)};
    if (!row.pending.empty())
        hold_off(row);
    return row;
}

bool is_pending(const Scan &scan) { return !is_null(scan, queue_col::pending); }

QueueSettings queue_settings(const Scan &scan) {
    QueueSettings settings;
    slot_getallattrs(scan.slot);
    for (std::size_t place = 0; place < k_queue_settings.size(); place++) {
        NullableDatum value{};
        value.value = slot_getattr(scan.slot, k_setting_columns[place], &value.isnull);
        set(settings, k_queue_settings[place], value);
    }
    return settings;
}

// ---- looking up a queue --------------------------------------------------------------------------------------------
//
// Every call needs its queue, and queues seldom change. So a process caches the rows that it has read until an
// invalidation arrives (table_changes()). That saves reading the table, and a lock.
//
// The invalidation arrives a moment after the changing transaction has woken its waiters. So a queue that holds back
// tasks, for whose change workers may wait, is read each time. Otherwise a woken worker would find the old settings and
// go back to sleep. In the other direction the moment does no harm: a lease from a queue that has just been paused
// could have come a moment earlier. If old settings must not be used after a change, both the change and the verbs make
// sure of that (queue/pending.h). A row that a transaction is removing is not cached: each submit has to see that.

namespace {

bool holds_back(const QueueRow &row) {
    return row.paused || row.max_running || row.max_running_per_key || row.rate != nullptr ||
           row.rate_per_key != nullptr || !row.pending.empty();
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
    own.run_timeout = copy(row.run_timeout, sizeof(Interval));
    return own;
}

// Nothing can have changed since before the snapshot with which it was read, or a change is still to be heard of.
void keep(const Store &store, uint64 hint, const QueueRow &row) {
    if (holds_back(row) || TransactionIdIsValid(row.dropper) || store.changes != table_changes())
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
    return find_queue(store, hash_of(name), is_it, 1, {1, PointerGetDatum(name), F_TEXTEQ});
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

bool outlives_drop(const QueueRow &queue) {
    if (!TransactionIdIsValid(queue.dropper))
        return true;
    XactLockTableWait(queue.dropper, nullptr, nullptr, XLTW_None);
    return false;
}

std::optional<QueueRow> read_queue(Store &store, int32 queue) {
    const Match key[] = {{1, Int32GetDatum(queue), F_INT4EQ}};
    return look_up(store, TableId::queue, 0, key, queue_row);
}

namespace {

using QueueValues = Values<queue_col::k_count>;

// Changes some columns of a queue as it was read.
Taken update_columns(Store &store, const QueueRow &queue, QueueValues &values, std::span<const int> columns,
                     bool wait) {
    std::array<bool, queue_col::k_count> replace{};
    for (const int column : columns)
        replace[static_cast<std::size_t>(column - 1)] = true;
    Table &table = store[TableId::queue];
    TupleTableSlot *slot = slot_of(store, TableId::queue);
    if (!fetch(table, queue.tid, store.snapshot, slot))
        elog(ERROR, "queue %d has vanished", queue.id);
    tell_changed(TableId::queue);
    ItemPointerData tid = queue.tid;
    return update(table, slot, {values.value, values.null, replace}, &tid, wait);
}

} // namespace

Taken update_settings(Store &store, const QueueRow &queue, const QueueSettings &settings, SettingSet pending) {
    QueueValues values;
    std::array<int, k_queue_settings.size() + 1> columns{};
    for (std::size_t place = 0; place < k_queue_settings.size(); place++) {
        columns[place] = k_setting_columns[place];
        const NullableDatum value = get(settings, k_queue_settings[place]);
        if (value.isnull)
            values.set_null(columns[place]);
        else
            values.set(columns[place], value.value);
    }
    columns.back() = queue_col::pending;
    if (pending.empty())
        values.set_null(queue_col::pending);
    else
        values.set(queue_col::pending, names_of(pending));
    return update_columns(store, queue, values, columns, true);
}

Taken end_pending(Store &store, const QueueRow &queue) {
    QueueValues values;
    values.set_null(queue_col::pending);
    return update_columns(store, queue, values, std::array{static_cast<int>(queue_col::pending)}, false);
}

Taken remove_queue(Store &store, const QueueRow &queue) {
    tell_changed(TableId::queue);
    return remove(store[TableId::queue], queue.tid, store.snapshot, true);
}

} // namespace scylla::store
