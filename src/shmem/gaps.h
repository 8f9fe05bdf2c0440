// Gaps: ranges of ids in which a key of a queue has only dead entries in an index.
//
// Two indexes are read key by key: that of ready tasks, in queues where tasks have keys, and that of permits. Each task
// that is leased, or ends, leaves a dead entry there, which stays while a long transaction holds back vacuum. The heads
// (heads.h) belong to queues and priorities, and know nothing of keys. So a scan that has walked over many dead entries
// of a key remembers where they are, and the next scan skips them.
//
// Gaps are kept in a table of fixed size, by queue and key. A forgotten gap costs one more walk. A gap that is there
// must be right:
//
//   (G)  no row that is committed and told is in a gap of its key and priority.
//
// *Ready tasks.* Told means the same as for heads: the commit callback of the transaction that inserted the row has run
// (key_notes.h).
//
//   * The callback removes what has become ready from the gaps of its key.
//   * A scan adds a gap where it has found dead entries only, without the ids that were told since it read the clock.
//     It reads the clock before it takes its snapshot. Rows that were told before that are no problem: the snapshot
//     shows them if they still exist. Rows that are not told yet are none either: the callback will remove them from
//     the gap. For this, each key remembers its last tells, by the clock. If more were told than it remembers, or its
//     slot is younger than the scan, no gap is added.
//   * A row that the scan's own transaction has taken looks dead to it, but comes back on rollback. So the scan adds no
//     gap for a key of which its transaction has taken a task. Rows that others are taking are still visible.
//   * If a dead entry is an earlier version of a row that the scan has reached, the gap ends before it. A scan begins
//     behind the row that it returned last.
//   * A transaction's own tasks are not told before it commits. Its own scans do not skip them.
//
// *Permits.* A transaction that counts the permits of a key holds the key's lock (queue/limits.h), and only the holder
// adds permits. So two rules suffice. A lease is removed from the gaps before its row is written, whether or not its
// transaction commits. And the gaps that a count adds contain no lease that it has counted, committed or not, and none
// that its own transaction has ended, because a rollback would bring that one back.
//
// COMMIT PREPARED, logical apply, COPY and changes by hand tell nothing. So gaps expire, later the more dead entries
// there are to walk over again. A row that came in such a way is found after that time. After a crash, or in another
// file of the table, there are no gaps.
#pragma once

#include "model/gaps.h"
#include "shmem/heads.h"

namespace scylla::shmem {

inline constexpr std::size_t k_gaps = 16;  // of a key
inline constexpr int64 k_worth_a_gap = 16; // dead entries; fewer are walked over
using KeyGaps = model::Gaps<k_gaps>;
inline constexpr int16 k_permits = 0; // permits have no priorities: in the gaps of keys they have this one

// One key of a queue, in one index. Long keys have no gaps.
struct GapKey {
    HeadId queue; // with the file of the table in question
    std::string_view key;
};
uint64 gap_hash(std::string_view key) noexcept;

// Read it before the snapshot is taken.
uint64 gap_clock() noexcept;

std::optional<model::Gap> find_gap(const GapKey &key, int16 priority, int64 id, TimestampTz now) noexcept;
// Ready tasks: a snapshot taken after `clock` found only dead entries there, so many.
void add_gap(const GapKey &key, const model::Gap &gap, int64 dead, uint64 clock, TimestampTz now) noexcept;
// There are, or will be, rows with ids from `low` to `high`. hash: gap_hash() of the key.
void tell_gaps(const HeadId &queue, uint64 hash, int16 priority, int64 low, int64 high) noexcept;
// Of all keys of a queue; queue 0: of all queues.
void forget_gaps(const HeadId &queue) noexcept;

// Permits: all gaps of a key. Read and replace them with its lock held. `dead`: entries that were walked over to find
// them.
KeyGaps gaps_of(const GapKey &key, TimestampTz now) noexcept;
void replace_gaps(const GapKey &key, const KeyGaps &gaps, int64 dead, TimestampTz now) noexcept;

// Their shared memory (shared.cpp makes it).
struct GapTable;
inline constexpr int k_gap_locks = 64;
Size gaps_size();
void make_gaps(GapTable *made, LWLockPadded *locks, bool found);

} // namespace scylla::shmem
