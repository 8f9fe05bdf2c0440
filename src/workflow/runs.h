// Runs of workflows: how a run begins, and what the engine does (docs/workflows.md).
//
// Each event of a run puts a row on the agenda in the event's transaction: a task has ended, the run was started, a
// user wants it stopped. The engine takes runs with such rows, asks the model what follows (model/workflow/engine.h),
// and writes that, in one transaction. The engine does not wait for locks: what another transaction holds is left for
// later. A transaction that ends a task only inserts. A crash leaves the agenda as it was.
#pragma once

#include "model/workflow/engine.h"
#include "store/rows.h"
#include "store/workflow/runs.h"
#include "workflow/definitions.h"
#include "workflow/pace.h"

namespace scylla::workflow {

// ---- beginning -----------------------------------------------------------------------------------------------------

// The step that has started a run as a subworkflow and waits for it.
struct Parent {
    int64 root = 0; // 0: none
    int64 scope = 0;
    const text *step = nullptr;
    int32 attempt = 0;
};
struct Start {
    const text *workflow;
    Jsonb *params;       // an object
    const text *version; // a selector
    const text *request_id = nullptr;
    Jsonb *initiator = nullptr;
    Jsonb *step_params = nullptr; // an object of objects; null: none
    Parent parent = {};
    // For starts without a caller that could get the error: if its parameters cannot be evaluated, the run exists and
    // has failed.
    bool keep_failed = false;
    const char *fault = nullptr; // with keep_failed: why it fails even with valid parameters
    int64 backfill = 0;          // 0: none
    bool late = false;           // other queued runs of the workflow begin before it
    int64 before = 0;            // the last run of the workflow that the same call has made; 0: none
};
struct Started {
    int32 code; // 1: started; 0: request_id has been used before; -1: it was stopped at once
    int64 instance;
    int32 run;
    text *status;
    int64 id;
    bool replaces = false; // Start::before has ended STOPPED for it
};
// Started by the current user. 42704, 42501, 55000, 22023.
Started start(const Start &request);

// Triggers start runs as the owner of the workflow.

// Called when the active version or the properties of a workflow have changed.
void keep_time_triggers(const text *workflow);   // a schedule for each time trigger
void keep_signal_triggers(const text *workflow); // a trigger for each signal trigger
inline void keep_triggers(const text *workflow) {
    keep_time_triggers(workflow);
    keep_signal_triggers(workflow);
}

// The last run of an instance, of a workflow that the current user may run. 42704, 42501, P0002.
using LastRun = store::runs::LastRun;
LastRun require_last(const text *workflow, int64 instance);
// An instance whose last run has ended runs again.
struct RestartCall {
    const text *workflow;
    int64 instance;
    model::workflow::RestartPolicy policy;
    const text *step; // with from_specific; null: none
    Jsonb *params;
    Jsonb *step_params; // an object of objects
    std::span<const text *const> skip_steps;
    Jsonb *initiator; // of the restart
    Parent parent = {};
    Jsonb *given = nullptr; // params by who restarts, beside those that the parent passes; null: none
    Jsonb *below = nullptr; // of the step, see model::workflow::RestartPath; null: everything incomplete in it
    bool is_exact = true;   // false: a complete instance runs from its beginning
};
// Restarted by the current user. 42704, 42501, P0002, 55000, 22023.
Started restart(const RestartCall &call);
// Nothing: there is no such instance, or its last run has not ended.
std::optional<Started> try_restart(const RestartCall &call);

// Ends the last run of an instance; kind: stop or kill. No effect if it has ended that way already. 42704, 42501,
// P0002, 55000.
void end_run(const text *workflow, int64 instance, const char *kind);

// Lets STRICT_SEQUENTIAL start others although the last run of the instance, or any run of the workflow (returns how
// many), has failed. 42704, 42501, P0002, 55000.
void unblock(const text *workflow, int64 instance);
int64 unblock_all(const text *workflow);

// Whether the workflow, which the caller has locked, may get another run strategy. 55000.
void require_switch(const Head &head, model::workflow::Rule rule);
// More runs may be live at once: the engine must check the queued runs.
void look_at_queue(const text *workflow);
// The workflow is dropped: its runs stay, invisible, until their plans are removed. 55000: one has not ended.
void leave_runs(const text *workflow);

// ---- the agenda ----------------------------------------------------------------------------------------------------

struct Item {
    int64 root;
    const char *kind;
    int64 scope = 0;            // 0: the run itself
    const text *step = nullptr; // null: none
    int32 attempt = 0;
    Jsonb *data = nullptr; // null: none
    bool slow = false;
    std::optional<int32> line = std::nullopt; // nothing: it is looked up
};
void put_on_agenda(const Item &item);
// In which the runs of a role stand.
int32 line_of(const char *owner);
// These runs may begin.
void put_next(std::span<const int64> runs);
// Has a run end STOPPED; why: its error, a sentence.
void stop_run(int64 root, const char *why);

// ---- the engine ----------------------------------------------------------------------------------------------------

struct Advance {
    bool more = false;            // there may be more to do
    bool postponed = false;       // another transaction holds a lock that is needed
    bool has_slow = false;        // there is something to do in the slow lane; unknown if there is more in the fast one
    bool took_all = false;        // all that it saw
    TimestampTz next = DT_NOEND;  // when there is something to do
    TimestampTz due = DT_NOBEGIN; // when something is due; -infinity: unknown
};
// The work of one transaction in that lane, as the owner of the tables. before: what the last one of the same process
// in that lane has returned, so that this one need not look for what cannot be there.
Advance advance(Lane lane, const Advance &before = {});

// When the engine has work: now or earlier, if there is something on the agenda.
TimestampTz next_time();

// Whether the run with that plan still has rows on the agenda.
bool is_on_agenda(int64 plan);

// Called when the plan of a run is removed: removes the run.
void forget_run(int64 plan);

// Called when the library is loaded.
void register_runs();
void register_waits();
void register_time_triggers();
void register_signal_triggers();

} // namespace scylla::workflow
