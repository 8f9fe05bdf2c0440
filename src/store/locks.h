// The heavyweight locks that calls take in addition to those of statements: all of them, so that no two purposes share
// a number. Each of a queue is an object lock on the queue: class scylla.queue, object the queue's number, sub-object
// one of the numbers below.
#pragma once

#include "store/rows.h"

namespace scylla {

enum class QueueLock : uint16 {
    // Guards leases from a queue with max_running or max_running_per_key. A lease holds it until the call ends: in
    // ShareLock; in ExclusiveLock where the call counts the permits of the whole queue, because there is no shared
    // memory, or no entry in it for the queue. Leases that count wait.
    limits = 0,

    // Guards submits to a queue with max_depth. A submit that counts the tables, because there is no shared memory, or
    // no entry in it for the queue, holds it in ExclusiveLock until its transaction ends. A submit that counts for
    // shared memory holds it in RowExclusiveLock during the count. The former makes all submits that count wait.
    depth = 1,

    // Guards making the number of running tasks of a queue with max_running known in shared memory. A lease that
    // counted permits, because there was no entry in shared memory for the queue, holds it in ShareLock until its
    // transaction ends. A call that counts for shared memory holds it in RowExclusiveLock during the count, but does
    // not wait for it. Only the former waits, for a count.
    running = 2,

    // From here on: guard leases of tasks whose key has this hash (key_lock()), in a queue with max_running_per_key. A
    // lease holds it in ExclusiveLock until the call ends. Only a lease that finds nothing else, or is for one task,
    // waits.
    first_key = 256,
};

// Guards the creation of a queue; the hash of its name is the object of class scylla.task_spec. Held in ExclusiveLock
// until the row is inserted. Until then others that create a queue of the same name wait for the lock, after that for
// the row.
inline LOCKTAG name_lock_tag(uint64 hash) {
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, MyDatabaseId, store::identity(), static_cast<Oid>(hash), 0);
    return tag;
}

// Guards finding a pool for needs. drop_pool() holds it in ExclusiveLock until its transaction ends. A submit that has
// found the pool waits for it in ShareLock, and releases it at once.
inline LOCKTAG pool_lock_tag(int64 pool) {
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, MyDatabaseId, store::identity(), static_cast<Oid>(pool),
                       static_cast<uint16>(1 + ((pool >> 32) & 0x7fff)));
    return tag;
}

// Guards the decision which queued runs of workflows begin. The engine holds it in ExclusiveLock until its transaction
// ends, and does not wait for it.
inline LOCKTAG runs_lock_tag() {
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, MyDatabaseId, store::identity(), InvalidOid, 0xffff);
    return tag;
}

// Guards changes of the templates of a job type, by a hash of its name. Held in ExclusiveLock until the transaction
// ends.
inline LOCKTAG templates_lock_tag(uint32 job_type) {
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, MyDatabaseId, store::identity(), job_type, 0xfffe);
    return tag;
}

// Guards the placement of tasks in pools. A pass, and a call that submits tasks that are placed at once, hold it in
// ExclusiveLock until they have written their reservations.
inline LOCKTAG passes_lock_tag(store::Store &store) {
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, MyDatabaseId, RelationGetRelid(store[store::TableId::line].rel), 0, 0);
    return tag;
}

// Shows that the process that runs a task by its handler lives (task/called.h): by the lower half of the task's id and
// of its attempt. Runs that share a lock would have to be at it at the same time, 4 billion tasks apart; then the lease
// of one ends late.
inline LOCKTAG call_lock_tag(store::Store &store, int64 task, int32 attempt) {
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, MyDatabaseId, RelationGetRelid(store[store::TableId::lease].rel), static_cast<Oid>(task),
                       static_cast<uint16>(attempt));
    return tag;
}

// The table lock that every call that writes tasks holds until its transaction ends. It is only looked at.
inline LOCKTAG writers_lock_tag(store::Store &store) {
    LOCKTAG tag;
    SET_LOCKTAG_RELATION(tag, MyDatabaseId, RelationGetRelid(store[store::TableId::spec].rel));
    return tag;
}

inline constexpr std::size_t k_key_locks = 256;

constexpr QueueLock key_lock(std::size_t place) noexcept {
    return static_cast<QueueLock>(static_cast<std::size_t>(QueueLock::first_key) + place);
}

inline LOCKTAG lock_tag(store::Store &store, int32 queue, QueueLock lock) {
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, MyDatabaseId, RelationGetRelid(store[store::TableId::queue].rel), static_cast<Oid>(queue),
                       static_cast<uint16>(lock));
    return tag;
}

} // namespace scylla
