// Hash tables by a text.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// An entry begins with a pointer to its text, which has to live as long.
HTAB *make_text_table(const char *name, std::size_t entry, MemoryContext context);

} // namespace scylla
