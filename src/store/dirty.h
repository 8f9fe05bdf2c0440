// Reads that see what is not committed yet.
//
// Gates open without locks (task/gates.h). A call that ends a provider must find dependants that another transaction is
// submitting, and other providers that another transaction is ending. A snapshot does not show them. SnapshotDirty
// does, and says which transaction is in progress.
//
// Such a read may miss a row that is being replaced by a new version, so it is for tables whose rows are written once.
// Plans are updated: for them, absent means nothing. So are the specifications of tasks that wait or are ready
// (update_spec()): such an update has the task looked at once more.
#pragma once

#include "store/check_rows.h"
#include "store/condition_rows.h"

namespace scylla::store {

enum class Sight : std::uint8_t {
    absent,
    present,
    in_doubt, // a transaction that is still running, not this one, has inserted or removed the row; of one that it has
              // inserted only the place is known, and of a gate or reservation everything
};

struct Dirty;

Dirty *begin_dirty(Store &store);
void end(Dirty *dirty);

Sight see_outcome(Dirty *dirty, int64 id, model::Status *status);
Sight see_ending(Dirty *dirty, int64 id, Ending *ending);
Sight see_waiting(Dirty *dirty, int64 id, WaitingRow *row);
Sight see_spec(Dirty *dirty, int64 id, SpecRow *row); // without the spec itself
Sight see_plan(Dirty *dirty, int64 id, PlanRow *row);

// The gates of a provider, by task, beginning after the task `after`; and those of a task, by ord, beginning after
// `after`. `before`: where they end. One walk of each kind at a time.
void walk_dependants(Dirty *dirty, int64 provider, int64 after, int64 before);
Sight next_dependant(Dirty *dirty, GateRow *row); // absent: no more
// The same from the newest task down.
void walk_newest_dependants(Dirty *dirty, int64 provider);
Sight next_newest_dependant(Dirty *dirty, GateRow *row);
void walk_gates(Dirty *dirty, int64 task, int32 after, int32 before);
Sight next_gate(Dirty *dirty, GateRow *row);

// How a condition has ended. absent: it has not. Without its value: whether it has failed.
Sight see_condition_end(Dirty *dirty, int64 id, ConditionEndRow *row);
Sight see_condition_end(Dirty *dirty, int64 id, bool *failed);

// The conditions that wait for a signal and have this digest, with bounds from `low` to `high`.
struct Bounds {
    std::string_view low;
    std::optional<std::string_view> high; // nothing: no end
    bool without_low = false;
    bool without_high = false;
};
void walk_signal_conditions(Dirty *dirty, int64 digest, const Bounds &bounds);
Sight next_signal_condition(Dirty *dirty, SignalConditionRow *row);
// The shapes of the conditions on a signal.
void walk_signal_shapes(Dirty *dirty, const text *signal);
Sight next_signal_shape(Dirty *dirty, SignalShapeRow *row);

// Checks that ask the same.
void walk_checks(Dirty *dirty, const bytea *digest);
Sight next_check(Dirty *dirty, CheckRow *row);
// Whether this transaction has inserted the row that was seen last.
bool is_own_check(Dirty *dirty);

} // namespace scylla::store
