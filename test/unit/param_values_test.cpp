// Parameters: types and forms (Maestro, section 4.1), interpolation (4.5), references and the order of evaluation
// (4.6).
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "params.h"

namespace test_param_values {
namespace {

namespace sel = scylla::model::sel;
namespace workflow = scylla::model::workflow;

TEST(Params_4_1, Types) {
    EXPECT_EQ(values_of(R"({"s": {"type": "STRING", "value": "x"}, "l": {"type": "LONG", "value": 5},
                            "d": {"type": "DOUBLE", "value": 1.50}, "b": {"type": "BOOLEAN", "value": true}})"),
              R"({"s":"x","l":5,"d":1.5,"b":true})");
    EXPECT_EQ(values_of(R"({"s": {"type": "STRING_ARRAY", "value": ["x"]}, "l": {"type": "LONG_ARRAY", "value": [5]},
                            "d": {"type": "DOUBLE_ARRAY", "value": [1.5]},
                            "b": {"type": "BOOLEAN_ARRAY", "value": [true, false]},
                            "e": {"type": "LONG_ARRAY", "value": []}})"),
              R"({"s":["x"],"l":[5],"d":[1.5],"b":[true,false],"e":[]})");
    EXPECT_EQ(values_of(R"({"m": {"type": "STRING_MAP", "value": {"k": "v"}}})"), R"({"m":{"k":"v"}})");
    EXPECT_EQ(values_of(R"({"m": {"type": "MAP", "value": {"n": {"type": "LONG", "value": 1},
                            "o": {"type": "MAP", "value": {"e": {"type": "STRING", "expression": "'a' + 1"}}}}}})"),
              R"({"m":{"n":1,"o":{"e":"a1"}}})");
}

TEST(Params_4_1, NamesInAnyCase) {
    EXPECT_EQ(values_of(R"({"x": {"type": "long", "value": 1, "mode": "Immutable"}})"), R"({"x":1})");
}

TEST(Params_4_1, ValueOrExpression) {
    EXPECT_EQ(values_of(R"({"x": {"type": "LONG", "expression": "1 + 1"}})"), R"({"x":2})");
    EXPECT_EQ(problems_of(R"({"x": {"type": "LONG", "value": 1, "expression": "1"}})"),
              R"(x: has both "value" and "expression")");
    EXPECT_EQ(problems_of(R"({"x": {"type": "LONG"}})"), R"(x: has neither "value" nor "expression")");
    EXPECT_EQ(values_of(R"({"x": {"type": "LONG", "value": null, "expression": "1 + 1"}})"), R"({"x":2})");
    EXPECT_EQ(problems_of(R"({"x": {"type": "LONG", "value": null}})"), R"(x: has neither "value" nor "expression")");
    EXPECT_EQ(problems_of(R"({"x": {"type": "LONG", "internal_mode": "required"}})"), "");
}

TEST(Params_4_1, EveryProblemHasItsPlace) {
    EXPECT_EQ(problems_of("[]"), ": must be an object whose members are parameters");
    EXPECT_EQ(problems_of(R"({"x": 1})"),
              R"(x: must be an object with the members "type" and "value" or "expression")");
    EXPECT_EQ(problems_of(R"({"x": {"value": 1}})"), R"(x: has no "type")");
    EXPECT_EQ(problems_of(R"({"x": {"value": 1, "type": 5}})"), "x.type: must be a string");
    EXPECT_EQ(problems_of(R"({"x": {"value": 1, "type": "INT"}})"), R"(x.type: "INT" is not a type of parameters)");
    EXPECT_EQ(problems_of(R"({"x": {"value": 1, "type": "LONG", "mode": "final"}})"),
              R"(x.mode: "final" is not a mode of parameters)");
    EXPECT_EQ(
        problems_of(R"({"x": {"value": 1, "type": "LONG", "internal_mode": "x", "source": "y"}})"),
        "x.internal_mode: \"x\" is not a system mode of parameters\nx.source: \"y\" is not a source of parameters");
    EXPECT_EQ(problems_of(R"({"x": {"type": "LONG", "expresion": "1"}})"),
              "x.expresion: is not known here\nx: has neither \"value\" nor \"expression\"");
    EXPECT_EQ(problems_of(R"({"x": {"type": "LONG", "expression": "1 +\n +"}})"),
              "x.expression: the expression ends too early (line 2, column 3)");
    EXPECT_EQ(problems_of(R"({"x": {"type": "LONG", "expression": 1}})"), "x.expression: must be a string");
    EXPECT_EQ(problems_of(R"({"x": {"type": "LONG", "value": "y"}})"), "x.value: STRING is not LONG");
    EXPECT_EQ(problems_of(R"({"a b": {"type": "LONG_ARRAY", "value": 5}})"),
              R"(["a b"].value: LONG is not LONG_ARRAY)");
    EXPECT_EQ(problems_of(R"({"m": {"type": "MAP", "value": {"n": {"type": "LONG", "value": null}}}})"),
              R"(m.value.n: has neither "value" nor "expression")");
    EXPECT_EQ(problems_of(R"({"x": {"type": "LONG", "value": 1, "tags": ["a", {"name": "b"}, 5, "a"]}})"),
              "x.tags[2]: must be a name or an object with a \"name\"\nx.tags[3]: the tag \"a\" is there twice");
    EXPECT_EQ(problems_of(R"({"x": {"type": "LONG", "value": 1, "tags": 5, "meta": 5, "validator": 5}})"),
              "x.tags: must be an array\nx.validator: must be a string\nx.meta: must be an object");
}

