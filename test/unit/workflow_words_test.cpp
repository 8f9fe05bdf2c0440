// Run strategies (section 3) and selectors of versions (section 1.6).
#include <gtest/gtest.h>

#include "model/workflow/run_strategy.h"
#include "model/workflow/version_selector.h"

namespace test_workflow_words {
namespace {

using namespace scylla::model::workflow;

std::string shown(std::string_view word, std::optional<std::int32_t> concurrency = std::nullopt) {
    const auto strategy = read_run_strategy(word, concurrency);
    return strategy ? std::string(name(strategy->rule)) + "(" + std::to_string(strategy->concurrency) + ")" : "none";
}

TEST(RunStrategy, Words) {
    EXPECT_EQ(shown("sequential"), "SEQUENTIAL(1)");
    EXPECT_EQ(shown("Strict_Sequential"), "STRICT_SEQUENTIAL(1)");
    EXPECT_EQ(shown("FIRST_ONLY", 1), "FIRST_ONLY(1)");
    EXPECT_EQ(shown("last_only"), "LAST_ONLY(1)");
    EXPECT_EQ(shown("serial_latest_only"), "SERIAL_LATEST_ONLY(1)");
    EXPECT_EQ(shown("parallel"), "PARALLEL(20)");
    EXPECT_EQ(shown("parallel", 3), "PARALLEL(3)");
    EXPECT_EQ(shown("17"), "PARALLEL(17)");
    EXPECT_EQ(shown("1"), "PARALLEL(1)");
    EXPECT_EQ(shown("sometimes"), "none");
    EXPECT_EQ(shown(""), "none");
    EXPECT_EQ(shown("99999999999"), "none");
    const RunStrategy by_default;
    EXPECT_EQ(by_default.rule, Rule::sequential);
    EXPECT_EQ(by_default.concurrency, 1);
}

std::string picked(std::string_view selector, Versions versions) {
    const PickedVersion found = pick_version(selector, versions);
    constexpr const char *k_kinds[] = {"version", "inactive", "missing", "malformed"};
    return found.kind == Pick::version ? std::to_string(found.version) : k_kinds[static_cast<std::size_t>(found.kind)];
}

TEST(VersionSelector, Words) {
    constexpr Versions active{.active = 3, .latest = 5};
    constexpr Versions inactive{.active = 0, .latest = 5};
    EXPECT_EQ(picked("active", active), "3");
    EXPECT_EQ(picked("ACTIVE", active), "3");
    EXPECT_EQ(picked("active", inactive), "inactive");
    EXPECT_EQ(picked("latest", active), "5");
    EXPECT_EQ(picked("Latest", inactive), "5");
    EXPECT_EQ(picked("default", active), "3");
    EXPECT_EQ(picked("dEfault", inactive), "5");
}

TEST(VersionSelector, Numbers) {
    constexpr Versions versions{.active = 3, .latest = 5};
    EXPECT_EQ(picked("1", versions), "1");
    EXPECT_EQ(picked("5", versions), "5");
    EXPECT_EQ(picked("0", versions), "missing");
    EXPECT_EQ(picked("6", versions), "missing");
    EXPECT_EQ(picked("99999999999999999999", versions), "missing");
    for (const std::string_view bad : {"", "-1", "+1", " 1", "1 ", "1.0", "first", "act", "actives"})
        EXPECT_EQ(picked(bad, versions), "malformed") << bad;
}

} // namespace
} // namespace test_workflow_words
