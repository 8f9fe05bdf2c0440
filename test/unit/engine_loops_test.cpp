// Loops and subworkflows in runs (Maestro, sections 5.2 to 5.4), and what of their parameters can be read (4.6, 4.7).
#include <gtest/gtest.h>

#include "engine.h"

namespace test_engine_loops {
namespace {

using namespace engine_test;

std::string param_of(Keeper &keeper, std::string_view path, std::string_view name) {
    return eval("params['" + std::string(name) + "']", keeper.step(path).params);
}
std::string member(std::string_view json, std::string_view name) {
    return eval("params['" + std::string(name) + "']", json);
}

std::string while_loop(std::string_view condition, std::string_view loop, std::string_view steps,
                       std::string_view more = "", std::string_view next = "{}") {
    return R"({"while": {"id": "w", "condition": ")" + std::string(condition) +
           R"(", "params": {"loop_params": {"type": "MAP", "value": {)" + std::string(loop) +
           R"(}}}, "transition": {"successors": )" + std::string(next) + R"(}, "steps": [)" + std::string(steps) + "]" +
           std::string(more) + "}}";
}
std::string sub(std::string_view more = "", std::string_view params = "") {
    return R"({"subworkflow": {"id": "s", "transition": {"successors": {"b": "true"}}, "params": {"subworkflow_id":
              {"type": "STRING", "value": "other"})" +
           std::string(params) + "}" + std::string(more) + "}}," + job("b");
}

// ---- 5.2: foreach --------------------------------------------------------------------------------------------------

TEST(Engine_5_2, TheFirstParameterChangesFastest) {
    Keeper keeper(
        with_steps(loop_over("l", R"("i": {"type": "LONG_ARRAY", "value": [1, 2, 3]},
                                            "j": {"type": "STRING_ARRAY", "value": ["a", "b"]})",
                             job("a", "{}", with_params(R"("t": {"type": "STRING", "value": "$i$j$loop_index"})")))));
    keeper.start();
    std::string all;
    for (int number = 1; number <= 6; number++)
        all += member(keeper.step("l/" + std::to_string(number) + "/a").params, "t") + " ";
    EXPECT_EQ(all, R"("1a0" "2a1" "3a2" "1b3" "2b4" "3b5" )");
    EXPECT_EQ(keeper.scope_of("l/4").params, R"({"i":1,"j":"b","loop_index":3})");
    EXPECT_EQ(member(keeper.tasks.begin()->second.spec, "iteration"), "[1]");
}

TEST(Foreach, LoopOrderTellsWhichParameterChangesFastest) {
    Keeper keeper(with_steps(loop_over("l", R"("i": {"type": "LONG_ARRAY", "value": [1, 2]},
        "j": {"type": "STRING_ARRAY", "value": ["a", "b", "c"]})",
                                       job("a", "{}", with_params(R"("t": {"type": "STRING", "value": "$i$j"})")),
                                       R"(, "loop_order": ["j", "i"])")));
    keeper.start();
    std::string all;
    for (int number = 1; number <= 6; number++)
        all += member(keeper.step("l/" + std::to_string(number) + "/a").params, "t") + " ";
    EXPECT_EQ(all, R"("1a" "1b" "1c" "2a" "2b" "2c" )");
}

TEST(Engine_5_2, AJoinAfterAllIterations) {
    Keeper keeper(with_steps(
        loop_over("l", up_to("i", 3), job("a", R"({"b": "i != 2"})") + "," + job("b"), "", R"({"e": "true"})") + "," +
        job("e")));
    keeper.start();
    EXPECT_EQ(keeper.steps(), "l RUNNING");
    EXPECT_EQ(keeper.open(), "l/1/a, l/2/a, l/3/a");
    keeper.complete("l/2/a");
    EXPECT_EQ(keeper.status("l/2"), "SUCCEEDED");
    EXPECT_EQ(keeper.steps("l/2"), "a SUCCEEDED, b UNSATISFIED");
    EXPECT_EQ(keeper.step("l").loop, R"({"total":3,"next":4,"succeeded":1,"failed":0,"stopped":0,"timed_out":0})");
    keeper.send(
        {keeper.of_task(EventKind::task_completed, "l/1/a"), keeper.of_task(EventKind::task_completed, "l/3/a")});
    keeper.complete("l/3/b");
    EXPECT_EQ(keeper.steps(), "l RUNNING");
    keeper.complete("l/1/b");
    EXPECT_EQ(keeper.steps(), "e RUNNING, l SUCCEEDED");
}

