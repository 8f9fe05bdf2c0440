// Breakpoints and pauses (Maestro, sections 9 and 14).
#include <gtest/gtest.h>

#include <array>

#include "engine.h"

namespace test_engine_holds {
namespace {

using namespace engine_test;

std::string chain() {
    return with_steps(job("a", R"({"b": "true"})") + "," + job("b", R"({"c": "true"})", R"(, "timeout": 100)") + "," +
                      job("c"));
}

TEST(Engine_9, AStepStopsAtABreakpointBeforeItsTimeBegins) {
    Keeper keeper(chain());
    keeper.holds = {{.step = "b"}};
    keeper.start();
    keeper.complete("a");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b PAUSED");
    EXPECT_EQ(keeper.status(), "IN_PROGRESS");
    EXPECT_EQ(keeper.step("b").step.started, 0);
    EXPECT_EQ(keeper.step("b").step.due, 0);
    EXPECT_EQ(keeper.open(), "");
    keeper.act(EventKind::resume, "b");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING");
    EXPECT_EQ(keeper.step("b").step.due, keeper.world.now + 100'000);
    keeper.act(EventKind::resume, "b");
    EXPECT_EQ(keeper.changes, 0U);
    keeper.fail("b");
    ASSERT_TRUE(keeper.wait());
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b PAUSED"); // each attempt
    EXPECT_EQ(keeper.step("b").step.attempt, 2);
}

TEST(Engine_9, WhoIsPausedStaysSoWithoutTheBreakpoint) {
    Keeper keeper(chain());
    keeper.holds = {{.step = "a"}};
    keeper.start();
    keeper.holds = {};
    keeper.act(EventKind::unpaused, "a");
    EXPECT_EQ(keeper.steps(), "a PAUSED");
    keeper.act(EventKind::resume, "a");
    EXPECT_EQ(keeper.steps(), "a RUNNING");
}

TEST(Engine_9, APausedStepCanBeStoppedKilledAndSkipped) {
    const std::array<std::pair<EventKind, std::string>, 3> cases{{{EventKind::stop, "a STOPPED"},
                                                                  {EventKind::kill, "a FATALLY_FAILED"},
                                                                  {EventKind::skip, "a SKIPPED, b RUNNING"}}};
    for (const auto &[kind, steps] : cases) {
        Keeper keeper(chain());
        keeper.holds = {{.step = "a"}};
        keeper.start();
        keeper.act(kind, "a");
        EXPECT_EQ(keeper.steps(), steps);
        EXPECT_TRUE(keeper.cancelled.empty());
    }
}

std::string nested() { return with_steps(loop_over("l", up_to("i", 2), loop_over("m", up_to("j", 2), job("a")))); }

TEST(Engine_9, AStepOfALoopStopsInEveryIterationOrInOne) {
    Keeper all(nested());
    all.holds = {{.step = "a"}};
    all.start();
    EXPECT_EQ(all.open(), "");
    Keeper one(nested());
    const std::array<std::int64_t, 2> numbers{2, 1};
    one.holds = {{.step = "a", .iterations = numbers}};
    one.start();
    EXPECT_EQ(one.open(), "l/1/m/1/a, l/1/m/2/a, l/2/m/2/a");
    EXPECT_EQ(one.steps("l/2/m/1"), "a PAUSED");
    const std::array<std::int64_t, 1> too_few{2};
    const std::array<std::int64_t, 3> too_many{1, 2, 1};
    Keeper none(nested());
    none.holds = {{.step = "a", .iterations = too_few}, {.step = "a", .iterations = too_many}};
    none.start();
    EXPECT_EQ(none.tasks.size(), 4U);
}

TEST(Engine_14, NothingBeginsInAWorkflowThatIsPaused) {
    Keeper keeper(chain());
    keeper.start();
    keeper.holds = {{}};
    keeper.complete("a");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b INITIALIZED");
    EXPECT_EQ(keeper.open(), "");
    keeper.act(EventKind::unpaused, "b"); // paused again
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b INITIALIZED");
    keeper.holds = {};
    keeper.act(EventKind::unpaused, "b");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING");
    keeper.act(EventKind::unpaused, "b");
    EXPECT_EQ(keeper.changes, 0U);
}

TEST(Engine_14, ABreakpointComesBeforeThePauseOfTheWorkflow) {
    Keeper keeper(chain());
    keeper.holds = {{}};
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a INITIALIZED");
    keeper.holds = {{.step = "a"}};
    keeper.act(EventKind::unpaused, "a"); // it was set meanwhile
    EXPECT_EQ(keeper.steps(), "a PAUSED");
    keeper.holds = {{.step = "a"}, {}};
    keeper.act(EventKind::resume, "a");
    EXPECT_EQ(keeper.steps(), "a WAITING_FOR_SIGNALS");
    keeper.holds = {{.step = "a"}};
    keeper.act(EventKind::unpaused, "a"); // it has been resumed
    EXPECT_EQ(keeper.steps(), "a RUNNING");
}

TEST(Engine_14, LoopsGoOnInAWorkflowThatWasPaused) {
    Keeper keeper(with_steps(loop_over("l", up_to("i", 3), job("a"), R"(, "concurrency": 1)")));
    keeper.start();
    keeper.holds = {{}};
    keeper.complete("l/1/a");
    EXPECT_EQ(keeper.steps("l/2"), "a INITIALIZED");
    EXPECT_EQ(keeper.steps(), "l RUNNING");
    keeper.holds = {};
    keeper.act(EventKind::unpaused, "l/2/a");
    keeper.complete("l/2/a");
    keeper.complete("l/3/a");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

} // namespace
} // namespace test_engine_holds
