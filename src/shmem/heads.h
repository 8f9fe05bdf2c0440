// Heads: for each queue and priority, where the ready tasks begin.
//
// Every leased task leaves a dead entry at the front of the index of ready tasks. Vacuum removes these entries, unless
// a long transaction holds vacuum back. Then a lease that starts at the front of the index walks over all of them, and
// the queue collapses. With a head, the lease starts at the first live entry.
//
// The head of a priority is a frontier and a set of stretches below it. A stretch is a range of ids of tasks that came
// back (retries, yields, expired leases and opened gates have old ids), or that a long transaction has taken:
//
//   (I)  a ready row that is committed and told has an id at or above the frontier, or in one of the stretches.
//
// A row is told when the commit callback of the transaction that inserted it has run. What changes a head:
//
//   * The callback tells every row that the transaction made ready: ids below the frontier join the stretches, and the
//     priority is marked as not empty. If there are too many stretches, the two neighbours with the narrowest gap
//     become one, because scans then walk over the dead entries in that gap again. The frontier counts as the last
//     neighbour.
//   * A scan reads the stretches and the range above the frontier. Afterwards it may remove what it has passed: the
//     beginning of a range, up to the first row that it could not pass. It passes only what no later snapshot can see:
//     rows that its own snapshot did not see, and rows whose deleter has committed. It does not pass rows that another
//     transaction is deleting, nor rows that its own transaction has deleted: a rollback brings them back. If many dead
//     entries follow such a row, the row becomes a stretch of its own, so that other scans need not walk over these
//     entries. When the transaction commits, it removes all that its scans have passed or taken.
//   * A row that commits between the snapshot and the removal must not be lost. So the scan reads the head before it
//     takes its snapshot, and removes nothing at or above the lowest id that was told since then. Ids that are told in
//     order are above all that were told before (HeadView::told). Of ids told out of order, each range keeps the lowest
//     (Stretch::fresh, Head::fresh), by generation. A generation begins when a scan that has read the head in the
//     present one ends. A scan that ends more than one generation later removes nothing; the scans that overtook it
//     have done so. A row that is not told yet will be compared with the frontier when it is told.
//   * A range may have changed since the scan read it. The scan removes what it has passed only from a range that
//     begins at or above the beginning that it saw: what was added to the range since then lies below, or has just been
//     told.
//
// So (I) holds for every transaction that has a callback. COMMIT PREPARED, logical apply, COPY and changes by hand have
// none. For these, heads are derived again from the table, in small steps all the time (queue/ready_scan.cpp): such a
// row is found one pass of the derivation later. Heads begin with a frontier of 0 and every priority marked: after a
// crash, or when another queue gets an evicted slot, the first scan finds everything. A standby replays without
// callbacks, so nothing is concluded there, and a promoted server begins the same way. The id of a head contains the
// file of the table, so TRUNCATE, VACUUM FULL and a new extension begin with a new head.
//
// A transaction's own rows are not told before it commits. Its own scans find them by its notes (shmem/pending.h).
#pragma once

#include "model/bounds.h"
#include "model/stretches.h"
#include "shmem/shared.h"

namespace scylla::shmem {

inline constexpr std::size_t k_priorities = model::k_max_priority + 1;
inline constexpr std::size_t k_returned = 128; // stretches kept per queue
inline constexpr std::size_t k_pieces = 16;    // stretches that one scan may leave behind

struct HeadId {
    Oid database;
    Oid file; // of the table of ready tasks
    int32 queue;

    bool operator==(const HeadId &) const = default;
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

// What a scan found in a range: it passed all rows before `reached` (PG_INT64_MAX: to the end of the priority) except
// those in its pieces.
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

// Ids that were told in order since `then` are at or above this one; PG_INT64_MAX: none were.
constexpr int64 told_limit(int64 then, int64 now) noexcept { return then != 0 && now > then ? then + 1 : PG_INT64_MAX; }

// How far the scans of one transaction have come in a priority: they have passed what it has taken itself.
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

// Whether the queue has a head. look() makes one, which may evict another.
bool has_head(const HeadId &id) noexcept;
// To be called before the snapshot is taken.
void look(const HeadId &id, HeadView *view);
void report(const HeadId &id, const HeadView &view, const HeadFindings &findings) noexcept;
// The transaction has committed: what it has taken can be passed.
void pass(const HeadId &id, int16 priority, const Progress &progress) noexcept;

// Rows of one priority that have become ready by a commit, or that the derivation found: one, or several with ids from
// `low` to `high`.
void tell(const HeadId &id, int16 priority, int64 low, int64 high) noexcept;

// A head is derived in steps: claim_step() gives the next step to one caller per interval, advance() stores how far it
// got. A step begins at id `from` of `priority`; below priority 0 the pass is complete.
struct Step {
    int16 priority;
    int64 from;
};
std::optional<Step> claim_step(const HeadId &id, TimestampTz now, int64 interval);
void advance(const HeadId &id, const Step &next) noexcept;

// Which key has its turn in a queue with key_weights (queue/leasable.h), and how many tasks are left of the turn. It is
// stored with the head of the queue, and is a hint too: if it is lost, the turns begin anew. Without preloading each
// backend has its own.
struct KeyTurn {
    int32 left;
    int32 length; // of the key
    std::array<char, static_cast<std::size_t>(model::k_max_name_chars) * MAX_MULTIBYTE_CHAR_LEN> key;
};
// Takes up to `most` tasks off the present turn, and returns how many.
int32 take_turn(const HeadId &queue, int32 most, KeyTurn *turn);
// Passes the turn from a key to the next one. False: another process has passed it meanwhile.
bool pass_turn(const HeadId &queue, std::string_view from, std::string_view to, int32 left) noexcept;
// The key has no more tasks: the rest of its turn is lost.
void end_turn(const HeadId &queue, std::string_view key) noexcept;

// For scylla.stat_heads(): the heads of this database, one per call, from slot `*at` on. False: no more.
struct HeadStatus {
    HeadId id;
    HeadView view;
};
bool next_head(int *at, HeadStatus *status);

} // namespace scylla::shmem
