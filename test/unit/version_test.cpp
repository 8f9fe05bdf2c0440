#include "model/version.h"

#include <gtest/gtest.h>

namespace scylla::model {
namespace {

TEST(Version, TheFirstTwoNumbersCount) {
    EXPECT_EQ(release_of("0.1"), (Release{0, 1}));
    EXPECT_EQ(release_of("0.1.7"), (Release{0, 1}));
    EXPECT_EQ(release_of("0.1next"), (Release{0, 1}));
    EXPECT_EQ(release_of("12.34-rc1"), (Release{12, 34}));
}

TEST(Version, NumbersNotTextsAreCompared) {
    EXPECT_LT(release_of("0.9"), release_of("0.10"));
    EXPECT_LT(release_of("0.99"), release_of("1.0"));
    EXPECT_GT(release_of("10.0"), release_of("9.9"));
}

TEST(Version, WhatIsNoVersionIsTheOldest) {
    EXPECT_EQ(release_of(""), (Release{0, 0}));
    EXPECT_EQ(release_of("unpackaged"), (Release{0, 0}));
    EXPECT_EQ(release_of("2"), (Release{2, 0}));
    EXPECT_EQ(release_of("2.x"), (Release{2, 0}));
    EXPECT_EQ(release_of("2-1"), (Release{2, 0}));
}

TEST(Version, LongNumbersDoNotOverflow) {
    EXPECT_GT(release_of("99999999999999999999.1"), release_of("1000.0"));
    EXPECT_EQ(release_of("1.99999999999999999999").major, 1);
}

} // namespace
} // namespace scylla::model
