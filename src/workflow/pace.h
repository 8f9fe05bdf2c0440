// The time that a transaction of the engine may take, and which runs it takes.
//
// A transaction ends soon after it has evaluated expressions for k_turn_time: what its runs have left is on the agenda
// again. In the fast lane no expression takes longer than that: one that does is left undone, and evaluated anew in the
// slow lane, one run at a time, with its own limits. Another process does that, so nobody waits for it.
#pragma once

#include "pg/clock.h"
#include "pg/prelude.h"

namespace scylla::workflow {

enum class Lane : std::uint8_t {
    all,  // everything, without an end: for a caller whose transaction it is
    fast, // what is not slow
    slow,
};

inline constexpr int64 k_turn_time = 50'000; // microseconds

struct Pace {
    Lane lane = Lane::all;
    bool begun = false;   // an evaluation
    int64 ends = 0;       // steady_now()
    bool is_slow = false; // an evaluation outside of turns has been left undone, because it takes too long for the lane
    bool in_engine = false;

    bool is_late() const noexcept { return lane != Lane::all && begun && steady_now() >= ends; }
    bool may_begin() noexcept {
        if (is_late())
            return false;
        if (ends == 0)
            ends = steady_now() + k_turn_time;
        begun = true;
        return true;
    }
};
// Of the transaction of the engine that this process is in.
extern Pace pace;

} // namespace scylla::workflow
