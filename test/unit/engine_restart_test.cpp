// Restarts of runs (Maestro, section 11): which steps run again, what they see of earlier runs, parameters.
#include <gtest/gtest.h>

#include "engine.h"
#include "model/workflow/restart.h"

namespace test_engine_restart {
namespace {

using namespace engine_test;
using workflow::RestartPolicy;
using workflow::RestartProblem;

constexpr std::string_view k_incomplete = R"({"policy": "RESTART_FROM_INCOMPLETE"})";
constexpr std::string_view k_beginning = R"({"policy": "RESTART_FROM_BEGINNING"})";
std::string from(std::string_view step, std::string_view more = "") {
    return R"({"policy": "RESTART_FROM_SPECIFIC", "step": ")" + std::string(step) + "\"" + std::string(more) + "}";
}

// ---- the graph, as a pure function
// -----------------------------------------------------------------------------------

class Graph {
public:
    explicit Graph(std::string_view definition) {
        loaded_ = workflow::load_definition(definition, world_, limits_);
        EXPECT_EQ(loaded_.kind, sel::OutcomeKind::value) << loaded_.what;
    }
    Graph(const Graph &) = delete;
    Graph &operator=(const Graph &) = delete;
    ~Graph() { workflow::release(loaded_); }

    void set(std::string_view step, StepStatus status) { statuses_[std::string(step)] = status; }
    // "again: a b; roots: a"
    std::string of(RestartPolicy policy, std::string_view chosen = {}) const {
        const auto &list = loaded_.definition->steps;
        std::vector<StepStatus> statuses;
        for (const auto &node : list.steps) {
            const auto found = statuses_.find(node.id);
            statuses.push_back(found == statuses_.end() ? StepStatus::not_created : found->second);
        }
        const auto *node = list.find(chosen);
        const auto graph = workflow::graph_of_restart(
            list, statuses, policy, node == nullptr ? std::nullopt : std::optional(list.place_of(*node)));
        const auto names = [&](const std::vector<bool> &which) {
            std::string text;
            for (std::size_t place = 0; place < which.size(); place++)
                text += which[place] ? " " + list.steps[place].id : "";
            return text;
        };
        return "again:" + names(graph.again) + "; roots:" + names(graph.roots);
    }

private:
    TestWorld world_{};
    sel::Limits limits_{};
    workflow::Loaded loaded_{};
    std::map<std::string, StepStatus, std::less<>> statuses_{};
};

std::string example_a() {
    std::string steps;
    for (int i = 1; i <= 11; i++) {
        const std::string next = i == 3   ? R"({"job_2": "true", "job_5": "true", "job_6": "true", "job_7": "true"})"
                                 : i == 9 ? R"({"job_6": "true", "job_8": "true"})"
                                 : i == 6 ? R"({"job_1": "true", "job_11": "true"})"
                                 : i == 1 ? R"({"job_10": "true", "job_4": "true"})"
                                          : "{}";
        steps += (i == 1 ? "" : ",") + job("job_" + std::to_string(i), next);
    }
    return with_steps(steps);
}

TEST(Restart_11, ExampleA) {
    Keeper keeper(example_a());
    keeper.start();
    EXPECT_EQ(keeper.open(), "job_3, job_9");
    keeper.fail("job_3", R"({"retryable": false})");
    keeper.complete("job_9");
    keeper.complete("job_8");
    EXPECT_EQ(keeper.status(), "FAILED");

    keeper.restart(from("job_9"));
    EXPECT_EQ(keeper.open(), "job_9") << "job_3 was not asked for";
    EXPECT_EQ(keeper.steps(), "job_3 FATALLY_FAILED, job_8 NOT_CREATED, job_9 RUNNING");
    keeper.complete("job_9");
    EXPECT_EQ(keeper.open(), "job_8") << "job_6 hangs on job_3";
    keeper.complete("job_8");
    EXPECT_EQ(keeper.steps(), "job_3 FATALLY_FAILED, job_8 SUCCEEDED, job_9 SUCCEEDED");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");

    keeper.restart(k_incomplete);
    EXPECT_EQ(keeper.open(), "job_3");
    keeper.complete("job_3");
    EXPECT_EQ(keeper.open(), "job_2, job_5, job_6, job_7") << "job_6 sees that job_9 is complete";
    for (const char *step : {"job_2", "job_5", "job_7", "job_6"})
        keeper.complete(step);
    for (const char *step : {"job_1", "job_11", "job_10", "job_4"})
        keeper.complete(step);
    EXPECT_EQ(keeper.status(), "SUCCEEDED");

    keeper.restart(k_beginning);
    EXPECT_EQ(keeper.open(), "job_3, job_9");
    for (const char *step :
         {"job_3", "job_9", "job_2", "job_5", "job_6", "job_7", "job_8", "job_1", "job_11", "job_10", "job_4"})
        keeper.complete(step);
    EXPECT_EQ(keeper.status(), "SUCCEEDED") << "all eleven";
    EXPECT_EQ(keeper.step("job_9").step.attempt, 3);
    EXPECT_EQ(keeper.step("job_3").step.attempt, 3) << "1 failed; 2 and 3";
}

TEST(Restart_11, ExampleAAsAGraph) {
    Graph graph(example_a());
    for (int i = 1; i <= 11; i++)
        graph.set("job_" + std::to_string(i), StepStatus::succeeded);
    graph.set("job_3", StepStatus::fatally_failed);
    EXPECT_EQ(graph.of(RestartPolicy::from_specific, "job_9"),
              "again: job_1 job_4 job_6 job_8 job_9 job_10 job_11; roots: job_9")
        << "job_3 stays as it is";
    graph.set("job_3", StepStatus::succeeded);
    EXPECT_EQ(graph.of(RestartPolicy::from_incomplete), "again:; roots:");
}

TEST(Restart_11, ExampleB) {
    Graph graph(with_steps(job("job1", R"({"job.2": "true", "job3": "true"})") + "," +
                           job("job.2", R"({"job4": "true"})") + "," +
                           job("job3", R"({"job.2": "true", "job4": "true"})") + "," + job("job4")));
    graph.set("job1", StepStatus::succeeded);
    graph.set("job3", StepStatus::fatally_failed);
    EXPECT_EQ(graph.of(RestartPolicy::from_incomplete), "again: job.2 job3 job4; roots: job3");
    EXPECT_EQ(graph.of(RestartPolicy::from_beginning), "again: job1 job.2 job3 job4; roots: job1");
    EXPECT_EQ(graph.of(RestartPolicy::from_specific, "job1"), "again: job1 job.2 job3 job4; roots: job1");
}

// ---- what is wrong with a restart
// --------------------------------------------------------------------------------------

// ---- the status of an instance over its runs (10.2)
// ------------------------------------------------------------------

TEST(Restart_10_2, StatusOverAllRuns) {
    const auto of = [](RunStatus run, std::vector<StepStatus> steps) {
        return workflow::aggregate_status(run, steps, RunStatus::paused);
    };
    constexpr auto done = StepStatus::succeeded;
    EXPECT_EQ(of(RunStatus::stopped, {StepStatus::fatally_failed}), RunStatus::stopped);
    EXPECT_EQ(of(RunStatus::in_progress, {done}), RunStatus::in_progress);
    EXPECT_EQ(of(RunStatus::succeeded, {done, StepStatus::unsatisfied, StepStatus::skipped}), RunStatus::succeeded);
    EXPECT_EQ(of(RunStatus::succeeded, {done, StepStatus::completed_with_error}), RunStatus::succeeded);
    EXPECT_EQ(of(RunStatus::succeeded, {StepStatus::stopped, StepStatus::timed_out, StepStatus::internally_failed}),
              RunStatus::failed);
    EXPECT_EQ(of(RunStatus::succeeded, {StepStatus::stopped, StepStatus::timed_out, done}), RunStatus::timed_out);
    EXPECT_EQ(of(RunStatus::succeeded, {StepStatus::stopped, StepStatus::not_created}), RunStatus::stopped);
    EXPECT_EQ(of(RunStatus::succeeded, {done, StepStatus::not_created}), RunStatus::paused); // as before
}

TEST(Restart_10_2, OfARunThatLeavesStepsAsTheyWere) {
    Keeper keeper(with_steps(job("a") + "," + job("b")));
    keeper.start();
    keeper.fail("a", R"({"retryable": false})");
    keeper.fail("b", R"({"retryable": false})");
    EXPECT_EQ(keeper.scopes.at(1).aggregated, RunStatus::failed);
    keeper.restart(from("a"));
    keeper.complete("a");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b FATALLY_FAILED") << "why the instance is FAILED";
    EXPECT_EQ(keeper.scopes.at(1).aggregated, RunStatus::failed);
    keeper.restart(from("a"));
    keeper.act(EventKind::stop, "");
    EXPECT_EQ(keeper.status() + " " + keeper.steps(), "STOPPED a STOPPED, b FATALLY_FAILED")
        << "the run does not fail for what another one has left";
    keeper.restart();
    keeper.complete("a");
    keeper.complete("b");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
    EXPECT_EQ(keeper.scopes.at(1).aggregated, RunStatus::succeeded);
}

TEST(Restart_11, WhatCannotBe) {
    Keeper keeper(with_steps(job("a", R"({"b": "true"})") + "," + job("b", R"({"c": "true"})") + "," + job("c")));
    keeper.start();
    keeper.complete("a");
    keeper.fail("b", R"({"retryable": false})");
    const auto check = [&](const workflow::Restart &restart) {
        const auto found = keeper.check_restart(restart);
        return std::pair(found.problem, show(found.step));
    };
    using Found = std::pair<RestartProblem, std::string>;
    EXPECT_EQ(check({.policy = RestartPolicy::from_incomplete}), Found(RestartProblem::none, ""));
    EXPECT_EQ(check({.policy = RestartPolicy::from_specific, .step = "x"}), Found(RestartProblem::unknown_step, "x"));
    EXPECT_EQ(check({.policy = RestartPolicy::from_specific, .step = "c"}), Found(RestartProblem::not_a_start, "c"))
        << "b, before it, is not complete";
    EXPECT_EQ(check({.policy = RestartPolicy::from_specific, .step = "b"}), Found(RestartProblem::none, ""));
    const std::string_view outside[] = {"c", "a"};
    EXPECT_EQ(check({.policy = RestartPolicy::from_incomplete, .with_params = outside}),
              Found(RestartProblem::outside, "a"));
    EXPECT_EQ(check({.policy = RestartPolicy::from_incomplete, .skipped = outside}),
              Found(RestartProblem::outside, "a"));
    EXPECT_EQ(check({.policy = RestartPolicy::from_beginning, .skipped = outside}), Found(RestartProblem::none, ""));
    keeper.restart(k_incomplete);
    keeper.complete("b");
    keeper.complete("c");
    EXPECT_EQ(check({.policy = RestartPolicy::from_incomplete}), Found(RestartProblem::nothing_to_do, ""));
}

// ---- runs
// --------------------------------------------------------------------------------------------------------------

TEST(Restart_11, CompleteStepsOutsideStayAsTheyWere) {
    Keeper keeper(with_steps(job("a", R"({"c": "true"})") + "," + job("b", R"({"c": "false"})") + "," + job("c")));
    keeper.start();
    keeper.complete("a");
    keeper.fail("b", R"({"retryable": false})");
    EXPECT_EQ(keeper.status(), "FAILED");
    const auto created = keeper.step("a").step.created;
    keeper.world.now += 5'000;
    keeper.restart();
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING");
    EXPECT_EQ(keeper.step("a").step.created, created);
    EXPECT_EQ(keeper.step("b").step.attempt, 2);
    EXPECT_EQ(keeper.step("b").step.retries.error, 0) << "retries are counted from 0";
    keeper.complete("b");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b SUCCEEDED, c RUNNING")
        << "the join sees the true edge of the run before, though b's is false (decision 7)";
    keeper.complete("c");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(Restart_11, WhatWasStoppedAndWhatHangsOnItRunsAgain) {
    Keeper keeper(with_steps(job("a", R"({"b": "true"})") + "," + job("b") + "," + job("x")));
    keeper.start();
    keeper.complete("x");
    keeper.act(EventKind::stop, "");
    EXPECT_EQ(keeper.status(), "STOPPED");
    keeper.restart();
    EXPECT_EQ(keeper.steps(), "a RUNNING, x SUCCEEDED");
    keeper.complete("a");
    keeper.complete("b");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(Restart_11, LateEventsOfEarlierRunsArePassedOver) {
    Keeper keeper(with_steps(job("a")));
    keeper.start();
    keeper.act(EventKind::stop, "");
    keeper.restart();
    keeper.send({EventKind::task_completed, 1, "a", 1, {}});
    EXPECT_EQ(keeper.steps(), "a RUNNING");
    keeper.send({.kind = EventKind::restart});
    EXPECT_EQ(keeper.changes, 0U) << "a run begins once";
    keeper.complete("a");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
    keeper.send({.kind = EventKind::restart});
    EXPECT_EQ(keeper.changes, 0U);
}

TEST(Restart_11, ActionsOnTheRunBeforeDoNotActOnTheNext) {
    Keeper keeper(with_steps(job("a", R"({"b": "true"})") + "," + job("b")));
    keeper.start();
    keeper.fail("a", R"({"retryable": false})");
    keeper.ask_for_restart(k_beginning);
    keeper.send({{EventKind::skip, 1, "a", 1, {}}, {EventKind::restart, 1, {}, 0, {}}});
    EXPECT_EQ(keeper.steps(), "a RUNNING");
    EXPECT_EQ(keeper.step("a").step.attempt, 2);
    EXPECT_EQ(keeper.open(), "a");
}

TEST(Restart_11, ItsTimeoutCountsFromItsBeginning) {
    Keeper keeper(with_steps(job("a"), R"(, "timeout": "1 min")"));
    keeper.start();
    EXPECT_TRUE(keeper.wait());
    EXPECT_EQ(keeper.status(), "TIMED_OUT");
    keeper.world.now += 3'600'000;
    keeper.restart();
    EXPECT_EQ(keeper.scopes.at(1).due, keeper.world.now + 60'000);
    keeper.complete("a");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(Restart_11, SkippedSteps) {
    Keeper keeper(
        with_steps(job("a", R"({"b": "n > 1", "c": "n < 1"})", with_params(R"("n": {"type": "LONG", "value": 5})")) +
                   "," + job("b") + "," + job("c")));
    keeper.start();
    keeper.fail("a", R"({"retryable": false})");
    keeper.restart(from("a", R"(, "skip_steps": ["a"])"));
    EXPECT_EQ(keeper.steps(), "a SKIPPED, b RUNNING, c UNSATISFIED")
        << "conditions of a skipped step are evaluated (2.3)";
    keeper.complete("b");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

// ---- parameters (4.2, 4.4)
// ---------------------------------------------------------------------------------------------

TEST(Restart_11, ParametersAreThoseOfTheRunBefore) {
    Keeper keeper(
        with_steps(
            job("a", "{}", with_params(R"("said": {"type": "STRING", "value": "$day $n $RUN_TS"})")),
            R"(, "params": {"day": {"type": "STRING", "value": "monday"}, )"
            R"("n": {"type": "LONG", "expression": "1 + 1"}, "fixed": {"type": "LONG", "value": 1, "mode": "MUTABLE_ON_START"}})"),
        R"({"day": "friday", "more": [1, 2], "fixed": 7})");
    keeper.start();
    const std::string said = keeper.step("a").params;
    keeper.fail("a", R"({"retryable": false})");
    keeper.world.now += 86'400'000;
    keeper.restart();
    EXPECT_NE(keeper.step("a").params.find("friday 2"), std::string::npos) << keeper.step("a").params;
    const auto time = [](const std::string &text) { return text.substr(text.find("friday"), 22); };
    EXPECT_EQ(time(keeper.step("a").params), time(said)) << "also RUN_TS";
    EXPECT_NE(keeper.scopes.at(1).params.find(R"("more":[1,2])"), std::string::npos) << keeper.scopes.at(1).params;
    EXPECT_NE(keeper.scopes.at(1).params.find(R"("fixed":7)"), std::string::npos);
    EXPECT_NE(keeper.scopes.at(1).params.find(R"("owner":"ann")"), std::string::npos);
    keeper.fail("a", R"({"retryable": false})");
    keeper.restart(k_incomplete, R"({"day": "sunday"})");
    EXPECT_NE(keeper.step("a").params.find("sunday 2"), std::string::npos) << "what is given is over it";

    auto refused = workflow::evaluate_restart_params(keeper.definition(), keeper.name(), keeper.scopes.at(1).params,
                                                     R"({"fixed": 8})", keeper.world, keeper.limits);
    EXPECT_NE(refused.kind, sel::OutcomeKind::value) << "MUTABLE_ON_START";
    EXPECT_NE(refused.text.find("fixed"), std::string_view::npos);
    workflow::release(refused);
}

TEST(Restart_11, ParametersOfASteps) {
    Keeper keeper(with_steps(job("a", R"({"b": "true"})", with_params(R"("n": {"type": "LONG", "value": 1})")) + "," +
                             job("b", "{}", with_params(R"("m": {"type": "LONG", "expression": "a__n + 1"})"))));
    keeper.start();
    keeper.fail("a", R"({"retryable": false})");
    keeper.restart(R"({"policy": "RESTART_FROM_INCOMPLETE", "step_params": {"a": {"n": "41", "new": "x"}}})");
    EXPECT_NE(keeper.step("a").params.find(R"("n":41)"), std::string::npos) << keeper.step("a").params;
    EXPECT_NE(keeper.step("a").params.find(R"("new":"x")"), std::string::npos);
    keeper.complete("a");
    EXPECT_NE(keeper.step("b").params.find(R"("m":42)"), std::string::npos);
    keeper.complete("b");
    keeper.restart(k_beginning);
    EXPECT_NE(keeper.step("a").params.find(R"("n":1)"), std::string::npos) << "they were for that run";
}

TEST(Restart_11, ParametersThatAStartGivesToSteps) {
    Keeper keeper(
        with_steps(job("a", "{}", with_params(R"("n": {"type": "LONG", "value": 1, "mode": "MUTABLE_ON_START_RESTART"},
                                                           "m": {"type": "LONG", "value": 2, "mode": "MUTABLE_ON_START"})"))));
    keeper.name().step_params = R"({"a": {"n": "5", "m": 6}})";
    keeper.start();
    EXPECT_NE(keeper.step("a").params.find(R"("n":5)"), std::string::npos) << keeper.step("a").params;
    EXPECT_NE(keeper.step("a").params.find(R"("m":6)"), std::string::npos);
    keeper.fail("a", R"({"retryable": false})");
    keeper.restart(R"({"policy": "RESTART_FROM_INCOMPLETE", "step_params": {"a": {"n": 7}}})");
    EXPECT_NE(keeper.step("a").params.find(R"("n":7)"), std::string::npos);
    EXPECT_NE(keeper.step("a").params.find(R"("m":6)"), std::string::npos) << "they hold for all runs";
    keeper.fail("a", R"({"retryable": false})");
    keeper.restart(R"({"policy": "RESTART_FROM_INCOMPLETE", "step_params": {"a": {"m": 7}}})");
    EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED") << "MUTABLE_ON_START";
}

TEST(Restart_11, ParametersOfAStepThatCannotBeChanged) {
    Keeper keeper(with_steps(job("a", "{}", with_params(R"("n": {"type": "LONG", "value": 1, "mode": "CONSTANT"})"))));
    keeper.start();
    keeper.fail("a", R"({"retryable": false})");
    keeper.restart(R"({"policy": "RESTART_FROM_INCOMPLETE", "step_params": {"a": {"n": 2}}})");
    EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED");
    EXPECT_NE(keeper.step("a").error.find("CONSTANT"), std::string::npos);
    EXPECT_EQ(keeper.status(), "FAILED");
}

// ---- 5.2: foreach
// ------------------------------------------------------------------------------------------------------

std::string foreach_of(int count, std::string_view steps, std::string_view more = "") {
    return R"({"foreach": {"id": "l", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(1, )" +
           std::to_string(count + 1) + R"x(, 1)"}}}}, "transition": {"successors": {"e": "true"}}, "steps": [)x" +
           std::string(steps) + "]" + std::string(more) + "}}," + job("e");
}

TEST(Restart_5_2, OnlyIterationsThatHaveNotSucceededRunAgain) {
    Keeper keeper(with_steps(foreach_of(6, job("a", R"({"b": "true"})") + "," + job("b"), R"(, "concurrency": 3)")));
    keeper.start();
    keeper.complete("l/1/a");
    keeper.complete("l/1/b");
    keeper.complete("l/2/a");
    keeper.fail("l/3/a", R"({"retryable": false})");
    keeper.fail("l/2/b", R"({"retryable": false})");
    keeper.complete("l/4/a");
    keeper.complete("l/4/b");
    EXPECT_EQ(keeper.steps(), "l FATALLY_FAILED");
    EXPECT_EQ(keeper.status(), "FAILED");

    keeper.restart();
    EXPECT_EQ(keeper.steps(), "l RUNNING");
    EXPECT_EQ(keeper.open(), "l/5/a") << "there is room for one more";
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/2/b, l/3/a, l/5/a") << "what was complete in an iteration stays";
    EXPECT_EQ(keeper.step("l/2/b").step.attempt, 2);
    EXPECT_EQ(keeper.step("l/2/a").step.attempt, 1);
    keeper.complete("l/2/b");
    EXPECT_EQ(keeper.open(), "l/3/a, l/5/a, l/6/a");
    keeper.complete("l/3/a");
    keeper.complete("l/3/b");
    for (const char *step : {"l/5/a", "l/5/b", "l/6/a", "l/6/b", "e"})
        keeper.complete(step);
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
    EXPECT_EQ(keeper.step("l/1/a").step.attempt, 1);
    EXPECT_EQ(keeper.forgotten, 0U);
}

TEST(Restart_5_2, TheyKeepTheConcurrency) {
    Keeper keeper(with_steps(foreach_of(5, job("a"), R"(, "concurrency": 2, "failure_mode": "FAIL_AFTER_RUNNING")")));
    keeper.start();
    keeper.act(EventKind::stop, "");
    EXPECT_EQ(keeper.status("l/1") + keeper.status("l/2"), "STOPPEDSTOPPED");
    keeper.restart();
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/1/a, l/2/a");
    keeper.complete("l/2/a");
    EXPECT_EQ(keeper.open(), "l/1/a, l/3/a");
    keeper.fail("l/1/a", R"({"retryable": false})");
    EXPECT_EQ(keeper.open(), "l/3/a") << "after a failure none is begun";
    keeper.complete("l/3/a");
    EXPECT_EQ(keeper.status(), "FAILED");
    keeper.restart();
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/1/a, l/4/a");
    for (const char *step : {"l/1/a", "l/4/a", "l/5/a", "e"})
        keeper.complete(step);
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
    EXPECT_EQ(keeper.step("l/1/a").step.attempt, 3);
}

TEST(Restart_5_2, FromTheBeginningAllIterationsAreNew) {
    Keeper keeper(with_steps(foreach_of(3, job("a"))));
    keeper.start();
    keeper.complete("l/1/a");
    keeper.fail("l/2/a", R"({"retryable": false})");
    keeper.complete("l/3/a");
    keeper.restart(k_beginning);
    EXPECT_EQ(keeper.forgotten, 3U);
    EXPECT_EQ(keeper.open(), "l/1/a, l/2/a, l/3/a");
    EXPECT_EQ(keeper.step("l/1/a").step.attempt, 1) << "of another iteration";
    for (const char *step : {"l/1/a", "l/2/a", "l/3/a", "e"})
        keeper.complete(step);
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(Restart_5_2, AForeachThatWasCompleteBeginsAgain) {
    Keeper keeper(with_steps(job("f", R"({"l": "true"})") + "," + foreach_of(2, job("a"))));
    keeper.start();
    for (const char *step : {"f", "l/1/a", "l/2/a"})
        keeper.complete(step);
    keeper.fail("e", R"({"retryable": false})");
    keeper.restart(from("l"));
    EXPECT_EQ(keeper.open(), "l/1/a, l/2/a");
    EXPECT_EQ(keeper.forgotten, 2U);
}

TEST(Restart_5_2, IterationsOfACompleteLoopAreHistoryAsSoonAsItIsToRunAgain) {
    Keeper keeper(with_steps(job("f", R"({"l": "true"})") + "," + foreach_of(2, job("a"))));
    keeper.start();
    for (const char *step : {"f", "l/1/a", "l/2/a", "e"})
        keeper.complete(step);
    keeper.restart(from("f"));
    EXPECT_EQ(keeper.steps(), "e NOT_CREATED, f RUNNING, l NOT_CREATED");
    EXPECT_EQ(keeper.forgotten, 2U);
}

TEST(Restart_5_2, FromTheBeginningALoopThatWaitedToGoOnBeginsAgain) {
    Keeper keeper(with_steps(job("f", R"({"l": "true"})") + "," + foreach_of(2, job("a"))));
    keeper.start();
    keeper.complete("f");
    keeper.complete("l/1/a");
    keeper.fail("l/2/a", R"({"retryable": false})");
    keeper.restart(from("f"));
    keeper.fail("f", R"({"retryable": false})");
    EXPECT_EQ(keeper.steps(), "f FATALLY_FAILED, l NOT_CREATED");
    EXPECT_EQ(keeper.forgotten, 0U) << "it may go on with its second iteration";
    keeper.restart(k_beginning);
    EXPECT_EQ(keeper.forgotten, 2U);
    keeper.complete("f");
    EXPECT_EQ(keeper.open(), "l/1/a, l/2/a");
}

TEST(Restart_5_2, IterationsOfALoopThatDoesNotFollowThisTimeAreHistory) {
    Keeper keeper(with_steps(job("f", R"({"l": "n > 0"})", with_params(R"("n": {"type": "LONG", "value": 1})")) + "," +
                             foreach_of(2, job("a"))));
    keeper.start();
    keeper.complete("f");
    keeper.complete("l/1/a");
    keeper.fail("l/2/a", R"({"retryable": false})");
    keeper.restart(from("f"));
    keeper.complete("f", R"({"params": {"n": 0}})");
    EXPECT_EQ(keeper.status() + " " + keeper.steps(), "SUCCEEDED e UNSATISFIED, f SUCCEEDED, l UNSATISFIED");
    EXPECT_EQ(keeper.forgotten, 2U);
}

TEST(Restart_5_2, WithOtherLoopParametersItBeginsAgain) {
    Keeper keeper(
        with_steps(job("f", R"({"l": "true"})", with_params(R"("n": {"type": "LONG", "value": 3})")) +
                   R"(,{"foreach": {"id": "l", "params": {"loop_params": {"type": "MAP", "value": {"i": )"
                   R"x({"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, f__n, 1)"}}}}, "steps": [)x" +
                   job("a") + "]}}"));
    keeper.start();
    keeper.complete("f");
    keeper.complete("l/1/a");
    keeper.fail("l/2/a", R"({"retryable": false})");
    keeper.complete("l/3/a");
    keeper.restart(from("f"));
    EXPECT_EQ(keeper.steps(), "f RUNNING, l NOT_CREATED") << "f is before l";
    keeper.complete("f", R"({"params": {"n": 3}})");
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/2/a") << "the same as before";
    keeper.fail("l/2/a", R"({"retryable": false})");
    keeper.restart(from("f"));
    keeper.complete("f", R"({"params": {"n": 2}})");
    EXPECT_EQ(keeper.open(), "l/1/a, l/2/a");
    EXPECT_EQ(keeper.forgotten, 3U);
}

TEST(Restart_5_2, LoopsInLoops) {
    const std::string inner =
        R"({"foreach": {"id": "m", "params": {"loop_params": {"type": "MAP", "value": {"j": {"type": "LONG_ARRAY", "value": [1, 2]}}}}, "steps": [)" +
        job("a") + "]}}";
    Keeper keeper(with_steps(foreach_of(2, inner)));
    keeper.start();
    keeper.complete("l/1/m/1/a");
    keeper.complete("l/1/m/2/a");
    keeper.complete("l/2/m/1/a");
    keeper.fail("l/2/m/2/a", R"({"retryable": false})");
    EXPECT_EQ(keeper.status(), "FAILED");
    keeper.restart();
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/2/m/2/a");
    keeper.complete("l/2/m/2/a");
    keeper.complete("e");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(Restart_5_2, WhatIsInALoopInsideThatHasNotBegunAgainIsNotShown) {
    const std::string inner =
        R"({"foreach": {"id": "m", "params": {"loop_params": {"type": "MAP", "value": {"j": {"type": "LONG_ARRAY", "value": [1, 2]}}}}, "steps": [)" +
        job("a") + "]}}";
    Keeper keeper(
        with_steps(job("f", R"({"l": "true"})") + "," + foreach_of(1, job("g", R"({"m": "true"})") + "," + inner)));
    keeper.start();
    keeper.complete("f");
    keeper.complete("l/1/g");
    keeper.complete("l/1/m/1/a");
    keeper.fail("l/1/m/2/a", R"({"retryable": false})");
    keeper.restart(R"({"policy": "RESTART_FROM_SPECIFIC", "step": "l", "below": {"iteration": 1, "step": "g"}})");
    keeper.send_again();
    keeper.fail("l/1/g", R"({"retryable": false})");
    EXPECT_TRUE(keeper.scope_of("l/1/m/1").aside);
    keeper.restart(from("f"));
    EXPECT_TRUE(keeper.scope_of("l/1").aside);
    keeper.complete("f");
    EXPECT_FALSE(keeper.scope_of("l/1").aside);
    EXPECT_TRUE(keeper.scope_of("l/1/m/1").aside);
    keeper.send_again();
    keeper.complete("l/1/g");
    EXPECT_FALSE(keeper.scope_of("l/1/m/1").aside);
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/1/m/2/a");
}

TEST(Restart_5_2, EventsOfAnEarlierAttemptOfTheLoop) {
    Keeper keeper(with_steps(foreach_of(2, job("a"))));
    keeper.start();
    keeper.fail("l/1/a", R"({"retryable": false})");
    keeper.complete("l/2/a");
    keeper.restart();
    const auto late = keeper.again;
    keeper.act(EventKind::stop, "");
    keeper.send(late);
    EXPECT_EQ(keeper.changes, 0U) << "the loop has been stopped";
    keeper.again.clear();
    keeper.restart();
    keeper.send(late);
    EXPECT_EQ(keeper.changes, 0U) << "its next attempt has events of its own";
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/1/a");
}

// ---- 5.3: while
// --------------------------------------------------------------------------------------------------------

std::string while_of(std::string_view steps) {
    return R"({"while": {"id": "w", "condition": "n < 3", "params": {"loop_params": {"type": "MAP", "value": {"n": {"type": "LONG", "value": 0}}}}, "steps": [)" +
           std::string(steps) + "]}}";
}

TEST(Restart_5_3, AWhileGoesOnAtItsLastIteration) {
    const std::string plus = with_params(R"("n": {"type": "LONG", "expression": "n + 1"})");
    Keeper keeper(with_steps(while_of(job("a", R"({"b": "true"})", plus) + "," + job("b"))));
    keeper.start();
    keeper.complete("w/1/a");
    keeper.complete("w/1/b");
    keeper.complete("w/2/a");
    keeper.fail("w/2/b", R"({"retryable": false})");
    EXPECT_EQ(keeper.status(), "FAILED");
    keeper.restart();
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "w/2/b");
    keeper.complete("w/2/b");
    EXPECT_EQ(keeper.open(), "w/3/a");
    keeper.complete("w/3/a");
    keeper.complete("w/3/b");
    EXPECT_EQ(keeper.status(), "SUCCEEDED") << "n is 3";
    keeper.restart(k_beginning);
    EXPECT_EQ(keeper.forgotten, 3U);
    EXPECT_EQ(keeper.open(), "w/1/a");
}

TEST(Restart_5_3, AnIterationOfWhichNothingCouldBeMade) {
    Keeper keeper(with_steps(while_of(job("a", "{}", with_params(R"("n": {"type": "STRING", "value": "x"})")))));
    keeper.start();
    keeper.complete("w/1/a");
    EXPECT_EQ(keeper.status("w/1") + " " + keeper.steps(), "SUCCEEDED w FATALLY_FAILED") << "a text is no number";
    keeper.restart();
    EXPECT_EQ(keeper.open(), "w/1/a") << "it begins again";
    EXPECT_EQ(keeper.forgotten, 1U);
}

TEST(Restart_11, SpoiltTexts) {
    Keeper keeper(with_steps(job("a")));
    keeper.start();
    keeper.act(EventKind::kill, "");
    keeper.restart("{nothing");
    EXPECT_EQ(keeper.status(), "FAILED");
    EXPECT_NE(keeper.scopes.at(1).error, "");
}

// ---- a step of a run that goes on (section 11) ---------------------------------------------------------------------

constexpr std::string_view k_no_retry = R"({"retryable": false})";

TEST(Restart_11, AStepThatHasFailedGetsAnotherAttempt) {
    Keeper keeper(with_steps(job("a", R"({"b": "true"})") + "," + job("b") + "," + job("other")));
    keeper.start();
    keeper.fail("a", k_no_retry);
    EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED, other RUNNING");
    keeper.act(EventKind::restart_step, "a");
    EXPECT_EQ(keeper.steps(), "a RUNNING, other RUNNING");
    EXPECT_EQ(keeper.scopes.at(1).steps.at("a").step.attempt, 2);
    keeper.act(EventKind::restart_step, "a");
    EXPECT_EQ(keeper.changes, 0U) << "it runs";
    keeper.complete("a");
    keeper.complete("b");
    keeper.complete("other");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(Restart_11, OneThatIsCompleteOrNotCreatedDoesNot) {
    Keeper keeper(with_steps(job("a", R"({"b": "true"})") + "," + job("b") + "," + job("other")));
    keeper.start();
    keeper.complete("other");
    keeper.act(EventKind::restart_step, "other");
    keeper.act(EventKind::restart_step, "b");
    EXPECT_EQ(keeper.steps(), "a RUNNING, other SUCCEEDED");
}

TEST(Restart_11, ALoopGoesOnWithWhatHasNotSucceeded) {
    const std::string loop =
        R"({"foreach": {"id": "l", "concurrency": 3, "params": {"loop_params": {"type": "MAP", "value":
        {"i": {"type": "LONG_ARRAY", "value": [1, 2, 3]}}}}, "steps": [)" +
        job("in") + "]}}";
    Keeper keeper(with_steps(loop + "," + job("other")));
    keeper.start();
    keeper.complete("l/1/in");
    keeper.fail("l/2/in", k_no_retry);
    keeper.complete("l/3/in");
    EXPECT_EQ(keeper.steps(), "l FATALLY_FAILED, other RUNNING");
    keeper.loops_restart = true;
    keeper.act(EventKind::restart_step, "l");
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "other, l/2/in");
    keeper.complete("l/2/in");
    keeper.complete("other");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(Restart_11, AFailedStepThatWasNotChosenCanJoinTheRun) {
    const auto begin = [](Keeper &keeper) {
        keeper.start();
        keeper.fail("a", k_no_retry);
        keeper.fail("c", k_no_retry);
        keeper.restart(from("c"));
        EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED, c RUNNING");
    };
    const std::string steps = job("a", R"({"b": "true"})") + "," + job("b") + "," + job("c");
    Keeper restarted(with_steps(steps));
    begin(restarted);
    restarted.act(EventKind::restart_step, "a");
    EXPECT_EQ(restarted.open(), "a, c");
    restarted.fail("a", k_no_retry);
    restarted.complete("c");
    EXPECT_EQ(restarted.status(), "FAILED") << "now it is of the run";

    Keeper skipped(with_steps(steps));
    begin(skipped);
    skipped.act(EventKind::skip, "a");
    EXPECT_EQ(skipped.open(), "b, c");
    skipped.complete("b");
    skipped.complete("c");
    EXPECT_EQ(skipped.status() + " " + skipped.steps(), "SUCCEEDED a SKIPPED, b SUCCEEDED, c SUCCEEDED");
    EXPECT_EQ(skipped.scopes.at(1).aggregated, RunStatus::succeeded);
}

TEST(Restart_11, AStepThatCouldHaveBegunIsHeldBack) {
    Keeper keeper(with_steps(job("a", "{}",
                                 R"(, "failure_mode": "FAIL_IMMEDIATELY")" +
                                     with_params(R"("x": {"type": "LONG", "expression": "1 / n"})")) +
                             "," + job("y", R"({"z": "true"})") + "," + job("z")),
                  R"({"n": 0})");
    keeper.start();
    EXPECT_EQ(keeper.status() + " " + keeper.steps(), "FAILED a FATALLY_FAILED");
    std::vector<workflow::Step> steps;
    for (const auto &[id, step] : keeper.scopes.at(1).steps)
        steps.push_back(step.view());
    EXPECT_TRUE(workflow::is_held_back(keeper.definition(), steps, "y"));
    EXPECT_FALSE(workflow::is_held_back(keeper.definition(), steps, "z"));
    EXPECT_FALSE(workflow::is_held_back(keeper.definition(), steps, "a")) << "it has failed";
    keeper.restart(from("a"), R"({"n": 1})");
    EXPECT_EQ(keeper.open(), "a");
    keeper.act(EventKind::restart_step, "y");
    EXPECT_EQ(keeper.open(), "a, y");
}

// ---- a path to what runs again
// ---------------------------------------------------------------------------------------

std::string loop_of_three(std::string_view inside, std::string_view more = "") {
    return R"({"foreach": {"id": "l", "concurrency": 3, "params": {"loop_params": {"type": "MAP", "value":
        {"i": {"type": "LONG_ARRAY", "value": [1, 2, 3]}}}}, "steps": [)" +
           std::string(inside) + "]" + std::string(more) + "}}";
}
std::string iteration(int number, std::string_view step, std::string_view below = "") {
    return R"({"iteration": )" + std::to_string(number) + R"(, "step": ")" + std::string(step) + "\"" +
           (below.empty() ? "" : R"(, "below": )" + std::string(below)) + "}";
}
std::string on_way(std::string_view step, std::string_view below) {
    return from(step, R"(, "below": )" + std::string(below));
}

TEST(RestartPath_11, OneIterationRunsAgainAndOthersAreKept) {
    Keeper keeper(with_steps(loop_of_three(job("a", R"({"b": "true"})") + "," + job("b") + "," + job("c"))));
    keeper.start();
    for (const char *step : {"l/1/a", "l/1/b", "l/1/c", "l/2/c", "l/3/c"})
        keeper.complete(step);
    keeper.fail("l/2/a", k_no_retry);
    keeper.fail("l/3/a", k_no_retry);
    EXPECT_EQ(keeper.status(), "FAILED");
    keeper.restart(on_way("l", iteration(3, "a")));
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/3/a");
    keeper.complete("l/3/a");
    EXPECT_EQ(keeper.open(), "l/3/b");
    keeper.complete("l/3/b");
    EXPECT_EQ(keeper.status(), "FAILED") << "for the iteration that is kept";
    keeper.restart(on_way("l", iteration(1, "b")));
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/1/b") << "of an iteration that has succeeded";
    keeper.complete("l/1/b");
    EXPECT_EQ(keeper.status(), "FAILED");
    keeper.restart(on_way("l", iteration(2, "a")));
    keeper.send_again();
    keeper.complete("l/2/a");
    keeper.complete("l/2/b");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
    keeper.restart(on_way("l", iteration(2, "b")));
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/2/b") << "of a loop that has succeeded";
    keeper.complete("l/2/b");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(RestartPath_11, StepsBesideStayAsTheyAreInAnIteration) {
    Keeper keeper(with_steps(loop_of_three(job("a") + "," + job("b"))));
    keeper.start();
    for (const char *step : {"l/1/a", "l/1/b", "l/3/a", "l/3/b"})
        keeper.complete(step);
    keeper.fail("l/2/a", k_no_retry);
    keeper.fail("l/2/b", k_no_retry);
    keeper.restart(on_way("l", iteration(2, "a")));
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/2/a");
    keeper.complete("l/2/a");
    EXPECT_EQ(keeper.status() + " " + keeper.steps("l/2"), "FAILED a SUCCEEDED, b FATALLY_FAILED")
        << "the iteration is not complete, and tells why";
    keeper.restart();
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/2/b");
    keeper.complete("l/2/b");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(RestartPath_11, StepsThatAFailureHasKeptFromBeginningBeginInAnIteration) {
    Keeper keeper(
        with_steps(loop_of_three(job("a", "{}",
                                     R"(, "failure_mode": "FAIL_IMMEDIATELY")" +
                                         with_params(R"x("x": {"type": "LONG", "expression": "1 / (i - n)"})x")) +
                                 "," + job("y"))),
        R"({"n": 2})");
    keeper.start();
    for (const char *step : {"l/1/a", "l/1/y", "l/3/a", "l/3/y"})
        keeper.complete(step);
    EXPECT_EQ(keeper.status() + " " + keeper.steps("l/2"), "FAILED a FATALLY_FAILED");
    keeper.restart(on_way("l", iteration(2, "a")), R"({"n": 7})");
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/2/a, l/2/y");
    keeper.complete("l/2/a");
    keeper.complete("l/2/y");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(RestartPath_11, NewIterationsFollowIfNoneHasFailed) {
    Keeper keeper(with_steps(
        R"({"foreach": {"id": "l", "concurrency": 1, "strict_ordering": true, "params": {"loop_params": {"type": "MAP", "value":
        {"i": {"type": "LONG_ARRAY", "value": [1, 2, 3, 4]}}}}, "steps": [)" +
        job("in") + "]}}"));
    keeper.start();
    keeper.complete("l/1/in");
    keeper.fail("l/2/in", k_no_retry);
    keeper.restart(on_way("l", iteration(2, "in")));
    keeper.send_again();
    for (const char *step : {"l/2/in", "l/3/in", "l/4/in"}) {
        keeper.send_again();
        EXPECT_TRUE(keeper.open().find(step) != std::string::npos) << step;
        keeper.complete(step);
    }
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(Restart_5_2, AStrictLoopGoesOnBehindIterationsOfAnEarlierRun) {
    Keeper keeper(with_steps(
        R"({"foreach": {"id": "l", "concurrency": 1, "strict_ordering": true, "params": {"loop_params": {"type": "MAP", "value":
        {"i": {"type": "LONG_ARRAY", "value": [1, 2, 3, 4]}}}}, "steps": [)" +
        job("in") + "]}}"));
    keeper.start();
    keeper.complete("l/1/in");
    keeper.fail("l/2/in", k_no_retry);
    keeper.restart();
    keeper.send_again();
    for (const char *step : {"l/2/in", "l/3/in", "l/4/in"}) {
        EXPECT_EQ(keeper.open(), step);
        keeper.complete(step);
    }
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(RestartPath_11, FailsAtOnceOnlyForWhatRunsAgain) {
    Keeper keeper(with_steps(loop_of_three(job("a"), R"(, "failure_mode": "FAIL_IMMEDIATELY")")));
    keeper.start();
    keeper.fail("l/2/a", k_no_retry);
    EXPECT_EQ(keeper.status(), "FAILED");
    keeper.restart(on_way("l", iteration(1, "a")));
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/1/a") << "the failure that is kept does not stop it";
    keeper.complete("l/1/a");
    EXPECT_EQ(keeper.status(), "FAILED");
}

TEST(RestartPath_11, ThroughLoops) {
    const std::string inner = R"({"foreach": {"id": "m", "params": {"loop_params": {"type": "MAP", "value":
        {"j": {"type": "LONG_ARRAY", "value": [1, 2]}}}}, "steps": [)" +
                              job("a") + "]}}";
    Keeper keeper(with_steps(loop_of_three(inner)));
    keeper.start();
    for (const char *step : {"l/1/m/1/a", "l/1/m/2/a", "l/2/m/1/a", "l/3/m/1/a", "l/3/m/2/a"})
        keeper.fail(step, k_no_retry);
    keeper.complete("l/2/m/2/a");
    EXPECT_EQ(keeper.status(), "FAILED");
    keeper.restart(on_way("l", iteration(3, "m", iteration(2, "a"))));
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/3/m/2/a");
    keeper.complete("l/3/m/2/a");
    EXPECT_EQ(keeper.status(), "FAILED");
}

