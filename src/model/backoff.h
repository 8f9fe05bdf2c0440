// How long to wait before the next try.
#pragma once

#include <cmath>
#include <cstdint>

#include "model/bounds.h"

namespace scylla::model {

struct Backoff {
    std::int64_t initial; // microseconds, the delay at count 0
    double factor;        // >= 1
    std::int64_t max;     // microseconds
};

// When fail() is given no delay, and neither the task nor its queue has a policy.
inline constexpr Backoff k_default_retry{1 * k_second, 2.0, 3'600 * k_second};

inline constexpr double k_max_factor = 1000;

// Tasks that failed together shall not all come back together: a delay is shortened by a random part of itself, at most
// by this share.
struct RetryPolicy {
    Backoff backoff = k_default_retry;
    double jitter = 0; // 0..1
};

// initial * factor^count, at most max; never overflows, whatever the count.
inline std::int64_t delay(const Backoff &policy, int count) noexcept {
    if (policy.initial <= 0)
        return 0; // and not 0 times infinity
    const double wanted = static_cast<double>(policy.initial) * std::pow(policy.factor, count < 0 ? 0 : count);
    // Also where pow() ran out of its range: infinity is not below max.
    return wanted < static_cast<double>(policy.max) ? static_cast<std::int64_t>(wanted) : policy.max;
}

// The same by a policy. random: from 0 to below 1.
inline std::int64_t delay(const RetryPolicy &policy, int count, double random) noexcept {
    const std::int64_t full = delay(policy.backoff, count);
    return full - static_cast<std::int64_t>(static_cast<double>(full) * policy.jitter * random);
}

} // namespace scylla::model
