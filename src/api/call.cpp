#include "api/call.h"

namespace scylla::args {

namespace {

bool is_null(FunctionCallInfo fcinfo, int n) { return n >= PG_NARGS() || PG_ARGISNULL(n); }

} // namespace

text *get_text(FunctionCallInfo fcinfo, int n) { return is_null(fcinfo, n) ? nullptr : PG_GETARG_TEXT_PP(n); }

const char *get_name(FunctionCallInfo fcinfo, int n) {
    return is_null(fcinfo, n) ? nullptr : NameStr(*PG_GETARG_NAME(n));
}

Jsonb *get_jsonb(FunctionCallInfo fcinfo, int n) { return is_null(fcinfo, n) ? nullptr : PG_GETARG_JSONB_P(n); }

Interval *get_interval(FunctionCallInfo fcinfo, int n) {
    return is_null(fcinfo, n) ? nullptr : PG_GETARG_INTERVAL_P(n);
}

Datum get_datum(FunctionCallInfo fcinfo, int n) { return is_null(fcinfo, n) ? Datum{0} : PG_GETARG_DATUM(n); }

std::optional<int32> get_int(FunctionCallInfo fcinfo, int n) {
    return is_null(fcinfo, n) ? std::nullopt : std::optional(PG_GETARG_INT32(n));
}

std::optional<int64> get_bigint(FunctionCallInfo fcinfo, int n) {
    return is_null(fcinfo, n) ? std::nullopt : std::optional(PG_GETARG_INT64(n));
}

std::optional<bool> get_bool(FunctionCallInfo fcinfo, int n) {
    return is_null(fcinfo, n) ? std::nullopt : std::optional(PG_GETARG_BOOL(n));
}

std::optional<float8> get_float(FunctionCallInfo fcinfo, int n) {
    return is_null(fcinfo, n) ? std::nullopt : std::optional(PG_GETARG_FLOAT8(n));
}

std::optional<TimestampTz> get_time(FunctionCallInfo fcinfo, int n) {
    return is_null(fcinfo, n) ? std::nullopt : std::optional(PG_GETARG_TIMESTAMPTZ(n));
}

std::optional<Array> get_array(FunctionCallInfo fcinfo, int n, Oid element_type) {
    if (is_null(fcinfo, n))
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
