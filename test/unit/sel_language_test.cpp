// The expression language: grammar, operators and variables (Maestro, section 4.7).
#include <gtest/gtest.h>

#include "model/sel/program.h"
#include "sel_world.h"

namespace test_sel_language {
namespace {

constexpr std::string_view k_params =
    R"({"a": 3, "b": 8, "s": "text", "d": 1.5, "t": true, "n": null, "y": "why",
        "longs": [1, 2, 3], "texts": ["x", "y"], "m": {"k": "v", "deep": {"z": 1}}, "x-y": 5, "step1__out": 7})";

std::string with_params(std::string_view expression) { return eval(expression, k_params); }

TEST(Sel_4_7, LiteralsOfNumbers) {
    EXPECT_EQ(eval("12"), "12");
    EXPECT_EQ(eval("12L"), "12");
    EXPECT_EQ(eval("0x1F"), "31");
    EXPECT_EQ(eval("0x1fL"), "31");
    EXPECT_EQ(eval("010"), "10");
    EXPECT_EQ(eval("017 + 00 + 09L"), "26");
    EXPECT_EQ(eval("0"), "0");
    EXPECT_EQ(eval("9223372036854775807"), "9223372036854775807");
    EXPECT_EQ(eval("9223372036854775808"), "1:1: the number 9223372036854775808 does not fit into 64 bits");
    EXPECT_EQ(eval("08"), "8");
    EXPECT_EQ(eval("0x"), "1:1: \"0x\" is not a number");
    EXPECT_EQ(eval("1.5"), "1.5");
    EXPECT_EQ(eval(".5"), "0.5");
    EXPECT_EQ(eval("2."), "2.0");
    EXPECT_EQ(eval("1e3"), "1000.0");
    EXPECT_EQ(eval("1E-3f"), "0.001");
    EXPECT_EQ(eval("3d"), "3.0");
    EXPECT_EQ(eval("1e999"), "1:1: the number 1e999 is out of range");
    EXPECT_EQ(eval("12abc"), "1:1: \"12abc\" is not a number");
}

