// Runs of workflows: how one begins, and what the engine does about them (docs/workflows.md).
//
// What happens to a run leaves a row on the agenda, in the transaction in which it happens: a task of it has ended, it
// has been started, somebody wants it stopped. The engine takes runs that have such rows, asks the model what follows
// (model/workflow/engine.h), and writes that, in one transaction. It waits for nobody: what another transaction holds
// it leaves for later. Whoever ends a task only inserts. A crash leaves the agenda as it was.
#pragma once

#include "model/workflow/engine.h"
#include "store/rows.h"
#include "workflow/definitions.h"

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
    Parent parent = {};
    // For those whom no caller would hear of the error: a run whose parameters cannot be evaluated is there, and has
    // failed.
    bool keep_failed = false;
    const char *fault = nullptr; // with that: why it fails, whatever its parameters are
    int64 backfill = 0;          // 0: none
    bool late = false;           // other runs of the workflow go first
};
struct Started {
    int32 code; // 1: it is there now; 0: request_id has been used before; -1: it was stopped at once
    int64 instance;
    int32 run;
    text *status;
    int64 id;
};
// As the current user. 42704, 42501, 55000, 22023.
Started start(const Start &request);

// What a trigger starts, it starts as the owner of the workflow.

// To be called when the active version or the properties of a workflow have changed.
void keep_time_triggers(const text *workflow);   // a schedule for each time trigger (section 8)
void keep_signal_triggers(const text *workflow); // a trigger for each signal trigger (section 7.3)
inline void keep_triggers(const text *workflow) {
    keep_time_triggers(workflow);
    keep_signal_triggers(workflow);
}

// The last run of an instance, of a workflow that the current user may run. 42704, 42501, P0002.
struct LastRun {
    int64 id;
    int32 version;
    int32 run;
    bool begun;
    bool ended;
    bool failed;
    Parent parent; // root 0: none
};
LastRun require_last(const text *workflow, int64 instance);
// An instance whose last run has ended runs again (section 11).
struct RestartCall {
    const text *workflow;
    int64 instance;
    model::workflow::RestartPolicy policy;
    const text *step; // with from_specific; null: none
    Jsonb *params;
    Jsonb *step_params; // an object of objects
    std::span<const text *const> skip_steps;
    Jsonb *initiator; // who wants it
    Parent parent = {};
    Jsonb *below = nullptr; // of the step, see model::workflow::RestartPath; null: what is incomplete in it
    bool is_exact = true;   // false: an instance that is complete runs from its beginning
};
// As the current user. 42704, 42501, P0002, 55000, 22023.
Started restart(const RestartCall &call);
// Nothing: there is no such instance, or its last run has not ended.
std::optional<Started> try_restart(const RestartCall &call);

// Has the last run of an instance end: kind is stop or kill. One that has ended so already stays as it is. 42704,
// 42501, P0002, 55000.
void end_run(const text *workflow, int64 instance, const char *kind);

// STRICT_SEQUENTIAL starts others though the last run of the instance, or any run of the workflow (returns how many),
// has failed. 42704, 42501, P0002, 55000.
void unblock(const text *workflow, int64 instance);
int64 unblock_all(const text *workflow);

// Whether the workflow, which is held, may get another run strategy (section 3.5). 55000.
void require_switch(const Head &head, model::workflow::Rule rule);
// More runs may run at once: the engine is to look at those that wait.
void look_at_queue(const text *workflow);
// The workflow is dropped: its runs stay until their plans are removed, but nobody sees them. 55000: one has not ended.
void leave_runs(const text *workflow);

// ---- the agenda ----------------------------------------------------------------------------------------------------

struct Item {
    int64 root;
    const char *kind;
    int64 scope = 0;            // 0: the run itself
    const text *step = nullptr; // null: none
    int32 attempt = 0;
    Jsonb *data = nullptr; // null: none
};
void put_on_agenda(const Item &item);

// ---- the engine ----------------------------------------------------------------------------------------------------

struct Advance {
    bool more = false;           // there may be more to do
    bool postponed = false;      // something is held by somebody else's transaction
    TimestampTz next = DT_NOEND; // when something is due
};
// One transaction's work, as the owner of the tables.
Advance advance();

// When there is something for it to do: now or earlier, if there is something on the agenda.
TimestampTz next_time();

// Whether something that the run with that plan has left is still to be done.
bool is_on_agenda(int64 plan);

// A plan that a run has made is removed: so is the run.
void forget_run(int64 plan);

// When the library is loaded.
void register_runs();
void register_waits();
void register_time_triggers();
void register_signal_triggers();

} // namespace scylla::workflow
