// Parameters: modes (Maestro, section 4.2), merging (4.3), layers and default parameters (4.4), output (4.8).
#include <gtest/gtest.h>

#include <random>

#include "model/workflow/param_defaults.h"
#include "model/workflow/param_values.h"
#include "params.h"

namespace test_param_merge {
namespace {

namespace sel = scylla::model::sel;
namespace workflow = scylla::model::workflow;
using workflow::Merge;
using workflow::ParamMap;
using workflow::ParamSource;

// As text: {x: LONG 1 MUTABLE DEFINITION [tag] @validator, …}
std::string show(Desk &desk, const ParamMap &params) {
    std::string text = "{";
    for (const auto &[name, param] : params) {
        text += (text.size() == 1 ? "" : ", ") + name + ": " + std::string(name_of(param.type)) + " ";
        if (param.form == workflow::ParamForm::expression)
            text += "`" + param.expression + "`";
        else if (param.form == workflow::ParamForm::literal)
            text += param.type == workflow::ParamType::map ? show(desk, param.members)
                                                           : sel::write_json(desk.context, param.value);
        text += param.mode ? " " + std::string(name_of(*param.mode)) : "";
        text += param.source ? " " + std::string(name_of(*param.source)) : "";
        for (const std::string &tag : param.tags)
            text += " #" + tag;
        text += param.validator.empty() ? "" : " @" + param.validator;
    }
    return text + "}";
}

std::string merged(std::string_view base, std::string_view incoming, const Merge &merge = {ParamSource::launch}) {
    Desk desk;
    ParamMap into;
    return or_failure([&] {
        workflow::merge_params(desk.context, into, desk.read(base), {ParamSource::system});
        workflow::merge_params(desk.context, into, desk.read(incoming), merge);
        return show(desk, into);
    });
}

// A parameter x of that mode, and whether the source may change it.
std::string change(std::string_view mode, const Merge &merge) {
    return merged(R"({"x": {"type": "LONG", "value": 1, "mode": ")" + std::string(mode) + "\"}}",
                  R"({"x": {"type": "LONG", "value": 2}})", merge);
}

TEST(Params_4_2, WhoMayChangeWhichMode) {
    constexpr Merge k_definition{ParamSource::definition};
    constexpr Merge k_run{ParamSource::launch};
    constexpr Merge k_restart{ParamSource::restart};
    constexpr Merge k_output{ParamSource::output_parameter};
    struct Row {
        std::string_view mode;
        bool definition, run, restart, output;
    };
    for (const auto &[mode, definition, run, restart, output] :
         {Row{"MUTABLE", true, true, true, true}, Row{"MUTABLE_ON_START_RESTART", true, true, true, false},
          Row{"MUTABLE_ON_START", true, true, false, false}, Row{"IMMUTABLE", false, false, false, false},
          Row{"CONSTANT", false, false, false, false}}) {
        const auto expect = [&](const Merge &merge, bool may) {
            const std::string source(name_of(merge.source));
            EXPECT_EQ(change(mode, merge),
                      may ? "{x: LONG 2 " + std::string(mode) + " " + source + "}"
                          : "x: the parameter is " + std::string(mode) + " and cannot be changed by " + source);
        };
        expect(k_definition, definition);
        expect(k_run, run);
        expect(k_restart, restart);
        expect(k_output, output);
    }
    for (const ParamSource source : {ParamSource::signal, ParamSource::time_trigger, ParamSource::subworkflow,
                                     ParamSource::foreach, ParamSource::while_, ParamSource::template_})
        EXPECT_EQ(change("MUTABLE_ON_START", {source}),
                  "{x: LONG 2 MUTABLE_ON_START " + std::string(name_of(source)) + "}");
    // A restart bounds all that comes with it.
    EXPECT_EQ(change("MUTABLE_ON_START", {.source = ParamSource::launch, .restart = true}),
              "x: the parameter is MUTABLE_ON_START and cannot be changed by LAUNCH");
}

TEST(Params_4_3, Rule1_ANewOneIsTaken) {
    EXPECT_EQ(
        merged("{}", R"({"x": {"type": "LONG", "value": 1}, "y": {"type": "LONG", "value": 2, "mode": "CONSTANT"}})"),
        "{x: LONG 1 MUTABLE LAUNCH, y: LONG 2 CONSTANT LAUNCH}");
}

TEST(Params_4_3, Rule2_TheSameIsKept) {
    EXPECT_EQ(
        merged(R"({"x": {"type": "LONG", "value": 1, "mode": "CONSTANT"}})", R"({"x": {"type": "LONG", "value": 1}})"),
        "{x: LONG 1 CONSTANT LAUNCH}");
    // Also one that becomes the same when it has the type of the other.
    EXPECT_EQ(merged(R"({"x": {"type": "STRING", "value": "1", "mode": "CONSTANT"}})",
                     R"({"x": {"type": "LONG", "value": 1}})"),
              "{x: STRING \"1\" CONSTANT LAUNCH}");
    EXPECT_EQ(merged(R"({"x": {"type": "LONG", "value": 1}})", R"({"x": {"type": "LONG", "value": 1}})",
                     {ParamSource::system_injected}),
              "{x: LONG 1 MUTABLE SYSTEM}");
}

TEST(Params_4_3, Rule3_WhatOthersThanTheSystemCannotDo) {
    constexpr std::string_view k_base = R"({"x": {"type": "LONG", "value": 1, "mode": "MUTABLE_ON_START"}})";
    EXPECT_EQ(merged(k_base, R"({"x": {"type": "LONG", "value": 2, "source": "SYSTEM"}})"),
              "x: the source of a parameter cannot be set");
    EXPECT_EQ(merged("{}", R"({"x": {"type": "LONG", "value": 2, "source": "LAUNCH"}})"),
              "x: the source of a parameter cannot be set");
    EXPECT_EQ(merged(k_base, R"({"x": {"type": "LONG", "value": 2, "internal_mode": "OPTIONAL"}})"),
              "x: the system mode of a parameter cannot be set");
    EXPECT_EQ(merged(k_base, R"({"x": {"type": "LONG", "value": 2, "mode": "MUTABLE"}})"),
              "x: the mode of the parameter cannot be lowered from MUTABLE_ON_START to MUTABLE");
    EXPECT_EQ(merged(k_base, R"({"x": {"type": "LONG", "value": 2, "mode": "IMMUTABLE"}})"), // it may be raised
              "{x: LONG 2 IMMUTABLE LAUNCH}");
    EXPECT_EQ(merged(R"({"x": {"type": "LONG", "value": 1, "internal_mode": "RESERVED"}})",
                     R"({"x": {"type": "LONG", "value": 2}})"),
              "x: the parameter is CONSTANT and cannot be changed by LAUNCH");
}

TEST(Params_4_3, Rule4_WhatIsPassedDown) {
    constexpr std::string_view k_base = R"({"x": {"type": "LONG", "value": 1, "mode": "IMMUTABLE"}})";
    constexpr Merge k_down{.source = ParamSource::foreach, .upstream = true};
    EXPECT_EQ(merged(k_base, R"({"x": {"type": "LONG", "value": 2, "source": "LAUNCH", "mode": "MUTABLE"}})", k_down),
              "x: the source of a parameter cannot be set");
    EXPECT_EQ(merged(k_base, R"({"x": {"type": "LONG", "value": 1}})", k_down), "{x: LONG 1 IMMUTABLE SYSTEM}");
    EXPECT_EQ(merged(R"({"x": {"type": "LONG", "value": 1}})", R"({"x": {"type": "LONG", "value": 2}})", k_down),
              "{x: LONG 2 MUTABLE FOREACH}");
    EXPECT_EQ(merged(R"({"m": {"type": "MAP", "value": {"x": {"type": "LONG", "value": 1, "mode": "CONSTANT"}}}})",
                     R"({"m": {"type": "MAP", "value": {"x": {"type": "LONG", "value": 2}}}})", k_down),
              "m.x: the parameter is CONSTANT and cannot be changed by FOREACH");
    EXPECT_EQ(merged(k_base, R"({"x": {"type": "LONG", "value": 2}})", k_down),
              "x: the parameter is IMMUTABLE and cannot be changed by FOREACH");
}

TEST(Params_4_3, Rule5_TheSystemMayDoAnything) {
    EXPECT_EQ(merged(R"({"x": {"type": "LONG", "value": 1, "mode": "CONSTANT"}})",
                     R"({"x": {"type": "LONG", "value": 2, "mode": "MUTABLE"}})", {ParamSource::system_injected}),
              "{x: LONG 2 MUTABLE SYSTEM_INJECTED}");
    EXPECT_EQ(merged("{}", R"({"x": {"type": "LONG", "value": 2, "source": "LAUNCH"}})", {ParamSource::system}),
              "{x: LONG 2 MUTABLE LAUNCH}");
}

TEST(Params_4_3, Rule6_MapsMergeMemberByMember) {
    constexpr std::string_view k_map =
        R"({"m": {"type": "MAP", "value": {"a": {"type": "LONG", "value": 1},
            "b": {"type": "MAP", "value": {"c": {"type": "STRING", "value": "x"}}}}}})";
    EXPECT_EQ(merged(k_map, R"({"m": {"type": "MAP", "value": {"b": {"type": "MAP", "value":
                               {"c": {"type": "LONG", "value": 5}, "d": {"type": "LONG", "value": 6}}}}}})"),
              "{m: MAP {a: LONG 1 MUTABLE SYSTEM, b: MAP {c: STRING \"5\" MUTABLE LAUNCH, d: LONG 6 MUTABLE LAUNCH} "
              "MUTABLE LAUNCH} MUTABLE LAUNCH}");
    EXPECT_EQ(merged(R"({"m": {"type": "STRING_MAP", "value": {"a": "1", "b": "2"}}})",
                     R"({"m": {"type": "STRING_MAP", "value": {"b": "3", "c": "4"}}})"),
              R"({m: STRING_MAP {"a":"1","b":"3","c":"4"} MUTABLE LAUNCH})");
    // Modes hold for members, those of the map and their own.
    constexpr std::string_view k_new = R"({"m": {"type": "MAP", "value": {"z": {"type": "LONG", "value": 5}}}})";
    EXPECT_EQ(merged(R"({"m": {"type": "MAP", "mode": "CONSTANT", "value": {}}})", k_new),
              "m: the parameter is CONSTANT and cannot be changed by LAUNCH");
    EXPECT_EQ(
        merged(R"({"m": {"type": "MAP", "value": {"z": {"type": "LONG", "value": 1, "mode": "CONSTANT"}}}})", k_new),
        "m.z: the parameter is CONSTANT and cannot be changed by LAUNCH");
    EXPECT_EQ(merged(R"({"m": {"type": "MAP", "mode": "MUTABLE_ON_START", "value": {}}})", k_new),
              "{m: MAP {z: LONG 5 MUTABLE_ON_START LAUNCH} MUTABLE_ON_START LAUNCH}");
    // Expressions are replaced, or replace.
    EXPECT_EQ(merged(R"({"m": {"type": "MAP", "expression": "n"}})", R"({"m": {"type": "MAP", "expression": "o"}})"),
              "{m: MAP `o` MUTABLE LAUNCH}");
    EXPECT_EQ(merged(R"({"m": {"type": "MAP", "value": {}}})", R"({"m": {"type": "MAP", "expression": "o"}})"),
              "{m: MAP `o` MUTABLE LAUNCH}");
    EXPECT_EQ(merged(R"({"m": {"type": "MAP", "expression": "n"}})", k_new),
              "m: a MAP that is an expression cannot be merged with members");
    EXPECT_EQ(
        merged(R"({"m": {"type": "STRING_MAP", "expression": "n"}})", R"({"m": {"type": "STRING_MAP", "value": {}}})"),
        "m: a STRING_MAP that is an expression cannot be merged with members");
    EXPECT_EQ(
        merged(R"({"a": {"type": "LONG_ARRAY", "value": [1, 2]}})", R"({"a": {"type": "LONG_ARRAY", "value": [3]}})"),
        "{a: LONG_ARRAY [3] MUTABLE LAUNCH}");
}

