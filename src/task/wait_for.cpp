#include "task/wait_for.h"

namespace scylla {

namespace {
constinit ConditionMaker maker_of_conditions{};
} // namespace

void register_conditions(const ConditionMaker &maker) { maker_of_conditions = maker; }

const ConditionMaker &conditions() noexcept { return maker_of_conditions; }

} // namespace scylla
