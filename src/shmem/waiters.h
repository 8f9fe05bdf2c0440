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

// What a backend waits for: a task of a queue, by the number of the queue; one of those below; or a queue that does not
// exist yet, by unknown_queue().
using Awaited = int64;
inline constexpr int k_max_wait_queues = 64;
inline constexpr Awaited k_any_new_queue = 0;
inline constexpr Awaited k_plans = -1;  // the end of any plan
inline constexpr Awaited k_agenda = -2; // something for the engine of workflows

// A queue that does not exist yet. Nobody can choose two names that stand for the same: the hash has a random seed.
Awaited unknown_queue(std::string_view name) noexcept;
constexpr bool is_unknown_queue(Awaited awaited) noexcept { return awaited < k_agenda; }

// The list, with room for every backend (shared.cpp makes it).
struct Waiters;
Size waiters_size();
void make_waiters(Waiters *made, LWLock *lock, bool found);

// Puts this backend on the list; if it is there, only changes what it waits for. The latch is set when it is signalled.
void enlist(std::span<const Awaited> awaited);
// As before, but what is still unknown here may have been named meanwhile (name_queue()), and stays so.
void enlist_known(std::span<const Awaited> awaited);
// What it was signalled for, if it was.
std::optional<Awaited> signalled() noexcept;
// Before a look: stays on the list and can be signalled again, for what the look does not see. The signal that led to
// the look is kept until it is known what the look found.
void rearm() noexcept;
// How many unsignalled waiters of the queue are before this backend on the list.
int64 ahead(int32 queue) noexcept;
// Leaves the list, with a task of the queue `used` or with nothing. One signal for this queue is used up; others go to
// the next waiters.
void leave(std::optional<Awaited> used) noexcept;

// Wakes up to `count` who wait for that in a database.
void signal(Oid database, Awaited awaited, int64 count) noexcept;
// Wakes all who wait for queues of a database that did not exist.
void signal_unknown(Oid database) noexcept;
// A queue exists now: who waited for it by its name waits for it by its number.
void name_queue(Oid database, Awaited unknown, int32 queue) noexcept;

// What unsignalled waiters of this database wait for; at most awaited.size(). k_any_new_queue stands for all queues
// that do not exist.
std::size_t waited_for(std::span<Awaited> awaited) noexcept;

} // namespace scylla::shmem