TEST(Params_4_3, Rule7_TypesOfTheBase) {
    const auto becomes = [](std::string_view type, std::string_view with) {
        constexpr std::string_view k_null = R"(": {"internal_mode": "REQUIRED", "type": ")";
        const std::string text = merged("{\"x" + std::string(k_null) + std::string(type) + "\"}}",
                                        R"({"x": {"type": )" + std::string(with) + "}}");
        return text.substr(0, text.find(" MUTABLE"));
    };
    EXPECT_EQ(becomes("STRING", R"("LONG", "value": 234)"), "{x: STRING \"234\"");
    EXPECT_EQ(becomes("STRING", R"("DOUBLE", "value": 122.12)"), "{x: STRING \"122.12\"");
    EXPECT_EQ(becomes("DOUBLE", R"("STRING", "value": "122")"), "{x: DOUBLE 122.0");
    EXPECT_EQ(becomes("LONG", R"("STRING", "value": "234")"), "{x: LONG 234");
    EXPECT_EQ(becomes("BOOLEAN", R"("STRING", "value": "trUe")"), "{x: BOOLEAN true");
    EXPECT_EQ(becomes("STRING_ARRAY", R"("LONG_ARRAY", "value": [1, 2])"), R"({x: STRING_ARRAY ["1","2"])");
    EXPECT_EQ(becomes("LONG", R"("STRING", "expression": "'5'")"), "{x: LONG `'5'`");
    EXPECT_EQ(becomes("MAP", R"("STRING_MAP", "expression": "y")"), "{x: MAP `y`");
    EXPECT_EQ(becomes("LONG", R"("STRING", "value": "x")"),
              "x: the parameter is LONG, and this STRING cannot become one");
    EXPECT_EQ(becomes("MAP", R"("STRING", "value": "x")"),
              "x: the parameter is MAP, and this STRING cannot become one");
    EXPECT_EQ(becomes("STRING", R"("MAP", "value": {})"), "x: the parameter is STRING, and this MAP cannot become one");
    EXPECT_EQ(becomes("MAP", R"("STRING_MAP", "value": {})"),
              "x: the parameter is MAP, and this STRING_MAP cannot become one");
}

TEST(Params_4_3, Rule8_TagsOrderValidator) {
    EXPECT_EQ(merged(R"({"b": {"type": "LONG", "value": 1, "tags": ["t", "u"], "validator": "old"},
                         "a": {"type": "LONG", "value": 1, "validator": "kept"}})",
                     R"({"c": {"type": "LONG", "value": 3}, "a": {"type": "LONG", "value": 2},
                         "b": {"type": "LONG", "value": 2, "tags": ["v", {"name": "t"}], "validator": "newer"}})"),
              "{b: LONG 2 MUTABLE LAUNCH #t #u #v @newer, a: LONG 2 MUTABLE LAUNCH @kept, c: LONG 3 MUTABLE LAUNCH}");
}

