// Definitions of workflows: what is wrong with one, and where (Maestro, sections 1.1 to 1.7, 6.4, 6.5, 7.3 to 7.5, 8).
#include <gtest/gtest.h>

#include "model/duration.h"
#include "model/workflow/definition.h"
#include "model/workflow/engine.h"
#include "model/workflow/reader.h"
#include "model/workflow/trigger_times.h"
#include "model/zone.h"
#include "sel_world.h"

namespace test_definition {
namespace {

namespace sel = scylla::model::sel;
namespace workflow = scylla::model::workflow;

// One a line.
std::string problems_of(workflow::Checked checked) {
    std::string text;
    for (const auto &[where, what] : checked.problems)
        text += (text.empty() ? "" : "\n") + std::string(where) + ": " + std::string(what);
    EXPECT_EQ(checked.kind, sel::OutcomeKind::value);
    workflow::release(checked);
    return text;
}

std::string check(std::string_view json) {
    TestWorld world;
    return problems_of(workflow::check_definition(json, world, {}));
}
std::string check_change(std::string_view json) {
    TestWorld world;
    return problems_of(workflow::check_change(json, world, {}));
}

std::string with_steps(std::string_view steps) {
    return R"({"workflow": {"id": "w", "steps": )" + std::string(steps) + "}}";
}
// One step, of that kind, with the members of the second argument.
std::string step(std::string_view kind, std::string_view members) {
    return "[{\"" + std::string(kind) + R"(": {"id": "s", )" + std::string(members) + "}}]";
}
std::string check_step(std::string_view kind, std::string_view members) {
    return check(with_steps(step(kind, members)));
}
std::string check_typed(std::string_view members) {
    return check_step("step", R"("type": "NoOp")" + std::string(members));
}
std::string check_workflow(std::string_view members) {
    return check(R"({"workflow": {"id": "w", "steps": [{"step": {"id": "s", "type": "NoOp"}}])" + std::string(members) +
                 "}}");
}
std::string check_properties(std::string_view properties) {
    return check(R"({"properties": )" + std::string(properties) +
                 R"(, "workflow": {"id": "w", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}})");
}

std::string condition_json(std::string_view json) {
    return check(with_steps(R"([{"step": {"id": "a", "type": "x", "transition": {"successors": {"b": )" +
                            std::string(json) + R"(}}}}, {"step": {"id": "b", "type": "x"}}])"));
}

TEST(Definition_1_1, Request) {
    EXPECT_EQ(check_properties("{}"), "");
    EXPECT_EQ(check(R"({"properties": {}, "is_active": false, "git_info": {"branch": "b"}, "more": [1],
                        "workflow": {"id": "w", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}})"),
              "");
    EXPECT_EQ(check("[]"), ": must be an object");
    EXPECT_EQ(check("{}"), ": has no \"workflow\"");
    EXPECT_EQ(check(R"({"workflow": 1, "properties": [], "is_active": "yes", "git_info": 5})"),
              "properties: must be an object\nis_active: must be true or false\ngit_info: must be an object\n"
              "workflow: must be an object");
    EXPECT_EQ(check(R"({"workflow": )" + std::string(200, '[') + std::string(200, ']') + "}"),
              ": is nested too deeply");
    EXPECT_EQ(check(R"({"n": 1e999})"), ": has a number that is out of range");
}

TEST(Definition_1_2, Properties) {
    EXPECT_EQ(check_properties(
                  R"({"owner": "ann", "access_control": {"x": 1}, "run_strategy": "parallel", "step_concurrency": 20,
        "alerting": {"emails": ["a@b"], "tct": {"completed_by_hour": 1, "tz": "UTC"}}, "alerting_disabled": true,
        "signal_trigger_disabled": false, "time_trigger_disabled": null, "description": "d", "tags": ["a", {"name": "b", "namespace": "n"}]})"),
              "");
    EXPECT_EQ(check_properties(
                  R"({"owner": 1, "ownr": 1, "step_concurrency": 0, "alerting_disabled": 1, "tags": ["a", "a"]})"),
              "properties.ownr: is not known here\nproperties.owner: must be a string\n"
              "properties.step_concurrency: must be from 1 to 1000, not 0\nproperties.alerting_disabled: must be true "
              "or false\n"
              "properties.tags[1]: the tag \"a\" is there twice");
    EXPECT_EQ(check_properties(R"({"alerting": {"tct": {"completed_by_hour": 1, "duration_minutes": 1}}})"),
              "properties.alerting.tct: must have one of completed_by_hour, duration_minutes and completed_by_ts");
    EXPECT_EQ(check_properties(R"({"alerting": {"tct": {}}})"),
              "properties.alerting.tct: must have one of completed_by_hour, duration_minutes and completed_by_ts");
}

TEST(Definition_1_2, Changes) {
    EXPECT_EQ(check_change("{}"), "");
    EXPECT_EQ(check_change(R"({"owner": "ann", "run_strategy": 5, "step_concurrency": 20, "tags": ["a"], "alerting": {},
                               "reset_run_strategy_rule": false, "reset_workflow_concurrency": null})"),
              "");
    EXPECT_EQ(check_change(R"({"reset_run_strategy_rule": true, "reset_workflow_concurrency": true,
                               "reset_step_concurrency": true, "add_tag": {"name": "x"}})"),
              "");
    EXPECT_EQ(check_change(R"({"delete_tag": "x", "add_tag": null, "tags": null})"), "");
    EXPECT_EQ(check_change("5"), ": must be an object");
    EXPECT_EQ(check_change(R"({"is_active": true})"), "is_active: is not known here");
    EXPECT_EQ(check_change(R"({"run_strategy": 0, "description": 1})"),
              "run_strategy: must be from 1 to 1000, not 0\ndescription: must be a string");
    EXPECT_EQ(check_change(R"({"run_strategy": 1, "reset_run_strategy_rule": true})"),
              "reset_run_strategy_rule: cannot be there together with \"run_strategy\"");
    EXPECT_EQ(check_change(R"({"run_strategy": 1, "reset_workflow_concurrency": true})"),
              "reset_workflow_concurrency: cannot be there together with \"run_strategy\"");
    EXPECT_EQ(check_change(R"({"step_concurrency": 1, "reset_step_concurrency": true})"),
              "reset_step_concurrency: cannot be there together with \"step_concurrency\"");
    EXPECT_EQ(check_change(R"({"step_concurrency": 1, "reset_step_concurrency": "yes"})"),
              "reset_step_concurrency: must be true or false");
    EXPECT_EQ(check_change(R"({"tags": [], "add_tag": "a", "delete_tag": "b"})"),
              "add_tag: cannot be there together with \"tags\"\ndelete_tag: cannot be there together with \"tags\"\n"
              "delete_tag: cannot be there together with \"add_tag\"");
    EXPECT_EQ(check_change(R"({"add_tag": {}})"), "add_tag: has no \"name\"");
    EXPECT_EQ(check_change(R"({"add_tag": 5})"), "add_tag: must be a name or an object with a \"name\"");
    EXPECT_EQ(check_change(R"({"delete_tag": {"name": "a"}})"), "delete_tag: must be a string");
    // No property of a document is one of these.
    EXPECT_EQ(check_properties(R"({"add_tag": "a"})"), "properties.add_tag: is not known here");
}

