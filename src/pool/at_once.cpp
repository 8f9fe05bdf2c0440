#include "pool/at_once.h"

#include "pg/memory.h"
#include "pool/room.h"
#include "shmem/pending.h"
#include "store/locks.h"

namespace scylla {

using store::Store;

namespace {

std::span<const int64> pools_of_all(std::span<const Newcomer> tasks) {
    Growing<int64> pools;
    for (std::size_t i = 0; i < tasks.size(); i++)
        if (i == 0 || tasks[i].pools.data() != tasks[i - 1].pools.data())
            for (const int64 pool : tasks[i].pools)
                if (std::find(pools.all().begin(), pools.all().end(), pool) == pools.all().end())
                    pools.add(pool);
    return pools.all();
}

bool has_line(Store &store, int64 pool) {
    store::Scan scan = scan_line(store, pool, PG_INT64_MIN);
    const bool found = next(scan);
    end(scan);
    return found;
}

// A pool with a line is closed: a new task must not pass the tasks in line.
Room open_room(Store &store, std::span<const Newcomer> tasks) {
    Room room = begin_room(GetCurrentTimestamp());
    add_pools(room, store::pools::by_ids(pools_of_all(tasks)));
    store::Dirty *dirty = store::begin_dirty(store);
    for (std::size_t pool = k_nothing + 1; pool < room.pools.count; pool++) {
        room.pools[pool].closed = room.pools[pool].closed || has_line(store, row_of(room, pool).id);
        if (!room.pools[pool].closed)
            count_reservations(room, dirty, pool);
    }
    end(dirty);
    return room;
}

bool fits(const Room &room, const KnownShape &shape) {
    return shape.chosen == shape.pools.size() &&
           std::none_of(shape.pools.begin(), shape.pools.end(),
                        [&](std::size_t pool) { return pool == k_nothing || room.pools[pool].closed; }) &&
           std::all_of(shape.ways[0].needs.begin(), shape.ways[0].needs.end(),
                       [&](const model::Need &need) { return need.amount <= room.cells[need.cell].free; });
}

// A task that must wait in line closes its pools for the tasks after it.
void take_or_close(Store &store, Room &room, Newcomer &task, const KnownShape &shape) {
    task.reserved = fits(room, shape);
    text *chosen = nullptr;
    if (task.reserved)
        reserve(store, room, *task.spec, shape, 0, &chosen);
    for (const model::Need &need : shape.ways[0].needs)
        room.cells[need.cell].free -= task.reserved ? need.amount : 0;
    for (const std::size_t pool : shape.pools) {
        room.pools[pool].closed = room.pools[pool].closed || !task.reserved;
        if (task.reserved)
            shmem::note_pool(row_of(room, pool).id); // a rollback frees the amounts again
    }
}

std::span<const std::size_t> by_priority(std::span<const Newcomer> tasks) {
    const auto order = allocate<std::size_t>(tasks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return tasks[a].spec->priority > tasks[b].spec->priority; });
    return order;
}

} // namespace

void reserve_at_once(Store &store, std::span<Newcomer> tasks) {
    // Opened before the lock of the passes is taken, as in a pass.
    for (const store::TableId table : {store::TableId::line, store::TableId::reservation})
        (void)store[table];
    const LOCKTAG tag = passes_lock_tag(store);
    (void)LockAcquire(&tag, ExclusiveLock, false, false);
    CommandCounterIncrement();
    refresh(store);
    Room room = open_room(store, tasks);
    std::optional<KnownShape> shape; // most tasks of a call have the same needs
    for (const std::size_t i : by_priority(tasks)) {
        CHECK_FOR_INTERRUPTS();
        if (!shape || !same_needs(shape->needs, tasks[i].spec->needs)) {
            shape = begin_shape(tasks[i].spec->needs);
            find_ways(room, *shape);
        }
        take_or_close(store, room, tasks[i], *shape);
    }
    shmem::note_placed();
    (void)LockRelease(&tag, ExclusiveLock, false);
    CommandCounterIncrement();
    refresh(store);
}

} // namespace scylla
