// What a turn of a run leaves for the next one, because its time is used up or an expression takes long.
#include <gtest/gtest.h>

#include "engine.h"

namespace test_engine_turns {
namespace {

using namespace engine_test;
using workflow::Rest;

// How many turns the run takes until nobody waits.
int turns_of(Keeper &keeper) {
    keeper.start();
    int turns = 1;
    while (keeper.rest != Rest::none && turns < 1'000) {
        keeper.wait();
        turns++;
    }
    return turns;
}

const std::string k_no_ops = with_steps(
    job("a", R"({"b": "x > 0", "c": "x < 0"})", with_params(R"("x": {"type": "LONG", "expression": "1 + 1"})"),
        "NoOp") +
    "," + job("b", R"({"l": "true"})", "", "NoOp") + "," + job("c", R"({"l": "true"})", "", "NoOp") + "," +
    loop_over("l", up_to("i", 7), job("s", R"({"t": "i > 3"})", "", "NoOp") + "," + job("t", "{}", "", "NoOp")));

TEST(EngineTurns, ATurnEvaluatesOnlyWhatItHasTimeFor) {
    Keeper all(k_no_ops);
    EXPECT_EQ(turns_of(all), 1);
    EXPECT_EQ(all.status(), "SUCCEEDED");
    for (const int pieces : {1, 2, 3, 7}) {
        Keeper keeper(k_no_ops);
        keeper.pieces = pieces;
        const int turns = turns_of(keeper);
        EXPECT_GT(turns, 20 / pieces) << pieces;
        EXPECT_LT(turns, 40) << pieces;
        EXPECT_EQ(keeper.status(), "SUCCEEDED") << pieces;
        EXPECT_EQ(keeper.steps(), all.steps()) << pieces;
        for (int i = 1; i <= 7; i++)
            EXPECT_EQ(keeper.steps("l/" + std::to_string(i)), all.steps("l/" + std::to_string(i))) << pieces;
        EXPECT_EQ(keeper.step("l").rollup, all.step("l").rollup) << pieces;
    }
}

TEST(EngineTurns, ALoopBeginsNoMoreIterationsThanItHasTimeFor) {
    Keeper keeper(with_steps(loop_over("l", up_to("i", 400), job("s", "{}", "", "NoOp"), R"(, "concurrency": 400)")));
    keeper.pieces = 5;
    keeper.start();
    EXPECT_LE(keeper.scopes.size(), 30U);
    EXPECT_EQ(keeper.rest, Rest::some);
}

TEST(EngineTurns, WhatTakesLongIsLeftUndone) {
    Keeper keeper(with_steps(
        job("a", "{}",
            with_params(
                R"("x": {"type": "LONG", "expression": "n = 0; for (int i = 0; i < 20000; i += 1) { n += i; } n"})"),
            "NoOp") +
        "," + job("b")));
    keeper.world.steady_step = 1;
    keeper.limits.patience = 10;
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a EVALUATING_PARAMS, b RUNNING");
    EXPECT_EQ(keeper.rest, Rest::slow);
    EXPECT_EQ(keeper.step("a").step.due, workflow::k_next_turn);
    keeper.wait();
    EXPECT_EQ(keeper.steps(), "a EVALUATING_PARAMS, b RUNNING") << "and so again";
    keeper.limits.patience = sel::Limits{}.patience;
    keeper.wait();
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING");
    EXPECT_EQ(keeper.rest, Rest::none);
}

TEST(EngineTurns, ALongConditionToo) {
    Keeper keeper(
        with_steps(job("a", R"({"b": "n = 0; for (int i = 0; i < 20000; i += 1) { n += i; } n > 0"})", "", "NoOp") +
                   "," + job("b")));
    keeper.world.steady_step = 1;
    keeper.limits.patience = 10;
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a FINISHING");
    EXPECT_EQ(keeper.rest, Rest::slow);
    keeper.limits.patience = sel::Limits{}.patience;
    keeper.wait();
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING");
}

// However many of its conditions take long, a step gets on.
TEST(EngineTurns, TheConditionsOfAStepAreEvaluatedInSeveralTurns) {
    std::string next = "{";
    std::string steps;
    for (int i = 0; i < 9; i++) {
        next += (i == 0 ? "\"b" : ", \"b") + std::to_string(i) + "\": \"1 + " + std::to_string(i) + " > 4\"";
        steps += "," + job("b" + std::to_string(i), "{}", "", "NoOp");
    }
    for (const std::string_view mode :
         {"", R"(, "failure_mode": "IGNORE_FAILURE", "params": {"x": {"type": "LONG", "expression": "1 / 0"}})"}) {
        Keeper all(with_steps(job("a", next + "}", mode, "NoOp") + steps));
        all.start();
        Keeper keeper(with_steps(job("a", next + "}", mode, "NoOp") + steps));
        keeper.pieces = 1;
        EXPECT_GT(turns_of(keeper), 9);
        EXPECT_EQ(keeper.steps(), all.steps());
        EXPECT_EQ(keeper.status(), all.status());
    }
}

TEST(EngineTurns, TheOwnLimitOfAnExpressionStays) {
    Keeper keeper(with_steps(
        job("a", "{}",
            with_params(
                R"("x": {"type": "LONG", "expression": "n = 0; for (int i = 0; i < 20000; i += 1) { n += i; } n"})"),
            "NoOp")));
    keeper.world.steady_step = 1;
    keeper.limits.milliseconds = 10;
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED");
    EXPECT_NE(keeper.step("a").error.find("takes longer than 10 milliseconds"), std::string::npos);
}

TEST(EngineTurns, AKillNeedsNoTime) {
    Keeper keeper(with_steps(loop_over("l", up_to("i", 100), job("s", "{}", "", "NoOp"))));
    keeper.pieces = 1;
    keeper.start();
    keeper.pieces = 0;
    keeper.act(EventKind::kill, "");
    EXPECT_EQ(keeper.status(), "FAILED");
    EXPECT_EQ(keeper.rest, Rest::none);
}

// A turn can leave a rest and put events back: neither is lost.
TEST(EngineTurns, WhatIsLeftAndWhatIsPutBackBothComeAgain) {
    Keeper keeper(with_steps(job("a") + "," + job("c", R"({"d": "1 + 1 == 2"})") + "," + job("d")));
    keeper.start();
    keeper.held = {{1, "a"}};
    keeper.pieces = 0;
    keeper.send(std::vector{keeper.of_task(EventKind::task_completed, "c"), KeptEvent{EventKind::kill, 1, "a", 0, {}}});
    EXPECT_EQ(keeper.steps(), "a RUNNING, c FINISHING");
    EXPECT_EQ(keeper.rest, Rest::some);
    EXPECT_EQ(keeper.put_back.size(), 1U);
    keeper.pieces = -1;
    keeper.wait();
    EXPECT_EQ(keeper.steps().substr(0, 22), "a RUNNING, c SUCCEEDED");
    EXPECT_EQ(keeper.rest, Rest::none);
    EXPECT_EQ(keeper.put_back.size(), 1U);
    keeper.held.clear();
    keeper.send(std::vector<KeptEvent>{});
    EXPECT_EQ(keeper.steps().substr(0, 29), "a FATALLY_FAILED, c SUCCEEDED");
    EXPECT_TRUE(keeper.put_back.empty());
}

// A step whose conditions are left has done its work: the stop comes after them, and nothing new begins.
TEST(EngineTurns, AStopWaitsForAStepThatHasDoneItsWork) {
    Keeper keeper(with_steps(job("a") + "," + job("c", R"({"d": "1 + 1 == 2"})") + "," + job("d")));
    keeper.start();
    keeper.pieces = 0;
    keeper.send(std::vector{keeper.of_task(EventKind::task_completed, "c"), KeptEvent{EventKind::stop, 1, {}, 0, {}}});
    EXPECT_EQ(keeper.steps(), "a STOPPED, c FINISHING");
    EXPECT_EQ(keeper.rest, Rest::some);
    EXPECT_EQ(keeper.put_back.size(), 1U);
    keeper.pieces = -1;
    keeper.wait();
    keeper.send(std::vector<KeptEvent>{});
    EXPECT_EQ(keeper.steps().substr(0, 22), "a STOPPED, c SUCCEEDED");
    EXPECT_EQ(keeper.open(), "");
    EXPECT_EQ(keeper.status(), "STOPPED");
}

// A turn that ends a step may have no time for the signals of its result, and none for its conditions after them.
TEST(EngineTurns, SignalsOfAResultAreKeptAndSentOnce) {
    Keeper keeper(with_steps(job("a", R"({"b": "1 + 1 == 2"})") + "," + job("b")));
    keeper.start();
    keeper.pieces = 0;
    keeper.complete(
        "a",
        R"({"artifacts": {"maestro_dynamic_output": {"signal_outputs": [{"name": "db/t", "params": {"k": 1}}]}}})");
    EXPECT_EQ(keeper.steps(), "a FINISHING");
    keeper.pieces = 1;
    keeper.wait();
    EXPECT_EQ(keeper.steps(), "a FINISHING");
    EXPECT_EQ(keeper.announced.size(), 1U);
    EXPECT_EQ(keeper.rest, Rest::none) << "it waits for its signals to be sent";
    keeper.pieces = 0;
    keeper.act(EventKind::signals_sent, "a");
    EXPECT_EQ(keeper.steps(), "a FINISHING");
    EXPECT_EQ(keeper.rest, Rest::some);
    keeper.pieces = 1;
    keeper.wait();
    EXPECT_EQ(keeper.announced.size(), 1U) << "not once more";
    keeper.pieces = -1;
    keeper.wait();
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING");
}

} // namespace
} // namespace test_engine_turns
