// Conditions: providers of gates that are neither tasks nor plans. A caller that knows the token ends a callback; a
// signal that matches ends a condition on a signal.
//
// A condition ends once, with a row of task_condition_end, as a task ends with a row of task_outcome. So the gates on
// it work as those on a task do (task/gates.h). The call that ends it inserts that row and then looks for gates. The
// call that submits a waiting task inserts the gates and then looks for that row. Both see what is not committed yet.
//
// Signals and conditions on them work in the same way:
//
//   * The call that sends a signal inserts it, then looks for conditions that it matches, committed or not.
//   * The call that submits a waiting task inserts the condition, then looks for signals that were committed before.
//
// Neither sees a signal whose call looked for conditions before the condition was inserted, and that is committed after
// the history was searched. So the monitor looks for the conditions of each signal again after its commit
// (note_recheck() in shmem/pending.h). A walk through the waiting conditions makes up for crashes and prepared
// transactions (look_at_conditions()).
#pragma once

#include "model/bounds.h"
#include "store/dirty.h"
#include "store/plan/callbacks.h"
#include "task/moves.h"
#include "task/duty.h"
#include "task/reasons.h"
#include "task/wait_for.h"

namespace scylla {

// Tasks join an existing condition only while it is younger than this; later ones get a condition of their own. So a
// condition that is twice as old and has no gate can be removed.
inline constexpr int64 k_shared_for = model::k_day / 2;

struct ConditionEnd {
    bool failed;
    Jsonb *value; // of the gates; an error if it failed
};
// For a condition that is in no table of waiting conditions, and has not ended. The caller must call settle_gates()
// afterwards.
void end_condition(store::Store &store, int64 id, const ConditionEnd &end, TimestampTz now);

// ---- callbacks -----------------------------------------------------------------------------------------------------

using Callback = store::callbacks::Callback;

// Returns the token. 42710 if it is taken; null: a random one is generated.
text *create_callback(text *token, std::optional<TimestampTz> expires);
// False if it has ended already. Waits for a transaction that is ending the same callback. P0002 if it is unknown or
// expired.
bool end_callback(store::Store &store, const text *token, const ConditionEnd &end, TimestampTz now);
// For a task that will wait for it; P0002 if it is unknown, or has expired without having ended.
Callback find_callback(store::Store &store, const text *token, TimestampTz now, int64 element);

// A callback that a gate waits for, as the current user may see it.
std::optional<Reason> describe_callback(int64 id);

// ---- signals -------------------------------------------------------------------------------------------------------

struct SignalRequest {
    text *name;
    Jsonb *params;
    Jsonb *payload;   // may be null
    text *request_id; // may be null
};
// Records a signal and ends the conditions that it matches. Returns its number; that of an earlier one with the same
// request_id. 22023, 42501.
int64 send_signal(store::Store &store, const SignalRequest &request, TimestampTz now);

// The condition that an element of wait_for names: one that has ended if a past signal matches, else a waiting one,
// else a new one. 22023, 42501. `is_new`: the caller must call end_by_history() for it when the gates are in their
// table.
int64 condition_on(store::Store &store, store::Dirty *dirty, const WaitFor &wait, TimestampTz now, bool *is_new);
// Ends a condition if a signal that is committed by now matches it.
void end_by_history(store::Store &store, int64 id, TimestampTz now);

// The same for a condition on a signal.
Reason describe_signal_condition(store::Store &store, int64 id);
const char *label_signal_condition(store::Store &store, int64 id);

// Steps of workflows wait for signals without a gate. A condition of a step is not shared. When it has ended, the
// registered functions are called in the same transaction.
struct StepConditions {
    // signal: {"name", "seq", "params", "sent"}.
    void (*tell)(std::span<const int64> conditions, Jsonb *signal);
    // Whether a step still waits for it; otherwise the condition is removed.
    bool (*is_awaited)(int64 condition);
    void (*forget)(int64 condition);
};
void register_step_conditions(const StepConditions &conditions);
const StepConditions &conditions_of_steps() noexcept;
// As the current user. The newest signal that matches already; else a new condition, for which the caller must call
// end_by_history() when the step is stored as waiting for it. 22023, 42501.
struct StepCondition {
    int64 id;      // 0: there is a signal
    Jsonb *signal; // as tell() gets it
};
StepCondition condition_of_step(store::Store &store, store::Dirty *dirty, const WaitFor &wait, TimestampTz now);

// A signal as it was sent, for triggers. Nothing: it has been purged.
struct SentSignal {
    text *name;
    Jsonb *params;
    Jsonb *value; // of the gates that it opens
    TimestampTz sent;
};
std::optional<SentSignal> find_sent(int64 seq);

// Looks again for the conditions of a signal.
bool has_signal(int64 id);
store::Sight announce_again(store::Store &store, store::Dirty *dirty, int64 id, TimestampTz now, bool *changed);
// A duty: looks for past signals that waiting conditions match.
void look_at_conditions(store::Store &store, DutyTurn &turn);
void restart_conditions();

// ---- removal -------------------------------------------------------------------------------------------------------

// For a condition that no gate names any more: the row of its end, and its callback.
void remove_ended_condition(store::Store &store, int64 id);
// When the library is loaded: registers the duties that remove signals past their retention, callbacks that ended or
// expired as long ago, and conditions that nothing waits for; none that a gate names.
void register_condition_removals();

// When the library is loaded.
void register_condition_gates();

} // namespace scylla
