// Limits of a queue: how many of its tasks may run at once, and how many of each key. (How many may start in a time:
// queue/rate.h.)
//
// What counts are the leases: those that are committed, and those of transactions in progress, which may commit. A
// lease in a queue with a limit has a *permit*, its key, in a column with an index of its own: by that it can be
// counted (store::count_permits).
//
//   * max_running goes by a number in shared memory, which is made of such a count and is never too small
//     (shmem/depth.h). A lease takes its part of it before it takes the task, and nobody waits for anybody.
//   * Of a key, whoever wants to lease counts the permits. For that time, which ends long before the transaction does,
//     nobody else may add any: a lock per key sees to that. A lease that is rolled back gives its permit back because
//     its row is gone; one that is being ended keeps it until that commits. Locks of keys are not waited for as long as
//     other keys have tasks: what somebody else is just leasing is passed over, as rows are. Keys share 256 locks per
//     queue, by their hash, so that a call that leases from a hundred thousand keys does not fill the server's lock
//     table.
//   * Without shared memory, where max_running goes by a count, the queue is locked against others that lease from it.
//   * Who holds a lock waits for nobody who may wait for it: rows are taken without waiting, tables are open before,
//     and whoever waits for the lock of a key holds no other.
//   * A queue that gets its first limit has leases without permits, and perhaps somebody is just adding one. The limit
//     is pending until all have permits (queue/pending.h). The same goes for keys of ready tasks.
#pragma once

#include "store/rows.h"

namespace scylla {

// What the lease of a task has; null in a queue without limits.
text *permit_of(const store::QueueRow &queue, const store::SpecRow &spec);

// What holds max_running: the number in shared memory or, where there is none, a count of the permits. There is none
// without preloading, and where open transactions leave no entry for the queue.
enum class HeldBy : bool { shared_memory, count };

// From lock_limits() on others cannot, where a count holds max_running, lease from the queue, until unlock_limits() or
// the end of the transaction. Refreshes the store. Returns the queue as
// it is now; nothing if it is gone.
struct LimitsLock {
    int32 queue;
    LOCKMODE mode;  // NoLock: it is not locked
    HeldBy held_by; // what the caller wants; after lock_limits(), what it is
};
std::optional<store::QueueRow> lock_limits(store::Store &store, const store::QueueRow &seen, LimitsLock *lock);
// The same, but leaves it unlocked where it would have to wait for a queue that is full anyway: many workers may be
// asking.
std::optional<store::QueueRow> lock_limits_unless_full(store::Store &store, const store::QueueRow &seen,
                                                       LimitsLock *lock);
void unlock_limits(store::Store &store, const LimitsLock &lock);

// How many more tasks may run now by max_running; whether that is more than `wanted` does not matter. Exact only with
// the lock held, by a count, else a hint: then each lease has to get its permit. May refresh the store.
int64 free_permits(store::Store &store, const store::QueueRow &queue, HeldBy held_by, int64 wanted);

// The permits by max_running of one call that leases, one after the other.
struct Permits {
    bool needed;  // shared memory gives them
    bool held;    // one is taken and not used yet
    bool unknown; // there was none because shared memory did not know
};
Permits begin_permits(const store::QueueRow &queue, const LimitsLock &lock);
// Shared memory may know after so many attempts. After that the permits are to be counted.
inline constexpr int k_permit_attempts = 2;
// Has a permit for the next lease. False: there is none.
bool take_permit(Permits &permits, const store::QueueRow &queue);
inline void use_permit(Permits &permits) { permits.held = false; }
// Gives back what was not used.
void end_permits(Permits &permits, const store::QueueRow &queue);

// How many more tasks of each key may run, and may start by its rate, as far as somebody has asked: each key is counted
// once, and what the call leases is taken off. `lock`: what the call has locked; with NoLock the numbers are hints.
// `tokens`: of the call; null: rates do not matter. By rate the numbers are hints in any case.
struct Tokens;
struct KeyRooms;
KeyRooms *begin_rooms(store::Store &store, const store::QueueRow &queue, const LimitsLock &lock, Tokens *tokens);
// The room of a key; null or the empty text: no key. It stays where it is until end_rooms() or wait_for_room().
int64 &room_of(KeyRooms *rooms, const text *key);
// Where nothing was leased: if a key seemed to have room but somebody else was just leasing from it, waits for that, so
// that it can be looked at again. False: there was none.
bool wait_for_room(KeyRooms *rooms);
// Waits for the lock of this key.
int64 &wait_for_room(KeyRooms *rooms, const text *key);
// When a key that has no room by its rate gets a token for somebody before whom `ahead` others want one (steady_now());
// PG_INT64_MAX: there is no such key.
int64 next_token(KeyRooms *rooms, int64 ahead);
void end_rooms(KeyRooms *rooms);

} // namespace scylla
