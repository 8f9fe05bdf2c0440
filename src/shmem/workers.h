// Server workers as other processes see them: which are wanted, and which task's handler each is calling
// (shmem/shared.h).
#pragma once

#include "shmem/shared.h"

namespace scylla::shmem {

// Asks the launcher for workers. Of several calls for the same role, the one with the most tasks counts.
void want_workers(const WantedWorkers &wanted);
// The same by the launcher, which need not be woken.
void keep_wanted(const WantedWorkers &wanted);
// Returns each request once, and how many there are.
std::size_t take_wanted(std::span<WantedWorkers, k_max_wanted> wanted);

// Asks a worker to exit when it has run its task.
void ask_to_leave(WorkerSlot &worker) noexcept;
// Asks a worker to exit, and interrupts what it is doing.
void stop(WorkerSlot &worker) noexcept;
// Ends the process of a worker that goes on nevertheless.
void condemn(WorkerSlot &worker) noexcept;
// The same for all of a database. False: there are none.
bool stop_workers(Oid database) noexcept;

// What a worker does, for scylla.stat_server_worker.
struct WorkerState {
    int pid;
    Oid database;
    Oid role;
    const char *doing;
    bool calls;
    int32 queue; // 0: none
    CallText of;
    CallText name;
    TimestampTz since;
    bool lost; // it holds no slot
};
// All of them, of all databases. Returns how many.
std::size_t look_at_workers(std::span<WorkerState, k_max_workers> states);

// Whether the engine of workflows, or that of their slow lane, runs in the database, or is being started.
bool has_engine(Oid database, bool slow = false) noexcept;
// Has the monitor check whether the database needs an engine. For commit callbacks.
void ask_for_engine(Oid database) noexcept;

// The worker has found nothing to do, or looks again.
void set_idle(WorkerSlot &worker, bool idle) noexcept;

// What a worker calls: the handler of a task of a queue, or (task and queue 0) the function select_work of a job.
struct Call {
    int64 task;
    int32 queue;
    std::string_view of;   // the name of the queue, or of the job
    std::string_view name; // of the task, or of the schedule
};
void begin_call(WorkerSlot &worker, const Call &call) noexcept;
struct CallNow {
    int64 length = 0; // in microseconds, at least 1; 0: it calls nothing
    int32 queue = 0;
    bool is_task = false;
    int64 told_for = 0; // how long ago it was told to end; 0: it was not
};
CallNow call_of(WorkerSlot &worker) noexcept;
// Its process was to end, and does not: it never checks for interrupts, so nobody can end it, and it holds no slot.
bool is_lost(WorkerSlot &worker) noexcept;
// How many workers of the role call for the queue (0: for schedules).
int64 count_calls(Oid database, Oid role, int32 queue) noexcept;
// Since when that many workers have all been calling something.
std::optional<TimestampTz> all_busy_since(int64 workers) noexcept;
// Under the lock: the worker calls nothing.
void forget_call(WorkerSlot &worker) noexcept;
// Ends the call. True: it was interrupted because its task was taken away.
bool end_call(WorkerSlot &worker) noexcept;
// The same for a session, which calls the handler in scylla.work(). Beyond k_max_session_calls, and without shared
// memory, a call cannot be interrupted.
void begin_session_call(int64 task);
bool end_session_call() noexcept;

// Interrupts the workers and sessions that are calling the handlers of these tasks. Sorts them. For commit callbacks.
void interrupt_calls(Oid database, std::span<int64> tasks) noexcept;

} // namespace scylla::shmem
