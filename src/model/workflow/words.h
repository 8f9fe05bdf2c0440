// Words of an enumeration, which may be written in any case.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace scylla::model::workflow {

constexpr char to_upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// The index of a word among those in capitals.
constexpr std::optional<std::size_t> find_word(std::span<const std::string_view> words,
                                               std::string_view text) noexcept {
    for (std::size_t i = 0; i < words.size(); i++) {
        if (std::equal(text.begin(), text.end(), words[i].begin(), words[i].end(),
                       [](char a, char b) { return to_upper(a) == b; }))
            return i;
    }
    return std::nullopt;
}

// Of a workflow.
inline constexpr std::string_view k_criticalities[] = {"CRITICAL", "HIGH", "MEDIUM", "LOW"};

} // namespace scylla::model::workflow
