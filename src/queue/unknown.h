// Queues that callers name and that do not exist: mostly a name that is wrong.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// A notice about such a queue, once per session. For calls that leave everything as it is then.
void tell_unknown_queue(const text *name);

} // namespace scylla
