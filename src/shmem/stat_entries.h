// The layout of the counters in shared memory, for the files that maintain them: stats.cpp (reading them),
// stat_notes.cpp (what transactions have done), stat_file.cpp (restarts). stats.h says what they mean.
#pragma once

#include "model/rate.h"
#include "shmem/stats.h"

extern "C" {
#include "storage/spin.h"
}

namespace scylla::shmem {

inline constexpr int32 k_none = -1;

// How many tasks of a queue are waiting or ready, for max_depth, or running, for max_running (depth.h).
struct Depth {
    bool known;      // `base` is true
    int64 base;      // plus the places of the entry that count: the committed tasks
    int64 in_flight; // brought by transactions in progress
    int64 prepared;  // of transactions that were prepared: no callback tells how they end
    uint64 doubts;   // transactions that were prepared
    bool doubtful;   // one may have ended since the last count
    uint64 version;  // a count is void if it has changed since the count began
    TimestampTz counted_at;
    int64 count_time; // microseconds
};

struct StatEntry {
    StatId id;     // changes, like the chain, only under the exclusive lock
    int32 next;    // in the chain of its bucket
    slock_t mutex; // guards what follows
    TimestampTz used;
    TimestampTz reset;
    QueueStats stats;
    bool told;   // a NOTIFY was sent
    bool untold; // the monitor has to send one
    // The bucket of a queue with a rate, and that of its keys without a bucket of their own (rates.h). No rate: not
    // used yet.
    model::Bucket bucket;
    model::Bucket other_keys;
    std::array<Depth, k_bounded> depth; // while something is in flight, the entry is not evicted
    // Of queue 0 only.
    bool counted; // Places of the database's queues are true
    TimestampTz counted_at;
    int64 count_time;
    MonitorStats monitor;
};

// The transaction that a backend is committing; 0: none, or its notes have been added.
struct alignas(PG_CACHE_LINE_SIZE) Committing {
    pg_atomic_uint32 xid;
};

struct Stats {
    LWLock *lock;
    int size;
    int count;                // of entries that have been in use; the others come after them
    int hand;                 // where the search for the next entry to evict begins
    uint64 generation;        // counts anchors and evictions
    uint64 depth_version;     // the last one given out
    pg_atomic_uint64 changes; // of any entry
    pg_atomic_uint32 untold;  // StatEntry::untold may be set in an entry

    int32 *bucket(uint64 hash) noexcept {
        return reinterpret_cast<int32 *>(this + 1) + hash % static_cast<uint32>(size);
    }
    StatEntry &entry(int i) noexcept {
        char *start =
            reinterpret_cast<char *>(this) + MAXALIGN(sizeof(Stats) + sizeof(int32) * static_cast<Size>(size));
        return reinterpret_cast<StatEntry *>(start)[i];
    }
    Committing &committing(int i) noexcept {
        return reinterpret_cast<Committing *>(
            TYPEALIGN(PG_CACHE_LINE_SIZE, reinterpret_cast<uintptr_t>(&entry(size))))[i];
    }
};

extern Stats *stats; // null without shared memory

inline bool is_of(const StatEntry &entry, Oid database, Oid extension) noexcept {
    return entry.id.database == database && entry.id.extension == extension;
}

// With the lock held.
StatEntry *find_entry(const StatId &id) noexcept;
// With the lock held exclusively. Null if every entry has something in flight.
StatEntry *find_or_make_entry(const StatId &id, TimestampTz now) noexcept;

template <typename Change> void change_entry(const StatId &id, TimestampTz now, Change change) noexcept {
    LWLockAcquire(stats->lock, LW_SHARED);
    StatEntry *entry = find_entry(id);
    if (entry == nullptr) {
        LWLockRelease(stats->lock);
        LWLockAcquire(stats->lock, LW_EXCLUSIVE);
        entry = find_or_make_entry(id, now);
        if (entry == nullptr) {
            LWLockRelease(stats->lock);
            return;
        }
    }
    SpinLockAcquire(&entry->mutex);
    change(*entry);
    entry->used = now;
    SpinLockRelease(&entry->mutex);
    pg_atomic_fetch_add_u64(&stats->changes, 1);
    LWLockRelease(stats->lock);
}

// Whether the counters are as they were when the snapshot was taken, after stat_changes() (see stats.h). With the lock
// held exclusively.
bool is_moment_of(Snapshot snapshot, uint64 changes) noexcept;

inline Depth &depth_of(StatEntry &entry, Bounded which) noexcept {
    return entry.depth[static_cast<std::size_t>(which)];
}

// Whether open transactions hold the entry: then it is not evicted.
inline bool is_in_flight(const StatEntry &entry) noexcept {
    return std::any_of(entry.depth.begin(), entry.depth.end(), [](const Depth &depth) { return depth.in_flight != 0; });
}

// The part of Depth::in_flight that is this transaction's, or its savepoint's.
struct HeldRoom {
    std::array<int64, k_bounded> tasks;

    [[nodiscard]] bool any() const noexcept {
        return std::any_of(tasks.begin(), tasks.end(), [](int64 number) { return number != 0; });
    }
};
HeldRoom &held_room(const StatId &id);
void change(HeldRoom &held, Bounded which, int64 by) noexcept;
// Whether this transaction may hold another entry that no other holds. Each may hold its part of the entries, so that
// one alone leaves others enough.
bool may_hold_another() noexcept;

// From this transaction's notes of the queue: how the number of tasks has changed, and by how much that exceeds the
// slots that it has reserved.
int64 noted_depth(const StatId &id, Bounded which) noexcept;
int64 noted_excess(const StatId &id, Bounded which) noexcept;
// How many tasks have come to the queue without a reserved slot.
int64 noted_without_room(const StatId &id, Bounded which) noexcept;
// Reserves slots for these. With the lock held exclusively.
void take_noted_room(StatEntry &entry, Bounded which) noexcept;

// In the postmaster: loads what the last clean shutdown has saved, and saves at the next one.
void restore_stats();

} // namespace scylla::shmem
