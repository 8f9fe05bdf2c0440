// Gates: what happens when the provider that tasks wait for is done.
//
// A gate is a row of task_gate, written with its task or when the task is deferred, and never changed. It is open when
// its provider is done: a task that is completed (or has failed, for a gate that ignores that), a plan that is opened.
// A task waits while one of its gates is closed. The call that ends the last provider makes the task ready in the same
// transaction; the monitor does so right after the commit for dependants beyond the bound of a call. A plan is
// finished, in the same way, by the call that ends the last of its live tasks.
//
// No call waits for another and nothing is locked, so nothing can deadlock, and a join is no hot row. Instead each side
// first writes, then looks, also at what is not committed yet (store/dirty.h):
//
//   * The call that ends a provider inserts its outcome, then reads the gates of the provider, and for each dependant
//     the outcomes of its other providers.
//   * The call that submits a dependant inserts its gates, then reads the outcomes of its providers.
//
// If both run at the same time, at least one sees the other's row. The transaction that it sees may yet roll back: then
// the dependant is in doubt, and is noted. The commit passes the note to the monitor, which decides when those
// transactions have ended (note_recheck() in shmem/pending.h). Each of the transactions has noted it. The last to
// commit passes it on after all others have ended, so the monitor can decide at once. Notes that shared memory has lost
// (a crash, a prepared transaction, no monitor) are made up for by a walk through all tasks that wait for gates: when a
// monitor starts, now and then after that, and in maintain().
//
// If several providers of a dependant are open, the search for a closed gate begins at the gate whose provider has just
// ended, and wraps around. If providers end in the order of the gates, or at random, it needs a few steps.
//
// A gate may have a deadline. It has timed out if its provider has not ended by then; like everything else about a
// gate, this is computed and not stored. The row of the waiting task has the first deadline as its due time, so the
// monitor finds it by the index of due times (expire_gates()).
//
// The value of a gate is the result in the outcome of its provider, which stays as long as a live task depends on it.
// It is copied once, into args, for the worker that leases the task.
#pragma once

#include "store/dirty.h"
#include "store/plans.h"
#include "task/moves.h"
#include "task/reasons.h"

