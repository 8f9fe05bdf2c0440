// The times of a time trigger of a workflow (docs/workflows.md, Time triggers).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/cron.h"

namespace scylla::model::workflow {

struct TriggerTimes {
    Cron cron;
    int second = 0; // after each of its times
};

// The five fields of Unix, or the six or seven of Quartz. Nothing: they are invalid.
std::optional<TriggerTimes> read_trigger_cron(std::string_view text) noexcept;
// A duration of whole seconds. The times are the multiples of it since 1970.
std::optional<TriggerTimes> read_trigger_interval(std::string_view text) noexcept;
std::optional<std::int64_t> read_trigger_seconds(std::string_view text) noexcept;

// The least number of seconds between two of its times, if it has times on days that follow each other.
std::int64_t shortest_gap(const Cron &cron) noexcept;

} // namespace scylla::model::workflow