TEST(Sel_4_7, LiteralsOfStrings) {
    EXPECT_EQ(eval("'single'"), R"("single")");
    EXPECT_EQ(eval(R"("double")"), R"("double")");
    EXPECT_EQ(eval(R"('a\tb\n\'\"\\')"), R"("a\u0009b\u000a'\"\\")");
    EXPECT_EQ(eval(R"('\u00e4\101\uD83D\uDE00')"), "\"äA😀\"");
    EXPECT_EQ(eval("'ünïcode'.length()"), "7");
    EXPECT_EQ(eval("'open"), "1:1: a string is not closed");
    EXPECT_EQ(eval("'two\nlines'"), "1:1: a string is not closed");
    EXPECT_EQ(eval(R"('\q')"), "1:2: there is no such escape in a string");
    EXPECT_EQ(eval(R"('\u12')"), "1:2: \\u must be followed by four hexadecimal digits");
    EXPECT_EQ(eval(R"('\uD83D')"), "1:2: this is not a character");
    EXPECT_EQ(eval("true"), "true");
    EXPECT_EQ(eval("null"), "null");
}

TEST(Sel_4_7, Arithmetic) {
    EXPECT_EQ(eval("1 + 2 * 3 - 4"), "3");
    EXPECT_EQ(eval("(1 + 2) * 3"), "9");
    EXPECT_EQ(eval("7 / 2"), "3"); // of integers, towards zero
    EXPECT_EQ(eval("-7 / 2"), "-3");
    EXPECT_EQ(eval("-7 % 3"), "-1");
    EXPECT_EQ(eval("7 / 2.0"), "3.5");
    EXPECT_EQ(eval("7.5 % 2"), "1.5");
    EXPECT_EQ(eval("- -3"), "3");
    EXPECT_EQ(eval("+3"), "3");
    EXPECT_EQ(eval("10 - 2 - 3"), "5");
    EXPECT_EQ(eval("1 / 0"), "1:3: division by zero");
    EXPECT_EQ(eval("1 % 0"), "1:3: division by zero");
    EXPECT_EQ(eval("9223372036854775807 + 1"), "1:21: 9223372036854775807 + 1 does not fit into 64 bits");
    EXPECT_EQ(eval("(-9223372036854775807 - 1) / -1"), "1:28: -9223372036854775808 / -1 does not fit into 64 bits");
    EXPECT_EQ(eval("(-9223372036854775807 - 1) % -1"), "0");
    EXPECT_EQ(eval("-(-9223372036854775807 - 1)"), "1:1: 0 - -9223372036854775808 does not fit into 64 bits");
    EXPECT_EQ(eval("1.0 / 0"), "Infinity cannot be the result");
    EXPECT_EQ(eval("true + true"), "1:6: BOOLEAN + BOOLEAN is not supported");
    EXPECT_EQ(eval("-'a'"), "1:1: STRING does not support -");
}

TEST(Sel_4_7, Comparison) {
    EXPECT_EQ(eval("1 < 2"), "true");
    EXPECT_EQ(eval("2 <= 2.0"), "true");
    EXPECT_EQ(eval("3 > 4"), "false");
    EXPECT_EQ(eval("3 >= 4"), "false");
    EXPECT_EQ(eval("1 == 1.0"), "true");
    EXPECT_EQ(eval("1 != 1"), "false");
    EXPECT_EQ(eval("true == false"), "false");
    EXPECT_EQ(eval("'a' == 'a'"), "true");
    EXPECT_EQ(eval("'a' != 'b'"), "true");
    EXPECT_EQ(eval("1 + 1 == 2 == true"), "true");
    EXPECT_EQ(eval("true < false"), "1:6: BOOLEAN < BOOLEAN is not supported");
}

TEST(Sel_4_7, StringsSupportPlusAndEqualityOnly) {
    EXPECT_EQ(eval("'a' + 1 + 2"), R"("a12")");
    EXPECT_EQ(eval("1 + 2 + 'a'"), R"("3a")");
    EXPECT_EQ(eval("1.0 + 'a'"), R"("1.0a")");
    EXPECT_EQ(eval("'a' + null + true"), R"("anulltrue")");
    EXPECT_EQ(eval("1 == '1'"), "true"); // LONG op STRING is an operation of strings
    EXPECT_EQ(eval("'1' == 1"), "1:5: STRING == LONG is not supported");
    EXPECT_EQ(eval("'a' < 'b'"), "1:5: STRING does not support <; use compareTo()");
    EXPECT_EQ(eval("'a' - 'b'"), "1:5: STRING does not support -; use compareTo()");
    EXPECT_EQ(eval("true + 'a'"), "1:6: BOOLEAN + STRING is not supported");
}

TEST(Sel_4_7, Null) {
    EXPECT_EQ(eval("null == null"), "true");
    EXPECT_EQ(eval("null == 1"), "false");
    EXPECT_EQ(eval("'a' != null"), "true");
    EXPECT_EQ(eval("null < 1"), "false");
    EXPECT_EQ(eval("1 >= null"), "false");
    EXPECT_EQ(eval("null + 'a'"), R"("nulla")");
    EXPECT_EQ(eval("null + 1"), R"("null1")");
    EXPECT_EQ(eval("params['none'] + true"), R"("nulltrue")");
    EXPECT_EQ(eval("null - 1"), "1:6: NULL - LONG is not supported");
    EXPECT_EQ(eval("1 + null"), "1:3: LONG + NULL is not supported");
    EXPECT_EQ(eval("!null"), "1:1: BOOLEAN is expected, not NULL");
    EXPECT_EQ(eval("params['nothing'].length()"), "1:19: NULL has no \"length\"");
}

TEST(Sel_4_7, ANameThatExistsNowhereIsNamed) {
    EXPECT_EQ(eval("nothing"), "1:1: there is no parameter \"nothing\"");
    EXPECT_EQ(eval("nothing == null"), "1:1: there is no parameter \"nothing\"");
    EXPECT_EQ(eval("nothing.length()"), "1:1: there is no parameter \"nothing\"");
    EXPECT_EQ(eval("nothing[0]"), "1:1: there is no parameter \"nothing\"");
    EXPECT_EQ(eval("nothing[0] = 1"), "1:12: there is no parameter \"nothing\"");
    EXPECT_EQ(eval("x = 1;\ny = x + z"), "2:9: there is no parameter \"z\"");
    EXPECT_EQ(eval("x += 1"), "1:3: there is no parameter \"x\"");
    EXPECT_EQ(eval("false && nothing"), "false"); // it is not read
    EXPECT_EQ(eval("'a' + Math"), "1:7: there is no parameter \"Math\"");
    // Names of the program itself are null before they have a value.
    EXPECT_EQ(eval("if (1 > 2) x = 5; x == null"), "true");
    EXPECT_EQ(eval("x == null ? 'first' : 'later'; x = 1; x"), "1");
    EXPECT_EQ(eval("while (x == null) x = 1; x"), "1");
}

// Section 19, decision 2.
TEST(Sel_4_7, AndOrAreShortCircuit) {
    EXPECT_EQ(eval("params['x'] != null && params['x'].length() > 0"), "false");
    EXPECT_EQ(eval("params.x == null || params.x.length() > 0"), "true");
    EXPECT_EQ(eval("true || 1 / 0 == 1"), "true");
    EXPECT_EQ(eval("false && 1 / 0 == 1"), "false");
    EXPECT_EQ(eval("true && true && !false"), "true");
    EXPECT_EQ(eval("false || false || true && false"), "false");
    EXPECT_EQ(eval("true && 1"), "1:9: BOOLEAN is expected, not LONG");
    EXPECT_EQ(eval("'a' || true"), "1:1: BOOLEAN is expected, not STRING");
}

TEST(Sel_4_7, Choice) {
    EXPECT_EQ(eval("2 > 1 ? 10 : -10"), "10");
    EXPECT_EQ(eval("false ? 1 : true ? 2 : 3"), "2");
    EXPECT_EQ(eval("false ? 1 : false ? 2 : 3"), "3");
    EXPECT_EQ(eval("true ? true ? 1 : 2 : 3"), "1");
    EXPECT_EQ(eval("true ? 1 : 1 / 0"), "1"); // the other one is not evaluated
    EXPECT_EQ(eval("1 ? 2 : 3"), "1:1: BOOLEAN is expected, not LONG");
    EXPECT_EQ(eval("true ? 1"), "1:9: \":\" is missing before the end of the expression");
}

TEST(Sel_4_7, TheLastExpressionOrReturnIsTheResult) {
    EXPECT_EQ(eval("1; 2; 3"), "3");
    EXPECT_EQ(eval("int x = 1; x + 1;"), "2");
    EXPECT_EQ(eval("return 5; 6;"), "5");
    EXPECT_EQ(eval("if (true) { return 'in'; } 'out'"), R"("in")");
    EXPECT_EQ(eval("int x = 1;"), "the expression has no value"); // VOID
    EXPECT_EQ(eval(""), "the expression has no value");
    EXPECT_EQ(eval("return;"), "1:7: \";\" does not fit here"); // the value is mandatory
}

TEST(Sel_4_7, ImportsAndComments) {
    EXPECT_EQ(eval("import java.util.Map; import static org.joda.time.*; 1"), "1");
    EXPECT_EQ(eval("1 + // one\n 2 /* two\n lines */ + 3"), "6");
    EXPECT_EQ(eval("1 /* open"), "1:3: a comment is not closed");
}

TEST(Sel_4_7, Declarations) {
    EXPECT_EQ(eval("int x = 1, y; x + y"), "1"); // a number without a value is 0
    EXPECT_EQ(eval("double d = 1; d"), "1.0");
    EXPECT_EQ(eval("String s; s"), "null");
    EXPECT_EQ(eval("boolean b; b"), "false");
    EXPECT_EQ(eval("int x = 'a'"), "1:5: \"x\" is LONG and cannot become STRING");
    EXPECT_EQ(eval("String s = 'a'; s = 1"), "1:19: \"s\" is STRING and cannot become LONG");
    EXPECT_EQ(eval("Object o = 'a'; o = 1"), "1");
    EXPECT_EQ(eval("String[] a = new long[2];"), "1:10: \"a\" is STRING_ARRAY and cannot become LONG_ARRAY");
    EXPECT_EQ(eval("Foo f = 1"), "1:1: there is no type \"Foo\"");
    EXPECT_EQ(eval("int int = 1"), "1:5: \"int\" does not fit here");
    EXPECT_EQ(eval("Map m = new HashMap(); m.size()"), "0");
}

TEST(Sel_4_7, Assignments) {
    EXPECT_EQ(eval("x = 5; x += 2; x -= 1; x *= 4; x /= 3; x %= 5; x"), "3");
    EXPECT_EQ(eval("s = 'a'; s += 1; s += 'b'; s"), R"("a1b")");
    EXPECT_EQ(eval("x = y = 2; x + y"), "4");
    EXPECT_EQ(eval("x = 1; x = 'a'"), "1:10: \"x\" is LONG and cannot become STRING");
    EXPECT_EQ(eval("1 = 2"), "1:3: only a variable, or an element of one, can be assigned to");
    EXPECT_EQ(eval("s = 'a'; s -= 'a'"), "1:12: STRING does not support -; use compareTo()");
    EXPECT_EQ(with_params("a += 1; a + a"), "8"); // the parameter itself is not changed
    EXPECT_EQ(with_params("a += 1; params['a']"), "3");
    EXPECT_EQ(with_params("true ? 1 : a = 2"), "1");
}

// Strings share memory where they can; that must not be seen.
TEST(Sel_4_7, StringsDoNotChangeWhenOthersGrow) {
    EXPECT_EQ(eval("s = 'a'; s += 'b'; t = s; s += 'c'; t += 'd'; s + t"), R"("abcabd")");
    EXPECT_EQ(eval("s = 'a' + 'b'; t = s + '1'; u = s + '2'; s + t + u"), R"("abab1ab2")");
    EXPECT_EQ(eval("s = ''; for (i = 0; i < 3; i += 1) s += s + i; s"), R"("0010012")");
}

TEST(Sel_4_7, IfElse) {
    EXPECT_EQ(eval("int x=10; if(x>0) x+=10; else x-=10; return x;"), "20");
    EXPECT_EQ(eval("x = 2; if (x == 1) 'one'; else if (x == 2) 'two'; else 'many'"), R"("two")");
    EXPECT_EQ(eval("x = 3; if (x == 1) 'one'; else if (x == 2) 'two'; else 'many'"), R"("many")");
    EXPECT_EQ(eval("if (1) 2"), "1:5: BOOLEAN is expected, not LONG");
    EXPECT_EQ(eval("if true 2"), "1:4: \"(\" is missing before \"true\"");
}

TEST(Sel_4_7, Loops) {
    EXPECT_EQ(eval("int x = 0; while(x<10) x+=3; return x;"), "12");
    EXPECT_EQ(eval("for(int x=0; x<10; x+=1) x+=1; return x;"), "10");
    EXPECT_EQ(eval("for(x=0; x<10; x+=1) break; return x;"), "0");
    EXPECT_EQ(eval("for(x=0; x<10; x+=1) {x+=10; continue; x+=10;} return x;"), "11");
    EXPECT_EQ(eval("n = 0; for(;;) { n += 1; if (n > 4) break; } n"), "5");
    EXPECT_EQ(eval("n = 0; for (int i = 0; i < 3; i += 1) { for (int j = 0; j < 3; j += 1) { if (j == 1) break; n += "
                   "1; } } n"),
              "3");
    EXPECT_EQ(eval("while (true) { return 'out'; }"), R"("out")");
    EXPECT_EQ(eval("break"), "1:1: \"break\" stands in no loop");
    EXPECT_EQ(eval("for (int i = 0, j = 0; i < 1; i += 1) 1"), "1:6: a loop can declare one variable only");
    EXPECT_EQ(eval("{ 1; 2"), "1:1: \"{\" is not closed");
}

TEST(Sel_4_7, Throw) {
    EXPECT_EQ(eval("x = 5;\n throw 'invalid value: ' + x;"), "2:2: invalid value: 5");
    TestWorld world;
    auto outcome = scylla::model::sel::evaluate_json("throw 'a'", "{}", world, {});
    EXPECT_EQ(outcome.kind, scylla::model::sel::OutcomeKind::thrown);
    scylla::model::sel::release(outcome);
}

TEST(Sel_4_7, WhatIsNotSupported) {
    EXPECT_NE(eval("i++").find("\"++\" is not supported"), std::string::npos);
    EXPECT_NE(eval("1 & 2").find("\"&\" is not supported"), std::string::npos);
    EXPECT_NE(eval("~1").find("\"~\" is not supported"), std::string::npos);
    EXPECT_NE(eval("1 << 2").find("\"<<\" is not supported"), std::string::npos);
    EXPECT_NE(eval("do { 1; } while (true)").find("\"do\" is not supported"), std::string::npos);
    EXPECT_NE(eval("switch (1) {}").find("\"switch\" is not supported"), std::string::npos);
    EXPECT_NE(eval("try { 1; }").find("\"try\" is not supported"), std::string::npos);
    EXPECT_NE(eval("class A {}").find("\"class\" is not supported"), std::string::npos);
    EXPECT_NE(eval("x -> 1").find("\"->\" is not supported"), std::string::npos);
    EXPECT_NE(eval("#").find("\"#\" is not part of the language"), std::string::npos);
    EXPECT_NE(eval("(int) 1.5").find("does not fit here"), std::string::npos); // a cast
    EXPECT_EQ(eval("new int[3][2]"), "1:11: an array has one dimension");
    EXPECT_EQ(eval("new int[3][]"), "1:11: an array has one dimension");
}

TEST(Sel_4_7, Arrays) {
    EXPECT_EQ(eval("new int[3]"), "[0,0,0]");
    EXPECT_EQ(eval("new String[2]"), "[null,null]");
    EXPECT_EQ(eval("new double[]{1, 2.5,}"), "[1.0,2.5]");
    EXPECT_EQ(eval("new boolean[]{}"), "[]");
    EXPECT_EQ(eval("x = new long[]{1, 2, 3}; x[1] = 5; x[2] += 1; x"), "[1,5,4]");
    EXPECT_EQ(eval("new long[]{1, 2}[1]"), "2");
    EXPECT_EQ(eval("new long[]{1, 2}.length"), "2");
    EXPECT_EQ(eval("x = new long[]{1, 2}; y = x; y[0] = 9; x"), "[9,2]"); // a reference
    EXPECT_EQ(eval("x = new long[2]; x[2]"), "1:19: there is no element 2 in an array of 2");
    EXPECT_EQ(eval("x = new long[2]; x[-1] = 1"), "1:24: there is no element -1 in an array of 2");
    EXPECT_EQ(eval("x = new long[2]; x['a']"), "1:19: LONG is expected, not STRING");
    EXPECT_EQ(eval("x = new long[2]; x[0] = 'a'"), "1:23: LONG_ARRAY cannot hold STRING");
    EXPECT_EQ(eval("new long[]{'a'}"), "1:12: LONG_ARRAY cannot hold STRING");
    EXPECT_EQ(eval("new long[-1]"), "1:5: an array cannot have -1 elements");
    EXPECT_EQ(eval("x = 5; x[0]"), "1:9: LONG has no elements");
}

TEST(Sel_4_7, Parameters) {
    EXPECT_EQ(with_params("a + b > 10 ? 'x' : params['y']"), R"("x")");
    EXPECT_EQ(with_params("a + b > 20 ? 'x' : params['y']"), R"("why")");
    EXPECT_EQ(with_params("params.get('s')"), R"("text")");
    EXPECT_EQ(with_params("params['x-y'] + 1"), "6");
    EXPECT_EQ(with_params("params['gone']"), "null");
    EXPECT_EQ(with_params("params.get('gone')"), "null");
    EXPECT_EQ(with_params("params.gone"), "null");
    EXPECT_EQ(with_params("params['gone'] != null && params['gone'] == 'full'"), "false");
    EXPECT_EQ(with_params("params.s + params.a"), R"("text3")");
    EXPECT_EQ(with_params("params.gone()"), "1:8: params has no method \"gone\" with 0 arguments");
    EXPECT_EQ(with_params("params.containsKey('a') && !params.containsKey('gone')"), "true");
    EXPECT_EQ(with_params("params['n']"), "null");
    EXPECT_EQ(with_params("longs[0] + longs.length"), "4");
    EXPECT_EQ(with_params("texts"), R"(["x","y"])");
    EXPECT_EQ(with_params("m['deep']['z'] + 1"), "2");
    EXPECT_EQ(with_params("m.get('k')"), R"("v")");
    EXPECT_EQ(with_params("int a = 100; a"), "100"); // a variable hides the parameter
    EXPECT_EQ(with_params("params"), "PARAMS cannot be the result");
    EXPECT_EQ(eval("a", "[1]"), "1:1: there is no parameter \"a\"");
    EXPECT_EQ(eval("a", R"({"a": 1e400})"), "a number of the parameters is out of range");
    EXPECT_EQ(eval("a", R"({"a": 12345678901234567890})"), "1.2345678901234567E19");
    EXPECT_EQ(eval("a", R"({"a": "\u00e4\ud83d\ude00\n\"\\"})"), "\"ä😀\\u000a\\\"\\\\\"");
}

