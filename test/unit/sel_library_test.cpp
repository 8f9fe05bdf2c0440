// The library of the expression language: strings, numbers, maps and ranges (Maestro, section 4.7).
#include <gtest/gtest.h>

#include "model/duration.h"
#include "sel_world.h"

namespace test_sel_library {
namespace {

TEST(Sel_4_7_String, PartsAndPlaces) {
    EXPECT_EQ(eval("'hällo'.length()"), "5");
    EXPECT_EQ(eval("''.isEmpty()"), "true");
    EXPECT_EQ(eval("'hällo'.substring(1)"), R"("ällo")");
    EXPECT_EQ(eval("'hällo'.substring(1, 3)"), R"("äl")");
    EXPECT_EQ(eval("'abc'.substring(3)"), R"("")");
    EXPECT_EQ(eval("'abc'.substring(2, 1)"), "1:7: there are no characters 2 to 1 in a string of 3");
    EXPECT_EQ(eval("'abc'.substring(-1)"), "1:7: there are no characters -1 to 3 in a string of 3");
    EXPECT_EQ(eval("'abc'.substring(0, 4)"), "1:7: there are no characters 0 to 4 in a string of 3");
    EXPECT_EQ(eval("'äbab'.indexOf('b')"), "1");
    EXPECT_EQ(eval("'äbab'.indexOf('b', 2)"), "3");
    EXPECT_EQ(eval("'äbab'.indexOf('x')"), "-1");
    EXPECT_EQ(eval("'äbab'.lastIndexOf('b')"), "3");
    EXPECT_EQ(eval("'äbab'.lastIndexOf('b', 2)"), "1");
    EXPECT_EQ(eval("'abc'.contains('bc')"), "true");
    EXPECT_EQ(eval("'abc'.startsWith('ab')"), "true");
    EXPECT_EQ(eval("'abc'.startsWith('b', 1)"), "true");
    EXPECT_EQ(eval("'abc'.endsWith('bc')"), "true");
    EXPECT_EQ(eval("'  a b \\t'.trim()"), R"("a b")");
    EXPECT_EQ(eval("'aßäÉя1'.toUpperCase()"), R"("AßÄÉЯ1")");
    EXPECT_EQ(eval("'AÄÉЯ1'.toLowerCase()"), R"("aäéя1")");
    EXPECT_EQ(eval("'a'.equals('a')"), "true");
    EXPECT_EQ(eval("'1'.equals(1)"), "false");
    EXPECT_EQ(eval("'abc'.compareTo('abd')"), "-1");
    EXPECT_EQ(eval("'abc'.compareTo('a')"), "2");
    EXPECT_EQ(eval("'a'.compareTo('a')"), "0");
    EXPECT_EQ(eval("'a'.length('b')"), "1:5: STRING has no method \"length\" with 1 argument");
    EXPECT_EQ(eval("'a'.contains(1)"), "1:5: STRING is expected, not LONG");
}

// Texts that are looked for are short or long, and found in other ways.
TEST(Sel_4_7_String, LongTextsAreFoundAsShortOnesAre) {
    const std::string text = "abaababaabaababaababaabaababaabaab";
    for (std::size_t begin = 0; begin < text.size(); begin++) {
        for (std::size_t size = 1; size <= text.size() - begin; size++) {
            const std::string needle = text.substr(begin, size);
            const std::string params = R"({"s": ")" + text + text + R"(", "t": ")" + needle + "\"}";
            ASSERT_EQ(eval("s.indexOf(t)", params), std::to_string((text + text).find(needle)));
            ASSERT_EQ(eval("s.lastIndexOf(t)", params), std::to_string((text + text).rfind(needle)));
            ASSERT_EQ(eval("s.lastIndexOf(t, 30)", params), std::to_string((text + text).rfind(needle, 30)));
        }
    }
    EXPECT_EQ(eval("'abababababababababababac'.replace('abababababababababac', '-')"), R"("abab-")");
    EXPECT_EQ(eval("'ab'.contains('abababababababababac')"), "false");
}

TEST(Sel_4_7_String, Replace) {
    EXPECT_EQ(eval("'a.b.c'.replace('.', '-')"), R"("a-b-c")");
    EXPECT_EQ(eval("'äb'.replace('', '-')"), R"("-ä-b-")");
    EXPECT_EQ(eval("'aaa'.replace('aa', 'b')"), R"("ba")");
    EXPECT_EQ(eval("'a1b22'.replaceAll('[0-9]+', '#')"), R"("a#b#")");
    EXPECT_EQ(eval("'john smith'.replaceAll('(\\\\w+) (\\\\w+)', '$2 $1')"), R"("smith john")");
    EXPECT_EQ(eval("'abc'.replaceAll('x*', '-')"), R"("-a-b-c-")");
    EXPECT_EQ(eval("'abc'.replaceAll('b', '\\\\$')"), R"("a$c")");
    EXPECT_EQ(eval("'aa'.replaceFirst('a', 'b')"), R"("ba")");
    EXPECT_EQ(eval("'a'.replaceAll('a', '$1')"), "1:5: there is no group \"$1\"");
    EXPECT_EQ(eval("'a'.replaceAll('(', '')"),
              "1:5: the regular expression \"(\" has a group that is not closed at character 2");
}

TEST(Sel_4_7_String, Split) {
    EXPECT_EQ(eval("'a,b,,c,,'.split(',')"), R"(["a","b","","c"])");
    EXPECT_EQ(eval("'a,b,,c,,'.split(',', -1)"), R"(["a","b","","c","",""])");
    EXPECT_EQ(eval("'a,b,c'.split(',', 2)"), R"(["a","b,c"])");
    EXPECT_EQ(eval("'abc'.split('')"), R"(["a","b","c"])");
    EXPECT_EQ(eval("'abc'.split('', -1)"), R"(["a","b","c",""])");
    EXPECT_EQ(eval("'axb'.split('x*', -1)"), R"(["a","","b",""])");
    EXPECT_EQ(eval("''.split(',')"), R"([""])");
    EXPECT_EQ(eval("'a.b'.split('.')"), "[]");
    EXPECT_EQ(eval("','.split(',')"), "[]");
    EXPECT_EQ(eval("',,'.split(',', -1).length"), "3");
    EXPECT_EQ(eval("'ab'.split('x')"), R"(["ab"])");
    EXPECT_EQ(eval("',a'.split(',')"), R"(["","a"])");
    EXPECT_EQ(eval("'a1b22c'.split('\\\\d+')"), R"(["a","b","c"])");
    EXPECT_EQ(eval("'a|b'.split('\\\\|')[1]"), R"("b")");
    EXPECT_EQ(eval("'a b'.split(' ').length"), "2");
}

std::string first_match(std::string_view pattern, std::string_view text) {
    return eval("text.replaceFirst(pattern, '[$0]')",
                R"({"pattern": ")" + std::string(pattern) + R"(", "text": ")" + std::string(text) + "\"}");
}

TEST(Sel_4_7_String, RegularExpressions) {
    EXPECT_EQ(first_match("b.d", "abcd"), R"("a[bcd]")");
    EXPECT_EQ(first_match("a|ab", "ab"), R"("[a]b")"); // the first alternative that fits, not the longest
    EXPECT_EQ(first_match("a.*b", "xaabab"), R"("x[aabab]")");
    EXPECT_EQ(first_match("a.*?b", "xaabab"), R"("x[aab]ab")");
    EXPECT_EQ(first_match("(a*)*b", "aaab"), R"("[aaab]")");
    EXPECT_EQ(first_match("^b", "ab"), R"("ab")");
    EXPECT_EQ(first_match("b$", "ab"), R"("a[b]")");
    EXPECT_EQ(first_match("\\\\bb", "ab b"), R"("ab [b]")");
    EXPECT_EQ(first_match("\\\\Bb", "b ab"), R"("b a[b]")");
    EXPECT_EQ(first_match("[^a-c]", "abcd"), R"("abc[d]")");
    EXPECT_EQ(first_match("[]]", "a]"), R"("a[]]")");
    EXPECT_EQ(first_match("[a-]+", "b-a"), R"("b[-a]")");
    EXPECT_EQ(first_match("[\\\\s\\\\D]+", "1 a2"), R"("1[ a]2")");
    EXPECT_EQ(first_match("a{2}", "aaa"), R"("[aa]a")");
    EXPECT_EQ(first_match("a{2,}", "aaa"), R"("[aaa]")");
    EXPECT_EQ(first_match("a{1,2}?", "aaa"), R"("[a]aa")");
    EXPECT_EQ(first_match("(?:ab)+", "ababa"), R"("[abab]a")");
    EXPECT_EQ(first_match("\\\\Qa.b\\\\E", "aXb a.b"), R"("aXb [a.b]")");
    EXPECT_EQ(first_match("ü", "über"), R"("[ü]ber")");
    EXPECT_EQ(first_match("h.t", "hät"), R"("[hät]")");
    for (const char *wrong : {"a)", "a{2", "a{3,2}", "*a", "[b-a]", "[a", "(?=a)", "a++", "a{9999}", "\\\\p{L}",
                              "\\\\p{Alpha", "\\\\p", "a(?i)b", "[[a]]"})
        EXPECT_NE(first_match(wrong, "a").find("the regular expression"), std::string::npos) << wrong;
}

