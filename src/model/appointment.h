// When a monitor runs a duty next. Every time is an argument, in microseconds, so that tests have a clock of their own.
#pragma once

#include <algorithm>
#include <cstdint>

namespace scylla::model {

struct Appointment {
    std::int64_t at = 0; // found in the tables, a retry, or the end of a pause
    // For duties with a timer: a look that nothing has announced, because some commits cannot announce anything.
    std::int64_t safety = 0;
    int hurried_walks = 0; // walks that go on without pauses, the present one included: hints were dropped
    bool more = false;     // the last turn left work
};

struct DutyPace {
    std::int64_t pause; // after a turn that left nothing
    std::int64_t share; // work that no timer announced takes at most 1/share of the time
    bool has_timer;     // commits announce work
};

struct DutyTurn {
    std::int64_t began;
    std::int64_t ended;
    std::int64_t next; // the next time at which there will be work, as the turn found
    std::int64_t done; // rows
    bool more;         // the turn left work
};

inline constexpr std::int64_t k_retry = 50'000; // until rows that another transaction was changing are tried again

// When the duty is due. `announced`: the time in its timer.
constexpr std::int64_t due_at(const DutyPace &pace, const Appointment &appointment, std::int64_t announced) noexcept {
    return pace.has_timer ? std::min({appointment.at, appointment.safety, announced}) : appointment.at;
}

// The same for work that is known, without looks that find what nothing has announced: until then the monitor is idle.
constexpr std::int64_t known_at(const DutyPace &pace, const Appointment &appointment, std::int64_t announced,
                                std::int64_t never) noexcept {
    if (pace.has_timer)
        return std::min(appointment.at, announced);
    return appointment.more || appointment.hurried_walks > 0 ? appointment.at : never;
}

// The appointment after a turn.
constexpr Appointment appoint(const DutyPace &pace, const DutyTurn &turn, int hurried_walks) noexcept {
    const int hurried = turn.more ? hurried_walks : std::max(hurried_walks - 1, 0);
    if (hurried > 0)
        return {turn.ended, 0, hurried, turn.more};
    const std::int64_t idle = (turn.ended - turn.began) * pace.share;
    if (!pace.has_timer)
        return {turn.ended + std::max(turn.more ? 0 : pace.pause, idle), 0, 0, turn.more};
    const std::int64_t again = turn.done > 0 ? turn.ended : turn.ended + k_retry;
    return {turn.more ? again : turn.next, turn.ended + std::max(pace.pause, idle), 0, turn.more};
}

// The appointment of a duty that finds what dropped hints were about: it runs now, to the end of its walk. A walk that
// is under way has passed some of the rows, so another one follows it.
constexpr Appointment hurry(const Appointment &appointment) noexcept {
    return {0, 0, appointment.hurried_walks > 0 ? 2 : 1, true};
}

// Notices that the clock was set back. An appointment may then be far away, so all of them must be forgotten.
class ClockWatch {
public:
    constexpr bool is_set_back(std::int64_t now) noexcept {
        const bool back = now < last_;
        last_ = now;
        return back;
    }

private:
    std::int64_t last_ = 0;
};

} // namespace scylla::model
