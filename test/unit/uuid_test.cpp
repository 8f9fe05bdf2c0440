// UUIDv7: the layout of RFC 9562, and that later means greater.
#include "model/uuid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace test_uuid {
namespace {

using scylla::model::uuid_v7;
using Random = std::array<std::uint8_t, 8>;

constexpr Random k_zeros{};
constexpr Random k_ones{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

std::string text(std::uint64_t micros, const Random &random) {
    const auto chars = uuid_v7(micros, random);
    return {chars.data(), chars.size()};
}

// Appendix A.6 of RFC 9562: 2022-02-22 19:22:22 UTC, rand_a 0xCC3, rand_b 0x18C4DC0C0C07398F. Our rand_a is the
// fraction of the millisecond: 0xCC3 of 0x1000 is 797 microseconds and a bit, and 797 gives 0xCC0.
TEST(Uuid, TheVectorOfTheRfc) {
    const Random random{0x98, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f};
    EXPECT_EQ(text(1'645'557'742'000'000, random), "017f22e2-79b0-7000-98c4-dc0c0c07398f");
    EXPECT_EQ(text(1'645'557'742'000'797, random), "017f22e2-79b0-7cc0-98c4-dc0c0c07398f");
}

TEST(Uuid, TheBeginningOfTime) { EXPECT_EQ(text(0, k_zeros), "00000000-0000-7000-8000-000000000000"); }

TEST(Uuid, AllRandomBits) { EXPECT_EQ(text(0, k_ones), "00000000-0000-7000-bfff-ffffffffffff"); }

TEST(Uuid, TheLastMicrosecondOfAMillisecond) { EXPECT_EQ(text(999, k_zeros), "00000000-0000-7ffb-8000-000000000000"); }

TEST(Uuid, The48BitsOfTheTime) {
    const std::uint64_t millis = (std::uint64_t{1} << 48) - 1;
    EXPECT_EQ(text(millis * 1000, k_zeros), "ffffffff-ffff-7000-8000-000000000000");
}

TEST(Uuid, ShapeVersionAndVariantWhateverTheInput) {
    std::mt19937_64 bits(9562);
    for (int i = 0; i < 10'000; i++) {
        Random random;
        for (auto &byte : random)
            byte = static_cast<std::uint8_t>(bits());
        const std::string name = text(bits() >> 8, random);
        ASSERT_EQ(name.size(), 36U);
        for (std::size_t at = 0; at < name.size(); at++) {
            if (at == 8 || at == 13 || at == 18 || at == 23) {
                ASSERT_EQ(name[at], '-') << name;
            } else {
                ASSERT_TRUE(std::string("0123456789abcdef").find(name[at]) != std::string::npos) << name;
            }
        }
        ASSERT_EQ(name[14], '7') << name;
        ASSERT_NE(std::string("89ab").find(name[19]), std::string::npos) << name;
    }
}

// Every one of the 62 bits comes through: flipping one changes the name, and no two flips give the same.
TEST(Uuid, EveryRandomBitButTheVariantCounts) {
    std::set<std::string> names{text(1, k_zeros)};
    int changed = 0;
    for (std::size_t byte = 0; byte < 8; byte++)
        for (int bit = 0; bit < 8; bit++) {
            Random random{};
            random[byte] = static_cast<std::uint8_t>(1 << bit);
            changed += names.insert(text(1, random)).second ? 1 : 0;
        }
    EXPECT_EQ(changed, 62);
}

// Each microsecond has a place of its own within its millisecond, so names by one clock sort as they were made.
TEST(Uuid, LaterIsGreaterWhateverTheRandomBits) {
    const std::uint64_t start = 1'700'000'000'000'000 - 1'500;
    for (std::uint64_t micros = start; micros < start + 3'000; micros++)
        ASSERT_LT(text(micros, k_ones), text(micros + 1, k_zeros)) << micros;
}

TEST(Uuid, LaterIsGreaterAcrossTheYears) {
    std::mt19937_64 random(7);
    std::vector<std::uint64_t> times(5'000);
    for (auto &time : times)
        time = random() % 250'000'000'000'000'000; // until the year 9892
    std::sort(times.begin(), times.end());
    for (std::size_t i = 1; i < times.size(); i++) {
        if (times[i - 1] < times[i]) {
            ASSERT_LT(text(times[i - 1], k_ones), text(times[i], k_zeros)) << times[i];
        }
    }
}

} // namespace
} // namespace test_uuid
