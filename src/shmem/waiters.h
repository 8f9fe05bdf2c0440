// Backends that wait for a task (CALL scylla.wait), and how a commit wakes them.
//
// No wake-up is lost: a waiter puts itself on the list before it takes the snapshot with which it looks for a task. A
// commit that the snapshot does not see comes to its callback after that, and finds the waiter on the list. What has no
// callback (a prepared transaction, a restore) and whom a signal did not help (its client is gone, its worker died) the
// monitor makes up for on each of its rounds.
//
// A commit wakes as many waiters of a queue as it makes tasks ready, in the order in which they came. A waiter that was
// woken for a task and does not take it (an error, another queue, a second signal) passes the signal on.
#pragma once

#include "shmem/shared.h"

namespace scylla::shmem {

inline constexpr int k_max_wait_queues = 64;
inline constexpr int32 k_no_queue = 0; // stands for queues that do not exist yet
inline constexpr int32 k_plans = -1;   // stands for the end of any plan

// The list, with room for every backend (shared.cpp makes it).
struct Waiters;
Size waiters_size();
void make_waiters(Waiters *made, LWLock *lock, bool found);

// Puts this backend on the list; if it is there, only changes what it waits for. The latch is set when it is signalled.
void enlist(std::span<const int32> queues);
// The queue it was signalled for, if it was.
std::optional<int32> signalled() noexcept;
// Before a look: stays on the list and can be signalled again, for what the look does not see. The signal that led to
// the look is kept until it is known what the look found.
void rearm() noexcept;
// How many unsignalled waiters of the queue are before this backend on the list.
int64 ahead(int32 queue) noexcept;
// Leaves the list, with a task of the queue `used` or with nothing. One signal for this queue is used up; others go to
// the next waiters.
void leave(std::optional<int32> used) noexcept;

// Wakes up to `count` waiters of a queue of a database.
void signal(Oid database, int32 queue, int64 count) noexcept;

// The queues of this database that have unsignalled waiters; at most queues.size().
std::size_t waited_for(std::span<int32> queues) noexcept;

} // namespace scylla::shmem
