// The waiting and ready tasks of a queue, for max_depth.
#include "store/row_access.h"

extern "C" {
#include "access/twophase.h"
}

namespace scylla::store {

namespace {

// Calls see(id) for each until it returns false. task_waiting has no index by queue, for nothing else needs one: it is
// read as a whole.
template <typename See> void for_each_unleased(Store &store, int32 queue, Snapshot snapshot, See see) {
    const Match key[] = {{1, Int32GetDatum(queue), F_INT4EQ}};
    bool go_on = true;
    Scan scan = begin(store[TableId::ready], 0, snapshot, key);
    while (go_on && next(scan))
        go_on = see(DatumGetInt64(get(scan, ready_col::id)));
    end(scan);
    scan = begin_whole(store[TableId::waiting], snapshot);
    while (go_on && next(scan))
        if (DatumGetInt32(get(scan, waiting_col::queue)) == queue)
            go_on = see(DatumGetInt64(get(scan, waiting_col::id)));
    end(scan);
}

} // namespace

int64 count_unleased(Store &store, int32 queue, int64 limit) {
    int64 count = 0;
    for_each_unleased(store, queue, store.snapshot, [&](int64) { return ++count < limit; });
    return count;
}

PreparedTasks find_prepared(Store &store, int32 queue) {
    if (max_prepared_xacts == 0)
        return {};
    Growing<int64> ids;
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    for_each_unleased(store, queue, &dirty, [&](int64 id) {
        if (TransactionIdIsValid(dirty.xmin) && is_prepared(dirty.xmin))
            ids.add(id);
        return true;
    });
    sort_once(ids);
    return {ids.all(), ids.count > 0};
}

int64 count_unleased(Store &store, int32 queue, std::span<const int64> prepared) {
    auto count = static_cast<int64>(prepared.size());
    for_each_unleased(store, queue, store.snapshot, [&](int64 id) {
        count += std::binary_search(prepared.begin(), prepared.end(), id) ? 0 : 1;
        return true;
    });
    return count;
}

} // namespace scylla::store
