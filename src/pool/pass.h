// Passes: placing the tasks of a line as the model says (model/placement.h).
//
// Any number of sessions may place; never is more reserved than there is. A pass holds a heavyweight lock while it
// reads reservations and writes new ones, until the call ends, not the transaction. It counts all reservations that
// others are just writing or removing (store::walk_reservations()): those whose transaction is open are what may yet
// be. So a session that is idle in a transaction after a pass, or after it has ended a task, holds only what that
// transaction has reserved or not given back.
//
// A pass takes rows without waiting: a task that another transaction is cancelling stays.
#pragma once

#include "pool/pools.h"
#include "task/task.h"

namespace scylla {

// For a task that has been placed.
struct PlacedSink {
    void (*put)(void *to, const store::SpecRow &spec, const text *pool);
    void *to;
};

struct PassRequest {
    std::span<const int64> pools; // whose lines are looked at, with those that their tasks need too
    bool all = false;             // of all pools
    bool tells = false;           // a commit or rollback tells the monitor
    std::size_t limit = 1000;     // tasks
    PlacedSink sink{};            // put may be null
};
struct PassResult {
    std::size_t placed;
    bool more; // the limit was reached
};
// The pools in whose line tasks are, by id.
std::span<const int64> pools_in_line(store::Store &store);
// The rows of the transaction are to be looked at with a fresh snapshot after it.
PassResult run_pass(store::Store &store, const PassRequest &request);

// What a pass would say now, without doing anything.
struct WaitReason {
    int64 task_class;
    int32 queue;
    int64 pool; // one that could serve
    const char *reason;
};
struct PlannedHead {
    int64 pool;
    int64 task;
    int32 queue;
    std::optional<TimestampTz> start; // nothing: it cannot be planned
};
struct Explanation {
    std::span<const WaitReason> reasons;
    std::span<const PlannedHead> heads;
};
// pool: only of its line; nothing: of all.
Explanation explain_lines(store::Store &store, std::optional<int64> pool = std::nullopt);

// When the library is loaded.
void register_pools();

} // namespace scylla