TEST(Sel_4_7_Regex, LettersInAnyCase) {
    EXPECT_EQ(first_match("(?i)ab", "xAb"), R"("x[Ab]")");
    EXPECT_EQ(first_match("(?i)[a-c]+", "xABCd"), R"("x[ABC]d")");
    EXPECT_EQ(first_match("(?i)[^a]", "Ab"), R"("A[b]")");
    EXPECT_EQ(first_match("(?i)\\\\Qa.B\\\\E", "A.b"), R"("[A.b]")");
    EXPECT_EQ(first_match("(?i)1_ü", "1_ü"), R"("[1_ü]")");
    EXPECT_EQ(first_match("ab", "xAb"), R"("xAb")");
    EXPECT_EQ(eval("'One, oNE'.replaceAll('(?i)one', 'x')"), R"("x, x")");
}

TEST(Sel_4_7_Regex, Properties) {
    EXPECT_EQ(first_match("\\\\p{Alpha}+", "12aB3"), R"("12[aB]3")");
    EXPECT_EQ(first_match("\\\\P{Digit}+", "12aB3"), R"("12[aB]3")");
    EXPECT_EQ(first_match("[\\\\p{Upper}_]+", "aB_c"), R"("a[B_]c")");
    EXPECT_EQ(first_match("[\\\\P{ASCII}]+", "aäöb"), R"("a[äö]b")");
    EXPECT_EQ(first_match("\\\\p{Punct}", "a;b"), R"("a[;]b")");
    EXPECT_EQ(first_match("(?i)\\\\p{Lower}", "1A"), R"("1[A]")");
}

