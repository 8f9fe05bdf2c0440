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
std::size_t take_wanted(std::span<WantedWorkers, k_max_workers> wanted);

// Asks a worker to exit when it has run its task.
void ask_to_leave(WorkerSlot &worker) noexcept;
// Asks a worker to exit, and interrupts what it is doing.
void stop(WorkerSlot &worker) noexcept;
// The same for all of a database. False: there are none.
bool stop_workers(Oid database) noexcept;

// What a worker does, for scylla.stat_server_worker.
struct WorkerState {
    int pid;
    Oid role;
    const char *doing;
    int64 task; // 0: none
    TimestampTz since;
};
// The workers of a database. Returns how many.
std::size_t look_at_workers(Oid database, std::span<WorkerState, k_max_workers> states);

// Whether the engine of workflows runs in the database, or is being started.
bool has_engine(Oid database) noexcept;
// Has the monitor check whether the database needs an engine. For commit callbacks.
void ask_for_engine(Oid database) noexcept;

// The worker has found nothing to do, or looks again.
void set_idle(WorkerSlot &worker, bool idle) noexcept;

// The task whose handler the worker is calling from now on; 0: none.
void begin_call(WorkerSlot &worker, int64 task) noexcept;
// For how long it has been calling a handler, in microseconds, at least 1; 0: it calls none.
int64 length_of_call(WorkerSlot &worker) noexcept;
// Ends the call. True: it was interrupted because its task was taken away.
bool end_call(WorkerSlot &worker) noexcept;
// The same for a session, which calls the handler in scylla.work(). Beyond k_max_session_calls, and without shared
// memory, a call cannot be interrupted.
void begin_session_call(int64 task);
bool end_session_call() noexcept;

// Interrupts the worker or session that is calling the handler of the task. For commit callbacks.
void interrupt_call(Oid database, int64 task) noexcept;

} // namespace scylla::shmem