TEST(Params_4_1, ProblemsAreBounded) {
    std::string json = "{";
    for (int i = 0; i < 1'000; i++)
        json += (i == 0 ? "\"p" : ",\"p") + std::to_string(i) + "\": 1";
    Desk desk;
    workflow::Problems problems;
    desk.read(json + "}", problems);
    EXPECT_EQ(problems.found().size(), workflow::Problems::k_most);
}

// Rule 7 of section 4.3: what is representable is taken.
TEST(Params_4_3, ValuesOfOtherTypes) {
    const auto as = [](std::string_view type, std::string_view value) {
        return values_of(R"({"x": {"type": ")" + std::string(type) + R"(", "expression": ")" + std::string(value) +
                         "\"}}");
    };
    EXPECT_EQ(as("STRING", "234"), R"({"x":"234"})");
    EXPECT_EQ(as("STRING", "122.12"), R"({"x":"122.12"})");
    EXPECT_EQ(as("STRING", "true"), R"({"x":"true"})");
    EXPECT_EQ(as("STRING", "new DateTime(0)"), R"({"x":"1970-01-01T00:00:00.000Z"})");
    EXPECT_EQ(as("STRING", "DateTimeZone.UTC"), R"({"x":"UTC"})");
    EXPECT_EQ(as("DOUBLE", "'122'"), R"({"x":122.0})");
    EXPECT_EQ(as("DOUBLE", "7"), R"({"x":7.0})");
    EXPECT_EQ(as("LONG", "'234'"), R"({"x":234})");
    EXPECT_EQ(as("LONG", "7.0"), R"({"x":7})");
    EXPECT_EQ(as("LONG", "Days.daysBetween(new DateTime(0), new DateTime(86400000))"), R"({"x":1})");
    EXPECT_EQ(as("BOOLEAN", "'trUe'"), R"({"x":true})");
    EXPECT_EQ(as("STRING_ARRAY", "new long[]{1, 2}"), R"({"x":["1","2"]})");
    EXPECT_EQ(as("DOUBLE_ARRAY", "new long[]{1, 2}"), R"({"x":[1.0,2.0]})");
    EXPECT_EQ(as("STRING_MAP", "Map m = new HashMap(); m.put('k', 1); m"), R"({"x":{"k":"1"}})");
    EXPECT_EQ(as("MAP", "Map m = new HashMap(); m.put('k', new long[]{1}); m"), R"({"x":{"k":[1]}})");

    EXPECT_EQ(as("LONG", "7.5"), "x: the value is DOUBLE, not LONG");
    EXPECT_EQ(as("LONG", "1e19"), "x: the value is DOUBLE, not LONG");
    EXPECT_EQ(as("LONG", "'1x'"), "x: the value is STRING, not LONG");
    EXPECT_EQ(as("LONG", "true"), "x: the value is BOOLEAN, not LONG");
    EXPECT_EQ(as("BOOLEAN", "'yes'"), "x: the value is STRING, not BOOLEAN");
    EXPECT_EQ(as("BOOLEAN", "1"), "x: the value is LONG, not BOOLEAN");
    EXPECT_EQ(as("STRING", "null"), "x: the value is NULL, not STRING");
    EXPECT_EQ(as("STRING", "new long[1]"), "x: the value is LONG_ARRAY, not STRING");
    EXPECT_EQ(as("STRING_ARRAY", "'a'"), "x: the value is STRING, not STRING_ARRAY");
    EXPECT_EQ(as("DOUBLE", "1.0 / 0"), "x: the value is DOUBLE, not DOUBLE");
    EXPECT_EQ(as("LONG", "String s;"), "x: the value is VOID, not LONG");
}

