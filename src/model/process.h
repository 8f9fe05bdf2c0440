// The life of a background process that the launcher starts: a monitor, a server worker, or the engine of workflows.
// Its slot in shared memory holds the state.
#pragma once

#include <cstdint>

namespace scylla::model {

enum class ProcessState : std::uint32_t {
    vacant,   // there is no process
    starting, // the launcher has asked the server for the process
    running,  // the process has attached to its slot
    stopping, // it was asked to exit, or exits by its own decision
};

enum class ProcessEvent : std::uint8_t {
    launch, // by the launcher
    attach, // by the process, before anything else
    stop,   // by anybody: the launcher, DROP DATABASE, the process itself
    reap,   // by the launcher: the process has exited, or could not be started
};

//            vacant     starting   running    stopping
//   launch   starting   starting   starting   starting
//   attach   -          running    -          -           the process exits at once unless it is running then
//   stop     -          stopping   stopping   -
//   reap     vacant     vacant     vacant     vacant
constexpr ProcessState after(ProcessState state, ProcessEvent event) noexcept {
    using enum ProcessState;
    switch (event) {
    case ProcessEvent::launch:
        return starting;
    case ProcessEvent::attach:
        return state == starting ? running : state;
    case ProcessEvent::stop:
        return state == starting || state == running ? stopping : state;
    case ProcessEvent::reap:
        break;
    }
    return vacant;
}

// Whether a process that has exited in this state has failed.
constexpr bool has_failed(ProcessState state) noexcept {
    return state == ProcessState::starting || state == ProcessState::running;
}

} // namespace scylla::model
