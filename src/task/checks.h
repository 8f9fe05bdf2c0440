// Checks: questions that many tasks wait for together. A check is a task as any other. A worker of its queue answers
// it: by completing it, which opens the gates of all that wait for it, or by not_yet(). It is made for the first task
// that waits for it; who comes later with an equal question (store/check_rows.h) joins it.
//
//   * Who joins a check locks its row there, without waiting, inserts its gate, and looks whether the check has ended.
//     What cannot be joined at once is not joined: then the question gets another check.
//   * Who ends a check inserts its outcome, then looks for gates, as with any task.
//   * A check that nobody waits for is cancelled by the monitor: it removes the row, without waiting, and then looks
//     for gates. So a transaction that joins keeps it off, and whoever comes later does not find the check.
//
// A transaction that has made a check and has not committed is not waited for either: it shares it with nobody.
//
// What a check goes by is what its waiters want: how often it is asked is settled when it has answered "not yet". A
// waiter that is in more of a hurry has the monitor look at the check when it is committed.
#pragma once

#include "store/dirty.h"
#include "task/duty.h"
#include "task/wait_for.h"

namespace scylla {

// Raises 42501 or 42704 if the current user may not have tasks wait for checks of the queue.
void require_check_queue(store::Store &store, text *queue);
// The check that the waiter is to wait for.
int64 check_for(store::Store &store, store::Dirty *dirty, const store::SpecRow &waiter, const WaitFor &wait);
// When the gate is in the table, or about to be: what the waiter wants is told to the monitor if the check is to
// change.
void hasten_check(store::Store &store, store::Dirty *dirty, const store::SpecRow &waiter, const WaitFor &wait,
                  int64 check, TimestampTz now);

// How long after "not yet" a check is to be asked again; nothing: no waiter says.
std::optional<int64> check_interval(store::Store &store, int64 check, TimestampTz now);

// A task does not wait any longer, for all or for some of its checks: those that are live are looked at when this is
// committed.
void leave_checks(store::Store &store, int64 waiter);
// Looks at a live check: cancels it if nobody waits for it, else has it asked as soon as its newest waiters want. True
// in *changed: it has.
store::Sight tend_check(store::Store &store, store::Dirty *dirty, const store::SpecRow &check, TimestampTz now,
                        bool *changed);

// When the library is loaded: the walk through all checks.
void register_check_duty();

} // namespace scylla
