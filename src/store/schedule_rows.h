// Schedules: rows of scylla.schedule, and of scylla.schedule_tick. A control table: everything goes through saved
// statements, as the owner of the tables.
#pragma once

#include "pg/prelude.h"

namespace scylla::store {

// What is to happen while the previous task of a schedule is live.
enum class Overlap : std::uint8_t { allow, skip, replace };
inline constexpr std::array<std::string_view, 3> k_overlap_names{"allow", "skip", "replace"};

// Which planned times that nobody looked at in time still get their task.
enum class CatchUp : std::uint8_t { none, latest, all };
inline constexpr std::array<std::string_view, 3> k_catch_up_names{"none", "latest", "all"};

// What schedule() is told.
struct ScheduleSettings {
    text *name;
    text *cron;
    text *timezone;
    Jsonb *task; // an object: a task, or with the member "job" a request; an array: the tasks of a plan
    Overlap overlap;
    CatchUp catch_up;
    Interval *grace; // null: no bound
    int32 max_catch_up;
    Interval *jitter;
    std::optional<TimestampTz> starts;
    std::optional<TimestampTz> ends;
    text *planned_key; // may be null
};

// How it has been kept.
struct ScheduleState {
    TimestampTz handled;                 // whatever was planned until then is dealt with
    std::optional<TimestampTz> next_run; // the first planned time after it
    std::optional<TimestampTz> last_run;
    std::optional<TimestampTz> last_submitted;
    text *last_task; // null: none yet
    int64 runs;
    int64 skipped;
    int64 missed;
    text *last_error; // null: none
    std::optional<TimestampTz> failed;
    std::optional<TimestampTz> failing_since; // the first of the failures that nothing has ended yet
    std::optional<TimestampTz> retry_at;      // not before that does the monitor try again
    std::optional<TimestampTz> last_skipped;
    text *skip_reason; // null: none yet
};

struct ScheduleRow {
    const char *owner;
    ScheduleSettings settings;
    ScheduleState state;
};

// Where schedules of this database are armed: the system's identifier and the database's.
text *schedule_home();

// Makes or changes a schedule, for `owner` if it is new, and returns it. What was due under the same times is still
// due. Waits for whoever is just changing it, or running it.
ScheduleRow put_schedule(const ScheduleSettings &settings, const char *owner, TimestampTz now);

// Locks a schedule to the end of the transaction. Nothing: there is none. Waits, as put_schedule().
std::optional<ScheduleRow> hold_schedule(const text *name);
// Locks a schedule that is armed and due. Nothing: it is not, or somebody else is at it.
std::optional<ScheduleRow> hold_due_schedule(const text *name, TimestampTz now);

// Of a schedule that is held.
void write_schedule(const ScheduleRow &row);
void remove_schedule(const text *name);

// The armed schedules that come first, `limit` at most, in order. `at`: when it comes, or with Retries::when_due when
// to try again. With Retries::now those that are failing come after all others.
struct NextSchedule {
    text *name;
    const char *owner;
    TimestampTz at;
};
enum class Retries : std::uint8_t { now, when_due };
std::span<NextSchedule> next_schedules(int64 limit, Retries retries);

// Schedules of jobs call functions of roles, which may take long, so each role's are run by a server worker of its own.
// Those of roles that do not exist are left to the monitor, which says so.
std::span<NextSchedule> next_schedules_without_jobs(int64 limit);
// Armed, of one owner, and due now.
std::span<NextSchedule> due_jobs(const char *owner, TimestampTz now);
struct JobSchedules {
    const char *owner;
    TimestampTz at; // when the first of them comes, or is to be tried again
};
std::span<JobSchedules> next_jobs();

// Schedules that came with a copy of the database.
struct AsleepSchedule {
    text *name;
    const char *owner;
};
std::span<AsleepSchedule> asleep_schedules();
void arm_schedule(const text *name);
int64 count_asleep_due(TimestampTz now);

bool has_schedules();

// Writes down that somebody has looked for schedules that are due, if the last time was some time ago. Waits for
// nobody.
void note_tick(TimestampTz now);

// Whether the task, or the plan, of that name has not ended.
bool is_live_task(const text *name);
bool is_live_plan(const text *name);

} // namespace scylla::store
