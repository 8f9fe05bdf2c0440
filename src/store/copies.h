// Which task was resubmitted as which: a control table, written by SQL.
#pragma once

#include "store/rows.h"

namespace scylla::store {

// Marks tasks as resubmitted. Those that were not, in the order given: by id, so that two calls cannot wait for each
// other in a circle. Waits for transactions that are marking the same.
std::span<const int64> mark_resubmitted(std::span<const int64> originals);
// Names their copies.
void name_copies(std::span<const int64> originals, std::span<const int64> copies);

// Whether a task was resubmitted, also by this transaction.
bool is_resubmitted(int64 original);
// The last of the copies of copies; nothing: it has none.
std::optional<int64> newest_copy(int64 original);

// Removes the rows of up to `limit` tasks with ids larger than `after` that are gone. Returns the last of those that it
// looked at, 0 at the end.
int64 forget_copies(int64 after, int64 limit, int64 *removed);

// What a plan was created with; may be null.
Jsonb *plan_spec(int64 id);

} // namespace scylla::store
