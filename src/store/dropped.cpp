#include "store/dropped.h"

#include "store/queue/dropped.h"
#include "store/row_access.h"

namespace scylla::store {

namespace {

// The drop of a queue is announced (tell_changed()).
struct Known {
    uint64 changes; // table_changes() when it was looked; 0: never
    bool any;
};
constinit Known known{};

} // namespace

bool any_dropped() {
    const uint64 changes = table_changes();
    if (known.changes == 0 || known.changes != changes) {
        int32 first = 0;
        known = {changes, find_dropped(0, std::span(&first, 1)) > 0};
    }
    return known.any;
}

Taken rename_dropped(Store &store, const SpecRow &row, text *rn) {
    Values<spec_col::k_count> values;
    std::array<bool, spec_col::k_count> replace{};
    values.set_pointer(spec_col::rn, rn);
    replace[static_cast<std::size_t>(spec_col::rn - 1)] = true;
    Table &table = store[TableId::spec];
    TupleTableSlot *slot = slot_of(store, TableId::spec);
    ItemPointerData tid = row.tid;
    return fetch(table, row.tid, store.snapshot, slot) ? update(table, slot, {values.value, values.null, replace}, &tid)
                                                       : Taken::gone;
}

std::size_t find_dropped(int32 after, std::span<int32> queues) {
    const auto found = dropped::behind(after, static_cast<int64>(queues.size()));
    std::copy(found.begin(), found.end(), queues.begin());
    return found.size();
}

bool forget_dropped(std::span<const int32> queues) {
    tell_changed(TableId::queue);
    return queues.empty() || dropped::forget(queues) > 0;
}

} // namespace scylla::store
