// One turn: what follows from events, and from what follows from them.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "model/workflow/loops.h"
#include "model/workflow/run_state.h"
#include "model/workflow/step_params.h"

namespace scylla::model::workflow {

class Advance {
public:
    explicit Advance(RunState &state) noexcept : state_{state} {}

    // Throws NeedMore, and sel::Failure if the turn must stop.
    void run();

private:
    struct StepInScope {
        LiveScope *scope;
        LiveStep *step;
    };
    struct LoopWork {
        StepInScope loop;
        LiveScope *ended; // an iteration; null: the loop continues
    };

    // Events (events.cpp)
    void take(const Event &event);
    void take_of_scope(LiveScope &scope, const Event &event);
    void take_of_step(LiveScope &scope, LiveStep &step, const Event &event);
    void take_of_task(LiveScope &scope, LiveStep &step, const Event &event);
    void take_of_child(LiveScope &scope, LiveStep &step, const Event &event);
    void start_run(LiveScope &scope);
    bool begin_clock(LiveScope &scope);
    void child_ended(LiveScope &scope, LiveStep &step, std::string_view data);
    void child_stopped(LiveScope &scope, LiveStep &step);
    void come_due(LiveScope &scope, LiveStep &step);
    void come_due_running(LiveScope &scope, LiveStep &step);
    void time_out_scope(LiveScope &scope);
    bool is_ending(const LiveScope &scope, const LiveStep &step) const;
    void begin_again(LiveScope &scope, LiveStep &step);
    void renew(LiveStep &step, const Retries &retries);

    // Steps (step_life.cpp)
    void begin_scope(LiveScope &scope);
    void create(LiveScope &scope, LiveStep &step);
    bool is_satisfied(LiveScope &scope, const LiveStep &step);
    void leave_out(LiveScope &scope, LiveStep &step);
    void start(LiveScope &scope, LiveStep &step);
    void start_typed(LiveScope &scope, LiveStep &step);
    void start_child(LiveScope &scope, LiveStep &step);
    void succeed(LiveScope &scope, LiveStep &step);
    void finish(LiveScope &scope, LiveStep &step);
    template <typename IsTaken>
    std::vector<bool> take_edges(LiveScope &scope, LiveStep &step, bool succeeds, IsTaken is_edge_taken);
    void conclude(LiveScope &scope, LiveStep &step, StepStatus status);
    void complete(LiveScope &scope, LiveStep &step, StepStatus status, const std::vector<bool> &taken);
    bool is_taken_anyway(LiveScope &scope, LiveStep &step, const Edge &edge);
    void complete_with_error(LiveScope &scope, LiveStep &step);
    void fail(LiveScope &scope, LiveStep &step, FailureClass why, std::string error);
    void fail_for_good(LiveScope &scope, LiveStep &step, std::string error);
    void time_out(LiveScope &scope, LiveStep &step);
    void end(LiveScope &scope, LiveStep &step, StepStatus status);
    bool stop(LiveScope &scope, LiveStep &step, StepStatus status, std::string_view error = {});
    bool withdraw(LiveScope &scope, LiveStep &step);
    static Need need_end_of(const LiveScope &scope, const LiveStep &step);
    std::optional<bool> is_gone(const LiveScope &scope, const LiveStep &step) const;
    bool stop_inside(const LiveStep &loop);
    bool stop_all(LiveScope &scope, StepStatus status, std::string_view error = {});
    void ask_for_all(const LiveScope &scope);
    std::string_view why_halted(const LiveScope &scope);
    void halt(LiveScope &scope);
    void give_up(LiveScope &scope, LiveStep &step, std::string error);
    void put_back(const Event &event);
    bool counts(const LiveScope &scope, const LiveStep &step) const noexcept;
    void end_if_done(LiveScope &scope);
    void end_scope(LiveScope &scope, RunStatus status, std::string_view error = {});
    void aggregate_run(LiveScope &scope);
    std::int64_t timeout_at(LiveScope &scope, LiveStep &step);
    void set_due(LiveScope &scope, LiveStep &step);
    void leave_for_next_turn(LiveStep &step, Rest rest = Rest::some);
    void postpone(LiveStep &step, StepStatus status, const NotYet &why);

    // Actions (actions.cpp)
    void kill(LiveScope &scope, LiveStep &step, const Event &event);
    void skip(LiveScope &scope, LiveStep &step, const Event &event);
    void make_up_params(LiveScope &scope, LiveStep &step);

