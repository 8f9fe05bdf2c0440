// Batches: the leases of many tasks in one call, worked on in one order by everybody.
#pragma once

#include "pg/memory.h"
#include "task/held.h"

namespace scylla {

struct BatchItem {
    LeaseName name;
    Jsonb *result; // null if none
    int64 element; // 1-based
    bool done;     // what was asked for has been done
    int32 attempt; // the lease that was found, if it is done
    std::optional<model::Status> status;
};

struct Batch {
    std::span<BatchItem> items;    // in array order
    std::span<BatchItem *> sorted; // by rn, then by element: two batches never wait for each other in a circle
};

// Calls work(item) for each in the order of `sorted`, with the memory of one item, until one has dealt with its task;
// for later elements that name the same task it calls repeat(item, done). So each element is judged by its own attempt,
// and no row is changed twice.
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

// Notes what came of an item: done with the status `now`, or the status that it has instead.
void settle(BatchItem &item, const Claim &claim, model::Status now);
// A repeated element does nothing, but its task has a status.
inline void settle_repeat(BatchItem &item, const BatchItem &done) { item.status = done.status; }

} // namespace scylla
