#include "store/schedule_rows.h"

#include "pg/text.h"
#include "store/spi_rows.h"

namespace scylla::store {

namespace {

constinit SPIPlanPtr put_statement = nullptr;
constinit SPIPlanPtr hold_statement = nullptr;
constinit SPIPlanPtr hold_due_statement = nullptr;
constinit SPIPlanPtr write_statement = nullptr;
constinit SPIPlanPtr remove_statement = nullptr;
constinit SPIPlanPtr next_statement = nullptr;
constinit SPIPlanPtr next_without_jobs_statement = nullptr;
constinit SPIPlanPtr due_jobs_statement = nullptr;
constinit SPIPlanPtr next_jobs_statement = nullptr;
constinit SPIPlanPtr asleep_statement = nullptr;
constinit SPIPlanPtr arm_statement = nullptr;
constinit SPIPlanPtr asleep_due_statement = nullptr;
constinit SPIPlanPtr any_statement = nullptr;
constinit SPIPlanPtr tick_statement = nullptr;
constinit SPIPlanPtr live_task_statement = nullptr;
constinit SPIPlanPtr live_plan_statement = nullptr;

// In the order in which to_row() reads them.
#define SCHEDULE_COLUMNS                                                                                               \
    "owner, name, cron, timezone, task, overlap, catch_up, grace, max_catch_up, jitter, starts, ends, planned_key, "   \
    "handled, next_run, last_run, last_submitted, last_task, runs, skipped, missed, last_error, failed, "              \
    "failing_since, retry_at, last_skipped, skip_reason"

ScheduleRow to_row(uint64 row) {
    Columns columns(row);
    ScheduleRow schedule{};
    schedule.owner = columns.next_string();
    ScheduleSettings &settings = schedule.settings;
    settings.name = columns.next_text();
    settings.cron = columns.next_text();
    settings.timezone = columns.next_text();
    settings.task = columns.next_jsonb();
    settings.overlap = columns.next_word<Overlap>(k_overlap_names);
    settings.catch_up = columns.next_word<CatchUp>(k_catch_up_names);
    settings.grace = columns.next_interval();
    settings.max_catch_up = columns.next_int32();
    settings.jitter = columns.next_interval();
    settings.starts = columns.next_time();
    settings.ends = columns.next_time();
    settings.planned_key = columns.next_text();
    ScheduleState &state = schedule.state;
    state.handled = columns.next_time().value_or(0);
    state.next_run = columns.next_time();
    state.last_run = columns.next_time();
    state.last_submitted = columns.next_time();
    state.last_task = columns.next_text();
    state.runs = columns.next_int64();
    state.skipped = columns.next_int64();
    state.missed = columns.next_int64();
    state.last_error = columns.next_text();
    state.failed = columns.next_time();
    state.failing_since = columns.next_time();
    state.retry_at = columns.next_time();
    state.last_skipped = columns.next_time();
    state.skip_reason = columns.next_text();
    return schedule;
}

std::optional<ScheduleRow> read_row(MemoryContext caller) {
    const std::span<ScheduleRow> rows = read_rows<ScheduleRow>(caller, to_row);
    return rows.empty() ? std::nullopt : std::optional(rows[0]);
}

// Whether a statement gives a row.
bool ask(SPIPlanPtr *plan, const char *sql, Parameters &parameters) {
    AsOwner as_owner;
    as_owner.begin();
    parameters.run(plan, sql, SPI_OK_SELECT);
    const bool any = SPI_processed > 0;
    as_owner.end();
    return any;
}

NextSchedule to_next(uint64 row) {
    Columns columns(row);
    NextSchedule schedule{};
    schedule.name = columns.next_text();
    schedule.owner = columns.next_string();
    schedule.at = columns.next_time().value_or(0);
    return schedule;
}

Datum word(std::string_view name) {
    return PointerGetDatum(cstring_to_text_with_len(name.data(), static_cast<int>(name.size())));
}

} // namespace

text *schedule_home() {
    return cstring_to_text(psprintf(INT64_FORMAT "/%u", static_cast<int64>(GetSystemIdentifier()), MyDatabaseId));
}

ScheduleRow put_schedule(const ScheduleSettings &settings, const char *owner, TimestampTz now) {
    Parameters parameters;
    parameters.add(settings.name)
        .add(cstring_to_text(owner))
        .add(schedule_home())
        .add(settings.cron)
        .add(settings.timezone)
        .add(JSONBOID, JsonbPGetDatum(settings.task))
        .add(TEXTOID, word(k_overlap_names[static_cast<std::size_t>(settings.overlap)]))
        .add(TEXTOID, word(k_catch_up_names[static_cast<std::size_t>(settings.catch_up)]))
        .add(settings.grace)
        .add(INT4OID, Int32GetDatum(settings.max_catch_up))
        .add(settings.jitter)
        .add(settings.starts)
        .add(settings.ends)
        .add(settings.planned_key)
        .add(std::optional(now));
    MemoryContext caller = CurrentMemoryContext;
    AsOwner as_owner;
    as_owner.begin();
    parameters.run(
        &put_statement,
        "insert into scylla.schedule as t (name, owner, home, cron, timezone, task, overlap, catch_up, grace, "
        "max_catch_up, jitter, starts, ends, planned_key, handled) "
        "values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) "
        "on conflict (name) do update set home = excluded.home, cron = excluded.cron, "
        "timezone = excluded.timezone, task = excluded.task, overlap = excluded.overlap, "
        "catch_up = excluded.catch_up, grace = excluded.grace, max_catch_up = excluded.max_catch_up, "
        "jitter = excluded.jitter, starts = excluded.starts, ends = excluded.ends, "
        "planned_key = excluded.planned_key, last_error = null, failed = null, failing_since = null, "
        "retry_at = null, "
        "handled = case when t.cron operator(pg_catalog.=) excluded.cron and t.timezone "
        "operator(pg_catalog.=) excluded.timezone and t.home operator(pg_catalog.=) excluded.home "
        "then t.handled else excluded.handled end "
        "returning " SCHEDULE_COLUMNS,
        SPI_OK_INSERT_RETURNING);
    const ScheduleRow row = *read_row(caller);
    as_owner.end();
    return row;
}

std::optional<ScheduleRow> hold_schedule(const text *name) {
    Parameters parameters;
    parameters.add(name);
    MemoryContext caller = CurrentMemoryContext;
    AsOwner as_owner;
    as_owner.begin();
    parameters.run(&hold_statement,
                   "select " SCHEDULE_COLUMNS " from scylla.schedule where name operator(pg_catalog.=) $1 for update",
                   SPI_OK_SELECT);
    const std::optional<ScheduleRow> row = read_row(caller);
    as_owner.end();
    return row;
}

std::optional<ScheduleRow> hold_due_schedule(const text *name, TimestampTz now) {
    Parameters parameters;
    parameters.add(name).add(schedule_home()).add(std::optional(now));
    MemoryContext caller = CurrentMemoryContext;
    AsOwner as_owner;
    as_owner.begin();
    parameters.run(&hold_due_statement,
                   "select " SCHEDULE_COLUMNS " from scylla.schedule where name operator(pg_catalog.=) $1 "
                   "and home operator(pg_catalog.=) $2 and next_run operator(pg_catalog.<=) $3 for update skip locked",
                   SPI_OK_SELECT);
    const std::optional<ScheduleRow> row = read_row(caller);
    as_owner.end();
    return row;
}

void write_schedule(const ScheduleRow &row) {
    const ScheduleState &state = row.state;
    Parameters parameters;
    parameters.add(row.settings.name)
        .add(std::optional(state.handled))
        .add(state.next_run)
        .add(state.last_run)
        .add(state.last_submitted)
        .add(state.last_task)
        .add(state.runs)
        .add(state.skipped)
        .add(state.missed)
        .add(state.last_error)
        .add(state.failed)
        .add(state.failing_since)
        .add(state.retry_at)
        .add(state.last_skipped)
        .add(state.skip_reason);
    change(
        &write_statement,
        "update scylla.schedule set handled = $2, next_run = $3, last_run = $4, last_submitted = $5, last_task = $6, "
        "runs = $7, skipped = $8, missed = $9, last_error = $10, failed = $11, failing_since = $12, retry_at = $13, "
        "last_skipped = $14, skip_reason = $15 where name operator(pg_catalog.=) $1",
        parameters, SPI_OK_UPDATE);
}

void remove_schedule(const text *name) {
    Parameters parameters;
    parameters.add(name);
    change(&remove_statement, "delete from scylla.schedule where name operator(pg_catalog.=) $1", parameters,
           SPI_OK_DELETE);
}

std::span<NextSchedule> next_schedules(int64 limit, Retries retries) {
    Parameters parameters;
    parameters.add(schedule_home()).add(BOOLOID, BoolGetDatum(retries == Retries::when_due)).add(limit);
    return select<NextSchedule>(
        &next_statement,
        "select name, owner, case when $2 then greatest(next_run, retry_at) else next_run end as at "
        "from scylla.schedule where home operator(pg_catalog.=) $1 and next_run is not null "
        "order by case when $2 then false else failing_since is not null end, at, name limit $3",
        parameters, SPI_OK_SELECT, to_next);
}

std::span<NextSchedule> next_schedules_without_jobs(int64 limit) {
    Parameters parameters;
    parameters.add(schedule_home()).add(limit);
    return select<NextSchedule>(
        &next_without_jobs_statement,
        "select name, owner, greatest(next_run, retry_at) as at from scylla.schedule s "
        "where home operator(pg_catalog.=) $1 and next_run is not null "
        "and (not task operator(pg_catalog.?) 'job' or not exists (select from pg_catalog.pg_roles r "
        "where r.rolname operator(pg_catalog.=) s.owner)) order by at, name limit $2",
        parameters, SPI_OK_SELECT, to_next);
}

std::span<NextSchedule> due_jobs(const char *owner, TimestampTz now) {
    Parameters parameters;
    parameters.add(schedule_home()).add(cstring_to_text(owner)).add(std::optional(now));
    return select<NextSchedule>(
        &due_jobs_statement,
        "select name, owner, greatest(next_run, retry_at) as at from scylla.schedule "
        "where home operator(pg_catalog.=) $1 and owner operator(pg_catalog.=) $2 and task operator(pg_catalog.?) "
        "'job' "
        "and greatest(next_run, retry_at) operator(pg_catalog.<=) $3 and next_run is not null order by at, name",
        parameters, SPI_OK_SELECT, to_next);
}

std::span<JobSchedules> next_jobs() {
    Parameters parameters;
    parameters.add(schedule_home());
    return select<JobSchedules>(&next_jobs_statement,
                                "select owner, pg_catalog.min(greatest(next_run, retry_at)) from scylla.schedule "
                                "where home operator(pg_catalog.=) $1 and next_run is not null "
                                "and task operator(pg_catalog.?) 'job' group by owner",
                                parameters, SPI_OK_SELECT, [](uint64 row) {
                                    Columns columns(row);
                                    JobSchedules read{};
                                    read.owner = columns.next_string();
                                    read.at = columns.next_time().value_or(0);
                                    return read;
                                });
}

std::span<AsleepSchedule> asleep_schedules() {
    Parameters parameters;
    parameters.add(schedule_home());
    MemoryContext caller = CurrentMemoryContext;
    AsOwner as_owner;
    as_owner.begin();
    parameters.run(&asleep_statement,
                   "select name, owner from scylla.schedule where home operator(pg_catalog.<>) $1 order by name",
                   SPI_OK_SELECT);
    const auto schedules = read_rows<AsleepSchedule>(caller, [](uint64 row) {
        Columns columns(row);
        AsleepSchedule schedule{};
        schedule.name = columns.next_text();
        schedule.owner = columns.next_string();
        return schedule;
    });
    as_owner.end();
    return schedules;
}

void arm_schedule(const text *name) {
    Parameters parameters;
    parameters.add(name).add(schedule_home());
    change(&arm_statement, "update scylla.schedule set home = $2 where name operator(pg_catalog.=) $1", parameters,
           SPI_OK_UPDATE);
}

int64 count_asleep_due(TimestampTz now) {
    Parameters parameters;
    parameters.add(schedule_home()).add(std::optional(now));
    AsOwner as_owner;
    as_owner.begin();
    parameters.run(&asleep_due_statement,
                   "select pg_catalog.count(*) from scylla.schedule where home operator(pg_catalog.<>) $1 "
                   "and next_run operator(pg_catalog.<=) $2",
                   SPI_OK_SELECT);
    const int64 count = Columns(0).next_int64();
    as_owner.end();
    return count;
}

bool has_schedules() {
    Parameters parameters;
    return ask(&any_statement, "select from scylla.schedule limit 1", parameters);
}

void note_tick(TimestampTz now) {
    constexpr int64 k_precision = 30 * USECS_PER_SEC; // it is written no more often than that
    Parameters parameters;
    parameters.add(std::optional(now)).add(std::optional(now - k_precision));
    change(&tick_statement,
           "insert into scylla.schedule_tick as t (id, ticked) select 1, $1 where not exists (select from "
           "scylla.schedule_tick where ticked operator(pg_catalog.>=) $2) "
           "and (not exists (select from scylla.schedule_tick) or exists (select from scylla.schedule_tick for no key "
           "update skip locked)) on conflict (id) do update set ticked = excluded.ticked",
           parameters, SPI_OK_INSERT);
}

bool is_live_task(const text *name) {
    Parameters parameters;
    parameters.add(name);
    return ask(&live_task_statement,
               "select from scylla.task_spec s where s.rn operator(pg_catalog.=) $1 and not exists (select from "
               "scylla.task_outcome o where o.id operator(pg_catalog.=) s.id)",
               parameters);
}

bool is_live_plan(const text *name) {
    Parameters parameters;
    parameters.add(name);
    return ask(&live_plan_statement,
               "select from scylla.task_plan where name operator(pg_catalog.=) $1 and finished is null", parameters);
}

} // namespace scylla::store