TEST(Params_4_3, AfterMerging) {
    const auto finished = [](std::string_view json) {
        Desk desk;
        auto params = desk.read(json);
        return or_failure([&] {
            workflow::finish_merge(params);
            return show(desk, params);
        });
    };
    EXPECT_EQ(finished(R"({"a": {"type": "LONG", "internal_mode": "OPTIONAL"},
                           "b": {"type": "MAP", "value": {}, "internal_mode": "OPTIONAL"},
                           "c": {"type": "LONG", "value": 1, "internal_mode": "OPTIONAL"}})"),
              "{c: LONG 1}");
    EXPECT_EQ(finished(R"({"a": {"type": "LONG", "internal_mode": "REQUIRED"}})"), "a: a value is required (LONG)");
    EXPECT_EQ(finished(R"({"m": {"type": "MAP", "value": {"a": {"type": "STRING", "internal_mode": "PROVIDED"}}}})"),
              "m.a: a value is required (STRING)");
}

TEST(Params_4_4, LayersOfAWorkflow) {
    Desk desk;
    const auto defaults = workflow::default_workflow_params();
    const auto definition = desk.read(R"({"x": {"type": "LONG", "value": 1}, "y": {"type": "LONG", "value": 1},
                                          "RUN_TS": {"type": "LONG", "value": 1625616000000}})");
    const auto run = desk.read(R"({"x": {"type": "STRING", "value": "2"}, "z": {"type": "LONG", "value": 3}})");
    const workflow::Layer layers[] = {{&defaults, {ParamSource::system_default}},
                                      {&definition, {ParamSource::definition}},
                                      {nullptr, {ParamSource::system}},
                                      {&run, {ParamSource::launch}}};
    desk.around =
        R"({"INITIATOR_TIMEZONE": "US/Pacific", "FIRST_TIME_TRIGGER_TIMEZONE": null, "owner": "ann", "workflow_id": "w"})";
    const auto text = or_failure([&] {
        const auto params = workflow::merge_layers(desk.context, layers);
        EXPECT_EQ(*params.find("x")->source, ParamSource::launch);
        EXPECT_EQ(*params.find("y")->source, ParamSource::definition);
        EXPECT_EQ(*params.find("RUN_DATE")->source, ParamSource::system_default);
        EXPECT_EQ(params.find("job_template_version"), nullptr);
        return workflow::write_values(desk.context, workflow::evaluate_params(desk.context, params));
    });
    EXPECT_EQ(text.substr(text.find("\"owner\"")), R"("owner":"ann","workflow_id":"w","x":2,"y":1,"z":3})");
}

