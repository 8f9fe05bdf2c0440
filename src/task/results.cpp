#include "task/results.h"

#include "pg/json.h"
#include "pg/json_text.h"
#include "pg/settings.h"

namespace scylla {

void add_result(Results &results, Jsonb *result) {
    constexpr int64 k_separator = 2;
    constexpr int64 k_null = 4;
    if (results.too_large)
        return;
    results.size += k_separator + (result != nullptr ? text_size(result) : k_null);
    if (results.size > settings::value_limit()) {
        for (Jsonb *each : std::span(results.value, results.count))
            if (each != nullptr)
                pfree(each);
        results.count = 0;
        results.too_large = true;
        return;
    }
    if (results.count == results.room) {
        results.room = std::max<std::size_t>(8, results.room * 2);
        const Size bytes = results.room * sizeof(Jsonb *);
        results.value =
            static_cast<Jsonb **>(results.value == nullptr ? MemoryContextAllocHuge(CurrentMemoryContext, bytes)
                                                           : repalloc_huge(results.value, bytes));
    }
    results.value[results.count++] = result;
}

Jsonb *to_array(const Results &results) {
    return results.too_large ? nullptr : json::array_of({results.value, results.count});
}

} // namespace scylla
