#include "model/turns.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace test_turns {
namespace {

using scylla::model::take_turns;

std::vector<std::size_t> turns(const std::vector<std::int32_t> &lines) {
    std::vector<std::size_t> order(lines.size());
    take_turns(lines, order);
    return order;
}

TEST(Turns, TheFirstOfEachLineComesBeforeTheSecondOfAny) {
    EXPECT_EQ(turns({}), std::vector<std::size_t>{});
    EXPECT_EQ(turns({5}), std::vector<std::size_t>{0});
    EXPECT_EQ(turns({5, 5, 5}), (std::vector<std::size_t>{0, 1, 2}));
    EXPECT_EQ(turns({5, 5, 5, -1, 7, 7}), (std::vector<std::size_t>{0, 3, 4, 1, 5, 2}));
}

TEST(Turns, NobodyWaitsForMoreOfAnotherLineThanHeHasInFrontOfHim) {
    std::mt19937 random(1);
    for (int round = 0; round < 1'000; round++) {
        std::vector<std::int32_t> lines;
        for (std::int32_t line = 0; line < 6; line++)
            lines.insert(lines.end(), random() % 20, line);
        const auto order = turns(lines);
        std::vector<std::size_t> served(6);
        std::vector<bool> seen(lines.size());
        for (const std::size_t place : order) {
            ASSERT_FALSE(seen[place]);
            seen[place] = true;
            const auto own = static_cast<std::size_t>(lines[place]);
            for (std::size_t other = 0; other < served.size(); other++)
                ASSERT_LE(served[other], served[own] + 1);
            ASSERT_TRUE(served[own] == 0 || seen[place - 1]) << "within a line, the first comes first";
            served[own]++;
        }
    }
}

} // namespace
} // namespace test_turns
