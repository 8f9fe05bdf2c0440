// How server workers are shared between databases, roles and queues.
//
// The fewer calls the others with the same database, role or queue have, the sooner a task gets a slot. What is fair is
// measured by the sum, over databases, roles and queues, of the squares of the slots that each has: a slot changes
// hands only if that lowers the sum. So no two of them ever take a slot from each other in turns, and with more than
// one slot no database, no role and no queue keeps all of them while another has none and wants one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace scylla::model {

// For whom a slot is used, or wanted.
struct SlotUse {
    std::uint32_t database = 0;
    std::uint32_t role = 0;
    std::int32_t queue = 0; // of its database; 0: a schedule

    [[nodiscard]] constexpr bool in_same_database(const SlotUse &other) const noexcept {
        return database == other.database;
    }
    [[nodiscard]] constexpr bool of_same_role(const SlotUse &other) const noexcept { return role == other.role; }
    [[nodiscard]] constexpr bool for_same_queue(const SlotUse &other) const noexcept {
        return database == other.database && role == other.role && queue == other.queue;
    }
};

// How much fairer it is if `wanted` gets the slot that `held` has now; not positive: it is not.
constexpr std::int64_t fairer(std::span<const SlotUse> uses, const SlotUse &held, const SlotUse &wanted) noexcept {
    const auto gain = [&](auto same) -> std::int64_t {
        if (same(held, wanted))
            return 0;
        const auto has = [&](const SlotUse &whose) {
            return std::count_if(uses.begin(), uses.end(), [&](const SlotUse &each) { return same(each, whose); });
        };
        return has(held) - has(wanted) - 1; // half of the difference of the sums of squares
    };
    return gain([](const SlotUse &a, const SlotUse &b) { return a.in_same_database(b); }) +
           gain([](const SlotUse &a, const SlotUse &b) { return a.of_same_role(b); }) +
           gain([](const SlotUse &a, const SlotUse &b) { return a.for_same_queue(b); });
}

} // namespace scylla::model
