// Work in bounded portions, for the monitor.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// The most that one call does. It sets `more` if it stopped there.
struct Portion {
    int64 limit;
    int64 done = 0;
    bool more = false;
};

} // namespace scylla
