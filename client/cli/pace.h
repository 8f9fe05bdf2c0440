// The pace of changes that go portion by portion through everything that matches, each portion in a transaction of its
// own.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace scylla::cli {

// After a portion that began then: four times as long as it took, a second at most. So changes in bulk take a fifth of
// the time, and workers keep their rate.
inline void pause_after_portion(std::chrono::steady_clock::time_point begin) {
    const auto taken = std::chrono::steady_clock::now() - begin;
    std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(4 * taken, std::chrono::seconds{1}));
}

} // namespace scylla::cli
