// What keeps steps and runs of workflows from beginning (section 9): breakpoints, pauses of single steps, and pauses of
// whole workflows. Who makes or removes one writes a row and something on the agenda; the engine reads what there is
// once it has taken the agenda, so that it sees all that was committed before.
#pragma once

#include "workflow/actions.h"

namespace scylla::workflow {

// Which attempts of a step stop: those of all versions, instances and runs that are not named (0).
struct Breakpoint {
    const text *workflow;
    const text *step;
    int32 version;
    int64 instance;
    int32 run;
};
void set_breakpoint(const Breakpoint &breakpoint);               // 42704, 42501, P0002
void drop_breakpoint(const Breakpoint &breakpoint, bool resume); // 42704, 42501

// The next attempt of the step that is to begin is PAUSED. 42704, 42501, P0002, 55000, 22023.
void pause_step(const StepName &name);
// Lets a step go on that is PAUSED: returns the id of the action. Nothing: it is not yet, and will not be by
// pause_step(). 42704, 42501, P0002, 55000, 22023.
std::optional<int64> resume_step(const StepName &name);

// Nothing of the workflow begins; what runs goes on. 42704, 42501.
void pause_workflow(const text *id);
void resume_workflow(const text *id);

} // namespace scylla::workflow
