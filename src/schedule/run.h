// Ticks: what the schedules that are due have planned is submitted, skipped or missed.
//
// A planned time is dealt with by moving the `handled` of its schedule, in the transaction that submits the task, under
// the lock on its row. Whoever else finds the row locked passes it over. So each planned time gives one task, however
// many tick.
//
// One schedule never delays another. A tick waits some milliseconds at most for what somebody has left uncommitted (a
// task of the same name, say), and then goes on to the next; the monitor tries again later and later, up to once a
// minute.
#pragma once

#include "schedule/submission.h"

namespace scylla::schedule {

// Whether this server runs monitors, and whether they tick, by its settings.
bool is_monitored();
bool monitor_ticks();

// Limits how long anything waits for a lock, until AtEOXact_GUC() with the level that it returns.
enum class Patience : std::uint8_t { short_, shortest };
int limit_waiting(Patience patience);

// Of an error of submit_planned(): a live task has the deduplication key; somebody has the name.
bool is_dedup_key_taken(const ErrorData *error);
bool is_name_taken(const ErrorData *error);
// A run of the job has not ended, and the job has one at a time.
bool is_job_running(const ErrorData *error);

// The monitor is to look when the schedule comes, or is to be tried again.
void note_next(const store::ScheduleState &state);

// Deals with the planned times of one schedule up to now. Nothing if it is not due, or somebody else is at it. Returns
// how many tasks or plans were submitted.
int64 run_schedule(const text *name, TimestampTz now);

// An error that has undone all of run_schedule(): it is tried again later, as after any other.
void note_undone(const text *name, const ErrorData *error);

// When it comes first after what is handled; nothing: not any more.
std::optional<TimestampTz> next_run(const store::ScheduleRow &schedule);

// Runs those that are due in the present transaction: all of them, or those of roles whose rights the caller has.
int64 run_due_schedules(TimestampTz now, Oid caller, bool all);

// Says that schedules are due which do not run in this database, if there are any.
void warn_of_asleep(TimestampTz now);

} // namespace scylla::schedule
