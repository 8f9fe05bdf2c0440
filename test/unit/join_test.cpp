#include "model/join.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace test_join {
namespace {

using namespace scylla::model;

std::optional<std::vector<std::int64_t>> joined(const std::vector<JoinCandidate> &candidates, std::size_t inputs) {
    const auto set = join(candidates, inputs);
    if (!set)
        return std::nullopt;
    return std::vector<std::int64_t>(set->begin(), set->begin() + static_cast<std::ptrdiff_t>(inputs));
}

TEST(Join, TakesTheOldestOfEachInput) {
    EXPECT_EQ(joined({{0, 3}, {0, 5}, {1, 2}, {1, 9}}, 2), (std::vector<std::int64_t>{3, 2}));
    EXPECT_EQ(joined({{0, 7}}, 1), (std::vector<std::int64_t>{7}));
}

TEST(Join, NeedsASignalForEachInput) {
    EXPECT_EQ(joined({{0, 3}, {0, 5}}, 2), std::nullopt);
    EXPECT_EQ(joined({}, 1), std::nullopt);
}

TEST(Join, UsesASignalOnce) {
    EXPECT_EQ(joined({{0, 3}, {1, 3}}, 2), std::nullopt);
    EXPECT_EQ(joined({{0, 3}, {0, 4}, {1, 3}, {1, 4}}, 2), (std::vector<std::int64_t>{4, 3})) << "the two oldest";
    // The only signal of the second input is taken from the first, which has another.
    EXPECT_EQ(joined({{0, 3}, {0, 4}, {1, 3}}, 2), (std::vector<std::int64_t>{4, 3}));
    EXPECT_EQ(joined({{0, 1}, {0, 2}, {1, 1}, {1, 3}, {2, 1}}, 3), (std::vector<std::int64_t>{2, 3, 1}));
}

// Whether there is a set at all, by trying everything.
bool has_set(const std::vector<std::set<std::int64_t>> &fitting, std::size_t input, std::set<std::int64_t> &used) {
    if (input == fitting.size())
        return true;
    for (const std::int64_t seq : fitting[input])
        if (used.insert(seq).second) {
            if (has_set(fitting, input + 1, used))
                return true;
            used.erase(seq);
        }
    return false;
}

TEST(Join, FindsASetWhereThereIsOne) {
    std::mt19937 random(17);
    int found = 0;
    for (int round = 0; round < 20'000; round++) {
        const std::size_t inputs = 1 + random() % 6;
        std::vector<std::set<std::int64_t>> fitting(inputs);
        for (auto &of_input : fitting)
            for (std::uint32_t n = random() % 5; n > 0; n--)
                of_input.insert(1 + random() % 9);
        std::vector<JoinCandidate> candidates;
        for (std::size_t input = 0; input < inputs; input++) {
            std::size_t count = 0;
            for (const std::int64_t seq : fitting[input])
                if (count++ < inputs) // as many as can be needed
                    candidates.push_back({input, seq});
        }
        const auto set = joined(candidates, inputs);
        std::set<std::int64_t> used;
        ASSERT_EQ(set.has_value(), has_set(fitting, 0, used)) << "round " << round;
        if (!set)
            continue;
        found++;
        ASSERT_EQ(std::set<std::int64_t>(set->begin(), set->end()).size(), inputs) << "no signal twice";
        for (std::size_t input = 0; input < inputs; input++)
            ASSERT_TRUE(fitting[input].contains((*set)[input]));
    }
    EXPECT_GT(found, 1000);
}

} // namespace
} // namespace test_join
