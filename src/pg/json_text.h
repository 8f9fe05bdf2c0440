// The size of JSON as text, without producing the text, which may be a hundred times as large as the stored value, and
// too large for the server's memory.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// The most bytes of text per stored byte: the smallest number that is written with 131,072 digits before the point and
// 16,383 after it has 12 bytes. A control character in a string becomes 6.
inline constexpr int64 k_max_text_per_byte = 16'384;

// The length of value::text in bytes.
int64 text_size(const Jsonb *value);

// Whether it is larger than a limit: for most values that is known without a look at them.
inline bool text_is_larger(const Jsonb *value, int64 limit) {
    return static_cast<int64>(VARSIZE(value)) > limit / k_max_text_per_byte && text_size(value) > limit;
}

} // namespace scylla