TEST(Params_4_5, TextsAreFilledIn) {
    constexpr std::string_view k_around =
        R"({"n": 5, "name": "world", "list": [1, "a"], "odd": "$name", "a-b.c": true, "m": {"k": 1.5}})";
    const auto literal = [&](std::string_view type, std::string_view value) {
        return values_of(R"({"x": {"type": ")" + std::string(type) + R"(", "value": )" + std::string(value) + "}}",
                         k_around);
    };
    EXPECT_EQ(literal("STRING", R"("hello $name, ${a-b.c} $n$$ $ $1")"), R"({"x":"hello world, true 5$ $ $1"})");
    EXPECT_EQ(literal("STRING", R"("$list ${m}")"), R"({"x":"[1,\"a\"] {\"k\":1.5}"})");
    EXPECT_EQ(literal("STRING", R"("$odd")"), R"({"x":"$name"})"); // one pass
    EXPECT_EQ(literal("STRING_ARRAY", R"(["$n", "b"])"), R"({"x":["5","b"]})");
    EXPECT_EQ(literal("STRING_MAP", R"({"$name": "$n"})"), R"({"x":{"world":"5"}})");
    EXPECT_EQ(literal("MAP", R"({"$name": {"type": "STRING", "value": "$n"}})"), R"({"x":{"$name":"5"}})");
    EXPECT_EQ(literal("STRING", R"("a\n $gone")"), "x: there is no parameter \"gone\" (line 2, column 2)");
    EXPECT_EQ(literal("MAP", R"({"k": {"type": "STRING", "value": "$gone"}})"),
              "x.k: there is no parameter \"gone\" (line 1, column 1)");
}

TEST(Params_4_6, OrderFollowsReferences) {
    EXPECT_EQ(values_of(R"({"a": {"type": "LONG", "expression": "b + params['c']"},
                            "b": {"type": "LONG", "expression": "params.get('c') * 2"},
                            "d": {"type": "STRING", "value": "$a and ${b}"},
                            "c": {"type": "LONG", "value": 3},
                            "e": {"type": "MAP", "value": {"f": {"type": "STRING", "expression": "d + '!'"}}},
                            "g": {"type": "STRING", "expression": "e['f']"}})"),
              R"({"a":9,"b":6,"d":"9 and 6","c":3,"e":{"f":"9 and 6!"},"g":"9 and 6!"})");
}

TEST(Params_4_6, CirclesAreNamed) {
    EXPECT_EQ(values_of(R"({"z": {"type": "LONG", "value": 1}, "a": {"type": "LONG", "expression": "b"},
                            "b": {"type": "STRING_MAP", "value": {"k": "${c}"}},
                            "c": {"type": "MAP", "value": {"m": {"type": "LONG", "expression": "a + z"}}}})"),
              "a: parameters refer to each other in a circle: a, b, c, a");
    EXPECT_EQ(values_of(R"({"a": {"type": "LONG", "expression": "a + 1"}})"),
              "a: parameters refer to each other in a circle: a, a");
    EXPECT_EQ(values_of(R"({"a": {"type": "LONG", "expression": "params['' + 'b']"},
                            "b": {"type": "LONG", "expression": "params['a' + '']"}})"),
              "a: parameters refer to each other in a circle: a");
}

// How a loop counts: i = i + 1.
TEST(Params_4_6, OwnNameIsTheOneAround) {
    EXPECT_EQ(values_of(R"({"i": {"type": "LONG", "expression": "i + 1"}, "j": {"type": "LONG", "expression": "i"},
                            "s": {"type": "STRING", "value": "$s!"}})",
                        R"({"i": 7, "s": "x"})"),
              R"({"i":8,"j":8,"s":"x!"})");
}

TEST(Params_4_6, AValidatorChecksTheValue) {
    EXPECT_EQ(values_of(R"({"x": {"type": "LONG", "value": 7, "validator": "param > 5"}})"), R"({"x":7})");
    EXPECT_EQ(values_of(R"({"x": {"type": "LONG", "value": 3, "validator": "param > 5"}})"),
              "x: the value does not satisfy the validator param > 5");
    EXPECT_EQ(values_of(R"({"x": {"type": "STRING", "expression": "'a' + y", "validator": "param.length() == most"},
                            "y": {"type": "STRING", "value": "b"}, "most": {"type": "LONG", "value": 2}})"),
              R"({"x":"ab","y":"b","most":2})");
    EXPECT_EQ(
        values_of(
            R"({"x": {"type": "LONG_ARRAY", "value": [1, 2], "validator": "param != null && param.size() > 2"}})"),
        "x: the value does not satisfy the validator param != null && param.size() > 2");
    EXPECT_EQ(values_of(R"({"x": {"type": "LONG", "value": 3, "validator": "param + 1"}})"),
              "x: validator: BOOLEAN is expected, not LONG");
    EXPECT_EQ(values_of(R"({"x": {"type": "LONG", "value": 3, "validator": "gone > 1"}})"),
              "x: validator: there is no parameter \"gone\" (line 1, column 1)");
    EXPECT_EQ(problems_of(R"({"x": {"type": "LONG", "value": 1, "validator": "param >"}})"),
              "x.validator: the expression ends too early (line 1, column 8)");
}

