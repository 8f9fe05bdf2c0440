// Ticks: each planned time of a schedule that is due is submitted, skipped or missed.
//
// The transaction that submits the task of a planned time also moves the schedule's `handled`, under the lock on its
// row. Other ticks skip a locked row. So each planned time gives one task, however many processes tick.
//
// One schedule never delays another. A tick waits some milliseconds at most for an uncommitted change (a task of the
// same name, for example), and then goes on to the next schedule. The monitor retries at growing intervals of up to a
// minute.
#pragma once

#include "schedule/submission.h"

namespace scylla::schedule {

inline constexpr int32 k_all_times = 0; // max_catch_up of a schedule without that bound

// Whether this server runs monitors, and whether they tick, by its settings.
bool is_monitored();
bool monitor_ticks();

// Limits all waits for locks, until AtEOXact_GUC() with the level that it returns.
enum class Patience : std::uint8_t { short_, shortest };
int limit_waiting(Patience patience);

// An error of submit_planned(): a live task has the deduplication key; the name is taken.
bool is_dedup_key_taken(const ErrorData *error);
bool is_name_taken(const ErrorData *error);
// A run of the job has not ended, and the job has one at a time.
bool is_job_running(const ErrorData *error);

// Has the monitor look at the next time of the schedule, or at its next retry.
void note_next(const store::schedules::State &state);

// Handles the planned times of one schedule up to now, unless it is not due or another process is handling it. Returns
// how many tasks or plans were submitted.
// Schedules that have handled planned times which are still to come, because the clock was ahead and has been set
// right, go on with the first planned time from now on. A planned time whose task was submitted meanwhile keeps that
// task, by its name. Steps of the clock of up to two minutes change nothing.
void mend_schedules(TimestampTz now);
int64 run_schedule(const text *name, TimestampTz now);

// Stores an error that has undone all of run_schedule(): it is retried later, as after any other.
void note_undone(const text *name, const ErrorData *error);

// The first time after what is handled; nothing: there is none.
std::optional<TimestampTz> next_run(const store::schedules::Schedule &schedule);

// Runs the schedules that are due in the present transaction: all of them, or those of roles whose rights the caller
// has.
int64 run_due_schedules(TimestampTz now, Oid caller, bool all);

// Warns if schedules are due that do not run in this database.
void warn_of_asleep(TimestampTz now);

} // namespace scylla::schedule
