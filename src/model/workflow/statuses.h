// The states of runs and steps (docs/workflows.md, Runs, Times).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace scylla::model::workflow {

enum class RunStatus : std::uint8_t { created, in_progress, paused, timed_out, stopped, failed, succeeded };

enum class StepStatus : std::uint8_t {
    not_created,
    created,
    initialized,
    paused,
    waiting_for_signals,
    evaluating_params,
    waiting_for_permits,
    starting,
    running,
    finishing,
    disabled,
    unsatisfied,
    skipped,
    succeeded,
    completed_with_error,
    user_failed,
    platform_failed,
    timeout_failed,
    fatally_failed,
    internally_failed,
    stopped,
    timed_out,
};

inline constexpr std::array<std::string_view, 7> k_run_statuses{"CREATED", "IN_PROGRESS", "PAUSED",   "TIMED_OUT",
                                                                "STOPPED", "FAILED",      "SUCCEEDED"};
inline constexpr std::array<std::string_view, 22> k_step_statuses{"NOT_CREATED",
                                                                  "CREATED",
                                                                  "INITIALIZED",
                                                                  "PAUSED",
                                                                  "WAITING_FOR_SIGNALS",
                                                                  "EVALUATING_PARAMS",
                                                                  "WAITING_FOR_PERMITS",
                                                                  "STARTING",
                                                                  "RUNNING",
                                                                  "FINISHING",
                                                                  "DISABLED",
                                                                  "UNSATISFIED",
                                                                  "SKIPPED",
                                                                  "SUCCEEDED",
                                                                  "COMPLETED_WITH_ERROR",
                                                                  "USER_FAILED",
                                                                  "PLATFORM_FAILED",
                                                                  "TIMEOUT_FAILED",
                                                                  "FATALLY_FAILED",
                                                                  "INTERNALLY_FAILED",
                                                                  "STOPPED",
                                                                  "TIMED_OUT"};

constexpr std::string_view name_of(RunStatus status) noexcept {
    return k_run_statuses[static_cast<std::size_t>(status)];
}
constexpr std::string_view name_of(StepStatus status) noexcept {
    return k_step_statuses[static_cast<std::size_t>(status)];
}

constexpr bool is_terminal(RunStatus status) noexcept { return status >= RunStatus::timed_out; }
// The system makes the next attempt.
constexpr bool is_retryable(StepStatus status) noexcept {
    return status >= StepStatus::user_failed && status <= StepStatus::timeout_failed;
}
// The status does not change any more, except by another attempt.
constexpr bool is_terminal(StepStatus status) noexcept { return status >= StepStatus::disabled; }
// The step has ended without being complete: only a user can start another attempt.
constexpr bool is_restartable(StepStatus status) noexcept {
    return status == StepStatus::fatally_failed || status == StepStatus::internally_failed ||
           status == StepStatus::stopped || status == StepStatus::timed_out;
}
// Rollups name the steps with this status.
constexpr bool keeps_refs(StepStatus status) noexcept {
    return (status >= StepStatus::paused && status <= StepStatus::waiting_for_permits) ||
           status == StepStatus::running ||
           (status >= StepStatus::user_failed && status <= StepStatus::internally_failed);
}
// Its successors may begin.
constexpr bool is_complete(StepStatus status) noexcept {
    return status >= StepStatus::disabled && status <= StepStatus::completed_with_error;
}

// The status of an instance over its runs, when one of them has ended. before: its value before that
// run; for the first run, the run's own status.
constexpr RunStatus aggregate_status(RunStatus run, std::span<const StepStatus> steps, RunStatus before) noexcept {
    const auto any = [&](auto is) { return std::any_of(steps.begin(), steps.end(), is); };
    if (run != RunStatus::succeeded)
        return run;
    if (any([](StepStatus step) { return step >= StepStatus::user_failed && step <= StepStatus::internally_failed; }))
        return RunStatus::failed;
    if (any([](StepStatus step) { return step == StepStatus::timed_out; }))
        return RunStatus::timed_out;
    if (any([](StepStatus step) { return step == StepStatus::stopped; }))
        return RunStatus::stopped;
    return any([](StepStatus step) { return !is_complete(step); }) ? before : RunStatus::succeeded;
}

} // namespace scylla::model::workflow
