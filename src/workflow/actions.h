// What somebody wants of runs and of their steps (section 14): who has asked for what, and what has come of it. An
// action is a row of its own, beside the one on the agenda.
#pragma once

#include "model/workflow/actions.h"
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
// Of the current user. Returns its id; nothing: another one on this step has not been taken up yet.
std::optional<int64> put_action(const Action &action);

// On all runs of a workflow that have not ended; those that wait for their turn do not begin. Returns how many there
// are. 42704, 42501.
int64 end_all_runs(const text *workflow, const char *kind);

// The engine has taken them up, and written what has come of them.
void settle_actions(std::span<const int64> ids, TimestampTz now);
// Of a run that cannot go on.
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

struct StepPlace {
    int64 root;
    int32 run;
    int64 scope; // 0: an iteration around it has not begun
    bool ended;  // an iteration around it
    model::workflow::StepStatus status;
    int32 attempt; // 0: none
};
// Where it is, if the run has not ended and has such a step. 42704, 42501, P0002, 55000, 22023.
StepPlace find_place(const StepName &name);
// The same of this run, whether it has ended or not. P0002, 22023.
StepPlace place_in(const StepName &name, const LastRun &run);
// Nothing: the step is as the action would leave it. To skip a step of a run that has ended is a new run.
// 42704, 42501, P0002, 55000, 22023.
std::optional<int64> act_on_step(const StepName &name, model::workflow::StepAction action);
// A run that was started at once is the action. Returns its id.
int64 put_restart(const Action &action, const text *status);

} // namespace scylla::workflow