// What other steps, signals and the instance have is found under the names joined by __ outside a run.
TEST(Sel_4_7, ParametersOfOthers) {
    EXPECT_EQ(with_params("params.getFromStep('step1', 'out')"), "7");
    EXPECT_EQ(with_params("params.getFromStep('step1', 'gone')"),
              "1:8: getFromStep() found nothing for \"step1\", \"gone\"");
    EXPECT_EQ(with_params("params.getFromSignal('step1', 'out')"), "7");
    EXPECT_EQ(with_params("params.getFromSignalOrDefault('sig', 'p', 'none')"), R"("none")");
    EXPECT_EQ(with_params("params.getFromSignalOrDefault('step1', 'out', 'none')"), "7");
    EXPECT_EQ(eval("params.getFromSignalDependency(0, 'p')", R"({"0__p": 1})"), "1");
    EXPECT_EQ(eval("params.getFromForeach('f', 's', 'p')[1]", R"({"f__s__p": [4, 5]})"), "5");
    EXPECT_EQ(eval("params.getFromSubworkflow('w', 's', 'p')", R"({"w__s__p": 2})"), "2");
    EXPECT_EQ(eval("params.getFromInstance('owner')", R"({"owner": "me"})"), R"("me")");
    EXPECT_EQ(eval("params.nextUniqueId()"), "40992764608243447");
    EXPECT_EQ(eval("params.getExecutionEnvironment()"), "null");
}

