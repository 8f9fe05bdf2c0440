// Tasks that wait for their gates, many at once.
#include "store/row_access.h"

namespace scylla::store {

namespace {

// Reading a page of waiting tasks takes as long as looking up so many of them.
constexpr std::size_t k_lookups_per_page = 10;

std::optional<GateWaiter> gate_waiter(const Scan &scan) {
    using namespace waiting_col;
    if (!is_null(scan, due) && (is_null(scan, expiring) || !DatumGetBool(get(scan, expiring))))
        return std::nullopt;
    return GateWaiter{DatumGetInt64(get(scan, id)), DatumGetInt32(get(scan, queue)), DatumGetInt32(get(scan, attempt))};
}

// Reads all that wait. Tasks are mostly stored in the order of their ids, so the next one is tried first.
void pick_from_all(Store &store, std::span<const int64> ids, Growing<GateWaiter> *waiters) {
    auto next_id = ids.begin();
    Scan scan = begin_whole(store[TableId::waiting], store.snapshot);
    while (next(scan)) {
        const int64 id = DatumGetInt64(get(scan, waiting_col::id));
        if (next_id == ids.end() || *next_id != id)
            next_id = std::lower_bound(ids.begin(), ids.end(), id);
        if (next_id == ids.end() || *next_id != id)
            continue;
        next_id++;
        if (const auto waiter = gate_waiter(scan))
            waiters->add(*waiter);
    }
    end(scan);
}

void look_up_each(Store &store, std::span<const int64> ids, Growing<GateWaiter> *waiters) {
    for (const int64 id : ids)
        if (const auto waiter = look_up_id(store, TableId::waiting, id, gate_waiter); waiter && *waiter)
            waiters->add(**waiter);
}

} // namespace

std::span<const GateWaiter> find_gate_waiters(Store &store, std::span<const int64> ids) {
    Growing<GateWaiter> waiters;
    const std::size_t pages = RelationGetNumberOfBlocks(store[TableId::waiting].rel);
    if (pages * k_lookups_per_page < ids.size())
        pick_from_all(store, ids, &waiters);
    else
        look_up_each(store, ids, &waiters);
    return waiters.all();
}

} // namespace scylla::store
