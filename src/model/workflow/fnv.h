// FNV-1a, a hash of texts.
#pragma once

#include <cstdint>
#include <string_view>

namespace scylla::model::workflow {

inline constexpr std::uint64_t k_fnv_start = 0xcbf29ce484222325ULL;

// `from`: the start, or the hash of what comes before.
constexpr std::uint64_t fnv(std::string_view text, std::uint64_t from = k_fnv_start) noexcept {
    for (const char c : text)
        from = (from ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return from;
}

} // namespace scylla::model::workflow