TEST(Sel_4_7, WhatAnExpressionRefersTo) {
    const auto references = [](std::string_view text) {
        return scylla::model::sel::Program::parse(text, {})->references();
    };
    using Names = std::vector<std::string>;
    EXPECT_EQ(references("a + b + a"), (Names{"a", "b"}));
    EXPECT_EQ(references("params['x'] + params.get('y')"), (Names{"x", "y"}));
    EXPECT_EQ(references("int a = 1; a + b"), (Names{"b"}));
    EXPECT_EQ(references("i = i + 1"), (Names{"i"}));
    EXPECT_EQ(references("Math.max(1, z) + 'text'.length()"), (Names{"z"}));
    EXPECT_EQ(references("m['k']"), (Names{"m"}));
    EXPECT_EQ(references("params.x + params.getFromStep('s', 'p')"), (Names{"x"}));
}

TEST(Sel_4_7, WhatAnExpressionRequires) {
    const auto required = [](std::string_view text) {
        std::string names;
        const auto program = scylla::model::sel::Program::parse(text, {});
        for (const auto &read : program->required())
            names += (names.empty() ? "" : " ") + read.name + "@" + std::to_string(read.place.column);
        return names;
    };
    EXPECT_EQ(required("a + b + a"), "a@1 b@5");
    EXPECT_EQ(required("params['x'] + params.get('y') + params.z"), "");
    EXPECT_EQ(required("int a = 1; a + b"), "b@16");
    EXPECT_EQ(required("i = i + 1"), "");
    EXPECT_EQ(required("i += 1"), "i@1");
    EXPECT_EQ(required("m['k'] = v"), "m@1 v@10");
    EXPECT_EQ(required("for (i = 0; i < n; i += 1) s = s + i; s"), "n@17");
    EXPECT_EQ(required("Math.max(1, z) + 'text'.length()"), "z@13");
}

TEST(Sel_4_7, MethodsThatDoNotExist) {
    EXPECT_EQ(eval("Math.sin(1)"), "1:6: Math has no method \"sin\" with 1 argument");
    EXPECT_EQ(eval("'a'.foo(1, 2)"), "1:5: STRING has no method \"foo\" with 2 arguments");
    EXPECT_EQ(eval("'a'.bar"), "1:5: STRING has no field \"bar\"");
    EXPECT_EQ(eval("new Thread()"), "1:5: there is no constructor of \"Thread\" with 0 arguments");
    EXPECT_EQ(eval("java.lang.Runtime.getRuntime()"), "1:1: there is no parameter \"java\"");
}

TEST(Sel_4_7, PlacesAreCountedInCharacters) {
    EXPECT_EQ(eval("'ä' +\n  /* ö */ 1 / 0"), "2:13: division by zero");
    EXPECT_EQ(eval("1 +\n+\n"), "3:1: the expression ends too early");
}

} // namespace
} // namespace test_sel_language
