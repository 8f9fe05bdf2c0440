// The arguments of a call, unchecked. Their rules are in task/rules.h.
#pragma once

#include "pg/prelude.h"

namespace scylla::args {

text *get_text(FunctionCallInfo fcinfo, int n);         // null if null
Jsonb *get_jsonb(FunctionCallInfo fcinfo, int n);       // null if null
Interval *get_interval(FunctionCallInfo fcinfo, int n); // null if null
std::optional<int32> get_int(FunctionCallInfo fcinfo, int n);
std::optional<bool> get_bool(FunctionCallInfo fcinfo, int n);
std::optional<float8> get_float(FunctionCallInfo fcinfo, int n);

// An array argument as values. Nothing if the argument is null.
struct Array {
    Datum *value;
    bool *null;
    int64 size;
};
std::optional<Array> get_array(FunctionCallInfo fcinfo, int n, Oid element_type);

} // namespace scylla::args
