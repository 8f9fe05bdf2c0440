#include "model/rate.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace test_rate {
namespace {

using namespace scylla::model;

constexpr std::int64_t k_start = 800'000'000 * k_second * k_nanos; // some day in 2025

TEST(Rate, IsWhatWasAskedForAndNeverMore) {
    EXPECT_EQ(make_rate(100, k_second, 10), (Rate{10'000'000, 10}));
    EXPECT_EQ(make_rate(3, k_second, 1), (Rate{333'333'334, 1})) << "rounded up";
    EXPECT_EQ(make_rate(1'000'000, k_second, 1), (Rate{1000, 1}));
    EXPECT_EQ(make_rate(1, 365 * k_day, 10), (Rate{365 * k_day * k_nanos, 10}));
}

TEST(Rate, HasBounds) {
    for (const auto &[tasks, per, burst] :
         std::vector<std::array<std::int64_t, 3>>{{0, k_second, 1},
                                                  {-1, k_second, 1},
                                                  {1, 0, 1},
                                                  {1, -1, 1},
                                                  {1, k_second, 0},
                                                  {1, k_second, -1},
                                                  {1'000'001, k_second, 1},
                                                  {k_max_rate_tasks + 1, 365 * k_day, 1},
                                                  {1, 365 * k_day + 1, 1},
                                                  {1, 365 * k_day, 11},
                                                  {1, k_second, k_max_rate_tasks + 1},
                                                  {INT64_MAX, INT64_MAX, INT64_MAX},
                                                  {INT64_MIN, INT64_MIN, INT64_MIN}})
        EXPECT_FALSE(make_rate(tasks, per, burst)) << tasks << ' ' << per << ' ' << burst;
}

TEST(Rate, ABucketBeginsUsedUpAndFills) {
    const Rate rate = *make_rate(10, k_second, 3);
    const std::int64_t step = rate.interval;
    const std::int64_t arrival = used_up(rate, k_start);
    EXPECT_EQ(tokens(rate, arrival, k_start), 0);
    EXPECT_EQ(tokens(rate, arrival, k_start + step - 1), 0);
    EXPECT_EQ(tokens(rate, arrival, k_start + step), 1);
    EXPECT_EQ(tokens(rate, arrival, k_start + 3 * step - 1), 2);
    EXPECT_EQ(tokens(rate, arrival, k_start + 3 * step), 3);
    EXPECT_EQ(tokens(rate, arrival, k_start + 1000 * step), 3) << "it holds no more";
    for (int n = 1; n <= 3; n++)
        EXPECT_EQ(time_of(rate, arrival, k_start, n), k_start + n * step);
    EXPECT_EQ(time_of(rate, arrival, k_start + 9 * step, 2), k_start + 9 * step) << "they are there";
}

TEST(Rate, WhatIsGivenBackWasNeverTaken) {
    const Rate rate = *make_rate(1000, k_second, 100);
    std::int64_t arrival = used_up(rate, k_start);
    const std::int64_t now = k_start + 70 * rate.interval;
    const std::int64_t alone = take(rate, arrival, now, 20);
    arrival = take(rate, arrival, now, 50);
    EXPECT_EQ(tokens(rate, arrival, now), 20);
    EXPECT_EQ(give_back(rate, arrival, 30), alone);
    EXPECT_EQ(give_back(rate, 5, 30), 0);
}

TEST(Rate, AClockThatIsSetBackUsesTheBucketUp) {
    const Rate rate = *make_rate(10, k_second, 3);
    const std::int64_t arrival = take(rate, 0, k_start, 1);
    const std::int64_t before = k_start - 3'600 * k_second * k_nanos;
    EXPECT_EQ(tokens(rate, arrival, before), 0);
    EXPECT_EQ(time_of(rate, arrival, before, 1), before + rate.interval) << "and does not stop it for an hour";
    EXPECT_EQ(take(rate, arrival, before + 0, 0), used_up(rate, before));
    EXPECT_EQ(tokens(rate, arrival, k_start + 365 * k_day * k_nanos), 3) << "set forward: no more than a burst";
}

TEST(Rate, ExtremesDoNotOverflow) {
    for (const Rate &rate : {*make_rate(1, 365 * k_day, 10), *make_rate(1'000'000, k_second, k_max_rate_tasks),
                             *make_rate(k_max_rate_tasks, 365 * k_day, 1)})
        for (const std::int64_t micros : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, k_start / k_nanos, INT64_MAX}) {
            const std::int64_t now = to_nanos(micros);
            EXPECT_GE(now, 0);
            for (std::int64_t arrival : {std::int64_t{0}, now, used_up(rate, now), INT64_MAX}) {
                const std::int64_t there = tokens(rate, arrival, now);
                EXPECT_GE(there, 0);
                EXPECT_LE(there, rate.burst);
                arrival = take(rate, arrival, now, there);
                EXPECT_LE(arrival, used_up(rate, now));
                EXPECT_EQ(tokens(rate, arrival, now), 0);
                EXPECT_GE(time_of(rate, arrival, now, rate.burst), now);
            }
        }
}