TEST(Sel_4_7_String, MethodsOfTheClassOfAString) {
    EXPECT_EQ(eval("'x'.join(',', 'a', 'b')"), R"("a,b")");
    EXPECT_EQ(eval("'x'.escape('y\"')"), R"("y\\\"")");
    EXPECT_EQ(eval("'x'.format('%s', 1)"), R"("1")");
    EXPECT_EQ(eval("'x'.valueOf(5)"), R"("5")");
}

TEST(Sel_4_7_String, FormatDropsNoZeros) {
    EXPECT_EQ(eval("String.format('%g', 1.5)"), R"("1.50000")");
    EXPECT_EQ(eval("String.format('%.3g|%.0g', 1234.5, 3.0)"), R"("1.23e+03|3")");
    EXPECT_EQ(eval("String.format('%g', 0.0)"), R"("0.00000")");
    EXPECT_EQ(eval("String.format('%g %g', 0.0001, 0.00001)"), R"("0.000100000 1.00000e-05")");
}

// By the digits with which the number is written.
TEST(Sel_4_7_String, FormatRoundsHalfUp) {
    EXPECT_EQ(eval("String.format('%.0f %.1f %.2f %.2f', 2.5, 0.25, 1.005, 9.995)"), R"("3 0.3 1.01 10.00")");
    EXPECT_EQ(eval("String.format('%.1f %.0f %.0f %.1f', 0.05, 0.5, 0.4, 0.04)"), R"("0.1 1 0 0.0")");
    EXPECT_EQ(eval("String.format('%.1f %.3f', 99.95, -1234.0005)"), R"("100.0 -1234.001")");
    EXPECT_EQ(eval("String.format('%.0e %.1e %e', 2.5, 9.96, 0.0)"), R"("3e+00 1.0e+01 0.000000e+00")");
    EXPECT_EQ(eval("String.format('%.3g %.2g', 999.5, 0.00009995)"), R"("1.00e+03 0.00010")");
    EXPECT_EQ(eval("String.format('%.1f', 12345678901234567890.0)"), R"("12345678901234567000.0")");
    EXPECT_EQ(eval("String.format('%,.1g %,.2f', 608491.0, 1234567.891)"), R"("6e+05 1,234,567.89")");
}

