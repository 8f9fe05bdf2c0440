// Text to and from the server.
#include "text.h"

#include <gtest/gtest.h>

using namespace scylla;
using namespace scylla::detail;

namespace {

TEST(ArrayLiteral, QuotesWhatItMust) {
    array_literal array;
    EXPECT_EQ(array.str(), "{}");
    array.add("plain");
    array.add("");
    array.add("a\"b\\c, {d}");
    array.add("NULL");
    array.add_null();
    array.add_plain("7");
    EXPECT_EQ(array.str(), R"({"plain","","a\"b\\c, {d}","NULL",NULL,7})");
}

TEST(Json, StringsAreEscaped) {
    EXPECT_EQ(json::string("a\"b\\c\n\x01\xc3\xa9").text(), "\"a\\\"b\\\\c\\u000a\\u0001\xc3\xa9\"");
    EXPECT_EQ(json_array({"a", "b\""}), R"(["a","b\""])");
    EXPECT_EQ(json_array({}), "[]");
    EXPECT_EQ(json{}.text(), "null");
}

TEST(Text, Times) {
    using namespace std::chrono_literals;
    EXPECT_EQ(interval(1500ms), "1500000 microseconds");
    EXPECT_EQ(interval(24h), "86400000000 microseconds");
    const time_point time{1234567890123456us};
    EXPECT_EQ(to_time_point(timestamp(time)), time);
}

TEST(Text, Numbers) {
    EXPECT_EQ(from_double(0.5), "0.5");
    EXPECT_EQ(to_double(from_double(0.1)), 0.1);
    EXPECT_EQ(from_double(1.0 / 0.0), "Infinity");
    EXPECT_EQ(from_double(-1.0 / 0.0), "-Infinity");
    EXPECT_EQ(from_double(std::stod("nan")), "NaN");
    EXPECT_EQ(to_int64("9007199254740993"), 9007199254740993);
    EXPECT_THROW((void)to_int("12x"), error);
    EXPECT_THROW((void)to_int(""), error);
    EXPECT_THROW((void)to_int("99999999999"), error);
}