TEST(Definition_1_5, RunStrategies) {
    const auto strategy = [](std::string_view json) {
        return check_properties(R"({"run_strategy": )" + std::string(json) + "}");
    };
    for (const char *good :
         {"\"sequential\"", "\"STRICT_SEQUENTIAL\"", "\"first_only\"", "\"last_only\"", "\"PARALLEL\"",
          "\"serial_latest_only\"", "5", "\"5\"", R"({"rule": "parallel", "workflow_concurrency": 1000})",
          R"({"rule": "SEQUENTIAL", "workflow_concurrency": 1})", R"({"rule": "PARALLEL"})",
          R"({"rule": "strict_sequential", "blocked_by": ["STOPPED", "timed_out", "FAILED"]})",
          R"({"rule": "strict_sequential", "blocked_by": []})", R"({"rule": "PARALLEL", "blocked_by": null})"})
        EXPECT_EQ(strategy(good), "") << good;
    EXPECT_EQ(strategy("\"sometimes\""), "properties.run_strategy: \"sometimes\" is none of PARALLEL, SEQUENTIAL, "
                                         "STRICT_SEQUENTIAL, FIRST_ONLY, LAST_ONLY, SERIAL_LATEST_ONLY");
    EXPECT_EQ(strategy("0"), "properties.run_strategy: must be from 1 to 1000, not 0");
    EXPECT_EQ(strategy("1.5"), "properties.run_strategy: must be a rule, a number or an object");
    EXPECT_EQ(strategy("\"1001\""), "properties.run_strategy: must be from 1 to 1000, not 1001");
    EXPECT_EQ(strategy("true"), "properties.run_strategy: must be a rule, a number or an object");
    EXPECT_EQ(strategy(R"({"rule": "sometimes", "workflow_concurrency": 1001})"),
              "properties.run_strategy.rule: \"sometimes\" is none of PARALLEL, SEQUENTIAL, STRICT_SEQUENTIAL, "
              "FIRST_ONLY, LAST_ONLY, SERIAL_LATEST_ONLY\n"
              "properties.run_strategy.workflow_concurrency: must be from 1 to 1000, not 1001");
    EXPECT_EQ(strategy(R"({"rule": "sequential", "workflow_concurrency": 2})"),
              "properties.run_strategy.workflow_concurrency: must be 1: only PARALLEL has more");
    EXPECT_EQ(strategy("{}"), "properties.run_strategy: has no \"rule\"");
    EXPECT_EQ(strategy(R"({"rule": "sequential", "blocked_by": ["STOPPED"]})"),
              "properties.run_strategy.blocked_by: only STRICT_SEQUENTIAL has this");
    EXPECT_EQ(strategy(R"({"rule": "strict_sequential", "blocked_by": ["STOPPED", "SUCCEEDED", 1]})"),
              "properties.run_strategy.blocked_by[1]: must be FAILED, TIMED_OUT or STOPPED\n"
              "properties.run_strategy.blocked_by[2]: must be FAILED, TIMED_OUT or STOPPED");
    EXPECT_EQ(strategy(R"({"rule": "strict_sequential", "blocked_by": "STOPPED"})"),
              "properties.run_strategy.blocked_by: must be an array");
}

TEST(Definition_1_3, Workflow) {
    EXPECT_EQ(check_workflow(
                  R"(, "name": "A name (of 1), too", "description": "d", "tags": ["t"], "timeout": "1 day",
                     "criticality": "High", "instance_step_concurrency": 999, "params": {"p": {"type": "LONG", "value": 1}})"),
              "");
    EXPECT_EQ(
        check_workflow(
            R"(, "name": "a\nb", "timeout": "soon", "criticality": "very", "instance_step_concurrency": 1000, "stesp": 1)"),
        "workflow.stesp: is not known here\n"
        "workflow.name: \"a\nb\" must consist of letters, digits, blanks and _.,:@&='(){}$+[]-/\\\n"
        "workflow.timeout: \"soon\" must be " +
            std::string(scylla::model::k_duration_rule) +
            "\n"
            "workflow.criticality: \"very\" is none of CRITICAL, HIGH, MEDIUM, LOW\n"
            "workflow.instance_step_concurrency: must be from 1 to 999, not 1000");
    EXPECT_EQ(check_workflow(R"(, "name": ")" + std::string(257, 'x') + "\""),
              "workflow.name: has 257 characters, and at most 256 are possible");
    EXPECT_EQ(check_workflow(R"(, "description": ")" + std::string(16'385, 'x') + "\""),
              "workflow.description: has 16385 characters, and at most 16384 are possible");
    EXPECT_EQ(check(R"({"workflow": {}})"), "workflow: has no \"id\"\nworkflow.steps: must have at least one step");
}

TEST(Definition_1_5, Ids) {
    const auto id = [](std::string_view text) {
        return check(R"({"workflow": {"steps": [{"step": {"id": "s", "type": "x"}}], "id": ")" + std::string(text) +
                     "\"}}");
    };
    const auto of_step = [](std::string_view text) {
        return check(with_steps(R"([{"step": {"type": "x", "id": ")" + std::string(text) + "\"}}]"));
    };
    const auto param = [](std::string_view text) {
        return check_workflow(R"(, "params": {")" + std::string(text) + R"(": {"type": "LONG", "value": 1}})");
    };
    for (const char *good : {"a", "_a.b-c_9", "9lives"})
        EXPECT_EQ(id(good), "") << good;
    EXPECT_EQ(id(std::string(128, 'x')), "");
    EXPECT_EQ(id(std::string(129, 'x')), "workflow.id: has 129 characters, and at most 128 are possible");
    EXPECT_EQ(id("a b"), "workflow.id: \"a b\" must consist of letters, digits, \".\", \"-\" and \"_\", and begin with "
                         "a letter, a digit or \"_\"");
    EXPECT_EQ(id("").substr(0, 15), "workflow.id: \"\"");
    EXPECT_EQ(id("Maestro_x"), "workflow.id: \"Maestro_x\" begins with \"maestro_\", which is reserved");
    EXPECT_EQ(id("x_maestro"), "workflow.id: \"x_maestro\" ends with \"_maestro\", which is reserved");
    EXPECT_EQ(of_step("x_maestro"), "");
    EXPECT_EQ(of_step("9"), "workflow.steps[0].step.id: \"9\" must consist of letters, digits, \".\", \"-\" and \"_\", "
                            "and begin with a letter or \"_\"");
    EXPECT_EQ(of_step("a__b"),
              "workflow.steps[0].step.id: \"a__b\" contains \"__\", which stands between a step and its parameter");
    EXPECT_EQ(param("a__b"), "");
    for (const char *reserved : {"maestro", "Scheduler", "UTIL", "params", "AUTH_BLOB", "AUTHORIZED_MANAGERS"})
        EXPECT_EQ(param(reserved), "workflow.params." + std::string(reserved) + ": \"" + reserved + "\" is reserved");
    EXPECT_EQ(param("a b"), "workflow.params[\"a b\"]: \"a b\" must consist of letters, digits, \".\", \"-\" and "
                            "\"_\", and begin with a letter or \"_\"");
}

