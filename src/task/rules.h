// The rules that values from outside follow: arguments of calls, members of JSON, settings of queues. Each rule stands
// here once, and every message names the argument and the value. A null pointer is a null, which is the default where
// an argument has one (sql/functions/ tells it). `element` is the 1-based
// place in an array argument (0: not in an array).
#pragma once

#include "model/bounds.h"
#include "pg/prelude.h"
#include "store/rows.h"

namespace scylla::args {

// The name of a queue, task or worker: 1 to 200 characters.
text *name(const char *argument, text *value, int64 element = 0);
// Of a queue that is about to be created.
text *new_queue_name(text *value);
int16 priority(std::optional<int32> value, int64 element = 0);
Jsonb *spec(Jsonb *value, int64 element = 0);
// Any JSON that is to be stored, as far as its size goes (scylla.max_value_size); may be null.
Jsonb *document(const char *argument, Jsonb *value, int64 element = 0);
std::optional<TimestampTz> not_before(std::optional<TimestampTz> value, int64 element = 0);
std::optional<int32> max_attempts(std::optional<int32> value, int64 element = 0);
int32 max_tasks(int32 value, const char *argument = "max_tasks");
std::optional<float4> progress(std::optional<float8> value);
// Microseconds; nothing if null.
std::optional<int64> timeout(const char *argument, const Interval *value, int64 element = 0);
std::optional<int64> wait_time(const char *argument, const Interval *value); // may be 0
std::optional<int64> retry_after(const Interval *value);
std::optional<int64> retention(const char *argument, const Interval *value);
// Of a delay between tries; not null.
int64 delay(const char *argument, const Interval *value, int64 element = 0);
float8 factor(std::optional<float8> value, int64 element = 0);
float8 jitter(std::optional<float8> value, int64 element = 0);
std::optional<int64> grace(const Interval *value);
std::optional<int64> schedule_jitter(const Interval *value);
int32 max_catch_up(int32 value);
float8 aging(std::optional<float8> value);
float8 fraction(std::optional<float8> value);
// How many tasks of a queue may run at once.
std::optional<int32> bound(const char *argument, std::optional<int32> value);
// What becomes of a submit to a queue that is full.
store::OnFull on_full(const text *value);
// The error of abort and fail, with its members filled in.
Jsonb *error(Jsonb *value);
// A name that may be null.
text *optional_name(const char *argument, text *value, int64 element = 0);
store::OnFailure on_failure(const char *argument, const text *value, int64 element = 0);
// What becomes of a task when a gate of it times out; not null.
store::OnTimeout on_timeout(const text *value, int64 element = 0);
// What is done where an rn or a deduplication key is taken.
enum class OnDuplicate : std::uint8_t { error, ignore, replace };
OnDuplicate on_duplicate(const text *value, OnDuplicate by_default, bool may_replace);

// Two arrays that go together have one size.
void same_size(const char *argument, int64 size, const char *other, int64 other_size);

} // namespace scylla::args