namespace scylla {

// Acts on the dependants of tasks that ended in this store (make_final()) and of plans that were opened. Verbs call it
// when their rows are in the tables. True: it has changed something.
//
// If the database has a monitor, one call looks at a bounded number of dependants, and leaves the others to the
// monitor. Otherwise a role that may depend on a task could make the end of the task arbitrarily expensive.
bool settle_gates(store::Store &store, TimestampTz now);
// Without a bound, for providers all of whose dependants are the caller's own: a plan that is opened.
bool settle_all_gates(store::Store &store, TimestampTz now);
// This process is the monitor: from now on it acts, in portions, on the dependants that settle_gates() leaves.
void keep_backlog();

// Puts a task that got its gates in this transaction into its first state: waiting, ready, or ended if a provider has
// failed. Raises P0002 if a provider is being purged. carry: the attempts and history of a task that is not new.
Task place_gated(store::Store &store, store::Dirty *dirty, const store::SpecRow &spec, const store::Carry &carry,
                 TimestampTz now);

// For a task of which a gate has timed out: ends it, opens the gate, or waits for the next deadline. False: another
// transaction is changing the task.
bool expire_gates(store::Store &store, const store::WaitingRow &row, TimestampTz now);

// Looks at a task, or another provider of gates, that was in doubt. True: it is no longer in doubt. If it has ended, it
// is added to store.ended.
bool recheck(store::Store &store, int64 id, TimestampTz now);

// When the library is loaded: the walk through the tasks that wait for gates.
void register_gate_duty();

// Whether a live task depends on this one, or another transaction is submitting one that does.
bool has_live_dependants(store::Store &store, int64 id);
// Removes the gates of a task that is removed; or only the gates that a caller has named, for a task that gets new
// ones. Returns how many.
enum class Gates : bool { all, of_waits };
int32 remove_gates(store::Store &store, const store::SpecRow &spec, Gates which = Gates::all);
// What the end of a task means to its plan. The end of a task that was cancelled by `skip` means nothing.
store::Toll toll_of(const store::Ending &ending);
// For a task that is removed before its plan is finished: the plan remembers how it ended; a live task counts as
// cancelled. The caller must call settle_gates() afterwards.
void leave_plan(store::Store &store, const store::SpecRow &spec);

// ---- providers that are no tasks -----------------------------------------------------------------------------------

enum class Verdict : std::uint8_t { closed, in_doubt, open, failed, timed_out };

// A kind of gates whose providers are not tasks. Its room registers it when the library is loaded.
struct GateProviders {
    store::GateKind kind;
    // The verdict on the provider of a gate.
    Verdict (*judge)(store::Dirty *dirty, const store::GateRow &gate);
    // Whether the id belongs to such a provider.
    bool (*has)(store::Dirty *dirty, int64 id);
    // What a gate gives to its task. Null pointer: nothing.
    Jsonb *(*value)(store::Store &store, const store::GateRow &gate) = nullptr;
    // The error of a provider that has failed. Null pointer: it cannot fail.
    Jsonb *(*error)(store::Dirty *dirty, const store::GateRow &gate) = nullptr;
    // What a closed gate waits for, as the current user may see it.
    Reason (*describe)(store::Store &store, const store::GateRow &gate);
    // Its name in a picture of a plan, as the current user may see it. Null pointer: pictures show such providers in
    // another way.
    const char *(*label)(store::Store &store, const store::GateRow &gate) = nullptr;
    // Whether the id belongs to such a provider that has ended, for kinds of which others may have any number of
    // dependants. Null pointer: none has.
    bool (*has_ended)(store::Dirty *dirty, int64 id) = nullptr;
    // A gate has been removed, with its task or for new gates of the task. Null pointer: nothing has to be done.
    void (*leave)(store::Store &store, store::Dirty *dirty, int64 provider, Gates which) = nullptr;
    // For providers that have tasks themselves: looks at a provider, `ended.plan`, whose task `ended.id` (0: any) has
    // ended.
    store::Sight (*consider)(store::Store &store, store::Dirty *dirty, const store::Ended &ended, TimestampTz now,
                             bool *changed);
};
void register_gates(const GateProviders &of);
// What a gate gives to its task; null: nothing (yet).
Jsonb *value_of(store::Store &store, const store::GateRow &gate);

// The verdict on the provider of a gate, the verdict on the gate, and what it waits for.
Verdict judge_provider(store::Dirty *dirty, const store::GateRow &gate);
Verdict judge_gate(store::Dirty *dirty, const store::GateRow &gate, TimestampTz now);
Reason describe_provider(store::Store &store, const store::GateRow &gate);
// Its name in a picture; null: it has none of its own.
const char *label_provider(store::Store &store, const store::GateRow &gate);
// A JSON value, cut to the length that fits into a picture.
const char *label_json(Jsonb *value);

// Why a waiting task waits: its gates that are not open, and its time (task/explain.cpp).
void explain_waiting(store::Store &store, const store::SpecRow &spec, const store::WaitingRow &waiting, TimestampTz now,
                     const ReasonSink &sink);

// For pictures: what a task waits for that is neither a task nor a plan. The id of the provider, 0 for a time, and a
// label.
struct LabelSink {
    void (*put)(void *to, int64 provider, const char *label);
    void *to;
};
void label_waits(store::Store &store, const store::SpecRow &spec, const store::WaitingRow &waiting, TimestampTz now,
                 const LabelSink &sink);

// Where this backend last found a closed gate of a task, or a live task of a provider.
void remember_closed(store::Store &store, int64 id, const store::GateRow &gate);
const store::GateRow *recall_closed(store::Store &store, int64 id);
// The gate at that place as it is now, if it still is for this provider. A task that is deferred gets new gates.
std::optional<store::GateRow> find_again(store::Dirty *dirty, const store::GateRow &gate);

} // namespace scylla