TEST(Definition_1_5, WhatIsTheSystems) {
    EXPECT_EQ(
        check_workflow(
            R"(, "params": {"p": {"type": "LONG", "value": 1, "internal_mode": "OPTIONAL", "source": "SYSTEM"},
                                             "m": {"type": "MAP", "value": {"n": {"type": "LONG", "value": 1, "source": "LAUNCH"}}}})"),
        "workflow.params.p: internal_mode is the system's to set\nworkflow.params.p: source is the system's to set\n"
        "workflow.params.m.value.n: source is the system's to set");
}

TEST(Definition_1_4, Steps) {
    EXPECT_EQ(check_typed(
                  R"(, "name": "n", "description": "d", "tags": ["t"], "timeout": 60, "failure_mode": "ignore_failure",
        "sub_type": "x", "sub_type_version": "v", "params": {"p": {"type": "LONG", "value": 1}}, "transition": {})"),
              "");
    EXPECT_EQ(check_step("subworkflow", R"("sync": false, "explicit_params": true,
        "params": {"subworkflow_id": {"type": "STRING", "value": "w"}})"),
              "");
    EXPECT_EQ(check_step("foreach",
                         R"("concurrency": 500, "strict_ordering": true, "steps": [{"step": {"id": "t", "type": "x"}}],
        "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1]}}}})"),
              "");
    for (const auto &[order, problem] :
         {std::pair{R"(["i", "j"])", ""},
          {R"(["j", "i"])", ""},
          {R"(["i"])", "workflow.steps[0].foreach.loop_order: must have the name of each of the loop_params once"},
          {R"(["i", "j", "i"])",
           "workflow.steps[0].foreach.loop_order: must have the name of each of the loop_params once"},
          {R"(["i", "k"])", "workflow.steps[0].foreach.loop_order: must have the name of each of the loop_params once"},
          {R"(["i", 2])", "workflow.steps[0].foreach.loop_order: must have the name of each of the loop_params once"},
          {R"("i")", "workflow.steps[0].foreach.loop_order: must be an array"}})
        EXPECT_EQ(
            check_step("foreach", R"("loop_order": )" + std::string(order) +
                                      R"(, "steps": [{"step": {"id": "t", "type": "x"}}], "params": {"loop_params":
        {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1]}, "j": {"type": "LONG_ARRAY", "value": [1]}}}})"),
            problem)
            << order;
    EXPECT_EQ(check_step("while", R"("condition": "i < 5", "steps": [{"step": {"id": "t", "type": "x"}}],
        "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG", "value": 1}}}})"),
              "");
    EXPECT_EQ(check_step("template", R"("anything": 1)"), "");

    EXPECT_EQ(check_step("step", R"("typ": "x")"),
              "workflow.steps[0].step.typ: is not known here\nworkflow.steps[0].step: has no \"type\"");
    EXPECT_EQ(check_typed(R"(, "failure_mode": "x", "timeout": 0, "condition": "1")"),
              "workflow.steps[0].step.timeout: must be from 1 to 10368000, not 0\n"
              "workflow.steps[0].step.failure_mode: \"x\" is none of FAIL_AFTER_RUNNING, FAIL_IMMEDIATELY, "
              "IGNORE_FAILURE\n"
              "workflow.steps[0].step.condition: is not known here");
    EXPECT_EQ(check_step("subworkflow", R"("sync": 1)"),
              "workflow.steps[0].subworkflow.params.subworkflow_id: a value is required (STRING)\n"
              "workflow.steps[0].subworkflow.sync: must be true or false");
    EXPECT_EQ(
        check_step("foreach", R"("concurrency": 501, "retry_policy": {}, "params": {"loop_params": {"type": "MAP",
        "value": {"i": {"type": "LONG", "value": 1}}}})"),
        "workflow.steps[0].foreach.retry_policy: is not known here\n"
        "workflow.steps[0].foreach.concurrency: must be from 1 to 500, not 501\n"
        "workflow.steps[0].foreach.params.loop_params.value.i: must be an array, of which each run has one element\n"
        "workflow.steps[0].foreach.steps: must have at least one step");
    EXPECT_EQ(check_step("while", R"("steps": [{"step": {"id": "t", "type": "x"}}])"),
              "workflow.steps[0].while.params.loop_params: a value is required (MAP)\nworkflow.steps[0].while: has no "
              "\"condition\"");
    EXPECT_EQ(check_step("while", R"("condition": "i <", "params": {"loop_params": {"type": "MAP", "value": {}}},
        "steps": [{"step": {"id": "t", "type": "x"}}])"),
              "workflow.steps[0].while.condition: the expression ends too early (line 1, column 4)");
    EXPECT_EQ(check_typed(R"(, "params": {"step_id": {"type": "STRING", "value": "x"}})"),
              "workflow.steps[0].step.params.step_id: the parameter is CONSTANT and cannot be changed by DEFINITION");
    EXPECT_EQ(check(with_steps("[5, {}, {\"task\": {}}, {\"step\": 1}]")),
              "workflow.steps[0]: must be an object\n"
              "workflow.steps[1]: must have one member: step, subworkflow, foreach, while or template\n"
              "workflow.steps[2]: must have one member: step, subworkflow, foreach, while or template\n"
              "workflow.steps[3].step: must be an object");
    EXPECT_EQ(check(with_steps("5")), "workflow.steps: must be an array\nworkflow.steps: must have at least one step");
}

// So many loops in each other, with a step in the innermost.
std::string nested(int loops, bool one_name = false) {
    std::string text;
    std::string end;
    for (int i = 0; i < loops; i++) {
        text += R"([{"foreach": {"id": "f)" + std::to_string(i) +
                R"(", "params": {"loop_params": {"type": "MAP", "value": {"i)" + (one_name ? "" : std::to_string(i)) +
                R"(": {"type": "LONG_ARRAY", "value": []}}}}, "steps": )";
        end += "}}]";
    }
    return with_steps(text + R"([{"step": {"id": "s", "type": "x"}}])" + end);
}

TEST(Definition_1_5, ListsOfSteps) {
    const auto many = [](int count) {
        std::string steps = "[";
        for (int i = 0; i < count - 1; i++)
            steps += R"({"step": {"id": "s)" + std::to_string(i) + R"(", "type": "x"}}, )";
        return check(with_steps(steps + R"({"foreach": {"id": "f", "steps": [{"step": {"id": "t", "type": "x"}}],
            "params": {"loop_params": {"type": "MAP", "value": {}}}}}])"));
    };
    EXPECT_EQ(many(299), "");
    EXPECT_EQ(many(300), "workflow.steps: has 301 steps, and at most 300 are possible");
    EXPECT_EQ(check(with_steps(R"([{"step": {"id": "a", "type": "x"}}, {"foreach": {"id": "f",
        "params": {"loop_params": {"type": "MAP", "value": {}}}, "steps": [{"step": {"id": "a", "type": "x"}}]}}])")),
              "workflow.steps[1].foreach.steps[0].step.id: there is another step \"a\"");
}

