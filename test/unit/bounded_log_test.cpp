// The log that must not grow for ever, against a model that keeps everything.
#include "model/bounded_log.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

namespace test_bounded_log {
namespace {

using scylla::model::k_log_head;
using scylla::model::k_log_max;
using scylla::model::LogTrim;
using scylla::model::trim_log;

// A log as the library stores it: entries are numbers, the marker is a count at index k_log_head.
class Log {
public:
    void append(int added) {
        const LogTrim trim = trim_log(size(), marker_.has_value(), added);
        if (trim.trim) {
            // What the library relies on: the first entries stay, and the rest is cut out of what stands behind them.
            ASSERT_GE(size(), k_log_head);
            ASSERT_GE(trim.tail_from, k_log_head + (marker_ ? 1 : 0));
            ASSERT_LE(trim.tail_from, size());
            ASSERT_GE(trim.newly_left_out, 0);
            const int marker_slots = marker_ ? 1 : 0;
            std::vector<int> kept(entries_.begin(), entries_.begin() + k_log_head);
            kept.insert(kept.end(), entries_.begin() + (trim.tail_from - marker_slots), entries_.end());
            marker_ = marker_.value_or(0) + trim.newly_left_out;
            entries_ = kept;
        }
        for (int i = 0; i < added; i++)
            entries_.push_back(next_++);
    }

    [[nodiscard]] int size() const { return static_cast<int>(entries_.size()) + (marker_ ? 1 : 0); }
    [[nodiscard]] const std::vector<int> &entries() const { return entries_; }
    [[nodiscard]] long left_out() const { return marker_.value_or(0); }
    [[nodiscard]] bool marked() const { return marker_.has_value(); }
    [[nodiscard]] int appended() const { return next_; }

private:
    std::vector<int> entries_; // without the marker
    std::optional<long> marker_;
    int next_ = 0;
};

// Compares with what the model says of `total` entries 0, 1, 2, …: all of them, or the first and the latest.
void expect_model(const Log &log) {
    const int total = log.appended();
    std::vector<int> expected;
    if (total <= k_log_max && !log.marked()) {
        for (int i = 0; i < total; i++)
            expected.push_back(i);
        ASSERT_EQ(log.left_out(), 0);
    } else {
        const int tail = k_log_max - k_log_head - 1;
        for (int i = 0; i < k_log_head; i++)
            expected.push_back(i);
        for (int i = total - tail; i < total; i++)
            expected.push_back(i);
        ASSERT_EQ(log.left_out(), total - k_log_head - tail) << total << " entries";
        ASSERT_EQ(log.size(), k_log_max); // the library looks for a marker in logs of exactly this size only
    }
    ASSERT_LE(log.size(), k_log_max);
    ASSERT_EQ(log.entries(), expected) << total << " entries";
}

TEST(BoundedLog, KeepsTenThousandWithinItsBoundsOneByOne) {
    Log log;
    for (int i = 0; i < 10'000; i++) {
        ASSERT_NO_FATAL_FAILURE(log.append(1));
        ASSERT_NO_FATAL_FAILURE(expect_model(log));
    }
    EXPECT_EQ(log.left_out(), 10'000 - 49);
}

TEST(BoundedLog, KeepsTenThousandWithinItsBoundsInPairs) {
    Log log;
    for (int i = 0; i < 10'000; i++) {
        ASSERT_NO_FATAL_FAILURE(log.append(2));
        ASSERT_NO_FATAL_FAILURE(expect_model(log));
    }
    EXPECT_EQ(log.left_out(), 20'000 - 49);
}

TEST(BoundedLog, KeepsItsBoundsInAnyMixture) {
    for (unsigned seed = 1; seed <= 50; seed++) {
        std::mt19937 random(seed);
        Log log;
        for (int i = 0; i < 500; i++) {
            ASSERT_NO_FATAL_FAILURE(log.append(1 + static_cast<int>(random() % 2))) << "seed " << seed;
            ASSERT_NO_FATAL_FAILURE(expect_model(log)) << "seed " << seed;
        }
    }
}

TEST(BoundedLog, FiftyEntriesStayAsTheyAre) {
    EXPECT_FALSE(trim_log(0, false, 1).trim);
    EXPECT_FALSE(trim_log(49, false, 1).trim);
    EXPECT_FALSE(trim_log(48, false, 2).trim);
}

TEST(BoundedLog, TheFirstTrimLeavesOutTwo) { // one for the entry, one for the marker
    const LogTrim trim = trim_log(50, false, 1);
    EXPECT_TRUE(trim.trim);
    EXPECT_EQ(trim.tail_from, 12);
    EXPECT_EQ(trim.newly_left_out, 2);
}

TEST(BoundedLog, LaterTrimsLeaveOutWhatComesIn) {
    EXPECT_EQ(trim_log(50, true, 1).newly_left_out, 1);
    EXPECT_EQ(trim_log(50, true, 2).newly_left_out, 2);
}

// More than the log holds at once: the head and the marker stay, and nothing between them and what comes in.
TEST(BoundedLog, AFloodLeavesNoOldTail) {
    const LogTrim trim = trim_log(50, true, 45);
    EXPECT_TRUE(trim.trim);
    EXPECT_EQ(trim.tail_from, 50);
    EXPECT_EQ(trim.newly_left_out, 39);
}

} // namespace
} // namespace test_bounded_log