TEST(Engine_5_2, NoIterationsAtAll) {
    for (const std::string_view loop :
         {R"("i": {"type": "LONG_ARRAY", "value": []})",
          R"("i": {"type": "LONG_ARRAY", "value": [1]}, "j": {"type": "LONG_ARRAY", "value": []})", ""}) {
        Keeper keeper(with_steps(loop_over("l", loop, job("a"))));
        keeper.start();
        EXPECT_EQ(keeper.steps(), "l SUCCEEDED") << loop;
        EXPECT_EQ(keeper.status(), "SUCCEEDED");
        EXPECT_EQ(keeper.scopes.size(), 1U);
    }
}

TEST(Engine_5_2, NotMoreIterationsThanPossible) {
    Keeper most(with_steps(loop_over("l", up_to("i", 250) + "," + up_to("j", 100), job("a"))));
    most.start();
    EXPECT_EQ(most.steps(), "l RUNNING");
    Keeper keeper(with_steps(loop_over("l", up_to("i", 25'000) + "," + up_to("j", 2), job("a"))));
    keeper.start();
    EXPECT_EQ(keeper.steps(), "l FATALLY_FAILED");
    EXPECT_EQ(member(keeper.step("l").error, "message"),
              R"("loop_params: a foreach can have at most 25000 iterations")");
}

// ---- concurrency

TEST(Engine_5_2, ConcurrencyIsThatOfTheStepAndOfTheWorkflow) {
    const auto count = [](std::string_view of_step, std::string_view of_workflow, std::string_view properties) {
        Keeper keeper(with_steps(loop_over("l", up_to("i", 1'000), job("a"), of_step), of_workflow));
        keeper.name().properties = properties;
        keeper.start();
        EXPECT_EQ(keeper.tasks.size(), keeper.new_scopes);
        return keeper.new_scopes;
    };
    EXPECT_EQ(count("", "", ""), 20U);
    EXPECT_EQ(count(R"(, "concurrency": 5)", "", ""), 5U);
    EXPECT_EQ(count(R"(, "concurrency": 100)", "", ""), 100U);
    EXPECT_EQ(count(R"(, "concurrency": 21)", "", R"({"owner": "ada"})"), 21U);
    EXPECT_EQ(count(R"(, "concurrency": 500)", "", ""), 500U);
    EXPECT_EQ(count(R"(, "concurrency": 100)", "", R"({"step_concurrency": 30})"), 30U);
    EXPECT_EQ(count(R"(, "concurrency": 100)", R"(, "instance_step_concurrency": 60)", R"({"step_concurrency": 30})"),
              60U);
    EXPECT_EQ(count("", "", R"({"step_concurrency": 30})"), 30U);
    EXPECT_EQ(count(R"(, "concurrency": 500)", "", R"({"step_concurrency": 1000})"), 500U);
    EXPECT_EQ(count("", R"(, "instance_step_concurrency": 7)", R"({"step_concurrency": 30})"), 7U);
    EXPECT_EQ(count("", "", R"({"step_concurrency": null})"), 20U);
}

TEST(Engine_5_2, AsManyRunAsMay) {
    Keeper keeper(with_steps(loop_over("l", up_to("i", 10), job("a"), R"(, "concurrency": 3)")));
    keeper.start();
    EXPECT_EQ(keeper.open(), "l/1/a, l/2/a, l/3/a");
    keeper.complete("l/3/a");
    keeper.complete("l/2/a");
    EXPECT_EQ(keeper.open(), "l/1/a, l/4/a, l/5/a");
    while (!keeper.tasks.empty()) {
        keeper.complete(keeper.path_of(keeper.tasks.rbegin()->first.first) + "a");
        EXPECT_LE(keeper.running_iterations("l"), 3U);
    }
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
    EXPECT_EQ(keeper.scopes.size(), 11U);
}

TEST(Engine_5_2, StrictOrderingIsAWindow) {
    Keeper keeper(
        with_steps(loop_over("l", up_to("i", 8), job("a"), R"(, "concurrency": 3, "strict_ordering": true)")));
    keeper.start();
    keeper.complete("l/3/a");
    keeper.complete("l/2/a");
    EXPECT_EQ(keeper.open(), "l/1/a");
    EXPECT_NE(keeper.step("l").loop.find(R"("first":1,"ahead":[2,3])"), std::string::npos);
    keeper.complete("l/1/a");
    EXPECT_EQ(keeper.open(), "l/4/a, l/5/a, l/6/a");
    EXPECT_NE(keeper.step("l").loop.find(R"("first":4,"ahead":[])"), std::string::npos);
    keeper.complete("l/4/a");
    EXPECT_EQ(keeper.open(), "l/5/a, l/6/a, l/7/a");
}

TEST(Engine_5_2, ATurnDoesNotBeginMoreThan500) {
    Keeper keeper(with_steps(loop_over("l", up_to("i", 1'300), job("a", "{}", "", "NoOp"), "", R"({"e": "true"})") +
                             "," + job("e")));
    keeper.start();
    EXPECT_EQ(keeper.new_scopes, 500U);
    EXPECT_EQ(keeper.step("l").step.due, workflow::k_next_turn);
    keeper.wait();
    EXPECT_EQ(keeper.new_scopes, 500U);
    keeper.wait();
    EXPECT_EQ(keeper.new_scopes, 300U);
    EXPECT_EQ(keeper.steps(), "e RUNNING, l SUCCEEDED");
}

TEST(Engine_5_2, ATurnThatHasMadeMuchLeavesTheRest) {
    Keeper keeper(with_steps(loop_over("l", up_to("i", 100),
                                       job("a", "{}", with_params(R"("x": {"type": "STRING", "value": "$big"})")),
                                       R"(, "concurrency": 100)")),
                  R"({"big": ")" + std::string(400'000, 'x') + "\"}");
    keeper.name().properties = R"({"step_concurrency": 100})";
    keeper.start();
    EXPECT_LT(keeper.new_scopes, 100U);
    for (int turns = 0; turns < 50 && keeper.step("l").step.due != 0; turns++)
        keeper.wait();
    EXPECT_EQ(keeper.tasks.size(), 100U);
}

// ---- failures

TEST(Engine_5_2, AFailureLetsNoMoreIterationsBegin) {
    for (const std::string_view mode : {"FAIL_AFTER_RUNNING", "IGNORE_FAILURE"}) {
        Keeper keeper(with_steps(loop_over("l", up_to("i", 10), job("a"),
                                           R"(, "concurrency": 3, "failure_mode": ")" + std::string(mode) + "\"",
                                           R"({"e": "true"})") +
                                 "," + job("e")));
        keeper.start();
        keeper.task(EventKind::task_aborted, "l/2/a");
        EXPECT_EQ(keeper.status("l/2"), "FAILED");
        EXPECT_EQ(keeper.open(), "l/1/a, l/3/a");
        keeper.complete("l/1/a");
        keeper.complete("l/3/a");
        EXPECT_EQ(keeper.scopes.size(), 4U);
        EXPECT_EQ(keeper.steps(), mode == "IGNORE_FAILURE" ? "e RUNNING, l COMPLETED_WITH_ERROR" : "l FATALLY_FAILED");
        EXPECT_EQ(member(keeper.step("l").error, "message"), R"("1 iteration has failed")");
        EXPECT_TRUE(keeper.cancelled.empty());
    }
}

TEST(Engine_5_2, AFailureThatStopsAllOthers) {
    Keeper keeper(with_steps(loop_over("l", up_to("i", 10), job("a", R"({"b": "true"})") + "," + job("b"),
                                       R"(, "concurrency": 3, "failure_mode": "FAIL_IMMEDIATELY")") +
                             "," + job("other")));
    keeper.start();
    keeper.complete("l/1/a");
    keeper.task(EventKind::task_aborted, "l/2/a");
    EXPECT_EQ(keeper.steps(), "l FATALLY_FAILED, other STOPPED");
    EXPECT_EQ(keeper.status(), "FAILED");
    EXPECT_EQ(keeper.status("l/1"), "STOPPED");
    EXPECT_EQ(keeper.steps("l/1"), "a SUCCEEDED, b STOPPED");
    EXPECT_EQ(keeper.steps("l/3"), "a STOPPED");
    EXPECT_EQ(keeper.open(), "");
}

TEST(Engine_5_2, InnerStepsObeyTheirOwnFailureModes) {
    Keeper keeper(with_steps(
        loop_over("l", up_to("i", 2), job("a", "{}", R"(, "failure_mode": "FAIL_IMMEDIATELY")") + "," + job("b"))));
    keeper.start();
    keeper.task(EventKind::task_aborted, "l/1/a");
    EXPECT_EQ(keeper.steps("l/1"), "a FATALLY_FAILED, b STOPPED");
    EXPECT_EQ(keeper.open(), "l/2/a, l/2/b");
    EXPECT_EQ(keeper.status(), "IN_PROGRESS");
}

TEST(Engine_5_2, StoppedOrTimedOutIterationsDoNotHoldUpOthers) {
    Keeper keeper(
        with_steps(loop_over("l", up_to("i", 3), job("a", "{}", R"(, "timeout": 60)"), R"(, "concurrency": 1)")));
    keeper.start();
    keeper.act(EventKind::stop, "l/1/a");
    EXPECT_EQ(keeper.status("l/1"), "STOPPED");
    EXPECT_EQ(keeper.open(), "l/2/a");
    keeper.wait();
    EXPECT_EQ(keeper.status("l/2"), "TIMED_OUT");
    keeper.complete("l/3/a");
    EXPECT_EQ(keeper.steps(), "l TIMED_OUT");
    EXPECT_EQ(keeper.status(), "TIMED_OUT");
}

TEST(Engine_5_2, RetriesInsideOfAnIteration) {
    Keeper keeper(with_steps(loop_over("l", up_to("i", 2), job("a"))));
    keeper.start();
    keeper.fail("l/1/a");
    keeper.complete("l/2/a");
    EXPECT_EQ(keeper.steps(), "l RUNNING");
    keeper.wait();
    keeper.complete("l/1/a");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(Engine_5_2, ATimeoutOfALoopStopsWhatIsInside) {
    Keeper keeper(with_steps(loop_over("l", up_to("i", 2), job("a"), R"(, "timeout": "1 min")")));
    keeper.start();
    keeper.complete("l/1/a");
    EXPECT_EQ(keeper.step("l").step.due, keeper.world.now + 60'000);
    keeper.wait();
    EXPECT_EQ(keeper.steps(), "l TIMED_OUT");
    EXPECT_EQ(keeper.steps("l/2"), "a STOPPED");
    EXPECT_EQ(keeper.open(), "");
}

TEST(Engine_14, WhatStopsALoopStopsWhatIsInsideOfIt) {
    for (const bool of_run : {false, true}) {
        for (const bool kill : {false, true}) {
            Keeper keeper(with_steps(
                loop_over("l", up_to("i", 2),
                          loop_over("m", up_to("j", 2), job("a", "{}", R"(, "failure_mode": "IGNORE_FAILURE")")))));
            keeper.start();
            keeper.fail("l/2/m/1/a");
            EXPECT_EQ(keeper.open(), "l/1/m/1/a, l/1/m/2/a, l/2/m/2/a");
            keeper.act(kill ? EventKind::kill : EventKind::stop, of_run ? "" : "l");
            EXPECT_EQ(keeper.steps(), kill ? "l FATALLY_FAILED" : "l STOPPED");
            EXPECT_EQ(keeper.status(), kill ? "FAILED" : "STOPPED");
            EXPECT_EQ(keeper.steps("l/1"), "m STOPPED");
            EXPECT_EQ(keeper.steps("l/2/m/1"), "a STOPPED");
            EXPECT_EQ(keeper.status("l/2/m/1"), "STOPPED");
            EXPECT_EQ(keeper.open(), "");
        }
    }
}

// ---- nesting and parameters

TEST(Engine_5_2, IterationsReadWhatIsAroundThem) {
    Keeper keeper(with_steps(
        job("first", R"({"l": "true"})", with_params(R"("p": {"type": "LONG", "value": 1})"), "NoOp") + "," +
            loop_over(
                "l", up_to("i", 2),
                job("x", R"({"m": "true"})", with_params(R"("q": {"type": "LONG", "expression": "i * 10"})"), "NoOp") +
                    "," +
                    loop_over(
                        "m", up_to("j", 2),
                        job("a", "{}",
                            with_params(
                                R"("t": {"type": "STRING", "value": "$run $of_l $of_m $i $j $x__q $first__p $loop_index"})")),
                        "", "{}", R"(, "of_m": {"type": "STRING", "value": "m$i"})"),
                "", "{}", R"(, "of_l": {"type": "STRING", "value": "l"})"),
        with_params(R"("run": {"type": "STRING", "value": "r"})")));
    keeper.start();
    EXPECT_EQ(param_of(keeper, "l/2/m/1/a", "t"), R"("r l m2 2 1 20 1 0")");
    EXPECT_EQ(param_of(keeper, "l/1/m/2/a", "t"), R"("r l m1 1 2 10 1 1")");
    EXPECT_EQ(member(keeper.tasks.rbegin()->second.spec, "iteration"), "[2,2]");
    EXPECT_EQ(keeper.steps(), "first SUCCEEDED, l RUNNING");
    while (!keeper.tasks.empty())
        keeper.complete(keeper.path_of(keeper.tasks.begin()->first.first) + "a");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(Engine_5_2, IterationsDoNotReadWhatOnlyTheLoopHas) {
    Keeper keeper(with_steps(loop_over(
        "l", up_to("i", 1), job("a", "{}", with_params(R"("x": {"type": "STRING", "value": "$loop_params"})")))));
    keeper.start();
    EXPECT_EQ(keeper.steps("l/1"), "a FATALLY_FAILED");
}

TEST(Engine_4_7, GetFromForeachReadsAllIterations) {
    Keeper keeper(with_steps(
        loop_over("l", up_to("i", 3), job("a", "{}", with_params(R"("x": {"type": "LONG", "expression": "i * i"})")),
                  "", R"({"e": "params.getFromForeach('l', 'a', 'x').length == 3"})") +
        "," +
        job("e", "{}",
            with_params(R"x("all": {"type": "LONG_ARRAY", "expression": "params.getFromForeach('l', 'a', 'x')"})x"))));
    keeper.start();
    keeper.complete("l/2/a");
    keeper.complete("l/3/a");
    EXPECT_TRUE(keeper.asked.empty());
    keeper.complete("l/1/a", R"({"params": {"x": 10}})");
    // The last iteration is written with this turn: the loop goes on in the next one.
    EXPECT_EQ(keeper.steps(), "l FINISHING");
    EXPECT_TRUE(keeper.wait());
    EXPECT_EQ(keeper.steps(), "e RUNNING, l SUCCEEDED");
    EXPECT_EQ(param_of(keeper, "e", "all"), "[10,4,9]");
    EXPECT_EQ(keeper.asked, std::vector<std::string>{"l.a.x"});
}

TEST(Engine_4_7, AStepWaitsForWhatThisTurnWrites) {
    Keeper keeper(with_steps(
        loop_over("l", up_to("i", 2),
                  job("a", "{}", with_params(R"("x": {"type": "LONG", "expression": "i"})"), "NoOp"), "",
                  R"({"e": "true"})") +
        "," +
        job("e", "{}",
            with_params(R"x("all": {"type": "LONG_ARRAY", "expression": "params.getFromForeach('l', 'a', 'x')"})x"))));
    keeper.start();
    EXPECT_EQ(keeper.steps(), "e EVALUATING_PARAMS, l SUCCEEDED");
    EXPECT_EQ(keeper.status(), "IN_PROGRESS");
    EXPECT_TRUE(keeper.asked.empty());
    EXPECT_TRUE(keeper.wait());
    EXPECT_EQ(param_of(keeper, "e", "all"), "[1,2]");
    keeper.complete("e");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(Engine_4_7, GetFromForeachThatHasNothing) {
    for (const std::string_view call : {"'nope', 'a', 'x'", "'l', 'nope', 'x'", "'l', 'a', 'nope'", "'e', 'a', 'x'"}) {
        Keeper keeper(with_steps(
            loop_over("l", up_to("i", 2),
                      job("a", R"x({"b": "i == 1"})x", with_params(R"("x": {"type": "LONG", "value": 1})"), "NoOp") +
                          "," + job("b", "{}", with_params(R"("x": {"type": "LONG", "value": 1})"), "NoOp"),
                      "", R"({"e": "true"})") +
            "," +
            job("e", "{}",
                with_params(R"("all": {"type": "LONG_ARRAY", "expression": "params.getFromForeach()" +
                            std::string(call) + R"x()"})x"))));
        keeper.start();
        while (keeper.step("l").step.due != 0 || (keeper.has("e") && keeper.step("e").step.due != 0))
            keeper.wait();
        EXPECT_EQ(keeper.steps(), "e FATALLY_FAILED, l SUCCEEDED") << call;
        EXPECT_NE(keeper.step("e").error.find("getFromForeach() found nothing for"), std::string::npos)
            << keeper.step("e").error;
    }
}

TEST(Engine_4_7, GetFromForeachOfAStepThatOnlySomeIterationsRan) {
    const auto values = [](std::string_view type, std::string_view value, std::string_view condition = "i != 2") {
        Keeper keeper(
            with_steps(loop_over("l", up_to("i", 3),
                                 job("a", R"({"b": ")" + std::string(condition) + "\"}", "", "NoOp") + "," +
                                     job("b", "{}",
                                         with_params(R"("x": {"type": ")" + std::string(type) +
                                                     R"(", "expression": ")" + std::string(value) + "\"}"),
                                         "NoOp"),
                                 "", R"({"e": "true"})") +
                       "," +
                       job("e", "{}",
                           with_params(R"("all": {"type": ")" + std::string(type) +
                                       R"x(_ARRAY", "expression": "params.getFromForeach('l', 'b', 'x')"})x"))));
        keeper.start();
        while (keeper.step("l").step.due != 0 || (keeper.has("e") && keeper.step("e").step.due != 0))
            keeper.wait();
        return param_of(keeper, "e", "all");
    };
    EXPECT_EQ(values("LONG", "i * 10"), "[10,0,30]");
    EXPECT_EQ(values("DOUBLE", "i / 2.0"), "[0.5,0.0,1.5]");
    EXPECT_EQ(values("BOOLEAN", "i > 0"), "[true,false,true]");
    EXPECT_EQ(values("STRING", "'n' + i"), R"(["n1",null,"n3"])");
    EXPECT_EQ(values("LONG", "i", "false"), "[0,0,0]");
    EXPECT_EQ(values("STRING", "'n' + i", "i == 3"), R"([null,null,"n3"])");
}

// ---- 5.3: while ----------------------------------------------------------------------------------------------------

constexpr std::string_view k_count = R"("i": {"type": "LONG", "value": 1})";
constexpr std::string_view k_more = R"("i": {"type": "LONG", "expression": "i + 1"})";

TEST(Engine_5_3, OneIterationAfterTheOther) {
    Keeper keeper(with_steps(while_loop("i <= 3 && loop_index < 10", k_count, job("a", "{}", with_params(k_more)), "",
                                        R"x({"e": "loop_params.get('i') == 1"})x") +
                             "," + job("e")));
    keeper.start();
    EXPECT_EQ(keeper.open(), "w/1/a");
    EXPECT_EQ(keeper.scope_of("w/1").params, R"({"i":1,"loop_index":0})");
    keeper.complete("w/1/a");
    EXPECT_EQ(keeper.open(), "w/2/a");
    keeper.complete("w/2/a");
    EXPECT_EQ(keeper.scope_of("w/3").params, R"({"i":3,"loop_index":2})");
    keeper.complete("w/3/a", R"({"params": {"i": 100}})");
    EXPECT_EQ(keeper.steps(), "e RUNNING, w SUCCEEDED"); // its own parameters are those with which it began
    EXPECT_EQ(keeper.scopes.size(), 4U);
}

TEST(Engine_5_3, NoIterationAtAll) {
    Keeper keeper(with_steps(while_loop("i > 3", k_count, job("a"))));
    keeper.start();
    EXPECT_EQ(keeper.steps(), "w SUCCEEDED");
    EXPECT_EQ(keeper.scopes.size(), 1U);
}

TEST(Engine_5_3, TheLaterStepWins) {
    Keeper keeper(with_steps(while_loop(
        "i < 100", k_count,
        job("z", R"({"a": "true"})", with_params(R"("i": {"type": "LONG", "value": 5})"), "NoOp") + "," +
            job("a", "{}", with_params(R"("i": {"type": "STRING", "value": "60"})"), "NoOp") + "," + job("wait"))));
    keeper.start();
    keeper.complete("w/1/wait");
    EXPECT_EQ(keeper.scope_of("w/2").params, R"({"i":60,"loop_index":1})");
}

TEST(Engine_5_3, AValueThatIsNone) {
    Keeper keeper(with_steps(while_loop(
        "i < 100", k_count, job("a", "{}", with_params(R"("i": {"type": "STRING", "value": "x"})"), "NoOp"))));
    keeper.start();
    EXPECT_EQ(keeper.steps(), "w FATALLY_FAILED");
    EXPECT_EQ(member(keeper.step("w").error, "message"),
              R"("i: the loop has a LONG here, and a has made a STRING of it")");
}

TEST(Engine_5_3, WhatItHasComputedCanBeReadAfterIt) {
    constexpr std::string_view k_read =
        R"x("last": {"type": "LONG", "expression": "w__i"}, "same": {"type": "LONG", "expression": "params.getFromStep('w', 'i')"},
            "text": {"type": "STRING", "value": "$w__i $w__loop_params"}, "member": {"type": "LONG", "expression": "w__loop_params['i']"},
            "all": {"type": "LONG_ARRAY", "expression": "params.getFromForeach('w', 'a', 'i')"})x";
    const auto values = [&](std::string_view condition) {
        Keeper keeper(with_steps(
            while_loop(condition, k_count, job("a", "{}", with_params(k_more), "NoOp"), "", R"({"z": "w__i >= 0"})") +
            "," + job("z", "{}", with_params(k_read))));
        keeper.start();
        while (keeper.step("w").step.due != 0 || (keeper.has("z") && keeper.step("z").step.due != 0))
            keeper.wait();
        EXPECT_EQ(keeper.step("z").error, "");
        std::string all;
        for (const std::string_view name : {"last", "same", "text", "member", "all"})
            all += (all.empty() ? "" : " ") + param_of(keeper, "z", name);
        return all;
    };
    EXPECT_EQ(values("i < 4"), R"(4 4 "4 {\"i\":4}" 4 [2,3,4])");
    EXPECT_EQ(values("i < 0"), R"(1 1 "1 {\"i\":1}" 1 [])"); // none has run
}

TEST(Engine_5_3, AnIterationThatDoesNotSucceedEndsTheLoop) {
    const auto end = [](EventKind kind) {
        Keeper keeper(with_steps(while_loop("true", k_count, job("a"))));
        keeper.start();
        keeper.complete("w/1/a");
        keeper.task(kind, "w/2/a");
        EXPECT_EQ(keeper.scopes.size(), 3U);
        return keeper.steps();
    };
    EXPECT_EQ(end(EventKind::task_aborted), "w FATALLY_FAILED");
    EXPECT_EQ(end(EventKind::task_cancelled), "w STOPPED");
    Keeper keeper(with_steps(while_loop("true", k_count, job("a", "{}", R"(, "timeout": 60)"))));
    keeper.start();
    keeper.wait();
    EXPECT_EQ(keeper.steps(), "w TIMED_OUT");
}

TEST(Engine_5_3, AConditionThatCannotBeEvaluatedFailsTheLoop) {
    Keeper keeper(with_steps(while_loop("10 / (2 - i) > 0", k_count, job("a", "{}", with_params(k_more)))));
    keeper.start();
    EXPECT_EQ(keeper.steps(), "w RUNNING");
    keeper.complete("w/1/a");
    EXPECT_EQ(keeper.steps(), "w FATALLY_FAILED");
}

TEST(Engine_5_3, NotMoreIterationsThanPossible) {
    Keeper keeper(with_steps(while_loop("true", k_count, job("a", "{}", "", "NoOp"))));
    keeper.start();
    EXPECT_EQ(keeper.new_scopes, 500U);
    keeper.step("w").loop = R"({"begun":24999,"ended":24999,"values":{"i":1}})";
    keeper.wait();
    EXPECT_EQ(keeper.new_scopes, 1U);
    EXPECT_EQ(keeper.steps(), "w FATALLY_FAILED");
    EXPECT_EQ(member(keeper.step("w").error, "message"), R"("a while can have at most 25000 iterations")");
}

TEST(Engine_5_3, ALoopInALoop) {
    Keeper keeper(
        with_steps(while_loop("i < 3", k_count,
                              loop_over("m", up_to("j", 2), job("a", "{}", "", "NoOp"), "", R"({"n": "true"})") + "," +
                                  job("n", "{}", with_params(k_more), "NoOp"))));
    keeper.start();
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
    EXPECT_EQ(keeper.scopes.size(), 7U);
    EXPECT_EQ(keeper.scope_of("w/2/m/2").params, R"({"j":2,"loop_index":1})");
}

// ---- 5.4: subworkflows ---------------------------------------------------------------------------------------------

TEST(Engine_5_4, ASubworkflowIsFollowed) {
    Keeper keeper(with_steps(sub()));
    keeper.start();
    const KeptChild child = keeper.children.at({1, "s"});
    EXPECT_EQ(child.workflow, "other");
    EXPECT_EQ(child.version, "active");
    EXPECT_TRUE(child.sync);
    keeper.child(EventKind::child_started, "s",
                 R"({"workflow": "other", "instance": 3, "run": 1, "status": "CREATED"})");
    EXPECT_EQ(keeper.steps(), "s RUNNING");
    EXPECT_EQ(member(keeper.step("s").loop, "instance"), "3");
    keeper.child(EventKind::child_ended, "s", R"({"status": "SUCCEEDED"})");
    EXPECT_EQ(keeper.steps(), "b RUNNING, s SUCCEEDED");
}

TEST(Engine_5_4, ItsEndIsThatOfTheStep) {
    const auto end = [](EventKind kind, std::string_view data, std::string_view more = "") {
        Keeper keeper(with_steps(sub(more)));
        keeper.start();
        keeper.child(kind, "s", data);
        return keeper.steps();
    };
    EXPECT_EQ(end(EventKind::child_ended, R"({"status": "FAILED"})"), "s FATALLY_FAILED");
    EXPECT_EQ(end(EventKind::child_ended, R"({"status": "STOPPED"})"), "s STOPPED");
    EXPECT_EQ(end(EventKind::child_ended, R"({"status": "TIMED_OUT"})"), "s TIMED_OUT");
    EXPECT_EQ(end(EventKind::child_ended, "garbage"), "s FATALLY_FAILED");
    EXPECT_EQ(end(EventKind::child_failed, R"({"message": "there is none"})"), "s FATALLY_FAILED");
    EXPECT_EQ(end(EventKind::child_started, R"({"status": "STOPPED"})"), "s STOPPED"); // by its run strategy
    EXPECT_EQ(end(EventKind::child_started, R"({"status": "CREATED"})", R"(, "sync": false)"),
              "b RUNNING, s SUCCEEDED");
    EXPECT_EQ(end(EventKind::child_started, R"({"status": "STOPPED"})", R"(, "sync": false)"), "s STOPPED");
}

TEST(Engine_5_4, ParametersAreGivenOn) {
    const std::string more = R"(, "x": {"type": "LONG", "value": 5}, "y": {"type": "STRING", "value": "own"})";
    Keeper keeper(with_steps(
        sub("", more),
        with_params(R"("y": {"type": "STRING", "value": "of the run"}, "z": {"type": "LONG", "value": 9})")));
    keeper.start();
    const std::string params = keeper.children.at({1, "s"}).params;
    EXPECT_EQ(member(params, "x"), "5");
    EXPECT_EQ(member(params, "y"), R"("own")");
    EXPECT_EQ(member(params, "z"), "9");
    EXPECT_EQ(member(params, "TARGET_RUN_DATE"), R"("20260528")");
    for (const std::string_view none : {"owner", "workflow_id", "step_id", "subworkflow_id", "workflow_instance_id"})
        EXPECT_EQ(params.find("\"" + std::string(none) + "\""), std::string::npos) << none;
    Keeper explicit_only(
        with_steps(sub(R"(, "explicit_params": true)", more), with_params(R"("z": {"type": "LONG", "value": 9})")));
    explicit_only.start();
    EXPECT_EQ(explicit_only.children.at({1, "s"}).params, R"({"x":5,"y":"own"})");
}

TEST(Engine_5_4, ASubworkflowInALoopIsGivenItsIteration) {
    Keeper keeper(
        with_steps(loop_over("l", up_to("i", 2), sub("", R"(, "k": {"type": "LONG", "expression": "i * 2"})"))));
    keeper.start();
    const KeptChild &child = keeper.children.at({keeper.scope_of("l/2").id, "s"});
    EXPECT_EQ(member(child.params, "i"), "2");
    EXPECT_EQ(member(child.params, "k"), "4");
    EXPECT_EQ(child.params.find("loop_index"), std::string::npos);
}

TEST(Engine_5_4, WhatStopsAStepStopsItsSubworkflow) {
    for (const bool kill : {false, true}) {
        Keeper keeper(with_steps(sub()));
        keeper.start();
        keeper.child(EventKind::child_started, "s", R"({"status": "CREATED"})");
        keeper.act(kill ? EventKind::kill : EventKind::stop, "s");
        ASSERT_EQ(keeper.cancelled.size(), 1U);
        EXPECT_EQ(keeper.steps(), kill ? "s FATALLY_FAILED" : "s STOPPED");
    }
}

TEST(Engine_5_4, ASubworkflowIsNotTriedAgain) {
    Keeper keeper(with_steps(sub(R"(, "timeout": "1 min")")));
    keeper.start();
    keeper.wait();
    EXPECT_EQ(keeper.steps(), "s TIMED_OUT");
    EXPECT_EQ(keeper.cancelled.size(), 1U);
}

TEST(Engine_4_7, GetFromSubworkflow) {
    Keeper keeper(with_steps(
        R"({"subworkflow": {"id": "s", "transition": {"successors": {"b": "true"}}, "params":
        {"subworkflow_id": {"type": "STRING", "value": "other"}}}},)" +
        job("b", "{}",
            with_params(R"x("r": {"type": "STRING", "expression": "params.getFromSubworkflow('s', 'a', 'x')"})x"))));
    keeper.start();
    keeper.child(EventKind::child_started, "s",
                 R"({"workflow": "other", "instance": 3, "run": 1, "status": "CREATED"})");
    keeper.child(EventKind::child_ended, "s", R"({"status": "SUCCEEDED"})");
    EXPECT_EQ(param_of(keeper, "b", "r"), R"("of a")");
    EXPECT_EQ(keeper.asked, std::vector<std::string>{"s.a.x"});
}

// ---- what is stored cannot be read ---------------------------------------------------------------------------------

TEST(Engine_Stored, GarbageOfALoopFailsIt) {
    for (const std::string_view garbage :
         {"", "[]", "{}", "{", R"({"total":2,"next":1,"succeeded":1,"failed":0,"stopped":0,"timed_out":0})",
          R"({"total":-1,"next":3,"succeeded":0,"failed":0,"stopped":0,"timed_out":0})",
          R"({"total":2,"next":3,"succeeded":2,"failed":0,"stopped":0,"timed_out":0})",
          R"({"total":99,"next":30000000,"succeeded":0,"failed":0,"stopped":0,"timed_out":0})"}) {
        Keeper keeper(with_steps(loop_over("l", up_to("i", 2), job("a")) + "," + job("b")));
        keeper.start();
        keeper.step("l").loop = garbage;
        keeper.complete("l/1/a");
        EXPECT_EQ(keeper.steps(), "b RUNNING, l FATALLY_FAILED") << garbage;
        EXPECT_EQ(keeper.steps("l/2"), "a STOPPED");
        EXPECT_EQ(keeper.open(), "b");
    }
    for (const std::string_view garbage :
         {"{}", R"({"begun":1,"ended":2,"values":{}})", R"({"begun":1,"ended":0,"values":[]})"}) {
        Keeper keeper(with_steps(while_loop("i < 5", k_count, job("a"))));
        keeper.start();
        keeper.step("w").loop = garbage;
        keeper.complete("w/1/a");
        EXPECT_EQ(keeper.steps(), "w FATALLY_FAILED") << garbage;
    }
    for (const std::string_view garbage :
         {"{}", "[]", R"({"loop_params": 5})", R"({"loop_params": {"i": 5}})", R"({"loop_params": {"i": []}})"}) {
        Keeper keeper(with_steps(loop_over("l", up_to("i", 5), job("a"), R"(, "concurrency": 1)")));
        keeper.start();
        keeper.step("l").params = garbage;
        keeper.complete("l/1/a");
        EXPECT_EQ(keeper.steps(), "l FATALLY_FAILED") << garbage;
    }
}

} // namespace
} // namespace test_engine_loops
