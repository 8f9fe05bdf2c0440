// The numbers of triggers, for monitoring.
#pragma once

#include "store/trigger/triggers.h"

namespace scylla::trigger {

// A trigger, as in the view scylla.stat_trigger.
using Numbers = store::triggers::Numbers;
// Those that the current user may watch, by name.
std::span<const Numbers> read_numbers();

} // namespace scylla::trigger
