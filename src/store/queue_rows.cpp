#include "store/hints.h"
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
            {get_array(scan, submitters), get_array(scan, workers), get_array(scan, viewers), get_array(scan, admins)},
            scan.slot->tts_tid};
}

QueueSettings queue_settings(const Scan &scan) {
    using namespace queue_col;
    slot_getallattrs(scan.slot);
    return {get_interval(scan, default_timeout),     get_interval(scan, retention),
            DatumGetFloat8(get(scan, aging)),        get_int(scan, max_attempts),
            get_jsonb(scan, retry),                  get_interval(scan, retention_completed),
            get_interval(scan, retention_aborted),   get_interval(scan, retention_cancelled),
            DatumGetBool(get(scan, paused)),         get_int(scan, max_running),
            DatumGetBool(get(scan, events)),         DatumGetBool(get(scan, notify)),
            get_int(scan, max_running_per_key),      get_int(scan, max_depth),
            on_full_of(scan),                        get_jsonb(scan, key_weights),
            get_jsonb(scan, rate),                   get_jsonb(scan, rate_per_key)};
}

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

Scan scan_queues(Store &store) { return begin(store[TableId::queue], 0, store.snapshot, {}); }

Taken update_settings(Store &store, const QueueRow &queue, const QueueSettings &settings) {
    using namespace queue_col;
    Table &table = store[TableId::queue];
    Values<26> values;
    std::array<bool, 26> replace{};
    for (int column = default_timeout; column < owner; column++)
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
    values.set_int(max_running_per_key, settings.max_running_per_key);
    values.set_int(max_depth, settings.max_depth);
    values.set(on_full, CStringGetTextDatum(k_on_full_names[static_cast<std::size_t>(settings.on_full)]));
    values.set_pointer(key_weights, settings.key_weights);
    values.set_pointer(rate, settings.rate);
    values.set_pointer(rate_per_key, settings.rate_per_key);
    TupleTableSlot *slot = slot_of(store, TableId::queue);
    if (!fetch(table, queue.tid, store.snapshot, slot))
        elog(ERROR, "queue %d has vanished", queue.id);
    ItemPointerData tid = queue.tid;
    return update(table, slot, values.value, values.null, replace, &tid);
}

} // namespace scylla::store
