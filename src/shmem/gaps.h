// Gaps: stretches of ids in which a key of a queue has nothing but dead entries in an index.
//
// Two indexes are gone through key by key: that of the ready tasks of queues that go by keys, and that of permits. Each
// task that is leased, or ends, leaves a dead entry there, which stays while a long transaction holds back vacuum. The
// heads (heads.h) are of queues and priorities and know nothing of keys. So whoever has walked over many dead entries
// of a key leaves word of where they are, and the next one jumps over them.
//
// Gaps are a table of bounded size, by queue and key. What is forgotten is walked over once more. What it says must be
// true:
//
//   (G)  of the rows that are committed and told, none is in a gap of its key and priority.
//
// *Ready tasks.* "Told" means what it means for heads: the commit callback of the transaction that brought the row has
// run (key_notes.h).
//
//   * The callback takes what has become ready out of the gaps of its key.
//   * A scan adds a gap where it has found dead entries only, and leaves out what was told since it read the clock,
//   which it does
//     *before* it takes its snapshot. Whatever was told before that, or is not told yet, is right as it is: the one its
//     snapshot shows if it is still there, the other will be taken out. For that each key remembers its last tells, by
//     the clock; if it has been told more often, or its place is younger than the look, nothing is added.
//   * What a transaction has taken itself looks dead to it, but comes back if it rolls back. So it adds nothing for
//   keys of which it
//     has taken a task. What others are just taking is still visible.
//   * Where a dead entry is an earlier version of a row that the scan has come to, the gap ends before it. Scans begin
//   behind the
//     row that they gave last.
//   * A transaction's own tasks are told to nobody before it commits; its own scans do not jump over these.
//
// *Permits.* Whoever counts the permits of a key holds the key's lock (queue/limits.h), and only who holds it adds any.
// So it is enough that a lease is taken out of the gaps before its row is written, whatever becomes of the transaction
// then, and that the gaps which a count leaves behind contain neither a lease that it has counted, committed or not,
// nor one that its own transaction has ended and would bring back by rolling back.
//
// COMMIT PREPARED, logical apply, COPY and changes by hand tell nobody. So gaps are forgotten after a while, the longer
// the more dead entries there are to walk over again: what came by such a way is late by that, but not lost. After a
// crash, or in another file of the table, there are none.
#pragma once

#include "model/gaps.h"
#include "shmem/heads.h"

namespace scylla::shmem {

inline constexpr std::size_t k_gaps = 16;  // of a key
inline constexpr int64 k_worth_a_gap = 16; // dead entries; fewer are walked over
using KeyGaps = model::Gaps<k_gaps>;
inline constexpr int16 k_permits = 0; // permits have no priorities: in the gaps of keys it is this one

// An order of ids: that of a table's index, of one key of a queue. Of long keys nothing is remembered.
struct GapKey {
    HeadKey queue; // with the file of the table in question
    std::string_view key;
};
uint64 gap_hash(std::string_view key) noexcept;

// To be read before the snapshot.
uint64 gap_clock() noexcept;

std::optional<model::Gap> find_gap(const GapKey &key, int16 priority, int64 id, TimestampTz now) noexcept;
// Ready tasks: nothing but so many dead entries was found there, by a snapshot taken after `clock`.
void add_gap(const GapKey &key, const model::Gap &gap, int64 dead, uint64 clock, TimestampTz now) noexcept;
// There is, or will be, something with ids from `low` to `high`. The key by its gap_hash().
void tell_gaps(const HeadKey &queue, uint64 hash, int16 priority, int64 low, int64 high) noexcept;
// Of all keys of a queue; queue 0: of all queues.
void forget_gaps(const HeadKey &queue) noexcept;

// Permits: all gaps of a key, to be read and replaced with its lock held. `dead`: entries that were walked over to find
// them.
KeyGaps gaps_of(const GapKey &key, TimestampTz now) noexcept;
void replace_gaps(const GapKey &key, const KeyGaps &gaps, int64 dead, TimestampTz now) noexcept;

// What they need of shared memory (shared.cpp makes it).
struct GapTable;
inline constexpr int k_gap_locks = 64;
Size gaps_size();
void make_gaps(GapTable *made, LWLockPadded *locks, bool found);

} // namespace scylla::shmem