TEST(Definition_1_5, Nesting) {
    EXPECT_EQ(check(nested(10)), "");
    const std::string deep = check(nested(11));
    EXPECT_NE(deep.find(": loops are nested more than 10 deep"), std::string::npos) << deep;
    EXPECT_EQ(check(nested(2, true)), "workflow.steps[0].foreach.steps[0].foreach.params.loop_params.value.i: a loop "
                                      "around this one has a parameter of that name");
    // Loops beside each other may have the same names.
    EXPECT_EQ(
        check(with_steps(
            R"([{"while": {"id": "a", "condition": "false", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG", "value": 1}}}},
        "steps": [{"step": {"id": "b", "type": "x"}}]}}, {"while": {"id": "c", "condition": "false", "params": {"loop_params": {"type": "MAP",
        "value": {"i": {"type": "LONG", "value": 1}}}}, "steps": [{"step": {"id": "d", "type": "x"}}]}}])")),
        "");
}

TEST(Definition_1_5, ALimitOfATagIsRefused) {
    EXPECT_EQ(check_typed(R"(, "tags": ["a", {"name": "b", "namespace": "x"}])"), "");
    EXPECT_EQ(check_typed(R"(, "tags": [{"name": "warehouse", "permit": 1}])"),
              "workflow.steps[0].step.tags[0]: the limit of a tag is not part of a definition: "
              "create_pool('tag:warehouse', …) sets it");
}

TEST(Definition_1_5, AConditionMayBeATruth) {
    EXPECT_EQ(condition_json("true"), "");
    EXPECT_EQ(condition_json("false"), "");
    EXPECT_EQ(condition_json("5"), "workflow.steps[0].step.transition.successors.b: must be a string");
    const auto check_while = [](std::string_view condition) {
        return check(with_steps(R"([{"while": {"id": "a")" + std::string(condition) + R"(, "params": {"loop_params": {
            "type": "MAP", "value": {"i": {"type": "LONG", "value": 1}}}}, "steps": [{"step": {"id": "b", "type": "x"}}]}}])"));
    };
    EXPECT_EQ(check_while(R"(, "condition": false)"), "");
    EXPECT_EQ(check_while(R"(, "condition": 5)"), "workflow.steps[0].while.condition: must be a string");
    EXPECT_EQ(check_while(""), "workflow.steps[0].while: has no \"condition\"");
}

TEST(Definition_1_5, Transitions) {
    const auto graph = [](std::string_view a, std::string_view b, std::string_view c) {
        const auto one = [](std::string_view id, std::string_view transition) {
            return R"({"step": {"id": ")" + std::string(id) + R"(", "type": "x", "transition": )" +
                   std::string(transition) + "}}";
        };
        return check(with_steps("[" + one("a", a) + ", " + one("b", b) + ", " + one("c", c) + "]"));
    };
    EXPECT_EQ(graph(R"({"successors": {"b": "true", "c": "RUN_TS > 1"}})", R"({"successors": {"c": "true"}})",
                    R"({"predecessors": ["b", "a"]})"),
              "");
    EXPECT_EQ(graph(R"({"successors": {"d": "true"}})", "{}", "{}"),
              "workflow.steps[0].step.transition.successors: there is no step \"d\" beside \"a\"");
    EXPECT_EQ(graph(R"({"successors": {"b": "1 +"}})", R"({"next": 1})", "5"),
              "workflow.steps[0].step.transition.successors.b: the expression ends too early (line 1, column 4)\n"
              "workflow.steps[1].step.transition.next: is not known here\nworkflow.steps[2].step.transition: must be "
              "an object");
    EXPECT_EQ(graph(R"({"successors": {"b": "true"}})",
                    R"({"successors": {"c": "true"}, "predecessors": ["a", "a", "c", 1]})",
                    R"({"predecessors": ["a"]})"),
              "workflow.steps[1].step.transition.predecessors[1]: \"a\" is there twice\n"
              "workflow.steps[1].step.transition.predecessors[2]: \"c\" is no predecessor of \"b\"\n"
              "workflow.steps[1].step.transition.predecessors[3]: must be a string\n"
              "workflow.steps[2].step.transition.predecessors[0]: \"a\" is no predecessor of \"c\"\n"
              "workflow.steps[2].step.transition.predecessors: \"b\" is missing");
    EXPECT_EQ(graph(R"({"successors": {"b": "true"}})", R"({"successors": {"c": "true"}})",
                    R"({"successors": {"b": "true"}})"),
              "workflow.steps: steps follow each other in a circle: \"b\", \"c\", \"b\"");
    EXPECT_EQ(graph(R"({"successors": {"a": "true"}})", "{}", "{}"),
              "workflow.steps: steps follow each other in a circle: \"a\", \"a\"");
}

TEST(Definition_6_4, RetryPolicies) {
    const auto policy = [](std::string_view json) {
        return check_typed(R"(, "params": {"n": {"type": "LONG", "value": 1}}, "retry_policy": )" + std::string(json));
    };
    EXPECT_EQ(
        policy(
            R"({"error_retry_limit": 0, "platform_retry_limit": "99", "timeout_retry_limit": "${n}", "backoff": {"type": "EXPONENTIAL_BACKOFF",
        "error_retry_backoff_in_secs": 1, "error_retry_exponent": "2", "error_retry_limit_in_secs": "1 day"}})"),
        "");
    EXPECT_EQ(policy(R"({"backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": "${n}"}})"), "");
    const std::string at = "workflow.steps[0].step.retry_policy.";
    EXPECT_EQ(policy(R"({"error_retry_limit": 100, "platform_retry_limit": "x", "limit": 1})"),
              at + "limit: is not known here\n" + at + "error_retry_limit: must be from 0 to 99, not 100\n" + at +
                  "platform_retry_limit: must be from 0 to 99");
    EXPECT_EQ(
        policy(
            R"({"backoff": {"type": "NONE", "error_retry_backoff_in_secs": 0, "error_retry_limit_in_secs": "25 h", "error_retry_exponent": 0}})"),
        at + "backoff.type: \"NONE\" is none of EXPONENTIAL_BACKOFF, FIXED_BACKOFF\n" + at +
            "backoff.error_retry_backoff_in_secs: must be from 1 to 86400, not 0\n" + at +
            "backoff.error_retry_limit_in_secs: must be from 1 to 86400 seconds, not \"25 h\"\n" + at +
            "backoff.error_retry_exponent: must be from 1 to 2147483647, not 0");
    EXPECT_EQ(policy(R"({"backoff": {"type": "FIXED_BACKOFF", "error_retry_exponent": 2}})"),
              at + "backoff.error_retry_exponent: is not known here");
}

