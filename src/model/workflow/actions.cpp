// Actions of users on a step (docs/workflows.md, Actions).
#include "model/workflow/actions.h"

#include "model/workflow/advance.h"

namespace scylla::model::workflow {

namespace {

const StepNode *find_node(const StepList &list, std::string_view step) noexcept {
    if (const StepNode *found = list.find(step))
        return found;
    for (const StepNode &node : list.steps) {
        const StepNode *found = node.steps == nullptr ? nullptr : find_node(*node.steps, step);
        if (found != nullptr)
            return found;
    }
    return nullptr;
}

// False: the step is not in there.
bool find_step(const StepList &list, std::string_view step, LoopsAround &around) noexcept {
    if (list.find(step) != nullptr)
        return true;
    for (const StepNode &node : list.steps) {
        if (node.steps == nullptr || around.count == LoopsAround::k_most)
            continue;
        around.repeats[around.count] = node.kind == StepKind::while_;
        around.ids[around.count++] = node.id;
        if (find_step(*node.steps, step, around))
            return true;
        around.count--;
    }
    return false;
}

} // namespace

std::optional<LoopsAround> loops_around(const Definition &definition, std::string_view step) noexcept {
    LoopsAround around;
    return find_step(definition.steps, step, around) ? std::optional(around) : std::nullopt;
}

std::string_view find_statement(const Definition &definition, std::string_view step) noexcept {
    const StepNode *node = find_node(definition.steps, step);
    return node == nullptr ? std::string_view{} : node->sql;
}

// The failure mode of the step applies.
void Advance::kill(LiveScope &scope, LiveStep &step, const Event &event) {
    if (!withdraw(scope, step))
        return put_back(event);
    fail_for_good(scope, step, error_message("the step was killed"));
}

// A failed step gets another attempt, which is skipped. The row of the attempt before must have been written.
void Advance::skip(LiveScope &scope, LiveStep &step, const Event &event) {
    if (is_restartable(step.now.status)) {
        if (step.is_changed)
            return put_back(event);
        renew(step, step.now.retries);
    }
    if (!withdraw(scope, step))
        return put_back(event);
    step.signals = {};
    conclude(scope, step, StepStatus::skipped);
}

// Conditions of a skipped step can read its parameters if they can be evaluated.
void Advance::make_up_params(LiveScope &scope, LiveStep &step) {
    if (!step.now.params.empty())
        return;
    try {
        step.now.params = state_.keep(evaluate_step_params(state_, scope, step));
        step.params.reset();
    } catch (const ParamFailure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw;
    } catch (const sel::Failure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw;
    }
}

} // namespace scylla::model::workflow
