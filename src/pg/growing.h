// Arrays that grow, by doubling. They live in the context that was current, or named, when they got their first value.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// First: the initial capacity.
template <Pod T, std::size_t First = 16> struct Growing {
    T *at = nullptr;
    std::size_t count = 0;
    std::size_t room = 0;

    void add(const T &value, MemoryContext context = CurrentMemoryContext) {
        if (count == room)
            make_room(Max(room * 2, First), context);
        at[count++] = value;
    }
    void add_all(std::span<const T> values, MemoryContext context = CurrentMemoryContext) {
        if (count + values.size() > room)
            make_room(2 * (count + values.size()), context);
        std::copy(values.begin(), values.end(), at + count);
        count += values.size();
    }
    void clear() { count = 0; }
    // The interface that the model expects of lists.
    void push_back(const T &value) { add(value); }
    [[nodiscard]] std::size_t size() const { return count; }
    [[nodiscard]] std::span<T> all() const { return {at, count}; }
    T &operator[](std::size_t i) const { return at[i]; }
    [[nodiscard]] T &last() const { return at[count - 1]; }

private:
    void make_room(std::size_t more, MemoryContext context) {
        const std::size_t bytes = more * sizeof(T);
        at = static_cast<T *>(at == nullptr ? MemoryContextAllocHuge(context, bytes) : repalloc_huge(at, bytes));
        room = more;
    }
};

// Puts the values in their order, each once.
template <Pod T> void sort_once(Growing<T> &values) {
    std::sort(values.at, values.at + values.count);
    values.count = static_cast<std::size_t>(std::unique(values.at, values.at + values.count) - values.at);
}

} // namespace scylla