// Against a bucket that is kept in whole numbers, in units of one token per `tasks * per`; and against the promise
// itself: in no window more than burst + t * tasks / per.
TEST(Rate, NeverMoreThanTheExactBucketAndHardlyLess) {
    __extension__ typedef __int128 Wide;
    std::mt19937_64 random{42};
    const auto below = [&random](std::int64_t bound) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
    };
    struct Taken {
        std::int64_t now, n;
    };
    for (int round = 0; round < 300; round++) {
        const std::int64_t tasks = 1 + below(round % 2 == 0 ? 5 : 20'000);
        const std::int64_t per = tasks + below(20 * k_second);
        const std::int64_t burst = 1 + below(round % 3 == 0 ? 1000 : 4);
        const auto rate = make_rate(tasks, per, burst);
        ASSERT_TRUE(rate);
        std::int64_t now = k_start;
        std::int64_t arrival = used_up(*rate, now);
        const Wide token = static_cast<Wide>(per) * k_nanos; // one nanosecond brings `tasks` of these units
        Wide level = 0;
        std::vector<Taken> log;
        std::int64_t all = 0;
        for (int i = 0; i < 400; i++) {
            const std::int64_t wait = below(4) == 0 ? below(10 * rate->interval * burst) : below(2 * rate->interval);
            now += wait;
            level = std::min(level + static_cast<Wide>(wait) * tasks, token * burst);
            const std::int64_t there = tokens(*rate, arrival, now);
            ASSERT_LE(there, static_cast<std::int64_t>(level / token)) << "more than the exact bucket has";
            const std::int64_t n = std::min(there, 1 + below(burst));
            if (n == 0) {
                ASSERT_GT(time_of(*rate, arrival, now, 1), now);
                continue;
            }
            std::int64_t most = n + below(there - n + 1);
            arrival = give_back(*rate, take(*rate, arrival, now, most), most - n);
            level -= token * n;
            all += n;
            log.push_back({now, n});
        }
        for (std::size_t from = 0; from < log.size(); from++) {
            Wide sum = 0;
            for (std::size_t to = from; to < log.size(); to++) {
                sum += log[to].n;
                ASSERT_LE((sum - burst) * token, static_cast<Wide>(log[to].now - log[from].now) * tasks);
            }
        }
        ASSERT_GT(all, 0);
    }
}

// Who takes every token as soon as it is there gets all of them.
TEST(Rate, TokensComeInTime) {
    const Rate rate = *make_rate(7, k_second, 2);
    std::int64_t now = k_start;
    std::int64_t arrival = used_up(rate, now);
    for (int i = 1; i <= 1000; i++) {
        now = time_of(rate, arrival, now, 1);
        ASSERT_EQ(now, k_start + i * rate.interval);
        ASSERT_EQ(tokens(rate, arrival, now), 1);
        arrival = take(rate, arrival, now, 1);
    }
}

