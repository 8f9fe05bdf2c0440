// UUIDv7 (RFC 9562): time-ordered, so that the index of names grows at its end.
#pragma once

#include <array>
#include <cstdint>

namespace scylla::model {

inline constexpr int k_uuid_chars = 36;

// unix_micros: the time since 1970. random: 8 random bytes, of which 62 bits are used. The 12 bits after the version
// hold the fraction of the millisecond (its section 6.2, method 3), so that names made one after the other by one clock
// sort that way.
inline std::array<char, k_uuid_chars> uuid_v7(std::uint64_t unix_micros,
                                              const std::array<std::uint8_t, 8> &random) noexcept {
    const std::uint64_t millis = unix_micros / 1000;
    const auto fraction = static_cast<std::uint32_t>(unix_micros % 1000 * 4096 / 1000);
    std::array<std::uint8_t, 16> bytes{};
    for (int i = 0; i < 6; i++)
        bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(millis >> (8 * (5 - i)));
    bytes[6] = static_cast<std::uint8_t>(0x70 | (fraction >> 8));
    bytes[7] = static_cast<std::uint8_t>(fraction);
    for (std::size_t i = 0; i < 8; i++)
        bytes[8 + i] = random[i];
    bytes[8] = static_cast<std::uint8_t>(0x80 | (bytes[8] & 0x3f));

    constexpr char digits[] = "0123456789abcdef";
    std::array<char, k_uuid_chars> result{};
    std::size_t at = 0;
    for (std::size_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            result[at++] = '-';
        result[at++] = digits[bytes[i] >> 4];
        result[at++] = digits[bytes[i] & 15];
    }
    return result;
}

} // namespace scylla::model