TEST(Definition_6_5, Durations) {
    const auto timeout = [](std::string_view json) { return check_workflow(R"(, "timeout": )" + std::string(json)); };
    EXPECT_EQ(timeout("\"120 days\""), "");
    EXPECT_EQ(timeout("\"${RUN_DATE}\""), "");
    EXPECT_EQ(timeout("\"10368000\""), "");
    EXPECT_EQ(timeout("\"120 days 1 ms\""),
              "workflow.timeout: must be from 1 to 10368000 seconds, not \"120 days 1 ms\"");
    EXPECT_EQ(timeout("-1"), "workflow.timeout: must be from 1 to 10368000, not -1");
    EXPECT_EQ(timeout("0"), "workflow.timeout: must be from 1 to 10368000, not 0");
    EXPECT_EQ(timeout("\"1.5 hours\""), "");
    EXPECT_EQ(timeout("\"0.5 seconds\""), "workflow.timeout: must be from 1 to 10368000 seconds, not \"0.5 seconds\"");
    EXPECT_EQ(timeout("\"1,500 seconds\""),
              "workflow.timeout: \"1,500 seconds\" must be " + std::string(scylla::model::k_duration_rule));
    for (const std::string_view none : {R"("")", R"("0")", R"("-5")", R"("soon")", R"("0 min")", R"("1 month")"})
        EXPECT_EQ(timeout(none).substr(0, 18), "workflow.timeout: ") << none;
    for (const std::string_view none : {R"("")", R"("0")", R"("soon")"})
        EXPECT_EQ(check_typed(R"(, "timeout": )" + std::string(none)).substr(0, 32), "workflow.steps[0].step.timeout: ")
            << none;
}

TEST(Definition_7_3, SignalTriggers) {
    const auto trigger = [](std::string_view json) {
        return check_workflow(R"(, "signal_triggers": [)" + std::string(json) + "]");
    };
    const std::string at = "workflow.signal_triggers[0]";
    EXPECT_EQ(
        trigger(
            R"({"definitions": {"a": {"match_params": {"p": {"value": "x", "operator": "="}, "q": {"value": 5, "operator": ">="}},
        "join_keys": ["k"]}, "b": {"join_keys": ["l"]}}, "condition": "1 < 2", "dedup_expr": "'x'", "params": {"p": {"type": "LONG", "value": 1}}})"),
        "");
    EXPECT_EQ(trigger("{}"), at + R"(: must have a signal in "definitions")");
    EXPECT_EQ(trigger(R"({"definitions": {}})"), at + R"(: must have a signal in "definitions")");
    std::string nine;
    for (int i = 0; i < 9; i++)
        nine += (i == 0 ? "\"s" : ", \"s") + std::to_string(i) + "\": {}";
    EXPECT_EQ(trigger(R"({"definitions": {)" + nine + "}}"),
              at + ".definitions: has 9 signals, and at most 8 are possible");
    EXPECT_EQ(trigger(R"({"definitions": {"a": {"join_keys": ["k", "l"]}, "b": {"join_keys": ["k"]}}})"),
              at + ".definitions.b: has 1 join_keys, another signal 2");
    EXPECT_EQ(
        trigger(
            R"({"definitions": {"a": {"match_params": {"k": {"value": true, "operator": "~"}, "l": {"value": 1, "operator": "<"},
        "m": {"value": 1, "operator": ">"}}, "join_keys": ["k", 5]}}, "condition": "("})"),
        at + ".condition: the expression ends too early (line 1, column 2)\n" + at +
            R"(.definitions.a.match_params.k: must have a "value" that is a string or a whole number)" + "\n" + at +
            ".definitions.a.match_params.k.operator: \"~\" is none of = < <= > >=\n" + at +
            ".definitions.a.match_params: more than one parameter is compared by <, <=, > or >=\n" + at +
            ".definitions.a.join_keys[0]: \"k\" is in match_params, too\n" + at +
            ".definitions.a.join_keys[1]: must be a string");
}

TEST(Definition_7_4, SignalsOfSteps) {
    const std::string at = "workflow.steps[0].step.";
    EXPECT_EQ(
        check_typed(
            R"(, "signal_dependencies": [{"name": "db/t", "match_params": {"d": {"param": {"type": "STRING", "expression": "RUN_DATE"}, "operator": ">="}}}],
        "signal_outputs": [{"name": "db/u", "params": {"k": {"type": "LONG", "value": 1}}, "payload": {"l": {"type": "BOOLEAN", "value": true}}}])"),
        "");
    EXPECT_EQ(
        check_typed(
            R"(, "signal_dependencies": [{"match_params": {"d": {"operator": "="}, "e": {"param": {"type": "BOOLEAN", "value": true}}}}])"),
        at + "signal_dependencies[0]: has no \"name\"\n" + at +
            "signal_dependencies[0].match_params.d: has no \"param\"\n" + at +
            "signal_dependencies[0].match_params.e.param: must be STRING or LONG");
    EXPECT_EQ(
        check_typed(
            R"(, "signal_outputs": [{"name": "x", "params": {"k": {"type": "BOOLEAN", "value": true}}, "payload": {"k": {"type": "LONG", "value": 1}}}, 5])"),
        at + "signal_outputs[0].params.k: must be STRING or LONG\n" + at +
            "signal_outputs[0].payload.k: is in params, too\n" + at + "signal_outputs[1]: must be an object");
}

