// Gates: what happens when something that tasks wait for is done.
//
// A gate is a row of task_gate, written with its task or when the task is deferred, and never changed. It is open when
// its provider is done: a task that is completed (or has failed, for a gate that ignores that), a plan that is opened.
// A task waits while a gate of it is closed; whoever ends the last provider makes it ready in the same transaction, but
// for the dependants beyond the bound of a call, which the monitor makes ready right after the commit. A plan is
// finished, in the same way, by whoever ends the last of its live tasks.
//
// Nobody waits for anybody and nothing is locked, so nothing can deadlock, and a join is no hot row. Instead each side
// first writes, then looks, and looks at what is not committed yet, too (store/dirty.h):
//
//   * Who ends a provider inserts its outcome, then walks through the gates of the provider, and for each dependant
//     looks at the outcomes of its other providers.
//   * Who submits a dependant inserts its gates, then looks at the outcomes of its providers.
//
// Of two that are at it at the same time at least one sees the other's row. What it sees may yet be rolled back: then
// the dependant is in doubt, and is noted. At the commit it is told to the monitor, which decides when those
// transactions have ended (note_recheck() in shmem/pending.h). As every one of them has noted it, the last to commit
// tells it after all others have ended; so the monitor finds it decided at once. What shared memory has lost (a crash,
// a prepared transaction, no monitor) is found by walking through all tasks that wait for gates: when a monitor starts,
// now and then after that, and in maintain().
//
// Where several providers of a dependant are open, the look goes on from the gate of the one that has just ended, and
// around, to the first that is closed. Ends that come in the order of the gates, or at random, find it after a few
// steps.
//
// A gate may have a deadline. It has timed out if its provider has not ended by then, which is judged like everything
// else about a gate: nothing is stored. The row of the waiting task has the first of these times as its due time, so
// the monitor finds it by the index of due times (expire_gates()).
//
// The value of a gate is the result in the outcome of its provider, which stays as long as a live task depends on it;
// it is copied once, into args, for the worker that leases the task.
#pragma once

#include "store/dirty.h"
#include "store/plans.h"
#include "task/moves.h"
#include "task/reasons.h"

