// Runs of random workflows with random outcomes, crashes, and events that come late, twice or out of place. After each
// turn, what is there is compared with what a naive look at it says (Maestro, sections 2.3, 5.2, 5.3 and 6).
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <tuple>

#include "engine.h"

namespace test_engine_simulation {
namespace {

using namespace engine_test;

// ---- random definitions --------------------------------------------------------------------------------------------

enum class Kind : std::uint8_t { job, no_op, sleep, foreach, while_, subworkflow };
enum class Mode : std::uint8_t { after_running, immediately, ignore };
enum class Edge : std::uint8_t { yes, no, by_output, by_attempt, broken };

struct Made;
using MadeList = std::vector<Made>;
struct Made {
    std::string id{};
    Kind kind = Kind::job;
    Mode mode = Mode::after_running;
    std::map<std::size_t, Edge> next{}; // by place
    int retries = 0;                    // of each class
    int iterations = 0;
    int concurrency = 0;
    bool strict = false;
    bool sync = true;
    int dependencies = 0; // signals that it waits for
    MadeList inner{};
    bool is_loop() const noexcept { return kind == Kind::foreach || kind == Kind::while_; }
};

class Maker {
public:
    explicit Maker(std::mt19937 &random) noexcept : random_{random} {}

    MadeList list(int depth) {
        MadeList made(static_cast<std::size_t>(1 + below(depth == 0 ? 8 : 4)));
        for (Made &step : made)
            fill(step, depth);
        for (std::size_t from = 0; from < made.size(); from++) {
            for (std::size_t to = from + 1; to < made.size(); to++) {
                if (below(3) == 0)
                    made[from].next.emplace(to, edge());
            }
        }
        return made;
    }

    static std::string json(const MadeList &steps) {
        std::string text = "[";
        for (const Made &step : steps)
            text += (text.size() == 1 ? "" : ",") + json(step, steps);
        return text + "]";
    }

private:
    int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
    Edge edge() {
        const int drawn = below(20);
        return drawn == 0   ? Edge::broken
               : drawn < 3  ? Edge::no
               : drawn < 6  ? Edge::by_output
               : drawn == 6 ? Edge::by_attempt
                            : Edge::yes;
    }

    void fill(Made &step, int depth) {
        step.id = "s" + std::to_string(count_++);
        const int drawn = below(depth < 3 ? 12 : 9);
        step.kind = drawn < 5    ? Kind::job
                    : drawn < 7  ? Kind::no_op
                    : drawn == 7 ? Kind::sleep
                    : drawn == 8 ? Kind::subworkflow
                    : drawn < 11 ? Kind::foreach
                                 : Kind::while_;
        const int mode = below(6);
        step.mode = mode == 0 ? Mode::immediately : mode < 3 ? Mode::ignore : Mode::after_running;
        step.retries = below(3);
        step.iterations = below(6);
        step.concurrency = 1 + below(3);
        step.strict = below(2) == 0;
        step.sync = below(4) != 0;
        step.dependencies = std::max(0, below(8) - 5);
        if (step.is_loop())
            step.inner = list(depth + 1);
    }

