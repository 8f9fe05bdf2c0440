// New tasks.
#pragma once

#include "task/moves.h"
#include "task/wait_for.h"

namespace scylla {

// One task to be submitted, checked (task/rules.h).
struct Submission {
    text *queue;
    Jsonb *spec;
    int16 priority;
    text *rn; // null: to be made up
    std::optional<TimestampTz> not_before = {};
    std::optional<int32> max_attempts = {};
    std::span<const WaitFor> waits = {};   // its gates, in the order of its args
    text *plan = nullptr;                  // may be null
    Jsonb *retry = nullptr;                // may be null
    text *dedup_key = nullptr;             // may be null
    text *key = nullptr;                   // may be null
    Jsonb *needs = nullptr;                // of pools; may be null
    std::optional<int64> runtime = {};     // expected, in microseconds
    std::optional<int64> dedup_for = {};   // completed it keeps its key for so long from its creation on
    std::optional<int64> run_timeout = {}; // microseconds; nothing: as the queue says
    bool is_check = false;                 // made for others that wait for it (task/checks.h)
    int64 run = 0;                         // instead of `plan`: that of a run of a workflow, by its id
    bool at_once = false;                  // what it needs is reserved now if it can be, or else it gets in line
};

// What is done with a task whose rn or deduplication key is taken.
enum class IfTaken : std::uint8_t { refuse, find, replace };

// The task; with `find` perhaps the one that has the rn or the key already. With `replace` that one gets the spec, the
// priority and the time if it waits or is ready. If it runs it gives the key to the new task.
Task submit(store::Store &store, const Submission &task, IfTaken if_taken);

// As if one after the other was submitted, but each can depend on any other of them. With `find` those that are taken
// are passed over.
struct Submitted {
    int64 id; // of the new task; 0: there is one already
    text *rn; // of the task that is there now
    bool inserted;
    bool reserved = false; // it holds what it needs
};
std::span<const Submitted> submit_many(store::Store &store, std::span<const Submission> tasks, IfTaken if_taken);

// Many tasks of one queue, at least one, which depend on nothing and have no keys; all of them with names, or none.
void submit_bulk(store::Store &store, std::span<const Submission> tasks);

// The queue, made on first use where that is allowed. 42501, 42704.
store::QueueRow queue_to_submit(store::Store &store, text *name);

} // namespace scylla