TEST(Sel_4_7_String, JoinAndEscape) {
    EXPECT_EQ(eval("String.join(',', 'a', 'b')"), R"("a,b")");
    EXPECT_EQ(eval("String.join(', ', new String[]{'a', 'b'})"), R"("a, b")");
    EXPECT_EQ(eval("String.join(',')"), R"("")");
    EXPECT_EQ(eval("String.join(',', 1)"), "1:8: STRING is expected, not LONG");
    EXPECT_EQ(eval("'a\\tb\"c\\\\'.escape()"), R"("a\\tb\\\"c\\\\")");
    EXPECT_EQ(eval("String.escape(\"it's\")"), R"("it's")");
    EXPECT_EQ(eval("String.valueOf(1.50)"), R"("1.5")");
    EXPECT_EQ(eval("String.valueOf(new long[]{1, 2})"), R"("[1, 2]")");
    EXPECT_EQ(eval("m = new Map(); m.put('a', 1); '' + m"), R"("{a=1}")");
    EXPECT_EQ(eval("new String('a')"), R"("a")");
}

TEST(Sel_4_7_String, Format) {
    EXPECT_EQ(eval("String.format('%s-%d', 'a', 5)"), R"("a-5")");
    EXPECT_EQ(eval("String.format('%05d|%-5d|%5d|%+d', 42, 42, 42, 42)"), R"("00042|42   |   42|+42")");
    EXPECT_EQ(eval("String.format('%,d %(d', 1234567, -5)"), R"-("1,234,567 (5)")-");
    EXPECT_EQ(eval("String.format('%.2f %8.3f %e', 3.14159, 2.5, 12345.678)"), R"("3.14    2.500 1.234568e+04")");
    EXPECT_EQ(eval("String.format('%x %X %o %#x', 255, 255, 8, 255)"), R"("ff FF 10 0xff")");
    EXPECT_EQ(eval("String.format('%x %o', -1, -8)"), R"("ffffffff 37777777770")");
    EXPECT_EQ(eval("String.format('%x', -2147483649)"), R"("ffffffff7fffffff")");
    EXPECT_EQ(eval("String.format('%b %c %% %n', true, 'x')"), "\"true x % \\u000a\"");
    EXPECT_EQ(eval("String.format('%2$s %1$s', 'a', 'b')"), R"("b a")");
    EXPECT_EQ(eval("String.format('%S %.2s|%5s', 'abc', 'abc', 'ä')"), R"("ABC ab|    ä")");
    EXPECT_EQ(eval("String.format('%s %s', new String[]{'a', 'b'})"), R"("a b")");
    EXPECT_EQ(eval("String.format('%s', null)"), R"("null")");
    EXPECT_EQ(eval("String.format('%d', 'a')"), "1:8: %d cannot show STRING");
    EXPECT_EQ(eval("String.format('%s')"), "1:8: the format needs 1 arguments and has 0");
    EXPECT_EQ(eval("String.format('%')"), "1:8: the format ends inside a conversion");
    EXPECT_EQ(eval("String.format('%tY', 1)"), "1:8: the conversion \"%t\" is not supported");
    EXPECT_EQ(eval("String.format('%99999999999d', 1)"), "1:8: a number in the format is too large");
}

TEST(Sel_4_7_Number, Conversions) {
    EXPECT_EQ(eval("Long.valueOf('12') + Integer.parseInt('-3') + Long.parseLong('+1')"), "10");
    EXPECT_EQ(eval("Long.valueOf('x')"), "1:6: \"x\" is not a LONG");
    EXPECT_EQ(eval("Long.valueOf('99999999999999999999')"), "1:6: \"99999999999999999999\" is not a LONG");
    EXPECT_EQ(eval("Double.valueOf('1.5') + Double.parseDouble('2')"), "3.5");
    EXPECT_EQ(eval("Double.valueOf('nan')"), "1:8: \"nan\" is not a DOUBLE");
    EXPECT_EQ(eval("Boolean.valueOf('trUe')"), "true");
    EXPECT_EQ(eval("Boolean.parseBoolean('yes')"), "false");
    EXPECT_EQ(eval("Long.toString(5) + 6.toString"), "1:20: \"6.toString\" is not a number");
    EXPECT_EQ(eval("x = 5; x.toString() + Long.toString(6)"), R"("56")");
    EXPECT_EQ(eval("x = 2147483648000; x.intValue()"), "2147483648000"); // whole numbers have one type
    EXPECT_EQ(eval("x = 1e10; x.intValue()"), "10000000000");
    EXPECT_EQ(eval("x = 1e300; x.longValue()"), "9223372036854775807");
    EXPECT_EQ(eval("x = -7.9; x.intValue()"), "-7");
    EXPECT_EQ(eval("new Long(5) + new Integer('6')"), "11");
    EXPECT_EQ(eval("x = 5; x.equals(5) && !x.equals(5.0)"), "true");
}

TEST(Sel_4_7_Number, DoublesAreShownAsInJava) {
    EXPECT_EQ(eval("'' + 1.0"), R"("1.0")");
    EXPECT_EQ(eval("'' + 0.001"), R"("0.001")");
    EXPECT_EQ(eval("'' + 0.0001"), R"("1.0E-4")");
    EXPECT_EQ(eval("'' + 9999999.0"), R"("9999999.0")");
    EXPECT_EQ(eval("'' + 1e7"), R"("1.0E7")");
    EXPECT_EQ(eval("'' + 123456.789"), R"("123456.789")");
    EXPECT_EQ(eval("'' + 1.5e-10"), R"("1.5E-10")");
    EXPECT_EQ(eval("'' + -0.0"), R"("-0.0")");
    EXPECT_EQ(eval("'' + 1.0 / 0"), R"("Infinity")");
    EXPECT_EQ(eval("'' + 0.1 + 0.2"), R"("0.10.2")");
    EXPECT_EQ(eval("0.1 + 0.2"), "0.30000000000000004");
}

TEST(Sel_4_7_Number, MathAndOthers) {
    EXPECT_EQ(eval("Math.min(1, 2) + Math.max(3, 4)"), "5");
    EXPECT_EQ(eval("Math.max(1, 2.5)"), "2.5");
    EXPECT_EQ(eval("Math.pow(2, 3)"), "8.0");
    EXPECT_EQ(eval("x = Math.random(); x >= 0 && x < 1"), "true");
    EXPECT_EQ(eval("UUID.randomUUID()"), R"("fedcba98-7654-4210-bedc-ba9876543210")");
    EXPECT_EQ(eval("UUID.randomUUID().toString().length()"), "36");
    EXPECT_EQ(eval("System.currentTimeMillis()"), "1780000000000");
    EXPECT_EQ(eval("DateTimeConstants.SUNDAY"), "7");
}

TEST(Sel_4_7_Map, Methods) {
    EXPECT_EQ(eval("Map m = new HashMap(); m.put('a', 1); m.put('a', 2)"), "1"); // the value before
    EXPECT_EQ(eval("m = new Map(); m['a'] = 1; m['a'] += 2; m"), R"({"a":3})");
    EXPECT_EQ(eval("m = new HashMap(); m.put('a', new long[]{1}); m.get('a')[0] + m.size()"), "2");
    EXPECT_EQ(eval("m = new HashMap(); m.containsKey('a')"), "false");
    EXPECT_EQ(eval("m = new HashMap(); m.get('a')"), "null");
    EXPECT_EQ(eval("m = new HashMap(); m.getOrDefault('a', 5)"), "5");
    EXPECT_EQ(eval("m = new HashMap(); m.put(1, 1)"), "1:22: STRING is expected, not LONG");
    EXPECT_EQ(eval("m = new HashMap(); for (i = 0; i < 100; i += 1) m.put('k' + i, i); "
                   "s = 0; for (i = 0; i < 100; i += 1) s += m.get('k' + i); s * 1000 + m.size()"),
              "4950100");
    EXPECT_EQ(eval("Arrays.asList('a', 'b')"), R"(["a","b"])");
    EXPECT_EQ(eval("Arrays.asList(1, 2.5)"), "[1.0,2.5]");
    EXPECT_EQ(eval("Arrays.asList(new long[]{1})"), "[1]");
}

TEST(Sel_4_7_Util, Days) {
    EXPECT_EQ(eval("Util.dateIntToTs(20210707)"), "1625616000000");
    EXPECT_EQ(eval("Util.dateIntToTs('20210707')"), "1625616000000");
    EXPECT_EQ(eval("Util.tsToDateInt(1625619600000)"), R"("20210707")");
    EXPECT_EQ(eval("Util.dateIntHourToTs(\"20210707\", \"01\", \"UTC\", 0, 0)"), "1625619600000");
    EXPECT_EQ(eval("Util.dateIntHourToTs(20260701, 1, 'US/Pacific', 1, 2)"), "1782799200000");
    EXPECT_EQ(eval("Util.incrementDateInt(20240228, 1)"), R"("20240229")");
    EXPECT_EQ(eval("Util.incrementDateInt('20240301', -1)"), R"("20240229")");
    EXPECT_EQ(eval("Util.incrementDateInt(20240230, 1)"), "1:6: there is no day 30 in that month");
    EXPECT_EQ(eval("Util.dateIntToTs('today')"), "1:6: \"today\" does not fit the pattern at character 1");
}

TEST(Sel_4_7_Util, Ranges) {
    EXPECT_EQ(eval("Util.dateIntsBetween(20200226, 20200303, 1)"),
              "[20200226,20200227,20200228,20200229,20200301,20200302]");
    EXPECT_EQ(eval("Util.dateIntsBetween(20200226, 20200303, 2)"), "[20200226,20200228,20200301]");
    // inc < 0: the ends change places, in reverse order.
    EXPECT_EQ(eval("Util.dateIntsBetween(20200303, 20200228, -1)"), "[20200302,20200301,20200229,20200228]");
    EXPECT_EQ(eval("Util.dateIntsBetween(20200303, 20200228, 1)"), "[]");
    EXPECT_EQ(eval("Util.dateIntsBetween(20200303, 20200228, 0)"), "1:6: the step must not be 0");
    EXPECT_EQ(eval("Util.intsBetween(1, 6, 2)"), "[1,3,5]");
    EXPECT_EQ(eval("Util.intsBetween(6, 1, -2)"), "[6,4,2]");
    EXPECT_EQ(eval("Util.intsBetween(1, 1, 1)"), "[]");
    EXPECT_EQ(eval("Util.intsBetween(3, 1, 0)"), "1:6: the step must not be 0"); // endless upstream
    EXPECT_EQ(eval("Util.intsBetween(0, 25000, 1).length"), "25000");
    EXPECT_EQ(eval("Util.intsBetween(0, 9223372036854775807, 1)"), "1:6: an array has 25001 elements or more");
    EXPECT_EQ(eval("Util.intsBetween(9223372036854775807, -9223372036854775807, -9223372036854775807)"),
              "[9223372036854775807,0]");
}

TEST(Sel_4_7_Util, Deadlines) {
    // Now is 2026-05-28T20:26:40Z.
    EXPECT_EQ(eval("Util.timeoutForDateIntDeadline(20260528, '1 day')"), R"("12800000 milliseconds")");
    EXPECT_EQ(eval("Util.timeoutForDateIntDeadline(20260528, '21 hours, 30 minutes and 5 seconds')"),
              R"("3805000 milliseconds")");
    EXPECT_EQ(eval("Util.timeoutForDateTimeDeadline(new DateTime(), '2 weeks')"), R"("1209600000 milliseconds")");
    EXPECT_EQ(eval("Util.timeoutForDateIntDeadline(20200101, '1 day')"), R"("0 milliseconds")");
    EXPECT_EQ(eval("Util.timeoutForDateIntDeadline(20260528, '1.5 days')"), R"("56000000 milliseconds")");
    for (const std::string soon : {"soon", "-5 minutes", "1 hour 1 day"})
        EXPECT_EQ(eval("Util.timeoutForDateIntDeadline(20200101, '" + soon + "')"),
                  "1:6: \"" + soon + "\" must be " + std::string(scylla::model::k_duration_rule));
    EXPECT_EQ(eval("Util.timeoutForDateIntDeadline(20200101, '9999999999999999 weeks')"),
              R"("9223169873654775 milliseconds")");
}

} // namespace
} // namespace test_sel_library