    static std::string json(const Made &step, const MadeList &beside) {
        constexpr std::string_view k_modes[] = {"FAIL_AFTER_RUNNING", "FAIL_IMMEDIATELY", "IGNORE_FAILURE"};
        std::string text = R"("id": ")" + step.id + R"(", "failure_mode": ")" +
                           std::string(k_modes[static_cast<std::size_t>(step.mode)]) +
                           R"(", "transition": {"successors": {)";
        constexpr std::string_view k_edges[] = {"true", "false", "out > 5", "step_attempt_id % 2 == 1", "1 / 0 > 1"};
        bool first = true;
        for (const auto &[to, edge] : step.next) {
            text += (first ? "\"" : ",\"") + beside[to].id + "\": \"" +
                    std::string(k_edges[static_cast<std::size_t>(edge)]) + "\"";
            first = false;
        }
        return "{\"" + name_of(step.kind) + "\": {" + text + "}}, \"params\": {" + params(step) + "}" +
               dependencies(step) + more(step) + "}}";
    }
    static std::string dependencies(const Made &step) {
        std::string text;
        for (int number = 0; number < step.dependencies; number++)
            text += (text.empty() ? R"(, "signal_dependencies": [)" : ",") +
                    (R"({"name": "x)" + std::to_string(number) + R"("})");
        return text.empty() ? text : text + "]";
    }
    static std::string name_of(Kind kind) {
        return kind == Kind::foreach       ? "foreach"
               : kind == Kind::while_      ? "while"
               : kind == Kind::subworkflow ? "subworkflow"
                                           : "step";
    }
    static std::string params(const Made &step) {
        std::string text = R"("out": {"type": "LONG", "expression": "step_attempt_id * 4"})";
        if (step.kind == Kind::sleep)
            text += R"(, "sleep_seconds": {"type": "LONG", "value": 100})";
        if (step.kind == Kind::subworkflow)
            text += R"(, "subworkflow_id": {"type": "STRING", "value": "other"})";
        if (step.kind == Kind::foreach)
            text += R"x(, "loop_params": {"type": "MAP", "value": {"i_)x" + step.id +
                    R"x(": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, )x" +
                    std::to_string(step.iterations) + R"x(, 1)"}}})x";
        if (step.kind == Kind::while_)
            text +=
                R"(, "loop_params": {"type": "MAP", "value": {"i_)" + step.id + R"(": {"type": "LONG", "value": 0}}})";
        return text;
    }
    static std::string more(const Made &step) {
        const std::string retries = std::to_string(step.retries);
        switch (step.kind) {
        case Kind::job:
            return R"(, "type": "Job", "timeout": 1000, "retry_policy": {"error_retry_limit": )" + retries +
                   R"(, "platform_retry_limit": )" + retries + R"(, "timeout_retry_limit": )" + retries + "}";
        case Kind::no_op:
            return R"(, "type": "NoOp")";
        case Kind::sleep:
            return R"(, "type": "Sleep")";
        case Kind::subworkflow:
            return step.sync ? "" : R"(, "sync": false)";
        case Kind::foreach:
            return R"(, "concurrency": )" + std::to_string(step.concurrency) + R"(, "strict_ordering": )" +
                   (step.strict ? "true" : "false") + R"(, "steps": )" + json(step.inner);
        case Kind::while_:
            return R"(, "condition": "loop_index < )" + std::to_string(step.iterations) + R"(", "steps": )" +
                   json(step.inner);
        }
        return "";
    }

    std::mt19937 &random_;
    int count_ = 0;
};

// ---- what a naive look says ----------------------------------------------------------------------------------------

bool is_failed(StepStatus status) noexcept {
    return status == StepStatus::fatally_failed || status == StepStatus::internally_failed;
}

class Look {
public:
    // failing: how many iterations the attempts of loops had when the first one had failed. again: the iterations that
    // are to run again in an attempt of their loop, and have not begun to.
    Look(const Keeper &keeper, const MadeList &steps, const std::set<std::int64_t> &acted_on,
         std::map<std::pair<StepKey, std::int32_t>, int> &failing,
         const std::set<std::pair<std::int64_t, std::int32_t>> &again)
        : keeper_{keeper}, acted_on_{acted_on}, failing_{failing}, again_{again} {
        lists_.emplace(1, &steps);
    }

    void check() {
        for (const auto &[id, scope] : keeper_.scopes) { // those around a scope come before it
            if (scope.parent != 0)
                lists_.emplace(id, &find(*lists_.at(scope.parent), scope.step)->inner);
            check_scope(scope, *lists_.at(id));
        }
        for (const auto &[id, scope] : keeper_.scopes) {
            for (const Made &step : *lists_.at(id)) {
                const KeptStep *kept = of(scope, step);
                if (kept != nullptr && step.is_loop())
                    check_loop(scope, step, *kept);
            }
        }
    }

private:
    static const Made *find(const MadeList &steps, std::string_view id) {
        for (const Made &step : steps) {
            if (step.id == id)
                return &step;
        }
        return nullptr;
    }
    static const KeptStep *of(const KeptScope &scope, const Made &step) {
        const auto found = scope.steps.find(step.id);
        return found == scope.steps.end() ? nullptr : &found->second;
    }

