// Which transactions a snapshot sees as ended. The server has a function for that, but it may read pg_subtrans, which
// waits for a disk and may raise. For the id of a top-level transaction that is not needed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace scylla::model {

struct InProgress {
    std::uint32_t xmin; // every older id has ended
    std::uint32_t xmax; // this id and every later one are in progress
    // The ids of top-level transactions that are in progress are in one of these. A snapshot taken during recovery has
    // all of them in the second. An overflow of either list leaves out subtransactions only.
    std::span<const std::uint32_t> xip;
    std::span<const std::uint32_t> subxip;
};

// Ids are compared modulo 2^32, as the server does.
constexpr bool precedes(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }

// Whether the top-level transaction is in progress. It must have a normal id.
constexpr bool is_in_progress(std::uint32_t xid, const InProgress &snapshot) noexcept {
    const auto holds = [xid](std::span<const std::uint32_t> ids) {
        return std::find(ids.begin(), ids.end(), xid) != ids.end();
    };
    if (precedes(xid, snapshot.xmin))
        return false;
    return !precedes(xid, snapshot.xmax) || holds(snapshot.xip) || holds(snapshot.subxip);
}

} // namespace scylla::model
