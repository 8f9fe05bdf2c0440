// Leases, and the permits of those in queues with limits.
#include "pg/memory.h"
#include "store/hints.h"
#include "store/row_access.h"

extern "C" {
#include "access/twophase.h"
}

namespace scylla::store {

LeaseRow lease_row(const Scan &scan) {
    using namespace lease_col;
    slot_getallattrs(scan.slot);
    return {.id = DatumGetInt64(get(scan, id)),
            .deadline = DatumGetTimestampTz(get(scan, deadline)),
            .leased = DatumGetTimestampTz(get(scan, leased)),
            .updated = DatumGetTimestampTz(get(scan, updated)),
            .timeout = DatumGetInt64(get(scan, timeout)),
            .queue = DatumGetInt32(get(scan, queue)),
            .progress = DatumGetFloat4(get(scan, progress)),
            .owner = get_name(scan, owner),
            .carry = get_carry(scan, attempt, failures, history, errors),
            .permit = get_name(scan, permit),
            .run_timeout = get_id(scan, run_timeout),
            .tid = scan.slot->tts_tid};
}

std::optional<LeaseRow> find_lease(Store &store, int64 id) {
    const Oid file = compat::file_number(store[TableId::lease].rel);
    const auto hint = lease_hints.recall(file, static_cast<uint64>(id));
    const auto is_it = [id](const Scan &scan) { return DatumGetInt64(get(scan, lease_col::id)) == id; };
    if (auto row = look_at(store, TableId::lease, hint, is_it, lease_row))
        return row;
    return look_up_id(store, TableId::lease, id, lease_row);
}

Scan scan_leases(Store &store) { return begin_whole(store[TableId::lease], store.snapshot); }

LeaseTimes lease_times(const Scan &scan) {
    return {DatumGetTimestampTz(get(scan, lease_col::deadline)), DatumGetTimestampTz(get(scan, lease_col::leased)),
            DatumGetInt32(get(scan, lease_col::queue))};
}

void insert(Store &store, const LeaseRow &row) {
    using namespace lease_col;
    Values<lease_col::k_count> values;
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
    values.set_id(run_timeout, row.run_timeout);
    insert(store[TableId::lease], values.value, values.null);
}

Taken update_lease(Store &store, const LeaseRow &row) {
    using namespace lease_col;
    Table &table = store[TableId::lease];
    Values<lease_col::k_count> values;
    std::array<bool, lease_col::k_count> replace{};
    values.set(deadline, TimestampTzGetDatum(row.deadline));
    values.set(updated, TimestampTzGetDatum(row.updated));
    values.set(progress, Float4GetDatum(row.progress));
    for (const int column : {deadline, updated, progress})
        replace[static_cast<std::size_t>(column - 1)] = true;
    TupleTableSlot *slot = slot_of(store, TableId::lease);
    if (!fetch(table, row.tid, store.snapshot, slot))
        elog(ERROR, "lease " INT64_FORMAT " has vanished", row.id);
    ItemPointerData tid = row.tid;
    const Taken taken = update(table, slot, {values.value, values.null, replace}, &tid);
    if (taken == Taken::ok)
        lease_hints.remember(compat::file_number(table.rel), static_cast<uint64>(row.id), tid);
    return taken;
}

namespace {

Scan scan_permits(Store &store, int32 queue, Snapshot snapshot) {
    const Match key[] = {{1, Int32GetDatum(queue), F_INT4EQ}};
    return begin(store[TableId::lease], 1, snapshot, key);
}

std::array<Match, 4> permits_between(int32 queue, const text *permit, const model::IdRange &range) {
    return {{{1, Int32GetDatum(queue), F_INT4EQ},
             {2, PointerGetDatum(permit), F_TEXTEQ},
             {3, Int64GetDatum(range.low), F_INT8GE, BTGreaterEqualStrategyNumber},
             {3, Int64GetDatum(range.high), F_INT8LE, BTLessEqualStrategyNumber}}};
}

int64 id_of(const Scan &scan) { return DatumGetInt64(get(scan, lease_col::id)); }

// Why this finds every lease that is held, or may be held once its transaction commits, even if others heartbeat or end
// leases meanwhile: no lease is added while we look, so all of them are in the index.
//   * The first scan finds the leases of transactions that are in progress while it runs: that their inserter is in
//     progress is true of the row from the first look to the last, whatever else happens to it.
//   * The snapshot is taken after that. Of a lease whose inserter it sees as committed the second scan finds exactly
//     one version unless the lease has ended by then, as of any row. A transaction that is in progress for the snapshot
//     was in progress in the first scan. A single scan with a dirty snapshot would not do: a heartbeat that commits
//     meanwhile may move a row from where the scan has not been to where it has.
template <typename Walk> Growing<int64> find_held(Walk walk) {
    Growing<int64> ids;
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    walk(&dirty, [&](const Scan &scan) {
        if (TransactionIdIsValid(dirty.xmin))
            ids.add(id_of(scan));
    });
    Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
    walk(snapshot, [&](const Scan &scan) { ids.add(id_of(scan)); });
    UnregisterSnapshot(snapshot);
    sort_once(ids);
    return ids;
}

} // namespace

int64 count_permits(Store &store, int32 queue) {
    const Growing<int64> ids = find_held([&](Snapshot snapshot, auto see) {
        Scan scan = scan_permits(store, queue, snapshot);
        while (next(scan))
            see(scan);
        end(scan);
    });
    return static_cast<int64>(ids.count);
}

PermitCount find_permits(Store &store, int32 queue, const text *permit, std::span<const model::IdRange> ranges) {
    if (ranges.empty()) // all ids are in gaps
        return {{}, 0};
    int64 dead = 0;
    const Growing<int64> ids = find_held([&](Snapshot snapshot, auto see) {
        Scan scan = begin(store[TableId::lease], 1, snapshot, permits_between(queue, permit, ranges.front()));
        for (std::size_t i = 0; i < ranges.size(); i++) {
            if (i > 0)
                restart(scan, permits_between(queue, permit, ranges[i]));
            while (next(scan))
                see(scan);
        }
        dead = scan.dead;
        end(scan);
    });
    return {ids.all(), dead};
}

PreparedTasks find_prepared_permits(Store &store, int32 queue) {
    if (max_prepared_xacts == 0)
        return {};
    Growing<int64> ids;
    bool any = false;
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    Scan scan = scan_permits(store, queue, &dirty);
    while (next(scan)) {
        const bool brought = TransactionIdIsValid(dirty.xmin) && is_prepared(dirty.xmin);
        if (brought)
            ids.add(id_of(scan));
        any = any || brought || (TransactionIdIsValid(dirty.xmax) && is_prepared(dirty.xmax));
    }
    end(scan);
    sort_once(ids);
    return {ids.all(), any};
}

int64 count_permits(Store &store, int32 queue, std::span<const int64> prepared) {
    Growing<int64> ids;
    for (const int64 id : prepared)
        ids.add(id);
    Scan scan = scan_permits(store, queue, store.snapshot);
    while (next(scan))
        ids.add(id_of(scan));
    end(scan);
    sort_once(ids);
    return static_cast<int64>(ids.count);
}

void give_permits(Store &store, Repair &repair) {
    Table &table = store[TableId::lease];
    Values<lease_col::k_count> values;
    std::array<bool, lease_col::k_count> replace{};
    replace[lease_col::permit - 1] = true;
    Scan scan = begin_whole(table, store.snapshot);
    const RowMemory memory = begin_row_memory();
    for (; next(scan); reset(memory)) {
        const int32 id = DatumGetInt32(get(scan, lease_col::queue));
        const auto queue = std::lower_bound(repair.queues.begin(), repair.queues.end(), id,
                                            [](const QueueRepair &each, int32 of) { return each.queue < of; });
        if (queue == repair.queues.end() || queue->queue != id || !is_null(scan, lease_col::permit) ||
            !is_wanted(scan, repair, *queue))
            continue;
        const auto spec = find_spec(store, DatumGetInt64(get(scan, lease_col::id)), With::no_spec);
        values.set_pointer(lease_col::permit, spec && spec->key != nullptr ? spec->key : cstring_to_text(""));
        ItemPointerData tid;
        count(repair, *queue, update(table, scan.slot, {values.value, values.null, replace}, &tid, false));
    }
    end(memory);
    end(scan);
}

} // namespace scylla::store
