// Characters of strings in UTF-8. A byte that is not part of a valid character counts as a character, so that every
// text can be processed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace scylla::model::sel {

constexpr bool is_digit(char32_t c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char32_t c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr bool is_continuation(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// Bytes of the character that begins there.
constexpr std::size_t char_size(std::string_view text, std::size_t at) noexcept {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t size = lead < 0xC0U ? 1 : lead < 0xE0U ? 2 : lead < 0xF0U ? 3 : lead < 0xF8U ? 4 : 1;
    if (size > text.size() - at)
        return 1;
    for (std::size_t i = 1; i < size; i++) {
        if (!is_continuation(text[at + i]))
            return 1;
    }
    return size;
}

constexpr char32_t char_at(std::string_view text, std::size_t at) noexcept {
    const std::size_t size = char_size(text, at);
    const auto lead = static_cast<unsigned char>(text[at]);
    if (size == 1)
        return lead;
    char32_t code = lead & (0xFFU >> (size + 1));
    for (std::size_t i = 1; i < size; i++)
        code = (code << 6U) | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
    return code;
}

constexpr std::int64_t count_chars(std::string_view text) noexcept {
    std::int64_t count = 0;
    for (std::size_t at = 0; at < text.size(); at += char_size(text, at))
        count++;
    return count;
}

// Where the character with this number begins; the end if there are fewer.
constexpr std::size_t offset_of_char(std::string_view text, std::int64_t number) noexcept {
    std::size_t at = 0;
    for (; number > 0 && at < text.size(); number--)
        at += char_size(text, at);
    return at;
}

inline void append_char(std::string &text, char32_t code) {
    const auto add = [&text](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (code < 0x80) {
        add(code);
    } else if (code < 0x800) {
        add(0xC0 | (code >> 6U));
        add(0x80 | (code & 0x3FU));
    } else if (code < 0x10000) {
        add(0xE0 | (code >> 12U));
        add(0x80 | ((code >> 6U) & 0x3FU));
        add(0x80 | (code & 0x3FU));
    } else {
        add(0xF0 | (code >> 18U));
        add(0x80 | ((code >> 12U) & 0x3FU));
        add(0x80 | ((code >> 6U) & 0x3FU));
        add(0x80 | (code & 0x3FU));
    }
}

} // namespace scylla::model::sel
