// Whose turn is next, where many wait for one who serves them in portions: owners take turns, and the items of one
// owner in the order in which they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace scylla::model {

// Puts the indexes of items into the order of their turns: the first item of each line, then the second of each, and so
// on. lines: the line of each item, those of one line adjacent and in the order of arrival. order: as many.
constexpr void take_turns(std::span<const std::int32_t> lines, std::span<std::size_t> order) noexcept {
    std::size_t next = 0;
    for (std::size_t round = 0; next < lines.size(); round++)
        for (std::size_t begin = 0, end = 0; begin < lines.size(); begin = end) {
            while (end < lines.size() && lines[end] == lines[begin])
                end++;
            if (round < end - begin)
                order[next++] = begin + round;
        }
}

} // namespace scylla::model
