// The numbers of workflows, for monitoring.
#pragma once

#include "pg/prelude.h"

#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace scylla::workflow {

inline constexpr std::array<std::string_view, 6> k_step_groups = {
    "failed", "paused", "retrying", "running", "waiting_for_permits", "waiting_for_signals"};

// A workflow, as in the view scylla.stat_workflow.
struct Numbers {
    text *id;
    int64 instances;
    int64 queued;
    int64 running;
    int64 failed;
    std::array<int64, k_step_groups.size()> steps;
    int64 agenda;
    std::optional<TimestampTz> oldest_queued;
    std::optional<TimestampTz> oldest_running;
    std::optional<TimestampTz> oldest_agenda;
};
// Of the workflows that the current user may watch, by id.
std::span<const Numbers> read_numbers();

} // namespace scylla::workflow
