// Arrays that grow.
#pragma once

#include "pg/prelude.h"

namespace scylla {

template <Pod T> struct Growing {
    T *at = nullptr;
    std::size_t count = 0;
    std::size_t room = 0;

    void add(const T &value) {
        if (count == room) {
            room = Max(room * 2, std::size_t{16});
            const std::size_t bytes = room * sizeof(T);
            at = static_cast<T *>(at == nullptr ? MemoryContextAllocHuge(CurrentMemoryContext, bytes)
                                                : repalloc_huge(at, bytes));
        }
        at[count++] = value;
    }
    // As the lists of the model are used.
    void push_back(const T &value) { add(value); }
    [[nodiscard]] std::size_t size() const { return count; }
    [[nodiscard]] std::span<T> all() const { return {at, count}; }
    T &operator[](std::size_t i) const { return at[i]; }
};

} // namespace scylla