// The dates of a moment, with the zone of the trigger. What the system says of a run cannot be overridden.
TEST(Params_4_4, DefaultParameters) {
    Desk desk;
    const auto values = [&](std::string_view definition, std::string_view around) {
        const auto defaults = workflow::default_workflow_params();
        const auto own = desk.read(definition);
        const workflow::Layer layers[] = {{&defaults, {ParamSource::system_default}}, {&own, {ParamSource::launch}}};
        desk.around = around;
        return or_failure([&] {
            return workflow::write_values(
                desk.context, workflow::evaluate_params(desk.context, workflow::merge_layers(desk.context, layers)));
        });
    };
    // 2021-07-07T00:30Z is still the day before in California.
    desk.world.now = 1'625'617'800'000;
    EXPECT_EQ(
        values(
            "{}",
            R"({"INITIATOR_TIMEZONE": null, "FIRST_TIME_TRIGGER_TIMEZONE": "US/Pacific", "owner": "o", "workflow_id": "w"})"),
        R"({"DSL_DEFAULT_TZ":"US/Pacific","WORKFLOW_CRON_TIMEZONE":"US/Pacific","RUN_TS":1625617800000,)"
        R"("TARGET_RUN_DATE":"20210706","TARGET_RUN_HOUR":"16","DERIVED_RUN_TS":1625616000000,)"
        R"("DERIVED_RUN_DATE_US_PACIFIC":"20210706","DERIVED_RUN_DATE_US_PACIFIC_MINUS_ONE":"20210705",)"
        R"("DERIVED_RUN_DATE_UTC":"20210707","DERIVED_RUN_DATE_UTC_MINUS_ONE":"20210706",)"
        R"("DERIVED_RUN_DATE_UTC_PLUS_ONE":"20210708","DERIVED_RUN_DATE_UTC_MINUS_ONE_HOUR":"20210706",)"
        R"("DERIVED_RUN_DATE_UTC_PLUS_ONE_HOUR":"20210707","DERIVED_RUN_HOUR_US_PACIFIC":"16",)"
        R"("DERIVED_RUN_HOUR_UTC":"00","DERIVED_RUN_HOUR_UTC_MINUS_ONE_HOUR":"23",)"
        R"("DERIVED_RUN_HOUR_UTC_PLUS_ONE_HOUR":"01","LOCAL_RUN_DATE":"20210706","RUN_DATE":"20210707",)"
        R"("RUN_DATE_MINUS_1":"20210706","RUN_DATE_MINUS_7":"20210630","owner":"o","workflow_id":"w"})");
    EXPECT_EQ(values(R"({"owner": {"type": "STRING", "value": "eve"}})", "{}"),
              "owner: the parameter is CONSTANT and cannot be changed by LAUNCH");
}

