// The tasks of a queue, also those that other transactions are writing: for changes of its settings, and its removal.
#include "store/row_access.h"

namespace scylla::store {

namespace {

void add(Growing<Writer> &writers, const Writer &writer) {
    if (writers.count == 0 || !(writers.last() == writer))
        writers.add(writer);
}

} // namespace

std::span<const Writer> writers_of(Store &store, std::span<const int32> queues) {
    Growing<Writer> writers;
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    for (const TableId table : {TableId::ready, TableId::waiting, TableId::lease}) {
        Scan scan = begin_whole(store[table], &dirty);
        while (next(scan)) {
            if (!TransactionIdIsValid(dirty.xmin))
                continue;
            const int32 queue = queue_of(scan, table);
            if (std::binary_search(queues.begin(), queues.end(), queue))
                add(writers, {queue, dirty.xmin});
        }
        end(scan);
    }
    const auto all = writers.all();
    std::sort(all.begin(), all.end());
    return all.first(static_cast<std::size_t>(std::unique(all.begin(), all.end()) - all.begin()));
}

SpecWalk begin_spec_walk(Store &store, int64 after) {
    auto *dirty = static_cast<SnapshotData *>(palloc0(sizeof(SnapshotData)));
    InitDirtySnapshot(*dirty);
    const Match key[] = {{1, Int64GetDatum(after), F_INT8GT, BTGreaterStrategyNumber}};
    return {dirty, begin(store[TableId::spec], 0, dirty, key)};
}

bool next(SpecWalk &walk, WalkedSpec *spec) {
    if (!next(walk.scan))
        return false;
    spec->row = spec_row(walk.scan, With::no_spec);
    spec->in_progress = TransactionIdIsValid(walk.dirty->xmin) || TransactionIdIsValid(walk.dirty->xmax);
    return true;
}

void end(SpecWalk &walk) {
    end(walk.scan);
    pfree(walk.dirty);
}

bool has_tasks(Store &store, int32 queue) {
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    bool found = false;
    Scan scan = begin_whole(store[TableId::spec], &dirty);
    while (!found && next(scan))
        found = queue_of(scan, TableId::spec) == queue;
    end(scan);
    return found;
}

} // namespace scylla::store
