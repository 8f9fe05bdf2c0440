// Counts of leaves by their status (section 10.3).
#include <gtest/gtest.h>

#include "engine.h"

namespace test_rollup {
namespace {

using namespace engine_test;
using workflow::Rollup;

Rollup counts(std::initializer_list<std::pair<StepStatus, std::int64_t>> all) {
    Rollup rollup;
    for (const auto &[status, count] : all)
        rollup.of(status).count = count;
    return rollup;
}

TEST(Rollup_10_3, AddsUp) {
    Rollup rollup = counts({{StepStatus::succeeded, 9'950}, {StepStatus::initialized, 67}, {StepStatus::running, 27}});
    rollup.of(StepStatus::fatally_failed) = {35, {"a[1]:1"}};
    EXPECT_EQ(rollup.total(), 10'079);
    Rollup more = counts({{StepStatus::running, 1}});
    more.of(StepStatus::fatally_failed) = {1, {"b[2]:3"}};
    aggregate(rollup, more);
    EXPECT_EQ(rollup.total(), 10'081);
    EXPECT_EQ(rollup.of(StepStatus::running).count, 28);
    EXPECT_EQ(rollup.of(StepStatus::fatally_failed), (Rollup::Leaves{36, {"b[2]:3", "a[1]:1"}}));
}

TEST(Rollup_10_3, TakesAway) {
    Rollup rollup = counts({{StepStatus::succeeded, 9'985}, {StepStatus::initialized, 67}});
    rollup.of(StepStatus::running) = {27, {"c[9]:1", "d[9]:1"}};
    EXPECT_EQ(rollup.total(), 10'079);
    Rollup less = counts({{StepStatus::initialized, 1}});
    less.of(StepStatus::running) = {1, {"c[9]:1"}};
    segregate(rollup, less);
    EXPECT_EQ(rollup.total(), 10'077);
    EXPECT_EQ(rollup.of(StepStatus::initialized).count, 66);
    EXPECT_EQ(rollup.of(StepStatus::running), (Rollup::Leaves{26, {"d[9]:1"}}));
}

TEST(Rollup_10_3, ARestartTakesAwayWhatRunsAgain) {
    Rollup rollup = counts({{StepStatus::succeeded, 10}, {StepStatus::fatally_failed, 2}});
    segregate(rollup, counts({{StepStatus::fatally_failed, 2}}));
    EXPECT_EQ(rollup, counts({{StepStatus::succeeded, 10}}));
}

TEST(Rollup_10_3, IsNeverLessThanNothing) {
    Rollup rollup = counts({{StepStatus::running, 1}});
    segregate(rollup, counts({{StepStatus::running, 5}, {StepStatus::stopped, 1}}));
    EXPECT_EQ(rollup, Rollup{});
}

TEST(Rollup_10_3, NamesTheNewest) {
    Rollup rollup;
    for (int i = 1; i <= 25; i++)
        aggregate(rollup, rollup_of(StepStatus::running, "a[" + std::to_string(i) + "]:1"));
    const Rollup::Leaves &running = rollup.of(StepStatus::running);
    EXPECT_EQ(running.count, 25);
    ASSERT_EQ(running.refs.size(), Rollup::k_most_refs);
    EXPECT_EQ(running.refs.front(), "a[25]:1");
    EXPECT_EQ(running.refs.back(), "a[16]:1");
    aggregate(rollup, rollup_of(StepStatus::succeeded, "a[1]:1"));
    EXPECT_TRUE(rollup.of(StepStatus::succeeded).refs.empty());
}

TEST(Rollup_10_3, NothingIsLiveInALoopThatHasEnded) {
    Rollup rollup = counts({{StepStatus::not_created, 4},
                            {StepStatus::running, 3},
                            {StepStatus::user_failed, 2},
                            {StepStatus::fatally_failed, 1},
                            {StepStatus::stopped, 1}});
    settle(rollup, StepStatus::fatally_failed);
    EXPECT_EQ(rollup,
              counts({{StepStatus::not_created, 4}, {StepStatus::fatally_failed, 1}, {StepStatus::stopped, 6}}));
}

std::string loop(std::string_view id, std::string_view steps, int iterations) {
    return R"({"foreach": {"id": ")" + show(id) +
           R"x(", "concurrency": 2, "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY",
           "expression": "Util.intsBetween(0, )x" +
           std::to_string(iterations) + R"x(, 1)"}}}}, "steps": [)x" + show(steps) + "]}}";
}

// The Keeper compares each with a recount after each turn.
TEST(Rollup_10_3, OfALoop) {
    Keeper keeper(with_steps(loop("all", job("a", R"({"b": "true"})") + "," + job("b"), 3)));
    keeper.start();
    EXPECT_EQ(keeper.step("all").rollup, R"({"NOT_CREATED":{"cnt":2},"RUNNING":{"cnt":2,"ref":["a[1]:1","a[2]:1"]}})");
    keeper.complete("all/1/a");
    EXPECT_EQ(keeper.step("all").rollup,
              R"({"NOT_CREATED":{"cnt":1},"RUNNING":{"cnt":2,"ref":["b[1]:1","a[2]:1"]},"SUCCEEDED":{"cnt":1}})");
    keeper.complete("all/1/b");
    keeper.fail("all/2/a", R"({"code": "x", "retryable": false})");
    EXPECT_EQ(keeper.step("all").rollup, R"({"NOT_CREATED":{"cnt":2},"RUNNING":{"cnt":1,"ref":["a[3]:1"]},)"
                                         R"("SUCCEEDED":{"cnt":2},"FATALLY_FAILED":{"cnt":1,"ref":["a[2]:1"]}})");
    keeper.act(EventKind::stop, "all");
    EXPECT_EQ(keeper.step("all").rollup, R"({"NOT_CREATED":{"cnt":2},"SUCCEEDED":{"cnt":2},)"
                                         R"("FATALLY_FAILED":{"cnt":1,"ref":["a[2]:1"]},"STOPPED":{"cnt":1}})");
    keeper.restart();
    keeper.send_again();
    EXPECT_EQ(keeper.step("all").rollup,
              R"({"NOT_CREATED":{"cnt":2},"RUNNING":{"cnt":2,"ref":["a[2]:2","a[3]:2"]},"SUCCEEDED":{"cnt":2}})");
}

TEST(Rollup_10_3, OfALoopInALoop) {
    Keeper keeper(with_steps(loop("outer", loop("inner", job("a"), 2) + "," + loop("none", job("b"), 0), 1)));
    keeper.start();
    EXPECT_EQ(keeper.step("outer").rollup,
              R"({"RUNNING":{"cnt":2,"ref":["a[1,1]:1","a[1,2]:1"]},"SUCCEEDED":{"cnt":1}})");
    EXPECT_EQ(keeper.step("outer/1/inner").rollup, R"({"RUNNING":{"cnt":2,"ref":["a[1,1]:1","a[1,2]:1"]}})");
    EXPECT_EQ(keeper.step("outer/1/none").rollup, "");
    keeper.complete("outer/1/inner/1/a");
    EXPECT_EQ(keeper.step("outer").rollup, R"({"RUNNING":{"cnt":1,"ref":["a[1,2]:1"]},"SUCCEEDED":{"cnt":2}})");
}

} // namespace
} // namespace test_rollup
