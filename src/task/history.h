// History and errors: jsonb arrays of bounded size (model/bounded_log.h).
#pragma once

#include "store/rows.h"

namespace scylla {

enum class Ending : std::uint8_t { timeout, yield, retry, defer };

// The stored history with the assignment of the last lease, which is stored in columns, unless `leased` is null. Null
// if the history is empty.
Jsonb *full_history(Jsonb *stored, const text *worker, int32 attempt, std::optional<TimestampTz> leased);

// The stored history of a lease that begins in this session. If scylla.code_version is set, the assignment contains it
// and is stored at once; else the columns of the lease hold the assignment.
Jsonb *begin_history(Jsonb *stored, const text *worker, int32 attempt, TimestampTz leased);

// What the task keeps when its lease has ended and it will run again: assignment and ending go to the history.
store::Carry carry_on(const store::LeaseRow &lease, Ending how, TimestampTz now);

// When the task was last deferred; nothing: never.
std::optional<TimestampTz> last_deferral(Jsonb *history);

// errors || error. error is an object.
Jsonb *add_error(Jsonb *errors, Jsonb *error);

// {"code", "args": {}, "message"}, or with one argument.
Jsonb *make_error(const char *code, const char *message);
Jsonb *make_error(const char *code, Jsonb *arguments, const char *message);
Jsonb *make_error(const char *code, const char *argument, const text *value, const char *message);
Jsonb *make_error(const char *code, const char *argument, Jsonb *value, const char *message);
struct ErrorArgument {
    const char *name;
    const char *value; // null: it has none
};
Jsonb *make_error(const char *code, std::span<const ErrorArgument> arguments, const char *message);

JsonbValue *last_error(Jsonb *errors); // null: there is none
// Whether it has this code.
bool ends_with_error(Jsonb *errors, const char *code);

} // namespace scylla