    void check_scope(const KeptScope &scope, const MadeList &steps) {
        bool closed = workflow::is_terminal(scope.status) && acted_on_.contains(scope.id);
        bool live = false;
        for (const Made &step : steps) {
            const KeptStep *kept = of(scope, step);
            closed = closed || (kept != nullptr && step.mode == Mode::immediately &&
                                kept->step.status == StepStatus::fatally_failed);
            live = live || (kept != nullptr &&
                            (!workflow::is_terminal(kept->step.status) || workflow::is_retryable(kept->step.status)));
        }
        // An iteration that was stopped with its loop was stopped from outside, as a run that was acted on.
        closed = closed || scope.status == RunStatus::stopped || scope.status == RunStatus::timed_out;
        for (std::size_t place = 0; place < steps.size(); place++)
            check_step(scope, steps, place, closed || scope.status == RunStatus::created);
        if (workflow::is_terminal(scope.status) && !acted_on_.contains(scope.id) &&
            scope.status != RunStatus::stopped) {
            EXPECT_EQ(scope.status, naive_status(scope)) << keeper_.path_of(scope.id);
        }
        if (scope.status != RunStatus::created) {
            EXPECT_EQ(live, !workflow::is_terminal(scope.status)) << keeper_.path_of(scope.id);
        }
    }

    // It is there if and only if all before it are complete, and left out if none of their edges leads to it.
    void check_step(const KeptScope &scope, const MadeList &steps, std::size_t place, bool closed) {
        bool complete = true;
        bool satisfied = true;
        for (std::size_t from = 0; from < place; from++) {
            const auto edge = steps[from].next.find(place);
            if (edge == steps[from].next.end())
                continue;
            const KeptStep *before = of(scope, steps[from]);
            complete = complete && before != nullptr && workflow::is_complete(before->step.status);
        }
        if (complete)
            satisfied = is_satisfied(scope, steps, place);
        const KeptStep *kept = of(scope, steps[place]);
        if (kept == nullptr) {
            EXPECT_TRUE(closed || !complete) << keeper_.path_of(scope.id) << steps[place].id << " is missing";
            return;
        }
        EXPECT_TRUE(complete) << keeper_.path_of(scope.id) << steps[place].id << " is there too early";
        EXPECT_EQ(kept->step.status == StepStatus::unsatisfied, !satisfied) << steps[place].id;
        const auto &retries = kept->step.retries;
        if (kept->step.status == StepStatus::skipped) { // perhaps after it had failed for good
            EXPECT_GE(kept->step.attempt - 1, retries.error + retries.platform + retries.timeout);
        } else if (!acted_on_again(*kept)) {
            EXPECT_EQ(retries.error + retries.platform + retries.timeout, kept->step.attempt - 1);
        }
        for (const int count : {retries.error, retries.platform, retries.timeout})
            EXPECT_LE(count, steps[place].retries);
        if (steps[place].dependencies > 0)
            check_signals(*kept, steps[place]);
    }

    // It has begun its work if and only if nothing is waited for any more.
    static void check_signals(const KeptStep &kept, const Made &step) {
        const auto count = [&](std::string_view word) {
            int found = 0;
            for (std::size_t at = kept.signals.find(word); at != std::string::npos;
                 at = kept.signals.find(word, at + 1))
                found++;
            return found;
        };
        const int pending = count("PENDING");
        const int done = count("MATCHED") + count("SKIPPED");
        const StepStatus status = kept.step.status;
        if (status == StepStatus::waiting_for_signals && kept.step.due == workflow::k_next_turn) {
            return; // the turn had no time for it
        } else if (status == StepStatus::waiting_for_signals) {
            EXPECT_EQ(pending + done, step.dependencies) << step.id << kept.signals;
        } else if (status > StepStatus::waiting_for_signals && !workflow::is_terminal(status)) {
            EXPECT_EQ(done, step.dependencies) << step.id << kept.signals;
        } else if (status == StepStatus::succeeded) {
            EXPECT_EQ(done, step.dependencies) << step.id << kept.signals;
        }
    }

