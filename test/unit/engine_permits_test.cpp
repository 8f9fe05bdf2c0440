// Steps that wait for permits of pools (Maestro, section 13).
#include <gtest/gtest.h>

#include "engine.h"

namespace test_engine_permits {
namespace {

using namespace engine_test;

constexpr std::array<std::string_view, 1> k_workflow_pool{"workflow:w"};
constexpr std::array<std::string_view, 2> k_limited{"db", "gpu"};

std::string tagged(std::string_view tags) { return R"(, "tags": )" + std::string(tags); }
std::string needs(const Keeper &keeper, std::string_view step) {
    for (const auto &[key, task] : keeper.tasks) {
        if (key.second == step)
            return task.needs;
    }
    return "no task";
}

TEST(Permits_13, AStepWaitsWithItsTaskUntilItHasThem) {
    Keeper keeper(with_steps(job("a", R"({"b": "true"})", R"(, "timeout": 60)") + "," + job("b")));
    keeper.permits.of_all = k_workflow_pool;
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a WAITING_FOR_PERMITS");
    EXPECT_EQ(needs(keeper, "a"), R"({"workflow:w":{"permits":1}})");
    EXPECT_EQ(keeper.scopes.at(1).steps.at("a").step.started, 0);
    EXPECT_EQ(keeper.scopes.at(1).steps.at("a").step.due, 0) << "its timeout has not begun (6.6)";
    keeper.world.now += 100'000;
    keeper.permit("a");
    EXPECT_EQ(keeper.steps(), "a RUNNING");
    EXPECT_EQ(keeper.scopes.at(1).steps.at("a").step.started, keeper.world.now);
    EXPECT_EQ(keeper.scopes.at(1).steps.at("a").step.due, keeper.world.now + 60'000);
    keeper.complete("a");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b WAITING_FOR_PERMITS");
}

TEST(Permits_13, TagsOfTheWorkflowOfLoopsAndOfTheStepCount) {
    const std::string loop =
        R"({"foreach": {"id": "l", "tags": ["gpu", "loop"], "params": {"loop_params": {"type": "MAP", "value":
            {"i": {"type": "LONG_ARRAY", "value": [1]}}}}, "steps": [)" +
        job("inner", "{}", tagged(R"(["gpu", "own"])")) + "]}}";
    Keeper keeper(with_steps(loop + "," + job("plain") + "," + job("nothing", "{}", "", "NoOp"),
                             R"(, "tags": [{"name": "db"}, "free"])"));
    std::string tags;
    for (const std::string_view tag : workflow::tags_of(keeper.definition()))
        tags += std::string(tag) + " ";
    EXPECT_EQ(tags, "db free gpu loop own ");
    keeper.permits.tags = k_limited;
    keeper.start();
    EXPECT_EQ(needs(keeper, "inner"), R"({"tag:db":{"permits":1},"tag:gpu":{"permits":1}})");
    EXPECT_EQ(needs(keeper, "plain"), R"({"tag:db":{"permits":1}})");
    EXPECT_EQ(keeper.steps(), "l RUNNING, nothing SUCCEEDED, plain WAITING_FOR_PERMITS")
        << "control steps and NoOp need none (design, section 5)";
}

TEST(Permits_13, EachAttemptAsksAgain) {
    Keeper keeper(with_steps(job("a")));
    keeper.permits.of_all = k_workflow_pool;
    keeper.start();
    keeper.permit("a");
    keeper.fail("a");
    EXPECT_EQ(keeper.steps(), "a USER_FAILED");
    EXPECT_TRUE(keeper.wait());
    EXPECT_EQ(keeper.steps(), "a WAITING_FOR_PERMITS");
    EXPECT_EQ(needs(keeper, "a"), R"({"workflow:w":{"permits":1}})");
}

TEST(Permits_13, WhatEndsAStepThatWaitsEndsItsTask) {
    for (const auto &[kind, status] : {std::pair{EventKind::stop, "a STOPPED"},
                                       {EventKind::kill, "a FATALLY_FAILED"},
                                       {EventKind::skip, "a SKIPPED"}}) {
        Keeper keeper(with_steps(job("a")));
        keeper.permits.of_all = k_workflow_pool;
        keeper.start();
        keeper.act(kind, "a");
        EXPECT_EQ(keeper.steps(), status);
        EXPECT_EQ(keeper.cancelled.size(), 1U);
        EXPECT_TRUE(keeper.tasks.empty());
    }
}

TEST(Permits_13, TheEndOfTheTaskMayBeHeardFirst) {
    Keeper keeper(with_steps(job("a")));
    keeper.permits.of_all = k_workflow_pool;
    keeper.start();
    keeper.send({keeper.of_task(EventKind::task_completed, "a"), {EventKind::permitted, 1, "a", 1, {}}});
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED");
    EXPECT_NE(keeper.scopes.at(1).steps.at("a").step.started, 0);
}

TEST(Permits_13, ATimeoutThatCannotBeReadEndsTheStepAndItsTask) {
    Keeper keeper(with_steps(job("a", "{}", R"(, "timeout": "${nothing}")")));
    keeper.permits.of_all = k_workflow_pool;
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a WAITING_FOR_PERMITS");
    keeper.permit("a");
    EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED");
    EXPECT_TRUE(keeper.tasks.empty());
}

std::string loop_of(std::string_view id, std::string_view count, const std::string &steps) {
    return R"({"foreach": {"id": ")" + std::string(id) +
           R"(", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [)" +
           std::string(count) + R"(]}}}}, "steps": [)" + steps + "]}}";
}

