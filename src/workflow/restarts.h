// What a restart runs again, and where it begins: at the instance itself, or at an ancestor of it (section 11).
#pragma once

#include "workflow/actions.h"
#include "workflow/runs.h"

namespace scylla::workflow {

// The steps that a restart begins with are those of a run, or of an iteration.
struct RestartScope {
    int64 scope;
    int32 version;
    const text *loop = nullptr; // of the iteration; null: it is the run
};
// Its policy, steps and what is given to these. 22023, 55000.
void require_sound_restart(const RestartCall &call, const RestartScope &of);

// Members of an object: what a run keeps of how it was restarted.
void push_restart(JsonbParseState **state, const RestartCall &call);
// From what a path has of an instance. Its parameters go over those of the call.
RestartCall on_path(const RestartCall &call, Jsonb *below);

// What a restart has come to.
struct Restarted {
    int32 code; // as Started; 2: a step of an ancestor that goes on gets another attempt
    const text *workflow;
    int64 instance; // that has the run: the topmost ancestor that had ended, or the nearest one that goes on
    int32 run;
    text *status;
    int64 action; // with code 2; else 0
};
// alone: whatever has started the instance does not hear of it.
// 42704, 42501, P0002, 55000, 22023.
Restarted restart_with_ancestors(const RestartCall &call, bool alone);
// A step, and what follows it. Returns the id of the action. 42704, 42501, P0002, 55000, 22023.
int64 restart_step(const StepName &name, bool alone);

} // namespace scylla::workflow
