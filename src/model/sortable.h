// Numbers as texts that sort, byte by byte, as the numbers do. So that an index over texts finds the bounds of
// conditions on numbers, of any size and without rounding (plan/signals.h).
//
// A number is 0.d1d2d3… × 10^e with d1 not 0. Its text is a sign, e in six digits, and the digits without zeros at the
// end. A negative number has the complements to 9 instead and ends with a character above all digits: of two of them
// the one with more digits is smaller.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace scylla::model {

inline constexpr std::size_t k_sortable_extra = 8; // a sortable text has at most so many more bytes than its number

// Writes the sortable text of a decimal number (digits with at most one point, perhaps behind a minus sign) and returns
// its size. `to` has room for the size of the number and k_sortable_extra.
constexpr std::size_t make_sortable(std::string_view number, std::span<char> to) noexcept {
    constexpr char k_negative = '-';
    constexpr char k_zero = '0';
    constexpr char k_positive = '1';
    constexpr char k_above_digits = '~';
    constexpr int k_bias = 500'000; // numeric has at most 131,072 digits before the point and 16,383 behind it
    constexpr int k_exponent_digits = 6;
    const bool negative = !number.empty() && number.front() == '-';
    if (negative)
        number.remove_prefix(1);
    const std::size_t point = std::min(number.find('.'), number.size());
    const std::size_t first = number.find_first_not_of("0.");
    if (first == std::string_view::npos) {
        to[0] = k_zero;
        return 1;
    }
    const std::size_t last = number.find_last_not_of("0.");
    const int exponent =
        k_bias + (first < point ? static_cast<int>(point - first) : -static_cast<int>(first - point - 1));
    const auto digit = [negative](int value) { return static_cast<char>('0' + (negative ? 9 - value : value)); };
    std::size_t size = 0;
    to[size++] = negative ? k_negative : k_positive;
    int scale = 100'000;
    for (int i = 0; i < k_exponent_digits; i++, scale /= 10)
        to[size++] = digit(exponent / scale % 10);
    for (std::size_t i = first; i <= last; i++)
        if (number[i] != '.')
            to[size++] = digit(number[i] - '0');
    if (negative)
        to[size++] = k_above_digits;
    return size;
}

} // namespace scylla::model
