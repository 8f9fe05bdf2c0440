// The ready tasks of a queue in the order of leasing, found with the heads (shmem/heads.h), and the steps by which
// heads are derived again from the table.
//
//   ReadyScan *scan = begin_ready(store, queue, aging, now, Use::heads);
//   while (next_ready(scan, &row))
//       if (<the row is gone: its deleter has committed>)
//           settle(scan, RowFate::gone);
//       else if (<this transaction has taken it>)
//           settle(scan, RowFate::taken);
//   end_ready(scan);
#pragma once

#include "shmem/heads.h"
#include "store/rows.h"

namespace scylla {

shmem::HeadId head_id(store::Store &store, int32 queue);

struct ReadyScan;

// heads: takes a fresh snapshot. no_heads, for lists: finds every row, also those that a head does not know yet.
enum class Use : bool { heads, no_heads };

// aging: the queue's, in points per second.
ReadyScan *begin_ready(store::Store &store, int32 queue, double aging, TimestampTz now, Use use);
// A row that the snapshot sees. Another transaction may have taken it since, or be taking it.
bool next_ready(ReadyScan *scan, store::ReadyRow *row);
// What became of the row that next_ready() returned last; without a call, the row is left.
enum class RowFate : std::uint8_t { left, taken, gone };
void settle(ReadyScan *scan, RowFate fate);
// Reports to the heads what was found.
void end_ready(ReadyScan *scan);

// For a call that has found nothing: a step of the derivation, unless one was made just now. True: it found tasks that
// the head did not know.
bool find_overlooked(store::Store &store, int32 queue);

// The earliest time at which one of the tasks that would be leased next (the first 100 of each priority) became ready.
// Nothing if there are none.
struct ReadySince {
    int32 queue;
    std::optional<TimestampTz> since;
};
// For many queues. Uses heads that exist; makes none, because that would evict heads of other queues.
void find_ready_since(store::Store &store, std::span<ReadySince> queues, TimestampTz now, Use use);

} // namespace scylla
