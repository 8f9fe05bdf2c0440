// What a restart runs again, and where it begins: at the instance itself, or at an ancestor.
#pragma once

#include "workflow/actions.h"
#include "workflow/runs.h"

namespace scylla::workflow {

// The run or iteration whose steps a restart begins with.
struct RestartScope {
    int64 scope;
    int32 version;
    const text *loop = nullptr; // of the iteration; null: it is the run
};
// Checks the policy, the steps and their parameters. 22023, 55000.
void require_sound_restart(const RestartCall &call, const RestartScope &of);

// Pushes the members of an object that records how a run was restarted.
void push_restart(json::Builder &object, const RestartCall &call);
// The call for an instance, from its part of a path, whose parameters overwrite those of the call.
RestartCall on_path(const RestartCall &call, Jsonb *below);

// The result of a restart.
struct Restarted {
    int32 code; // as in Started; 2: a step of a live ancestor gets another attempt
    const text *workflow;
    int64 instance; // of the run: the topmost ancestor that had ended, or the nearest live one
    int32 run;
    text *status;
    int64 action; // with code 2; else 0
};
// alone: the parent of the instance is not told.
// 42704, 42501, P0002, 55000, 22023.
Restarted restart_with_ancestors(const RestartCall &call, bool alone);
// Restarts a step and its successors. Returns the id of the action. 42704, 42501, P0002, 55000, 22023.
int64 restart_step(const StepName &name, bool alone);

} // namespace scylla::workflow
