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

bool has_begun_work(const LiveStep &step) noexcept {
    const bool had_work = step.before == StepStatus::running || step.before == StepStatus::waiting_for_permits;
    return had_work && !step.is_new && !step.new_attempt && !is_terminal(step.now.status) &&
           step.now.status != StepStatus::finishing;
}

std::string_view work_of(const LiveStep &step) noexcept {
    return step.node->is_loop()                       ? work::iterations
           : step.node->kind == StepKind::subworkflow ? work::subworkflow
                                                      : work::task;
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
    begin_anew(step);
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

void Advance::leave_for_next_turn(LiveStep &step, Rest rest) {
    step.now.due = k_next_turn;
    state_.leave_rest(rest);
    change(step);
}

// Postpones the step to the next turn.
void Advance::postpone(LiveStep &step, StepStatus status, const NotYet &why) {
    step.now.status = status;
    if (status == StepStatus::finishing)
        keep_time(state_, step, status);
    leave_for_next_turn(step, why.is_slow ? Rest::slow : Rest::some);
}

// ---- success -------------------------------------------------------------------------------------------------------

void Advance::succeed(LiveScope &scope, LiveStep &step) {
    if (step.node->outputs.empty())
        conclude(scope, step, StepStatus::succeeded);
    else
        announce(scope, step, {});
}

namespace {

// In FINISHING, edges keep those that are known, and in this member, as no step has an empty id, whether the step will
// succeed. Otherwise it will be skipped.
constexpr std::string_view k_succeeds = "";

std::optional<bool> known_edge(const sel::Map &edges, std::string_view id) {
    const sel::Value *found = edges.find(id);
    return found == nullptr || found->type != sel::Type::boolean ? std::nullopt : std::optional(found->truth);
}

} // namespace

// Goes on with a step in FINISHING.
void Advance::finish(LiveScope &scope, LiveStep &step) {
    if (!step.now.error.empty())
        return complete_with_error(scope, step);
    if (step.now.edges.empty())
        return announce(scope, step, step.node->kind == StepKind::typed ? step.now.loop : std::string_view{});
    bool succeeds = true;
    if (attempt(scope, step, [&] { succeeds = known_edge(state_.edges_of(step), k_succeeds).value_or(true); }))
        conclude(scope, step, succeeds ? StepStatus::succeeded : StepStatus::skipped);
}

// Evaluates the conditions of a step that has ended; each is a piece of work that the next turn may continue with.
template <typename IsTaken>
std::vector<bool> Advance::take_edges(LiveScope &scope, LiveStep &step, bool succeeds, IsTaken is_edge_taken) {
    std::vector<bool> taken;
    try {
        for (const Edge &edge : step.node->successors) {
            const auto known = step.now.edges.empty()
                                   ? std::nullopt
                                   : known_edge(state_.edges_of(step), scope.list->steps[edge.to].id);
            taken.push_back(known ? *known : is_edge_taken(edge));
        }
    } catch (const NotYet &) {
        std::string json = std::string("{\"\":") + (succeeds ? "true" : "false");
        for (std::size_t i = 0; i < taken.size(); i++)
            json +=
                "," + json_text(scope.list->steps[step.node->successors[i].to].id) + (taken[i] ? ":true" : ":false");
        step.now.edges = state_.keep(json + "}");
        step.edges.reset();
        throw;
    } catch (...) { // a condition cannot be evaluated
        step.now.edges = {};
        step.edges.reset();
        throw;
    }
    return taken;
}

// Ends a step as SUCCEEDED or SKIPPED.
void Advance::conclude(LiveScope &scope, LiveStep &step, StepStatus status) {
    const StepStatus before = step.now.status;
    const bool succeeds = status == StepStatus::succeeded;
    std::vector<bool> taken;
    try {
        const bool done = attempt(scope, step, [&] {
            if (!succeeds)
                make_up_params(scope, step);
            step.now.status = status; // conditions can read it
            step.now.ended = state_.now;
            taken = take_edges(scope, step, succeeds,
                               [&](const Edge &edge) { return is_taken(state_, scope, step, edge); });
        });
        if (done)
            complete(scope, step, status, taken);
    } catch (const NotYet &why) {
        step.now.ended = 0;
        step.now.status = before;
        if (step.now.edges.empty()) // its parameters are not made up
            step.now.edges = R"({"":false})";
        postpone(step, StepStatus::finishing, why);
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
        if (!have_failed && step.now.edges.empty()) // not only its conditions are left
            make_up_params(scope, step);
        step.now.status = StepStatus::completed_with_error; // conditions can read it
        step.now.ended = state_.now;
        taken = take_edges(scope, step, false, [&](const Edge &edge) { return is_taken_anyway(scope, step, edge); });
    } catch (const NotYet &why) {
        step.now.ended = 0;
        return postpone(step, StepStatus::finishing, why);
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
        halt(scope);
}

// Why steps of the scope are stopped, as JSON: a step that fails all has failed. Empty: none has.
std::string_view Advance::why_halted(const LiveScope &scope) {
    const auto failed = std::find_if(scope.steps.begin(), scope.steps.end(), [&](const LiveStep &step) {
        return step.now.status == StepStatus::fatally_failed && counts(scope, step) &&
               step.node->failure_mode == FailureMode::fail_immediately;
    });
    if (failed == scope.steps.end())
        return {};
    return state_.keep(
        "{\"message\":" + json_text("step " + quoted(failed->node->id) + " has failed, with FAIL_IMMEDIATELY") +
        ",\"step\":" + json_text(failed->node->id) + "}");
}

// What still runs in the scope is stopped.
void Advance::halt(LiveScope &scope) {
    const std::string_view error = why_halted(scope);
    if (!error.empty() && !stop_all(scope, StepStatus::stopped, error))
        put_back({.kind = EventKind::halt, .scope = scope.now.id});
}

// A loop fails when nothing runs inside of it any more.
void Advance::give_up(LiveScope &scope, LiveStep &step, std::string error) {
    if (withdraw(scope, step))
        return fail_for_good(scope, step, std::move(error));
    put_back({.kind = EventKind::give_up,
              .scope = scope.now.id,
              .step = step.node->id,
              .attempt = step.now.attempt,
              .data = state_.keep(std::move(error))});
}

void Advance::time_out(LiveScope &scope, LiveStep &step) {
    if (withdraw(scope, step))
        return fail(scope, step, FailureClass::timeout,
                    R"({"code":"timeout","message":"the step has reached its timeout"})");
    step.now.due = 0;
    change(step);
    put_back({.kind = EventKind::timeout, .scope = scope.now.id, .step = step.node->id, .attempt = step.now.attempt});
}

// ---- stop ----------------------------------------------------------------------------------------------------------

// Whoever ends the work of a step first decides how the step ends. So nothing here ends a step whose work somebody else
// is ending: these functions return false then, and the event is put back.

// error: why, as JSON; empty: an action or the run tells.
bool Advance::stop(LiveScope &scope, LiveStep &step, StepStatus status, std::string_view error) {
    if (!is_live(step))
        return true;
    if (!withdraw(scope, step))
        return false;
    if (!error.empty())
        step.now.error = error;
    end(scope, step, status);
    return true;
}

// True: the step has no work any more, and the caller ends it. A step that is FINISHING has done its work.
bool Advance::withdraw(LiveScope &scope, LiveStep &step) {
    if (step.now.status == StepStatus::finishing)
        return false;
    bool is_over = true;
    if (has_begun_work(step)) {
        const auto gone = is_gone(scope, step);
        if (!gone)
            throw NeedMore{need_end_of(scope, step)};
        is_over = *gone;
    }
    if (step.node->is_loop())
        is_over = stop_inside(step) && is_over;
    if (has_begun_work(step) && (is_over || step.node->is_loop())) {
        step.drops_work = true;
        change(step);
    }
    if (is_over)
        step.wants_work = false;
    return is_over;
}

Need Advance::need_end_of(const LiveScope &scope, const LiveStep &step) {
    return {Need::What::end_work, scope.now.id, step.node->id, work_of(step), k_end_work, {}};
}

// Nothing: the turn was not given it.
std::optional<bool> Advance::is_gone(const LiveScope &scope, const LiveStep &step) const {
    for (const Supply &supply : state_.run.supplies)
        if (supply.param == k_end_work && supply.scope == scope.now.id && supply.step == step.node->id)
            return supply.json == "true";
    return std::nullopt;
}

// Any action on a loop stops what is inside of it.
bool Advance::stop_inside(const LiveStep &loop) {
    bool all = true;
    for (LiveScope &scope : state_.scopes) {
        if (scope.loop != &loop || is_terminal(scope.now.status))
            continue;
        if (!stop_all(scope, StepStatus::stopped)) {
            all = false;
            continue;
        }
        scope.now.status = RunStatus::stopped;
        scope.now.ended = state_.now;
        scope.is_changed = true;
    }
    return all;
}

bool Advance::stop_all(LiveScope &scope, StepStatus status, std::string_view error) {
    ask_for_all(scope);
    if (!state_.needs.empty()) {
        const Need last = state_.needs.back();
        state_.needs.pop_back();
        throw NeedMore{last};
    }
    bool all = true;
    scope.is_closed = true;
    for (LiveStep &step : scope.steps)
        all = stop(scope, step, status, error) && all;
    return all;
}

// What must be known before the steps of the scope can be stopped, in one go.
void Advance::ask_for_all(const LiveScope &scope) {
    for (const LiveStep &step : scope.steps) {
        if (!is_live(step) || !has_begun_work(step))
            continue;
        if (!is_gone(scope, step))
            state_.needs.push_back(need_end_of(scope, step));
        for (const LiveScope &inside : state_.scopes)
            if (inside.loop == &step && !is_terminal(inside.now.status))
                ask_for_all(inside);
    }
}

// It comes again until its effect is possible, once in a turn.
void Advance::put_back(const Event &event) {
    const auto is_same = [&](const Event &other) {
        return other.kind == event.kind && other.scope == event.scope && other.step == event.step &&
               other.action == event.action;
    };
    if (std::any_of(state_.put_back.begin(), state_.put_back.end(), is_same))
        return;
    const auto given = std::find_if(state_.run.events.begin(), state_.run.events.end(), is_same);
    state_.put_back.push_back(event);
    state_.put_back.back().tries = given == state_.run.events.end() ? 1 : given->tries + 1;
}

// ---- the end of a scope --------------------------------------------------------------------------------------------

// Whether the status of the scope depends on the step. A run is not about what an earlier run has left, which the
// status of the instance is about. A loop needs all steps of its iterations.
bool Advance::counts(const LiveScope &scope, const LiveStep &step) const noexcept {
    return scope.around != nullptr || step.is_changed || step.now.run == state_.run.name.run;
}

void Advance::end_if_done(LiveScope &scope) {
    scope.is_touched = false;
    if (is_terminal(scope.now.status))
        return;
    bool created = false;
    auto status = RunStatus::succeeded;
    for (const LiveStep &step : scope.steps) {
        const StepStatus of_step = step.now.status;
        if (of_step == StepStatus::not_created || !counts(scope, step))
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