TEST(Definition_8, TimeTriggers) {
    const auto trigger = [](std::string_view json) {
        return check_workflow(R"(, "time_triggers": [{)" + std::string(json) + "}]");
    };
    const std::string at = "workflow.time_triggers[0]";
    const std::string k_fields =
        "It must have the five fields of Unix (minute, hour, day of the month, month, day of the "
        "week), or the six or seven of Quartz (a second before them, a year from 1970 to 2099 "
        "behind them).";
    for (const char *never :
         {"0 0 31 2 *", "0 0 30 feb *", "0 0 31 4,6,9,11 *", "0 0 0 30 2 ?", "0 0 12 1 1 ? 2025", "0 0 12 29 2 ? 2027"})
        EXPECT_EQ(trigger(R"("type": "CRON", "cron": ")" + std::string(never) + "\""),
                  at + ".cron: \"" + never + "\" never comes: there is no such day from now on");
    for (const char *good : {"0 3 1 1 sun", "0 22-2 * * sat-sun", "0 0 29 2 *", "0 0 12 24 12 ? 2026", "5 4 * * 1\\n"})
        EXPECT_EQ(trigger(R"("type": "CRON", "cron": ")" + std::string(good) + "\""), "") << good;
    for (const char *bad : {"PST", "foo5", "2", "+25:00", ""})
        EXPECT_EQ(trigger(R"("type": "CRON", "cron": "0 6 * * *", "timezone": ")" + std::string(bad) + "\""),
                  at + ".timezone: \"" + bad + "\" must be " + std::string(scylla::model::k_zone_rule));
    EXPECT_EQ(trigger(R"("type": "CRON", "cron": "0 6 * * *", "timezone": "+02:00")"), "");
    for (const char *good : {R"("type": "CRON", "cron": "0 0 12 1/1 * ? *", "timezone": "US/Pacific")",
                             R"("type": "PREDEFINED", "expression": "@daily")",
                             R"("type": "CRON", "cron": "*/2 * * * *", "fuzzy_max_delay": "30s")",
                             R"("type": "CRON", "cron": "0,59 3,5 * * *")"})
        EXPECT_EQ(trigger(good), "") << good;
    EXPECT_EQ(trigger(R"("type": "CRON", "cron": "*/1 * * * *")"),
              at + ".cron: \"*/1 * * * *\" has times 1 minute apart, and at least 2 minutes are required");
    EXPECT_EQ(trigger(R"("type": "CRON", "cron": "0,59 * * * *")"),
              at + ".cron: \"0,59 * * * *\" has times 1 minute apart, and at least 2 minutes are required");
    EXPECT_EQ(trigger(R"("type": "CRON", "cron": "61 * * * *")"),
              at + ".cron: \"61 * * * *\" is no cron expression. " +
                  scylla::model::rule_of(scylla::model::CronFault::minute));
    EXPECT_EQ(trigger(R"("type": "CRON", "cron": "* * *")"),
              at + ".cron: \"* * *\" is no cron expression. " + k_fields);
    EXPECT_EQ(trigger(R"("type": "CRON", "timezone": "Mars/Base", "fuzzy_max_delay": "x")"),
              at + ": has no \"cron\"\n" + at + ".timezone: \"Mars/Base\" must be " +
                  std::string(scylla::model::k_zone_rule) + "\n" + at + ".fuzzy_max_delay: \"x\" must be " +
                  std::string(scylla::model::k_duration_rule));
    EXPECT_EQ(trigger(R"("type": "PREDEFINED", "expression": "@often")"),
              at + ".expression: \"@often\" is none of @hourly, @daily, @weekly, @monthly and @yearly");
    for (const char *good :
         {R"("type": "INTERVAL", "interval": "2 minutes", "timezone": "US/Pacific")",
          R"("type": "INTERVAL", "interval": 86400, "fuzzy_max_delay": "1 hour")",
          R"("type": "CRON", "cron": "30 15 10 L * ?")", R"("type": "CRON", "cron": "0 0/30 8-10 ? * MON-FRI *")"})
        EXPECT_EQ(trigger(good), "") << good;
    EXPECT_EQ(trigger(R"("type": "INTERVAL")"), at + ": has no \"interval\"");
    EXPECT_EQ(trigger(R"("type": "INTERVAL", "interval": 60)"), at + ".interval: must be from 120 to 10368000, not 60");
    EXPECT_EQ(trigger(R"("type": "INTERVAL", "interval": "1.5 hours", "fuzzy_max_delay": "PT1M")"), "");
    for (const char *type :
         {R"("type": "INTERVAL", "interval": "1 h")", R"("type": "PREDEFINED", "expression": "@daily")",
          R"("type": "CRON", "cron": "0 6 * * *")"}) {
        const auto with = [&](std::string_view bounds) {
            return trigger(std::string(type) + ", " + std::string(bounds));
        };
        EXPECT_EQ(with(R"("grace": "12 hours", "max_catch_up": 10000)"), "");
        EXPECT_EQ(with(R"("grace": 119)"), at + ".grace: must be from 120 to 10368000, not 119");
        EXPECT_EQ(with(R"("max_catch_up": 0)"), at + ".max_catch_up: must be from 1 to 10000, not 0");
    }
    EXPECT_EQ(trigger(R"("type": "INTERVAL", "interval": "120.5 s")"),
              at + ".interval: must be a whole number of seconds, not \"120.5 s\"");
    EXPECT_EQ(trigger(R"("type": "INTERVAL", "interval": "1 month 2 days")"),
              at + ".interval: \"1 month 2 days\" must be " + std::string(scylla::model::k_duration_rule));
    EXPECT_EQ(trigger(R"("type": "INTERVAL", "interval": "$x")"), at + ".interval: must not refer to parameters");
    for (const char *cron :
         {"0 0 12 1W * ?", "0 0 12 ? * 2#1", "0,30 0 12 * * ?", "0 0 12 1 * ? 27", "60 0 12 1 * ?", "30 seconds"})
        EXPECT_EQ(trigger(R"("type": "CRON", "cron": ")" + std::string(cron) + "\""),
                  at + ".cron: \"" + cron + "\" is no cron expression. " + k_fields);
    EXPECT_EQ(trigger(R"("type": "CRON", "cron": "0 * 12 * * ?")"),
              at + ".cron: \"0 * 12 * * ?\" has times 1 minute apart, and at least 2 minutes are required");
    EXPECT_EQ(trigger(R"("type": "SOMETIMES")"), at + ".type: \"SOMETIMES\" is none of CRON, PREDEFINED, INTERVAL");
    EXPECT_EQ(trigger(R"("cron": "* * * * *")"), at + ": has no \"type\"");
}