TEST(Rate, ABucketThatIsNotKeptIsAsTheOthers) {
    const Rate rate = *make_rate(10, k_second, 3);
    const Rate slow = *make_rate(1, 3600 * k_second, 1);
    const std::int64_t others = k_start + rate.interval;
    const std::int64_t later = k_start + 2 * rate.interval;
    EXPECT_EQ(arrival_of(std::nullopt, rate, others, k_start), others);
    EXPECT_EQ(arrival_of(Bucket{rate, later}, rate, others, k_start), later);
    EXPECT_EQ(arrival_of(Bucket{rate, k_start + 1}, rate, others, k_start), others) << "they were used up since";
    EXPECT_EQ(arrival_of(Bucket{rate, later}, rate, others, later), others) << "it is full";
    EXPECT_EQ(arrival_of(Bucket{slow, used_up(slow, k_start)}, rate, others, k_start), used_up(rate, k_start))
        << "of another rate";
    EXPECT_EQ(arrival_of(Bucket{slow, k_start}, rate, others, k_start), others) << "of another rate, and full";
}

TEST(Rate, TokensOfAnyCome) {
    const std::vector<std::int64_t> firsts{50, 10, 32};
    const std::vector<std::int64_t> all{10, 30, 32, 50, 50, 52, 70, 70, 72, 90};
    for (std::size_t n = 0; n < all.size(); n++) {
        std::vector<std::int64_t> changed = firsts;
        EXPECT_EQ(time_of_any(changed, 20, static_cast<std::int64_t>(n)), all[n]) << n;
    }
    std::vector<std::int64_t> one{7};
    EXPECT_EQ(time_of_any(one, 1, 1000), 1007);
}

// Many buckets and few places, as shmem/rates.h tells: whichever gives way, no bucket ever has more than it would have
// with a place of its own for ever; and with a place for each, it has the same.
TEST(Rate, BucketsThatGiveWayNeverHaveMore) {
    std::mt19937_64 random{42};
    const auto below = [&random](std::int64_t bound) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
    };
    constexpr std::size_t k_buckets = 20;
    struct Place {
        std::size_t whose;
        Bucket bucket;
    };
    for (int round = 0; round < 200; round++) {
        const Rate rate = *make_rate(1 + below(50), k_second, 1 + below(5));
        const std::size_t places = round % 2 == 0 ? k_buckets : 1 + static_cast<std::size_t>(below(6));
        std::int64_t now = k_start;
        std::int64_t others = used_up(rate, now);
        std::vector<std::int64_t> exact(k_buckets, others);
        std::vector<Place> kept;
        int taken = 0;
        for (int i = 0; i < 2000; i++) {
            now += below(rate.interval / 4);
            const auto whose = static_cast<std::size_t>(below(k_buckets));
            auto place = std::find_if(kept.begin(), kept.end(), [&](const Place &p) { return p.whose == whose; });
            const std::int64_t arrival =
                arrival_of(place != kept.end() ? std::optional(place->bucket) : std::nullopt, rate, others, now);
            const std::int64_t there = tokens(rate, arrival, now);
            ASSERT_LE(there, tokens(rate, exact[whose], now));
            if (places == k_buckets) {
                ASSERT_EQ(there, tokens(rate, exact[whose], now));
            }
            if (there == 0)
                continue;
            taken++;
            exact[whose] = take(rate, exact[whose], now, 1);
            const Place changed{whose, {rate, take(rate, arrival, now, 1)}};
            if (place == kept.end() && kept.size() == places) {
                place = std::min_element(kept.begin(), kept.end(), [](const Place &a, const Place &b) {
                    return a.bucket.arrival < b.bucket.arrival;
                });
                others = std::max(others, place->bucket.arrival);
            }
            if (place == kept.end())
                kept.push_back(changed);
            else
                *place = changed;
        }
        ASSERT_GT(taken, 0);
    }
}

} // namespace
} // namespace test_rate
