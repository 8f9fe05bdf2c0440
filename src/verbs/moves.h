// The moves of a task from table to table: what the verbs and the monitor have in common. A task is taken out of its table
// by store::remove() first. Each move also tells shared memory what the commit means to others: a task that can be leased,
// a time at which the monitor is needed.
#pragma once

#include "verbs/task.h"

namespace scylla {

// Every verb that writes starts with this: it refuses read-only transactions, standbys and parallel workers, as a SQL
// command would. `call` is the SQL name for the message.
store::Store open_for_write(const char *call);

Task make_ready(store::Store &store, const store::SpecRow &spec, const store::Carry &carry, TimestampTz now);
Task make_waiting(store::Store &store, const store::SpecRow &spec, const store::Carry &carry, TimestampTz due,
                  TimestampTz now);
// A new lease: attempt counts up.
Task make_running(store::Store &store, const store::SpecRow &spec, const store::Carry &carry, text *worker,
                  int64 timeout, TimestampTz now);

struct Final {
    model::Status status;
    float4 progress;
    text *owner;
    std::optional<TimestampTz> leased;
    store::Carry carry;
    Jsonb *result;
    Jsonb *metrics;
};
Task make_final(store::Store &store, const store::SpecRow &spec, const Final &end, TimestampTz now);

// Takes a row out of its table where nothing may make it wait.
bool try_take(store::Store &store, store::TableId table, const ItemPointerData &tid);
// Waits for a concurrent change. False: it was changed or removed; refresh the store and look again.
bool take(store::Store &store, store::TableId table, const ItemPointerData &tid);

} // namespace scylla
