// Steps that wait for signals (Maestro, sections 7.4 and 14).
#include <gtest/gtest.h>

#include <array>

#include "engine.h"

namespace test_engine_dependencies {
namespace {

using namespace engine_test;

// a, then b, which waits for "orders" of the parameter `day`, and for any "prices".
std::string waits(std::string_view more = "", std::string_view day = R"("expression": "day")") {
    return R"({"id": "w", "params": {"day": {"type": "LONG", "value": 5}}, "steps": [)" + job("a", R"({"b": "true"})") +
           "," +
           job("b", R"({"c": "true"})",
               R"(, "signal_dependencies": [{"name": "orders", "match_params": {
                      "table": {"param": {"type": "STRING", "value": "t"}},
                      "day": {"param": {"type": "LONG", )" +
                   std::string(day) + R"(}, "operator": ">="}}}, {"name": "prices"}])" + std::string(more)) +
           "," + job("c") + "]}";
}
Keeper &begun(Keeper &keeper) {
    keeper.start();
    keeper.complete("a");
    return keeper;
}

TEST(Engine_7_4, AStepWaitsForAllOfItsSignals) {
    Keeper keeper(waits());
    begun(keeper);
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b WAITING_FOR_SIGNALS");
    EXPECT_EQ(keeper.open(), "");
    EXPECT_EQ((keeper.waits.at({1, "b"}).signals),
              R"([{"number":0,"signal":"orders","match":{"table":"t","day":{">=":5}}},)"
              R"({"number":1,"signal":"prices","match":{}}])");
    keeper.match("b", 1, 8);
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b WAITING_FOR_SIGNALS");
    EXPECT_EQ(
        keeper.step("b").signals,
        R"([{"status":"PENDING","signal":"orders","match":{"table":"t","day":{">=":5}},"since":1780000000000},)"
        R"({"status":"MATCHED","signal":"prices","match":{},"since":1780000000000,"seq":8,"params":{},"sent":"now"}])");
    keeper.match("b", 0, 9);
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING");
    keeper.complete("b");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b SUCCEEDED, c RUNNING");
}

TEST(Engine_7_4, TheFirstMatchIsKept) {
    Keeper keeper(waits());
    begun(keeper);
    keeper.match("b", 0, 1);
    keeper.match("b", 0, 2);
    EXPECT_EQ(keeper.changes, 0U);
    EXPECT_NE(keeper.step("b").signals.find("\"seq\":1,"), std::string::npos);
    keeper.match("b", 5, 3); // there is none with that number
    EXPECT_EQ(keeper.changes, 0U);
}

TEST(Engine_7_4, AMatchIsKeptForTheNextAttempt) {
    Keeper keeper(waits(R"(, "retry_policy": {"error_retry_limit": 1})"));
    begun(keeper);
    const KeptEvent first = keeper.of_match("b", 0, 1);
    keeper.send({first, keeper.of_match("b", 1, 2)});
    keeper.waits.clear();
    keeper.fail("b");
    ASSERT_TRUE(keeper.wait());
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING");
    EXPECT_EQ(keeper.step("b").step.attempt, 2);
    EXPECT_TRUE(keeper.waits.empty());
    keeper.send(first); // of the attempt before
    EXPECT_EQ(keeper.changes, 0U);
}

TEST(Engine_7_4, ARestartWaitsOnlyForWhatHasNotMatched) {
    Keeper keeper(waits());
    begun(keeper);
    keeper.match("b", 1, 2);
    keeper.act(EventKind::stop, "b");
    EXPECT_EQ(keeper.status(), "STOPPED");
    keeper.waits.clear();
    keeper.restart();
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b WAITING_FOR_SIGNALS");
    EXPECT_EQ((keeper.waits.at({1, "b"}).attempt), 2);
    EXPECT_EQ((keeper.waits.at({1, "b"}).signals),
              R"([{"number":0,"signal":"orders","match":{"table":"t","day":{">=":5}}}])");
    keeper.match("b", 0, 3);
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING");
}

TEST(Engine_7_4, TheParametersOfAMatchCanBeRead) {
    Keeper keeper(waits(with_params(R"x("found": {"type": "LONG",
                             "expression": "params.getFromSignalDependency('0', 'day')"})x")));
    begun(keeper);
    keeper.send({keeper.of_match("b", 0, 1, R"({"day": 6})"), keeper.of_match("b", 1, 2)});
    EXPECT_EQ(eval("found", keeper.step("b").params), "6");
}

TEST(Engine_7_4, AParameterThatNoMatchHasFailsTheStep) {
    for (const std::string place : {"'0', 'other'", "'7', 'day'", "'x', 'day'", "'-1', 'day'"}) {
        Keeper keeper(waits(with_params(
            R"x("found": {"type": "LONG", "expression": "params.getFromSignalDependency()x" + place + R"x()"})x")));
        begun(keeper);
        keeper.send({keeper.of_match("b", 0, 1, R"({"day": 6})"), keeper.of_match("b", 1, 2)});
        EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b FATALLY_FAILED") << place;
    }
}

TEST(Engine_7_4, ADependencyThatCannotBeEvaluatedFailsTheStep) {
    Keeper keeper(waits("", R"("expression": "1 / 0")"));
    begun(keeper);
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b FATALLY_FAILED");
    EXPECT_EQ(keeper.status(), "FAILED");
    EXPECT_TRUE(keeper.waits.empty());
    Keeper ignoring(waits(R"(, "failure_mode": "IGNORE_FAILURE")", R"("expression": "1 / 0")"));
    begun(ignoring);
    EXPECT_EQ(ignoring.steps(), "a SUCCEEDED, b COMPLETED_WITH_ERROR, c RUNNING");
}

// The parameters of the step itself are evaluated after it has waited.
TEST(Engine_7_4, OwnParametersAreNotSeen) {
    Keeper keeper(waits(with_params(R"("mine": {"type": "LONG", "value": 1})"), R"("expression": "mine")"));
    begun(keeper);
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b FATALLY_FAILED");
}

TEST(Engine_7_4, IterationsSeeTheirLoopParameters) {
    Keeper keeper(with_steps(
        loop_over("loop", up_to("i", 2), job("x", "{}", R"(, "signal_dependencies": [{"name": "s", "match_params": {
                                               "i": {"param": {"type": "LONG", "expression": "i"}}}}])"))));
    keeper.start();
    EXPECT_EQ(keeper.steps("loop/2"), "x WAITING_FOR_SIGNALS");
    const auto scope = keeper.scope_of("loop/2").id;
    EXPECT_EQ((keeper.waits.at({scope, "x"}).signals), R"([{"number":0,"signal":"s","match":{"i":2}}])");
    keeper.match("loop/2/x", 0, 1);
    EXPECT_EQ(keeper.steps("loop/2"), "x RUNNING");
    EXPECT_EQ(keeper.steps("loop/1"), "x WAITING_FOR_SIGNALS");
}

TEST(Engine_7_4, SignalsThatMayNotBeWaitedForFailTheStep) {
    Keeper keeper(waits());
    begun(keeper);
    keeper.send({EventKind::signals_refused, 1, "b", 1, R"({"message": "no"})"});
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b FATALLY_FAILED");
    EXPECT_EQ(keeper.step("b").error, R"({"message": "no"})");
}

TEST(Engine_7_4, APausedWorkflowHoldsWhatHasMatched) {
    Keeper keeper(waits());
    begun(keeper);
    keeper.holds = {{}};
    keeper.send({keeper.of_match("b", 0, 1), keeper.of_match("b", 1, 2)});
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b WAITING_FOR_SIGNALS");
    keeper.holds = {};
    keeper.act(EventKind::unpaused, "b");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING");
}

TEST(Engine_14, AStepThatWaitsCanGoOnWithoutItsSignals) {
    Keeper keeper(waits());
    begun(keeper);
    keeper.match("b", 1, 2);
    keeper.act(EventKind::bypass, "b");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING");
    EXPECT_EQ(
        keeper.step("b").signals,
        R"([{"status":"SKIPPED","signal":"orders","match":{"table":"t","day":{">=":5}},"since":1780000000000},)"
        R"({"status":"MATCHED","signal":"prices","match":{},"since":1780000000000,"seq":2,"params":{},"sent":"now"}])");
    keeper.act(EventKind::bypass, "b"); // only while it waits
    EXPECT_EQ(keeper.changes, 0U);
    keeper.act(EventKind::kill, "b");
    keeper.restart();
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING");
}

TEST(Engine_14, AStepThatWaitsForSignalsCanBeStoppedKilledAndSkipped) {
    const std::array<std::pair<EventKind, std::string>, 3> cases{
        {{EventKind::stop, "a SUCCEEDED, b STOPPED"},
         {EventKind::kill, "a SUCCEEDED, b FATALLY_FAILED"},
         {EventKind::skip, "a SUCCEEDED, b SKIPPED, c RUNNING"}}};
    for (const auto &[kind, steps] : cases) {
        Keeper keeper(waits());
        begun(keeper);
        const KeptEvent late = keeper.of_match("b", 0, 1);
        keeper.act(kind, "b");
        EXPECT_EQ(keeper.steps(), steps);
        keeper.send(late);
        EXPECT_EQ(keeper.changes, 0U);
        EXPECT_EQ(keeper.steps(), steps);
    }
}

} // namespace
} // namespace test_engine_dependencies
