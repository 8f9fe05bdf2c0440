// What a task waits for, as the caller names it: an element of depends_on or wait_for.
#pragma once

#include "store/dirty.h"

namespace scylla {

struct WaitFor {
    enum class What : std::uint8_t { task, callback, signal, check, known };
    What what;
    text *name; // the rn, the token, the name of the signal; of a check its queue; of what is known: any
    store::OnFailure on_failure;
    Jsonb *match = nullptr;                // of a signal
    std::optional<TimestampTz> since = {}; // of a signal
    int64 seq = 0;                         // of a signal: that one; 0: any
    Jsonb *question = nullptr;             // the spec of a check
    std::optional<int64> every = {};       // of a check: microseconds; nothing: as its queue says
    std::optional<int64> timeout = {};     // microseconds; nothing: it waits without end
    store::OnTimeout on_timeout = store::OnTimeout::abort;
    int64 known = 0; // the id of a condition that another task waits or has waited for
};

// What is to end a gate.
struct Provider {
    int64 id;                           // 0: it is made when the task is there
    std::optional<TimestampTz> expires; // it has failed if it has not ended by then
};

// How conditions come about (plan/conditions.h): registered when the library is loaded.
struct ConditionMaker {
    // An existing one; id 0: one that must be made after the task has been inserted. P0002. `element` as in pg/error.h.
    Provider (*find)(store::Store &store, const WaitFor &wait, TimestampTz now, int64 element);
    // Makes it, or finds an equal one that others wait for. is_new: look_back() is to follow when its gates are in
    // their table.
    int64 (*make)(store::Store &store, store::Dirty *dirty, const WaitFor &wait, TimestampTz now, bool *is_new);
    void (*look_back)(store::Store &store, int64 id, TimestampTz now);
};
void register_conditions(const ConditionMaker &maker);
const ConditionMaker &conditions() noexcept;

} // namespace scylla
