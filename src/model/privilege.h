// What a role may do with a queue.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace scylla::model {

// In the order of the columns of scylla.queue that hold the grantees.
enum class Privilege : std::uint8_t { submit, work, view, admin, depend };

inline constexpr std::array<const char *, 5> k_privilege_names = {"submit", "work", "view", "admin", "depend"};

constexpr const char *name(Privilege privilege) noexcept {
    // cppcheck-suppress CastIntegerToAddressAtReturn // it takes an element of a std::array of pointers for a number
    return k_privilege_names[static_cast<std::size_t>(privilege)];
}

// A set of privileges.
struct Privileges {
    std::uint8_t bits;

    [[nodiscard]] constexpr bool has(Privilege one) const noexcept { return (bits >> static_cast<int>(one) & 1) != 0; }
    // admin comes with all the others.
    constexpr void add(Privilege one) noexcept {
        bits = one == Privilege::admin ? k_all : static_cast<std::uint8_t>(bits | 1U << static_cast<unsigned>(one));
    }

    static constexpr std::uint8_t k_all = (1U << k_privilege_names.size()) - 1;
};

inline constexpr Privileges k_all_privileges{Privileges::k_all};

} // namespace scylla::model
