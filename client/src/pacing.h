// When to wait, and for how long. Pure functions.
#ifndef SCYLLA_SRC_PACING_H
#define SCYLLA_SRC_PACING_H

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace scylla::detail {

using steady = std::chrono::steady_clock;
using nanoseconds = std::chrono::nanoseconds;

constexpr std::chrono::seconds k_wait{10}; // maximum time of one wait of an idle worker on the server

// The pause after a number of failures in a row: first, doubled each time, up to last.
inline nanoseconds backoff(std::size_t failures, nanoseconds first, nanoseconds last) {
    nanoseconds pause = first;
    for (std::size_t i = 1; i < failures && pause < last; i++)
        pause *= 2;
    return std::min(pause, last);
}

// A pause shortened by up to a half, so that many workers do not return at the same moment. `random` is 0 to 1.
inline nanoseconds jittered(nanoseconds pause, double random) {
    return nanoseconds{static_cast<nanoseconds::rep>(static_cast<double>(pause.count()) * (1 - random / 2))};
}

// A moving average that follows quickly; zero before the first value.
class average {
public:
    void add(nanoseconds value) { m_value = m_value.count() == 0 ? value : (m_value * 7 + value) / 8; }
    [[nodiscard]] nanoseconds value() const { return m_value; }

private:
    nanoseconds m_value{0};
};

// How long finished tasks should wait for tasks in progress, to share a round trip with them: not at all unless these
// are expected to finish within the time of such a round trip.
inline nanoseconds linger(std::size_t outstanding, std::size_t threads, nanoseconds handler_time,
                          nanoseconds round_trip) {
    constexpr nanoseconds longest = std::chrono::milliseconds{5};
    if (outstanding == 0)
        return nanoseconds{0};
    const nanoseconds expected = handler_time * static_cast<nanoseconds::rep>((outstanding + threads - 1) / threads);
    const nanoseconds limit = std::min(round_trip, longest);
    return expected < limit ? limit : nanoseconds{0};
}

} // namespace scylla::detail

#endif