TEST(Params_4_4, DefaultParametersOfSteps) {
    Desk desk;
    const auto merge = [&](workflow::StepKind kind, std::string_view definition) {
        const auto step = workflow::default_step_params();
        const auto of_kind = workflow::default_params_of_kind(kind);
        const auto own = desk.read(definition);
        const workflow::Layer layers[] = {{&step, {ParamSource::system_default}},
                                          {&of_kind, {ParamSource::system_default}},
                                          {&own, {ParamSource::definition}}};
        desk.around = R"({"workflow_instance_id": 4, "step_id": "s", "step_attempt_id": 2, "step_instance_uuid": "u"})";
        return or_failure([&] {
            return workflow::write_values(
                desk.context, workflow::evaluate_params(desk.context, workflow::merge_layers(desk.context, layers)));
        });
    };
    EXPECT_EQ(merge(workflow::StepKind::typed, "{}"),
              R"({"workflow_instance_id":4,"step_id":"s","step_attempt_id":2,"step_instance_uuid":"u"})");
    EXPECT_EQ(merge(workflow::StepKind::foreach, "{}"), "loop_params: a value is required (MAP)");
    EXPECT_EQ(merge(workflow::StepKind::while_, R"({"loop_index": {"type": "LONG", "value": 3}})"),
              "loop_index: the parameter is CONSTANT and cannot be changed by DEFINITION");
    EXPECT_NE(merge(workflow::StepKind::while_, R"({"loop_params": {"type": "MAP", "value": {}}})")
                  .find(R"("loop_params":{},"loop_index":-1,"condition":false)"),
              std::string::npos);
    EXPECT_EQ(merge(workflow::StepKind::subworkflow, "{}"), "subworkflow_id: a value is required (STRING)");
    EXPECT_NE(merge(workflow::StepKind::subworkflow, R"({"subworkflow_id": {"type": "STRING", "value": "w"}})")
                  .find(R"("subworkflow_id":"w","subworkflow_version":"active")"),
              std::string::npos);
}

