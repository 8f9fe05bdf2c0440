// Names that are made up where the caller gives none.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// A UUIDv7: nobody else has it, and names that are made later sort after it, so they are close together in an index.
text *make_up_name(TimestampTz now);

} // namespace scylla
