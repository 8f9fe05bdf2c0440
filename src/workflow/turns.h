// What the engine reads for its turns, and writes of them.
#pragma once

#include "model/workflow/engine.h"
#include "pg/growing.h"
#include "store/rows.h"
#include "workflow/definition_cache.h"
#include "workflow/runs.h"

namespace scylla::workflow {

// A run that the engine has locked, with what of it its turn is about.
struct Root {
    int64 id;
    int64 plan;                   // of this run
    std::span<const int64> plans; // of this run and those before it, but for that of the first, which is `id`
    VersionName version;
    int64 instance;
    int32 run;
    const char *owner; // a role
    bool is_next;      // it is on the agenda as one that may begin, or has made room
    bool begins;       // now
    bool may_be_held;  // something holds steps of the workflow
    bool records;      // its events
    Parent parent;
    int64 backfill;           // 0: none
    bool late;                // its tasks have the lowest priority
    const text *tree_permits; // the pool that all steps of its tree need a permit of; null: none
    model::workflow::Permits permits;
    std::string_view initiator;
    std::string_view properties;
    std::string_view restart;     // empty: it is the first run of the instance
    model::workflow::Scope scope; // the run itself, without its steps
    Growing<model::workflow::Event> events{};
    std::span<const model::workflow::Hold> holds{};
    Growing<int64> actions{};                 // that are among them
    Growing<model::workflow::Scope> scopes{}; // the run itself first
};

// A step as its row is, besides what the model knows.
struct StoredStep {
    int64 scope;
    int64 task; // 0: none
    model::workflow::Step step;
};

// Locks runs that have something on the agenda, or due at that time, and that nobody else holds: those that have waited
// for the longest time. In the order of their ids.
std::span<Root> take_runs(TimestampTz now, int64 most);
// Takes the first rows of the agenda that are about these runs, and what is due, as events of theirs. Returns how many.
struct Taken {
    std::size_t rows;
    std::span<const Item> left; // subworkflows to be started, signals to be sent or waited for, backfills to go on with
    std::span<const Item> let_go{}; // of which steps that are held back are to go on
};
Taken take_events(std::span<Root> roots, TimestampTz now);
// What holds steps of these runs, and the events of those that are to go on. Once the agenda has been taken: what was
// removed before something that was taken is not there any more.
void read_holds(std::span<Root> roots, std::span<const Item> let_go);
// The scopes that the events are about, with those around them and all of their steps.
std::span<const StoredStep> read_scopes(std::span<Root> roots);

// Whether what has gone wrong may go better another time.
bool is_passing(const ErrorData *error);
// As the error of a step: "code", "message" and "class".
Jsonb *json_of(const ErrorData *error);

// What a turn comes to, by the run.
struct Followed {
    const Root *root;
    model::workflow::Turn *turn;
};
// Of the run, if that attempt of the step still has the status; null: it does not.
const char *owner_of_attempt(const Item &item, const char *status);
// Sends the signals of a step, or leaves them on the agenda (false) if that may go better another time.
bool send_signals(const Item &item);
// Has a step wait for signals, or leaves that on the agenda (false) if it may go better another time. For each that has
// come by then, "matched" is on the agenda.
bool wait_for_signals(const Item &item);
// These steps do not wait any more.
struct LeftStep {
    int64 root;
    int64 scope;
    std::string_view step; // empty: all of the scope
};
void leave_waits(std::span<const LeftStep> steps);
void leave_waits_of(int64 root);
// Starts a subworkflow, or leaves that on the agenda (false) while somebody else holds the workflow.
bool start_child(const Item &child);

// A run has ended: its plan does, and those hear of it that wait for it or for its place.
void tell_of_end(const Root &root, model::workflow::RunStatus status, TimestampTz now);

void write_turns(store::Store &store, std::span<const Followed> all, std::span<const StoredStep> steps,
                 TimestampTz now);

} // namespace scylla::workflow