namespace scylla {

// Acts on what the tasks that ended in this store (make_final()) and the plans that were opened mean to others. Verbs
// call it when their rows are in the tables. True: it has changed something.
//
// Where the database has a monitor, one call looks at a bounded number of dependants, and leaves the others to it:
// whoever may depend on a task could otherwise make its end as expensive as he likes.
bool settle_gates(store::Store &store, TimestampTz now);
// Without a bound, for providers all of whose dependants are the caller's own: a plan that is opened.
bool settle_all_gates(store::Store &store, TimestampTz now);
// This process is the monitor: from now on it does itself, in portions, what settle_gates() leaves.
void keep_backlog();

// Where a task that has just got its gates, in this transaction, begins: behind them, ready, or ended if a provider has
// failed. Raises P0002 if a provider is just being purged. The carry of one that is not new tells its attempts.
Task place_gated(store::Store &store, store::Dirty *dirty, const store::SpecRow &spec, const store::Carry &carry,
                 TimestampTz now);

// For a task that waits for gates of which one has timed out: decides what that means, or waits for the next. False:
// somebody is just changing it.
bool expire_gates(store::Store &store, const store::WaitingRow &row, TimestampTz now);

// Looks at a task, or another provider of gates, that was in doubt. True: it is not any more. One that has ended joins
// store.ended.
bool recheck(store::Store &store, int64 id, TimestampTz now);

// When the library is loaded: the walk through the tasks that wait for gates.
void register_gate_duty();

// For what makes plans: called in the transaction that ends tasks of one of its plans, with those tasks, before anybody
// who depends on them is looked at.
using CompletionHook = void (*)(std::span<const store::Ended> tasks);
void register_completion(store::PlanMaker maker, CompletionHook hook);

// The same for tasks of their plans that have got what they need of pools (pool/pass.h): in the transaction that places
// them.
struct PlacedTask {
    int64 id;
    int64 plan;
};
using PlacementHook = void (*)(std::span<const PlacedTask> tasks);
void register_placement(store::PlanMaker maker, PlacementHook hook);
void tell_placed(store::Store &store, std::span<const PlacedTask> tasks);

// Whether a live task depends on this one, or somebody is just submitting one that does. outside: not counting those of
// that queue.
bool has_live_dependants(store::Store &store, int64 id, std::optional<int32> outside = std::nullopt);
// For a task that is removed; or only what a caller has named, for one that gets others. Returns how many.
enum class Gates : bool { all, of_waits };
int32 remove_gates(store::Store &store, const store::SpecRow &spec, Gates which = Gates::all);
// What a task that has ended means to its plan. One that was cancelled by `skip` ended as the plan wanted.
store::Toll toll_of(const store::Ending &ending);
// For a task that is removed before its plan is finished: how it ended is remembered with the plan; one that is live
// counts as cancelled. settle_gates() is to follow.
void leave_plan(store::Store &store, const store::SpecRow &spec);

// ---- providers that are no tasks -----------------------------------------------------------------------------------

enum class Verdict : std::uint8_t { closed, in_doubt, open, failed, timed_out };

// A kind of gates whose providers are no tasks. Their room registers it when the library is loaded.
struct GateProviders {
    store::GateKind kind;
    // How the provider of a gate stands.
    Verdict (*judge)(store::Dirty *dirty, const store::GateRow &gate);
    // Whether it is the id of such a provider.
    bool (*has)(store::Dirty *dirty, int64 id);
    // What a gate gives to its task. Null pointer: nothing.
    Jsonb *(*value)(store::Store &store, const store::GateRow &gate) = nullptr;
    // The error of a provider that has failed. Null pointer: it cannot fail.
    Jsonb *(*error)(store::Dirty *dirty, const store::GateRow &gate) = nullptr;
    // What a closed gate waits for, as the current user may see it.
    Reason (*describe)(store::Store &store, const store::GateRow &gate);
    // Its name in a picture of a plan, as the current user may see it. Null pointer: pictures show it otherwise.
    const char *(*label)(store::Store &store, const store::GateRow &gate) = nullptr;
    // Whether it is the id of such a provider that has ended, for those with any number of dependants of others. Null
    // pointer: none has.
    bool (*has_ended)(store::Dirty *dirty, int64 id) = nullptr;
    // A gate has been removed, with its task or for others of the task. Null pointer: that means nothing.
    void (*leave)(store::Store &store, store::Dirty *dirty, int64 provider, Gates which) = nullptr;
    // For those that have tasks themselves: looks at a provider, `ended.plan`, whose task `ended.id` (0: any) has
    // ended.
    store::Sight (*consider)(store::Store &store, store::Dirty *dirty, const store::Ended &ended, TimestampTz now,
                             bool *changed);
};
void register_gates(const GateProviders &of);
// What a gate gives to its task; null: nothing (yet).
Jsonb *value_of(store::Store &store, const store::GateRow &gate);

// How the provider of a gate stands, how the gate does, and what it waits for.
Verdict judge_provider(store::Dirty *dirty, const store::GateRow &gate);
Verdict judge_gate(store::Dirty *dirty, const store::GateRow &gate, TimestampTz now);
Reason describe_provider(store::Store &store, const store::GateRow &gate);
// Its name in a picture; null: it has none of its own.
const char *label_provider(store::Store &store, const store::GateRow &gate);
// At most so much of a JSON value as there is room for in a picture.
const char *label_json(Jsonb *value);

// Why a waiting task waits: its gates that are not open, and its time (task/explain.cpp).
void explain_waiting(store::Store &store, const store::SpecRow &spec, const store::WaitingRow &waiting, TimestampTz now,
                     const ReasonSink &sink);

// What it waits for that is neither a task nor a plan, for pictures: the id of the provider, 0 for a time, and a label.
struct LabelSink {
    void (*put)(void *to, int64 provider, const char *label);
    void *to;
};
void label_waits(store::Store &store, const store::SpecRow &spec, const store::WaitingRow &waiting, TimestampTz now,
                 const LabelSink &sink);

// Where this backend last found a closed gate of a task, or a live task of a provider.
void remember_closed(store::Store &store, int64 id, const store::GateRow &gate);
const store::GateRow *recall_closed(store::Store &store, int64 id);

} // namespace scylla
