// Times as counts in buckets whose bounds double: with the same relative precision at a millisecond as at a day, and
// little memory.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace scylla::model {

// Bucket i has the times up to 1 ms × 2^i, the last one everything above that.
inline constexpr std::size_t k_buckets = 32;

constexpr std::int64_t bucket_bound(std::size_t bucket) noexcept { return std::int64_t{1000} << bucket; }

// For a time in microseconds; one before zero (the clock was set back) counts as zero.
constexpr std::size_t bucket_of(std::int64_t micros) noexcept {
    if (micros <= bucket_bound(0))
        return 0;
    const auto milliseconds = static_cast<std::uint64_t>((micros - 1) / 1000); // rounded up, less one
    return std::min(static_cast<std::size_t>(std::bit_width(milliseconds)), k_buckets - 1);
}

struct Histogram {
    std::int64_t sum; // microseconds
    std::array<std::int64_t, k_buckets> count;

    constexpr void add(std::int64_t micros) noexcept {
        sum += std::max<std::int64_t>(micros, 0);
        count[bucket_of(micros)]++;
    }
    constexpr void add(const Histogram &other) noexcept {
        sum += other.sum;
        for (std::size_t i = 0; i < k_buckets; i++)
            count[i] += other.count[i];
    }
};

// The time that the given fraction of the times does not exceed, by interpolation within a bucket; nothing if there are
// none. Of the last bucket, which has no upper bound, it is the lower one.
constexpr std::optional<double> quantile(const std::array<std::int64_t, k_buckets> &count, double fraction) noexcept {
    double total = 0;
    for (const std::int64_t each : count)
        total += static_cast<double>(each);
    const double wanted = total * fraction;
    double below = 0;
    for (std::size_t i = 0; i < k_buckets; i++) {
        const auto here = static_cast<double>(count[i]);
        if (here > 0 && below + here >= wanted) {
            const double lower = i == 0 ? 0 : static_cast<double>(bucket_bound(i - 1));
            const double width = i == k_buckets - 1 ? 0 : static_cast<double>(bucket_bound(i)) - lower;
            return lower + width * std::max(0.0, (wanted - below) / here);
        }
        below += here;
    }
    return std::nullopt;
}

} // namespace scylla::model