    // It had failed for good, was to be skipped, and has failed in that.
    static bool acted_on_again(const KeptStep &kept) {
        return std::any_of(kept.earlier.begin(), kept.earlier.end(),
                           [](StepStatus status) { return workflow::is_restartable(status); });
    }

    static bool is_satisfied(const KeptScope &scope, const MadeList &steps, std::size_t place) {
        bool any = false;
        bool satisfied = false;
        for (std::size_t from = 0; from < place; from++) {
            const auto edge = steps[from].next.find(place);
            if (edge == steps[from].next.end())
                continue;
            any = true;
            const KeptStep &before = *of(scope, steps[from]);
            satisfied = satisfied || (before.step.status != StepStatus::unsatisfied && is_true(edge->second, before));
            if (edge->second == Edge::broken) {
                EXPECT_NE(before.step.status, StepStatus::succeeded);
            }
        }
        return !any || satisfied;
    }
    static bool is_true(Edge edge, const KeptStep &step) {
        switch (edge) {
        case Edge::yes:
            return true;
        case Edge::by_output: // one that was killed before it had parameters has none
            return !step.params.empty() && std::stoll(eval("out", step.params)) > 5;
        case Edge::by_attempt:
            return step.step.attempt % 2 == 1;
        default:
            return false;
        }
    }

    static RunStatus naive_status(const KeptScope &scope) {
        int failed = 0;
        int timed_out = 0;
        int stopped = 0;
        for (const auto &[name, step] : scope.steps) {
            failed += is_failed(step.step.status) ? 1 : 0;
            timed_out += step.step.status == StepStatus::timed_out ? 1 : 0;
            stopped += step.step.status == StepStatus::stopped ? 1 : 0;
        }
        return failed > 0      ? RunStatus::failed
               : timed_out > 0 ? RunStatus::timed_out
               : stopped > 0   ? RunStatus::stopped
                               : RunStatus::succeeded;
    }

    struct Count {
        int all = 0;
        int running = 0;
        int succeeded = 0;
        int failed = 0;
        int timed_out = 0;
        int stopped = 0;
        std::int64_t first_running = INT64_MAX;
        std::int64_t last = 0;
    };
    Count count(const KeptScope &scope, const Made &loop, const KeptStep &kept) const {
        Count found;
        const bool goes_on = kept.step.status == StepStatus::running;
        for (const auto &[id, inner] : keeper_.scopes) {
            if (inner.parent != scope.id || inner.step != loop.id)
                continue;
            found.all++;
            found.last = std::max(found.last, inner.number);
            const bool is_to_run_again = goes_on && again_.contains({id, kept.step.attempt});
            const bool runs = is_to_run_again || !workflow::is_terminal(inner.status);
            if (runs) {
                found.running++;
                found.first_running = std::min(found.first_running, inner.number);
                continue;
            }
            found.succeeded += inner.status == RunStatus::succeeded ? 1 : 0;
            found.failed += inner.status == RunStatus::failed ? 1 : 0;
            found.timed_out += inner.status == RunStatus::timed_out ? 1 : 0;
            found.stopped += inner.status == RunStatus::stopped ? 1 : 0;
        }
        return found;
    }

