// Actions of users on runs and their steps: who requested what, and the result. An action is a row of its
// own, in addition to the one on the agenda.
#pragma once

#include "model/workflow/actions.h"
#include "store/workflow/steps.h"
#include "workflow/definition_cache.h"
#include "workflow/runs.h"

namespace scylla::workflow {

struct Action {
    int64 root;
    const char *kind;           // in its row
    const char *item = nullptr; // on the agenda; null: the same
    int64 scope = 0;            // 0: the action is on the run
    const text *step = nullptr; // of that scope
    int32 attempt = 0;
    Jsonb *data = nullptr; // of the row on the agenda
};
// Adds an action of the current user. Returns its id; nothing: an earlier action on this step is still pending.
std::optional<int64> put_action(const Action &action);

// Adds actions on all live runs of a workflow; queued runs do not begin. Returns the number of runs. 42704, 42501.
int64 end_all_runs(const text *workflow, const char *kind);

// The engine has handled them, and written the results.
void settle_actions(std::span<const int64> ids, TimestampTz now);
// The same for the actions on a run that cannot continue.
void settle_actions_of(int64 root, TimestampTz now);

// A step of the last run of an instance.
struct StepName {
    const text *workflow;
    int64 instance;
    const text *step;
    std::span<const int64> iterations; // the outer one first
    Jsonb *initiator = nullptr;        // of a new run
};
// step "copy" {3,1} of instance 5 of workflow "nightly"
const char *show(const StepName &name);

// The last attempt of a step of that scope.
using StepNow = store::steps::State;
StepNow step_now(int64 scope, const text *step);

struct StepPlace {
    int64 root;
    int32 run;
    int64 scope; // 0: an iteration around it has not begun
    bool ended;  // an iteration around it
    model::workflow::StepStatus status;
    int32 attempt; // 0: none
};
// The place of a step of a live run. 42704, 42501, P0002, 55000, 22023.
StepPlace find_place(const StepName &name);
// The same for this run, which may have ended. P0002, 22023.
StepPlace place_in(const StepName &name, const LastRun &run);
// Nothing: the step is already as the action would leave it. Skipping a step of an ended run starts a new run. 42704,
// 42501, P0002, 55000, 22023.
std::optional<int64> act_on_step(const StepName &name, model::workflow::StepAction action);
// Adds the action on a run that has ended, which a restart of it has carried out already. Returns its id.
int64 put_restart(const Action &action, int32 run, const text *status);

} // namespace scylla::workflow