// The values of a run, as the parameters of the next one: not looked through for references, whatever they look like.
TEST(Params_4_4, EvaluatedParametersOfAnEarlierRun) {
    Desk desk;
    desk.around = R"({"n": "$n"})";
    const auto params =
        desk.read(R"({"s": {"type": "STRING", "value": "$n $$x"}, "l": {"type": "LONG", "expression": "7"},
        "m": {"type": "MAP", "expression": "Map m = new HashMap(); m.put('$n', '$n'); m.put('a', Arrays.asList(1, 'x')); m"}})");
    const auto values = workflow::evaluate_params(desk.context, params);
    const std::string text = workflow::write_values(desk.context, values);
    EXPECT_EQ(text, R"j({"s":"$n $x","l":7,"m":{"$n":"$n","a":[1,"x"]}})j");
    ParamMap kept;
    for (const auto &[name, value] : values)
        kept.put(name, workflow::make_evaluated(desk.context, params.find(name)->type, value));
    EXPECT_EQ(workflow::write_values(desk.context, workflow::evaluate_params(desk.context, kept)), text);
}

TEST(Params_4_8, Output) {
    const auto output = [](std::string_view params, std::string_view put_out) {
        Desk desk;
        auto into = desk.read(params);
        return or_failure([&] {
            workflow::merge_output(desk.context, into, desk.read(put_out));
            return show(desk, into);
        });
    };
    constexpr std::string_view k_params =
        R"({"x": {"type": "LONG", "value": 1}, "m": {"type": "STRING_MAP", "value": {"a": "1"}},
            "f": {"type": "LONG", "value": 1, "mode": "MUTABLE_ON_START"}})";
    EXPECT_EQ(output(k_params,
                     R"({"x": {"type": "STRING", "value": "5"}, "m": {"type": "STRING_MAP", "value": {"b": "2"}}})"),
              "{x: LONG 5 MUTABLE OUTPUT_PARAMETER, m: STRING_MAP {\"a\":\"1\",\"b\":\"2\"} MUTABLE OUTPUT_PARAMETER, "
              "f: LONG 1 MUTABLE_ON_START}");
    EXPECT_EQ(output(k_params, R"({"y": {"type": "LONG", "value": 5}})"),
              "y: the step has no such parameter to put out");
    EXPECT_EQ(output(k_params, R"({"f": {"type": "LONG", "value": 5}})"),
              "f: the parameter is MUTABLE_ON_START and cannot be changed by OUTPUT_PARAMETER");
}

// Random layers: nobody but the system changes a parameter whose mode forbids it, and no mode is ever lowered.
TEST(Params_4_3, RandomLayers) {
    std::mt19937 random(43);
    const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
    constexpr ParamSource k_sources[] = {ParamSource::definition, ParamSource::launch, ParamSource::restart,
                                         ParamSource::output_parameter};
    constexpr int k_strictest[] = {2, 2, 1, 0};
    int refused = 0;
    for (int round = 0; round < 3'000; round++) {
        Desk desk;
        ParamMap params;
        std::optional<int> mode;
        std::optional<int> value;
        for (int layer = 0; layer < 5; layer++) {
            const int source = below(4);
            const int new_value = below(3);
            const int new_mode = below(6) - 1; // -1: it is not written
            std::string json = R"({"x": {"type": "LONG", "value": )" + std::to_string(new_value);
            if (new_mode >= 0)
                json += R"(, "mode": ")" + std::string(name_of(static_cast<workflow::ParamMode>(new_mode))) + "\"";
            const auto incoming = desk.read(json + "}}");
            const int mode_then = new_mode >= 0 ? new_mode : mode.value_or(0);
            const bool changed = value && (*value != new_value || *mode != mode_then);
            const bool may = !changed || (*mode <= k_strictest[source] && mode_then >= *mode);
            const auto failure = or_failure([&] {
                workflow::merge_params(desk.context, params, incoming, {k_sources[source]});
                return std::string();
            });
            EXPECT_EQ(failure.empty(), may) << failure;
            refused += may ? 0 : 1;
            if (may) {
                mode = mode_then;
                value = new_value;
            }
            ASSERT_EQ(params.find("x")->value.number, *value);
            ASSERT_EQ(static_cast<int>(*params.find("x")->mode), *mode);
        }
    }
    EXPECT_GT(refused, 1'000);
}

} // namespace
} // namespace test_param_merge
