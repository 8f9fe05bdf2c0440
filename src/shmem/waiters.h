// Backends that wait for a task (CALL scylla.wait), and how a commit wakes them.
//
// No wake-up is lost. A waiter adds itself to the list before it takes the snapshot with which it looks for a task. The
// callback of a commit that this snapshot does not see runs later, and finds the waiter on the list. The monitor, in
// each of its rounds, wakes waiters for commits without a callback (a prepared transaction, a restore), and where the
// woken waiter did not take the task (its client is gone, its worker died).
//
// A commit wakes as many waiters of a queue as it makes tasks ready, first come, first served. A waiter that was woken
// for a task and does not take it (an error, another queue, a second signal) passes the signal on.
#pragma once

#include "shmem/shared.h"

namespace scylla::shmem {

// What a backend waits for: a task of a queue, by the number of the queue; one of those below; or a queue that does not
// exist yet, by unknown_queue().
using Awaited = int64;
inline constexpr int k_max_wait_queues = 64;
inline constexpr Awaited k_any_new_queue = 0;
inline constexpr Awaited k_plans = -1;       // the end of any plan
inline constexpr Awaited k_agenda = -2;      // something for the engine of workflows
inline constexpr Awaited k_slow_agenda = -3; // something for that of the slow lane

// A queue that does not exist yet. The hash has a random seed, so nobody can choose two names with the same hash.
Awaited unknown_queue(std::string_view name) noexcept;
constexpr bool is_unknown_queue(Awaited awaited) noexcept { return awaited < k_slow_agenda; }

// The list, with room for every backend (shared.cpp makes it).
struct Waiters;
Size waiters_size();
void make_waiters(Waiters *made, LWLock *lock, bool found);

// Adds this backend to the list, or changes what it waits for. The latch is set when it is signalled.
void enlist(std::span<const Awaited> awaited);
// The same, but keeps the numbers of queues that were unknown and have been named meanwhile (name_queue()).
void enlist_known(std::span<const Awaited> awaited);
// What it was signalled for, if it was.
std::optional<Awaited> signalled() noexcept;
// Before a look: the backend stays on the list and can be signalled again, for what the look does not see. The signal
// that led to the look is kept until the look has ended.
void rearm() noexcept;
// How many unsignalled waiters of the queue are before this backend on the list.
int64 ahead(int32 queue) noexcept;
// Leaves the list, with a task of the queue `used` or without a task. One signal for this queue is used up; others are
// passed to the next waiters.
void leave(std::optional<Awaited> used) noexcept;

// Wakes up to `count` waiters of the database that wait for it.
void signal(Oid database, Awaited awaited, int64 count) noexcept;
// Wakes all waiters of the database that wait for queues that did not exist.
void signal_unknown(Oid database) noexcept;
// A queue exists now: waiters for its name wait for its number from now on.
void name_queue(Oid database, Awaited unknown, int32 queue) noexcept;

// What unsignalled waiters of this database wait for; at most awaited.size(). k_any_new_queue stands for all queues
// that do not exist.
std::size_t waited_for(std::span<Awaited> awaited) noexcept;
// Whether any call waits in this database.
bool is_anybody_waiting() noexcept;

} // namespace scylla::shmem
