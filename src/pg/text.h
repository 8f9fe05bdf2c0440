// Small conversions between the server's values and ours.
#pragma once

#include "pg/prelude.h"

namespace scylla {

inline std::string_view view(const text *value) {
    return {VARDATA_ANY(value), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(value))};
}

inline bool equal(const text *a, const text *b) { return view(a) == view(b); }

} // namespace scylla
