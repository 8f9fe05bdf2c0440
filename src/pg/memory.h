// Memory for loops.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// Memory for one row, however many rows a loop processes. What has to outlive a row (a scan, for example) is allocated
// before begin_row_memory().
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

// Makes the process keep the memory that a call for many tasks frees, for the next such call. Called once per process:
// glibc raises the amount of free memory at which it returns some to the system to twice the largest block that was
// ever freed. Otherwise each lease of 50 tasks of 6 kB would get 75 pages anew. Most are of the tuplestore of its
// result, for which a kept memory context is not enough (bench/README.md, "Measured and left").
inline void keep_freed_memory() {
    constexpr Size k_block = Size{1024} * 1024;
    static bool done = false;
    if (!done)
        pfree(MemoryContextAlloc(TopMemoryContext, k_block));
    done = true;
}

// An uninitialised array; it may be larger than 1 GB.
template <Pod T> std::span<T> allocate(std::size_t count) {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers is one of the arrays that are meant
    return {static_cast<T *>(MemoryContextAllocHuge(CurrentMemoryContext, count * sizeof(T) + 1)), count};
}

} // namespace scylla