    void check_loop(const KeptScope &scope, const Made &loop, const KeptStep &kept) {
        const Count found = count(scope, loop, kept);
        const std::string name = keeper_.path_of(scope.id) + loop.id;
        EXPECT_EQ(found.last, found.all) << name;
        EXPECT_LE(found.all, loop.iterations) << name;
        if (found.failed > 0) {
            const auto key = std::pair(StepKey(scope.id, loop.id), kept.step.attempt);
            EXPECT_EQ(failing_.try_emplace(key, found.all).first->second, found.all) << name;
        }
        const int most = loop.kind == Kind::while_ ? 1 : loop.concurrency;
        EXPECT_LE(found.running, most) << name;
        if (loop.kind == Kind::foreach && loop.strict && found.running > 0) {
            EXPECT_LE(found.last - found.first_running + 1, most) << name;
        }
        if (kept.step.status == StepStatus::running) {
            check_running_loop(loop, kept, found, name);
        } else if (kept.step.status != StepStatus::evaluating_params) {
            EXPECT_EQ(found.running, 0) << name;
        }
        if (kept.step.status == StepStatus::succeeded) {
            EXPECT_EQ(found.succeeded, loop.iterations) << name;
        } else if (kept.step.status == StepStatus::timed_out && !acted_on_.contains(1)) {
            EXPECT_GT(found.timed_out, 0) << name;
        }
    }
    static void check_running_loop(const Made &loop, const KeptStep &kept, const Count &found,
                                   const std::string &name) {
        if (kept.step.due == workflow::k_next_turn) // the turn had no time for more
            return;
        EXPECT_GT(found.running, 0) << name << " waits for nothing";
        if (loop.kind == Kind::while_) {
            EXPECT_EQ(found.succeeded, found.all - 1) << name;
            return;
        }
        EXPECT_EQ(found.failed > 0 && loop.mode == Mode::immediately, false) << name;
        const std::string counts =
            ",\"next\":" + std::to_string(found.all + 1) + ",\"succeeded\":" + std::to_string(found.succeeded) +
            ",\"failed\":" + std::to_string(found.failed) + ",\"stopped\":" + std::to_string(found.stopped) +
            ",\"timed_out\":" + std::to_string(found.timed_out);
        EXPECT_NE(kept.loop.find(counts), std::string::npos) << name << " " << kept.loop;
        if (!loop.strict && found.failed == 0) {
            EXPECT_EQ(found.running, std::min(loop.concurrency, found.running + loop.iterations - found.all)) << name;
        }
    }

    const Keeper &keeper_;
    const std::set<std::int64_t> &acted_on_; // runs and iterations that were stopped, killed or timed out as a whole
    std::map<std::pair<StepKey, std::int32_t>, int> &failing_;
    const std::set<std::pair<std::int64_t, std::int32_t>> &again_;
    std::map<std::int64_t, const MadeList *> lists_{};
};

// ---- random outcomes -----------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 1> k_pool{"workflow:w"};

class Simulation {
public:
    explicit Simulation(unsigned seed, bool with_garbage = false)
        : with_garbage_{with_garbage}, random_{seed}, steps_{Maker(random_).list(0)},
          definition_{R"({"id": "w", "steps": )" + Maker::json(steps_) + "}"}, keeper_{definition_} {
        keeper_.ends_are_late = true;
        keeper_.loops_restart = true;
        if (seed % 3 == 0)
            keeper_.permits.of_all = k_pool;
        if (seed % 2 == 0)
            keeper_.grants = [this] { return below(3) > 0; };
        keeper_.is_sound = !with_garbage;
        agenda_.push_back({.kind = EventKind::start});
    }

    const std::string &definition() const noexcept { return definition_; }

