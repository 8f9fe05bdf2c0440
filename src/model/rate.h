// Rates: how many tasks may start in a time, by the generic cell rate algorithm (ATM Forum, Traffic Management
// Specification, 1996): a token bucket whose state is one number. A bucket holds `burst` tokens and gets one more each
// `interval`. The number is the *theoretical arrival time*: when the bucket will be full again. Taking n tokens moves
// it n intervals later; there are tokens while it is less than burst intervals ahead.
//
// In any time t no more than burst + t / interval tokens are taken. The interval is rounded up, so this is never more
// than was asked for.
//
// Times are nanoseconds since 2000, as microseconds are too coarse an interval for fast rates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "model/bounds.h"

namespace scylla::model {

struct Rate {
    std::int64_t interval; // nanoseconds between two tokens
    std::int64_t burst;    // tokens

    bool operator==(const Rate &) const = default;
    [[nodiscard]] constexpr std::int64_t span() const noexcept { return interval * burst; } // from empty to full
};

// A bucket as it is kept.
struct Bucket {
    Rate rate;
    std::int64_t arrival; // the theoretical arrival time
};

inline constexpr std::int64_t k_nanos = 1000;                       // in a microsecond
inline constexpr std::int64_t k_max_rate_tasks = 1'000'000'000;     // and burst
inline constexpr std::int64_t k_max_span = 3'650 * k_day * k_nanos; // ten years
inline constexpr std::int64_t k_latest = INT64_MAX - k_max_span;    // in the year 2282

// So many tasks per so many microseconds; nothing if that is out of range.
constexpr std::optional<Rate> make_rate(std::int64_t tasks, std::int64_t per, std::int64_t burst) noexcept {
    // More than a task a microsecond is no rate.
    if (tasks < 1 || tasks > k_max_rate_tasks || per < tasks || per > k_max_timeout || burst < 1 ||
        burst > k_max_rate_tasks)
        return std::nullopt;
    const std::int64_t interval = (per * k_nanos + tasks - 1) / tasks; // at most 3.2e16, no overflow
    if (interval > k_max_span / burst)
        return std::nullopt;
    return Rate{interval, burst};
}

// The server's time as ours.
constexpr std::int64_t to_nanos(std::int64_t micros) noexcept {
    return micros < 0 ? 0 : micros > k_latest / k_nanos ? k_latest : micros * k_nanos;
}

// A used-up bucket: the initial state.
constexpr std::int64_t used_up(const Rate &rate, std::int64_t now) noexcept { return now + rate.span(); }

// How long until it is full. If the clock has been set back, that would be too long: then the bucket counts as used up
// now.
constexpr std::int64_t missing(const Rate &rate, std::int64_t arrival, std::int64_t now) noexcept {
    return arrival <= now ? 0 : std::min(arrival - now, rate.span());
}

// How many tokens there are.
constexpr std::int64_t tokens(const Rate &rate, std::int64_t arrival, std::int64_t now) noexcept {
    return (rate.span() - missing(rate, arrival, now)) / rate.interval;
}

// The bucket after n of its tokens have been taken.
constexpr std::int64_t take(const Rate &rate, std::int64_t arrival, std::int64_t now, std::int64_t n) noexcept {
    return now + missing(rate, arrival, now) + n * rate.interval;
}

// The bucket after n tokens that were taken have been given back.
constexpr std::int64_t give_back(const Rate &rate, std::int64_t arrival, std::int64_t n) noexcept {
    return std::max<std::int64_t>(arrival - n * rate.interval, 0);
}

// When it will have n tokens if none are taken; n up to burst.
constexpr std::int64_t time_of(const Rate &rate, std::int64_t arrival, std::int64_t now, std::int64_t n) noexcept {
    return std::max(now, now + missing(rate, arrival, now) - (rate.burst - n) * rate.interval);
}

// ---- many buckets of one rate --------------------------------------------------------------------------------------
//
// There may be any number of buckets, so one is stored only while it is not full. `others` is the arrival of all
// buckets that are not stored.

// The arrival of a bucket, stored or not. A bucket that was stored for another rate, and is not full by it, counts as
// used up, because the time when that rate ended is unknown.
constexpr std::int64_t arrival_of(const std::optional<Bucket> &kept, const Rate &rate, std::int64_t others,
                                  std::int64_t now) noexcept {
    if (!kept || kept->arrival <= now)
        return others;
    return std::max(others, kept->rate == rate ? kept->arrival : used_up(rate, now));
}

// When the n-th token of all of them comes if none are taken: each gets its first at one of `firsts`, and then one in
// each `step`. n from 0 on; there is at least one bucket. Changes firsts.
constexpr std::int64_t time_of_any(std::span<std::int64_t> firsts, std::int64_t step, std::int64_t n) noexcept {
    const auto is_later = [](std::int64_t a, std::int64_t b) { return a > b; }; // for a heap with the earliest on top
    std::make_heap(firsts.begin(), firsts.end(), is_later);
    for (; n > 0; n--) {
        std::pop_heap(firsts.begin(), firsts.end(), is_later);
        firsts.back() += step;
        std::push_heap(firsts.begin(), firsts.end(), is_later);
    }
    return firsts.front();
}

} // namespace scylla::model
