// How large JSON is as text, without making the text: that may be a hundred times as large as what is stored, and too
// large for the server's memory.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// No byte of a stored value stands for more bytes of text: the smallest number that is written with 131,072 digits
// before the point and 16,383 after it has 12 bytes. A control character in a string has 6.
inline constexpr int64 k_max_text_per_byte = 16'384;

// The length of value::text in bytes.
int64 text_size(const Jsonb *value);

// The same, for those who only want to know what is larger than a limit: most values need not be looked at.
inline bool text_is_larger(const Jsonb *value, int64 limit) {
    return static_cast<int64>(VARSIZE(value)) > limit / k_max_text_per_byte && text_size(value) > limit;
}

} // namespace scylla
