// Errors that a client can meet. Each text stands here once; each carries the schema scylla, the table it is about and a
// constraint name, so that a client can tell ours from the server's own.
#pragma once

#include "pg/prelude.h"

namespace scylla::error {

// P0002, constraint "exists".
[[noreturn]] void no_such_task(const text *rn);
// 42704, constraint "exists".
[[noreturn]] void no_such_queue(const text *queue);
// 23505, constraint "unique".
[[noreturn]] void duplicate_task(const text *rn);
// 42710, constraint "unique".
[[noreturn]] void duplicate_queue(const text *queue);

// 55000, constraint "held": the worker does not hold the task (any more).
[[noreturn]] void not_held(const text *rn, const text *worker, const char *status, const text *owner, int attempt);
// 55000, constraint "ready": lease_task() found the task in another state.
[[noreturn]] void not_ready(const text *rn, const char *status, const text *owner, int attempt);
// 55000, constraint "live": the task has ended.
[[noreturn]] void not_live(const text *rn, const char *status, const text *owner, int attempt);

// 22023, constraint "argument": invalid value for argument "name": value. rule is a full sentence for the detail. element is
// the 1-based place in an array argument, or 0.
[[noreturn]] void bad_argument(const char *name, const char *value, const char *rule, int64 element = 0);

// 0A000, constraint "supported".
[[noreturn]] void not_supported(const char *argument);

// 25001, constraint "transaction": a procedure that commits was called inside a transaction block.
[[noreturn]] void inside_transaction(const char *call);
// 08006: nobody is there to tell it to.
[[noreturn]] void client_gone();

} // namespace scylla::error
