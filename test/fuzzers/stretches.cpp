// Sets of ids as stretches, against a set that holds every id.
#include "fuzz.h"

#include <set>
#include <utility>

#include "model/stretches.h"

using namespace scylla::model;

namespace {

constexpr std::size_t k_room = 6;

void in_order(const Stretches<k_room> &set) {
    require(set.count <= k_room, "there is room");
    for (std::size_t i = 0; i < set.count; i++) {
        const Stretch &it = set.at[i];
        require(it.low <= it.high, "a stretch is not empty");
        for (const auto fresh : it.fresh)
            require(fresh == k_no_id || (it.low <= fresh && fresh <= it.high), "fresh ids are in their stretch");
        if (i == 0)
            continue;
        const Stretch &before = set.at[i - 1];
        require(before.priority > it.priority || (before.priority == it.priority && before.high < it.low - 1),
                "stretches are in order, and neither overlap nor touch");
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    FuzzedDataProvider input(data, size);
    Stretches<k_room> set{};
    std::set<std::pair<std::int16_t, std::int64_t>> ids;
    bool exact = true; // no gap was closed for want of room
    while (input.remaining_bytes() > 0) {
        const auto priority = input.ConsumeIntegralInRange<std::int16_t>(0, 3);
        const auto low = input.ConsumeIntegralInRange<std::int64_t>(1, 250);
        const auto high = low + input.ConsumeIntegralInRange<std::int64_t>(0, 5);
        if (input.ConsumeIntegralInRange(0, 9) == 0 && set.count > 0) {
            const Stretch gone = set.at[static_cast<std::size_t>(low) % set.count];
            remove(set, static_cast<std::size_t>(low) % set.count);
            for (auto id = gone.low; id <= gone.high; id++)
                ids.erase({gone.priority, id});
        } else {
            add(set, {low, high, {low, high}, priority});
            for (auto id = low; id <= high; id++)
                ids.emplace(priority, id);
        }
        if (set.count > k_room) {
            const std::size_t at = narrowest(set);
            require(at < set.count, "of seven stretches in four priorities two can become one");
            require(gap_after(set, at) > 1, "between them is a gap");
            join_next(set, at);
            exact = false;
        }
        in_order(set);
    }
    for (std::int16_t priority = 0; priority <= 3; priority++)
        for (std::int64_t id = 1; id <= 255; id++) {
            const bool in = ids.count({priority, id}) > 0;
            const bool covered = covers(set, priority, id);
            require(covered == in || (covered && !exact),
                    "a set covers what was put into it, and more only for want of room");
        }
    return 0;
}