    // Phases before RUNNING (phases.cpp)
    void begin_attempt(LiveScope &scope, LiveStep &step);
    void enter(LiveScope &scope, LiveStep &step, StepStatus phase);
    std::optional<StepStatus> pass(LiveScope &scope, LiveStep &step);
    void go_on_after_pause(LiveScope &scope, LiveStep &step);
    bool await_signals(LiveScope &scope, LiveStep &step);
    void take_of_match(LiveScope &scope, LiveStep &step, std::string_view data);
    void bypass(LiveScope &scope, LiveStep &step);
    bool evaluate(LiveScope &scope, LiveStep &step);
    bool wait_for_permits(LiveScope &scope, LiveStep &step);
    void take_permits(LiveScope &scope, LiveStep &step);
    void end_permitted(LiveScope &scope, LiveStep &step, std::string error);
    void begin_work(LiveScope &scope, LiveStep &step);

    // Signals (announce.cpp). data: the result of its task.
    void announce(LiveScope &scope, LiveStep &step, std::string_view data);
    void take_output(LiveScope &scope, LiveStep &step, const Event &event);
    void take_of_signals(LiveScope &scope, LiveStep &step, const Event &event);

    // Restarts (restart.cpp)
    void restart_run(LiveScope &scope);
    void restart_steps(LiveScope &scope, RestartPolicy policy, std::string_view chosen, RestartPath below);
    void restart_iteration(LiveScope &scope, const Event &event);
    bool count_again(LiveScope &scope, bool inside);
    void begin_iteration_again(LiveScope &scope, RestartPath path);
    void restart_step(LiveScope &scope, LiveStep &step, RestartPath below);
    void reset(LiveStep &step, bool goes_on, RestartPath below);
    static void begin_anew(LiveStep &step);
    std::int64_t instance_to_restart(const LiveStep &step);
    void begin_or_skip(LiveScope &scope, LiveStep &step);
    bool is_to_be_skipped(const LiveScope &scope, const LiveStep &step);

    // Loops (loop_life.cpp)
    void begin_loop(LiveScope &scope, LiveStep &step);
    void begin_first(LiveStep &step);
    void restart_last(LiveScope &scope, LiveStep &step);
    std::vector<std::int64_t> restart_iterations(LiveScope &scope, LiveStep &step, std::int64_t after,
                                                 std::int64_t most);
    std::int64_t restart_some(LiveScope &scope, LiveStep &step, ForeachState &loop, std::int64_t most);
    bool restart_one(LiveScope &scope, LiveStep &step);
    void go_on(const LoopWork &work);
    void go_on_foreach(LiveScope &scope, LiveStep &step, const LiveScope *ended);
    bool end_foreach(LiveScope &scope, LiveStep &step, const ForeachState &loop);
    void go_on_while(LiveScope &scope, LiveStep &step, LiveScope *ended);
    bool end_while(LiveScope &scope, LiveStep &step, RunStatus status);
    bool is_too_large(LiveScope &scope, LiveStep &step);
    void add_iteration(LiveScope &scope, LiveStep &step, std::int64_t number, std::string params);
    bool is_full() const noexcept;

    void settle();
    void touch(LiveScope &scope);
    static void change(LiveStep &step) noexcept { step.is_changed = true; }
    // Does work that can fail. Returns why it has failed.
    template <typename Work> std::optional<std::string> failure_of(Work work);
    // If it fails, the step fails.
    template <typename Work> bool attempt(LiveScope &scope, LiveStep &step, Work work);

    RunState &state_;
    std::deque<StepInScope> ready_{};   // to be created
    std::deque<LiveScope *> touched_{}; // may have ended
    std::deque<LoopWork> loops_{};
    std::optional<std::int64_t> leaves_{}; // in the loops of the run before the turn; nothing: not counted yet
};

bool are_complete(const LiveScope &scope, const std::vector<std::size_t> &places) noexcept;
bool is_sleep(const StepNode &step) noexcept;
// Whether a worker executes it.
bool has_task(const StepNode &step) noexcept;

// The failure as the error of a step.
std::string error_of(const ParamFailure &failure);
std::string error_of(const sel::Failure &failure);
std::string error_message(std::string_view message);

template <typename Work> std::optional<std::string> Advance::failure_of(Work work) {
    try {
        work();
        return std::nullopt;
    } catch (const ParamFailure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw sel::Failure{failure.fault};
        return error_of(failure);
    } catch (const sel::Failure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw;
        return error_of(failure);
    }
}

template <typename Work> bool Advance::attempt(LiveScope &scope, LiveStep &step, Work work) {
    auto error = failure_of(work);
    if (!error)
        return true;
    if (step.node->is_loop())
        give_up(scope, step, std::move(*error));
    else
        fail_for_good(scope, step, std::move(*error));
    return false;
}

} // namespace scylla::model::workflow
