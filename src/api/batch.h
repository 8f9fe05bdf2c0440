// The _many verbs: arrays of task names, worked on in one order by everybody and answered in the order of the array.
#pragma once

#include "pg/memory.h"
#include "task/held.h"

namespace scylla {

struct BatchItem {
    LeaseName name;
    Jsonb *result;    // null if none
    int64 element;    // 1-based
    BatchItem *first; // the first element that names the same task: only that one is worked on
    bool done;        // what was asked for has been done
    std::optional<model::Status> status;
};

struct Batch {
    std::span<BatchItem> items;    // in array order
    std::span<BatchItem *> sorted; // without repetitions, by rn: two batches never wait for each other in a circle
};

// Where the arguments are; -1: the verb has none.
struct BatchArguments {
    int rns, worker, results, attempts;
};

// Checks the arrays. 22023: a null in rns, a bad name, arrays of different length.
Batch get_batch(FunctionCallInfo fcinfo, BatchArguments where);

// Calls work(item) for each in the order of `sorted`, with the memory of one item.
template <typename Work> void for_each(const Batch &batch, Work work) {
    const RowMemory memory = begin_row_memory();
    for (BatchItem *item : batch.sorted) {
        CHECK_FOR_INTERRUPTS();
        work(*item);
        reset(memory);
    }
    end(memory);
}

// Notes what came of an item: done with the status `now`, or the status that it has instead.
void settle(BatchItem &item, const Claim &claim, model::Status now);

// One row (rn, done, status) per element in array order. Closes the store.
Datum return_batch(FunctionCallInfo fcinfo, store::Store &store, const Batch &batch);

} // namespace scylla
