// The iterations of loops.
#include <algorithm>

#include "model/workflow/advance.h"

namespace scylla::model::workflow {

namespace {

// Limits of one turn.
constexpr std::size_t k_most_iterations = 500;
constexpr std::size_t k_most_bytes = 16'000'000;
// Steps of iterations that begin before the first of them are handled, which shows how many bytes and how much time
// they take.
constexpr std::size_t k_at_a_time = 10;
constexpr std::int64_t k_most_again = 100; // iterations of an earlier run

} // namespace

bool Advance::is_full() const noexcept {
    return state_.iterations() >= k_most_iterations || state_.bytes() >= k_most_bytes || state_.world.is_late();
}

void Advance::begin_loop(LiveScope &scope, LiveStep &step) {
    if (!goes_on(state_, step)) {
        step.forgets = step.now.attempt > 1;
        begin_first(step);
    } else if (step.node->kind == StepKind::while_) {
        restart_last(scope, step);
    } else if (!restart_one(scope, step)) {
        step.now.loop = state_.keep(with_path(state_, step.now.loop, {}));
    }
    loops_.push_back({{&scope, &step}, nullptr});
}

void Advance::begin_first(LiveStep &step) {
    if (step.node->kind == StepKind::foreach) {
        ForeachState loop;
        loop.total = count_iterations(state_, step);
        step.now.loop = state_.keep(write_foreach(loop, step.node->strict));
    } else {
        step.now.loop = state_.keep(write_while(state_, begin_while(state_, step)));
    }
}

// Restarts the iteration in which a while has ended.
void Advance::restart_last(LiveScope &scope, LiveStep &step) {
    const WhileState loop = read_while(state_, step);
    const bool has_ended = loop.begun == loop.ended;
    if (!has_ended && restart_iterations(scope, step, loop.begun - 1, 1).empty()) {
        step.forgets = true; // the iteration has succeeded, but the loop could not use its values
        return begin_first(step);
    }
    const std::string below = path_in(state_, step);
    if (!has_ended && !below.empty() && read_path(state_, below).number == loop.begun)
        state_.again.back().below = state_.keep(std::string(below));
    step.now.loop = state_.keep(write_while(state_, loop));
}

// Restarts the next iterations that have not succeeded. Returns their numbers.
std::vector<std::int64_t> Advance::restart_iterations(LiveScope &scope, LiveStep &step, std::int64_t after,
                                                      std::int64_t most) {
    const std::string from = std::to_string(after);
    const std::string count = std::to_string(most);
    for (const Supply &supply : state_.run.supplies) {
        if (supply.scope != scope.now.id || supply.step != step.node->id || supply.inner != from ||
            supply.param != count)
            continue;
        std::vector<std::int64_t> numbers;
        for (const auto &[number, id] : read_iterations(state_, supply.json)) {
            state_.again.push_back({id, step.now.attempt, {}});
            numbers.push_back(number);
        }
        return numbers;
    }
    throw NeedMore{{Need::What::iterations, scope.now.id, step.node->id, state_.keep(from), state_.keep(count), {}}};
}

// Restarts the iteration that the path of the restart names, and no other that has begun. False: it names none.
bool Advance::restart_one(LiveScope &scope, LiveStep &step) {
    const std::string below = path_in(state_, step);
    const IterationPath path = below.empty() ? IterationPath{} : read_path(state_, below);
    if (path.number == 0)
        return false;
    const std::string number = std::to_string(path.number);
    for (const Supply &supply : state_.run.supplies) {
        if (supply.scope != scope.now.id || supply.step != step.node->id || supply.inner != number ||
            supply.param != k_but_one)
            continue;
        if (supply.json.empty())
            return false;
        ForeachState loop = read_foreach(state_, step);
        const std::int64_t id = keep_others(state_, loop, supply.json);
        loop.again.push_back(path.number);
        state_.again.push_back({id, step.now.attempt, state_.keep(std::string(below))});
        step.now.loop = state_.keep(write_foreach(loop, step.node->strict));
        return true;
    }
    throw NeedMore{{Need::What::but_one, scope.now.id, step.node->id, state_.keep(number), k_but_one, {}}};
}

// Does nothing if the loop has ended meanwhile.
void Advance::go_on(const LoopWork &work) {
    LiveScope &scope = *work.loop.scope;
    LiveStep &step = *work.loop.step;
    if (is_terminal(scope.now.status) || step.now.status != StepStatus::running)
        return;
    change(step);
    try {
        attempt(scope, step, [&] {
            set_due(scope, step);
            if (step.node->kind == StepKind::foreach)
                go_on_foreach(scope, step, work.ended);
            else
                go_on_while(scope, step, work.ended);
        });
    } catch (const NotYet &why) {
        postpone(step, StepStatus::running, why);
    }
}

void Advance::go_on_foreach(LiveScope &scope, LiveStep &step, const LiveScope *ended) {
    const bool strict = step.node->strict;
    ForeachState loop = read_foreach(state_, step);
    if (ended != nullptr)
        count_end(loop, strict, ended->now);
    std::int64_t room = room_of(loop, strict, concurrency_of(state_, *step.node));
    if (loop.left > 0 && loop.failed == 0 && room > 0)
        room -= restart_some(scope, step, loop, std::min({room, loop.left, k_most_again}));
    const std::size_t steps = step.node->steps->steps.size();
    const bool begins = loop.left == 0 && loop.failed == 0 && loop.next <= loop.total;
    if (begins && room > 0 && is_too_large(scope, step))
        return;
    for (std::size_t begun = 0; begins && loop.next <= loop.total && room-- > 0; begun++) {
        if (is_full()) {
            leave_for_next_turn(step);
            break;
        }
        if (begun * steps >= k_at_a_time) {
            loops_.push_back({{&scope, &step}, nullptr});
            break;
        }
        const std::int64_t number = loop.next++;
        add_iteration(scope, step, number, values_of_iteration(state_, step, number));
    }
    step.now.loop = state_.keep(write_foreach(loop, strict));
    end_foreach(scope, step, loop);
}

std::int64_t Advance::restart_some(LiveScope &scope, LiveStep &step, ForeachState &loop, std::int64_t most) {
    const auto numbers = restart_iterations(scope, step, loop.after, most);
    const auto count = static_cast<std::int64_t>(numbers.size());
    loop.left -= count;
    loop.again.insert(loop.again.end(), numbers.begin(), numbers.end());
    if (count < most) { // the others succeeded after the end of the loop, which did not count them
        loop.succeeded += loop.left;
        loop.left = 0;
    }
    if (count > 0)
        loop.after = numbers.back();
    return count;
}

bool Advance::end_foreach(LiveScope &scope, LiveStep &step, const ForeachState &loop) {
    const bool at_once = step.node->failure_mode == FailureMode::fail_immediately;
    const bool all_begun = (loop.next > loop.total && loop.left == 0) || loop.failed > 0;
    if (!all_begun || (loop.running() > 0 && !(loop.failed > loop.kept && at_once)))
        return false;
    std::string error = error_message(std::to_string(loop.failed) +
                                      (loop.failed == 1 ? " iteration has failed" : " iterations have failed"));
    if (loop.failed > 0 && loop.running() > 0)
        give_up(scope, step, std::move(error));
    else if (loop.failed > 0)
        fail_for_good(scope, step, std::move(error));
    else if (loop.timed_out > 0)
        end(scope, step, StepStatus::timed_out);
    else if (loop.stopped > 0)
        end(scope, step, StepStatus::stopped);
    else
        succeed(scope, step);
    return true;
}

void Advance::go_on_while(LiveScope &scope, LiveStep &step, LiveScope *ended) {
    WhileState loop = read_while(state_, step);
    if (ended != nullptr && ended->now.number == loop.begun) {
        loop.ended = loop.begun;
        if (end_while(scope, step, ended->now.status))
            return;
        take_values(state_, loop, step, *ended);
        step.now.loop = state_.keep(write_while(state_, loop));
    }
    if (loop.ended < loop.begun)
        return;
    const std::string values = values_of_next(state_, loop);
    const auto parsed = state_.parse(values);
    if (!is_to_go_on(state_, scope, step, *parsed->map))
        return succeed(scope, step);
    if (const std::int64_t most = state_.run.name.limits.iterations; loop.begun >= most)
        return fail_for_good(scope, step,
                             error_message("a while can have at most " + std::to_string(most) + " iterations"));
    if (is_too_large(scope, step))
        return;
    if (is_full())
        return leave_for_next_turn(step);
    loop.begun++;
    step.now.loop = state_.keep(write_while(state_, loop));
    add_iteration(scope, step, loop.begun, values);
}

bool Advance::end_while(LiveScope &scope, LiveStep &step, RunStatus status) {
    if (status == RunStatus::succeeded)
        return false;
    if (status == RunStatus::failed)
        fail_for_good(scope, step, error_message("an iteration has failed"));
    else
        end(scope, step, status == RunStatus::timed_out ? StepStatus::timed_out : StepStatus::stopped);
    return true;
}

// Whether the run has too many leaves for another iteration. If so, the loop fails.
bool Advance::is_too_large(LiveScope &scope, LiveStep &step) {
    const std::int64_t most = state_.run.name.limits.leaves;
    if (!leaves_)
        leaves_ = leaves_before(state_);
    if (*leaves_ < most)
        return false;
    give_up(scope, step, error_message("a run can have at most " + std::to_string(most) + " steps in its loops"));
    return true;
}

void Advance::add_iteration(LiveScope &scope, LiveStep &step, std::int64_t number, std::string params) {
    begin_scope(state_.add_iteration(scope, step, number, std::move(params)));
}

} // namespace scylla::model::workflow
