// What a new run needs, both for the first run of an instance and for later ones.
#pragma once

#include "model/workflow/engine.h"
#include "workflow/definitions.h"

namespace scylla::workflow {

struct NewRun {
    const Head *head;
    int32 version;
    int64 instance;
    int32 run;
    Jsonb *initiator;
    Jsonb *properties;           // of the workflow, when the instance was started
    Jsonb *request;              // the parameters that are given
    Jsonb *restart = nullptr;    // as in model/workflow/engine.h; null: it is the first run
    Jsonb *params = nullptr;     // their values
    const char *fault = nullptr; // the error in them for which the run fails at once; null: none
    int64 before = 0;            // as in Start
};

// Sets params. before: the values of the run before; null: it had none. A problem is stored as the fault, or raised
// (22023).
void evaluate_params(NewRun &made, Jsonb *before, bool keep_failed);

// The steps of a run, or of an iteration, with their statuses only.
std::span<const model::workflow::Step> steps_of(int64 scope);

// Whether a version has these steps outside of loops: the members of an object. 22023.
void require_steps(const text *workflow, int32 version, Jsonb *step_params);

// Applies the run strategy: decides whether the new run is stopped, and stops others for which it says so.
struct Applied {
    bool stopped = false;  // the new run
    bool replaces = false; // NewRun::before has ended STOPPED
};
Applied apply_strategy(const NewRun &made);

// Records the new run as an event, if the workflow records events.
void record_new_run(const NewRun &made, model::workflow::RunStatus status);

// An open plan of the owner of the workflow, to which tasks are added during the run.
int64 make_plan(const NewRun &made);

} // namespace scylla::workflow
