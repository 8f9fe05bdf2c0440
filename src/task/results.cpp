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
        for (Jsonb *each : results.values.all())
            if (each != nullptr)
                pfree(each);
        results.values.clear();
        results.too_large = true;
        return;
    }
    results.values.add(result);
}

Jsonb *to_array(const Results &results) { return results.too_large ? nullptr : json::array_of(results.values.all()); }

} // namespace scylla
