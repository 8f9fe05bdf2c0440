// The gates of a task from what its caller named (task/wait_for.h): for submit and defer.
#pragma once

#include "task/wait_for.h"

namespace scylla {

// 42704/P0002 where the caller may not wait for it, or it is not there. id 0: it is made when the task is there.
// `element` as in pg/error.h.
Provider find_provider(store::Store &store, const WaitFor &wait, TimestampTz now, int64 element = 0);
// The same for a task.
int64 provider_id(store::Store &store, const text *rn, int64 element = 0);

// The conditions that a call has made and no task had waited for: once the gates are in their table, past signals must
// be searched for again.
struct NewConditions {
    std::span<int64> ids; // with room for one for each gate
    std::size_t count;
};

// What a task waits for, and the provider of each.
struct Waits {
    std::span<const WaitFor> waits;
    std::span<Provider> providers; // those that are made with their gates get their ids then
};

// The gates of a task, from ord 1 on; of a plan the caller takes care. They begin to wait now.
void insert_gates(store::Store &store, store::Dirty *dirty, const store::SpecRow &spec, const Waits &of,
                  TimestampTz now, NewConditions *made);
// When the gates are in their table.
void look_back(store::Store &store, const NewConditions &made, TimestampTz now);

// When the first gate times out; nothing: none does.
std::optional<TimestampTz> first_timeout(const Waits &of, TimestampTz now);

} // namespace scylla
