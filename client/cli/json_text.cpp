#include "json_text.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace scylla::cli {

namespace {

constexpr int k_max_depth = 500;
constexpr std::size_t k_max_digits = 1000;
constexpr std::size_t k_max_exponent_digits = 3;

// The length of the character of UTF-8 at the start of the text, 0 if there is none.
std::size_t character_length(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80)
        return 1;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length)
        return 0;
    for (std::size_t i = 1; i < length; i++)
        if ((byte(i) & 0xc0) != 0x80)
            return 0;
    // Not the shortest form, surrogates, and characters above U+10FFFF.
    const unsigned second = byte(1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
        (first == 0xf4 && second > 0x8f))
        return 0;
    return length;
}

// A recursive descent over the grammar of RFC 8259.
class checker {
public:
    explicit checker(std::string_view text) : m_rest{text} {}

    bool document() noexcept {
        skip_blanks();
        return value(0) && (skip_blanks(), m_rest.empty());
    }

private:
    bool value(int depth) noexcept {
        if (depth > k_max_depth || m_rest.empty())
            return false;
        switch (m_rest.front()) {
        case '{':
            return list(depth, '}', true);
        case '[':
            return list(depth, ']', false);
        case '"':
            return string();
        case 't':
            return word("true");
        case 'f':
            return word("false");
        case 'n':
            return word("null");
        default:
            return number();
        }
    }

    bool list(int depth, char end, bool with_keys) noexcept {
        m_rest.remove_prefix(1);
        skip_blanks();
        if (take(end))
            return true;
        do {
            skip_blanks();
            if (with_keys && !(string() && (skip_blanks(), take(':'))))
                return false;
            skip_blanks();
            if (!value(depth + 1))
                return false;
            skip_blanks();
        } while (take(','));
        return take(end);
    }

    bool string() noexcept {
        if (!take('"'))
            return false;
        while (!m_rest.empty()) {
            const char c = m_rest.front();
            if (take('"'))
                return true;
            if (static_cast<unsigned char>(c) < 0x20)
                return false;
            if (c == '\\') {
                if (!escape())
                    return false;
                continue;
            }
            const std::size_t length = character_length(m_rest);
            if (length == 0)
                return false;
            m_rest.remove_prefix(length);
        }
        return false;
    }

    bool escape() noexcept {
        m_rest.remove_prefix(1);
        if (!take('u')) {
            if (m_rest.empty() || std::string_view{"\"\\/bfnrt"}.find(m_rest.front()) == std::string_view::npos)
                return false;
            m_rest.remove_prefix(1);
            return true;
        }
        std::uint32_t unit = 0;
        if (!hex(unit) || unit == 0) // jsonb cannot store U+0000
            return false;
        if (unit >= 0xdc00 && unit <= 0xdfff)
            return false;
        if (unit >= 0xd800 && unit <= 0xdbff) {
            std::uint32_t second = 0;
            return take('\\') && take('u') && hex(second) && second >= 0xdc00 && second <= 0xdfff;
        }
        return true;
    }

    bool hex(std::uint32_t &unit) noexcept {
        if (m_rest.size() < 4)
            return false;
        for (int i = 0; i < 4; i++) {
            const char c = m_rest.front();
            std::uint32_t digit = 0;
            if (c >= '0' && c <= '9')
                digit = static_cast<std::uint32_t>(c - '0');
            else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
                digit = static_cast<std::uint32_t>((c | 0x20) - 'a' + 10);
            else
                return false;
            unit = unit * 16 + digit;
            m_rest.remove_prefix(1);
        }
        return true;
    }

    bool number() noexcept {
        take('-');
        const bool leading_zero = !m_rest.empty() && m_rest.front() == '0';
        const std::size_t whole = digits();
        if (whole == 0 || whole > k_max_digits || (leading_zero && whole > 1))
            return false;
        if (take('.')) {
            const std::size_t fraction = digits();
            if (fraction == 0 || fraction > k_max_digits)
                return false;
        }
        if (take('e') || take('E')) {
            if (!take('+'))
                take('-');
            const std::size_t exponent = digits();
            return exponent > 0 && exponent <= k_max_exponent_digits;
        }
        return true;
    }

    std::size_t digits() noexcept {
        std::size_t count = 0;
        while (count < m_rest.size() && m_rest[count] >= '0' && m_rest[count] <= '9')
            count++;
        m_rest.remove_prefix(count);
        return count;
    }

    bool word(std::string_view expected) noexcept {
        if (m_rest.substr(0, expected.size()) != expected)
            return false;
        m_rest.remove_prefix(expected.size());
        return true;
    }

    bool take(char c) noexcept {
        if (m_rest.empty() || m_rest.front() != c)
            return false;
        m_rest.remove_prefix(1);
        return true;
    }

    void skip_blanks() noexcept {
        while (!m_rest.empty() && std::string_view{" \t\r\n"}.find(m_rest.front()) != std::string_view::npos)
            m_rest.remove_prefix(1);
    }

    std::string_view m_rest;
};

} // namespace

bool is_jsonb(std::string_view text) noexcept { return checker{text}.document(); }

std::string to_utf8(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size());
    while (!bytes.empty()) {
        const std::size_t length = bytes.front() == '\0' ? 0 : character_length(bytes);
        if (length == 0)
            text += "\xef\xbf\xbd";
        else
            text += bytes.substr(0, length);
        bytes.remove_prefix(length == 0 ? 1 : length);
    }
    return text;
}

std::string quote(std::string_view bytes) {
    std::string json = "\"";
    for (const char c : to_utf8(bytes)) {
        if (c == '"' || c == '\\') {
            json += '\\';
            json += c;
        } else if (c == '\n') {
            json += "\\n";
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
            json += escaped;
        } else {
            json += c;
        }
    }
    return json += '"';
}

} // namespace scylla::cli
