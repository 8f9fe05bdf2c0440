// What the engine reads and writes for its turns.
#pragma once

#include "model/workflow/engine.h"
#include "pg/growing.h"
#include "store/rows.h"
#include "store/workflow/waits.h"
#include "workflow/definition_cache.h"
#include "workflow/runs.h"

namespace scylla::workflow {

// A run that the engine has locked, with the input of its turn.
struct Root {
    int64 id;
    int32 line;                   // in which it waits on the agenda
    int64 place;                  // among the runs that were taken: the order of their turns
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
    std::string_view step_params; // empty: none
    model::workflow::Scope scope; // the run itself, without its steps
    Growing<model::workflow::Event> events{};
    std::span<const model::workflow::Hold> holds{};
    Growing<int64> actions{};                 // that are among the events
    Growing<model::workflow::Scope> scopes{}; // the run itself first
    bool takes_rest = false;                  // this turn gets steps that the last one has left
    int64 due = 0;                            // how many of its steps are
    bool has_rest = false;                    // more were left than this turn gets
};

// A row of a step, with columns that the model does not know.
struct StoredStep {
    int64 scope;
    int64 task; // 0: none
    model::workflow::Step step;
};

// Locks runs that are on the agenda of the lane, or due at that time, and that no other transaction holds. Their owners
// take turns, those after this line first. Returned in the order of their ids.
struct TakenRuns {
    std::span<Root> roots;
    bool others; // all that wait are held by others
    bool full;   // there may be more than these
    int64 rows;  // of the agenda that their events are among
};
struct Look {
    TimestampTz now;
    int32 after;      // a line of the agenda: those after it come first
    bool nothing_due; // as far as is known
};
TakenRuns take_runs(const Look &look, int64 most);
// This one, which waits in that line.
TakenRuns take_run(int64 id, int32 line);
// Takes the first rows of the agenda for these runs, and what is due, as events of the runs. Returns how many.
struct Taken {
    std::size_t rows;
    std::span<const Item> left;     // subworkflows to start, signals to send or wait for, backfills to continue
    std::span<const Item> let_go{}; // whose steps that are held back must continue
};
// The kind of an event on the agenda.
const char *word_of(model::workflow::EventKind kind);
Taken take_events(const TakenRuns &runs, TimestampTz now);
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
const char *owner_of_attempt(const Item &item, model::workflow::StepStatus status);
// Sends the signals of a step, or leaves them on the agenda (false) after a temporary error.
bool send_signals(const Item &item);
// Begins the waits of a step for signals, or leaves that on the agenda (false) after a temporary error. For each signal
// that was sent before, "matched" is put on the agenda.
bool wait_for_signals(const Item &item);
// Ends the waits of these steps.
using LeftStep = store::waits::Step;
void leave_waits(std::span<const LeftStep> steps);
// Starts a subworkflow, or leaves that on the agenda (false) while another transaction holds the workflow.
bool start_child(const Item &child);

// Called when a run has ended: ends its plan, and tells those that wait for the run or for its place in the strategy.
void tell_of_end(const Root &root, model::workflow::RunStatus status, TimestampTz now);

void write_turns(store::Store &store, std::span<const Followed> all, TimestampTz now);

// Takes away what a step has begun, for Need::What::end_work, without waiting.
bool end_work(store::Store &store, const Root &root, std::span<const StoredStep> steps,
              const model::workflow::Need &need, TimestampTz now);
// Ends what is inside of a loop, as far as nobody else is ending it.
void end_iterations(store::Store &store, const Root &root, int64 scope, std::string_view step, TimestampTz now);
// Cancels the tasks of a plan. False: another transaction is changing some of them.
bool end_tasks(store::Store &store, int64 plan, TimestampTz now);

} // namespace scylla::workflow
