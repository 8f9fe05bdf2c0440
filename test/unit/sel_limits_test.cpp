// What an expression may use (Maestro, section 4.7: limits), and interpolation (section 4.5).
#include <gtest/gtest.h>

#include <ctime>

#include "model/sel/evaluate.h"
#include "model/sel/interpolate.h"
#include "model/sel/program.h"
#include "sel_world.h"

namespace test_sel_limits {
namespace {

namespace sel = scylla::model::sel;

// Of this process: other work on the machine does not count.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::string repeat(std::string_view text, int count) {
    std::string made;
    for (int i = 0; i < count; i++)
        made += text;
    return made;
}

TEST(Sel_4_7_Limits, Text) {
    EXPECT_EQ(eval(repeat("1+", 4'999) + "1"), "5000");
    EXPECT_EQ(eval(repeat("1+", 5'000) + "1"), "the expression is longer than 10000 characters");
    EXPECT_EQ(eval("'" + repeat("ä", 9'998) + "'.length()"), "the expression is longer than 10000 characters");
    EXPECT_EQ(eval("'" + repeat("ä", 9'989) + "'.length()"), "9989");
}

TEST(Sel_4_7_Limits, DepthOfTheText) {
    EXPECT_EQ(eval(repeat("(", 100) + "1" + repeat(")", 100)), "1");
    for (const std::string &text :
         {repeat("(", 5'000), repeat("!", 9'000) + "true", repeat("{", 9'000), repeat("a[", 3'000),
          repeat("if(true)", 1'000) + "1", repeat("x=", 3'000) + "1", repeat("true?", 1'900), repeat("a.b", 3'000),
          repeat("new int[]{", 900), repeat("'a'.length(", 800), repeat("- ", 4'000) + "1"})
        EXPECT_NE(eval(text).find("nested too deeply"), std::string::npos) << text.substr(0, 20) << eval(text);
    // What stands side by side is not nested.
    EXPECT_EQ(eval("x = 999; " + repeat("if (x == 1) 1; else ", 450) + "2"), "2");
    EXPECT_EQ(eval(repeat("false ? 1 : ", 800) + "2"), "2");
    EXPECT_EQ(eval(repeat("true && ", 1'200) + "true"), "true");
    EXPECT_EQ(eval(repeat("1;", 4'000)), "1");
}

TEST(Sel_4_7_Limits, DepthOfValues) {
    EXPECT_EQ(eval("m = new Map(); m.put('m', m); m"), "the result is nested too deeply");
    EXPECT_EQ(eval("m = new Map(); m.put('m', m); '' + m"), "1:34: the value is nested too deeply");
    EXPECT_EQ(eval("a", R"({"a": )" + repeat("[", 1'000) + repeat("]", 1'000) + "}"),
              "the parameters are nested too deeply");
}

TEST(Sel_4_7_Limits, Loops) {
    EXPECT_EQ(eval("n = 0; while (n < 25000) n += 1; n"), "25000");
    EXPECT_EQ(eval("while (true) 1;"), "1:1: the loop reaches 25001 iterations");
    EXPECT_EQ(eval("for (;;) {}"), "1:1: the loop reaches 25001 iterations");
}

TEST(Sel_4_7_Limits, Steps) {
    EXPECT_NE(eval("for (i = 0; i < 25000; i += 1) for (j = 0; j < 25000; j += 1) {}", "{}", {.steps = 1'000'000})
                  .find(": the expression takes more than 1000000 steps"),
              std::string::npos);
}

TEST(Sel_4_7_Limits, Arrays) {
    EXPECT_EQ(eval("new long[25000].length"), "25000");
    EXPECT_EQ(eval("new long[25001]"), "1:5: an array has 25001 elements or more");
    EXPECT_EQ(eval("'" + repeat("a ", 2) + "'.split(' ').length"), "2");
    EXPECT_NE(eval("s = 'a,'; for (i = 0; i < 15; i += 1) s += s; s.split(',')").find("25001 elements"),
              std::string::npos);
}

TEST(Sel_4_7_Limits, Memory) {
    EXPECT_EQ(eval("s = 'a'; while (true) s += s;"), "1:25: the expression needs too much memory");
    EXPECT_EQ(eval("m = new Map(); for (i = 0; i < 25000; i += 1) m.put('k' + i, new long[10000]);")
                  .find(": the expression needs too much memory"),
              4U);
    EXPECT_EQ(eval("s = 'aaaaaaaaaaaaaaaa'; for (i = 0; i < 20; i += 1) s = s.replace('a', 'aaaa');").find("1:"), 0U);
    // A string that grows piece by piece does not use up the memory.
    EXPECT_EQ(eval("s = ''; for (i = 0; i < 25000; i += 1) s += 'four' + i; s.length()", "{}", {.memory = 6'000'000}),
              "213890");
}

TEST(Sel_4_7_Limits, Output) {
    EXPECT_EQ(eval("'12345'", "{}", {.output = 7}), R"("12345")");
    EXPECT_EQ(eval("'123456'", "{}", {.output = 7}), "the result is longer than 7 characters");
    EXPECT_EQ(eval("'ääääää'", "{}", {.output = 8}), "\"ääääää\"");
    EXPECT_EQ(fill_in("$a$a", R"({"a": "1234"})", {.output = 7}), "1:3: the result is longer than 7 characters");
    EXPECT_NE(eval("a = new Map[20000]; m = new Map(); m.put('k', '" + repeat("x", 100) +
                   "'); for (i = 0; i < 20000; i += 1) a[i] = m; a")
                  .find("longer than 750000"),
              std::string::npos);
}

TEST(Sel_4_7_Limits, Time) {
    TestWorld world;
    world.steady_step = 1'000;
    const auto text = to_text(sel::evaluate_json("for (i = 0; i < 25000; i += 1) for (j = 0; j < 25000; j += 1) {}",
                                                 "{}", world, {.milliseconds = 5'000}));
    EXPECT_NE(text.find("the expression takes longer than 5000 milliseconds"), std::string::npos) << text;
}

TEST(Sel_4_7_Limits, Stop) {
    for (const char *text : {"for (i = 0; i < 25000; i += 1) for (j = 0; j < 25000; j += 1) {}",
                             "s = 'aaaaaaaa'; for (i = 0; i < 12; i += 1) s += s; s.replaceAll('(a*)*b', '')"}) {
        TestWorld world;
        world.looks_until_stop = 3;
        auto outcome = sel::evaluate_json(text, "{}", world, {});
        EXPECT_EQ(outcome.kind, sel::OutcomeKind::stopped) << text << outcome.text;
        sel::release(outcome);
    }
}

// However slow its parts, an evaluation looks often enough at whether to stop: no operation does much without counting.
TEST(Sel_4_7_Limits, TheMostExpensiveOnesEnd) {
    const double start = processor_seconds();
    for (const char *text :
         {"s = 'a'; for (i = 0; i < 20; i += 1) s += s; t = s + 'b'; s += s; for (;;) s.indexOf(t);",
          "s = 'a'; for (i = 0; i < 20; i += 1) s += s; t = 'b' + s; s += s; for (;;) s.lastIndexOf(t);",
          "s = 'a'; for (i = 0; i < 20; i += 1) s += s; t = s + 'b'; s += s; for (;;) s.replace(t, 'c');",
          "s = 'a'; for (i = 0; i < 20; i += 1) s += s; m = new Map(); for (;;) m[s] = 1;",
          "s = 'a'; for (i = 0; i < 20; i += 1) s += s; for (i = 0; i < 25000; i += 1) s.length();",
          "s = 'a'; for (i = 0; i < 20; i += 1) s += s; for (i = 0; i < 25000; i += 1) s.toUpperCase();",
          "s = 'a'; for (i = 0; i < 20; i += 1) s += s; for (i = 0; i < 25000; i += 1) s.indexOf('ab');",
          "s = 'a'; for (i = 0; i < 16; i += 1) s += s; s.replaceAll('(a{0,30}){0,30}b', '')",
          "for (i = 0; i < 25000; i += 1) Util.intsBetween(0, 25000, 1);",
          "for (i = 0; i < 25000; i += 1) String.format('%10000s', 'a');",
          "for (i = 0; i < 25000; i += 1) for (j = 0; j < 25000; j += 1) new DateTime(0).toString('EEEEEEEEE');"})
        EXPECT_NE(eval(text, "{}", {.steps = 2'000'000}).find("1:"), std::string::npos) << text;
    EXPECT_LT(processor_seconds() - start, 120.0); // without limits it would be hours
}

// Section 4.5.

constexpr std::string_view k_params =
    R"({"name": "world", "n": 5, "d": 1.5, "t": true, "list": [1, "a"], "m": {"k": [true]},
    "a-b.c/d_1": "odd", "nested": "$name", "nothing": null})";

TEST(Interpolation_4_5, References) {
    EXPECT_EQ(fill_in("hello $name, ${name}!", k_params), "hello world, world!");
    EXPECT_EQ(fill_in("${a-b.c/d_1}", k_params), "odd");
    EXPECT_EQ(fill_in("$name-x$n.5", k_params), "world-x5.5");
    EXPECT_EQ(fill_in("$n $d $t $nothing", k_params), "5 1.5 true null");
    EXPECT_EQ(fill_in("$list $m", k_params), R"([1,"a"] {"k":[true]})");
}

TEST(Interpolation_4_5, NamesMayBeginWithAnUnderscore) {
    constexpr std::string_view k_names = R"({"_x": 1, "x": 2, "__": 3, "_": 4, "_9": 5, "_count__rows": 6})";
    EXPECT_EQ(fill_in("$_x ${_x} $x", k_names), "1 1 2");
    EXPECT_EQ(fill_in("a$_x-$_9/${_count__rows}", k_names), "a1-5/6");
    EXPECT_EQ(fill_in("$__ ${_}", k_names), "3 4");
    EXPECT_EQ(fill_in("$$_x $${_x}", k_names), "$_x ${_x}");
    EXPECT_EQ(fill_in("$_y", k_names), "1:1: there is no parameter \"_y\"");
}

TEST(Interpolation_4_5, Dollars) {
    EXPECT_EQ(fill_in("$$name costs $$5", k_params), "$name costs $5");
    EXPECT_EQ(fill_in("$ $1 $- ${1} ${ $", k_params), "$ $1 $- ${1} ${ $");
    EXPECT_EQ(fill_in("${name", k_params), "${name");
    EXPECT_EQ(fill_in("", k_params), "");
}

// As long as the result may be, and with as many references: the time does not grow with their number squared.
TEST(Interpolation_4_5, ManyReferences) {
    EXPECT_EQ(fill_in(repeat("$n\n", 200'000), R"({"n": "ä"})").size(), 600'000U);
    EXPECT_EQ(fill_in(repeat("$n\n", 200'000) + "$gone", R"({"n": 1})"), "200001:1: there is no parameter \"gone\"");
    EXPECT_EQ(fill_in(repeat("$n", 100'000), R"({"n": "äääääääääääää"})").find("the result is longer"), 10U);
}

TEST(Interpolation_4_5, OnePass) { EXPECT_EQ(fill_in("$nested", k_params), "$name"); }

TEST(Interpolation_4_5, UndefinedReferences) {
    EXPECT_EQ(fill_in("a\nb $gone", k_params), "2:3: there is no parameter \"gone\"");
    EXPECT_EQ(fill_in("${gone}", k_params), "1:1: there is no parameter \"gone\"");
}

TEST(Interpolation_4_6, ReferencesAreFound) {
    EXPECT_EQ(sel::references_in("$a ${b-c} $$d $a ${"), (std::vector<std::string>{"a", "b-c"}));
}

class OneParam final : public sel::Params {
public:
    std::optional<sel::Value> find(std::string_view name, sel::Context & /*context*/) override {
        return sel::Value::of(static_cast<std::int64_t>(name.size()));
    }
    std::optional<sel::Value> find_from(std::string_view, sel::Args, sel::Context &) override { return std::nullopt; }
};

// The floor is 5 microseconds on an idle machine, optimised; this build is neither.
TEST(Sel_4_7_Speed, AnExpressionThatIsParsedOnce) {
    const sel::Limits limits;
    const auto program = sel::Program::parse("a + b > 10 ? 'x' : params['y']", limits);
    TestWorld world;
    OneParam params;
    constexpr int k_rounds = 20'000;
    const double start = processor_seconds();
    for (int i = 0; i < k_rounds; i++) {
        sel::Heap heap(limits.memory);
        sel::Context context(heap, world, params, limits);
        ASSERT_EQ(sel::evaluate(*program, context).number, 1);
    }
    const double nanoseconds = (processor_seconds() - start) * 1e9 / k_rounds;
    RecordProperty("nanoseconds", static_cast<int>(nanoseconds));
    EXPECT_LT(nanoseconds, 50'000.0);
}

} // namespace
} // namespace test_sel_limits
