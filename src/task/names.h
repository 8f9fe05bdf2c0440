// Names for tasks and plans that were submitted without one.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// A UUIDv7: nobody else has it, and names that are made later sort after it, so they are close together in an index.
text *make_up_name(TimestampTz now);

} // namespace scylla
