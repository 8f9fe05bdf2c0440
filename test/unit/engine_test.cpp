// Runs of workflows: how steps follow each other (Maestro, sections 2.2, 2.3 and 5.1), their parameters (4.4 to 4.8),
// failures, retries and timeouts (6.1 to 6.6), and who stops what (14).
#include <gtest/gtest.h>

#include "engine.h"
#include "model/workflow/actions.h"

namespace test_engine {
namespace {

using namespace engine_test;

constexpr std::int64_t k_minute = 60'000;
constexpr std::int64_t k_day = 86'400'000;

// ---- 2.2, 2.3: steps follow each other -----------------------------------------------------------------------------

TEST(Engine_2_2, AChain) {
    Keeper keeper(with_steps(job("a", R"({"b": "true"})") + "," + job("b", R"({"c": "true"})") + "," + job("c")));
    EXPECT_EQ(keeper.status(), "CREATED");
    keeper.start();
    EXPECT_EQ(keeper.status(), "IN_PROGRESS");
    EXPECT_EQ(keeper.steps(), "a RUNNING");
    keeper.complete("a");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING");
    EXPECT_EQ(keeper.step("a").edges, R"({"b":true})");
    keeper.complete("b", R"({"some": "result"})");
    keeper.complete("c", "[1, 2]");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b SUCCEEDED, c SUCCEEDED");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
    EXPECT_EQ(keeper.scopes.at(1).ended, keeper.world.now);
    EXPECT_EQ(keeper.scopes.at(1).due, 0);
}

TEST(Engine_2_2, WhatNeedsNoWorkerIsDoneInTheSameTurn) {
    Keeper keeper(with_steps(job("a", R"({"b": "true"})", "", "NoOp") + "," + job("b", R"({"c": "true"})", "", "noop") +
                             "," + job("c", "{}", "", "NOOP")));
    keeper.start();
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
    EXPECT_EQ(keeper.changes, 4U);
}

TEST(Engine_2_2, TasksSayWhatTheyAreFor) {
    Keeper keeper(with_steps(job("a", "{}", with_params(R"("x": {"type": "LONG", "value": 5})"), "Notebook") + "," +
                                 job("b", "{}", with_params(R"("queue": {"type": "STRING", "value": "q_$step_id"})")),
                             R"(, "criticality": "high")"));
    keeper.start();
    const KeptTask &task = keeper.tasks.at({1, "a"});
    EXPECT_EQ(task.queue, "notebook");
    EXPECT_EQ(task.priority, 64);
    EXPECT_EQ(task.spec, R"({"workflow":"w","instance":7,"run":1,"step":"a","attempt":1,"type":"Notebook","params":)" +
                             keeper.step("a").params + "}");
    EXPECT_EQ(keeper.tasks.at({1, "b"}).queue, "q_b");
}

TEST(Engine_2_2, PriorityIsThatOfTheCriticality) {
    const std::pair<std::string_view, int> all[] = {{R"(, "criticality": "CRITICAL")", 96},
                                                    {R"(, "criticality": "MEDIUM")", 32},
                                                    {R"(, "criticality": "LOW")", 0},
                                                    {"", 0}};
    for (const auto &[criticality, priority] : all) {
        Keeper keeper(with_steps(job("a"), criticality));
        keeper.start();
        EXPECT_EQ(keeper.tasks.at({1, "a"}).priority, priority);
    }
}

TEST(Engine_2_2, ASleepIsDoneWhenItsTimeHasCome) {
    Keeper keeper(
        with_steps(job("a", "{}", with_params(R"("sleep_seconds": {"type": "LONG", "value": 30})"), "Sleep") + "," +
                   job("b", "{}", with_params(R"("sleep_seconds": {"type": "STRING", "value": "1 min"})"), "SLEEP") +
                   "," + job("c", "{}", "", "Sleep")));
    const std::int64_t began = keeper.world.now;
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a RUNNING, b RUNNING, c SUCCEEDED");
    EXPECT_EQ(keeper.step("a").step.due, began + 30'000);
    EXPECT_EQ(keeper.step("b").step.due, began + k_minute);
    keeper.world.now += 29'999;
    keeper.send({EventKind::due, 1, "a", 1, {}}); // too early
    EXPECT_EQ(keeper.changes, 0U);
    EXPECT_TRUE(keeper.wait());
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING, c SUCCEEDED");
    EXPECT_TRUE(keeper.wait());
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
    EXPECT_FALSE(keeper.wait());
}

TEST(Engine_2_2, ASleepWithoutATimeFails) {
    Keeper keeper(
        with_steps(job("a", "{}", with_params(R"("sleep_seconds": {"type": "STRING", "value": "soon"})"), "Sleep")));
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED");
    EXPECT_EQ(keeper.step("a").error,
              R"({"message":"sleep_seconds: \"soon\" must be a number of seconds, or numbers with units, the largest )"
              R"(first, as \"90\", \"1.5 hours\", \"1 day 2 hours\" or \"PT30M\"","param":"sleep_seconds"})");
    Keeper half(
        with_steps(job("a", "{}", with_params(R"("sleep_seconds": {"type": "STRING", "value": "0.5 s"})"), "Sleep")));
    half.start();
    EXPECT_EQ(half.step("a").step.due - half.world.now, 500);
}

TEST(Engine_2_3, AJoinWaitsForAllBeforeIt) {
    Keeper keeper(with_steps(job("a", R"({"j": "true"})") + "," + job("b", R"({"j": "true"})") + "," + job("j")));
    keeper.start();
    EXPECT_EQ(keeper.open(), "a, b");
    keeper.complete("a");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING");
    keeper.complete("b");
    EXPECT_EQ(keeper.open(), "j");
}

TEST(Engine_2_3, OneTrueEdgeIsEnough) {
    Keeper keeper(with_steps(job("a", R"({"j": "false"})") + "," + job("b", R"({"j": "1 < 2"})") + "," + job("j")));
    keeper.start();
    keeper.complete("b");
    keeper.complete("a");
    EXPECT_EQ(keeper.open(), "j");
    EXPECT_EQ(keeper.step("a").edges, R"({"j":false})");
}

TEST(Engine_2_3, WhatIsLeftOutLeavesOutWhatFollowsIt) {
    Keeper keeper(with_steps(job("a", R"({"b": "false", "e": "true"})") + "," + job("b", R"({"c": "true"})") + "," +
                             job("c", R"({"d": "true", "e": "true"})") + "," + job("d") + "," + job("e")));
    keeper.start();
    keeper.complete("a");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b UNSATISFIED, c UNSATISFIED, d UNSATISFIED, e RUNNING");
    EXPECT_EQ(keeper.step("c").edges, R"({"d":false,"e":false})");
    keeper.complete("e");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(Engine_2_3, NothingFollowsAFailure) {
    Keeper keeper(with_steps(job("a", R"({"c": "true"})") + "," + job("b", R"({"c": "true", "d": "true"})") + "," +
                             job("c") + "," + job("d")));
    keeper.start();
    keeper.task(EventKind::task_aborted, "a");
    EXPECT_EQ(keeper.status(), "IN_PROGRESS");
    keeper.complete("b"); // other branches go on
    EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED, b SUCCEEDED, d RUNNING");
    keeper.complete("d");
    EXPECT_EQ(keeper.status(), "FAILED");
    EXPECT_FALSE(keeper.has("c"));
}

TEST(Engine_2_3, FailedIsWorseThanTimedOutAndThatThanStopped) {
    const std::string steps = job("f") + "," + job("t", "{}", R"(, "timeout": 60)") + "," + job("s") + "," + job("ok");
    const auto end = [&](bool with_failed, bool with_timeout, bool with_stopped) {
        Keeper keeper(with_steps(steps));
        keeper.start();
        with_stopped ? keeper.act(EventKind::stop, "s") : keeper.complete("s");
        with_failed ? keeper.task(EventKind::task_aborted, "f") : keeper.complete("f");
        if (!with_timeout)
            keeper.complete("t");
        else
            EXPECT_TRUE(keeper.wait());
        keeper.complete("ok");
        return keeper.status();
    };
    EXPECT_EQ(end(true, true, true), "FAILED");
    EXPECT_EQ(end(false, true, true), "TIMED_OUT");
    EXPECT_EQ(end(false, false, true), "STOPPED");
    EXPECT_EQ(end(false, false, false), "SUCCEEDED");
}

TEST(Engine_2_3, EventsThatNoLongerFitChangeNothing) {
    Keeper keeper(with_steps(job("a", R"({"b": "true"})") + "," + job("b")));
    keeper.start();
    keeper.start();
    EXPECT_EQ(keeper.changes, 0U);
    const KeptEvent done = keeper.of_task(EventKind::task_completed, "a");
    keeper.send({done, done});
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING");
    keeper.send(done);
    EXPECT_EQ(keeper.changes, 0U);
    const KeptEvent others[] = {{EventKind::task_completed, 1, "b", 2, {}},
                                {EventKind::task_completed, 1, "c", 1, {}},
                                {EventKind::task_completed, 99, "b", 1, {}},
                                {EventKind::due, 1, "b", 1, {}},
                                {EventKind::due, 1, "", 0, {}},
                                {EventKind::child_ended, 1, "b", 1, {}}};
    for (const KeptEvent &other : others) {
        if (other.scope == 1)
            keeper.send(other);
        EXPECT_EQ(keeper.changes, 0U);
    }
    keeper.complete("b");
    for (const auto kind : {EventKind::start, EventKind::stop, EventKind::kill, EventKind::due}) {
        keeper.act(kind, "");
        EXPECT_EQ(keeper.changes, 0U);
        keeper.act(kind, "b");
        EXPECT_EQ(keeper.changes, 0U);
    }
}

TEST(Engine_2_3, ATurnThatIsToStopHasNotHappened) {
    Keeper keeper(with_steps(job("a")));
    keeper.world.looks_until_stop = 0;
    EXPECT_EQ(keeper.kind_of_turn({{.kind = EventKind::start}}), sel::OutcomeKind::stopped);
    keeper.world.looks_until_stop = -1;
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a RUNNING");
}

// ---- 4.4 to 4.8: parameters ----------------------------------------------------------------------------------------

TEST(Engine_4_4, EveryStepHasItsNames) {
    Keeper keeper(with_steps(job("a")));
    keeper.start();
    const std::string params = keeper.step("a").params;
    EXPECT_NE(params.find(R"("workflow_instance_id":7,"step_id":"a","step_attempt_id":1,"step_instance_uuid":")"),
              std::string::npos)
        << params;
    Keeper same(with_steps(job("a")));
    same.start();
    EXPECT_EQ(same.step("a").params, params);
}

std::string member(std::string_view json, std::string_view name) {
    return eval("params['" + std::string(name) + "']", json);
}
std::string param_of(Keeper &keeper, std::string_view path, std::string_view name) {
    return member(keeper.step(path).params, name);
}

TEST(Engine_4_4, RunsHaveTheParametersOfTheDefinitionAndThoseThatAreGiven) {
    const std::string definition =
        with_steps(job("a"), with_params(R"("x": {"type": "LONG", "value": 1}, "s": {"type": "STRING", "value": "$x!"},
                                            "y": {"type": "LONG", "expression": "x + 1"})"));
    const auto run = [&](std::string_view request) { return Keeper(definition, request).scopes.at(1).params; };
    EXPECT_EQ(member(run("{}"), "s"), R"("1!")");
    EXPECT_EQ(member(run(R"({"x": 5})"), "y"), "6");
    EXPECT_EQ(member(run(R"({"x": "7"})"), "y"), "8");        // as what the definition has
    EXPECT_EQ(member(run(R"({"s": "$x"})"), "s"), R"("$x")"); // a value is a value
    EXPECT_EQ(member(run(R"({"s": {"type": "STRING", "value": "$x"}})"), "s"), R"("1")");
    EXPECT_EQ(member(run(R"({"new": [1, 2]})"), "new"), "[1,2]");
    EXPECT_EQ(member(run("{}"), "owner"), R"("ann")");
    EXPECT_EQ(member(run("{}"), "TARGET_RUN_DATE"), R"("20260528")");
}

std::string wrong_request(std::string_view definition, std::string_view request, std::string_view initiator = {}) {
    TestWorld world;
    auto loaded = workflow::load_definition(definition, world, {});
    workflow::RunName name{.workflow = "w", .instance = 7, .run = 1, .initiator = initiator};
    auto outcome = workflow::evaluate_run_params(*loaded.definition, name, request, world, {});
    std::string text = (outcome.kind == sel::OutcomeKind::value ? "ok: " : "") + std::string(outcome.text);
    workflow::release(outcome);
    workflow::release(loaded);
    return text;
}

TEST(Engine_4_4, ParametersOfARunThatCannotBe) {
    const std::string definition = with_steps(
        job("a"),
        with_params(R"("x": {"type": "LONG", "value": 1}, "c": {"type": "LONG", "value": 1, "mode": "CONSTANT"})"));
    EXPECT_EQ(wrong_request(definition, R"({"x": "y"})"), "x: the parameter is LONG, and STRING was given");
    EXPECT_EQ(wrong_request(definition, R"({"c": 2})"), "c: the parameter is CONSTANT and cannot be changed by LAUNCH");
    EXPECT_EQ(wrong_request(definition, "[]"), "the parameters of a run must be an object");
    EXPECT_EQ(wrong_request(definition, R"({"z": {"type": "INT", "value": 1}})"),
              R"(z.type: "INT" is not a type of parameters)");
    EXPECT_EQ(wrong_request(definition, R"x({"z": {"type": "LONG", "expression": "nope.x()"}})x").substr(0, 3), "z: ");
    std::string many = "{";
    for (int i = 0; i < 129; i++)
        many += (i == 0 ? "\"p" : ",\"p") + std::to_string(i) + "\": 1";
    EXPECT_EQ(wrong_request(definition, many + "}"), "a run can be given at most 128 parameters");
}

TEST(Engine_4_4, WhoeverGivesItAModeHolds) {
    const std::string definition =
        with_steps(job("a"), with_params(R"("c": {"type": "STRING", "value": "x", "mode": "IMMUTABLE"},
                                 "s": {"type": "LONG", "value": 1, "mode": "MUTABLE_ON_START"},
                                 "m": {"type": "MAP", "value": {"t": {"type": "LONG", "value": 1, "mode": "CONSTANT"}}})"));
    for (const auto &[type, source] : {std::pair{"SUBWORKFLOW", "SUBWORKFLOW"}, std::pair{"TIME", "TIME_TRIGGER"},
                                       std::pair{"SIGNAL", "SIGNAL"}, std::pair{"MANUAL", "LAUNCH"}}) {
        const std::string initiator = R"({"type": ")" + std::string(type) + "\"}";
        const std::string refused = " and cannot be changed by " + std::string(source);
        EXPECT_EQ(wrong_request(definition, R"({"c": "y"})", initiator), "c: the parameter is IMMUTABLE" + refused);
        EXPECT_EQ(wrong_request(definition, R"({"m": {"t": 2}})", initiator),
                  "m.t: the parameter is CONSTANT" + refused);
        EXPECT_EQ(wrong_request(definition, R"({"c": "x", "m": {"t": 1}, "s": 2})", initiator).substr(0, 4), "ok: ")
            << "the same value is no change";
    }
    // A reference is not its own result.
    EXPECT_EQ(
        wrong_request(
            with_steps(job("a"), with_params(R"("c": {"type": "STRING", "value": "$owner", "mode": "CONSTANT"})")),
            R"({"c": "$owner"})", R"({"type": "SUBWORKFLOW"})"),
        "c: the parameter is CONSTANT and cannot be changed by SUBWORKFLOW");
}

TEST(Engine_4_4, ModesHoldForTheRestartOfASubworkflow) {
    TestWorld world;
    const std::string definition =
        with_steps(job("a"), with_params(R"("c": {"type": "LONG", "value": 1, "mode": "CONSTANT"},
                                 "s": {"type": "LONG", "value": 1, "mode": "MUTABLE_ON_START"},
                                 "r": {"type": "LONG", "value": 1, "mode": "MUTABLE_ON_START_RESTART"})"));
    auto loaded = workflow::load_definition(definition, world, {});
    const auto restarted = [&](std::string_view passed, std::string_view given) {
        const std::string restart = R"({"policy": "RESTART_FROM_BEGINNING", "params": )" + std::string(given) + "}";
        const workflow::RunName name{
            .workflow = "w", .instance = 7, .run = 2, .initiator = R"({"type": "SUBWORKFLOW"})", .restart = restart};
        auto outcome = workflow::evaluate_restart_params(*loaded.definition, name, R"({"c": 1, "s": 5, "r": 6})",
                                                         passed, world, {});
        std::string text = outcome.kind == sel::OutcomeKind::value ? "r = " + member(std::string(outcome.text), "r")
                                                                   : std::string(outcome.text);
        workflow::release(outcome);
        return text;
    };
    EXPECT_EQ(restarted(R"({"c": 1, "s": 5, "r": 6})", "{}"), "r = 6");
    EXPECT_EQ(restarted(R"({"c": 2})", "{}"), "c: the parameter is CONSTANT and cannot be changed by SUBWORKFLOW");
    EXPECT_EQ(restarted(R"({"s": 2})", "{}"),
              "s: the parameter is MUTABLE_ON_START and cannot be changed by SUBWORKFLOW");
    EXPECT_EQ(restarted("{}", R"({"c": 2})"), "c: the parameter is CONSTANT and cannot be changed by RESTART");
    EXPECT_EQ(restarted("{}", R"({"s": 2})"), "s: the parameter is MUTABLE_ON_START and cannot be changed by RESTART");
    EXPECT_EQ(restarted(R"({"r": 6})", R"({"r": 7})"), "r = 7");
    EXPECT_EQ(restarted("{}", R"({"r": {"type": "LONG", "expression": "s + 3"}})"), "r = 8")
        << "users give definitions";
    workflow::release(loaded);
}

// What a run passes to its subworkflow is a value, whatever it looks like; what users give may be a definition.
TEST(Engine_4_4, AValueOfAParentIsNoDefinition) {
    const std::string definition = with_steps(
        job("a"), with_params(R"("m": {"type": "STRING_MAP", "value": {}}, "j": {"type": "MAP", "value": {}})"));
    const std::string text =
        R"({"m": {"type": "STRING_MAP", "expression": "1 / 0"}, "n": {"type": "circle", "value": "3"}, )"
        R"("j": {"type": "LONG", "value": 5}})";
    const std::string values = wrong_request(definition, text, R"({"type": "SUBWORKFLOW"})");
    ASSERT_EQ(values.substr(0, 4), "ok: ") << values;
    EXPECT_EQ(member(values.substr(4), "m"), R"({"type":"STRING_MAP","expression":"1 / 0"})");
    EXPECT_EQ(member(values.substr(4), "n"), R"({"type":"circle","value":"3"})");
    EXPECT_EQ(member(values.substr(4), "j"), R"({"type":"LONG","value":5})");
    EXPECT_NE(wrong_request(definition, text, R"({"type": "MANUAL"})").substr(0, 4), "ok: ");
}

TEST(Engine_4_5, ParametersOfStepsReferToThoseOfTheRun) {
    Keeper keeper(with_steps(job("a", "{}", with_params(R"("t": {"type": "STRING", "value": "$x and ${y}, $step_id"},
                                                           "y": {"type": "LONG", "expression": "x * 2"})")),
                             with_params(R"("x": {"type": "LONG", "value": 21})")));
    keeper.start();
    EXPECT_EQ(param_of(keeper, "a", "t"), R"("21 and 42, a")");
}

TEST(Engine_4_6, AParameterThatNamesItselfReadsAround) {
    Keeper keeper(with_steps(job("a", "{}", with_params(R"("x": {"type": "LONG", "expression": "x + 1"})")),
                             with_params(R"("x": {"type": "LONG", "value": 21})")));
    keeper.start();
    EXPECT_EQ(param_of(keeper, "a", "x"), "22");
}

TEST(Engine_4_6, StepsReadThoseBeforeThem) {
    Keeper keeper(
        with_steps(job("a", R"({"b": "true"})", with_params(R"("x": {"type": "LONG", "value": 4})")) + "," +
                   job("b", R"({"c": "a__x == 4 && params.getFromStep('a', 'x') == 4"})",
                       with_params(R"("y": {"type": "STRING", "value": "got ${a__x}"})")) +
                   "," +
                   job("c", "{}",
                       with_params(
                           R"x("s": {"type": "STRING", "expression": "params.getFromStep('b', 'MAESTRO_STEP_STATUS')"},
                   "r": {"type": "LONG", "expression": "params.getFromStep('b', 'MAESTRO_STEP_ERROR_RETRIES')"},
                   "e": {"type": "LONG", "expression": "params.getFromStep('b', 'MAESTRO_STEP_END_TIME')"},
                   "z": {"type": "STRING", "expression": "params.getFromStep('b', 'y') + params.getFromStep('step_id')"})x"))));
    keeper.start();
    keeper.complete("a");
    EXPECT_EQ(param_of(keeper, "b", "y"), R"("got 4")");
    keeper.complete("b");
    EXPECT_EQ(param_of(keeper, "c", "s"), R"("SUCCEEDED")");
    EXPECT_EQ(param_of(keeper, "c", "r"), "0");
    EXPECT_EQ(param_of(keeper, "c", "e"), std::to_string(keeper.world.now));
    EXPECT_EQ(param_of(keeper, "c", "z"), R"("got 4c")");
}

TEST(Engine_4_6, StepsDoNotReadThoseBesideThem) {
    Keeper keeper(with_steps(job("a", "{}", with_params(R"("x": {"type": "LONG", "value": 4})"), "NoOp") + "," +
                             job("b", "{}", with_params(R"("y": {"type": "STRING", "value": "${a__x}"})"))));
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b FATALLY_FAILED");
    EXPECT_EQ(keeper.step("b").error,
              "{\"message\":\"y: there is no parameter \\\"a__x\\\" (line 1, column 1)\",\"param\":\"y\"}");
}

TEST(Engine_4_6, WhatARunKnowsOfItself) {
    const std::pair<std::string_view, std::string_view> fields[] = {{"workflow_id", R"("w")"},
                                                                    {"workflow_instance_id", R"("7")"},
                                                                    {"workflow_run_id", R"("1")"},
                                                                    {"owner", R"("ann")"},
                                                                    {"INITIATOR_TYPE", R"("MANUAL")"},
                                                                    {"INITIATOR_RUNNER_NAME", R"("bob")"},
                                                                    {"INITIATOR_TIMEZONE", R"("")"},
                                                                    {"FIRST_TIME_TRIGGER_TIMEZONE", R"("")"},
                                                                    {"RUN_POLICY", R"("START_FRESH_NEW_RUN")"}};
    for (const auto &[field, value] : fields) {
        Keeper keeper(
            with_steps(job("a", "{}",
                           with_params(R"x("f": {"type": "STRING", "expression": "params.getFromInstance(')x" +
                                       std::string(field) + R"x(')"})x"))));
        keeper.name().initiator = R"({"type": "MANUAL", "user": "bob"})";
        keeper.start();
        EXPECT_EQ(param_of(keeper, "a", "f"), value) << field;
    }
}

TEST(Engine_4_7, WhatAStepKnowsOfItself) {
    Keeper keeper(with_steps(
        job("a", "{}",
            R"x(, "retry_policy": {"error_retry_limit": 3})x" +
                with_params(R"x("r": {"type": "LONG", "expression": "params.getFromStep('MAESTRO_STEP_ERROR_RETRIES')"},
            "n": {"type": "LONG", "expression": "params.getFromStep('step_attempt_id')"},
            "i": {"type": "STRING", "expression": "params.getFromStep('step_id') + ' ' + params.getFromStep('step_type_info')"})x"))));
    keeper.start();
    EXPECT_EQ(param_of(keeper, "a", "r") + param_of(keeper, "a", "n"), "01");
    keeper.fail("a");
    EXPECT_TRUE(keeper.wait());
    EXPECT_EQ(param_of(keeper, "a", "r") + param_of(keeper, "a", "n"), "12");
    keeper.fail("a", R"({"class": "platform"})");
    EXPECT_TRUE(keeper.wait());
    EXPECT_EQ(param_of(keeper, "a", "r") + param_of(keeper, "a", "n"), "13") << "of its class";
    EXPECT_EQ(param_of(keeper, "a", "i"), R"("a JOB")");
}

TEST(Engine_4_6, AParameterThatCannotBeEvaluatedFailsItsStepOnly) {
    const auto steps = [](std::string_view mode) {
        return with_steps(job("a", R"({"c": "true"})",
                              R"(, "failure_mode": ")" + std::string(mode) + "\"" +
                                  with_params(R"("x": {"type": "LONG", "expression": "1 / 0"})")) +
                          "," + job("b") + "," + job("c"));
    };
    Keeper keeper(steps("FAIL_AFTER_RUNNING"));
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED, b RUNNING");
    EXPECT_EQ(keeper.step("a").params, "");
    Keeper ignoring(steps("IGNORE_FAILURE"));
    ignoring.start();
    EXPECT_EQ(ignoring.steps(), "a COMPLETED_WITH_ERROR, b RUNNING, c RUNNING");
    Keeper failing(steps("FAIL_IMMEDIATELY"));
    failing.start();
    EXPECT_EQ(failing.status(), "FAILED");
    EXPECT_EQ(failing.open(), "");
}

TEST(Engine_4_6, ParametersAreNotLongerThanTheLimit) {
    Keeper keeper(
        with_steps(job(
            "a", "{}",
            with_params(
                R"("x": {"type": "STRING", "expression": "s = ''; for (int i = 0; i < 10; i = i + 1) { s = s + big; } s"})"))),
        R"({"big": ")" + std::string(100'000, 'x') + "\"}");
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED");
    EXPECT_EQ(keeper.step("a").error, R"({"message":"the result is longer than 750000 characters"})");
}

TEST(Engine_4_8, OutputIsMergedIntoTheParameters) {
    Keeper keeper(with_steps(
        job("a", R"({"b": "x == 5 && m.get('l') == 'new' && m.get('k') == 'old'"})",
            with_params(R"("x": {"type": "LONG", "value": 1}, "m": {"type": "STRING_MAP", "value": {"k": "old"}},
                           "n": {"type": "MAP", "value": {"i": {"type": "LONG", "value": 1}, "j": {"type": "LONG", "value": 2}}},
                           "d": {"type": "DOUBLE", "value": 2.0}, "e": {"type": "LONG_ARRAY", "value": []}, "t": {"type": "STRING", "value": "$$x"})")) +
        "," + job("b")));
    keeper.start();
    keeper.complete("a", R"({"params": {"x": "5", "m": {"l": "new"}, "n": {"j": 3}}, "other": 1})");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING");
    EXPECT_EQ(param_of(keeper, "a", "m"), R"({"k":"old","l":"new"})");
    EXPECT_EQ(param_of(keeper, "a", "n"), R"({"i":1,"j":3})");
    EXPECT_EQ(param_of(keeper, "a", "d"), "2.0");
    EXPECT_EQ(param_of(keeper, "a", "t"), R"("$x")");
}

TEST(Engine_4_8, OutputAsMaestroWritesItIsItsValue) {
    const auto put = [](std::string_view name, std::string_view output) {
        Keeper keeper(with_steps(
            job("a", "{}", with_params(R"("l": {"type": "LONG", "value": 0}, "s": {"type": "STRING", "value": ""},
            "d": {"type": "DOUBLE", "value": 0.5}, "b": {"type": "BOOLEAN", "value": false}, "la": {"type": "LONG_ARRAY", "value": []},
            "sa": {"type": "STRING_ARRAY", "value": []}, "sm": {"type": "STRING_MAP", "value": {}},
            "m": {"type": "MAP", "value": {"k": {"type": "LONG", "value": 1}}}, "e": {"type": "MAP", "value": {}})"))));
        keeper.start();
        keeper.complete("a", R"({"params": {")" + std::string(name) + "\": " + std::string(output) + "}}");
        return keeper.step("a").error.empty() ? param_of(keeper, "a", name) : member(keeper.step("a").error, "message");
    };
    EXPECT_EQ(put("l", R"({"type": "LONG", "value": 41})"), "41");
    EXPECT_EQ(put("l", R"({"type": "long", "value": 41, "evaluated_result": 42, "evaluated_time": 1625871404000})"),
              "42");
    EXPECT_EQ(put("l", R"({"type": "STRING", "value": "41"})"), "41") << "as the step declares it";
    EXPECT_EQ(put("s", R"({"type": "STRING", "value": "$x", "mode": "MUTABLE", "tags": []})"), R"("$x")");
    EXPECT_EQ(put("d", R"({"type": "DOUBLE", "value": "1.5"})"), "1.5");
    EXPECT_EQ(put("b", R"({"type": "BOOLEAN", "value": true})"), "true");
    EXPECT_EQ(put("la", R"({"type": "LONG_ARRAY", "value": [1, 2]})"), "[1,2]");
    EXPECT_EQ(put("sa", R"({"type": "STRING_ARRAY", "value": ["a"]})"), R"(["a"])");
    EXPECT_EQ(put("sm", R"({"type": "STRING_MAP", "value": {"a": "e"}})"), R"({"a":"e"})");
    EXPECT_EQ(put("m", R"({"type": "MAP", "value": {"k": {"type": "LONG", "value": 2}}})"), R"({"k":2})");
    EXPECT_EQ(
        put("m", R"({"type": "MAP", "value": {"k": {"type": "LONG", "value": 2}}, "evaluated_result": {"k": 3}})"),
        R"({"k":3})");
    EXPECT_EQ(
        put("e",
            R"({"type": "MAP", "value": {"n": {"type": "MAP", "value": {"x": {"type": "STRING", "value": "y"}}}}})"),
        R"({"n":{"x":"y"}})");
    // What only looks so is a value.
    EXPECT_EQ(put("sm", R"({"type": "circle", "value": "3"})"), R"({"type":"circle","value":"3"})");
    EXPECT_EQ(put("sm", R"({"type": "STRING_MAP", "expression": "1 / 0"})"),
              R"({"type":"STRING_MAP","expression":"1 / 0"})");
    EXPECT_EQ(put("e", R"({"type": "LONG", "value": 5})"), R"({"type":"LONG","value":5})");
    EXPECT_EQ(put("e", R"({"type": "MAP", "value": {"a": 1}})"), R"({"type":"MAP","value":{"a":1}})");
    EXPECT_EQ(put("e", R"({"type": "MAP", "value": {}, "colour": 1})"), R"({"type":"MAP","value":{},"colour":1})");
    EXPECT_EQ(put("l", R"({"type": "LONG", "expression": "1"})"),
              R"("l: the parameter is LONG, and what was put out is MAP")");
    EXPECT_EQ(put("l", R"({"type": "LONG", "value": "x"})"),
              R"("l: the parameter is LONG, and what was put out is MAP")");
}

TEST(Engine_4_8, OutputThatCannotBeMergedFailsTheStep) {
    const auto fail = [](std::string_view params) {
        Keeper keeper(with_steps(job("a", "{}", with_params(R"("x": {"type": "LONG", "value": 1},
            "c": {"type": "LONG", "value": 1, "mode": "MUTABLE_ON_START"})"))));
        keeper.start();
        keeper.complete("a", R"({"params": )" + std::string(params) + "}");
        EXPECT_TRUE(keeper.steps() == "a FATALLY_FAILED" || keeper.step("a").error.empty());
        return member(keeper.step("a").error.empty() ? R"({"message": "none"})" : keeper.step("a").error, "message");
    };
    EXPECT_EQ(fail(R"({"y": 1})"), R"("y: the step has no such parameter to put out")");
    EXPECT_EQ(fail(R"({"x": "z"})"), R"("x: the parameter is LONG, and what was put out is STRING")");
    EXPECT_EQ(fail(R"({"c": 2})"),
              R"("c: the parameter is MUTABLE_ON_START and cannot be changed by OUTPUT_PARAMETER")");
    EXPECT_EQ(fail(R"({"step_id": "b"})"),
              R"("step_id: the parameter is CONSTANT and cannot be changed by OUTPUT_PARAMETER")");
    EXPECT_EQ(fail("{}"), R"("none")");
    EXPECT_EQ(fail("null"), R"("none")");
    EXPECT_EQ(fail("5"), R"("\"params\" of the result must be an object of parameters, and is LONG")");
    EXPECT_EQ(fail("[1]"), R"("\"params\" of the result must be an object of parameters, and is LONG_ARRAY")");
    EXPECT_EQ(fail(R"("x")"), R"("\"params\" of the result must be an object of parameters, and is STRING")");
}

// ---- 5.1: conditions -----------------------------------------------------------------------------------------------

TEST(Engine_5_1, ConditionsSeeTheStepTheRunAndTheStepsBefore) {
    Keeper keeper(with_steps(job("a", R"({"b": "x > 1 && y == 'why'", "c": "x > 100"})",
                                 with_params(R"("x": {"type": "LONG", "value": 2})")) +
                                 "," + job("b", R"({"d": "a__x == 2"})") + "," + job("c") + "," + job("d"),
                             with_params(R"("y": {"type": "STRING", "value": "why"})")));
    keeper.start();
    keeper.complete("a");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b RUNNING, c UNSATISFIED");
    keeper.complete("b");
    EXPECT_EQ(keeper.open(), "d");
}

TEST(Engine_5_1, AConditionThatCannotBeEvaluatedFailsTheStepThatHadSucceeded) {
    const auto steps = [](std::string_view mode) {
        return with_steps(
            job("a", R"({"b": "nope > 1 / 0", "c": "true"})", R"(, "failure_mode": ")" + std::string(mode) + "\"") +
            "," + job("b") + "," + job("c"));
    };
    Keeper keeper(steps("FAIL_AFTER_RUNNING"));
    keeper.start();
    keeper.complete("a");
    EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED");
    EXPECT_EQ(keeper.status(), "FAILED");
    Keeper ignoring(steps("IGNORE_FAILURE"));
    ignoring.start();
    ignoring.complete("a");
    EXPECT_EQ(ignoring.steps(), "a COMPLETED_WITH_ERROR, b UNSATISFIED, c RUNNING");
}

TEST(Engine_5_1, AConditionMustBeTrueOrFalse) {
    Keeper keeper(with_steps(job("a", R"({"b": "5"})") + "," + job("b")));
    keeper.start();
    keeper.complete("a");
    EXPECT_EQ(keeper.step("a").error, R"({"message":"the condition is LONG, not BOOLEAN"})");
}

// ---- 6.1: failure modes --------------------------------------------------------------------------------------------

TEST(Engine_5_5, ATemplateCannotBeRun) {
    Keeper keeper(with_steps(R"({"template": {"id": "t", "transition": {"successors": {"c": "true"}}}},)" + job("b") +
                             "," + job("c")));
    keeper.start();
    EXPECT_EQ(keeper.steps(), "b RUNNING, t FATALLY_FAILED");
    EXPECT_EQ(keeper.step("t").error, R"({"message":"templates cannot be run"})");
    keeper.complete("b");
    EXPECT_EQ(keeper.status(), "FAILED");
}

TEST(Engine_6_1, FailImmediatelyStopsAllOthers) {
    Keeper keeper(
        with_steps(job("a", "{}", R"(, "failure_mode": "FAIL_IMMEDIATELY", "retry_policy": {"error_retry_limit": 0})") +
                   "," + job("b") + "," + job("c") + "," + job("d", R"({"e": "true"})") + "," + job("e")));
    keeper.start();
    keeper.fail("c"); // waits to be tried again
    keeper.complete("d");
    keeper.fail("a");
    EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED, b STOPPED, c STOPPED, d SUCCEEDED, e STOPPED");
    EXPECT_EQ(keeper.status(), "FAILED");
    EXPECT_EQ(keeper.open(), "");
    EXPECT_EQ(keeper.cancelled.size(), 2U); // of b and e
    EXPECT_EQ(keeper.step("b").error, R"({"message":"step \"a\" has failed, with FAIL_IMMEDIATELY","step":"a"})");
}

TEST(Engine_6_1, FailureModesAreNotForStepsThatTimeOut) {
    for (const char *mode : {"FAIL_IMMEDIATELY", "IGNORE_FAILURE", "FAIL_AFTER_RUNNING"}) {
        Keeper keeper(with_steps(
            job("a", R"({"b": "true"})", R"(, "timeout": 60, "failure_mode": ")" + std::string(mode) + "\"") + "," +
            job("b") + "," + job("c")));
        keeper.start();
        keeper.wait();
        EXPECT_EQ(keeper.steps(), "a TIMED_OUT, c RUNNING") << mode;
        keeper.complete("c");
        EXPECT_EQ(keeper.status(), "TIMED_OUT") << mode;
    }
}

TEST(Engine_6_1, WhatBeginsInTheTurnOfAFailureIsNotSubmitted) {
    Keeper keeper(with_steps(job("a", R"({"b": "true", "c": "true"})") + "," + job("b") + "," +
                             job("c", "{}",
                                 R"(, "failure_mode": "FAIL_IMMEDIATELY")" +
                                     with_params(R"("x": {"type": "LONG", "expression": "1 / 0"})"))));
    keeper.start();
    keeper.complete("a");
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b STOPPED, c FATALLY_FAILED");
    EXPECT_EQ(keeper.open(), "");
    EXPECT_TRUE(keeper.cancelled.empty());
}

// Maestro ends such a step as INTERNALLY_FAILED, whatever its failure mode.
TEST(Engine_6_1, ParametersThatCannotBeEvaluatedCountAsAFailure) {
    for (const std::string_view broken :
         {R"(, "params": {"x": {"type": "LONG", "expression": "1 / 0"}})", R"(, "timeout": "${none}")"}) {
        Keeper ignoring(
            with_steps(job("a", R"({"b": "true"})", R"(, "failure_mode": "IGNORE_FAILURE")" + std::string(broken)) +
                       "," + job("b", "{}", "", "NoOp")));
        ignoring.start();
        EXPECT_EQ(ignoring.steps(), "a COMPLETED_WITH_ERROR, b SUCCEEDED");
        EXPECT_NE(ignoring.step("a").error, "");
        EXPECT_EQ(ignoring.status(), "SUCCEEDED");
        Keeper failing(with_steps(job("a", R"({"b": "true"})", broken) + "," + job("b", "{}", "", "NoOp")));
        failing.start();
        EXPECT_EQ(failing.steps(), "a FATALLY_FAILED");
        EXPECT_EQ(failing.status(), "FAILED");
    }
}

TEST(Engine_6_1, AFailureCanBeIgnored) {
    Keeper keeper(
        with_steps(job("a", R"({"b": "params.getFromStep('a', 'MAESTRO_STEP_STATUS') == 'COMPLETED_WITH_ERROR'"})",
                       R"(, "failure_mode": "IGNORE_FAILURE")") +
                   "," + job("b")));
    keeper.start();
    keeper.task(EventKind::task_aborted, "a", R"({"message": "no way"})");
    EXPECT_EQ(keeper.steps(), "a COMPLETED_WITH_ERROR, b RUNNING");
    EXPECT_EQ(keeper.step("a").error, R"({"message": "no way"})");
    keeper.complete("b");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

// ---- 6.2, 6.3: retries ---------------------------------------------------------------------------------------------

// The waits of a step that fails again and again, in seconds.
std::string waits(std::string_view policy, std::string_view error, std::string_view params = "{}") {
    Keeper keeper(with_steps(job("a", "{}", policy)), params);
    keeper.start();
    std::string text;
    for (int i = 0; i < 120; i++) {
        keeper.fail("a", error);
        const std::int64_t due = keeper.step("a").step.due;
        if (due == 0)
            break;
        text += std::to_string((due - keeper.world.now) / 1'000) + " ";
        EXPECT_TRUE(keeper.wait());
        EXPECT_EQ(keeper.step("a").step.attempt, i + 2);
    }
    return text + keeper.steps();
}
constexpr std::string_view k_user = R"({"code": "x"})";
constexpr std::string_view k_platform = R"({"code": "timeout"})";
constexpr std::string_view k_timeout = R"({"code": "run-timeout"})";

TEST(Engine_6_2, TheDefaultPolicy) {
    EXPECT_EQ(waits("", k_user), "60 120 a FATALLY_FAILED");
    EXPECT_EQ(waits("", k_platform), "60 120 240 480 960 1920 3600 3600 3600 3600 a FATALLY_FAILED");
    EXPECT_EQ(waits("", k_timeout), "a TIMED_OUT");
}

TEST(Engine_6_2, ExponentialBackoff) {
    EXPECT_EQ(waits(R"(, "retry_policy": {"error_retry_limit": 5, "backoff": {"type": "EXPONENTIAL_BACKOFF",
                       "error_retry_backoff_in_secs": 10, "error_retry_exponent": 3, "error_retry_limit_in_secs": 200}})",
                    k_user),
              "10 30 90 200 200 a FATALLY_FAILED");
    EXPECT_EQ(waits(R"(, "retry_policy": {"timeout_retry_limit": "2"})", k_timeout), "60 120 a TIMED_OUT");
}

TEST(Engine_6_2, FixedBackoff) {
    EXPECT_EQ(waits(R"(, "retry_policy": {"error_retry_limit": 3, "backoff": {"type": "FIXED_BACKOFF",
                       "error_retry_backoff_in_secs": "2 min"}})",
                    k_user),
              "120 120 120 a FATALLY_FAILED");
    EXPECT_EQ(waits(R"(, "retry_policy": {"error_retry_limit": 1, "backoff": {"type": "FIXED_BACKOFF",
                       "error_retry_backoff_in_secs": "0.5 hours"}})",
                    k_user),
              "1800 a FATALLY_FAILED");
}

TEST(Engine_6_2, PoliciesCanReferToParameters) {
    constexpr std::string_view policy = R"(, "retry_policy": {"error_retry_limit": "${n}", "backoff":
                                          {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": "$w"}})";
    EXPECT_EQ(waits(policy, k_user, R"({"n": 1, "w": "5 min"})"), "300 a FATALLY_FAILED");
    // What cannot be read is as if it were not there.
    EXPECT_EQ(waits(policy, k_user, R"({"n": 100, "w": "soon"})"), "60 60 a FATALLY_FAILED");
    EXPECT_EQ(waits(policy, k_user), "60 60 a FATALLY_FAILED");
    EXPECT_EQ(waits(policy, k_user, R"({"n": "1 second", "w": "5,5 min"})"), "60 60 a FATALLY_FAILED");
}

TEST(Engine_6_2, EachClassHasItsCount) {
    Keeper keeper(
        with_steps(job("a", "{}", R"(, "retry_policy": {"error_retry_limit": 1, "platform_retry_limit": 1})")));
    keeper.start();
    keeper.fail("a", R"({"class": "platform"})");
    EXPECT_EQ(keeper.steps(), "a PLATFORM_FAILED");
    keeper.wait();
    keeper.fail("a", R"({"class": "USER", "code": "timeout"})");
    EXPECT_EQ(keeper.steps(), "a USER_FAILED");
    EXPECT_EQ(keeper.step("a").error, R"({"class": "USER", "code": "timeout"})");
    keeper.wait();
    EXPECT_EQ(keeper.step("a").step.retries.error, 1);
    EXPECT_EQ(keeper.step("a").step.retries.platform, 1);
    EXPECT_EQ(keeper.step("a").error, "");
    keeper.fail("a", R"({"class": "timeout"})");
    EXPECT_EQ(keeper.steps(), "a TIMED_OUT");
}

TEST(Engine_6_3, AnAttemptBeginsAnew) {
    Keeper keeper(
        with_steps(job("a", "{}", with_params(R"("t": {"type": "LONG", "expression": "step_attempt_id * 10"})"))));
    keeper.start();
    const std::string before = keeper.step("a").params;
    keeper.fail("a");
    EXPECT_EQ(keeper.status(), "IN_PROGRESS");
    keeper.wait();
    EXPECT_EQ(keeper.steps(), "a RUNNING");
    EXPECT_EQ(param_of(keeper, "a", "t"), "20");
    EXPECT_NE(param_of(keeper, "a", "step_instance_uuid"), member(before, "step_instance_uuid"));
    EXPECT_EQ(keeper.step("a").step.created, keeper.world.now);
    EXPECT_EQ(keeper.step("a").step.ended, 0);
    EXPECT_EQ(keeper.step("a").earlier, std::vector{StepStatus::user_failed});
    keeper.complete("a");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(Engine_6_3, WhoWaitsCanBeStartedAtOnceStoppedOrKilled) {
    Keeper keeper(with_steps(job("a") + "," + job("b") + "," + job("c")));
    keeper.start();
    for (const char *step : {"a", "b", "c"})
        keeper.fail(step);
    keeper.act(EventKind::start, "a");
    keeper.act(EventKind::stop, "b");
    keeper.act(EventKind::kill, "c");
    EXPECT_EQ(keeper.steps(), "a RUNNING, b STOPPED, c FATALLY_FAILED");
    EXPECT_TRUE(keeper.cancelled.empty());
    EXPECT_EQ(keeper.step("a").step.attempt, 2);
}

TEST(Engine_6_3, AStartInTheTurnOfTheFailureComesAfterIt) {
    Keeper keeper(with_steps(job("a")));
    keeper.start();
    keeper.send({keeper.of_task(EventKind::task_failed, "a"), {EventKind::start, 1, "a", 1, {}}});
    EXPECT_EQ(keeper.steps(), "a USER_FAILED");
    EXPECT_EQ(keeper.step("a").step.due, workflow::k_next_turn);
    keeper.wait();
    EXPECT_EQ(keeper.steps(), "a RUNNING");
}

TEST(Engine_6_3, WhatCannotBeTriedAgainFailsAtOnce) {
    const std::pair<EventKind, std::string_view> all[] = {
        {EventKind::task_aborted, "{}"},
        {EventKind::task_failed, R"({"code": "x", "retryable": false})"},
        {EventKind::refused, R"({"message": "no queue"})"}};
    for (const auto &[kind, data] : all) {
        Keeper keeper(with_steps(job("a")));
        keeper.start();
        keeper.task(kind, "a", data);
        EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED");
    }
}

TEST(Engine_6_3, ErrorsThatAreNoObjects) {
    for (const std::string_view data : {"", "[]", "5", "{", "\"x\""}) {
        Keeper keeper(with_steps(job("a")));
        keeper.start();
        keeper.fail("a", data);
        EXPECT_EQ(keeper.steps(), "a USER_FAILED");
        EXPECT_EQ(keeper.step("a").error, R"({"message":"the task has failed"})");
    }
}

TEST(Engine_6_3, WhoHasCancelledATaskHasStoppedItsStep) {
    Keeper keeper(with_steps(job("a") + "," + job("b")));
    keeper.start();
    keeper.task(EventKind::task_cancelled, "a");
    EXPECT_EQ(keeper.steps(), "a STOPPED, b RUNNING");
    keeper.complete("b");
    EXPECT_EQ(keeper.status(), "STOPPED");
}

// ---- 6.5, 6.6: timeouts --------------------------------------------------------------------------------------------

TEST(Engine_6_6, AStepThatTakesTooLong) {
    Keeper keeper(
        with_steps(job("a", "{}", R"(, "timeout": "1 min 40s", "retry_policy": {"timeout_retry_limit": 1})")));
    const std::int64_t began = keeper.world.now;
    keeper.start();
    EXPECT_EQ(keeper.step("a").step.due, began + 100'000);
    keeper.wait();
    EXPECT_EQ(keeper.steps(), "a TIMEOUT_FAILED");
    EXPECT_EQ(keeper.cancelled.size(), 1U);
    EXPECT_EQ(keeper.open(), "");
    keeper.wait();
    EXPECT_EQ(keeper.steps(), "a RUNNING");
    keeper.wait();
    EXPECT_EQ(keeper.steps(), "a TIMED_OUT");
    EXPECT_EQ(keeper.status(), "TIMED_OUT");
}

// In a run that may take longer. Others end first, and have nothing to be looked at.
TEST(Engine_6_6, AStepHasTenDays) {
    const std::string steps =
        job("a") + "," +
        job("s", "{}", with_params(R"("sleep_seconds": {"type": "STRING", "value": "15 days"})"), "Sleep");
    Keeper shorter(with_steps(steps, R"(, "timeout": "10 days")"));
    shorter.start();
    EXPECT_EQ(shorter.step("a").step.due, 0);

    Keeper keeper(with_steps(steps, R"(, "timeout": "20 days")"));
    const std::int64_t began = keeper.world.now;
    keeper.start();
    EXPECT_EQ(keeper.step("a").step.due, began + 10 * k_day);
    keeper.world.now += 10 * k_day - 1;
    keeper.send({EventKind::due, 1, "a", 1, {}}); // too early
    EXPECT_EQ(keeper.changes, 0U);
    EXPECT_TRUE(keeper.wait());
    EXPECT_EQ(keeper.steps(), "a TIMED_OUT, s RUNNING") << "a Sleep lasts as long as it says";
    EXPECT_EQ(keeper.cancelled.size(), 1U);
    EXPECT_TRUE(keeper.wait());
    EXPECT_EQ(keeper.world.now, began + 15 * k_day);
    EXPECT_EQ(keeper.steps(), "a TIMED_OUT, s SUCCEEDED");
    EXPECT_EQ(keeper.status(), "TIMED_OUT");
}

TEST(Engine_6_5, ATimeoutCanReferToParameters) {
    const std::string definition = with_steps(job("a", "{}", R"(, "timeout": "${t}")"));
    Keeper keeper(definition, R"({"t": 90})");
    keeper.start();
    EXPECT_EQ(keeper.step("a").step.due, keeper.world.now + 90'000);
    for (const std::string_view bad : {R"({"t": 0})", R"({"t": ""})", R"({"t": "0"})", R"({"t": "0 min"})",
                                       R"({"t": "soon"})", R"({"t": "121 days"})", R"({"t": -5})"}) {
        Keeper failing(definition, bad);
        failing.start();
        EXPECT_EQ(failing.steps(), "a FATALLY_FAILED") << bad;
        const bool is_none = bad == R"({"t": ""})" || bad == R"({"t": "soon"})" || bad == R"({"t": -5})";
        EXPECT_NE(failing.step("a").error.find(is_none ? " must be a number of seconds, or numbers with units"
                                                       : "cannot be non-positive or more than system limit: 120 days"),
                  std::string::npos);
    }
}

TEST(Engine_6_6, ARunThatTakesTooLong) {
    Keeper keeper(with_steps(job("a") + "," + job("b") + "," + job("c"), R"(, "timeout": "1 hour")"));
    const std::int64_t began = keeper.world.now;
    keeper.start();
    EXPECT_EQ(keeper.scopes.at(1).due, began + 3'600'000);
    keeper.complete("a");
    keeper.world.now += 3'590'000;
    keeper.fail("b");
    keeper.world.now += 10'000;
    keeper.send({.kind = EventKind::due});
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b TIMED_OUT, c TIMED_OUT");
    EXPECT_EQ(keeper.status(), "TIMED_OUT");
    EXPECT_EQ(keeper.scopes.at(1).error, R"({"code":"timeout","message":"the run has reached its timeout"})");
    EXPECT_EQ(keeper.cancelled.size(), 1U);
}

TEST(Engine_6_6, ARunHasTenDays) {
    Keeper keeper(with_steps(job("a")));
    keeper.start();
    EXPECT_EQ(keeper.scopes.at(1).due, keeper.world.now + 10 * k_day);
}

TEST(Engine_6_6, ARunWhoseTimeoutIsNoneFails) {
    Keeper keeper(with_steps(job("a"), R"(, "timeout": "${nope}")"));
    keeper.start();
    EXPECT_EQ(keeper.status(), "FAILED");
    EXPECT_EQ(keeper.steps(), "");
    EXPECT_NE(keeper.scopes.at(1).error.find("nope"), std::string::npos) << keeper.scopes.at(1).error;
}

// ---- 14: actions ---------------------------------------------------------------------------------------------------

TEST(Engine_14, StoppingAndKillingARun) {
    const std::string definition =
        with_steps(job("a", "{}", R"(, "failure_mode": "IGNORE_FAILURE")") + "," + job("b") + "," + job("c"));
    for (const bool kill : {false, true}) {
        Keeper keeper(definition);
        keeper.start();
        keeper.complete("b");
        keeper.fail("c");
        keeper.act(kill ? EventKind::kill : EventKind::stop, "");
        EXPECT_EQ(keeper.steps(),
                  kill ? "a FATALLY_FAILED, b SUCCEEDED, c FATALLY_FAILED" : "a STOPPED, b SUCCEEDED, c STOPPED");
        EXPECT_EQ(keeper.status(), kill ? "FAILED" : "STOPPED");
        EXPECT_EQ(keeper.cancelled.size(), 1U);
    }
}

TEST(Engine_14, ARunThatIsStoppedSaysWhy) {
    Keeper keeper(with_steps(job("a")));
    keeper.start();
    keeper.send({.kind = EventKind::stop, .data = R"({"message": "no time"})"});
    EXPECT_EQ(keeper.status(), "STOPPED");
    EXPECT_EQ(keeper.scopes.at(1).error, R"({"message": "no time"})");
    Keeper ended(with_steps(job("a")));
    ended.start();
    ended.send({ended.of_task(EventKind::task_failed, "a", R"({"retryable": false})"),
                {.kind = EventKind::stop, .data = R"({"message": "no time"})"}});
    EXPECT_EQ(ended.status(), "FAILED");
    EXPECT_EQ(ended.scopes.at(1).error, "") << "that is for its step to say";
}

TEST(Engine_14, ARunCanBeStoppedBeforeItBegins) {
    Keeper keeper(with_steps(job("a")));
    keeper.act(EventKind::stop, "");
    EXPECT_EQ(keeper.status(), "STOPPED");
    keeper.start();
    EXPECT_EQ(keeper.steps(), "");
}

TEST(Engine_14, StoppingAStep) {
    Keeper keeper(with_steps(job("a", R"({"b": "true"})") + "," + job("b") + "," + job("c")));
    keeper.start();
    keeper.act(EventKind::stop, "a");
    EXPECT_EQ(keeper.steps(), "a STOPPED, c RUNNING");
    EXPECT_EQ(keeper.cancelled.size(), 1U);
    keeper.complete("c");
    EXPECT_EQ(keeper.status(), "STOPPED");
}

TEST(Engine_14, KillingAStepHonoursItsFailureMode) {
    Keeper keeper(with_steps(job("a", R"({"b": "true"})", R"(, "failure_mode": "IGNORE_FAILURE")") + "," + job("b")));
    keeper.start();
    keeper.act(EventKind::kill, "a");
    EXPECT_EQ(keeper.steps(), "a COMPLETED_WITH_ERROR, b RUNNING");
    EXPECT_EQ(keeper.cancelled.size(), 1U);
}

// Section 2.3, rule 4: the conditions of a step that is COMPLETED_WITH_ERROR are evaluated as those of others.
TEST(Engine_2_3, AStepThatIsKilledBeforeItBeginsHasItsParametersForItsConditions) {
    for (const std::string_view condition :
         {"out > 3", "step_attempt_id == 1",
          "params.getFromStep('a', 'MAESTRO_STEP_STATUS') == 'COMPLETED_WITH_ERROR'"}) {
        Keeper keeper(with_steps(
            job("a", R"({"b": ")" + std::string(condition) + "\"}",
                R"(, "failure_mode": "IGNORE_FAILURE", "signal_dependencies": [{"name": "x"}])" +
                    with_params(R"("out": {"type": "LONG", "value": 4})")) +
            "," + job("b", "{}", with_params(R"("of_a": {"type": "LONG", "expression": "a__out"})"), "NoOp")));
        keeper.start();
        EXPECT_EQ(keeper.steps(), "a WAITING_FOR_SIGNALS");
        keeper.act(EventKind::kill, "a");
        EXPECT_EQ(keeper.steps(), "a COMPLETED_WITH_ERROR, b SUCCEEDED") << condition;
        EXPECT_EQ(keeper.step("a").error, R"({"message":"the step was killed"})");
    }
}

TEST(Engine_14, SkippingAStepLetsItsConditionsDecide) {
    Keeper keeper(
        with_steps(job("a", R"({"b": "x > 1", "c": "x <= 1"})", with_params(R"("x": {"type": "LONG", "value": 5})")) +
                   "," + job("b") + "," + job("c")));
    keeper.start();
    keeper.act(EventKind::skip, "a");
    EXPECT_EQ(keeper.steps(), "a SKIPPED, b RUNNING, c UNSATISFIED");
    EXPECT_EQ(keeper.cancelled.size(), 1U);
    keeper.complete("b");
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(Engine_14, WhoWaitsForARetryCanBeSkipped) {
    Keeper keeper(with_steps(job("a", R"({"b": "true"})") + "," + job("b")));
    keeper.start();
    keeper.fail("a");
    EXPECT_EQ(keeper.steps(), "a USER_FAILED");
    keeper.act(EventKind::skip, "a");
    EXPECT_EQ(keeper.steps(), "a SKIPPED, b RUNNING");
    EXPECT_EQ(keeper.step("a").step.due, 0); // no retry comes
    EXPECT_EQ(keeper.step("a").step.attempt, 1);
}

TEST(Engine_14, AStepThatHasFailedGetsAnAttemptThatIsSkipped) {
    for (const EventKind kind : {EventKind::stop, EventKind::kill}) {
        Keeper keeper(with_steps(job("a", R"({"b": "x > 1"})", with_params(R"("x": {"type": "LONG", "value": 5})")) +
                                 "," + job("b") + "," + job("c")));
        keeper.start();
        keeper.act(kind, "a");
        keeper.act(EventKind::skip, "a");
        EXPECT_EQ(keeper.steps(), "a SKIPPED, b RUNNING, c RUNNING");
        EXPECT_EQ(keeper.step("a").step.attempt, 2);
        keeper.act(EventKind::skip, "a"); // nothing more becomes of it
        EXPECT_EQ(keeper.changes, 0U);
        keeper.complete("b");
        keeper.act(EventKind::skip, "b");
        EXPECT_EQ(keeper.changes, 0U);
        keeper.complete("c");
        EXPECT_EQ(keeper.status(), "SUCCEEDED");
        keeper.act(EventKind::skip, "a"); // after the run has ended
        EXPECT_EQ(keeper.changes, 0U);
    }
}

TEST(Engine_14, AStepWhoseParametersCannotBeEvaluatedCanBeSkipped) {
    const std::string broken = with_params(R"("x": {"type": "LONG", "expression": "1 / 0"})");
    Keeper keeper(with_steps(job("a", R"({"b": "true"})", broken) + "," + job("b") + "," + job("c")));
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED, c RUNNING");
    keeper.act(EventKind::skip, "a");
    EXPECT_EQ(keeper.steps(), "a SKIPPED, b RUNNING, c RUNNING");
    Keeper other(with_steps(job("a", R"({"b": "x > 1"})", broken) + "," + job("b") + "," + job("c")));
    other.start();
    other.act(EventKind::skip, "a");
    EXPECT_EQ(other.steps(), "a SKIPPED, b UNSATISFIED, c RUNNING"); // what its condition reads has no value
}

TEST(Engine_14, WhatIsInsideOfALoopThatIsSkippedIsStopped) {
    Keeper keeper(with_steps(
        R"({"foreach": {"id": "l", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1, 2]}}}},
            "steps": [{"step": {"id": "s", "type": "A", "failure_mode": "FAIL_IMMEDIATELY", "params": {"i": {"type": "LONG", "expression": "i"}}}}],
            "transition": {"successors": {"b": "params.getFromForeach('l', 's', 'i')[1] == 2"}}}},)" +
        job("b")));
    keeper.start();
    keeper.complete("l/1/s");
    keeper.act(EventKind::skip, "l");
    EXPECT_EQ(keeper.steps(), "l FINISHING"); // its condition reads what this turn has changed
    keeper.wait();
    EXPECT_EQ(keeper.steps(), "b RUNNING, l SKIPPED");
    EXPECT_EQ(keeper.steps("l/1"), "s SUCCEEDED");
    EXPECT_EQ(keeper.steps("l/2"), "s STOPPED");
    EXPECT_EQ(keeper.open(), "b");
}

TEST(Engine_14, WhichActionsAStatusAllows) {
    using workflow::Allowed;
    using workflow::StepAction;
    std::string stop;
    std::string kill;
    std::string skip;
    std::string resume;
    std::string pause;
    for (std::size_t i = 0; i < workflow::k_step_statuses.size(); i++) {
        const auto status = static_cast<StepStatus>(i);
        constexpr char k_letters[] = "yna";
        stop += k_letters[static_cast<int>(workflow::allows(status, StepAction::stop))];
        kill += k_letters[static_cast<int>(workflow::allows(status, StepAction::kill))];
        skip += k_letters[static_cast<int>(workflow::allows(status, StepAction::skip))];
        resume += k_letters[static_cast<int>(workflow::allows(status, StepAction::resume))];
        pause += workflow::can_pause(status) ? 'y' : 'n';
    }
    //               not created … finishing, disabled … completed_with_error, …_failed, fatally, internally, stopped,
    //               timed out
    EXPECT_EQ(stop, "nyyyyyyyyy"
                    "nnnnn"
                    "yyy"
                    "nnan");
    EXPECT_EQ(kill, "nyyyyyyyyy"
                    "nnnnn"
                    "yyy"
                    "annn");
    EXPECT_EQ(skip, "nnyyyyyyyy"
                    "nnann"
                    "yyy"
                    "yyyy");
    EXPECT_EQ(resume, "nnnynnnnnn"
                      "nnnnn"
                      "nnn"
                      "nnnn");
    EXPECT_EQ(pause, "yyyynnnnnn"
                     "nnnnn"
                     "yyy"
                     "nnnn");
}

TEST(Engine_14, WhereAStepIs) {
    Keeper keeper(with_steps(
        R"({"foreach": {"id": "outer", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": []}}}}, "steps": [
            {"while": {"id": "inner", "condition": "true", "params": {"loop_params": {"type": "MAP", "value": {}}}, "steps": [)" +
        job("s") + "]}}]}}," + job("b")));
    const auto inside = workflow::loops_around(keeper.definition(), "s");
    ASSERT_TRUE(inside.has_value());
    ASSERT_EQ(inside->count, 2U);
    EXPECT_EQ(inside->ids[0], "outer");
    EXPECT_EQ(inside->ids[1], "inner");
    EXPECT_EQ(workflow::loops_around(keeper.definition(), "b")->count, 0U);
    EXPECT_FALSE(workflow::loops_around(keeper.definition(), "c").has_value());
}

// ---- what is stored cannot be read ---------------------------------------------------------------------------------

TEST(Engine_Stored, GarbageFailsTheStepsThatReadIt) {
    for (const std::string_view garbage : {"[]", "5", "{", "null", R"({"x":)", "\"\"", "{}"}) {
        Keeper keeper(with_steps(job("a", R"({"b": "x == 1"})", with_params(R"("x": {"type": "LONG", "value": 1})")) +
                                     "," + job("b", "{}", with_params(R"("y": {"type": "LONG", "expression": "z"})")),
                                 with_params(R"("z": {"type": "LONG", "value": 1})")));
        keeper.start();
        keeper.step("a").params = garbage;
        keeper.complete("a", R"({"params": {"x": 1}})");
        EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED") << garbage;
        EXPECT_EQ(keeper.status(), "FAILED");
    }
    for (const std::string_view garbage : {"[]", "{", R"({"b": 5})"}) {
        Keeper keeper(with_steps(job("a", R"({"b": "true"})") + "," + job("c", R"({"b": "true"})") + "," + job("b")));
        keeper.start();
        keeper.complete("a");
        keeper.step("a").edges = garbage;
        keeper.complete("c");
        EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b FATALLY_FAILED, c SUCCEEDED") << garbage;
    }
    Keeper keeper(with_steps(job("a", "{}", with_params(R"("y": {"type": "LONG", "expression": "z"})"))));
    keeper.scopes.at(1).params = "[]";
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED");
}

// Section 2.3, rule 6. A run keeps its version, so neither can come about but by a change of the tables, of which
// check() tells.
TEST(Engine_2_3, StepsThatTheDefinitionDoesNotHaveAreLeftOut) {
    Keeper keeper(with_steps(job("a")));
    keeper.start();
    KeptStep stray = keeper.step("a");
    stray.step.id = "stray";
    stray.step.status = StepStatus::fatally_failed;
    keeper.is_sound = false;
    keeper.scopes.at(1).steps["stray"] = stray;
    keeper.complete("a");
    EXPECT_EQ(keeper.step("a").step.status, StepStatus::succeeded);
    EXPECT_EQ(keeper.status(), "SUCCEEDED");
}

TEST(Engine_2_3, ARunWithoutStepsCanBeEnded) {
    for (const EventKind kind : {EventKind::stop, EventKind::kill}) {
        Keeper keeper(with_steps(job("a")));
        keeper.start();
        keeper.scopes.at(1).steps.clear();
        keeper.tasks.clear();
        keeper.is_sound = false;
        keeper.send({.kind = EventKind::due});
        EXPECT_EQ(keeper.status(), "IN_PROGRESS");
        keeper.act(kind, "");
        EXPECT_EQ(keeper.status(), kind == EventKind::stop ? "STOPPED" : "FAILED");
    }
}

TEST(Engine_Stored, ADefinitionThatCannotBeRead) {
    TestWorld world;
    for (const std::string_view json :
         {"", "[]", "{}", R"({"id": "w"})", R"({"id": "w", "steps": []})", R"({"id": "w", "steps": [5]})",
          R"({"id": "w", "steps": [{"step": {}}]})", R"({"id": "w", "steps": [{"nope": {"id": "a"}}]})"}) {
        auto loaded = workflow::load_definition(json, world, {});
        EXPECT_NE(loaded.kind, sel::OutcomeKind::value) << json;
        EXPECT_EQ(loaded.definition, nullptr);
        EXPECT_FALSE(loaded.what.empty());
        workflow::release(loaded);
    }
}

} // namespace
} // namespace test_engine
