// When a step entered each status (Maestro, section 2.2).
#include <gtest/gtest.h>

#include <array>

#include "engine.h"

namespace test_engine_times {
namespace {

using namespace engine_test;

constexpr std::int64_t k_begin = 1'780'000'000'000;

std::string times(std::initializer_list<std::pair<const char *, std::int64_t>> kept) {
    std::string text;
    for (const auto &[status, seconds] : kept)
        text += (text.empty() ? "{\"" : ",\"") + std::string(status) + "\":" + std::to_string(k_begin + seconds * 1000);
    return text.empty() ? text : text + "}";
}
void pass(Keeper &keeper, std::int64_t seconds) { keeper.world.now += seconds * 1000; }

std::string waiting_job() {
    return with_steps(job("a", R"({"b": "true"})") + "," +
                      job("b", "{}", R"(, "signal_dependencies": [{"name": "orders"}], "tags": ["db"])"));
}

TEST(Engine_2_2, AStepThatNeverWaitsKeepsNoTimes) {
    Keeper keeper(waiting_job());
    keeper.start();
    pass(keeper, 1);
    keeper.complete("a");
    EXPECT_EQ(keeper.step("a").times, "");
    EXPECT_EQ(keeper.step("a").step.created, k_begin);
    EXPECT_EQ(keeper.step("a").step.started, k_begin);
    EXPECT_EQ(keeper.step("a").step.ended, k_begin + 1000);
}

TEST(Engine_2_2, AStepKeepsWhenItEnteredTheStatusesInWhichItWaited) {
    Keeper keeper(waiting_job());
    const std::array<std::string_view, 1> tags{"db"};
    keeper.permits.tags = tags;
    keeper.holds = {{.step = "b"}};
    keeper.start();
    pass(keeper, 1);
    keeper.complete("a");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b PAUSED");
    EXPECT_EQ(keeper.step("b").times, times({{"PAUSED", 1}}));
    pass(keeper, 1);
    keeper.act(EventKind::resume, "b");
    EXPECT_EQ(keeper.step("b").times, times({{"PAUSED", 1}, {"WAITING_FOR_SIGNALS", 2}}));
    pass(keeper, 1);
    keeper.match("b", 0, 1);
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b WAITING_FOR_PERMITS");
    const std::string all = times({{"PAUSED", 1}, {"WAITING_FOR_SIGNALS", 2}, {"WAITING_FOR_PERMITS", 3}});
    EXPECT_EQ(keeper.step("b").times, all);
    pass(keeper, 1);
    keeper.permit("b");
    pass(keeper, 1);
    keeper.fail("b");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b USER_FAILED");
    EXPECT_EQ(keeper.step("b").times, all);
    EXPECT_EQ(keeper.step("b").step.started, k_begin + 4000);
    keeper.holds = {};
    ASSERT_TRUE(keeper.wait());
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b WAITING_FOR_PERMITS");
    EXPECT_EQ(keeper.step("b").times, times({{"WAITING_FOR_PERMITS", 65}})); // of the attempt
}

TEST(Engine_2_2, PermitsAtOnceAreNotWaitedFor) {
    Keeper keeper(with_steps(job("a", "{}", R"(, "tags": ["db"])")));
    const std::array<std::string_view, 1> tags{"db"};
    keeper.permits.tags = tags;
    keeper.grants = [] { return true; };
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a RUNNING");
    EXPECT_EQ(keeper.step("a").times, "");
}

TEST(Engine_2_2, AStepKeepsHowFarItCameBeforeItFailed) {
    Keeper keeper(with_steps(job("a", "{}", R"(, "params": {"x": {"type": "LONG", "expression": "1 / 0"}})")));
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED");
    EXPECT_EQ(keeper.step("a").times, times({{"EVALUATING_PARAMS", 0}}));
}

// Its condition reads what the turn has changed.
TEST(Engine_2_2, AStepThatFinishesLaterHasNotEnded) {
    Keeper keeper(with_steps(
        R"({"foreach": {"id": "l", "failure_mode": "IGNORE_FAILURE", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1]}}}},
            "steps": [)" +
        job("s", "{}", R"(, "params": {"i": {"type": "LONG", "expression": "i"}})") +
        R"(], "transition": {"successors": {"b": "params.getFromForeach('l', 's', 'i')[0] == 1"}}}},)" + job("b")));
    keeper.start();
    pass(keeper, 1);
    keeper.task(EventKind::task_aborted, "l/1/s");
    EXPECT_EQ(keeper.steps(), "l FINISHING");
    EXPECT_EQ(keeper.step("l").step.ended, 0);
    EXPECT_EQ(keeper.step("l").times, times({{"FINISHING", 1}}));
    pass(keeper, 1);
    ASSERT_TRUE(keeper.wait());
    EXPECT_EQ(keeper.step("l").step.status, StepStatus::completed_with_error);
    EXPECT_EQ(keeper.step("l").step.ended, k_begin + 2000);
}

} // namespace
} // namespace test_engine_times
