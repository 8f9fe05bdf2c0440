// Events: what happens to the tasks of a queue whose setting `events` is on, as rows that can be followed without gaps.
//
// An event has a position: the number that the next transaction would have got when it was written. Its own transaction
// has a smaller number. So whatever is written by a transaction that runs now, or will begin, gets a position above the
// number of the oldest running one; up to there everything is final, and whoever has read it need not look back. Of two
// events of which one followed the other, the later one has no smaller position, whichever transaction began first; ids
// put those of one position in order.
#pragma once

#include "store/rows.h"
#include "task/portion.h"

namespace scylla {

// Records the change of status of a task, if its queue wants that.
void record_event(store::Store &store, const store::SpecRow &spec, model::Status status, const store::Carry &carry,
                  text *worker, TimestampTz now);

// For a queue whose setting `notify` is on: a task has become ready.
void notify_ready(store::Store &store, int32 queue);

// NOTIFY on the channel "scylla", with the name of the queue.
void notify(store::Store &store, int32 queue);

// Removes events older than scylla.event_retention. `from` is the position where the walk begins; it is moved up over
// what has gone.
void purge_old_events(store::Store &store, TimestampTz now, Portion *portion, int64 *from);

} // namespace scylla
