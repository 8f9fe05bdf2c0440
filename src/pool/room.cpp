#include "pool/room.h"

#include "pg/memory.h"
#include "pg/text.h"

namespace scylla {

using store::Sight;
using store::Store;

namespace {

// k_nothing if there is none.
std::size_t pool_of(const Room &room, std::string_view name) {
    const auto all = room.by_name.all();
    const auto place = std::lower_bound(all.begin(), all.end(), name, [&](std::size_t pool, std::string_view wanted) {
        return view(row_of(room, pool).name) < wanted;
    });
    return place != all.end() && view(row_of(room, *place).name) == name ? *place : k_nothing;
}

// The last cell of a pool stands for the resources that it does not have.
std::size_t cell_of(const Room &room, std::size_t pool, std::string_view resource) {
    const std::size_t last = room.first_cell[pool + 1] - 1;
    for (std::size_t c = room.first_cell[pool]; c < last; c++)
        if (room.resources[c] == resource)
            return c;
    return last;
}

void add_no_resource(Room &room, std::size_t pool) {
    room.cells.add({.pool = pool, .capacity = 0, .free = 0});
    room.resources.add("");
    room.first_cell.add(room.cells.count);
}

model::PlacementPool pool_from(const PoolRow &row, TimestampTz now) {
    return {.policy = row.policy,
            .closed = row.drained || is_stale(row, now),
            .max_bypass = row.max_bypass,
            .head = {.task = row.head, .passed = row.passed}};
}

void add_pool(Room &room, const PoolRow &row) {
    const std::size_t pool = room.pools.count;
    room.rows.add(row);
    room.by_name.add(pool);
    room.has_reservations.add(false);
    room.pools.add(pool_from(row, room.now));
    for (const ResourceAmount &each : read_amounts("capacity", row.capacity)) {
        room.cells.add({.pool = pool, .capacity = each.amount, .free = each.amount});
        room.resources.add(each.resource);
    }
    add_no_resource(room, pool);
}

// False: the resources are others than before.
bool renew_cells(Room &room, std::size_t pool, std::span<const ResourceAmount> capacity) {
    const std::size_t first = room.first_cell[pool];
    if (capacity.size() != room.first_cell[pool + 1] - 1 - first)
        return false;
    for (std::size_t i = 0; i < capacity.size(); i++) {
        if (room.resources[first + i] != capacity[i].resource)
            return false;
        room.cells[first + i] = {.pool = pool, .capacity = capacity[i].amount, .free = capacity[i].amount};
    }
    return true;
}

std::span<const model::Need> needs_of(const Room &room, const Needs &needs, std::size_t any_pool) {
    Growing<model::Need> cells;
    for (const PoolNeeds &each : needs.all)
        for (const ResourceAmount &amount : each.amounts)
            cells.add({cell_of(room, pool_of(room, each.pool), amount.resource), amount.amount});
    if (!needs.any.empty())
        for (const ResourceAmount &amount : needs.of_any)
            cells.add({cell_of(room, any_pool, amount.resource), amount.amount});
    return cells.all();
}

std::span<const ResourceAmount> amounts_in(const KnownShape &shape, std::size_t place) {
    return place < shape.chosen ? shape.parts.all[place].amounts : shape.parts.of_any;
}

} // namespace

const PoolRow &row_of(const Room &room, std::size_t pool) { return room.rows[pool - 1]; }

Room begin_room(TimestampTz now) {
    Room room{};
    room.now = now;
    room.pools.add({.policy = model::Policy::greedy, .closed = true, .max_bypass = 0});
    room.first_cell.add(0);
    add_no_resource(room, k_nothing);
    room.has_reservations.add(true);
    return room;
}

void add_pools(Room &room, std::span<const PoolRow> rows) {
    for (const PoolRow &row : rows)
        add_pool(room, row);
    const auto all = room.by_name.all();
    std::sort(all.begin(), all.end(),
              [&](std::size_t a, std::size_t b) { return view(row_of(room, a).name) < view(row_of(room, b).name); });
}

void renew_room(Room &room, std::span<const PoolRow> rows) {
    room.now = GetCurrentTimestamp();
    room.ends.clear();
    for (std::size_t pool = k_nothing + 1; pool < room.pools.count; pool++) {
        PoolRow &known = room.rows[pool - 1];
        const auto now = std::lower_bound(rows.begin(), rows.end(), known.id,
                                          [](const PoolRow &row, int64 id) { return row.id < id; });
        const bool exists = now != rows.end() && now->id == known.id;
        if (exists)
            known = *now;
        const bool same = exists && renew_cells(room, pool, read_amounts("capacity", known.capacity));
        room.pools[pool] = pool_from(known, room.now);
        room.pools[pool].closed = room.pools[pool].closed || !same;
        room.has_reservations[pool] = false;
    }
}

// Free is the capacity minus the larger of two amounts: all reservations, or the report plus the reservations after it.
void count_reservations(Room &room, store::Dirty *dirty, std::size_t pool) {
    if (room.has_reservations[pool])
        return;
    room.has_reservations[pool] = true;
    const PoolRow &row = row_of(room, pool);
    const std::size_t first = room.first_cell[pool];
    const std::size_t count = room.first_cell[pool + 1] - 1 - first;
    const auto reserved = allocate<Amount>(count);
    const auto in_use = allocate<Amount>(count);
    const auto reported =
        row.reported != nullptr ? read_amounts("used", row.reported) : std::span<const ResourceAmount>{};
    for (std::size_t c = 0; c < count; c++) {
        reserved[c] = 0;
        in_use[c] = amount_of(reported, room.resources[first + c]);
    }
    store::ReservationRow reservation;
    walk_reservations(dirty, row.id);
    while (next_reservation(dirty, &reservation) != Sight::absent) {
        CHECK_FOR_INTERRUPTS();
        for (const ResourceAmount &each : read_amounts("amounts", reservation.amounts)) {
            const std::size_t cell = cell_of(room, pool, each.resource);
            if (room.resources[cell].empty())
                continue; // it has been removed from the pool
            reserved[cell - first] += each.amount;
            if (row.reported_at && reservation.since > *row.reported_at)
                in_use[cell - first] += each.amount;
            if (reservation.ends)
                room.ends.add({.at = *reservation.ends, .cell = cell, .amount = each.amount});
        }
    }
    for (std::size_t c = 0; c < count; c++)
        room.cells[first + c].free -= Max(reserved[c], in_use[c]);
}

KnownShape begin_shape(Jsonb *needs) {
    return {.needs = needs, .parts = read_needs(needs), .ways = {}, .pools = {}, .chosen = 0};
}

void find_missing(const Room &room, const Needs &needs, Growing<std::string_view> &missing) {
    for (const PoolNeeds &each : needs.all)
        if (pool_of(room, each.pool) == k_nothing)
            missing.add(each.pool);
    for (const std::string_view name : needs.any)
        if (pool_of(room, name) == k_nothing)
            missing.add(name);
}

void find_ways(const Room &room, KnownShape &shape) {
    const Needs &needs = shape.parts;
    Growing<std::size_t> pools;
    Growing<model::Way> ways;
    for (const PoolNeeds &each : needs.all)
        pools.add(pool_of(room, each.pool));
    shape.chosen = pools.count;
    for (const std::string_view name : needs.any) {
        pools.add(pool_of(room, name));
        ways.add({needs_of(room, needs, pools[pools.count - 1])});
    }
    if (needs.any.empty())
        ways.add({needs_of(room, needs, k_nothing)});
    shape.pools = pools.all();
    shape.ways = ways.all();
}

bool same_needs(const Jsonb *a, const Jsonb *b) {
    return a != nullptr && b != nullptr && VARSIZE(a) == VARSIZE(b) && memcmp(a, b, VARSIZE(a)) == 0;
}

void reserve(Store &store, const Room &room, const store::SpecRow &spec, const KnownShape &shape, std::size_t way,
             text **chosen) {
    const bool has_choice = shape.chosen < shape.pools.size();
    for (std::size_t place = 0; place < shape.pools.size(); place++) {
        if (place >= shape.chosen && place != shape.chosen + way)
            continue;
        const PoolRow &pool = row_of(room, shape.pools[place]);
        const bool is_chosen = has_choice ? place >= shape.chosen : shape.pools.size() == 1;
        if (is_chosen)
            *chosen = pool.name;
        insert(store, store::ReservationRow{.task = spec.id,
                                            .pool = pool.id,
                                            .since = room.now,
                                            .version = pool.version,
                                            .ends = spec.runtime && *spec.runtime < DT_NOEND - room.now
                                                        ? std::optional(room.now + *spec.runtime)
                                                        : std::nullopt,
                                            .chosen = is_chosen ? pool.name : nullptr,
                                            .amounts = to_jsonb(amounts_in(shape, place)),
                                            .tid = {}});
    }
}

} // namespace scylla