    // Until the run has ended; how many changes there were.
    std::size_t run() {
        std::size_t changes = 0;
        for (int turn = 0; !workflow::is_terminal(keeper_.scopes.at(1).status); turn++) {
            happen();
            hold_back();
            if (with_garbage_)
                spoil();
            const auto events = draw_events();
            keeper_.pieces = below(4) == 0 ? 1 + below(3) : -1; // a turn that has little time
            if (below(5) == 0)
                keeper_.take_and_forget(events); // a crash
            const auto tasks = keeper_.tasks;
            const auto children = keeper_.children;
            hold_work();
            keeper_.send(events);
            for (const KeptEvent &event : events)
                if (event.kind == EventKind::restart)
                    again_.erase({event.scope, event.attempt});
            for (const KeptEvent &event : std::exchange(keeper_.again, {})) {
                again_.insert({event.scope, event.attempt});
                agenda_.push_back(event);
            }
            changes += keeper_.changes;
            note_actions(events);
            check_held(tasks, keeper_.tasks);
            check_held(children, keeper_.children);
            if (!with_garbage_) {
                Look(keeper_, steps_, acted_on_, failing_, again_).check();
                check_matches();
                check_again(events);
            }
            if (testing::Test::HasFailure() || turn == 100'000)
                return ADD_FAILURE() << "after " << turn << " turns", changes;
        }
        EXPECT_TRUE(keeper_.tasks.empty());
        EXPECT_FALSE(keeper_.wait());
        return changes;
    }

private:
    int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
    template <typename All> auto any_of(const All &all) {
        return *std::next(all.begin(), below(static_cast<int>(all.size())));
    }

    // Breakpoints and pauses come and go (section 9). Nothing is held back while nothing else happens.
    void hold_back() {
        const bool is_idle =
            agenda_.empty() && keeper_.tasks.empty() && keeper_.children.empty() && keeper_.waits.empty();
        if (paused_ && (is_idle || below(20) == 0)) {
            paused_ = false;
            for_each_step({StepStatus::initialized, StepStatus::waiting_for_signals},
                          [&](const StepKey &key, int attempt) { note(EventKind::unpaused, key, attempt, ""); });
        } else if (!paused_ && !is_idle && !has_rest() &&
                   below(100) == 0) { // what was left for the next turn has begun
            paused_ = true;
        }
        for_each_step({StepStatus::paused}, [&](const StepKey &key, int attempt) {
            if (!is_idle && below(10) != 0)
                return;
            resumed_.insert({key, attempt});
            note(EventKind::resume, key, attempt, "");
        });
        // A breakpoint that comes later does not stop who waits for signals.
        for_each_step({StepStatus::waiting_for_signals}, [&](const StepKey &key, int attempt) {
            waited_.insert({key, attempt});
        });
        if (below(50) == 0)
            stops_at_ = stops_at_.empty() && !is_idle ? "s" + std::to_string(below(10)) : "";
        keeper_.holds.clear();
        if (!stops_at_.empty())
            keeper_.holds.push_back({.step = stops_at_});
        if (paused_)
            keeper_.holds.push_back({});
    }
    bool has_rest() const {
        return std::any_of(keeper_.scopes.begin(), keeper_.scopes.end(), [](const auto &scope) {
            return std::any_of(scope.second.steps.begin(), scope.second.steps.end(),
                               [](const auto &step) { return step.second.step.due == workflow::k_next_turn; });
        });
    }
    template <typename Use> void for_each_step(std::initializer_list<StepStatus> statuses, Use use) const {
        for (const auto &[id, scope] : keeper_.scopes)
            for (const auto &[name, kept] : scope.steps)
                if (std::find(statuses.begin(), statuses.end(), kept.step.status) != statuses.end())
                    use({id, name}, kept.step.attempt);
    }
    // Nothing has begun in this turn that must not.
    template <typename All> void check_held(const All &before, const All &after) const {
        for (const auto &[key, begun] : after) {
            const auto old = before.find(key);
            if (old != before.end() && old->second.attempt == begun.attempt)
                continue;
            EXPECT_FALSE(paused_) << key.second << " has begun in a workflow that is paused";
            EXPECT_TRUE(key.second != stops_at_ || resumed_.contains({key, begun.attempt}) ||
                        waited_.contains({key, begun.attempt}))
                << key.second << " has begun at a breakpoint";
        }
    }

    // Something comes to its end, and leaves a note of that.
    void happen() {
        for (int count = below(4); count > 0 && !keeper_.tasks.empty(); count--)
            end_task();
        if (!keeper_.permits.of_all.empty() && !keeper_.tasks.empty()) {
            const auto [key, task] = any_of(keeper_.tasks);
            note(EventKind::permitted, key, task.attempt, "");
        }
        if (!keeper_.children.empty() && below(2) == 0)
            move_child();
        if (!keeper_.waits.empty() && below(2) == 0)
            match();
        if (below(200) == 0)
            act();
        if (agenda_.empty() || below(30) == 0)
            wait();
    }
    // Somebody else is ending the tasks and subworkflows of some steps of the run.
    void hold_work() {
        keeper_.held.clear();
        if (below(3) == 0)
            for (const auto &[name, kept] : keeper_.scopes.at(1).steps)
                if (below(2) == 0 && (keeper_.tasks.contains({1, name}) || keeper_.children.contains({1, name})))
                    keeper_.held.insert({1, name});
    }
    // Also once more, and for a step that does not wait any more.
    void match() {
        const auto [key, wait] = any_of(keeper_.waits);
        const std::string number = std::to_string(below(2));
        note(EventKind::signal_matched, key, wait.attempt,
             R"({"number": )" + number + R"(, "signal": {"seq": )" + std::to_string(++seq_) + R"(, "params": {}}})");
    }
    // What has matched once stays.
    void check_matches() {
        for (const auto &[id, scope] : keeper_.scopes)
            for (const auto &[name, kept] : scope.steps) {
                for (const std::string &seq : matched_[{id, name}])
                    EXPECT_NE(kept.signals.find(seq), std::string::npos) << name << kept.signals;
                for (std::size_t at = kept.signals.find("\"seq\":"); at != std::string::npos;
                     at = kept.signals.find("\"seq\":", at + 1))
                    matched_[{id, name}].insert(kept.signals.substr(at, kept.signals.find(',', at) + 1 - at));
            }
    }
    void end_task() {
        const auto [key, task] = any_of(keeper_.tasks);
        keeper_.tasks.erase(key);
        const int drawn = below(20);
        constexpr std::string_view k_errors[] = {R"({"code": "x"})", R"({"code": "timeout"})",
                                                 R"({"code": "run-timeout"})", R"({"class": "platform"})",
                                                 R"({"code": "x", "retryable": false})"};
        if (drawn < 12)
            note(EventKind::task_completed, key, task.attempt, below(2) == 0 ? R"({"params": {"out": 9}})" : "{}");
        else if (drawn < 18)
            note(EventKind::task_failed, key, task.attempt, k_errors[below(5)]);
        else if (drawn == 18)
            note(EventKind::task_aborted, key, task.attempt, "{}");
        else
            note(below(2) == 0 ? EventKind::refused : EventKind::task_cancelled, key, task.attempt, "{}");
    }
    void move_child() {
        const auto [key, child] = any_of(keeper_.children);
        if (started_.insert(key).second)
            return note(EventKind::child_started, key, child.attempt, R"({"instance": 1, "status": "CREATED"})");
        keeper_.children.erase(key);
        constexpr std::string_view k_ends[] = {"SUCCEEDED", "SUCCEEDED", "FAILED", "STOPPED", "TIMED_OUT"};
        note(EventKind::child_ended, key, child.attempt, R"({"status": ")" + std::string(k_ends[below(5)]) + "\"}");
    }
    // Somebody stops, kills or skips, mostly a step.
    void act() {
        constexpr EventKind k_kinds[] = {EventKind::stop, EventKind::kill,         EventKind::skip,
                                         EventKind::skip, EventKind::restart_step, EventKind::bypass};
        const EventKind kind = k_kinds[below(6)];
        const auto [id, scope] = any_of(keeper_.scopes);
        if (scope.steps.empty() || below(20) == 0)
            return note(kind, {id, ""}, 0, "");
        note(kind, {id, any_of(scope.steps).first}, 0, "");
    }
    void wait() {
        const auto [due, all] = keeper_.next_due();
        if (below(3) != 0) // or too early
            keeper_.world.now = all.empty() ? keeper_.world.now : std::max(keeper_.world.now, due);
        for (const KeptEvent &event : all)
            agenda_.push_back(event);
    }
    // Something that is stored becomes what it must not be.
    void spoil() {
        if (below(4) != 0)
            return;
        constexpr std::string_view k_garbage[] = {"",
                                                  "[]",
                                                  "{}",
                                                  "null",
                                                  "{",
                                                  R"({"loop_params":{"i":5}})",
                                                  R"({"total":9,"next":1,"succeeded":9})",
                                                  R"({"begun":3,"ended":3,"values":{"i":[]}})",
                                                  R"({"s1":1,"s2":{},"out":[]})"};
        const std::string garbage(k_garbage[static_cast<std::size_t>(below(9))]);
        KeptScope &scope = keeper_.scopes.at(any_of(keeper_.scopes).first);
        if (scope.steps.empty() || below(4) == 0) {
            scope.params = garbage;
            return;
        }
        KeptStep &step = scope.steps.at(any_of(scope.steps).first);
        std::string *texts[] = {&step.params, &step.edges,   &step.loop, &step.error,
                                &step.rollup, &step.signals, &step.times};
        *texts[below(7)] = garbage;
    }
    void note(EventKind kind, const StepKey &key, std::int32_t attempt, std::string_view data) {
        agenda_.push_back({kind, key.first, key.second, attempt, std::string(data)});
    }

