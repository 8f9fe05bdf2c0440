// The numbers of triggers, for monitoring.
#pragma once

#include "pg/prelude.h"

#include <span>

namespace scylla::trigger {

// A trigger, as in the view scylla.stat_trigger.
struct Numbers {
    const char *owner;
    text *name;
    int64 fired;
    int64 skipped;
    int64 waiting;
    int64 failing;
    bool paused;
};
// Those that the current user may watch, by name.
std::span<const Numbers> read_numbers();

} // namespace scylla::trigger
