// The way of an attempt to RUNNING (section 2.2).
#include <algorithm>

#include "model/workflow/advance.h"

namespace scylla::model::workflow {

namespace {

// A permit of each pool: {"tag:db": {"permits": 1}}. Empty: there is none.
std::string needs_of(const RunState &state, const StepNode &step) {
    std::string json;
    const auto add = [&](const std::string &pool) {
        json += (json.empty() ? "{" : ",") + json_text(pool) + ":{" + json_text(k_permits) + ":1}";
    };
    for (const std::string_view pool : state.run.permits.of_all)
        add(std::string(pool));
    const auto &limited = state.run.permits.tags;
    for (const std::string &tag : step.tags)
        if (std::find(limited.begin(), limited.end(), tag) != limited.end())
            add(std::string(k_tag_pool_prefix) + tag);
    return json.empty() ? json : json + "}";
}

} // namespace

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
        return wait_for_permits(scope, step) ? std::nullopt : std::optional(StepStatus::starting);
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

// The task is there already, and waits for the permits that the step needs. False: it needs none, or has failed.
bool Advance::wait_for_permits(LiveScope &scope, LiveStep &step) {
    step.needs = has_task(*step.node) ? state_.keep(needs_of(state_, *step.node)) : std::string_view{};
    if (step.needs.empty())
        return false;
    attempt(scope, step, [&] {
        step.target = state_.keep(queue_of(state_, step));
        step.wants_work = true;
    });
    return true;
}

// Its task can be leased from now on, which is when its time begins.
void Advance::take_permits(LiveScope &scope, LiveStep &step) {
    if (step.now.status != StepStatus::waiting_for_permits || step.wants_work)
        return;
    step.now.started = state_.now;
    step.now.status = StepStatus::running;
    change(step);
    try {
        step.drops_work = !attempt(scope, step, [&] { set_due(scope, step); });
    } catch (const NotYet &) {
        step.now.started = 0;
        postpone(scope, step, StepStatus::waiting_for_permits);
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