    // Some of the agenda, in any order, and some of what has been there already.
    std::vector<KeptEvent> draw_events() {
        std::vector<KeptEvent> events;
        for (int count = 1 + below(4); count > 0 && !agenda_.empty(); count--) {
            const auto place = agenda_.begin() + below(static_cast<int>(agenda_.size()));
            events.push_back(*place);
            delivered_.push_back(*place);
            if (below(5) != 0)
                agenda_.erase(place); // or it comes once more
        }
        if (!delivered_.empty() && below(3) == 0)
            events.push_back(delivered_[static_cast<std::size_t>(below(static_cast<int>(delivered_.size())))]);
        return events;
    }

    void note_actions(const std::vector<KeptEvent> &events) {
        for (const KeptEvent &event : events) {
            const bool acts =
                event.kind == EventKind::stop || event.kind == EventKind::kill || event.kind == EventKind::due;
            if (acts && event.step.empty())
                acted_on_.insert(event.scope);
        }
    }

    // The same events once more are of no use.
    void check_again(const std::vector<KeptEvent> &events) {
        const bool time_passes = std::any_of(events.begin(), events.end(), [](const KeptEvent &event) {
            return event.kind == EventKind::stop || event.kind == EventKind::kill || event.kind == EventKind::due ||
                   event.attempt == 0;
        });
        const bool has_more = keeper_.rest != workflow::Rest::none || !keeper_.put_back.empty(); // with any event
        if (time_passes || has_more)
            return;
        keeper_.send(events);
        EXPECT_EQ(keeper_.changes, 0U);
    }

