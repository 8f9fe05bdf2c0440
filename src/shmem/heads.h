// Heads: for each queue and priority, where the ready tasks begin.
//
// Every task that is leased leaves a dead entry at the front of the index of ready tasks. Vacuum removes it, unless
// some long transaction holds vacuum back; then a lease that starts at the front of the index walks over all of them,
// and the queue collapses. A head lets it start where the living begin.
//
// A head of a priority is a frontier and a set of stretches below it, of ids that came back (retries, yields, expired
// leases, opened gates: they are old) or that a long transaction has taken:
//
//   (I)  a ready row that is committed and told has an id at or above the frontier, or in one of the stretches.
//
// "Told" means that the commit callback of the transaction that inserted it has run. What moves the parts:
//
//   * The callback tells every row that the transaction made ready: ids below the frontier join the stretches, and the
//     priority is marked as not empty. Where there are too many stretches, two neighbours become one: those with the
//     narrowest gap between them, as the dead entries in that gap are walked over once more. The frontier counts as the
//     last neighbour.
//   * A scan goes through the stretches and the frontier's range. Afterwards it may take away what it has passed: the
//     beginning of a range, up to the first row that it could not pass. It passes only what no later snapshot can see:
//     rows that its own snapshot did not see, and rows whose deleter has committed. It does not pass rows that somebody
//     is just deleting, nor rows that its own transaction has deleted: if that transaction rolls back they are there
//     again. Where such a row has a long way over dead entries behind it, it becomes a stretch of its own, so that
//     others need not walk there again. When the transaction commits, they are gone, and it takes away all that its
//     scans have passed or taken.
//   * A row that commits between the snapshot and the taking away would be lost; so the scan looks at the head *before*
//   it
//     takes its snapshot, and nothing is taken away from the lowest id on that was told since. Ids that are told in
//     their order are above all that was told before (HeadView::told). Of the others each range keeps the lowest
//     (Stretch::fresh, Head::fresh), by generation: one begins when a scan that has looked in the present one ends. A
//     scan that ends more than a generation after its look takes nothing away; those that have overtaken it did. A row
//     that is not told yet will be: then it is compared with the frontier.
//   * A range may have changed since the look. Only from a range that begins where the scan's began or above is taken
//   away what
//     the scan has passed: what has been covered since then lies below, or has just been told.
//
// So (I) holds for every transaction that has a callback. COMMIT PREPARED, logical apply, COPY and changes by hand have
// none. For them heads are derived again from the table, in small steps all the time (queue/ready_scan.cpp): such a row
// is late by one pass of the derivation, but not lost. Heads begin with a frontier of 0 and every priority marked:
// after a crash, or when a place was given to another queue, the first scan finds everything. A standby replays without
// callbacks, so nothing is concluded there, and a promoted server begins the same way. The key contains the file of the
// table, so TRUNCATE, VACUUM FULL or a new extension begin with a new head.
//
// A transaction's own rows are told to nobody before it commits; its own scans go by what it has noted
// (shmem/pending.h).
#pragma once

#include "model/bounds.h"
#include "model/stretches.h"
#include "shmem/shared.h"

namespace scylla::shmem {

inline constexpr std::size_t k_priorities = model::k_max_priority + 1;
inline constexpr std::size_t k_returned = 128; // stretches kept per queue
inline constexpr std::size_t k_pieces = 16;    // stretches that one scan may leave behind

struct HeadKey {
    Oid database;
    Oid file; // of the table of ready tasks
    int32 queue;

    bool operator==(const HeadKey &) const = default;
};

// A head as a scan sees it at its beginning.
struct HeadView {
    bool valid; // false: there are no heads (no preloading); every row has to be looked at
    uint64 epoch;
    uint64 generation;
    std::array<uint64, 2> nonempty; // a bit per priority: there may be ready tasks
    std::array<int64, k_priorities> frontier;
    std::array<int64, k_priorities> told; // the highest id; 0: none yet
    std::array<int64, k_priorities>
        fresh; // the lowest at or above the frontier, told out of order in the last two generations
    model::Stretches<k_returned> returned;
};

inline constexpr std::size_t k_frontier = k_returned; // in place of the index of a stretch

// What a scan found in a range: it passed all before `reached` (PG_INT64_MAX: to the end of the priority) but for the
// rows in its pieces.
struct Passed {
    int16 priority;
    std::size_t range; // the index in HeadView::returned, or k_frontier
    int64 reached;
};
struct Piece {
    std::size_t range;
    model::Stretch ids;
};
struct HeadFindings {
    std::size_t count;
    std::array<Passed, k_returned + k_priorities> passed;
    std::size_t pieces;
    std::array<Piece, k_pieces> piece; // by range and id
};

// The ids that were told in their order are above this one if any were since `then`.
constexpr int64 told_limit(int64 then, int64 now) noexcept { return then != 0 && now > then ? then + 1 : PG_INT64_MAX; }

// How far the scans of one transaction have come in a priority: what it has taken itself is behind them.
struct Progress {
    uint64 epoch; // what the look of the last of them showed: these, …
    uint64 generation;
    int64 told;
    int64 below; // no ready task has a smaller id, unless it was told since; 0: nothing is known
};

// What heads need of shared memory (shared.cpp makes it).
struct Heads;
int heads_locks();
Size heads_size();
void make_heads(Heads *made, LWLockPadded *locks, bool found);

// Whether there is one. look() makes one, which may evict another.
bool has_head(const HeadKey &key) noexcept;
// To be called before the snapshot is taken.
void look(const HeadKey &key, HeadView *view);
void report(const HeadKey &key, const HeadView &view, const HeadFindings &findings) noexcept;
// The transaction has committed: what it has taken can be passed.
void pass(const HeadKey &key, int16 priority, const Progress &progress) noexcept;

// Rows of one priority that have become ready by a commit, or that the derivation found: one, or several with ids from
// `low` to `high`.
void tell(const HeadKey &key, int16 priority, int64 low, int64 high) noexcept;

// The derivation of one head goes step by step: `claim` gives the next step to one caller per interval, `advance` says
// how far it got. The place of a step: from id `from` of `priority` on; below priority 0 the pass is complete.
struct Step {
    int16 priority;
    int64 from;
};
std::optional<Step> claim_step(const HeadKey &key, TimestampTz now, int64 interval);
void advance(const HeadKey &key, const Step &next) noexcept;

// Whose turn it is in a queue that is shared between keys (queue/leasable.h), and how many tasks are left of it. It
// lives with the head of the queue and is a hint as well: where it is lost the turns begin anew. Without preloading
// each backend has its own.
struct Turn {
    int32 left;
    int32 length; // of the key
    std::array<char, static_cast<std::size_t>(model::k_max_name_chars) * MAX_MULTIBYTE_CHAR_LEN> key;
};
// The turn as it is, with up to `most` taken off it; returns how many.
int32 take_turn(const HeadKey &queue, int32 most, Turn *turn);
// The turn goes from one key, whose is over, to the next. False: it has gone on meanwhile.
bool pass_turn(const HeadKey &queue, std::string_view from, std::string_view to, int32 left) noexcept;
// The key has no more tasks: what is left of its turn is lost.
void end_turn(const HeadKey &queue, std::string_view key) noexcept;

// For scylla.stat_heads(): the heads of this database, one per call, from place `*at` on. False: no more.
struct HeadStatus {
    HeadKey key;
    HeadView view;
};
bool next_head(int *at, HeadStatus *status);

} // namespace scylla::shmem
