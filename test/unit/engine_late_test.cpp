// Whoever ends the work of a step first decides how the step ends: what is to end it later is put back until it is
// known.
#include <gtest/gtest.h>

#include "engine.h"

namespace test_engine_late {
namespace {

using namespace engine_test;

const std::string k_two = job("a", R"({"c": "true"})") + "," + job("b") + "," + job("c");

TEST(Late, TheRestOfTheRunIsStoppedAndTheStepIsWhatItsWorkerMakesOfIt) {
    for (const EventKind kind : {EventKind::stop, EventKind::kill}) {
        Keeper keeper(with_steps(k_two));
        keeper.start();
        keeper.held = {{1, "a"}};
        keeper.act(kind, "");
        const std::string b = kind == EventKind::stop ? "b STOPPED" : "b FATALLY_FAILED";
        EXPECT_EQ(keeper.steps(), "a RUNNING, " + b);
        EXPECT_EQ(keeper.status(), "IN_PROGRESS");
        EXPECT_EQ(keeper.open(), "a");
        ASSERT_EQ(keeper.put_back.size(), 1U);
        keeper.send(std::vector<KeptEvent>{});
        EXPECT_EQ(keeper.put_back.size(), 1U) << "it comes again and again";
        keeper.held.clear();
        keeper.send(std::vector{keeper.of_task(EventKind::task_completed, "a")});
        EXPECT_EQ(keeper.steps().substr(0, 12), "a SUCCEEDED,");
        EXPECT_EQ(keeper.status(), kind == EventKind::stop ? "STOPPED" : "FAILED");
        EXPECT_EQ(keeper.open(), "") << "no other step begins";
        EXPECT_TRUE(keeper.put_back.empty());
    }
}

TEST(Late, WhatIsGivenBackIsEndedByWhoCameLater) {
    for (const EventKind kind : {EventKind::stop, EventKind::kill, EventKind::skip}) {
        Keeper keeper(with_steps(job("a")));
        keeper.start();
        keeper.held = {{1, "a"}};
        keeper.act(kind, "a");
        EXPECT_EQ(keeper.steps(), "a RUNNING");
        keeper.held.clear();
        keeper.send(std::vector<KeptEvent>{});
        EXPECT_EQ(keeper.steps(), kind == EventKind::stop   ? "a STOPPED"
                                  : kind == EventKind::kill ? "a FATALLY_FAILED"
                                                            : "a SKIPPED");
        EXPECT_EQ(keeper.cancelled.size(), 1U);
        EXPECT_TRUE(keeper.put_back.empty());
    }
}

TEST(Late, ATimeoutOfAStepAndOfTheRunComesAgain) {
    Keeper keeper(with_steps(job("a", "{}", R"(, "timeout": "1 min")"), R"(, "timeout": "1 hour")"));
    keeper.start();
    keeper.held = {{1, "a"}};
    keeper.wait();
    EXPECT_EQ(keeper.steps(), "a RUNNING");
    EXPECT_EQ(keeper.step("a").step.due, 0);
    EXPECT_EQ(keeper.put_back.size(), 1U);
    keeper.wait(); // of the run
    EXPECT_EQ(keeper.status(), "IN_PROGRESS");
    EXPECT_EQ(keeper.put_back.size(), 2U);
    keeper.held.clear();
    keeper.complete("a");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED");
    EXPECT_EQ(keeper.status(), "SUCCEEDED") << "both came too late";
    EXPECT_TRUE(keeper.put_back.empty());
}

TEST(Late, AFailureThatStopsAllOthersWaitsForNoneOfThem) {
    const std::string steps = job("a", R"({"d": "true"})") + "," +
                              job("b", "{}", R"(, "failure_mode": "FAIL_IMMEDIATELY")") + "," + job("c") + "," +
                              job("d");
    Keeper keeper(with_steps(steps));
    keeper.start();
    keeper.held = {{1, "a"}};
    keeper.fail("b", R"({"code": "x", "retryable": false})");
    EXPECT_EQ(keeper.steps(), "a RUNNING, b FATALLY_FAILED, c STOPPED");
    keeper.held.clear();
    keeper.complete("a");
    EXPECT_EQ(keeper.step("a").step.status, StepStatus::succeeded);
    EXPECT_EQ(keeper.status(), "FAILED");
    EXPECT_EQ(keeper.open(), "");
}

TEST(Late, AKilledStepOfWhichASiblingHangsOnIsNotStoppedInVain) {
    Keeper keeper(with_steps(job("a", "{}", R"(, "failure_mode": "FAIL_IMMEDIATELY")") + "," + job("b")));
    keeper.start();
    keeper.held = {{1, "a"}};
    keeper.act(EventKind::kill, "a");
    EXPECT_EQ(keeper.steps(), "a RUNNING, b RUNNING");
    EXPECT_EQ(keeper.open(), "a, b");
    keeper.held.clear();
    keeper.complete("a");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING") << "the kill came too late, and nothing has failed";
}

TEST(Late, ALoopEndsWhenNothingLivesInside) {
    Keeper keeper(with_steps(loop_over("l", up_to("i", 3), job("a"))));
    keeper.start();
    keeper.held = {{1, "l"}};
    keeper.act(EventKind::stop, "");
    EXPECT_EQ(keeper.steps(), "l RUNNING");
    EXPECT_EQ(keeper.running_iterations("l"), 0U) << "what can be stopped inside is stopped";
    keeper.held.clear();
    keeper.send(std::vector<KeptEvent>{});
    EXPECT_EQ(keeper.steps(), "l STOPPED");
    EXPECT_EQ(keeper.status(), "STOPPED");
}

TEST(Late, AKilledStepFailsWhenItsSubworkflowHasStopped) {
    for (const std::string_view end : {"STOPPED", "SUCCEEDED"}) {
        Keeper keeper(with_steps(
            R"({"subworkflow": {"id": "s", "params": {"subworkflow_id": {"type": "STRING", "value": "x"}}}})"));
        keeper.start();
        keeper.child(EventKind::child_started, "s", R"({"status": "CREATED"})");
        keeper.held = {{1, "s"}};
        keeper.act(EventKind::kill, "s");
        EXPECT_EQ(keeper.steps(), "s RUNNING");
        keeper.held.clear();
        keeper.child(EventKind::child_ended, "s", R"({"status": ")" + std::string(end) + "\"}");
        EXPECT_EQ(keeper.steps(), end == "STOPPED" ? "s FATALLY_FAILED" : "s SUCCEEDED");
    }
}

} // namespace
} // namespace test_engine_late