TEST(Text, PrintableIsValidUtf8) {
    EXPECT_EQ(printable("a\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "a\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    EXPECT_EQ(printable(std::string_view{"\0\xff\xc3", 3}), "???");
    EXPECT_EQ(printable("\xc0\x80\xe0\x80\x80\xed\xa0\x80\xf4\x90\x80\x80\xf0\x80\x80\x80"), std::string(16, '?'));
    EXPECT_EQ(printable(std::string(65536, 'a')), std::string(65536, 'a'));
    EXPECT_EQ(printable(std::string(65535, 'a') + "\xc3\xa9"), std::string(65486, 'a') + "… (cut: 65536 characters)");
    EXPECT_EQ(printable(std::string(70000, '\xff')), std::string(65486, '?') + "… (cut: 70000 characters)");
    EXPECT_EQ(printable("aaaa\"\xf0\x9f\x98\x80" + std::string(90, 'b'), 60),
              "aaaa\"\xf0\x9f\x98\x80… (cut: 96 characters)");
    EXPECT_EQ(printable("aaaaa\"\xf0\x9f\x98\x80" + std::string(90, 'b'), 60), "aaaaa\"… (cut: 97 characters)");
    EXPECT_EQ(printable(std::string(20, '\x01'), 120), std::string(20, '\x01'));
    EXPECT_EQ(printable(std::string(20, '\x01'), 119), std::string(11, '\x01') + "… (cut: 20 characters)");
    EXPECT_EQ(printable("abc", 0), "… (cut: 3 characters)");
    EXPECT_EQ(printable("", 0), "");
}

TEST(QueueChanges, NameWhatChanges) {
    using namespace std::chrono_literals;
    EXPECT_EQ(queue_changes{}.to_json().text(), "{}");
    retry_policy policy;
    policy.max = 1s;
    policy.jitter = 0.5;
    EXPECT_EQ(queue_changes{}
                  .default_timeout(1s)
                  .retention(std::nullopt)
                  .aging(0.5)
                  .max_attempts(3)
                  .retry(policy)
                  .to_json()
                  .text(),
              R"({"default_timeout": "1000000 microseconds", "retention": null, "aging": 0.5, "max_attempts": 3, )"
              R"("retry": {"max": "1000000 microseconds", "jitter": 0.5}})");
    EXPECT_EQ(queue_changes{}.retry(std::nullopt).max_attempts(std::nullopt).to_json().text(),
              R"({"retry": null, "max_attempts": null})");
}

TEST(Text, ZeroBytesAreRefused) {
    EXPECT_EQ(checked("ok", "rn"), "ok");
    try {
        checked(std::string{"a\0b", 3}, "rn");
        FAIL();
    } catch (const invalid_argument &e) {
        EXPECT_STREQ(e.what(), "invalid value for argument \"rn\": it has a zero byte");
    }
}

TEST(Status, Names) {
    for (const task_status status : {task_status::waiting, task_status::ready, task_status::running,
                                     task_status::completed, task_status::aborted, task_status::cancelled})
        EXPECT_EQ(to_task_status(to_string(status)), status);
    EXPECT_THROW((void)to_task_status("asleep"), invalid_argument);
    EXPECT_FALSE(is_final(task_status::running));
    EXPECT_TRUE(is_final(task_status::cancelled));
}

TEST(ParseError, Verbose) {
    const error_info info = parse_error("ERROR:  55000: task \"a\" is not held by worker \"w\"\n"
                                        "DETAIL:  Status: ready.\nSecond line.\n"
                                        "HINT:  Stop.\n"
                                        "SCHEMA NAME:  scylla\nTABLE NAME:  task\nCONSTRAINT NAME:  held\n"
                                        "LOCATION:  not_held, error.cpp:10\n",
                                        "55000");
    EXPECT_EQ(info.message, "task \"a\" is not held by worker \"w\"");
    EXPECT_EQ(info.detail, "Status: ready.\nSecond line.");
    EXPECT_EQ(info.hint, "Stop.");
    EXPECT_EQ(info.rule, "held");
    EXPECT_EQ(info.sqlstate, "55000");
}

TEST(ParseError, PreparedStatement) {
    const error_info info =
        parse_error("Failure during 'scylla_lease_jobs': ERROR:  42501: permission denied for queue \"q\"\n"
                    "DETAIL:  Role \"r\" does not have the privilege \"work\".\n",
                    "42501");
    EXPECT_EQ(info.message, "permission denied for queue \"q\"");
    EXPECT_EQ(info.detail, "Role \"r\" does not have the privilege \"work\".");
}

TEST(ParseError, Default) {
    const error_info info =
        parse_error("ERROR:  column \"x\" does not exist\nLINE 1: select x\n               ^\n", "42703");
    EXPECT_EQ(info.message, "column \"x\" does not exist");
    EXPECT_EQ(info.rule, "");
}

// A name with line ends cannot imitate a field that the server sends later.
TEST(ParseError, TheLastFieldCounts) {
    const error_info info =
        parse_error("ERROR:  task \"x\nCONSTRAINT NAME:  held\" is not ready\nDETAIL:  Status: running.\n"
                    "CONSTRAINT NAME:  ready\n",
                    "55000");
    EXPECT_EQ(info.rule, "ready");
    EXPECT_EQ(info.detail, "Status: running.");
}

TEST(ParseError, NoServer) {
    const error_info info = parse_error("could not connect to server: Connection refused\n", "");
    EXPECT_EQ(info.message, "could not connect to server: Connection refused");
    EXPECT_EQ(info.sqlstate, "");
}

template <class E> void expect_thrown(const std::string &sqlstate, const std::string &rule = "") {
    error_info info;
    info.message = "m";
    info.sqlstate = sqlstate;
    info.rule = rule;
    info.detail = "d";
    info.hint = "h";
    try {
        throw_error(info);
    } catch (const error &e) {
        EXPECT_EQ(typeid(e).name(), typeid(E).name()) << sqlstate;
        EXPECT_STREQ(e.what(), "m\nDetail: d\nHint: h");
        EXPECT_EQ(e.sqlstate(), sqlstate);
    }
}

TEST(ThrowError, TheClassFollowsFromSqlstateAndRule) {
    expect_thrown<lease_lost>("55000", "held");
    expect_thrown<wrong_state>("55000", "ready");
    expect_thrown<wrong_state>("55000");
    expect_thrown<wrong_state>("2BP01", "empty");
    expect_thrown<not_found>("P0002", "exists");
    expect_thrown<not_found>("42704", "exists");
    expect_thrown<duplicate>("23505", "unique");
    expect_thrown<duplicate>("42710", "unique");
    expect_thrown<invalid_argument>("22023", "argument");
    expect_thrown<invalid_argument>("22P02");
    expect_thrown<not_supported>("0A000", "supported");
    expect_thrown<not_supported>("42883");
    expect_thrown<not_supported>("3F000");
    expect_thrown<denied>("42501");
    expect_thrown<read_only>("25006");
    expect_thrown<conflict>("40001");
    expect_thrown<conflict>("40P01");
    expect_thrown<conflict>("55P03");
    expect_thrown<timed_out>("57014");
    expect_thrown<connection_lost>("");
    expect_thrown<connection_lost>("08006");
    expect_thrown<connection_lost>("57P01");
    expect_thrown<error>("XX000");
}

} // namespace
