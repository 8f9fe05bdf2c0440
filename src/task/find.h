// Finding tasks by what they are, a limited number of rows at a time.
#pragma once

#include "task/task.h"

namespace scylla {

// Which tasks. Null, nothing: any.
struct TaskFilter {
    std::optional<int32> queue;
    std::optional<model::Status> status;
    bool is_live = false; // waiting, ready or running
    const text *worker = nullptr;
    const text *key = nullptr;
    const char *code = nullptr; // of the last error
    Jsonb *spec = nullptr;      // contained in theirs
    std::optional<TimestampTz> created_after = {};
    std::optional<TimestampTz> created_before = {};
    bool for_copies = false; // of tasks that have ended: only those without a copy, oldest first
};

// The tables that are read for a filter, one after the other: all tasks by their specifications; ready tasks queue by
// queue, in the order of priority and id; all others newest first, or oldest first where they are to be copied.
enum class Source : char { any = 'a', waiting = 'w', ready = 'r', running = 'l', ended = 'e' };

// A row of such a table. Id 0: before the first.
struct Cursor {
    Source source;
    int32 queue = 0; // these two of ready tasks only
    int16 priority = 0;
    int64 id = 0;
};

struct FindLimits {
    int32 max_tasks;
    int32 max_looks; // at rows, whether they match or not
};

// Called with each task that matches, in a memory context of its own. False: stop.
struct FoundSink {
    bool (*put)(void *to, store::Store &store, const Task &task, const Cursor &cursor);
    void *to;
};

// The tasks that match, and that the current user may view, behind a cursor (nothing: from the beginning). Returns
// where to go on; nothing: there are no more.
std::optional<Cursor> find_tasks(store::Store &store, const TaskFilter &filter, const std::optional<Cursor> &after,
                                 const FindLimits &limits, const FoundSink &sink);

// A cursor as a text, and back. 22023 if the text is no cursor for the filter.
text *to_text(const Cursor &cursor);
Cursor to_cursor(const TaskFilter &filter, const text *written);

} // namespace scylla
