// What the processes of a server share: which process monitors which database, and what the launcher has to look at.
//
// It exists only if the library is preloaded. Otherwise `shared` is null, and everything works without it.
#pragma once

#include "model/process.h"
#include "pg/prelude.h"

namespace scylla::shmem {

// What a monitor waits for.
enum class Timer : std::uint8_t { due, deadline, schedule, settings, dropped, handler, trigger, placement, workflow };
inline constexpr std::size_t k_timers = 9;

inline constexpr std::size_t k_rechecks = 256;
inline constexpr std::size_t k_changed_pools = 32;

// A monitor, from the moment the launcher asks for it until it has exited.
struct MonitorSlot {
    pg_atomic_uint32 database; // 0: the slot is free. Written under the lock.
    pg_atomic_uint32 proc;     // its process number + 1; 0: not running yet
    pg_atomic_uint32 state;    // a model::ProcessState; changed by advance() only
    pg_atomic_uint32 present;  // it has found the extension and its tables
    pg_atomic_uint32 visits;   // it exits as soon as it has looked everywhere, unless it has a reason to stay
    pg_atomic_uint32 rested;   // it has exited because there was nothing to do
    pg_atomic_uint32 duty;     // what it is doing, by its number; before it begins: with what it is to begin
    // Its duties whose last turn ended with an error, as bits by their numbers, and since when there are any.
    pg_atomic_uint64 failing;
    pg_atomic_uint64 failing_since;
    // The earliest time per timer at which the monitor means to act; commits lower it and wake the monitor.
    pg_atomic_uint64 wake[k_timers];
    // Tasks and plans that are in doubt, as transactions have noted at their commit. Under the lock.
    bool recheck_all; // there were too many: look at everything that waits
    std::size_t rechecks;
    int64 recheck[k_rechecks];
    // Pools that have changed. Under the lock.
    bool all_pools;
    std::size_t pools;
    std::array<int64, k_changed_pools> pool;
};

inline constexpr int k_max_monitors = 64;
inline constexpr int k_max_marked = 64;

// A name in the encoding of its database, cut if it is longer.
using CallText = std::array<char, 256>;

// A server worker: calls the handlers of one role's queues in one database, or runs its workflows. From the moment the
// launcher asks for it until it has exited. Under the lock but for the atomics.
struct WorkerSlot {
    pg_atomic_uint32 database; // 0: the slot is free
    Oid role;                  // invalid: it is an engine of workflows
    bool slow;                 // the engine of the slow lane
    int pid;                   // 0: not running yet
    pg_atomic_uint32 proc;     // as in MonitorSlot
    pg_atomic_uint32 state;    // as in MonitorSlot
    pg_atomic_uint32 idle;     // it has found nothing to do
    bool calls;                // a handler, or the function select_work of a scheduled job
    int64 task;                // whose handler that is; 0: none
    int32 queue;               // of that task; 0: none
    CallText of;               // that queue, or the job
    CallText name;             // that task, or the schedule
    bool interrupted;          // its task has been ended or taken by somebody else
    TimestampTz since;         // when it began what it is doing
    int64 began;               // the same for a call, in steady_now()
    int64 told;                // when the call was first told to end, likewise; 0: it was not
    bool condemned;            // it did not end: so does its process, whatever it does
};
inline constexpr int k_max_workers = 32;
inline constexpr int k_max_wanted = 4 * k_max_workers;

// A session that is calling a handler in scylla.work().
struct SessionCall {
    int pid; // 0: the slot is free
    Oid database;
    int64 task;
    bool interrupted; // as in WorkerSlot
};
inline constexpr int k_max_session_calls = 64;

// A role in a database that has at least so many tasks for handlers.
struct WantedWorkers {
    Oid database;
    Oid role; // invalid: an engine of workflows
    int64 tasks;
    int64 since; // steady_now()
    int32 queue; // that has the fewest calls of those with tasks; 0: a schedule is due; of an engine, 1: that of the
                 // slow lane
};

// A database that a backend is dropping, renaming, moving or copying.
struct Blocked {
    Oid database;
    int pid; // of the backend that does it
};

struct Shared {
    LWLock *lock;                // guards everything below that is no atomic
    pg_atomic_uint32 launcher;   // its process number + 1; 0: not running
    pg_atomic_uint32 rescan;     // the launcher has to read the list of databases
    ConditionVariable exited;    // a monitor has exited
    int announced_count;         // databases in which the extension may have come, for the launcher
    Oid announced[k_max_marked]; // more than that many: the launcher looks at all
    bool announced_all;
    int blocked_count;
    Blocked blocked[k_max_marked];
    int absent_count; // databases where a monitor found no extension, for the launcher
    Oid absent[k_max_marked];
    int slots; // scylla.max_monitors of them are in use
    MonitorSlot slot[k_max_monitors];
    WorkerSlot worker[k_max_workers];
    SessionCall session_call[k_max_session_calls];
    int wanted_count;
    WantedWorkers wanted[k_max_wanted];
};

extern Shared *shared;

// Registers the hooks that make it; while preloading.
void install();

// Moves the process of a slot to the state after the event, and returns that state. A full memory barrier.
model::ProcessState advance(pg_atomic_uint32 &state, model::ProcessEvent event) noexcept;
inline model::ProcessState state_of(MonitorSlot &slot) noexcept {
    return static_cast<model::ProcessState>(pg_atomic_read_u32(&slot.state));
}
inline model::ProcessState state_of(WorkerSlot &slot) noexcept {
    return static_cast<model::ProcessState>(pg_atomic_read_u32(&slot.state));
}
// Whether its process is to go on.
template <typename Slot> bool is_running(Slot &slot) noexcept { return state_of(slot) == model::ProcessState::running; }

// The slot of the monitor of a database, from the launcher's request until it has exited; null: there is none.
MonitorSlot *monitor_slot(Oid database) noexcept;

void wake_launcher() noexcept;
// Wakes the monitor of a database, if it has one.
void wake_monitor(Oid database) noexcept;
// Asks a monitor to exit.
void ask_to_leave(MonitorSlot &slot) noexcept;
// Sets the latch of a process given by its number + 1 (0: nobody). If another process has that number by now, it wakes
// for nothing.
void wake(uint32 proc_plus_one) noexcept;

} // namespace scylla::shmem
