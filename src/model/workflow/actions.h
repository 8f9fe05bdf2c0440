// Which actions on a step its status allows (docs/workflows.md, Actions).
#pragma once

#include "model/workflow/statuses.h"

namespace scylla::model::workflow {

enum class StepAction : std::uint8_t { stop, kill, skip, resume, restart, bypass };

enum class Allowed : std::uint8_t {
    yes,
    no,
    already, // the step is as the action would leave it
};

// For a step of a live run, in no iteration that has ended.
constexpr Allowed allows(StepStatus status, StepAction action) noexcept {
    const bool lives = is_retryable(status) || (status != StepStatus::not_created && !is_terminal(status));
    switch (action) {
    case StepAction::stop:
        return lives ? Allowed::yes : status == StepStatus::stopped ? Allowed::already : Allowed::no;
    case StepAction::kill:
        return lives ? Allowed::yes : status == StepStatus::fatally_failed ? Allowed::already : Allowed::no;
    case StepAction::resume:
        return status == StepStatus::paused ? Allowed::yes : Allowed::no;
    case StepAction::bypass:
        return status == StepStatus::waiting_for_signals ? Allowed::yes : Allowed::no;
    case StepAction::skip:
        if (status == StepStatus::skipped)
            return Allowed::already;
        return (lives && status != StepStatus::created) || is_restartable(status) ? Allowed::yes : Allowed::no;
    case StepAction::restart:
        return is_restartable(status) ? Allowed::yes : Allowed::no;
    }
    return Allowed::no;
}

// Whether an attempt of the step has yet to begin, and can be paused.
constexpr bool can_pause(StepStatus status) noexcept { return status <= StepStatus::paused || is_retryable(status); }

// For a step of a run that has ended: the action is a new run, which begins with the step.
constexpr Allowed allows_after_end(StepStatus status, StepAction action) noexcept {
    switch (action) {
    case StepAction::skip:
        return status == StepStatus::skipped ? Allowed::already
               : is_terminal(status) && !is_retryable(status) && status != StepStatus::disabled &&
                       status != StepStatus::unsatisfied
                   ? Allowed::yes
                   : Allowed::no;
    case StepAction::restart:
        return is_terminal(status) && !is_retryable(status) ? Allowed::yes : Allowed::no;
    default:
        return Allowed::no;
    }
}

} // namespace scylla::model::workflow
