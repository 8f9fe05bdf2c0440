// Events of workflows whose property `events` is on, as rows that can be followed without gaps. They share the
// positions of the events of tasks (task/events.h). Rows are only added, in the transaction of the change that they
// record.
#pragma once

#include "store/workflow/workflow_events.h"
#include "task/events.h"

namespace scylla::workflow {

bool records_events(Jsonb *properties);

using ChangeEvent = store::NewWorkflowEvent;

// Records events, in this order.
void record(std::span<const ChangeEvent> events, TimestampTz now);
void record(const ChangeEvent &event);

// An event for a reader.
using ReadEvent = store::workflow_events::Event;
struct ReadEventSink {
    void (*put)(void *to, const ReadEvent &event);
    void *to;
};
// The first events behind the cursor that are final and that the current user may see, up to `limit`.
void read_events(Snapshot snapshot, const EventCursor &after, int32 limit, const ReadEventSink &sink);

// Called when the library is loaded: registers the removal of events older than scylla.event_retention.
void register_workflow_event_duty();

} // namespace scylla::workflow
