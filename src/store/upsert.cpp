#include "store/upsert.h"

#include "store/task/new_tasks.h"

namespace scylla::store {

namespace {

// Ids count up with the index in rows, so the place of an id is found by
// bisection.
void mark_inserted(std::span<const SpecRow> rows, std::span<const int64> ids, std::span<bool> inserted) {
    std::fill(inserted.begin(), inserted.begin() + static_cast<std::ptrdiff_t>(rows.size()), false);
    for (const int64 id : ids) {
        const auto at = std::lower_bound(rows.begin(), rows.end(), id,
                                         [](const SpecRow &row, int64 wanted) { return row.id < wanted; });
        inserted[static_cast<std::size_t>(at - rows.begin())] = true;
    }
}

} // namespace

void insert_specs(std::span<const SpecRow> rows, std::span<bool> inserted) {
    mark_inserted(rows, new_tasks::add_specs(rows), inserted);
}

void insert_dedup_keys(std::span<const SpecRow> rows, std::span<bool> inserted) {
    mark_inserted(rows, new_tasks::add_dedup_keys(rows), inserted);
}

} // namespace scylla::store
