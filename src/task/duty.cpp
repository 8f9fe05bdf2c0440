#include "task/duty.h"

#include "pg/error.h"

namespace scylla {

namespace {

constinit std::array<Duty, k_max_duties> duties{};
constinit std::size_t count = 0;

} // namespace

void register_duty(const Duty &duty) {
    if (count == duties.size())
        elog(FATAL, "more than %zu duties of the monitor", duties.size());
    duties[count++] = duty;
}

std::span<const Duty> registered_duties() { return {duties.data(), count}; }

} // namespace scylla
