// Heads: for each queue and priority, where the ready tasks begin.
//
// Every task that is leased leaves a dead entry at the front of the index of ready tasks. Vacuum removes it, unless some
// long transaction holds vacuum back; then a lease that starts at the front of the index walks over all of them, and the
// queue collapses. A head lets it start where the living begin.
//
// A head of a priority is a frontier and a set of returned ids:
//
//   (I)  a ready row that is committed and told, or that a new snapshot sees, has an id at or above the frontier, or its id
//        is among the returned ones.
//
// "Told" means that the commit callback of the transaction that inserted it has run. What moves the parts:
//
//   * The callback tells every row that the transaction made ready: an id below the frontier joins the returned ids (or, when
//     there are too many of them, pulls the frontier down), and the priority is marked as not empty.
//   * A scan of ready rows begins at the frontier. Afterwards it may raise the frontier to the first row that it could not
//     pass. It passes only what no later snapshot can see: rows that its own snapshot did not see, and rows whose deleter has
//     committed. It does not pass rows that somebody is just deleting, nor rows that its own transaction has deleted: if that
//     transaction rolls back they are there again.
//   * A row that commits between the snapshot and the raising would be lost; so the scan reads the version of the head
//     *before* it takes its snapshot, and what was told since then bounds the raise: new ids above all that was told before
//     (HeadView::told), and out of order whatever it was (Recent). If too much was told out of order to remember, the frontier
//     stays where it is. A row that is not told yet will be: then it is compared with the frontier.
//   * A returned id is dropped when a snapshot that is younger than its telling does not find the row (and the own
//     transaction has taken none).
//
// So (I) holds for every transaction that has a callback. COMMIT PREPARED, logical apply, COPY and changes by hand have
// none. For them heads are derived again from the table, in small steps all the time (verbs/ready_scan.cpp): such a row is
// late by one pass of the derivation, but not lost. Heads begin with a frontier of 0 and every priority marked: after a
// crash, or when a place was given to another queue, the first scan finds everything. A standby replays without callbacks, so
// nothing is concluded there, and a promoted server begins the same way. The key contains the file of the table, so
// TRUNCATE, VACUUM FULL or a new extension begin with a new head.
//
// A transaction's own rows are told to nobody before it commits; its own scans go by what it has noted (shmem/pending.h).
#pragma once

#include "model/limits.h"
#include "shmem/shared.h"

namespace scylla::shmem {

inline constexpr std::size_t k_priorities = model::k_max_priority + 1;
inline constexpr int k_returned = 128; // ids kept per queue
inline constexpr int k_recent = 64;    // tellings that a raise can take into account

struct HeadKey {
    Oid database;
    Oid file; // of the table of ready tasks
    int32 queue;

    bool operator==(const HeadKey &) const = default;
};

struct Returned {
    int64 id;
    int16 priority;
    uint64 version; // of its telling
};

// A head as a scan sees it at its beginning.
struct HeadView {
    bool valid; // false: there are no heads (no preloading); every row has to be looked at
    uint64 epoch;
    uint64 version;
    std::array<uint64, 2> nonempty; // a bit per priority: there may be ready tasks
    std::array<int64, k_priorities> frontier;
    std::array<int64, k_priorities> told; // the highest id
    int returned_count;
    std::array<Returned, k_returned> returned; // by priority, highest first, then by id
};

// What the scan found.
struct HeadFindings {
    std::array<bool, k_priorities> exhausted;  // the scan went to the end of this priority
    std::array<int64, k_priorities> first_left; // the first row at or above the frontier that was not passed; 0: none
    std::array<bool, k_priorities> own;        // the own transaction has taken or made rows there: nothing is concluded
    std::array<bool, k_returned> gone;         // by index in HeadView::returned
};

// What heads need of shared memory (shared.cpp makes it).
struct Heads;
int heads_locks();
Size heads_size();
void make_heads(Heads *made, LWLockPadded *locks, bool found);

// To be called before the snapshot is taken.
void look(const HeadKey &key, HeadView *view);
void report(const HeadKey &key, const HeadView &view, const HeadFindings &findings) noexcept;

// Rows of one priority that have become ready by a commit, or that the derivation found: one, or several with ids from `low`
// to `high`.
void tell(const HeadKey &key, int16 priority, int64 low, int64 high) noexcept;
// More than could be remembered: every head of the database begins anew.
void forget(Oid database) noexcept;

// The derivation of one head goes step by step: `claim` gives the next step to one caller per interval, `advance` says how
// far it got. The place of a step: from id `from` of `priority` on; below priority 0 the pass is complete.
struct Step {
    int16 priority;
    int64 from;
};
std::optional<Step> claim_step(const HeadKey &key, TimestampTz now, int64 interval);
void advance(const HeadKey &key, const Step &next) noexcept;

// For scylla.stat_heads(): the heads of this database, one per call, from place `*at` on. False: no more.
struct HeadStatus {
    HeadKey key;
    HeadView view;
};
bool next_head(int *at, HeadStatus *status);

} // namespace scylla::shmem
