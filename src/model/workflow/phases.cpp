// The phases of an attempt before RUNNING (docs/workflows.md, Times).
#include <algorithm>

#include "model/workflow/advance.h"
#include "model/workflow/dependencies.h"
#include "model/workflow/step_template.h"
#include "model/workflow/step_times.h"

namespace scylla::model::workflow {

namespace {

// One permit of each pool: {"tag:db": {"permits": 1}}. Empty: no pool.
class Needs {
public:
    void add(const std::string &pool) {
        json_ += (json_.empty() ? "{" : ",") + json_text(pool) + ":{" + json_text(k_permits) + ":1}";
    }
    void add_tag(const std::string &tag) { add(std::string(k_tag_pool_prefix) + tag); }
    std::string take() { return json_.empty() ? std::string{} : json_ + "}"; }

private:
    std::string json_{};
};

std::string needs_of(RunState &state, LiveScope &scope, LiveStep &step) {
    Needs needs;
    for (const std::string_view pool : state.run.permits.of_all)
        needs.add(std::string(pool));
    const std::vector<std::string> &tags = step.node->tags;
    const auto &limited = state.run.permits.tags;
    for (const std::string &tag : tags)
        if (std::find(limited.begin(), limited.end(), tag) != limited.end())
            needs.add_tag(tag);
    if (!step.node->sub_type.empty())
        for (const std::string &tag : template_of(state, scope, step).limited)
            if (std::find(tags.begin(), tags.end(), tag) == tags.end())
                needs.add_tag(tag);
    return needs.take();
}

// Whether these are the numbers of the iteration and of those around it, the outer one first.
bool is_in(const LiveScope &scope, std::span<const std::int64_t> iterations) noexcept {
    const LiveScope *at = &scope;
    for (std::size_t left = iterations.size(); left > 0; left--, at = at->around)
        if (at->around == nullptr || at->now.number != iterations[left - 1])
            return false;
    return at->around == nullptr;
}

bool is_held(const Run &run, const LiveScope &scope, const LiveStep &step) noexcept {
    return std::any_of(run.holds.begin(), run.holds.end(), [&](const Hold &hold) {
        return hold.step == step.node->id && (hold.iterations.empty() || is_in(scope, hold.iterations));
    });
}

// Whether no step of the run may begin.
bool is_paused(const Run &run) noexcept {
    return std::any_of(run.holds.begin(), run.holds.end(), [](const Hold &hold) { return hold.step.empty(); });
}

} // namespace

void Advance::begin_attempt(LiveScope &scope, LiveStep &step) { enter(scope, step, StepStatus::initialized); }

// Goes from phase to phase, until the step runs, waits or has failed. A step that has waited is resumed by entering the
// next phase.
void Advance::enter(LiveScope &scope, LiveStep &step, StepStatus phase) {
    change(step);
    step.now.due = 0;
    StepStatus reached = phase;
    for (auto next = std::optional(phase); next; next = pass(scope, step))
        reached = step.now.status = *next;
    if (step.now.started == 0) // it waits there, or has failed there
        keep_time(state_, step, reached);
}

// The phase after that of the step; nothing: the step must wait there, or the attempt has left these phases.
std::optional<StepStatus> Advance::pass(LiveScope &scope, LiveStep &step) {
    switch (step.now.status) {
    case StepStatus::initialized:
        if (is_held(state_.run, scope, step))
            return StepStatus::paused;
        return is_paused(state_.run) ? std::nullopt : std::optional(StepStatus::waiting_for_signals);
    case StepStatus::waiting_for_signals: // also a step that was resumed while its workflow is paused
        return await_signals(scope, step) && !is_paused(state_.run) ? std::optional(StepStatus::evaluating_params)
                                                                    : std::nullopt;
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

// Called after the end of a pause of the workflow, which may have been paused again since. A breakpoint that was set
// meanwhile stops the step.
void Advance::go_on_after_pause(LiveScope &scope, LiveStep &step) {
    if (is_paused(state_.run))
        return;
    if (step.now.status == StepStatus::initialized)
        return enter(scope, step, step.now.status);
    bool is_ready = false;
    if (step.now.status != StepStatus::waiting_for_signals ||
        !attempt(scope, step, [&] { is_ready = are_matched(state_, step); }))
        return;
    if (is_ready)
        enter(scope, step, step.now.status);
}

// Whether the step need not wait for signals, or not any more.
bool Advance::await_signals(LiveScope &scope, LiveStep &step) {
    if (step.node->dependencies.empty())
        return true;
    try {
        bool matched = false;
        const bool read = attempt(scope, step, [&] {
            BegunWaits begun = begin_waits(state_, scope, step);
            step.now.signals = state_.keep(std::move(begun.kept));
            if (!begun.waits.empty())
                step.waits = state_.keep(std::move(begun.waits));
            matched = are_matched(state_, step);
        });
        return read && matched;
    } catch (const NotYet &why) {
        postpone(step, StepStatus::waiting_for_signals, why);
        return false;
    }
}

void Advance::take_of_match(LiveScope &scope, LiveStep &step, std::string_view data) {
    if (step.now.status != StepStatus::waiting_for_signals)
        return;
    std::optional<std::string> signals;
    if (!attempt(scope, step, [&] { signals = with_match(state_, step, data); }) || !signals)
        return;
    step.now.signals = state_.keep(std::move(*signals));
    enter(scope, step, StepStatus::waiting_for_signals);
}

void Advance::bypass(LiveScope &scope, LiveStep &step) {
    if (step.now.status != StepStatus::waiting_for_signals || step.now.signals.empty())
        return;
    if (!attempt(scope, step, [&] { step.now.signals = state_.keep(with_bypassed(state_, step)); }))
        return;
    enter(scope, step, StepStatus::waiting_for_signals);
}

// If the step fails here, there is no work to cancel.
bool Advance::evaluate(LiveScope &scope, LiveStep &step) {
    try {
        return attempt(scope, step, [&] {
            step.now.params = state_.keep(evaluate_step_params(state_, scope, step));
            step.params.reset();
        });
    } catch (const NotYet &why) {
        postpone(step, StepStatus::evaluating_params, why);
        return false;
    }
}

// The task is submitted now, and waits for the permits that the step needs. False: it needs none.
bool Advance::wait_for_permits(LiveScope &scope, LiveStep &step) {
    step.needs = {};
    if (!has_task(*step.node))
        return false;
    const bool done = attempt(scope, step, [&] {
        step.needs = state_.keep(needs_of(state_, scope, step));
        if (step.needs.empty())
            return;
        step.target = state_.keep(queue_of(state_, step));
        step.wants_work = true;
    });
    return !done || !step.needs.empty();
}

// From now on the task can be leased, and the time of the step begins.
void Advance::take_permits(LiveScope &scope, LiveStep &step) {
    if (step.now.status != StepStatus::waiting_for_permits || step.wants_work)
        return;
    step.now.started = state_.now;
    step.now.status = StepStatus::running;
    change(step);
    try {
        if (auto error = failure_of([&] { set_due(scope, step); }))
            end_permitted(scope, step, std::move(*error));
    } catch (const NotYet &why) {
        step.now.started = 0;
        postpone(step, StepStatus::waiting_for_permits, why);
    }
}

// Its task may have been leased already, and then somebody else may be ending it.
void Advance::end_permitted(LiveScope &scope, LiveStep &step, std::string error) {
    if (withdraw(scope, step))
        return fail_for_good(scope, step, std::move(error));
    step.now.started = 0;
    step.now.status = StepStatus::waiting_for_permits;
    put_back({.kind = EventKind::permitted, .scope = scope.now.id, .step = step.node->id, .attempt = step.now.attempt});
}

void Advance::begin_work(LiveScope &scope, LiveStep &step) {
    try {
        step.now.started = state_.now;
        attempt(scope, step, [&] { start(scope, step); });
    } catch (const NotYet &why) {
        step.now.started = 0;
        postpone(step, StepStatus::starting, why);
    }
}

} // namespace scylla::model::workflow
