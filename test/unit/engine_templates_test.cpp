// Steps with job templates (Maestro, sections 1.8 and 4.4).
#include <gtest/gtest.h>

#include "engine.h"
#include "model/workflow/definition.h"

namespace test_engine_templates {
namespace {

using namespace engine_test;

// ---- what a template is --------------------------------------------------------------------------------------------

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
    return problems_of(workflow::check_template(json, world, {}));
}
std::string check_family(std::string_view templates, std::string_view job_type) {
    TestWorld world;
    return problems_of(workflow::check_inheritance(templates, {job_type, "1"}, world, {}));
}
std::string make(std::string_view job_type, std::string_view more = "", std::string_view type = "Job") {
    return R"({"job_type": ")" + std::string(job_type) + R"(", "version": "1", "type": ")" + std::string(type) + "\"" +
           std::string(more) + "}";
}
std::string inherits(std::string_view parent) { return R"(, "inherit_from": {")" + std::string(parent) + R"(": "1"})"; }

TEST(Template_1_8, Request) {
    EXPECT_EQ(check(make("a")), "");
    EXPECT_EQ(check(R"({"definition": )" + make("a") + R"(, "status": "beta", "more": [1]})"), "");
    EXPECT_EQ(check(R"({"a": 1e999})"), ": has a number that is out of range");
    EXPECT_EQ(check("5"), ": must be an object");
    EXPECT_EQ(check(R"({"definition": null})"), "definition: must be an object");
    EXPECT_EQ(check(R"({"definition": {"job_type": "a", "type": "b", "more": 1}, "status": 1})"),
              "definition.more: is not known here\nstatus: must be a string");
    EXPECT_EQ(
        check(R"({"job_type": "", "version": "-"})"),
        "job_type: \"\" must consist of letters, digits, \".\", \"-\" and \"_\", and begin with a letter, a digit "
        "or \"_\"\nversion: \"-\" must consist of letters, digits, \".\", \"-\" and \"_\", and begin with a "
        "letter, a digit or \"_\"\n: has no \"type\"");
    EXPECT_EQ(check(make(std::string(129, 'a'))), "job_type: has 129 characters, and at most 128 are possible");
    EXPECT_EQ(check(make("a", R"(, "inherit_from": {"b": 1, "c": ""})")),
              "inherit_from.b: must be the version of the template, a string\n"
              "inherit_from.c: must be the version of the template, a string");
}

