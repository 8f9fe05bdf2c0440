// Limits of a queue: how many of its tasks may run at once, and how many of each key. (How many may start in a time: verbs/rate.h.)
//
// What counts are the leases: those that are committed, and those of transactions in progress, which may commit. So there is no
// counter that a crash, a rollback or a prepared transaction could leave wrong: a lease in a queue with a limit has a *permit*, its
// key, in a column with an index of its own, and whoever wants to lease counts them (store::count_permits). For that time, which
// ends long before the transaction does, nobody else may add such permits: a lock sees to that.
//
//   * A lease that is rolled back gives its permit back because its row is gone; one that is being ended keeps it until that
//     commits.
//   * Where max_running counts, the lock is on the queue. Where only keys are counted, a lock per key is enough, and the queue is
//     locked against changes of its settings alone. Locks of keys are not waited for as long as other keys have tasks: what
//     somebody else is just leasing is passed over, as rows are. Keys share 256 locks per queue, by their hash, so that a call that
//     leases from a hundred thousand keys does not fill the server's lock table.
//   * Who holds a lock waits for nobody who may wait for it: rows are taken without waiting, tables are open before, and whoever
//     waits for the lock of a key holds no other.
//   * A queue that gets its first limit has leases without permits, and perhaps somebody is just adding one. So alter_queue locks
//     task_spec against all others, and then gives them permits. Verbs that change tasks lock task_spec before they look at the
//     queue. The same goes for keys of ready tasks when a queue begins to go by keys.
#pragma once

#include "store/rows.h"

namespace scylla {

inline bool has_limits(const store::QueueRow &queue) { return queue.max_running || queue.max_running_per_key; }
// Its ready tasks are found by their keys, too.
inline bool goes_by_keys(const store::QueueRow &queue) {
    return queue.max_running_per_key || queue.is_shared || queue.rate_per_key != nullptr;
}

// What the lease of a task has; null in a queue without limits.
text *permit_of(const store::QueueRow &queue, const store::SpecRow &spec);

// From lock_limits() on others cannot lease from a queue with max_running, nor can its settings be changed, until unlock_limits()
// or the end of the transaction. Refreshes the store. Returns the queue as it is now; nothing if it is gone.
struct LimitsLock {
    int32 queue;
    LOCKMODE mode; // NoLock: it is not locked
};
std::optional<store::QueueRow> lock_limits(store::Store &store, const store::QueueRow &seen, LimitsLock *lock);
// The same, but leaves it unlocked where it would have to wait for a queue that is full anyway: many workers may be asking.
std::optional<store::QueueRow> lock_limits_unless_full(store::Store &store, const store::QueueRow &seen, LimitsLock *lock);
// For changes of the settings, to the end of the transaction.
void lock_limits_of_all(store::Store &store, int32 queue);
void unlock_limits(store::Store &store, const LimitsLock &lock);

// How many more tasks may run now by max_running. Exact with the lock held, else a hint.
int64 free_permits(store::Store &store, const store::QueueRow &queue);

// How many more tasks of each key may run, and may start by its rate, as far as somebody has asked: each key is counted once, and what
// the call leases is taken off. `lock`: what the call has locked; with NoLock the numbers are hints. `tokens`: of the call; null: rates
// do not matter. By rate the numbers are hints in any case.
struct Tokens;
struct KeyRooms;
KeyRooms *begin_rooms(store::Store &store, const store::QueueRow &queue, const LimitsLock &lock, Tokens *tokens);
// The room of a key; null or the empty text: no key. It stays where it is until end_rooms() or wait_for_room().
int64 &room_of(KeyRooms *rooms, const text *key);
// Where nothing was leased: if a key seemed to have room but somebody else was just leasing from it, waits for that, so that it can
// be looked at again. False: there was none.
bool wait_for_room(KeyRooms *rooms);
// Waits for the lock of this key.
int64 &wait_for_room(KeyRooms *rooms, const text *key);
// When a key that has no room by its rate gets a token for somebody before whom `ahead` others want one (steady_now()); PG_INT64_MAX: there
// is no such key.
int64 next_token(KeyRooms *rooms, int64 ahead);
void end_rooms(KeyRooms *rooms);

// A table by keys: an entry begins with a pointer to the text, which has to live as long.
HTAB *make_key_table(const char *name, std::size_t entry, MemoryContext context);

} // namespace scylla