    bool with_garbage_;
    std::mt19937 random_;
    MadeList steps_;
    std::string definition_;
    Keeper keeper_;
    std::vector<KeptEvent> agenda_{};
    std::vector<KeptEvent> delivered_{};
    std::set<StepKey> started_{};
    std::set<std::int64_t> acted_on_{};
    std::map<std::pair<StepKey, std::int32_t>, int> failing_{};
    std::set<std::pair<std::int64_t, std::int32_t>> again_{}; // iterations, by the attempt of their loop
    std::map<StepKey, std::set<std::string>> matched_{};
    std::int64_t seq_ = 0;
    bool paused_ = false;
    std::string stops_at_{}; // a step
    std::set<std::pair<StepKey, std::int32_t>> resumed_{};
    std::set<std::pair<StepKey, std::int32_t>> waited_{};
};

// SCYLLA_SIMULATION is how many changes there are to be at least.
TEST(Engine_Simulation, RandomRuns) {
    const char *wanted = std::getenv("SCYLLA_SIMULATION");
    const std::size_t least = wanted == nullptr ? 20'000 : std::strtoull(wanted, nullptr, 10);
    std::size_t changes = 0;
    for (unsigned seed = 1; changes < least; seed++) {
        Simulation simulation(seed);
        changes += simulation.run();
        ASSERT_FALSE(HasFailure()) << "seed " << seed << "\n" << simulation.definition();
    }
}

TEST(Engine_Simulation, RunsEndWhateverIsStored) {
    for (unsigned seed = 1; seed <= 200; seed++) {
        Simulation simulation(seed, true);
        (void)simulation.run();
        ASSERT_FALSE(HasFailure()) << "seed " << seed << "\n" << simulation.definition();
    }
}

} // namespace
} // namespace test_engine_simulation
