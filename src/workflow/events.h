// Events of workflows whose property `events` is on, as rows that can be followed without gaps. They share the
// positions of the events of tasks (task/events.h). Rows are only added, in the transaction of the change that they
// record.
#pragma once

#include "store/spi_arrays.h"
#include "task/events.h"

namespace scylla::workflow {

bool records_events(Jsonb *properties);

struct ChangeEvent {
    const text *workflow;
    const char *owner;     // of the workflow
    std::string_view kind; // run, step, version, activated, deactivated, properties, dropped
    int64 instance = 0;    // 0: about the workflow
    int32 run = 0;
    int32 version = 0;             // 0: not about a version
    std::string_view step{};       // empty: not about a step
    const char *iterations = "";   // that the step is in, as an array of SQL; empty: none
    int32 attempt = 0;             // of the step
    std::string_view old_status{}; // empty: a new run or step
    std::string_view status{};
};

// Events that are written together.
class ChangeEvents {
public:
    void add(const ChangeEvent &event);
    void write(TimestampTz now) const;

private:
    store::ArrayColumn workflows_{TEXTOID}, owners_{TEXTOID}, kinds_{TEXTOID}, instances_{INT8OID}, runs_{INT4OID},
        versions_{INT4OID}, steps_{TEXTOID}, iterations_{TEXTOID}, attempts_{INT4OID}, old_{TEXTOID}, new_{TEXTOID};
};
void record(const ChangeEvent &event);

// An insert of the events of steps s of runs r that get this status, to be followed by a condition.
#define SCYLLA_WORKFLOW_STEP_EVENTS(position, time, status)                                                            \
    "insert into scylla.workflow_event (position, \"time\", workflow, owner, kind, instance, run, version, step, "     \
    "iterations, attempt, old_status, status) select " position ", " time ", r.workflow, r.owner, 'step', "            \
    "r.instance, r.run, r.version, s.step, i.numbers, s.attempt, s.status, " status " "                                \
    "from scylla.workflow_step_state s join scylla.workflow_run_state r on r.id operator(pg_catalog.=) s.root "        \
    "left join scylla.workflow_iteration i on i.id operator(pg_catalog.=) s.scope "

// Whether the workflow of a run r records its events.
#define SCYLLA_WORKFLOW_RECORDS                                                                                        \
    "exists (select from scylla.workflow_head h where h.id operator(pg_catalog.=) r.workflow "                         \
    "and h.properties operator(pg_catalog.@>) '{\"events\": true}')"

// An event for a reader.
struct ReadEvent {
    EventCursor cursor;
    TimestampTz time;
    text *workflow;
    text *kind;
    std::optional<int64> instance;
    std::optional<int32> run;
    text *step;
    ArrayType *iterations;
    std::optional<int32> attempt;
    text *old_status;
    text *status;
    std::optional<int32> version;
};
struct ReadEventSink {
    void (*put)(void *to, const ReadEvent &event);
    void *to;
};
// The first events behind the cursor that are final and that the current user may see, up to `limit`.
void read_events(Snapshot snapshot, const EventCursor &after, int32 limit, const ReadEventSink &sink);

// Called when the library is loaded: registers the removal of events older than scylla.event_retention.
void register_workflow_event_duty();

} // namespace scylla::workflow