TEST(Template_1_8, ParametersMayHaveModesOfTheSystem) {
    EXPECT_EQ(check(make("a", with_params(R"("p": {"type": "LONG", "internal_mode": "REQUIRED"})"))), "");
    EXPECT_EQ(check(make("a", with_params(R"("step_id": {"type": "LONG", "value": 1},
        "maestro": {"type": "LONG", "value": 1},
        "m": {"type": "MAP", "value": {"n": {"type": "LONG", "value": 1, "source": "SYSTEM"}}},
        "q": {"type": "LONG"})"))),
              "params.q: has neither \"value\" nor \"expression\"\n"
              "params.step_id: is a parameter that every step has\n"
              "params.maestro: \"maestro\" is reserved\n"
              "params.m.value.n: source is the system's to set");
}

TEST(Template_1_8, CirclesAndMissingParentsAreRefusedWithTheirPlace) {
    EXPECT_EQ(check_family("[" + make("a") + "]", "a"), "");
    EXPECT_EQ(check_family("[" + make("a") + "]", "b"), ": there is no job template \"b\" of version \"1\"");
    EXPECT_EQ(check_family("[" + make("a", inherits("b")) + "]", "a"),
              "inherit_from.b: there is no job template \"b\" of version \"1\"");
    EXPECT_EQ(check_family("[" + make("a", inherits("b")) + "," + make("b", inherits("c")) + "]", "a"),
              "inherit_from.b: there is no job template \"c\" of version \"1\"");
    const std::string circle =
        "[" + make("a", inherits("b")) + "," + make("b", inherits("c")) + "," + make("c", inherits("b")) + "]";
    EXPECT_EQ(check_family(circle, "a"),
              "inherit_from.b: templates inherit from each other in a circle: \"b\" \"1\", \"c\" \"1\", \"b\" \"1\"");
    EXPECT_EQ(check_family("[" + make("a", inherits("b") + with_params(R"("p": {"type": "LONG", "value": 1})")) + "," +
                               make("b", with_params(R"("p": {"type": "BOOLEAN", "value": true})")) + "]",
                           "a"),
              "params.p: the parameter is BOOLEAN, and this LONG cannot become one");
}

TEST(Template_1_8, AncestorsHaveABound) {
    for (const int most : {31, 32}) {
        std::string family = "[" + make("t0");
        for (int i = 1; i <= most; i++)
            family += "," + make("t" + std::to_string(i), inherits("t" + std::to_string(i - 1)));
        EXPECT_EQ(check_family(family + "]", "t" + std::to_string(most)),
                  most == 31 ? "" : "inherit_from.t31: inherits over more than 32 templates");
    }
}

// What a definition has wrong that is read with templates.
TEST(Template_1_8, DefinitionsAreHeldAgainstThem) {
    TestWorld world;
    const auto check_definition = [&](std::string_view params, std::string_view step, std::string_view templates) {
        return workflow::check_definition(R"({"workflow": {"id": "w", "params": {)" + std::string(params) +
                                              R"(}, "steps": [{"step": {"id": "s", "type": "Job")" + std::string(step) +
                                              "}}]}}",
                                          world, {}, {}, templates);
    };
    const auto wanted = [&](std::string_view params, std::string_view step) {
        workflow::Checked checked = check_definition(params, step, {});
        std::string names;
        for (const auto &[job_type, version] : checked.templates)
            names += std::string(job_type) + " " + std::string(version) + ";";
        workflow::release(checked);
        return names;
    };
    EXPECT_EQ(wanted("", ""), "");
    EXPECT_EQ(wanted("", R"(, "sub_type_version": "2")"), "");
    EXPECT_EQ(wanted("", R"(, "sub_type": "a")"), "a default;");
    EXPECT_EQ(wanted("", R"(, "sub_type": "a", "sub_type_version": "2")"), "a 2;");
    const std::string named = R"("job_template_version": {"type": "STRING", "value": "3"})";
    EXPECT_EQ(wanted(named, R"(, "sub_type": "a")"), "a 3;");
    EXPECT_EQ(wanted(R"("job_template_version": {"type": "STRING", "value": "$RUN_DATE"})", R"(, "sub_type": "a")"),
              "a ;");

    const auto problems = [&](std::string_view step, std::string_view templates) {
        return problems_of(check_definition("", step, templates));
    };
    const std::string none = R"({"templates": [], "known": []})";
    const std::string others = R"({"templates": [], "known": ["a"]})";
    const std::string there = R"({"templates": [)" +
                              make("a", with_params(R"("p": {"type": "LONG", "value": 1, "mode": "CONSTANT"},
            "q": {"type": "LONG", "internal_mode": "REQUIRED"})")) +
                              R"(], "known": ["a"]})";
    EXPECT_EQ(problems("", none), "");
    EXPECT_EQ(problems(R"(, "sub_type": "a")", none), "") << "a type without templates adds nothing";
    EXPECT_EQ(problems(R"(, "sub_type": "a")", others), "") << "a run can name another version";
    EXPECT_EQ(problems(R"(, "sub_type": "a", "sub_type_version": "2")", others),
              "workflow.steps[0].step.sub_type_version: there is no job template \"a\" of version \"2\"");
    EXPECT_EQ(problems(R"(, "sub_type": "a", "sub_type_version": "1")", there), "")
        << "a run can have what is required";
    EXPECT_EQ(
        problems(R"(, "sub_type": "a", "sub_type_version": "1", "params": {"p": {"type": "LONG", "value": 2}})", there),
        "workflow.steps[0].step.params.p: the parameter is CONSTANT and cannot be changed by DEFINITION");
    EXPECT_EQ(problems(R"(, "sub_type": "a", "sub_type_version": "1")",
                       R"({"templates": [)" + make("a", "", "Other") + R"(], "known": ["a"]})"),
              "workflow.steps[0].step.sub_type_version: job template \"a\" of version \"1\" is for steps of type "
              "\"Other\", and the step is \"Job\"");
    EXPECT_EQ(problems(R"(, "sub_type": "a", "sub_type_version": "1")",
                       R"({"templates": [)" + make("a", inherits("b")) + R"(], "known": ["a"]})"),
              "workflow.steps[0].step.sub_type_version: job template \"a\" of version \"1\": inherit_from.b: there is "
              "no job template \"b\" of version \"1\"");
}

// ---- in runs -------------------------------------------------------------------------------------------------------

std::string from(std::string_view job_type, std::string_view more = R"(, "sub_type_version": "1")") {
    return R"(, "sub_type": ")" + std::string(job_type) + "\"" + std::string(more);
}
// Without those that every step has.
std::string own_params(const Keeper &keeper, std::string_view step, std::int64_t scope = 1) {
    const std::string &params = keeper.scopes.at(scope).steps.at(std::string(step)).params;
    const auto end = params.find(R"("step_instance_uuid")");
    const auto next = params.find(',', end);
    return end == std::string::npos || next == std::string::npos ? "" : params.substr(next + 1);
}
std::string error_of(const Keeper &keeper, std::string_view step) {
    return keeper.scopes.at(1).steps.at(std::string(step)).error;
}

TEST(Template_4_4, ParametersAreBelowThoseOfTheDefinition) {
    Keeper keeper(with_steps(job("a", "{}", from("t") + with_params(R"("q": {"type": "LONG", "value": 5})"))));
    keeper.templates = "[" + make("t", with_params(R"("p": {"type": "LONG", "expression": "q + 1"},
        "q": {"type": "LONG", "value": 1})")) +
                       "]";
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a RUNNING");
    EXPECT_EQ(own_params(keeper, "a"), R"("p":6,"q":5})");
}

TEST(Template_4_4, WithoutSubTypeNothingIsAsked) {
    Keeper keeper(with_steps(job("a")));
    keeper.start();
    EXPECT_TRUE(keeper.asked.empty());
}

TEST(Template_1_8, ATurnAsksOnceForEach) {
    Keeper keeper(with_steps(loop_over("l", R"("i": {"type": "LONG_ARRAY", "value": [1, 2, 3]})",
                                       job("a", "{}", from("t")) + "," + job("b", "{}", from("u")))));
    keeper.templates = "[" + make("t") + "," + make("u") + "]";
    keeper.start();
    EXPECT_EQ(keeper.asked, (std::vector<std::string>{"t 1", "u 1"}));
}

TEST(Template_1_8, ATypeWithoutTemplatesAddsNothing) {
    Keeper keeper(with_steps(job("a", "{}", from("t"))));
    keeper.has_no_templates = true;
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a RUNNING");
}

TEST(Template_1_8, VersionOfTheStepOfTheRunOrDefault) {
    const auto version = [](std::string_view of_step, std::string_view of_run) {
        Keeper keeper(with_steps(job("a", "{}", from("t", of_step)),
                                 of_run.empty() ? std::string{}
                                                : with_params(R"("job_template_version": )" + std::string(of_run))));
        keeper.start();
        EXPECT_EQ(keeper.steps(), "a FATALLY_FAILED");
        EXPECT_EQ(keeper.asked.size(), 1U);
        return keeper.asked[0] + ": " + error_of(keeper, "a");
    };
    EXPECT_EQ(version("", ""), R"(t default: {"message":"there is no job template \"t\" of version \"default\""})");
    EXPECT_EQ(version("", R"({"type": "STRING", "value": "x"})"),
              R"(t x: {"message":"there is no job template \"t\" of version \"x\""})");
    EXPECT_EQ(version(R"(, "sub_type_version": "y")", R"({"type": "STRING", "value": "x"})"),
              R"(t y: {"message":"there is no job template \"t\" of version \"y\""})");
    EXPECT_EQ(version("", R"({"type": "STRING", "value": ""})"),
              R"(t default: {"message":"there is no job template \"t\" of version \"default\""})");
}

