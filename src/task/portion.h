// Work in bounded portions, for the monitor.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// How much one call does at most; it says by `more` that it stopped there.
struct Portion {
    int64 limit;
    int64 done;
    bool more;
};

} // namespace scylla
