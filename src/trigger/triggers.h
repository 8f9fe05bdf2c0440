// Triggers: sets of signals that start tasks, plans and workflows.
//
// The sender only stores the number of its signal (signal_unseen), if any trigger uses its name. The monitor, or
// maintain(), does the rest: so triggers of others neither slow a sender nor make it fail.
//
//   * A signal *arrives* at each trigger that it matches. The transaction that removes it from signal_unseen writes the
//     arrivals, so it arrives once. An arrival is fresh until it has been matched with others.
//   * Sets are *joined* under the lock on the trigger's row, in one transaction with the action. So a signal is used
//     once, and a set is acted on exactly once. A process that finds the row locked leaves the fresh arrivals: the next
//     turn sees them when they are committed. So no pair is lost, however many sessions work on a trigger.
//   * An action that fails is undone in its subtransaction. Its set is kept and retried at growing intervals.
//
// SQL functions carry out the action as the role that created the trigger, with the present rights of that role.
#pragma once

#include "task/duty.h"

namespace scylla::trigger {

struct TriggerRequest {
    const text *name;
    Jsonb *signals;
    Jsonb *action;
    Datum condition;           // a jsonpath; 0: none
    Interval *grace = nullptr; // how old a set may be; null: no bound
};
// 22023, 42501, 42710, and what the action raises.
void create(const TriggerRequest &request);

// 42704 if there is no such trigger of the current user; the other functions too.
void drop(const text *name);
void pause(const text *name);
void resume(const text *name);
// One signal, or all. Returns how many, with the sets for which the action has failed.
int64 clear(const text *name, std::optional<int64> seq);

// ---- what other rooms have triggers do -----------------------------------------------------------------------------

struct Firing {
    const text *trigger;
    Jsonb *action;
    Jsonb *signals; // an array of values as those of gates
    std::span<const int64> seqs;
};
// The action of such a trigger is an object with a member of this name, and without "queue".
struct Maker {
    const char *member;
    // With this member, too, the trigger belongs to its maker: create_trigger() refuses it, and drop_trigger() does not
    // remove it.
    const char *own_member;
    // Raises an error unless create_trigger() may store the action. 22023.
    void (*check)(Jsonb *action);
    // Carries out the action as the current role, which is the owner of the trigger. False: there is nothing to do for
    // this set.
    bool (*make)(const Firing &firing);
};
void register_maker(const Maker &maker);
// Null: the trigger submits tasks.
const Maker *find_maker(Jsonb *action);
bool belongs_to_maker(Jsonb *action);

// For a maker, with the rights of the owner. An existing trigger stays as it is. 22023, 42501.
void put_made(const TriggerRequest &request, Oid owner);
void remove_made(const text *name);

// ---- what create() and the turns share -----------------------------------------------------------------------------

// Reads the array of create_trigger(), of at most so many signals. 22023.
struct Input {
    const text *signal;
    Jsonb *match;
    ArrayType *joined_by; // text[]
};
std::span<const Input> read_inputs(Jsonb *signals, std::size_t most);

// What is stored of an action: the task, the array of a plan's tasks, or the object for a maker. 22023.
Jsonb *read_action(Jsonb *action);

struct Action {
    const text *trigger;
    Jsonb *tasks;
    int64 seq; // of the latest signal; 0: of a rehearsal
    Jsonb *wait_for;
};
void carry_out(Oid role, const Action &action);

// When the library is loaded.
void register_trigger_duty();

} // namespace scylla::trigger
