#include "pool/first.h"

#include "pg/memory.h"
#include "store/pool_rows.h"
#include "task/rights.h"

namespace scylla {

using store::Store;

namespace {

bool is_before(const LinePlace &a, const LinePlace &b) {
    return a.priority != b.priority ? a.priority > b.priority : a.task < b.task;
}

// The first of those that were found so far. There may be more than are wanted.
struct First {
    std::size_t most;
    MemoryContext context;
    Growing<LinePlace> places = {};

    void keep_first() {
        std::sort(places.at, places.at + places.count, is_before);
        places.count = std::min(places.count, most);
    }
    void add(const LinePlace &place) {
        places.add(place, context);
        if (places.count >= 2 * most + 1000)
            keep_first();
    }
};

} // namespace

std::span<const LinePlace> first_in_line(Store &store, const PoolRow &pool, std::size_t most) {
    First first{.most = most, .context = CurrentMemoryContext};
    const bool sees_all = may(pool, PoolPrivilege::admin);
    store::Scan scan = scan_line(store, pool.id, PG_INT64_MIN);
    const RowMemory memory = begin_row_memory();
    int64 last = PG_INT64_MIN;
    for (std::size_t of_class = 0; next(scan); reset(memory)) {
        const store::LineRow row = line_row(scan);
        of_class = row.task_class == last ? of_class + 1 : 1;
        last = row.task_class;
        const bool sees = sees_all || rights::may(store, row.queue, model::Privilege::view);
        if (sees)
            first.add({row.priority, row.task});
        if (of_class == most || !sees)
            restart_line(scan, pool.id, last); // behind this class
    }
    end(memory);
    end(scan);
    first.keep_first();
    return first.places.all();
}

} // namespace scylla
