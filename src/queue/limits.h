// Limits of a queue: how many of its tasks may run at once, and how many of each key. (queue/rate.h: how many may start
// in a time.)
//
// Leases count: those that are committed, and those of transactions in progress, which may commit. A lease in a queue
// with a limit has a *permit*, its key, in a column with an index of its own, by which permits are counted
// (store::count_permits).
//
//   * max_running uses a number in shared memory, which comes from such a count and is never too small (shmem/depth.h).
//     A lease takes a slot of it before it takes the task, and waits for nobody.
//   * For max_running_per_key, a lease counts the permits of the key. A lock per key keeps others from adding permits
//     meanwhile. It is released when the call ends, long before the transaction does. A lease that is rolled back has
//     no row, so its permit is gone; a lease that is being ended keeps its permit until that commits. No lease waits
//     for the lock of a key while other keys have tasks: it skips what others are leasing, as it skips rows. Keys share
//     256 locks per queue, by their hash, so a call that leases from a hundred thousand keys does not fill the server's
//     lock table.
//   * Without shared memory, max_running uses a count, and the queue is locked against other leases.
//   * A call that holds a lock never waits for one that may wait for the lock: it takes rows without waiting, has
//     opened its tables before, and holds no other lock when it waits for the lock of a key.
//   * When a queue gets its first limit, it has leases without permits, and other transactions may be adding more. The
//     limit is pending until all have permits (queue/pending.h). The same goes for keys of ready tasks.
#pragma once

#include "store/rows.h"

namespace scylla {

// The permit for the lease of a task; null in a queue without limits.
text *permit_of(const store::QueueRow &queue, const store::SpecRow &spec);

// What enforces max_running: the number in shared memory or, without one, a count of the permits. There is no number
// without preloading, or if all entries are held by open transactions.
enum class HeldBy : bool { shared_memory, count };

// If a count enforces max_running, no other call can lease from the queue between lock_limits() and unlock_limits() or
// the end of the transaction. Refreshes the store. Returns the queue as it is now; nothing if it is gone.
struct LimitsLock {
    int32 queue;
    LOCKMODE mode;  // NoLock: it is not locked
    HeldBy held_by; // as the caller wants; after lock_limits(), as it is
};
std::optional<store::QueueRow> lock_limits(store::Store &store, const store::QueueRow &seen, LimitsLock *lock);
// The same, but leaves the queue unlocked if it is full and the call would have to wait for the lock: many workers may
// be leasing.
std::optional<store::QueueRow> lock_limits_unless_full(store::Store &store, const store::QueueRow &seen,
                                                       LimitsLock *lock);
void unlock_limits(store::Store &store, const LimitsLock &lock);

// How many more tasks may run now by max_running; it does not matter whether that is more than `wanted`. Exact only if
// a count enforces it and the lock is held. Else a hint, and each lease has to take a permit. May refresh the store.
int64 free_permits(store::Store &store, const store::QueueRow &queue, HeldBy held_by, int64 wanted);

// The permits by max_running of one call that leases, one after the other.
struct Permits {
    bool needed;  // shared memory gives them
    bool held;    // one is taken and not used yet
    bool unknown; // none was taken because shared memory did not know
};
Permits begin_permits(const store::QueueRow &queue, const LimitsLock &lock);
// After so many attempts at shared memory the permits are counted.
inline constexpr int k_permit_attempts = 2;
// Takes a permit for the next lease, unless one is held. False: there is none.
bool take_permit(Permits &permits, const store::QueueRow &queue);
inline void use_permit(Permits &permits) { permits.held = false; }
// Gives back what was not used.
void end_permits(Permits &permits, const store::QueueRow &queue);

// How many more tasks of each key may run, and may start by its rate, for the keys that the call has asked about. Each
// key is counted once, and the leases of the call are subtracted. `lock`: what the call has locked; with NoLock the
// numbers are hints. `tokens`: of the call; null: rates do not matter. Numbers by rate are always hints.
struct Tokens;
struct KeyRooms;
KeyRooms *begin_rooms(store::Store &store, const store::QueueRow &queue, const LimitsLock &lock, Tokens *tokens);
// The free slots of a key; null or the empty text: no key. The reference is valid until end_rooms() or wait_for_room().
int64 &room_of(KeyRooms *rooms, const text *key);
// For a call that has leased nothing. If a key seemed to have free slots but another call was leasing from it, waits
// for that call, so that the key can be looked at again. False: there was no such key.
bool wait_for_room(KeyRooms *rooms);
// Waits for the lock of this key.
int64 &wait_for_room(KeyRooms *rooms, const text *key);
// When a key without tokens gets one for a caller behind `ahead` others (steady_now()); PG_INT64_MAX: there is no such
// key.
int64 next_token(KeyRooms *rooms, int64 ahead);
void end_rooms(KeyRooms *rooms);

} // namespace scylla
