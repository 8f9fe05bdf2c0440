// What the engine reads and writes for its turns.
#pragma once

#include "model/workflow/engine.h"
#include "pg/growing.h"
#include "store/rows.h"
#include "workflow/definition_cache.h"
#include "workflow/runs.h"

namespace scylla::workflow {

// A run that the engine has locked, with the input of its turn.
struct Root {
    int64 id;
    int64 plan;                   // of this run
    std::span<const int64> plans; // of this run and those before it, except that of the first, which is `id`
    VersionName version;
    int64 instance;
    int32 run;
    const char *owner; // a role
    bool is_next;      // it is on the agenda because it may begin, or because its end lets others begin
    bool begins;       // in this turn
    bool may_be_held;  // there are holds for the workflow
    bool records;      // the workflow records events
    Parent parent;
    int64 backfill;           // 0: none
    bool late;                // its tasks have the lowest priority
    const text *tree_permits; // the pool of which all steps of its tree need a permit; null: none
    model::workflow::Permits permits;
    std::string_view initiator;
    std::string_view properties;
    std::string_view restart;     // empty: it is the first run of the instance
    model::workflow::Scope scope; // the run itself, without its steps
    Growing<model::workflow::Event> events{};
    std::span<const model::workflow::Hold> holds{};
    Growing<int64> actions{};                 // that are among the events
    Growing<model::workflow::Scope> scopes{}; // the run itself first
};

// A row of a step, with columns that the model does not know.
struct StoredStep {
    int64 scope;
    int64 task; // 0: none
    model::workflow::Step step;
};

// Locks runs that are on the agenda, or due at that time, and that no other transaction holds: those that have waited
// the longest. Returned in the order of their ids.
std::span<Root> take_runs(TimestampTz now, int64 most);
// Takes the first rows of the agenda for these runs, and what is due, as events of the runs. Returns how many.
struct Taken {
    std::size_t rows;
    std::span<const Item> left;     // subworkflows to start, signals to send or wait for, backfills to continue
    std::span<const Item> let_go{}; // whose steps that are held back must continue
};
Taken take_events(std::span<Root> roots, TimestampTz now);
// Reads the holds of these runs, and adds the events of steps that continue. Must be called after the agenda has been
// taken: a hold that was removed before a taken row was written is not read any more.
void read_holds(std::span<Root> roots, std::span<const Item> let_go);
// The scopes of the events, with those around them and all of their steps.
std::span<const StoredStep> read_scopes(std::span<Root> roots);

// Whether the error may be temporary.
bool is_passing(const ErrorData *error);
// The error of a step: "code", "message" and "class".
Jsonb *json_of(const ErrorData *error);

// The result of a turn, with its run.
struct Followed {
    const Root *root;
    model::workflow::Turn *turn;
};
// The owner of the run, if that attempt of the step still has the status; otherwise null.
const char *owner_of_attempt(const Item &item, const char *status);
// Sends the signals of a step, or leaves them on the agenda (false) after a temporary error.
bool send_signals(const Item &item);
// Begins the waits of a step for signals, or leaves that on the agenda (false) after a temporary error. For each signal
// that was sent before, "matched" is put on the agenda.
bool wait_for_signals(const Item &item);
// Ends the waits of these steps.
struct LeftStep {
    int64 root;
    int64 scope;
    std::string_view step; // empty: all of the scope
};
void leave_waits(std::span<const LeftStep> steps);
void leave_waits_of(int64 root);
// Starts a subworkflow, or leaves that on the agenda (false) while another transaction holds the workflow.
bool start_child(const Item &child);

// Called when a run has ended: ends its plan, and tells those that wait for the run or for its place in the strategy.
void tell_of_end(const Root &root, model::workflow::RunStatus status, TimestampTz now);
// Whether this transaction may decide which queued runs begin, or that none does: one at a time does.
bool may_decide_on_queues();

void write_turns(store::Store &store, std::span<const Followed> all, std::span<const StoredStep> steps,
                 TimestampTz now);

} // namespace scylla::workflow
