// How many tasks of a queue are waiting or ready, for queues with max_depth, and how many are running, for those with
// max_running: numbers that are never too small, so that a submit or a lease can be checked without counting.
//
//   depth = base + committed + in flight + prepared
//
// `committed` is a sum of the statistics (stats.h: waiting and ready, or running), which exist for every queue: a
// commit adds to it what it has changed, a moment after it can be seen. `base` makes it the number of tasks that are
// committed; it comes from a count of the tables. What transactions in progress have submitted, or leased, is *in
// flight*: reserve_room() adds it together with the check, under the entry's mutex, before there is a row. At the end
// of the transaction it goes: when it commits, in the same moment in which the tasks join the sum, and when it, or the
// savepoint, is rolled back, because the tasks will not come.
//
// Why no snapshot ever sees more tasks than the bound because of a submit or a lease: when it was let in, depth was at
// most the bound, with it. Each task that a snapshot can see, or that may commit, is in depth once:
//
//   * A task that was submitted (leased) is from before its row until its commit in flight, and from then on in the
//   sum.
//   * One that leaves (a lease or a cancel; the end of a lease) leaves the sum after its commit could be seen, so that
//   whoever gets its
//     room is seen later. The transaction that takes it away may use the room at once: both are seen, or rolled back,
//     together. (A savepoint that takes the leaving back takes back what came after it, too.)
//   * What comes back (a retry, an opened gate) is among those that wait or are ready after its commit; it is always
//   let in, and
//     max_depth does not hold for it. Nothing runs again without a lease.
//   * base: the count is compared with the sum as it was at the moment of its snapshot, by the same rule as Anchor in
//   stats.h:
//     nothing has been added since before the snapshot, and nobody whom it sees as ended has its callback still to
//     come. What is then neither visible nor in the sum is in flight. What the counting transaction has done itself is
//     visible to it and not yet in the sum, and is subtracted.
//
// An entry with something in flight is not evicted (stats.cpp), so nothing of that is forgotten. If it is evicted
// later, or after a crash or a restart, nothing is in flight, and `base` is counted anew. The first bound of a
// queue is pending until all have ended who might be bringing tasks without having taken room (queue/pending.h).
//
// Transactions that end without a callback make depth too large, never too small: at PREPARE all that has come stays
// (`prepared`), and what has left does not leave. A count that is done anew puts that right; it finds what is still
// prepared by looking at rows whose inserter is in progress and no backend's. Rows that come past the verbs (a restore,
// a subscription, changes by hand) are not in depth until then. It is done when the last one is long enough ago
// for the processor time that it took (model/pace.h); of running tasks also whenever there seems to be less room than
// is wanted and a transaction that was prepared may have ended since.
//
// Without an entry: open transactions may hold all entries, and each may hold only its part of them. A verb that gets
// none counts the tables under a heavyweight lock of the queue (store/locks.h), which it keeps to the end of its
// transaction. What it brings is in flight nowhere. So it makes the number of the queue unknown first
// (forget_depth()), and whoever counts to make it known needs a lock that conflicts: the number is either known and has
// all that is in flight, or transactions that are in no entry are open. One exception: a transaction that alone holds
// the lock may count; set_depth() then takes room for what it has brought.
#pragma once

#include "shmem/stats.h"

namespace scylla::shmem {

enum class Room : std::uint8_t {
    known,    // what there was
    unknown,  // count first
    no_entry, // open transactions hold all entries, or this one holds its part of them
};

// There is room while there are fewer than `bound`.
struct Wish {
    StatKey key;
    Bounded which;
    int64 bound;
    int64 wanted;     // whether there is more room does not matter
    bool has_counted; // this call need not count again
};

// Takes room for tasks that are to come: for all that are wanted or none, or for as many as there is room for. *taken:
// how many. What is not used is free again at the end of the (sub)transaction.
enum class Share : bool { some, all };
Room reserve_room(const Wish &wish, Share share, int64 *taken);
// How much there is, without taking any.
Room see_room(const Wish &wish, int64 *room);
// Gives back what was taken by this (sub)transaction and not used.
void release_room(const StatKey &key, Bounded which, int64 room);
// Makes the number unknown, so that it cannot be taken from until somebody has counted. False: open transactions have
// something in flight, so it stays.
bool forget_depth(const StatKey &key, Bounded which) noexcept;
// Tasks were refused because there was no room. Counted at once: their transaction will be rolled back.
void count_refused(const StatKey &key, int64 tasks) noexcept;

// The number is to be counted anew. Takes room for what this transaction has brought without any. False: there is no
// entry for that, as for Room::no_entry.
bool reset_depth(const StatKey &key, Bounded which);

// The steps of a count:
//
//   1. prepared = prepared_depth()
//   2. find the tasks of prepared transactions
//   3. changes = stat_changes()
//   4. a snapshot
//   5. look_at_depth(…, changes, &view): if the moment was missed again from 3
//   6. count what the snapshot sees, and add those of 2 that it does not
//   7. set_depth(view, …)
struct PreparedDepth {
    int64 tasks;
    uint64 doubts;
    uint64 version; // of the entry: whoever else sets the depth after that has taken these tasks over
};
PreparedDepth prepared_depth(const StatKey &key, Bounded which) noexcept;
struct DepthView {
    StatKey key;
    Bounded which;
    int64 sum; // committed
    int64 own; // this transaction's change of it, which the snapshot sees and the sum does not have
};
enum class Look : std::uint8_t {
    good,
    missed, // the snapshot is not of this moment
    evicted,
};
Look look_at_depth(const StatKey &key, Bounded which, Snapshot snapshot, uint64 changes, DepthView *view) noexcept;
// prepared: of step 1. any_prepared: step 2 has found rows that prepared transactions have brought or taken. `time`:
// the processor time that the count took. Does nothing if somebody else has set the depth since step 1, or if the entry
// was evicted.
void set_depth(const DepthView &view, int64 counted, const PreparedDepth &prepared, bool any_prepared,
               int64 time) noexcept;

} // namespace scylla::shmem