TEST(Params_4_6, OwnBeforeAround) {
    EXPECT_EQ(values_of(R"({"x": {"type": "LONG", "value": 1}, "y": {"type": "LONG", "expression": "x + w"}})",
                        R"({"x": 100, "w": 10})"),
              R"({"x":1,"y":11})");
}

TEST(Params_4_6, OtherSteps) {
    EXPECT_EQ(values_of(R"j({"x": {"type": "STRING", "value": "$step__p"},
                            "y": {"type": "LONG", "expression": "params.getFromStep('step', 'p') + step__p"},
                            "z": {"type": "STRING", "expression": "params['later__p'] == null ? 'none' : 'some'"}})j",
                        R"({"step__p": 4})"),
              R"({"x":"4","y":8,"z":"none"})");
    EXPECT_EQ(values_of(R"({"x": {"type": "BOOLEAN", "expression": "later__p == null"}})"),
              "x: there is no parameter \"later__p\" (line 1, column 1)");
    EXPECT_EQ(values_of(R"({"x": {"type": "STRING", "value": "$later__p"}})"),
              "x: there is no parameter \"later__p\" (line 1, column 1)");
    EXPECT_EQ(values_of(R"j({"x": {"type": "LONG", "expression": "params.getFromStep('later', 'p')"}})j"),
              "x: getFromStep() found nothing for \"later\", \"p\" (line 1, column 8)");
}

// An expression has values, not the parameters themselves: it cannot change what others read.
TEST(Params_4_6, AnExpressionChangesNoParameter) {
    EXPECT_EQ(values_of(R"j({"m": {"type": "STRING_MAP", "value": {"k": "v"}},
                            "a": {"type": "LONG", "expression": "m.put('k', 'w'); m.put('l', 'x'); 1"},
                            "n": {"type": "STRING", "expression": "a + m['k'] + m.size()"},
                            "l": {"type": "LONG_ARRAY", "value": [1]},
                            "o": {"type": "LONG_ARRAY", "expression": "l[0] = 2; l"}})j"),
              R"({"m":{"k":"v"},"a":1,"n":"1v1","l":[1],"o":[2]})");
}

TEST(Params_4_6, FaultsNameTheParameter) {
    EXPECT_EQ(values_of(R"({"a": {"type": "LONG", "expression": "b"}, "b": {"type": "LONG", "expression": "1 / 0"}})"),
              "b: division by zero (line 1, column 3)");
    // The place is that of the fault, also after other parameters have been read on the way.
    EXPECT_EQ(values_of(R"({"a": {"type": "LONG", "expression": "params['' + 'b'] /\n 0"},
                            "b": {"type": "LONG", "expression": "\n\n  1 + 1"}})"),
              "a: division by zero (line 1, column 18)");
}

