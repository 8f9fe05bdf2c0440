// What this process keeps of the queues that have some setting. It reads all queues again only when one has changed:
// queues seldom do, and the monitor looks at such lists again and again.
#pragma once

#include "pg/growing.h"
#include "pg/memory.h"
#include "store/catalog.h"
#include "store/rows.h"

namespace scylla::store {

template <Pod T> struct QueueList {
    uint64 changes; // table_changes() when the queues were read; 0: never
    Growing<T> rows;
};

// What `of` gives for each queue, where it gives something, in the order of their ids. Valid until the next call.
template <Pod T, typename Of> std::span<const T> list_queues(Store &store, QueueList<T> &list, Of of) {
    if (list.changes == 0 || list.changes != store.changes) {
        list.changes = 0;
        list.rows.clear();
        Scan scan = scan_queues(store);
        const RowMemory memory = begin_row_memory();
        for (; next(scan); reset(memory))
            if (const std::optional<T> row = of(scan))
                list.rows.add(*row, TopMemoryContext);
        end(memory);
        end(scan);
        if (store.changes == table_changes()) // else a change was told meanwhile
            list.changes = store.changes;
    }
    return list.rows.all();
}

} // namespace scylla::store
