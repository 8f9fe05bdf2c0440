// The way of an attempt to RUNNING (section 2.2).
#include "model/workflow/advance.h"

namespace scylla::model::workflow {

void Advance::begin_attempt(LiveScope &scope, LiveStep &step) { enter(scope, step, StepStatus::initialized); }

// From phase to phase, until the step runs, waits for something, or has failed. Who lets a step go on that has waited
// enters the phase after the one in which it did.
void Advance::enter(LiveScope &scope, LiveStep &step, StepStatus phase) {
    change(step);
    step.now.due = 0;
    for (auto next = std::optional(phase); next; next = pass(scope, step))
        step.now.status = *next;
}

// What comes after the phase that the step is in; nothing: it has to wait there, or the attempt has gone its way.
std::optional<StepStatus> Advance::pass(LiveScope &scope, LiveStep &step) {
    switch (step.now.status) {
    case StepStatus::initialized:
        return StepStatus::waiting_for_signals;
    case StepStatus::waiting_for_signals:
        return StepStatus::evaluating_params;
    case StepStatus::evaluating_params:
        return evaluate(scope, step) ? std::optional(StepStatus::waiting_for_permits) : std::nullopt;
    case StepStatus::waiting_for_permits:
        return StepStatus::starting;
    case StepStatus::starting:
        begin_work(scope, step);
        return std::nullopt;
    default:
        return std::nullopt;
    }
}

// A step that fails here leaves no work behind.
bool Advance::evaluate(LiveScope &scope, LiveStep &step) {
    try {
        return attempt(scope, step, [&] {
            step.now.params = state_.keep(evaluate_step_params(state_, scope, step));
            step.params.reset();
        });
    } catch (const NotYet &) {
        postpone(scope, step, StepStatus::evaluating_params);
        return false;
    }
}

void Advance::begin_work(LiveScope &scope, LiveStep &step) {
    try {
        step.now.started = state_.now;
        attempt(scope, step, [&] { start(scope, step); });
    } catch (const NotYet &) {
        postpone(scope, step, StepStatus::starting);
    }
}

} // namespace scylla::model::workflow