TEST(Params_4_6, LongChainsNeedNoStack) {
    std::string json = R"({"p0": {"type": "LONG", "expression": "0"})";
    for (int i = 1; i <= 5'000; i++)
        json +=
            ",\"p" + std::to_string(i) + R"(": {"type": "LONG", "expression": "p)" + std::to_string(i - 1) + " + 1\"}";
    EXPECT_NE(values_of(json + "}").find("\"p5000\":5000}"), std::string::npos);
    // Names that are computed cannot be followed before.
    std::string computed = R"({"q0": {"type": "LONG", "expression": "0"})";
    for (int i = 200; i > 0; i--)
        computed += ",\"q" + std::to_string(i) + R"(": {"type": "LONG", "expression": "params['q' + )" +
                    std::to_string(i - 1) + "]\"}";
    EXPECT_EQ(values_of(computed + "}"), "q72: parameters that compute names of parameters are nested too deeply");
}

// Section 1.5: the values of a run or step are at most 750,000 characters; section 4.7: what they may use together.
TEST(Params_1_5, LengthAtTheLimit) {
    // {"m":{"k":"…"}} has 14 characters beside the value.
    const auto map = [](std::size_t length) {
        return values_of(R"({"m": {"type": "MAP", "value": {"k": {"type": "STRING", "value": ")" +
                         std::string(length, 'x') + R"("}}}})");
    };
    EXPECT_EQ(map(749'986).size(), 750'000U);
    EXPECT_EQ(map(749'987), "the result is longer than 750000 characters");
    std::string wide = R"({"m": {"type": "STRING_MAP", "value": {)";
    for (int i = 10'000; i < 34'000; i++)
        wide += (i == 10'000 ? "\"" : ",\"") + std::to_string(i) + R"(": "sixteen letters!")";
    EXPECT_EQ(values_of(wide + "}}}").size(), 24'000U * 27 - 1 + 8);
}

TEST(Params_1_5, LimitsHoldForAllTogether) {
    const std::string big(400'000, 'x');
    const std::string one = R"({"a": {"type": "STRING", "value": ")" + big + "\"}";
    EXPECT_EQ(values_of(one + "}").size(), 400'008U);
    EXPECT_EQ(values_of(one + R"(, "b": {"type": "STRING", "value": "$a"}})"),
              "the result is longer than 750000 characters");
    Desk desk;
    desk.limits.steps = 100'000;
    std::string many = "{";
    for (int i = 0; i < 20; i++)
        many += (i == 0 ? "\"p" : ",\"p") + std::to_string(i) +
                R"(": {"type": "LONG", "expression": "n = 0; while (n < 1000) n += 1; n"})";
    const auto params = desk.read(many + "}");
    const auto text = or_failure(
        [&] { return workflow::write_values(desk.context, workflow::evaluate_params(desk.context, params)); });
    EXPECT_NE(text.find("the expression takes more than 100000 steps"), std::string::npos) << text;
}

// Random parameters that refer to each other, against a naive evaluation that follows each reference.
class Naive {
public:
    explicit Naive(const std::vector<std::set<int>> &references) : references_{references} {}

    bool circular() {
        for (std::size_t i = 0; i < references_.size(); i++) {
            std::set<int> path;
            if (reaches_itself(static_cast<int>(i), path))
                return true;
        }
        return false;
    }
    std::int64_t value(int place) {
        if (const auto known = values_.find(place); known != values_.end())
            return known->second;
        std::int64_t sum = place;
        for (const int other : references_[static_cast<std::size_t>(place)])
            sum += value(other);
        return values_[place] = sum % 1'000;
    }

private:
    bool reaches_itself(int place, std::set<int> &path) {
        if (done_.contains(place))
            return false;
        if (!path.insert(place).second)
            return true;
        for (const int other : references_[static_cast<std::size_t>(place)]) {
            if (reaches_itself(other, path))
                return true;
        }
        path.erase(place);
        done_.insert(place);
        return false;
    }

    const std::vector<std::set<int>> &references_;
    std::set<int> done_{};
    std::map<int, std::int64_t> values_{};
};

TEST(Params_4_6, RandomReferences) {
    std::mt19937 random(46);
    const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
    int circles = 0;
    for (int round = 0; round < 1'000; round++) {
        const int count = 1 + below(12);
        std::vector<std::set<int>> references(static_cast<std::size_t>(count));
        for (int edge = below(2 * count); edge > 0; edge--)
            references[static_cast<std::size_t>(below(count))].insert(below(count));
        std::string json;
        std::string expected;
        Naive naive(references);
        const bool circular = naive.circular();
        for (int i = 0; i < count; i++) {
            std::string sum = std::to_string(i);
            for (const int other : references[static_cast<std::size_t>(i)]) {
                const std::string name = "p" + std::to_string(other);
                const int form = below(4); // the last one is a name that no scan finds
                sum += " + " + (form == 0   ? name
                                : form == 1 ? "params['" + name + "']"
                                : form == 2 ? "params.get('" + name + "')"
                                            : "params['p' + " + std::to_string(other) + "]");
            }
            json += (i == 0 ? "{\"p" : ",\"p") + std::to_string(i) + R"(": {"type": "LONG", "expression": "()" + sum +
                    ") % 1000\"}";
            if (!circular)
                expected += (i == 0 ? "{\"p" : ",\"p") + std::to_string(i) + "\":" + std::to_string(naive.value(i));
        }
        const std::string values = values_of(json + "}");
        if (circular)
            EXPECT_NE(values.find(": parameters refer to each other in a circle: p"), std::string::npos)
                << json << values;
        else
            EXPECT_EQ(values, expected + "}") << json;
        circles += circular ? 1 : 0;
    }
    EXPECT_GT(circles, 100);
    EXPECT_LT(circles, 900);
}

} // namespace
} // namespace test_param_values
