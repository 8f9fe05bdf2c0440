// The life of a step and of a scope (docs/workflows.md, Runs).
#include <algorithm>

#include "model/workflow/advance.h"
#include "model/workflow/step_times.h"
#include "model/workflow/words.h"

namespace scylla::model::workflow {

namespace {

constexpr std::string_view k_no_op[] = {"NOOP"};

bool is_live(const LiveStep &step) noexcept {
    return step.now.status != StepStatus::not_created &&
           (!is_terminal(step.now.status) || is_retryable(step.now.status));
}

// Whether there are steps that the restart of an iteration has not chosen. Only these are left once no step can be
// created.
bool has_held_back(const LiveScope &scope) noexcept {
    return std::any_of(scope.steps.begin(), scope.steps.end(), [&](const LiveStep &step) {
        return step.now.status == StepStatus::not_created && are_complete(scope, step.node->predecessors);
    });
}

std::string edges_json(const LiveScope &scope, const StepNode &node, const std::vector<bool> &taken) {
    if (node.successors.empty())
        return {};
    std::string json = "{";
    for (std::size_t i = 0; i < node.successors.size(); i++)
        json += (i == 0 ? "" : ",") + json_text(scope.list->steps[node.successors[i].to].id) +
                (taken[i] ? ":true" : ":false");
    return json + "}";
}

} // namespace

bool are_complete(const LiveScope &scope, const std::vector<std::size_t> &places) noexcept {
    return std::all_of(places.begin(), places.end(),
                       [&](std::size_t place) { return is_complete(scope.steps[place].now.status); });
}

bool is_sleep(const StepNode &step) noexcept {
    constexpr std::string_view k_sleep[] = {"SLEEP"};
    return step.kind == StepKind::typed && find_word(k_sleep, step.type).has_value();
}

bool has_task(const StepNode &step) noexcept {
    return step.kind == StepKind::typed && !is_sleep(step) && !find_word(k_no_op, step.type);
}

std::string error_message(std::string_view message) { return "{\"message\":" + json_text(message) + "}"; }
std::string error_of(const ParamFailure &failure) {
    return "{\"message\":" + json_text(failure.name + ": " + show_fault(failure.fault)) +
           ",\"param\":" + json_text(failure.name) + "}";
}
std::string error_of(const sel::Failure &failure) { return error_message(show_fault(failure.fault)); }

void Advance::touch(LiveScope &scope) {
    if (!scope.is_touched)
        touched_.push_back(&scope);
    scope.is_touched = true;
}

// ---- beginning -----------------------------------------------------------------------------------------------------

void Advance::begin_scope(LiveScope &scope) {
    for (LiveStep &step : scope.steps) {
        if (step.node->predecessors.empty())
            ready_.push_back({&scope, &step});
    }
}

void Advance::create(LiveScope &scope, LiveStep &step) {
    if (is_terminal(scope.now.status) || scope.is_closed || step.now.status != StepStatus::not_created)
        return;
    step.now = {.id = step.node->id,
                .status = StepStatus::created,
                .attempt = step.is_stored ? step.now.attempt + 1 : 1,
                .loop = step.now.loop,
                .signals = step.now.signals,
                .created = state_.now};
    step.is_new = !step.is_stored;
    change(step);
    bool satisfied = false;
    if (!attempt(scope, step, [&] { satisfied = is_satisfied(scope, step); }))
        return;
    if (satisfied)
        begin_or_skip(scope, step);
    else
        leave_out(scope, step);
}

bool Advance::is_satisfied(LiveScope &scope, const LiveStep &step) {
    bool satisfied = step.node->predecessors.empty();
    for (const std::size_t place : step.node->predecessors) {
        const sel::Value *taken = state_.edges_of(scope.steps[place]).find(step.node->id);
        if (taken != nullptr && taken->type != sel::Type::boolean)
            sel::fail(sel::FaultKind::value, "what follows " + scope.steps[place].node->id + " cannot be read");
        satisfied = satisfied || (taken != nullptr && taken->truth);
    }
    return satisfied;
}

void Advance::leave_out(LiveScope &scope, LiveStep &step) {
    complete(scope, step, StepStatus::unsatisfied, std::vector<bool>(step.node->successors.size(), false));
}

void Advance::start(LiveScope &scope, LiveStep &step) {
    step.now.status = StepStatus::running;
    set_due(scope, step);
    switch (step.node->kind) {
    case StepKind::typed:
        return start_typed(scope, step);
    case StepKind::subworkflow:
        return start_child(scope, step);
    case StepKind::foreach:
    case StepKind::while_:
        return begin_loop(scope, step);
    case StepKind::template_:
        return fail_for_good(scope, step, error_message("templates cannot be run"));
    }
}

void Advance::start_typed(LiveScope &scope, LiveStep &step) {
    if (has_task(*step.node)) {
        step.target = state_.keep(queue_of(state_, step));
        step.wants_work = true;
    } else if (!is_sleep(*step.node) || sleep_of(state_, step) == 0) {
        succeed(scope, step);
    }
}

void Advance::start_child(LiveScope &scope, LiveStep &step) {
    step.target = state_.keep(text_param(state_, step, "subworkflow_id"));
    step.version = state_.keep(text_param(state_, step, "subworkflow_version"));
    step.request = state_.keep(params_of_child(state_, scope, step));
    step.instance = instance_to_restart(step);
    step.below = state_.keep(path_in(state_, step));
    step.now.loop = {};
    step.wants_work = true;
}

// When a running step times out; 0: not before its run. A Sleep has no default timeout.
std::int64_t Advance::timeout_at(LiveScope &scope, LiveStep &step) {
    if (!step.node->timeout.empty())
        return step.now.started + timeout_of(state_, scope, &step, step.node->timeout);
    if (is_sleep(*step.node) || state_.ends_before_default_timeout(step.now.started))
        return 0;
    return step.now.started + k_default_timeout;
}

// The end of a Sleep, or the timeout.
void Advance::set_due(LiveScope &scope, LiveStep &step) {
    step.now.due = timeout_at(scope, step);
    if (!is_sleep(*step.node))
        return;
    const std::int64_t wakes = step.now.started + sleep_of(state_, step);
    step.now.due = step.now.due == 0 ? wakes : std::min(wakes, step.now.due);
}

// Postpones the step to the next turn, which follows at once.
void Advance::postpone(LiveScope & /*scope*/, LiveStep &step, StepStatus status) {
    step.now.status = status;
    step.now.due = state_.now;
    if (status == StepStatus::finishing)
        keep_time(state_, step, status);
    change(step);
}

// ---- success -------------------------------------------------------------------------------------------------------

void Advance::succeed(LiveScope &scope, LiveStep &step) {
    if (step.node->outputs.empty())
        conclude(scope, step, StepStatus::succeeded);
    else
        announce(scope, step, {});
}

// Ends a step as SUCCEEDED or SKIPPED. In FINISHING, edges mark a step that will be SKIPPED.
void Advance::conclude(LiveScope &scope, LiveStep &step, StepStatus status) {
    const StepStatus before = step.now.status;
    std::vector<bool> taken;
    step.now.edges = {};
    try {
        const bool done = attempt(scope, step, [&] {
            if (status == StepStatus::skipped)
                make_up_params(scope, step);
            step.now.status = status; // conditions can read it
            step.now.ended = state_.now;
            for (const Edge &edge : step.node->successors)
                taken.push_back(is_taken(state_, scope, step, edge));
        });
        if (done)
            complete(scope, step, status, taken);
    } catch (const NotYet &) {
        step.now.ended = 0;
        step.now.status = before;
        if (status == StepStatus::skipped)
            step.now.edges = "{}";
        postpone(scope, step, StepStatus::finishing);
    }
}

// Whether an edge of a step that has failed is taken. A condition that cannot be evaluated counts as false.
bool Advance::is_taken_anyway(LiveScope &scope, LiveStep &step, const Edge &edge) {
    try {
        return is_taken(state_, scope, step, edge);
    } catch (const sel::Failure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw;
        return false;
    }
}

// A step that fails before its parameters were evaluated, as one that is killed, gets them for its conditions.
void Advance::complete_with_error(LiveScope &scope, LiveStep &step) {
    const bool have_failed = step.now.status == StepStatus::evaluating_params;
    std::vector<bool> taken;
    try {
        if (!have_failed)
            make_up_params(scope, step);
        step.now.status = StepStatus::completed_with_error; // conditions can read it
        step.now.ended = state_.now;
        for (const Edge &edge : step.node->successors)
            taken.push_back(is_taken_anyway(scope, step, edge));
    } catch (const NotYet &) {
        step.now.ended = 0;
        return postpone(scope, step, StepStatus::finishing);
    }
    complete(scope, step, StepStatus::completed_with_error, taken);
}

void Advance::complete(LiveScope &scope, LiveStep &step, StepStatus status, const std::vector<bool> &taken) {
    step.now.edges = state_.keep(edges_json(scope, *step.node, taken));
    step.edges.reset();
    end(scope, step, status);
    for (const Edge &edge : step.node->successors) {
        LiveStep &next = scope.steps[edge.to];
        if (next.now.status == StepStatus::not_created && are_complete(scope, next.node->predecessors))
            ready_.push_back({&scope, &next});
    }
}

void Advance::end(LiveScope &scope, LiveStep &step, StepStatus status) {
    step.now.status = status;
    step.now.ended = state_.now;
    step.now.due = 0;
    step.wants_work = false;
    change(step);
    touch(scope);
}

// ---- failure -------------------------------------------------------------------------------------------------------

void Advance::fail(LiveScope &scope, LiveStep &step, FailureClass why, std::string error) {
    const auto wait = wait_before_retry(state_, scope, step, why);
    if (!wait && why != FailureClass::timeout)
        return fail_for_good(scope, step, std::move(error));
    step.now.error = state_.keep(std::move(error));
    if (!wait)
        return end(scope, step, StepStatus::timed_out);
    end(scope, step,
        why == FailureClass::user       ? StepStatus::user_failed
        : why == FailureClass::platform ? StepStatus::platform_failed
                                        : StepStatus::timeout_failed);
    step.now.due = state_.now + *wait;
}

void Advance::fail_for_good(LiveScope &scope, LiveStep &step, std::string error) {
    step.now.error = state_.keep(std::move(error));
    if (step.node->failure_mode == FailureMode::ignore_failure)
        return complete_with_error(scope, step);
    end(scope, step, StepStatus::fatally_failed);
    if (step.node->failure_mode == FailureMode::fail_immediately)
        stop_all(scope, StepStatus::stopped, &step);
}

void Advance::time_out(LiveScope &scope, LiveStep &step) {
    withdraw(step);
    fail(scope, step, FailureClass::timeout, R"({"code":"timeout","message":"the step has reached its timeout"})");
}

// ---- stop ----------------------------------------------------------------------------------------------------------

void Advance::stop(LiveScope &scope, LiveStep &step, StepStatus status) {
    if (!is_live(step))
        return;
    withdraw(step);
    end(scope, step, status);
}

void Advance::withdraw(LiveStep &step) {
    const bool had_work = step.before == StepStatus::running || step.before == StepStatus::waiting_for_permits;
    const bool was_begun = had_work && !step.is_new && !step.new_attempt;
    if (was_begun && !is_terminal(step.now.status))
        step.drops_work = true;
    step.wants_work = false;
    if (step.node->is_loop())
        stop_inside(step);
}

// Any action on a loop stops what is inside of it.
void Advance::stop_inside(const LiveStep &loop) {
    for (LiveScope &scope : state_.scopes) {
        if (scope.loop != &loop || is_terminal(scope.now.status))
            continue;
        stop_all(scope, StepStatus::stopped);
        scope.now.status = RunStatus::stopped;
        scope.now.ended = state_.now;
        scope.is_changed = true;
    }
}

void Advance::stop_all(LiveScope &scope, StepStatus status, const LiveStep *but) {
    scope.is_closed = true;
    for (LiveStep &step : scope.steps) {
        if (&step != but)
            stop(scope, step, status);
    }
}

// ---- the end of a scope --------------------------------------------------------------------------------------------

void Advance::end_if_done(LiveScope &scope) {
    scope.is_touched = false;
    if (is_terminal(scope.now.status))
        return;
    bool created = false;
    auto status = RunStatus::succeeded;
    for (const LiveStep &step : scope.steps) {
        const StepStatus of_step = step.now.status;
        if (of_step == StepStatus::not_created)
            continue;
        if (is_live(step))
            return;
        created = true;
        const auto worse = of_step == StepStatus::fatally_failed || of_step == StepStatus::internally_failed
                               ? RunStatus::failed
                           : of_step == StepStatus::timed_out ? RunStatus::timed_out
                           : of_step == StepStatus::stopped   ? RunStatus::stopped
                                                              : RunStatus::succeeded;
        if (worse == RunStatus::failed || status == RunStatus::succeeded ||
            (worse == RunStatus::timed_out && status == RunStatus::stopped))
            status = worse;
    }
    if (status == RunStatus::succeeded && scope.around != nullptr && has_held_back(scope))
        status = RunStatus::failed; // so that the next restart of the loop finds the iteration
    if (created)
        end_scope(scope, status);
}

void Advance::end_scope(LiveScope &scope, RunStatus status, std::string_view error) {
    scope.now.status = status;
    scope.now.error = error;
    scope.now.ended = state_.now;
    scope.now.due = 0;
    scope.is_closed = true;
    scope.is_changed = true;
    if (scope.loop != nullptr)
        loops_.push_back({{scope.around, scope.loop}, &scope});
    else
        aggregate_run(scope);
}

void Advance::aggregate_run(LiveScope &scope) {
    std::vector<StepStatus> steps;
    for (const LiveStep &step : scope.steps)
        steps.push_back(step.now.status);
    scope.now.aggregated =
        state_.run.name.run == 1 ? scope.now.status : aggregate_status(scope.now.status, steps, scope.now.aggregated);
}

} // namespace scylla::model::workflow
