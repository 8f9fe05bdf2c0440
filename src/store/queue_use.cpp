// The tasks of a queue, whoever has written them: for changes of its settings, and its removal.
#include "store/row_access.h"

namespace scylla::store {

namespace {

struct Writers {
    Writer *row;
    std::size_t count;
    std::size_t room;
};

void add(Writers &writers, const Writer &writer) {
    if (writers.count > 0 && writers.row[writers.count - 1] == writer)
        return;
    if (writers.count == writers.room) {
        writers.room = Max(writers.room * 2, std::size_t{16});
        const std::size_t bytes = writers.room * sizeof(Writer);
        writers.row = static_cast<Writer *>(writers.row == nullptr ? palloc(bytes) : repalloc_huge(writers.row, bytes));
    }
    writers.row[writers.count++] = writer;
}

} // namespace

std::span<const Writer> writers_of(Store &store, std::span<const int32> queues) {
    Writers writers{};
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
    std::sort(writers.row, writers.row + writers.count);
    const Writer *end = std::unique(writers.row, writers.row + writers.count);
    return {writers.row, static_cast<std::size_t>(end - writers.row)};
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
