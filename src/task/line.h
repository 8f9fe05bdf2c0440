// What tasks need of pools (src/pool). A task whose other gates are open, and whose time has come, gets in line, and is
// ready once it has been placed. Its permits are released when its run ends; a task that its worker yields keeps them.
//
// The gates of kind pool name the pools that could serve the task. They are closed while the task is in line.
#pragma once

#include "task/moves.h"

namespace scylla {

// Moves a task whose gates are open and whose time has come: into the line, or to the ready tasks.
Task make_startable(store::Store &store, const store::SpecRow &spec, const store::Carry &carry, TimestampTz now,
                    bool is_new = false);

// For a task that waits no longer, or whose run has ended: removes it from the line, and releases its permits.
// silently: for the pass that is placing it.
void leave_pools(store::Store &store, const store::SpecRow &spec, bool silently = false);

// Whether the task needs permits and holds none. For a running task that happens only while a dump is restored.
bool lacks_reservation(store::Store &store, const store::SpecRow &spec);

// The name of the pool that serves a placed task; null if it needs nothing, or several at once.
text *chosen_pool(store::Store &store, const store::SpecRow &spec);

struct NeedsFrom {
    int64 element = 0;       // as in pg/error.h
    bool is_granted = false; // the rights have been checked already
};

// A new task that waits for nothing but its needs.
struct Newcomer {
    const store::SpecRow *spec;
    std::span<const int64> pools; // that could serve
    bool reserved = false;        // it holds its permits, and does not get in line
};

// The functions that read needs (src/pool), registered when the library is loaded.
struct NeedsReader {
    // The ids of the pools that could serve, in the order of the needs. 22023, 42704, 42501.
    std::span<const int64> (*pools)(store::Store &store, Jsonb *needs, const NeedsFrom &from);
    // Reserves the permits that are free now.
    void (*reserve)(store::Store &store, std::span<Newcomer> tasks);
};
void register_needs(const NeedsReader &reader);
std::span<const int64> pools_of(store::Store &store, Jsonb *needs, const NeedsFrom &from = {});
// The store is refreshed.
void reserve_needs(store::Store &store, std::span<Newcomer> tasks);

} // namespace scylla
