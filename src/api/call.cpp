#include "api/call.h"

namespace scylla::args {

text *get_text(FunctionCallInfo fcinfo, int n) { return PG_ARGISNULL(n) ? nullptr : PG_GETARG_TEXT_PP(n); }

Jsonb *get_jsonb(FunctionCallInfo fcinfo, int n) { return PG_ARGISNULL(n) ? nullptr : PG_GETARG_JSONB_P(n); }

std::optional<int32> get_int(FunctionCallInfo fcinfo, int n) {
    return PG_ARGISNULL(n) ? std::nullopt : std::optional(PG_GETARG_INT32(n));
}

std::optional<bool> get_bool(FunctionCallInfo fcinfo, int n) {
    return PG_ARGISNULL(n) ? std::nullopt : std::optional(PG_GETARG_BOOL(n));
}

std::optional<float8> get_float(FunctionCallInfo fcinfo, int n) {
    return PG_ARGISNULL(n) ? std::nullopt : std::optional(PG_GETARG_FLOAT8(n));
}

Interval *get_interval(FunctionCallInfo fcinfo, int n) { return PG_ARGISNULL(n) ? nullptr : PG_GETARG_INTERVAL_P(n); }

std::optional<Array> get_array(FunctionCallInfo fcinfo, int n, Oid element_type) {
    if (PG_ARGISNULL(n))
        return std::nullopt;
    int16 length = 0;
    bool by_value = false;
    char align = 0;
    get_typlenbyvalalign(element_type, &length, &by_value, &align);
    Array array{};
    int size = 0;
    deconstruct_array(PG_GETARG_ARRAYTYPE_P(n), element_type, length, by_value, align, &array.value, &array.null,
                      &size);
    array.size = size;
    return array;
}

} // namespace scylla::args
