// History and errors of a task are arrays that must not grow for ever: of a long one the first and the latest entries
// stay, and one marker between them counts those left out.
#pragma once

namespace scylla::model {

inline constexpr int k_log_max = 50;  // entries held at most, the marker included
inline constexpr int k_log_head = 10; // of them, the first

struct LogTrim {
    bool trim;          // false: append as it is
    int tail_from;      // index of the first old entry that stays behind the marker (may be `size`: none)
    int newly_left_out; // entries dropped now; the marker's count grows by it
};

// An array of `size` entries (with the marker at index k_log_head if `marked`) that `added` more are to join.
constexpr LogTrim trim_log(int size, bool marked, int added) noexcept {
    if (size + added <= k_log_max)
        return {false, 0, 0};
    const int tail_start = k_log_head + (marked ? 1 : 0);
    const int tail_kept = k_log_max - k_log_head - 1 - added;
    const int tail_from = size - (tail_kept > 0 ? tail_kept : 0);
    return {true, tail_from, tail_from - tail_start};
}

} // namespace scylla::model