TEST(Permits_13, WhoGetsThemWhenItIsSubmittedRunsAtOnce) {
    Keeper keeper(
        with_steps(job("a", R"({"b": "true"})") + "," + job("b") + "," + job("timed", "{}", R"(, "timeout": 60)")));
    keeper.permits.of_all = k_workflow_pool;
    keeper.grants = [] { return true; };
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a RUNNING, timed WAITING_FOR_PERMITS") << "when a timeout ends is to be reckoned first";
    EXPECT_EQ(keeper.scopes.at(1).steps.at("a").step.started, keeper.world.now);
    EXPECT_EQ(needs(keeper, "a"), R"({"workflow:w":{"permits":1}})");
    keeper.complete("a");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING, timed WAITING_FOR_PERMITS");
}

TEST(Permits_13, InALongRunAStepTimesOutByDefault) {
    for (const auto &[timeout, at_once] : {std::pair{"10 days", true}, {"11 days", false}}) {
        Keeper keeper(with_steps(job("a"), R"(, "timeout": ")" + std::string(timeout) + "\""));
        keeper.permits.of_all = k_workflow_pool;
        keeper.grants = [] { return true; };
        keeper.start();
        EXPECT_EQ(keeper.steps(), at_once ? "a RUNNING" : "a WAITING_FOR_PERMITS");
        keeper.world.now += 86'400'000 / 2;
        keeper.permit("a");
        EXPECT_EQ(keeper.steps(), "a RUNNING");
        const auto &step = keeper.scopes.at(1).steps.at("a").step;
        EXPECT_EQ(step.due, at_once ? 0 : step.started + 10 * std::int64_t{86'400'000});
    }
}

TEST(Permits_13, WhoGetsThemAtOnceCountsInAllLoopsAroundIt) {
    Keeper keeper(with_steps(loop_of("out", "1", loop_of("in", "1, 2, 3", job("a")))));
    keeper.permits.of_all = k_workflow_pool;
    int left = 2;
    keeper.grants = [&left] { return left-- > 0; };
    keeper.start();
    const std::string counted = R"({"WAITING_FOR_PERMITS":{"cnt":1,"ref":["a[1,3]:1"]},)"
                                R"("RUNNING":{"cnt":2,"ref":["a[1,2]:1","a[1,1]:1"]}})";
    EXPECT_EQ(keeper.scopes.at(1).steps.at("out").rollup, counted);
    EXPECT_EQ(keeper.scopes.at(2).steps.at("in").rollup, counted);
}

} // namespace
} // namespace test_engine_permits