TEST(Definition_8, TheShortestTimeBetweenRuns) {
    const auto gap = [](std::string_view cron) {
        return workflow::shortest_gap(workflow::read_trigger_cron(cron).value().cron);
    };
    EXPECT_EQ(gap("* * * * *"), 60);
    EXPECT_EQ(gap("0,59 3,5 * * *"), 59 * 60) << "from 3:00 to 3:59; 3:59 to 5:00 is longer";
    EXPECT_EQ(gap("0,59 * * * *"), 60) << "from one hour to the next";
    EXPECT_EQ(gap("0,59 0,23 * * *"), 60) << "from one day to the next";
    EXPECT_EQ(gap("*/7 * * * *"), 4 * 60) << "from minute 56 to the next hour";
    EXPECT_EQ(gap("30 6 * * 1"), 86'400) << "as if on each day";
    EXPECT_EQ(gap("30 6,20 * * *"), 10 * 3'600);
    EXPECT_EQ(gap("0 0/30 8-10 ? * MON-FRI *"), 30 * 60);
    EXPECT_EQ(workflow::shortest_gap(workflow::read_trigger_interval("90").value().cron), 90);
}

// Limits other than the usual ones are in pgtap/workflow_limits.
TEST(Definition_1_7, StoredDefinitionsKeepTheirLimits) {
    const std::string id(200, 'x');
    const std::string json = R"({"id": ")" + id + R"(", "params": {")" + id +
                             R"(": {"type": "LONG", "value": 1}}, "steps": [{"step": {"id": ")" + id +
                             R"(", "type": ")" + std::string(20'000, 't') + R"("}}]})";
    TestWorld world;
    workflow::Loaded loaded = workflow::load_definition(json, world, {});
    EXPECT_NE(loaded.definition, nullptr) << loaded.what;
    workflow::release(loaded);
}

// VALIDATE of section 1.5: the parameters of the workflow are evaluated as if it ran.
TEST(Definition_1_5, DryRun) {
    const auto params = [](std::string_view json) { return check_workflow(R"(, "params": )" + std::string(json)); };
    EXPECT_EQ(
        params(
            R"({"day": {"type": "STRING", "value": "$RUN_DATE $FROM_DATE ${TO_DATE}"}, "who": {"type": "STRING", "expression": "owner + workflow_id"}})"),
        "");
    EXPECT_EQ(
        params(
            R"x({"a": {"type": "BOOLEAN", "expression": "params.getFromInstance('INITIATOR_TYPE') == 'VALIDATION' && params.getFromInstance('INITIATOR_TIMEZONE') == ''"},
                 "b": {"type": "LONG", "expression": "a ? 1 : 1 / 0"}})x"),
        "");
    EXPECT_EQ(params(R"({"a": {"type": "LONG", "expression": "b"}, "b": {"type": "LONG", "expression": "a"}})"),
              "workflow.params.a: parameters refer to each other in a circle: a, b, a");
    EXPECT_EQ(params(R"({"a": {"type": "LONG", "expression": "1 / 0"}})"),
              "workflow.params.a: division by zero (line 1, column 3)");
    EXPECT_EQ(params(R"({"owner": {"type": "STRING", "value": "eve"}})"),
              "workflow.params.owner: the parameter is CONSTANT and cannot be changed by DEFINITION");
    // What only a run knows cannot be tried.
    EXPECT_EQ(
        params(
            R"j({"a": {"type": "LONG", "expression": "params.getFromSignal('s', 'p') / 0"}, "b": {"type": "STRING", "value": "$signal__p"}},
                 "signal_triggers": [{"definitions": {"signal": {}}}])j"),
        "");
    EXPECT_EQ(
        params(
            R"j({"a": {"type": "LONG", "expression": "given / 0"}}, "signal_triggers": [{"definitions": {"s": {}}, "params": {"given": {"type": "LONG", "value": 1}}}])j"),
        "");
    TestWorld world;
    world.looks_until_stop = 3;
    auto checked = workflow::check_definition(
        R"({"workflow": {"id": "w", "steps": [], "params": {"a": {"type": "LONG", "expression": "for (i = 0; i < 25000; i += 1) for (j = 0; j < 25000; j += 1) {} 1"}}}})",
        world, {});
    EXPECT_EQ(checked.kind, sel::OutcomeKind::stopped);
    workflow::release(checked);
}

// ---- names ---------------------------------------------------------------------------------------------------------

// A step "a" with these members and a step "b", which follows it.
std::string check_names(std::string_view of_a, std::string_view of_workflow = "") {
    return check(R"({"workflow": {"id": "w", "params": {"region": {"type": "STRING", "value": "eu"}}, "steps": [
        {"step": {"id": "a", "type": "NoOp")" +
                 std::string(of_a) +
                 R"(}}, {"step": {"id": "b", "type": "NoOp", "params": {"rows": {"type": "LONG", "value": 1}}}}])" +
                 std::string(of_workflow) + "}}");
}
std::string condition(std::string_view text) {
    return check_names(R"(, "params": {"rows": {"type": "LONG", "value": 1}}, "transition": {"successors": {"b": ")" +
                       std::string(text) + "\"}}");
}
std::string expression(std::string_view text) {
    return check_names(R"(, "params": {"x": {"type": "STRING", "expression": ")" + std::string(text) + "\"}}");
}

TEST(Definition_Names, ATypoInAConditionIsNamedWithTheNearestName) {
    const std::string at = "workflow.steps[0].step.transition.successors.b: there is no parameter ";
    EXPECT_EQ(condition("region == 'eu'"), "");
    EXPECT_EQ(condition("regoin == 'eu'"), at + R"("regoin": did you mean "region"?)");
    EXPECT_EQ(condition("row > 1 && region != RUN_DAT"),
              at + "\"row\": did you mean \"rows\"?\n" + at + "\"RUN_DAT\": did you mean \"RUN_DATE\"?");
    EXPECT_EQ(condition("rows > a__row"), at + R"("a__row": did you mean "a__rows"?)");
    EXPECT_EQ(condition("somewhere == null"), at + R"("somewhere")");
    EXPECT_EQ(condition("String s = 'x'; t = s + region; t == s"), "");
    EXPECT_EQ(condition("params['regoin'] == null || params.get('q') == null || params.r == null"), "");
    EXPECT_EQ(
        condition("step_id == 'a' && workflow_id == 'w' && DERIVED_RUN_DATE_UTC != owner && step_attempt_id == 1"), "");
    EXPECT_EQ(condition("a__rows > 0 && a__MAESTRO_STEP_STATUS == 'SUCCEEDED'"), "");
}

TEST(Definition_Names, AStepReadsItselfAndTheStepsBeforeIt) {
    const std::string at = "workflow.steps[0].step.params.x.expression: ";
    EXPECT_EQ(expression("b__rows"), at + R"("b__rows" cannot be read here: the step "b" does not come before)");
    EXPECT_EQ(expression("c__rows"),
              at + R"(there is no parameter "c__rows": no step before and no signal of a trigger is named "c")");
    EXPECT_EQ(expression("x + region"), "");
    const std::string steps =
        R"([{"step": {"id": "one", "type": "NoOp", "params": {"n": {"type": "LONG", "value": 1}}, "transition": {"successors": {"two": "true"}}}},
        {"step": {"id": "two", "type": "NoOp", "timeout": "${one__n} min", "params": {"m": {"type": "LONG", "expression": "one__n"}, "t": {"type": "STRING", "value": "$one__k $m ${two__m}"}}}}])";
    EXPECT_EQ(check(with_steps(steps)),
              R"(workflow.steps[1].step.params.t.value: there is no parameter "one__k": did you mean "one__n"?)");
}

TEST(Definition_Names, TextsAreReadToo) {
    const auto text = [](std::string_view members) { return check_names(", " + std::string(members)); };
    const std::string at = "workflow.steps[0].step.";
    const std::string typo = R"(there is no parameter "regoin": did you mean "region"?)";
    EXPECT_EQ(text(R"("timeout": "$regoin")"), at + "timeout: " + typo);
    EXPECT_EQ(
        text(
            R"("retry_policy": {"error_retry_limit": "$regoin", "backoff": {"type": "FIXED_BACKOFF", "timeout_retry_backoff_in_secs": "$regoin"}})"),
        at + "retry_policy.error_retry_limit: " + typo + "\n" + at +
            "retry_policy.backoff.timeout_retry_backoff_in_secs: " + typo);
    EXPECT_EQ(text(R"("params": {"t": {"type": "STRING", "value": "$$regoin ${regoin}"}})"),
              at + "params.t.value: " + typo);
    EXPECT_EQ(text(R"("params": {"t": {"type": "STRING_ARRAY", "value": ["$region", "$regoin"]}})"),
              at + "params.t.value[1]: " + typo);
    EXPECT_EQ(text(R"("params": {"t": {"type": "STRING_MAP", "value": {"k": "$regoin"}}})"),
              at + "params.t.value.k: " + typo);
    EXPECT_EQ(text(R"("params": {"t": {"type": "MAP", "value": {"k": {"type": "LONG", "expression": "regoin"}}}})"),
              at + "params.t.value.k.expression: " + typo);
    EXPECT_EQ(
        text(R"("params": {"_t": {"type": "STRING", "value": "x"}, "u": {"type": "STRING", "value": "$_t ${_v}"}})"),
        at + R"(params.u.value: there is no parameter "_v": did you mean "_t"?)");
    EXPECT_EQ(
        text(
            R"("signal_dependencies": [{"name": "s", "match_params": {"day": {"param": {"type": "STRING", "value": "$regoin"}, "operator": "="}}}])"),
        at + "signal_dependencies[0].match_params.day.param.value: " + typo);
    EXPECT_EQ(
        text(
            R"("signal_outputs": [{"name": "s", "params": {"day": {"type": "STRING", "value": "$region"}}, "payload": {"p": {"type": "STRING", "expression": "day + regoin"}}}])"),
        at + R"(signal_outputs[0].payload.p.expression: there is no parameter "day")" + "\n" + at +
            "signal_outputs[0].payload.p.expression: " + typo);
    EXPECT_EQ(check_names("", R"(, "timeout": "$regoin")"), "workflow.timeout: " + typo);
}

