// Schedules: rows of scylla.schedule, and of scylla.schedule_tick. A control table: accessed by saved statements, as
// the owner of the tables.
#pragma once

#include "pg/prelude.h"

namespace scylla::store {

// What happens at a planned time while the previous task of the schedule is live.
enum class Overlap : std::uint8_t { allow, skip, replace };
inline constexpr std::array<std::string_view, 3> k_overlap_names{"allow", "skip", "replace"};

// Which planned times still get their task if no tick handled them in time.
enum class CatchUp : std::uint8_t { none, latest, all };
inline constexpr std::array<std::string_view, 3> k_catch_up_names{"none", "latest", "all"};

// The arguments of schedule().
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

// What has become of it.
struct ScheduleState {
    TimestampTz handled;                 // all planned times until then are handled
    std::optional<TimestampTz> next_run; // the first planned time after it
    std::optional<TimestampTz> last_run;
    std::optional<TimestampTz> last_submitted;
    text *last_task; // null: none yet
    int64 runs;
    int64 skipped;
    int64 missed;
    text *last_error; // null: none
    std::optional<TimestampTz> failed;
    std::optional<TimestampTz> failing_since; // when the present series of failures began
    std::optional<TimestampTz> retry_at;      // the monitor does not retry before that
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

// Creates or changes a schedule, for `owner` if it is new, and returns it. If the times stay the same, what was due is
// still due. Waits for a transaction that is changing or running it.
ScheduleRow put_schedule(const ScheduleSettings &settings, const char *owner, TimestampTz now);

// Locks a schedule to the end of the transaction. Nothing: there is none. Waits, as put_schedule().
std::optional<ScheduleRow> hold_schedule(const text *name);
// Locks a schedule that is armed and due. Nothing: it is not, or another transaction has locked it.
std::optional<ScheduleRow> hold_due_schedule(const text *name, TimestampTz now);

// Of a schedule that is held.
void write_schedule(const ScheduleRow &row);
void remove_schedule(const text *name);

// The armed schedules that are due first, `limit` at most, in order. `at`: the planned time, or with Retries::when_due
// the time of the retry. With Retries::now failing schedules come after all others.
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
    TimestampTz at; // when the first of them is due, or retried
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

// Stores that a tick has looked for due schedules, if the last one was some time ago. Does not wait.
void note_tick(TimestampTz now);

// Whether the task, or the plan, of that name has not ended.
bool is_live_task(const text *name);
bool is_live_plan(const text *name);

} // namespace scylla::store
