// Statistics: what has happened in each queue, and how many tasks are in each state.
//
// A verb notes what it does in the memory of its backend. At the end of the transaction the commit callback adds the
// notes to the counters in shared memory; the notes of a transaction or savepoint that rolls back are dropped. So the
// counters show what was committed, and cost no write.
//
// The counters of events begin with zero and only grow. The numbers of tasks in each state begin with a count of the
// tables (api/stat.cpp); from then on each commit adds its changes. For the sum to be right, each commit must be either
// in the count or in the additions: see anchor(). A commit without a callback (COMMIT PREPARED, logical apply, changes
// by hand) is in neither; the next count corrects that.
//
// There are scylla.max_queues entries; the one that has not changed for longest is evicted. The counters of events
// survive a clean restart in a file, and begin anew after a crash.
#pragma once

#include "model/histogram.h"
#include "shmem/shared.h"

namespace scylla::shmem {

// Queue 0 stands for the monitor of the database.
struct StatId {
    Oid database;
    Oid extension; // store::identity()
    int32 queue;

    bool operator==(const StatId &) const = default;
};

enum class Count : std::uint8_t {
    submitted,
    leased,
    completed,
    aborted,
    cancelled,
    failed,
    expired,
    yielded,
    purged,
    refused,
    shed
};
inline constexpr std::size_t k_counts = 11;

// Where the row of a task is.
enum class Place : std::uint8_t { waiting, ready, running, terminal };
inline constexpr std::size_t k_places = 4;

enum class Time : std::uint8_t {
    wait, // from becoming ready to being leased
    run,  // of a lease that ended by complete, abort or fail
};
inline constexpr std::size_t k_times = 2;

using Places = std::array<int64, k_places>;

// The tasks whose number can be bounded (depth.h).
enum class Bounded : std::uint8_t {
    unleased, // waiting or ready: max_depth
    running,  // max_running
};
inline constexpr std::size_t k_bounded = 2;

constexpr bool is_in(Bounded which, Place place) noexcept {
    return which == Bounded::running ? place == Place::running : place == Place::waiting || place == Place::ready;
}

inline int64 number_of(Bounded which, const Places &places) noexcept {
    int64 number = 0;
    for (std::size_t p = 0; p < k_places; p++)
        number += is_in(which, static_cast<Place>(p)) ? places[p] : 0;
    return number;
}

struct QueueStats {
    Places place;
    std::array<int64, k_counts> count;
    std::array<model::Histogram, k_times> time;
};

// ---- noting, in a transaction --------------------------------------------------------------------------------------

void count(const StatId &id, Count what);
void count_time(const StatId &id, Time what, int64 micros);
// A task has come to a place, or left it.
void count_arrival(const StatId &id, Place place);
void count_departure(const StatId &id, Place place);

// ---- NOTIFY --------------------------------------------------------------------------------------------------------
//
// In a queue with the setting `notify`, a NOTIFY is sent when it gets a task that can be leased, and again only after a
// lease has found nothing. The monitor sends it, so that no other transaction pays for the lock that NOTIFY takes at
// commit.
//
// A mark in the queue's entry says that a NOTIFY was sent. A commit that makes a task ready, or a rollback that gives
// one back, sets the mark after its task is visible; if the mark was unset, the monitor sends a NOTIFY. A lease that
// has found nothing clears the mark and then looks again: it finds what became ready before that, and a NOTIFY is sent
// for what becomes ready later.

// This transaction makes a task of such a queue ready, or takes a ready one.
void note_notify_ready(const StatId &id);
void note_notify_taken(const StatId &id);
// A lease has found nothing. True: the mark was set, look again.
bool found_empty(const StatId &id) noexcept;
// The queues of the database for which the monitor has to send a NOTIFY. Returns how many. `again`: also those whose
// mark was set before, because an earlier monitor may have died before it sent them.
std::size_t take_untold(const StatId &monitor, bool again, std::span<int32> queues) noexcept;
// Whether there are any, in any database.
bool is_any_untold() noexcept;

// Whether this transaction has noted anything: its changes are in no counter yet, but a count of the tables sees them.
bool has_own_stats() noexcept;

// ---- looking -------------------------------------------------------------------------------------------------------

struct QueueEntry {
    int32 queue;
    QueueStats stats;
    TimestampTz reset; // when its counting began
};

// What the statistics of a database are, all at one moment.
struct StatView {
    bool valid; // false: there is no shared memory
    Oid database;
    Oid extension;
    bool counted; // QueueStats::place is true
    TimestampTz counted_at;
    int64 count_time; // the processor time that the last count of the tables took, microseconds
    uint64 generation;
    std::span<QueueEntry> queues; // by number; queues in which nothing has happened may be missing
};
StatView look_at_stats(Oid database, Oid extension);

// The steps of a count of the tables:
//
//   1. changes = stat_changes()
//   2. a snapshot
//   3. view = look_at_snapshot(…, changes), else begin again
//   4. count what the snapshot sees
//   5. anchor(view, what was counted)
//
// A commit is visible a moment before its callback adds its notes. Its changes must be in the sum once. If the snapshot
// sees the commit, its notes must be in the view, which is subtracted; if not, they must not be. So the view must show
// the moment of the snapshot. It does if nothing has been added between the time before the snapshot and the view, and
// if no transaction that the snapshot sees as ended has yet to run its callback: each backend publishes its transaction
// id from before its commit until its notes are added.
uint64 stat_changes() noexcept;
// Nothing: the view does not show the moment of the snapshot.
std::optional<StatView> look_at_snapshot(Oid database, Oid extension, Snapshot snapshot, uint64 changes);

struct Counted {
    int32 queue;
    Places places;
};
// `counted`: what the snapshot saw; queues that are not in it have no tasks. `time`: the CPU time of the count. Has no
// effect if another process has anchored since, or if the entry of a queue was evicted.
void anchor(const StatView &view, std::span<const Counted> counted, int64 time);

// Resets the counters of events of these queues, sorted by number; or those of the whole database and its monitor.
void reset_stats(Oid database, Oid extension, std::optional<std::span<const int32>> queues);

// ---- the monitor ---------------------------------------------------------------------------------------------------

enum class Work : std::uint8_t { opening, expiring, purging };
inline constexpr std::size_t k_works = 3;
inline constexpr std::size_t k_message = 256;

struct MonitorStats {
    int64 rounds;     // transactions
    int64 total_time; // microseconds
    int64 max_time;
    std::array<int64, k_works> tasks;
    TimestampTz last_round;
    int64 errors;
    TimestampTz last_error_at;
    std::array<char, k_message> last_error;
};

void count_round(const StatId &id, Work work, int64 tasks, int64 micros);
void count_error(const StatId &id, const char *message);
// Nothing if there is no shared memory. *reset: when its counters began.
std::optional<MonitorStats> monitor_stats(const StatId &id, TimestampTz *reset);

// ---- set-up --------------------------------------------------------------------------------------------------------

struct Stats;
Size stats_size();
void make_stats(Stats *made, LWLock *lock, bool found);

// Registers the callbacks, once per process. They must run after those of pending.h; the server calls the callbacks
// that were registered last first.
void install_stat_callbacks();

} // namespace scylla::shmem
