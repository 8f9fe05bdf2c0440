#include "model/visible.h"

#include <array>
#include <gtest/gtest.h>

namespace test_visible {
namespace {

using scylla::model::InProgress;
using scylla::model::is_in_progress;

constexpr std::array<std::uint32_t, 2> k_running{105, 110};

TEST(VisibleTest, WhatIsBetweenTheBoundsIsInProgressIfListed) {
    const InProgress snapshot{105, 120, k_running, {}};
    EXPECT_FALSE(is_in_progress(104, snapshot));
    EXPECT_TRUE(is_in_progress(105, snapshot));
    EXPECT_FALSE(is_in_progress(106, snapshot));
    EXPECT_TRUE(is_in_progress(110, snapshot));
    EXPECT_FALSE(is_in_progress(119, snapshot));
    EXPECT_TRUE(is_in_progress(120, snapshot));
    EXPECT_TRUE(is_in_progress(1000, snapshot));
}

TEST(VisibleTest, ASnapshotOfAStandbyListsTopLevelIdsAmongSubtransactions) {
    const InProgress snapshot{105, 120, {}, k_running};
    EXPECT_TRUE(is_in_progress(110, snapshot));
    EXPECT_FALSE(is_in_progress(111, snapshot));
}

TEST(VisibleTest, IdsBeginAgainBehindTheLargest) {
    constexpr std::array<std::uint32_t, 2> around{0xfffffff0U, 5};
    const InProgress snapshot{0xfffffff0U, 10, around, {}};
    EXPECT_FALSE(is_in_progress(0xffffffe0U, snapshot));
    EXPECT_TRUE(is_in_progress(0xfffffff0U, snapshot));
    EXPECT_FALSE(is_in_progress(0xfffffff5U, snapshot));
    EXPECT_FALSE(is_in_progress(4, snapshot));
    EXPECT_TRUE(is_in_progress(5, snapshot));
    EXPECT_TRUE(is_in_progress(10, snapshot));
}

} // namespace
} // namespace test_visible
