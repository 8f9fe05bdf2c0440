// Memory for loops.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// One row's worth of memory, however many rows a loop goes through. What has to outlive a row (a scan, say) is made before
// begin_row_memory().
struct RowMemory {
    MemoryContext own;
    MemoryContext outer;
};

inline RowMemory begin_row_memory() {
    MemoryContext own = AllocSetContextCreate(CurrentMemoryContext, "scylla row", ALLOCSET_DEFAULT_SIZES);
    return {own, MemoryContextSwitchTo(own)};
}

inline void reset(const RowMemory &memory) { MemoryContextReset(memory.own); }

inline void end(const RowMemory &memory) {
    MemoryContextSwitchTo(memory.outer);
    MemoryContextDelete(memory.own);
}

// An array of values to be written; it may be larger than 1 GB.
template <Pod T> std::span<T> allocate(std::size_t count) {
    return {static_cast<T *>(MemoryContextAllocHuge(CurrentMemoryContext, count * sizeof(T) + 1)), count};
}

} // namespace scylla
