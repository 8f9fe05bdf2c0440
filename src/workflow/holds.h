// Holds keep steps and runs of workflows from beginning: breakpoints, pauses of single steps, and pauses of
// whole workflows. A call that makes or removes one writes its row and a row on the agenda. The engine reads the holds
// after it has taken the agenda, so that it sees all that was committed before.
#pragma once

#include "workflow/actions.h"

namespace scylla::workflow {

// Which attempts of a step stop. version, instance, run 0: all of them.
struct Breakpoint {
    const text *workflow;
    const text *step;
    int32 version;
    int64 instance;
    int32 run;
};
void set_breakpoint(const Breakpoint &breakpoint);               // 42704, 42501, P0002
void drop_breakpoint(const Breakpoint &breakpoint, bool resume); // 42704, 42501

// The next attempt of the step is PAUSED before it begins. 42704, 42501, P0002, 55000, 22023.
void pause_step(const StepName &name);
// Lets a PAUSED step continue, and returns the id of the action. Nothing: the step is not PAUSED yet, and the pending
// pause_step() is removed. 42704, 42501, P0002, 55000, 22023.
std::optional<int64> resume_step(const StepName &name);

// No run or step of the workflow begins; running steps continue. 42704, 42501.
void pause_workflow(const text *id);
void resume_workflow(const text *id);

} // namespace scylla::workflow