TEST(Definition_Names, OfTheWorkflowsParameters) {
    const auto params = [](std::string_view json) { return check_workflow(R"(, "params": )" + std::string(json)); };
    EXPECT_EQ(params(R"({"a": {"type": "STRING", "value": "$gone"}})"),
              "workflow.params.a.value: there is no parameter \"gone\"");
    EXPECT_EQ(params(R"({"day": {"type": "STRING", "value": "x"}, "a": {"type": "STRING", "expression": "dya"}})"),
              "workflow.params.a.expression: there is no parameter \"dya\": did you mean \"day\"?");
    EXPECT_EQ(params(R"({"a": {"type": "STRING", "expression": "params['gone'] == null ? 'x' : 'y'"}})"), "");
    EXPECT_EQ(params(R"({"a": {"type": "STRING", "expression": "step_id"}})"),
              "workflow.params.a.expression: there is no parameter \"step_id\"");
    EXPECT_EQ(params(R"({"a": {"type": "STRING", "value": "$s__x"}})"),
              "workflow.params.a.value: there is no parameter \"s__x\": no step before and no signal of a trigger is "
              "named \"s\"");
}

TEST(Definition_Names, OfLoops) {
    const auto loop = [](std::string_view kind, std::string_view inner, std::string_view members = "") {
        return check(with_steps(
            R"([{"step": {"id": "first", "type": "NoOp", "params": {"n": {"type": "LONG", "value": 1}}, "transition": {"successors": {"l": "true"}}}},
            {")" +
            std::string(kind) +
            R"(": {"id": "l", "params": {"other": {"type": "LONG", "value": 1}, "loop_params": {"type": "MAP", "value": {"i": {"type": "LONG)" +
            std::string(kind == "foreach" ? "_ARRAY\", \"value\": [1]" : "\", \"value\": 1") +
            R"(}}}}, "steps": [{"step": {"id": "in", "type": "NoOp", "params": {"x": {"type": "LONG", "expression": ")" +
            std::string(inner) + "\"}}}}]" + std::string(members) +
            R"(, "transition": {"successors": {"last": "true"}}}}, {"step": {"id": "last", "type": "NoOp"}}])"));
    };
    for (const std::string_view known : {"i", "loop_index", "other", "first__n", "RUN_TS", "params['j']"})
        EXPECT_EQ(loop("foreach", known), "") << known;
    const std::string at = "workflow.steps[1].foreach.steps[0].step.params.x.expression: ";
    EXPECT_EQ(loop("foreach", "j"), at + "there is no parameter \"j\"");
    EXPECT_EQ(loop("foreach", "loop_idx"), at + "there is no parameter \"loop_idx\": did you mean \"loop_index\"?");
    EXPECT_EQ(loop("foreach", "last__x"),
              at + "\"last__x\" cannot be read here: the step \"last\" does not come before");
    EXPECT_EQ(loop("while", "i", R"(, "condition": "i < other && loop_index < first__n")"), "");
    EXPECT_EQ(loop("while", "i", R"(, "condition": "ii < 5")"),
              "workflow.steps[1].while.condition: there is no parameter \"ii\": did you mean \"i\"?");
    EXPECT_EQ(
        loop("while", "ii", R"(, "condition": "i < 5")"),
        "workflow.steps[1].while.steps[0].step.params.x.expression: there is no parameter \"ii\": did you mean \"i\"?");
}

TEST(Definition_Names, OfASubworkflowStep) {
    EXPECT_EQ(check_step("subworkflow", R"("params": {"subworkflow_id": {"type": "STRING", "value": "$gone"}})"),
              "workflow.steps[0].subworkflow.params.subworkflow_id.value: there is no parameter \"gone\"");
}

TEST(Definition_Names, OfTriggers) {
    const auto trigger = [](std::string_view members) {
        return check_names("",
                           R"(, "signal_triggers": [{"definitions": {"loaded": {}}, )" + std::string(members) + "}]");
    };
    EXPECT_EQ(trigger(R"("condition": "loaded__rows > 1", "dedup_expr": "loaded__day")"), "");
    EXPECT_EQ(trigger(R"("condition": "loadde__rows > 1")"),
              "workflow.signal_triggers[0].condition: there is no parameter \"loadde__rows\": a trigger reads those of "
              "its signals, as \"signal__parameter\"");
    EXPECT_EQ(trigger(R"("dedup_expr": "region")"),
              "workflow.signal_triggers[0].dedup_expr: there is no parameter \"region\": a trigger reads those of its "
              "signals, as \"signal__parameter\"");
    EXPECT_EQ(
        trigger(R"("params": {"region": {"type": "STRING", "value": "$loaded__region $regoin"}})"),
        "workflow.signal_triggers[0].params.region.value: there is no parameter \"regoin\": did you mean \"region\"?");
}

TEST(Definition_Names, AnAmbiguousNameIsRefused) {
    const std::string steps =
        R"([{"step": {"id": "one", "type": "NoOp", "params": {"_n": {"type": "LONG", "value": 1}}, "transition": {"successors": {"two": "true"}}}},
        {"step": {"id": "one_", "type": "NoOp", "params": {"n": {"type": "LONG", "value": 2}}, "transition": {"successors": {"two": "one___n == 2"}}}},
        {"step": {"id": "two", "type": "NoOp", "params": {"m": {"type": "LONG", "expression": "one___n"}}}}])";
    const std::string what =
        R"("one___n" can mean a parameter of the step "one" and one of the step "one_"; params.getFromStep(step, parameter) names one)";
    EXPECT_EQ(check(with_steps(steps)), "workflow.steps[1].step.transition.successors.two: " + what +
                                            "\nworkflow.steps[2].step.params.m.expression: " + what);
}

} // namespace
} // namespace test_definition
