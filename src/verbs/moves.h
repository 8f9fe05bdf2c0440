// The moves of a task from table to table: what the verbs and the monitor have in common. A task is taken out of its table
// by store::remove() first. Each move also tells shared memory what the commit means to others: a task that can be leased,
// a time at which the monitor is needed.
#pragma once

#include "verbs/task.h"

namespace scylla {

// Every verb that writes starts with this: it refuses read-only transactions, standbys and parallel workers, as a SQL
// command would. `call` is the SQL name for the message.
store::Store open_for_write(const char *call);

Task make_ready(store::Store &store, const store::SpecRow &spec, const store::Carry &carry, TimestampTz now,
                bool is_new = false);
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

// Takes a row out of its table. Without waiting: `busy` if somebody is just changing it. `gone`: it was changed or removed;
// refresh the store and look again.
enum class Wait : bool { no, yes };
store::Taken take(store::Store &store, store::TableId table, const ItemPointerData &tid, Wait wait);
// The same for a ready task, which is told to the heads if the transaction rolls back.
store::Taken take_ready(store::Store &store, const store::SpecRow &spec, const ItemPointerData &tid, Wait wait);

} // namespace scylla
