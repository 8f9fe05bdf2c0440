// Times in buckets.
#include "model/histogram.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>

namespace test_histogram {
namespace {

using scylla::model::bucket_bound;
using scylla::model::bucket_of;
using scylla::model::Histogram;
using scylla::model::k_buckets;
using scylla::model::quantile;

TEST(Histogram, ABucketReachesToItsBoundAndNoFurther) {
    for (std::size_t i = 0; i + 1 < k_buckets; i++) {
        EXPECT_EQ(bucket_of(bucket_bound(i)), i);
        EXPECT_EQ(bucket_of(bucket_bound(i) - 1), i);
        EXPECT_EQ(bucket_of(bucket_bound(i) + 1), i + 1);
    }
}

TEST(Histogram, BoundsDouble) {
    EXPECT_EQ(bucket_bound(0), 1000);
    for (std::size_t i = 1; i < k_buckets; i++)
        EXPECT_EQ(bucket_bound(i), 2 * bucket_bound(i - 1));
}

TEST(Histogram, EveryTimeHasABucket) {
    EXPECT_EQ(bucket_of(0), 0U);
    EXPECT_EQ(bucket_of(-1), 0U);
    EXPECT_EQ(bucket_of(std::numeric_limits<std::int64_t>::min()), 0U);
    EXPECT_EQ(bucket_of(std::numeric_limits<std::int64_t>::max()), k_buckets - 1);
}

TEST(Histogram, AddsTimesAndHistograms) {
    Histogram a{};
    a.add(500);
    a.add(1500);
    a.add(-7);
    EXPECT_EQ(a.sum, 2000);
    EXPECT_EQ(a.count[0], 2);
    EXPECT_EQ(a.count[1], 1);
    Histogram b{};
    b.add(3'600'000'000);
    b.add(a);
    EXPECT_EQ(b.sum, 3'600'002'000);
    EXPECT_EQ(std::accumulate(b.count.begin(), b.count.end(), std::int64_t{0}), 4);
    EXPECT_EQ(b.count[0], 2);
    EXPECT_EQ(b.count[bucket_of(3'600'000'000)], 1);
}

TEST(Histogram, AQuantileIsFoundByInterpolation) {
    Histogram h{};
    EXPECT_FALSE(quantile(h.count, 0.5).has_value());
    for (int i = 0; i < 100; i++)
        h.add(1500); // the bucket from 1 to 2 ms
    EXPECT_DOUBLE_EQ(*quantile(h.count, 0), 1000);
    EXPECT_DOUBLE_EQ(*quantile(h.count, 0.25), 1250);
    EXPECT_DOUBLE_EQ(*quantile(h.count, 1), 2000);
    for (int i = 0; i < 100; i++)
        h.add(100'000); // from 64 to 128 ms
    EXPECT_DOUBLE_EQ(*quantile(h.count, 0.25), 1500);
    EXPECT_DOUBLE_EQ(*quantile(h.count, 0.5), 2000);
    EXPECT_DOUBLE_EQ(*quantile(h.count, 0.75), 96'000);
    EXPECT_DOUBLE_EQ(*quantile(h.count, 1), 128'000);
}

TEST(Histogram, AQuantileWithoutAnUpperBoundIsTheLowerOne) {
    Histogram h{};
    h.add(std::numeric_limits<std::int64_t>::max());
    EXPECT_DOUBLE_EQ(*quantile(h.count, 0.5), static_cast<double>(bucket_bound(k_buckets - 2)));
}

TEST(Histogram, AQuantileIsNeverFartherOffThanAFactorOfTwo) {
    for (const std::int64_t micros : {1'001, 5'000, 77'777, 1'000'000, 86'400'000}) {
        Histogram h{};
        h.add(micros);
        for (const double fraction : {0.01, 0.5, 0.99}) {
            EXPECT_GE(*quantile(h.count, fraction) * 2, static_cast<double>(micros));
            EXPECT_LE(*quantile(h.count, fraction), static_cast<double>(micros) * 2);
        }
    }
}

} // namespace
} // namespace test_histogram
