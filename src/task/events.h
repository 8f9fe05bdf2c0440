// Events: what happens to the tasks of a queue whose setting `events` is on, as rows that can be followed without gaps.
//
// An event has a position: the number that the next transaction would have got when it was written. Its own transaction
// has a smaller number. So whatever is written by a transaction that runs now, or will begin, gets a position above the
// number of the oldest running one; up to there everything is final, and whoever has read it need not look back. Of two
// events of which one followed the other, the later one has no smaller position, whichever transaction began first; ids
// put those of one position in order.
#pragma once

#include "store/rows.h"

namespace scylla {

// Records the change of status of a task, if its queue wants that.
void record_event(store::Store &store, const store::SpecRow &spec, model::Status status, const store::Carry &carry,
                  text *worker, TimestampTz now);

// For a queue whose setting `notify` is on: a task has become ready.
void notify_ready(store::Store &store, int32 queue);

// NOTIFY on the channel "scylla", with the name of the queue.
void notify(store::Store &store, int32 queue);

// The position of what is written now. The transaction has a number afterwards.
int64 event_position();
// The position up to which everything is final, for whoever reads afterwards.
int64 event_horizon(Snapshot snapshot);

// A place between two events.
struct EventCursor {
    int64 position;
    int64 id;
};
// Whether read_events() may have come there in this database.
bool is_reached(const EventCursor &cursor);

// Where events go, one after the other. What an event points to is gone after the call.
struct EventSink {
    void (*put)(void *to, store::Store &store, const store::EventRow &event);
    void *to;
};
// The first events behind the cursor that are final and that the current user may see, up to `limit`.
void read_events(store::Store &store, const EventCursor &after, int32 limit, const EventSink &sink);

// When the library is loaded: the removal of events older than scylla.event_retention.
void register_event_duty();

} // namespace scylla