TEST(Template_1_8, ParametersOfTheWorkflowGoOverThoseOfTheTemplate) {
    Keeper keeper(with_steps(job("a", "{}", from("t") + with_params(R"("own": {"type": "LONG", "value": 9})")),
                             with_params(R"("p": {"type": "STRING", "value": "7"}, "own": {"type": "LONG", "value": 8},
                                            "other": {"type": "LONG", "value": 1}, "m": {"type": "MAP", "value":
                                            {"y": {"type": "LONG", "value": 2}}})")));
    keeper.templates = "[" +
                       make("t", with_params(R"("p": {"type": "LONG", "value": 1}, "own": {"type": "LONG", "value": 1},
            "m": {"type": "MAP", "value": {"x": {"type": "LONG", "value": 1}}})")) +
                       "]";
    keeper.start();
    EXPECT_EQ(own_params(keeper, "a"), R"("p":7,"own":9,"m":{"x":1,"y":2}})");
}

TEST(Template_1_8, AParentIsMergedOnceAndBeforeItsChildren) {
    Keeper keeper(with_steps(job("a", "{}", from("t"))));
    keeper.limited = R"(["base"])";
    keeper.templates =
        "[" +
        make("t", R"(, "inherit_from": {"right": "1", "left": "1"}, "tags": ["mine"])" +
                      with_params(R"("c": {"type": "LONG", "value": 3})")) +
        "," + make("left", inherits("base") + with_params(R"("b": {"type": "LONG", "value": 2})")) + "," +
        make("right", inherits("base") + with_params(R"("c": {"type": "LONG", "value": 2})")) + "," +
        make("base", R"(, "tags": ["base", {"name": "free"}])" +
                         with_params(R"("a": {"type": "LONG", "value": 1}, "b": {"type": "LONG", "value": 1})")) +
        "]";
    keeper.start();
    EXPECT_EQ(own_params(keeper, "a"), R"("a":1,"b":2,"c":3})");
    EXPECT_EQ(keeper.steps(), "a WAITING_FOR_PERMITS") << "a tag of a parent has a pool";
    EXPECT_EQ(keeper.tasks.begin()->second.needs, R"({"tag:base":{"permits":1}})");
}

TEST(Template_4_2, ModesHoldForDefinitionRunAndOutput) {
    const std::string fixed = "[" + make("t", with_params(R"("p": {"type": "LONG", "value": 1, "mode": "IMMUTABLE"},
        "q": {"type": "LONG", "value": 1}, "r": {"type": "LONG", "internal_mode": "OPTIONAL"})")) +
                              "]";
    Keeper run(with_steps(job("a", "{}", from("t")), with_params(R"("p": {"type": "LONG", "value": 2})")));
    run.templates = fixed;
    run.start();
    EXPECT_EQ(error_of(run, "a"),
              R"({"message":"p: the parameter is IMMUTABLE and cannot be changed by WORKFLOW_PARAMETER","param":"p"})");
    Keeper other(with_steps(job("a", "{}", from("t")), with_params(R"("q": {"type": "LONG", "value": 2})")));
    other.templates = fixed;
    other.start();
    EXPECT_EQ(own_params(other, "a"), R"("p":1,"q":2})");
    other.complete("a", R"({"params": {"q": "5"}})");
    EXPECT_EQ(own_params(other, "a"), R"("p":1,"q":5})");
    Keeper output(with_steps(job("a", "{}", from("t"))));
    output.templates = fixed;
    output.start();
    output.complete("a", R"({"params": {"p": 5}})");
    EXPECT_EQ(error_of(output, "a"),
              R"({"message":"p: the parameter is IMMUTABLE and cannot be changed by OUTPUT_PARAMETER","param":"p"})");
}

TEST(Template_4_2, WhatIsRequiredMustHaveAValue) {
    const std::string required =
        "[" + make("t", with_params(R"("p": {"type": "LONG", "internal_mode": "REQUIRED"})")) + "]";
    Keeper nothing(with_steps(job("a", "{}", from("t"))));
    nothing.templates = required;
    nothing.start();
    EXPECT_EQ(error_of(nothing, "a"), R"x({"message":"p: a value is required (LONG)","param":"p"})x");
    Keeper run(with_steps(job("a", "{}", from("t")), with_params(R"("p": {"type": "LONG", "value": 2})")));
    run.templates = required;
    run.start();
    EXPECT_EQ(own_params(run, "a"), R"("p":2})");
}

TEST(Template_1_8, TheTypesMustBeEqual) {
    Keeper keeper(with_steps(job("a", "{}", from("t")) + "," + job("b", "{}", from("u"))));
    keeper.templates = "[" + make("t", "", "jOB") + "," + make("u", "", "Jobs") + "]";
    keeper.start();
    EXPECT_EQ(keeper.steps(), "a RUNNING, b FATALLY_FAILED");
    EXPECT_EQ(error_of(keeper, "b"), "{\"message\":\"job template \\\"u\\\" of version \\\"1\\\" is for steps of type "
                                     "\\\"Jobs\\\", and the step is \\\"Job\\\"\"}");
}

TEST(Template_1_8, AnAttemptKeepsWhatItHasBegunWith) {
    Keeper keeper(with_steps(job("a", R"({"b": "true"})", from("t") + R"(, "retry_policy": {"error_retry_limit": 1})") +
                             "," + job("b", "{}", from("t"))));
    const auto of = [](std::string_view value) {
        return "[" + make("t", with_params(R"("p": {"type": "LONG", "value": )" + std::string(value) + "}")) + "]";
    };
    keeper.templates = of("1");
    keeper.start();
    keeper.templates = of("2");
    EXPECT_EQ(own_params(keeper, "a"), R"("p":1})");
    keeper.fail("a");
    keeper.world.now += 100'000;
    EXPECT_TRUE(keeper.wait());
    EXPECT_EQ(own_params(keeper, "a"), R"("p":2})") << "the next one has what there is now";
    keeper.templates = "[]";
    keeper.complete("a", R"({"params": {"p": 7}})");
    EXPECT_EQ(own_params(keeper, "a"), R"("p":7})") << "output does not need the template";
    EXPECT_EQ(keeper.steps(), "a SUCCEEDED, b FATALLY_FAILED");
}

TEST(Template_1_8, AQueueCanComeFromIt) {
    Keeper keeper(with_steps(job("a", "{}", from("t"))));
    keeper.templates = "[" + make("t", with_params(R"("queue": {"type": "STRING", "value": "fast"})")) + "]";
    keeper.start();
    EXPECT_EQ(keeper.tasks.begin()->second.queue, "fast");
}

TEST(Template_1_8, AStepThatIsSkippedNeedsNone) {
    Keeper keeper(with_steps(job("a", "{}", from("t") + R"(, "retry_policy": {"error_retry_limit": 1})")));
    keeper.templates = "[" + make("t") + "]";
    keeper.start();
    keeper.templates = "[]";
    keeper.fail("a");
    keeper.send({.kind = EventKind::skip, .scope = 1, .step = "a"});
    EXPECT_EQ(keeper.steps(), "a SKIPPED");
}

} // namespace
} // namespace test_engine_templates
