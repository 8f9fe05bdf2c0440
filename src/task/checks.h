// Checks: questions that many tasks wait for together. A check is a task like any other. A worker of its queue answers
// it: by completing it, which opens the gates of all tasks that wait for it, or by not_yet(). It is made for the first
// task that waits for it. Later tasks with an equal question (store/check_rows.h) join it.
//
//   * A call that joins a check locks its row there, without waiting, inserts its gate, and looks whether the check has
//     ended. If it cannot join at once, it makes another check for the question.
//   * A call that ends a check inserts its outcome, then looks for gates, as with any task.
//   * The monitor cancels a check that nothing waits for: it removes the row, without waiting, and then looks for
//     gates. So a transaction that joins keeps the monitor off, and later calls do not find the check.
//
// No call waits for a transaction that has made a check and has not committed: such a check is not shared.
//
// Its waiters determine how often a check is asked: that is decided after each "not yet". If a new waiter wants an
// earlier answer, the monitor looks at the check when the waiter is committed.
#pragma once

#include "store/dirty.h"
#include "task/duty.h"
#include "task/wait_for.h"

namespace scylla {

// Raises 42501 or 42704 if tasks of the current user may not wait for checks of the queue.
void require_check_queue(store::Store &store, text *queue);
// Finds or makes the check that the waiter has to wait for.
int64 check_for(store::Store &store, store::Dirty *dirty, const store::SpecRow &waiter, const WaitFor &wait);
// Called when the gate is in the table, or about to be. If the check has to change for the waiter, the commit tells the
// monitor.
void hasten_check(store::Store &store, store::Dirty *dirty, const store::SpecRow &waiter, const WaitFor &wait,
                  int64 check, TimestampTz now);

// How long after "not yet" a check is asked again; nothing: no waiter says.
std::optional<int64> check_interval(store::Store &store, int64 check, TimestampTz now);

// A task no longer waits for all or some of its checks: the monitor looks at the live ones after the commit.
void leave_checks(store::Store &store, int64 waiter);
// Looks at a live check: cancels it if nothing waits for it, else has it asked as soon as its newest waiters want.
// *changed: whether it has changed the check.
store::Sight tend_check(store::Store &store, store::Dirty *dirty, const store::SpecRow &check, TimestampTz now,
                        bool *changed);

// When the library is loaded: the walk through all checks.
void register_check_duty();

} // namespace scylla
