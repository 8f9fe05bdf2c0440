// The effect of each event on its step or scope. Outdated events are ignored.
#include <algorithm>

#include "model/workflow/advance.h"
#include "model/workflow/dependencies.h"
#include "model/workflow/outputs.h"
#include "model/workflow/words.h"

namespace scylla::model::workflow {

namespace {

constexpr std::string_view k_timed_out = R"({"code":"timeout","message":"the run has reached its timeout"})";

// A failure, as the data of its event describe it.
struct Failed {
    FailureClass why = FailureClass::user;
    bool retryable = true;
    std::string error{};
};

FailureClass class_of(const sel::Map &error) noexcept {
    const auto text = [&](std::string_view name) {
        const sel::Value *found = error.find(name);
        return found != nullptr && found->type == sel::Type::string ? found->view() : std::string_view{};
    };
    constexpr std::string_view k_classes[] = {"USER", "PLATFORM", "TIMEOUT"};
    if (const auto named = find_word(k_classes, text("class")))
        return static_cast<FailureClass>(*named);
    const std::string_view code = text("code");
    return code == "timeout"       ? FailureClass::platform // its worker was lost
           : code == "run-timeout" ? FailureClass::timeout
                                   : FailureClass::user;
}

Failed read_failure(RunState &state, std::string_view data, std::string_view otherwise) {
    try {
        const auto parsed = state.parse(data);
        if (parsed->map->size == 0)
            return {.error = error_message(otherwise)};
        const sel::Value *retryable = parsed->map->find("retryable");
        return {.why = class_of(*parsed->map),
                .retryable = retryable == nullptr || retryable->type != sel::Type::boolean || retryable->truth,
                .error = std::string(data)};
    } catch (const sel::Failure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw;
        return {.error = error_message(otherwise)};
    }
}

std::optional<RunStatus> status_in(RunState &state, std::string_view data) {
    try {
        const auto parsed = state.parse(data);
        const sel::Value *status = parsed->map->find("status");
        const auto place = status == nullptr || status->type != sel::Type::string
                               ? std::nullopt
                               : find_word(k_run_statuses, status->view());
        return place ? std::optional(static_cast<RunStatus>(*place)) : std::nullopt;
    } catch (const sel::Failure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw;
        return std::nullopt;
    }
}

} // namespace

void Advance::run() {
    // Output comes before the end of its task, in whatever order the events are.
    for (const bool is_output : {true, false})
        for (const Event &event : state_.run.events) {
            if ((event.kind == EventKind::output) != is_output)
                continue;
            take(event);
            settle();
        }
}

// Does all that follows before the next event is handled.
void Advance::settle() {
    for (;;) {
        state_.look_whether_to_stop();
        if (!ready_.empty()) {
            const StepInScope place = ready_.front();
            ready_.pop_front();
            create(*place.scope, *place.step);
        } else if (!touched_.empty()) {
            LiveScope *scope = touched_.front();
            touched_.pop_front();
            end_if_done(*scope);
        } else if (!loops_.empty()) {
            const LoopWork work = loops_.front();
            loops_.pop_front();
            go_on(work);
        } else {
            return;
        }
    }
}

void Advance::take(const Event &event) {
    LiveScope *scope = state_.find_scope(event.scope);
    const bool again = event.kind == EventKind::restart || event.kind == EventKind::restart_inside;
    if (scope != nullptr && again && scope->around != nullptr)
        return restart_iteration(*scope, event);
    if (scope == nullptr || is_terminal(scope->now.status))
        return;
    // The run has not begun: events before its restart were meant for the run before.
    const bool of_run = event.step.empty() && scope->around == nullptr;
    if (!of_run && state_.scopes.front().now.due == 0)
        return;
    if (event.step.empty())
        return take_of_scope(*scope, event);
    const StepNode *node = scope->list->find(event.step);
    if (node == nullptr)
        return;
    LiveStep &step = scope->steps[scope->list->place_of(*node)];
    const bool fits = event.attempt == 0 || event.attempt == step.now.attempt;
    const bool is_live =
        step.now.status != StepStatus::not_created && (!is_terminal(step.now.status) || is_retryable(step.now.status));
    const bool renews = event.kind == EventKind::skip || event.kind == EventKind::restart_step;
    if (fits && (is_live || (renews && is_restartable(step.now.status)) ||
                 (event.kind == EventKind::restart_step && step.now.status == StepStatus::not_created)))
        take_of_step(*scope, step, event);
}

// ---- of the run, or of an iteration --------------------------------------------------------------------------------

void Advance::take_of_scope(LiveScope &scope, const Event &event) {
    switch (event.kind) {
    case EventKind::start:
        return start_run(scope);
    case EventKind::restart:
        return restart_run(scope);
    case EventKind::due:
        if (scope.now.due == 0 || state_.now < scope.now.due)
            return;
        [[fallthrough]];
    case EventKind::timeout:
        return time_out_scope(scope);
    case EventKind::stop:
        return stop_all(scope, StepStatus::stopped) ? end_scope(scope, RunStatus::stopped, event.data)
                                                    : put_back(event);
    case EventKind::kill:
        return stop_all(scope, StepStatus::fatally_failed) ? end_scope(scope, RunStatus::failed, event.data)
                                                           : put_back(event);
    case EventKind::halt:
        return halt(scope);
    default:
        return;
    }
}

// While a step is being ended by somebody else, `timeout` comes again instead of `due`.
void Advance::time_out_scope(LiveScope &scope) {
    if (stop_all(scope, StepStatus::timed_out))
        return end_scope(scope, RunStatus::timed_out, k_timed_out);
    scope.now.due = state_.now + k_default_timeout;
    scope.is_changed = true;
    put_back({.kind = EventKind::timeout, .scope = scope.now.id});
}

void Advance::start_run(LiveScope &scope) {
    const bool has_begun = std::any_of(scope.steps.begin(), scope.steps.end(),
                                       [](const LiveStep &step) { return step.now.status != StepStatus::not_created; });
    if (has_begun || scope.around != nullptr)
        return;
    if (begin_clock(scope))
        begin_scope(scope);
}

// False: its timeout cannot be read, and the run has failed.
bool Advance::begin_clock(LiveScope &scope) {
    scope.is_changed = true;
    if (scope.now.created == 0)
        scope.now.created = state_.now;
    try {
        const std::string &timeout = state_.definition.timeout;
        scope.now.due =
            state_.now + (timeout.empty() ? k_default_timeout : timeout_of(state_, scope, nullptr, timeout));
    } catch (const sel::Failure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw;
        end_scope(scope, RunStatus::failed, state_.keep(error_of(failure)));
        return false;
    }
    scope.now.status = RunStatus::in_progress;
    return true;
}

// ---- of a step -----------------------------------------------------------------------------------------------------

void Advance::take_of_step(LiveScope &scope, LiveStep &step, const Event &event) {
    switch (event.kind) {
    case EventKind::start:
        if (is_retryable(step.now.status))
            begin_again(scope, step);
        return;
    case EventKind::due:
        return come_due(scope, step);
    case EventKind::timeout:
        return step.now.status == StepStatus::running ? time_out(scope, step) : void();
    case EventKind::give_up:
        return step.now.status == StepStatus::running ? give_up(scope, step, std::string(event.data)) : void();
    case EventKind::stop:
        return stop(scope, step, StepStatus::stopped) ? void() : put_back(event);
    case EventKind::kill:
        return kill(scope, step, event);
    case EventKind::skip:
        return skip(scope, step, event);
    case EventKind::restart_step:
        return restart_step(scope, step, event.data);
    case EventKind::resume:
        return step.now.status == StepStatus::paused ? enter(scope, step, StepStatus::waiting_for_signals) : void();
    case EventKind::bypass:
        return bypass(scope, step);
    case EventKind::signal_matched:
        return take_of_match(scope, step, event.data);
    case EventKind::unpaused:
        return go_on_after_pause(scope, step);
    case EventKind::child_started:
    case EventKind::child_failed:
    case EventKind::child_ended:
        return take_of_child(scope, step, event);
    case EventKind::permitted:
        return take_permits(scope, step);
    case EventKind::signals_sent:
    case EventKind::signals_refused:
        return take_of_signals(scope, step, event);
    case EventKind::output:
        return take_output(scope, step, event);
    default:
        return take_of_task(scope, step, event);
    }
}

void Advance::take_of_task(LiveScope &scope, LiveStep &step, const Event &event) {
    const bool works = step.node->kind == StepKind::typed || step.node->kind == StepKind::subworkflow;
    const bool is_there = step.now.status == StepStatus::running || step.now.status == StepStatus::waiting_for_permits;
    if (!is_there || step.wants_work || !works)
        return;
    if (step.now.started == 0 && event.kind == EventKind::task_completed) // the event `permitted` comes later
        step.now.started = state_.now;
    const std::string_view output = step.node->kind == StepKind::typed ? step.now.loop : std::string_view{};
    if (event.kind == EventKind::task_completed) {
        std::string_view data = event.data;
        const bool read = attempt(scope, step, [&] {
            if (!output.empty())
                data = state_.keep(put_over(state_, output, data));
            if (auto params = put_out(state_, scope, step, data)) {
                step.now.params = state_.keep(std::move(*params));
                step.params.reset();
            }
        });
        return read ? announce(scope, step, data) : void();
    }
    if (event.kind == EventKind::task_cancelled)
        return end(scope, step, StepStatus::stopped);
    Failed failed = read_failure(state_, event.data, "the task has failed");
    if (event.kind == EventKind::task_failed && failed.retryable && !forbids_retry(state_, output))
        return fail(scope, step, failed.why, std::move(failed.error));
    fail_for_good(scope, step, std::move(failed.error));
}

// Output is read when the task has ended.
void Advance::take_output(LiveScope &scope, LiveStep &step, const Event &event) {
    const bool is_there = step.now.status == StepStatus::running || step.now.status == StepStatus::waiting_for_permits;
    if (step.node->kind != StepKind::typed || !is_there || step.wants_work)
        return;
    const bool kept = attempt(scope, step, [&] {
        const bool is_earlier = is_before(state_, event.data, step.now.loop);
        step.now.loop = state_.keep(is_earlier ? put_over(state_, event.data, step.now.loop)
                                               : put_over(state_, step.now.loop, event.data));
    });
    if (kept)
        change(step);
}

void Advance::take_of_child(LiveScope &scope, LiveStep &step, const Event &event) {
    if (step.node->kind != StepKind::subworkflow || step.now.status != StepStatus::running || step.wants_work)
        return;
    if (event.kind == EventKind::child_failed)
        return fail_for_good(scope, step,
                             read_failure(state_, event.data, "the subworkflow could not be started").error);
    const auto status = status_in(state_, event.data);
    if (event.kind == EventKind::child_ended)
        return child_ended(scope, step, event.data);
    if (step.now.loop == event.data)
        return;
    step.now.loop = event.data;
    change(step);
    if (status && is_terminal(*status) && (step.node->sync || status == RunStatus::stopped))
        return child_ended(scope, step, event.data);
    if (!step.node->sync)
        succeed(scope, step);
}

void Advance::child_ended(LiveScope &scope, LiveStep &step, std::string_view data) {
    switch (status_in(state_, data).value_or(RunStatus::failed)) {
    case RunStatus::succeeded:
        return succeed(scope, step);
    case RunStatus::stopped:
        return is_ending(scope, step) ? void() : child_stopped(scope, step);
    case RunStatus::timed_out:
        return end(scope, step, StepStatus::timed_out);
    default:
        return fail_for_good(scope, step, error_message("the subworkflow has failed"));
    }
}

void Advance::child_stopped(LiveScope &scope, LiveStep &step) {
    if (const std::string_view why = why_halted(scope); !why.empty())
        step.now.error = why;
    end(scope, step, StepStatus::stopped);
}

// Whether an event of the turn ends the step otherwise than STOPPED, as soon as its subworkflow has stopped for that.
bool Advance::is_ending(const LiveScope &scope, const LiveStep &step) const {
    return std::any_of(state_.run.events.begin(), state_.run.events.end(), [&](const Event &event) {
        return event.scope == scope.now.id && (event.step.empty() || event.step == step.node->id) &&
               (event.kind == EventKind::kill || event.kind == EventKind::skip || event.kind == EventKind::timeout);
    });
}

void Advance::come_due(LiveScope &scope, LiveStep &step) {
    if (step.now.due == 0 || state_.now < step.now.due)
        return;
    if (is_retryable(step.now.status))
        return begin_again(scope, step);
    if (step.now.status == StepStatus::waiting_for_signals || step.now.status == StepStatus::evaluating_params ||
        step.now.status == StepStatus::starting)
        return enter(scope, step, step.now.status);
    if (step.now.status == StepStatus::waiting_for_permits)
        return take_permits(scope, step);
    if (step.now.status == StepStatus::created)
        return begin_or_skip(scope, step);
    if (step.now.status == StepStatus::finishing)
        return finish(scope, step);
    if (step.now.status == StepStatus::running)
        come_due_running(scope, step);
}

void Advance::come_due_running(LiveScope &scope, LiveStep &step) {
    std::int64_t wakes = INT64_MAX;
    std::int64_t ends = INT64_MAX;
    const bool read = attempt(scope, step, [&] {
        if (is_sleep(*step.node))
            wakes = step.now.started + sleep_of(state_, step);
        if (const std::int64_t at = timeout_at(scope, step); at != 0)
            ends = at;
    });
    if (!read)
        return;
    if (state_.now >= wakes && wakes <= ends)
        succeed(scope, step);
    else if (state_.now >= ends)
        time_out(scope, step);
    else if (step.node->is_loop())
        loops_.push_back({{&scope, &step}, nullptr});
}

// The row of the attempt before must have been written with its end.
void Advance::begin_again(LiveScope &scope, LiveStep &step) {
    if (step.is_changed)
        return leave_for_next_turn(step);
    Retries retries = step.now.retries;
    count_of(retries, step.now.status == StepStatus::user_failed       ? FailureClass::user
                      : step.now.status == StepStatus::platform_failed ? FailureClass::platform
                                                                       : FailureClass::timeout)++;
    renew(step, retries);
    begin_attempt(scope, step);
}

void Advance::renew(LiveStep &step, const Retries &retries) {
    step.now = {.id = step.node->id,
                .status = StepStatus::created,
                .attempt = step.now.attempt + 1,
                .retries = retries,
                .signals = state_.keep(for_next_attempt(state_, step)),
                .created = state_.now};
    step.params.reset();
    step.edges.reset();
    step.new_attempt = true;
    change(step);
}

} // namespace scylla::model::workflow
