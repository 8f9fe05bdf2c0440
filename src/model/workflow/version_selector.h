// Which version of a workflow a word means (docs/workflows.md, Versions).
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "model/workflow/words.h"

namespace scylla::model::workflow {

struct Versions {
    std::int32_t active; // 0: none
    std::int32_t latest; // all from 1 to it exist
};
enum class Pick : std::uint8_t { version, inactive, missing, malformed };
struct PickedVersion {
    Pick kind;
    std::int32_t version = 0;
};

// active, latest, default (the active one, or else the latest) in any case, or a number.
inline PickedVersion pick_version(std::string_view selector, Versions versions) noexcept {
    constexpr std::array<std::string_view, 3> words = {"ACTIVE", "LATEST", "DEFAULT"};
    if (const auto word = find_word(words, selector)) {
        if (*word != 1 && versions.active != 0)
            return {Pick::version, versions.active};
        return *word == 0 ? PickedVersion{Pick::inactive} : PickedVersion{Pick::version, versions.latest};
    }
    if (selector.empty() || selector.find_first_not_of("0123456789") != std::string_view::npos)
        return {Pick::malformed};
    std::int32_t number = 0;
    const auto [stop, error] = std::from_chars(selector.data(), selector.data() + selector.size(), number);
    if (error != std::errc{} || number < 1 || number > versions.latest)
        return {Pick::missing};
    return {Pick::version, number};
}

} // namespace scylla::model::workflow
