// The moves of a task from table to table, which the verbs and the monitor share. take() first takes the task out of
// its table. Each move also notes for the commit what others need to know: a task that can be leased, a time at which
// the monitor is needed, the numbers of the statistics.
#pragma once

#include "task/open.h"
#include "task/task.h"

namespace scylla {

Task make_ready(store::Store &store, const store::SpecRow &spec, const store::Carry &carry, TimestampTz now,
                bool is_new = false);
// The task waits until a time.
Task make_waiting(store::Store &store, const store::SpecRow &spec, const store::Carry &carry, TimestampTz due,
                  TimestampTz now);
// The task waits for its gates. times_out: when the first of them times out; nothing: none does.
Task make_gated(store::Store &store, const store::SpecRow &spec, const store::Carry &carry,
                std::optional<TimestampTz> times_out, TimestampTz now);
struct NewLease {
    text *worker;
    int64 timeout;
    text *permit; // see queue/limits.h; null: none
};
// A new lease of a ready task: the next attempt.
Task make_running(store::Store &store, const store::SpecRow &spec, const store::ReadyRow &ready, const NewLease &lease,
                  TimestampTz now);

struct Final {
    model::Status status;
    float4 progress = 0;
    text *owner = nullptr;
    std::optional<TimestampTz> leased = {};
    store::Carry carry;
    Jsonb *result = nullptr;
    Jsonb *metrics = nullptr;
};
// Others may wait for this task: the caller must call settle_gates() when the rows are in the tables.
Task make_final(store::Store &store, const store::SpecRow &spec, const Final &end, TimestampTz now);

// Takes the row of a task out of its table. `busy`, only without waiting: another transaction is changing it. `gone`:
// it was changed or removed; refresh the store and look again. If the transaction rolls back, the heads are told of a
// ready task.
enum class Wait : bool { no, yes };
store::Taken take(store::Store &store, store::TableId table, const store::SpecRow &spec, const ItemPointerData &tid,
                  Wait wait);
// The same for a lease. limited: it has a permit, which another task can get now.
store::Taken take_lease(store::Store &store, const store::SpecRow &spec, const ItemPointerData &tid, bool limited,
                        Wait wait);

} // namespace scylla
