// The free capacity of pools, as a pass sees it while it holds the lock of the passes (pool/pass.h).
#pragma once

#include "pool/pools.h"
#include "store/pool_rows.h"

namespace scylla {

// The needs of rows, parsed once.
struct KnownShape {
    Jsonb *needs;
    Needs parts;
    // Found in a room:
    std::span<const model::Way> ways;
    std::span<const std::size_t> pools; // that it names, in the order of its gates
    std::size_t chosen;                 // how many of them are needed in any case; the others are the choice
};

// Stands for pools that do not exist (any more): it is closed.
inline constexpr std::size_t k_nothing = 0;

struct Room {
    TimestampTz now;
    Growing<PoolRow> rows; // those that were requested; pool p of the model is rows[p - 1]
    Growing<model::PlacementPool> pools;
    Growing<model::ResourceCell> cells;
    Growing<std::string_view> resources; // of the cells
    Growing<std::size_t> first_cell;     // of a pool; one element more than there are pools
    Growing<std::size_t> by_name;        // pools
    Growing<bool> has_reservations;      // of a pool: they have been counted
    Growing<model::End> ends;
};

Room begin_room(TimestampTz now);
// With all their capacities free.
void add_pools(Room &room, std::span<const PoolRow> rows);
const PoolRow &row_of(const Room &room, std::size_t pool);
// The pools as they are now, by id. One that is gone, or has other resources than before, is closed.
void renew_room(Room &room, std::span<const PoolRow> rows);
// Subtracts what is reserved in a pool, the first time that the pool is used.
void count_reservations(Room &room, store::Dirty *dirty, std::size_t pool);

// Needs of which no ways have been found yet.
KnownShape begin_shape(Jsonb *needs);
// The names of the pools in needs that are not in the room.
void find_missing(const Room &room, const Needs &needs, Growing<std::string_view> &missing);
void find_ways(const Room &room, KnownShape &shape);
bool same_needs(const Jsonb *a, const Jsonb *b);

// Writes the reservations of a task for one of its ways, and stores which pool was chosen, if there was a choice.
void reserve(store::Store &store, const Room &room, const store::SpecRow &spec, const KnownShape &shape,
             std::size_t way, text **chosen);

} // namespace scylla
