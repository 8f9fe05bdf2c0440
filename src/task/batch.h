// Batches: the leases of many tasks in one call. All calls process them in the same order.
#pragma once

#include "pg/memory.h"
#include "task/held.h"

namespace scylla {

struct BatchItem {
    LeaseName name;
    Jsonb *result; // null if none
    int64 element; // 1-based
    bool done;     // the requested change has been made
    int32 attempt; // the attempt of the lease that was changed
    std::optional<model::Status> status;
};

struct Batch {
    std::span<BatchItem> items;    // in array order
    std::span<BatchItem *> sorted; // by rn, then by element: so two batches cannot deadlock
};

// Calls work(item) for each element in the order of `sorted`, with the memory of one element. After an element whose
// change was made, it calls repeat(item, done) for the others that name the same task. So each element is judged by its
// own attempt, and no row is changed twice.
template <typename Work, typename Repeat> void for_each(const Batch &batch, Work work, Repeat repeat) {
    const RowMemory memory = begin_row_memory();
    const BatchItem *done = nullptr;
    for (BatchItem *item : batch.sorted) {
        CHECK_FOR_INTERRUPTS();
        if (done != nullptr && equal(done->name.rn, item->name.rn))
            repeat(*item, *done);
        else {
            work(*item);
            done = item->done ? item : nullptr;
        }
        reset(memory);
    }
    end(memory);
}

// Stores the result of an element: done with the status `now`, or the status that the task has instead.
void settle(BatchItem &item, const Claim &claim, model::Status now);
// A repeated element does nothing, but its task has a status.
inline void settle_repeat(BatchItem &item, const BatchItem &done) { item.status = done.status; }

} // namespace scylla
