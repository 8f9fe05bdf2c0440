// Two numbers: of waiting and ready tasks in queues with max_depth, and of running tasks in queues with max_running.
// Each is never too small, so a submit or a lease can be checked without counting.
//
//   depth = base + committed + in flight + prepared
//
// `committed` is a sum of the statistics (stats.h: waiting and ready, or running), which exist for every queue. A
// commit adds its changes to it, a moment after the commit becomes visible. `base` makes it the number of committed
// tasks; it comes from a count of the tables. What transactions in progress have submitted, or leased, is *in flight*:
// reserve_room() adds it together with the check, under the entry's mutex, before there is a row. It is subtracted at
// the end of the transaction: on commit, at the moment at which the tasks are added to the sum; on rollback, also of a
// savepoint, because the tasks will not exist.
//
// Why no snapshot ever sees more tasks than the bound because of a submit or a lease: when the call was admitted,
// depth, with its tasks, was at most the bound. Each task that a snapshot can see, or that may commit, is in depth
// once:
//
//   * A task that was submitted (leased) is in flight from before its row is written until its commit, and from then on
//     in the sum.
//   * A task that leaves (by a lease or a cancel; by the end of a lease) leaves the sum after its commit is visible. So
//     a task that gets its slot becomes visible later. The transaction that takes the task away may use the slot at
//     once: both changes become visible, or are rolled back, together. (Rolling back a savepoint in which the task left
//     also rolls back what came after it.)
//   * A task that comes back (a retry, an opened gate) counts as waiting or ready after its commit. It is always
//     admitted; max_depth does not apply to it. No task runs again without a lease.
//   * base: the count is compared with the sum at the moment of its snapshot, by the same rule as Anchor in stats.h. No
//     commit was added since before the snapshot, and no transaction that the snapshot sees as ended has yet to run its
//     callback. What is then neither visible nor in the sum is in flight. The changes of the counting transaction
//     itself are visible to it and not yet in the sum, so they are subtracted.
//
// An entry with something in flight is not evicted (stats.cpp), so nothing in flight is forgotten. If an entry is
// evicted later, or after a crash or a restart, nothing is in flight, and `base` is counted anew. The first bound of a
// queue is pending until all transactions have ended that may bring tasks without having reserved slots
// (queue/pending.h).
//
// Transactions that end without a callback make depth too large, never too small. At PREPARE, tasks that have come stay
// (`prepared`), and tasks that have left still count. A new count corrects that. It finds what is still prepared in
// rows whose inserter is in progress and belongs to no backend. Rows that come past the verbs (a restore, a
// subscription, changes by hand) are not in depth until then. A count is made when the last one is long enough ago for
// the CPU time that it took (model/pace.h); of running tasks also when there seem to be fewer free slots than wanted
// and a transaction that was prepared may have ended since.
//
// Without an entry: open transactions may hold all entries, and each transaction may hold a part of them only. A verb
// that gets no entry counts the tables under a heavyweight lock of the queue (store/locks.h), which it holds to the end
// of its transaction. Its tasks are then in flight nowhere. So it first makes the number of the queue unknown
// (forget_depth()), and a call that counts to make it known needs a lock that conflicts. So either the number is known
// and contains all that is in flight, or transactions that are in no entry are open. One exception: the only
// transaction that holds the lock may count; set_depth() then reserves slots for its tasks.
#pragma once

#include "shmem/stats.h"

namespace scylla::shmem {

enum class Room : std::uint8_t {
    known,    // what there was
    unknown,  // count first
    no_entry, // open transactions hold all entries, or this one holds its part of them
};

// There are free slots while there are fewer tasks than `bound`.
struct Wish {
    StatId id;
    Bounded which;
    int64 bound;
    int64 wanted;     // it does not matter whether there are more free slots
    bool has_counted; // this call need not count again
};

// Reserves slots for tasks: for all that are wanted or none, or for as many as are free. *taken: how many. Unused slots
// are released at the end of the (sub)transaction.
enum class Share : bool { some, all };
Room reserve_room(const Wish &wish, Share share, int64 *taken);
// How many slots are free, without reserving any.
Room see_room(const Wish &wish, int64 *room);
// Releases slots that this (sub)transaction has reserved and not used.
void release_room(const StatId &id, Bounded which, int64 room);
// Makes the number unknown: no slot can be reserved until a call has counted. False: open transactions have tasks in
// flight, so it stays known.
bool forget_depth(const StatId &id, Bounded which) noexcept;
// Tasks were refused because no slot was free. Counted at once: their transaction will be rolled back.
void count_refused(const StatId &id, int64 tasks) noexcept;

// The number has to be counted anew. Reserves slots for the tasks that this transaction has brought without any. False:
// there is no entry, as for Room::no_entry.
bool reset_depth(const StatId &id, Bounded which);

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
    uint64 version; // of the entry: a later one means that another call has set the depth, with these tasks
};
PreparedDepth prepared_depth(const StatId &id, Bounded which) noexcept;
struct DepthView {
    StatId id;
    Bounded which;
    int64 sum; // committed
    int64 own; // this transaction's change: the snapshot sees it, the sum does not contain it
};
enum class Look : std::uint8_t {
    good,
    missed, // the snapshot is not of this moment
    evicted,
};
Look look_at_depth(const StatId &id, Bounded which, Snapshot snapshot, uint64 changes, DepthView *view) noexcept;
// prepared: from step 1. any_prepared: step 2 has found rows that prepared transactions have inserted or deleted.
// `time`: the CPU time of the count. Does nothing if another call has set the depth since step 1, or if the entry was
// evicted.
void set_depth(const DepthView &view, int64 counted, const PreparedDepth &prepared, bool any_prepared,
               int64 time) noexcept;

} // namespace scylla::shmem