TEST(RestartPath_11, OneThatIsNotThereIsNoPath) {
    Keeper keeper(with_steps(loop_of_three(job("a"))));
    keeper.start();
    keeper.complete("l/1/a");
    keeper.complete("l/3/a");
    keeper.fail("l/2/a", k_no_retry);
    keeper.restart(on_way("l", iteration(9, "a")));
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/2/a") << "what is incomplete";
}

TEST(RestartPath_5_2, AnIterationThatHasEndedInALoopThatGoesOn) {
    Keeper keeper(with_steps(loop_of_three(job("a"))));
    keeper.loops_restart = true;
    keeper.start();
    keeper.complete("l/1/a");
    keeper.fail("l/2/a", k_no_retry);
    keeper.act(EventKind::restart_inside, "l/1/a", iteration(1, "a"));
    EXPECT_EQ(keeper.open(), "l/3/a") << "not one that has succeeded";
    keeper.act(EventKind::restart_inside, "l/2/a", iteration(2, "a"));
    EXPECT_EQ(keeper.open(), "l/2/a, l/3/a");
    keeper.act(EventKind::restart_inside, "l/2/a", iteration(2, "a"));
    EXPECT_EQ(keeper.changes, 0U) << "it runs";
    keeper.complete("l/3/a");
    keeper.complete("l/2/a");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

// A second attempt fails at once, in the turn in which it begins.
TEST(Restart_11, AnIterationRestartsOnceInATurn) {
    const std::string steps =
        job("in", "{}", with_params(R"x("x": {"type": "LONG", "expression": "1 / (2 - step_attempt_id)"})x"));
    Keeper keeper(with_steps(loop_of_three(steps) + "," + job("other")));
    keeper.start();
    for (const char *step : {"l/1/in", "l/2/in", "l/3/in"})
        keeper.fail(step, k_no_retry);
    EXPECT_EQ(keeper.steps(), "l FATALLY_FAILED, other RUNNING");
    keeper.loops_restart = true;
    keeper.act(EventKind::restart_step, "l");
    ASSERT_EQ(keeper.again.size(), 3U);
    keeper.send({keeper.again[0], keeper.again[0]});
    EXPECT_EQ(keeper.steps("l/1"), "in FATALLY_FAILED");
    EXPECT_EQ(keeper.step("l/1/in").step.attempt, 2);
    keeper.send(keeper.again[0]);
    EXPECT_EQ(keeper.changes, 0U) << "nor does it in another turn";
    EXPECT_NE(keeper.step("l").loop.find(R"("failed":1)"), std::string::npos) << keeper.step("l").loop;
    const KeptEvent inside{EventKind::restart_inside, keeper.again[1].scope, {}, 0, iteration(2, "in")};
    keeper.send({keeper.again[1], inside});
    EXPECT_EQ(keeper.step("l/2/in").step.attempt, 2) << "whatever wants it to restart";
    EXPECT_EQ(keeper.steps(), "l RUNNING, other RUNNING");
    keeper.send(keeper.again[2]);
    EXPECT_EQ(keeper.steps(), "l FATALLY_FAILED, other RUNNING");
}

TEST(RestartPath_5_2, AnIterationThatIsAboutToRunAgain) {
    Keeper keeper(with_steps(loop_of_three(job("a"))));
    keeper.start();
    for (const char *step : {"l/1/a", "l/2/a", "l/3/a"})
        keeper.fail(step, k_no_retry);
    keeper.restart(on_way("l", iteration(3, "a")));
    keeper.act(EventKind::restart_inside, "l/3/a", iteration(3, "a"));
    EXPECT_EQ(keeper.changes, 0U);
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/3/a");
    keeper.complete("l/3/a");
    EXPECT_EQ(keeper.status(), "FAILED") << "the failures of the others are still counted";
}

TEST(RestartPath_11, ALoopThatHasNotComeToGoOnStillCan) {
    const std::string gate = R"(, "signal_dependencies": [{"name": "go"}])";
    Keeper keeper(with_steps(job("first", R"({"l": "true"})") + "," + loop_of_three(job("a"), gate)));
    keeper.start();
    keeper.complete("first");
    keeper.act(EventKind::bypass, "l");
    keeper.complete("l/1/a");
    keeper.complete("l/3/a");
    keeper.fail("l/2/a", k_no_retry);
    keeper.restart(on_way("l", iteration(3, "a")));
    EXPECT_EQ(keeper.open(), "") << keeper.steps();
    keeper.act(EventKind::stop, "l");
    EXPECT_EQ(keeper.status(), "STOPPED");
    keeper.restart();
    keeper.act(EventKind::bypass, "l");
    keeper.send_again();
    EXPECT_EQ(keeper.open(), "l/2/a") << "and the path was that of the restart before";
    keeper.complete("l/2/a");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

} // namespace
} // namespace test_engine_restart
