// Events: what happens to the tasks of a queue with the setting `events`, as rows that can be read without gaps.
//
// An event has a position: the next transaction id at the time it was written. Its own transaction has a smaller id. So
// every transaction that runs now, or begins later, writes positions above the id of the oldest running transaction. Up
// to that id everything is final, and a reader that has read it need not look back. An effect never has a smaller
// position than its cause, whichever transaction began first. Events of one position are ordered by id.
#pragma once

#include "store/rows.h"

namespace scylla {

// Records a change of status of a task, if its queue has events.
void record_event(store::Store &store, const store::SpecRow &spec, model::Status status, const store::Carry &carry,
                  text *worker, TimestampTz now);

// For a queue whose setting `notify` is on: a task has become ready.
void notify_ready(store::Store &store, int32 queue);

// NOTIFY on the channel "scylla", with the name of the queue.
void notify(store::Store &store, int32 queue);

// The position of an event that is written now. Gives the transaction an id.
int64 event_position();
// The position up to which everything is final, for a reader that reads afterwards.
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
