#include "schedule/run.h"

#include "model/bounds.h"
#include "pg/error.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "pg/subtransaction.h"
#include "pg/text.h"
#include "schedule/calendar.h"
#include "shmem/pending.h"

namespace scylla::schedule {

namespace {

using store::CatchUp;
using store::Overlap;
using store::schedules::Schedule;
using store::schedules::Settings;
using store::schedules::State;

constexpr int64 k_tick = 2 * 60 * USECS_PER_SEC; // pg_cron ticks every minute, and may be a minute late
constexpr std::size_t k_none_limit = 120;        // planned times that a tick can find with catch_up none: one a second
constexpr int64 k_first_retry = 100'000;         // microseconds; later, as long as it has been failing
constexpr int64 k_last_retry = 60 * USECS_PER_SEC;

// ---- what is due ---------------------------------------------------------------------------------------------------

std::size_t limit_of(const Settings &settings) {
    switch (settings.catch_up) {
    case CatchUp::none:
        return k_none_limit;
    case CatchUp::latest:
        return 1;
    case CatchUp::all:
        break;
    }
    return static_cast<std::size_t>(Max(settings.max_catch_up, 1));
}

// Planned times before this one are too late.
std::optional<TimestampTz> oldest_of(const Settings &settings, TimestampTz now) {
    if (settings.catch_up == CatchUp::none)
        return now - k_tick;
    if (settings.grace == nullptr)
        return std::nullopt;
    const Interval &grace = *settings.grace;
    const auto micros = model::interval_length(grace.month, grace.day, grace.time, 0, model::k_max_timeout);
    return now - Max(micros.value_or(0), k_tick);
}

struct Due {
    Calendar calendar;
    TimestampTz last; // of all that are due
    int64 too_many;   // due planned times that will not get a task
    std::span<TimestampTz> times;
};

Calendar calendar_of(const Settings &settings) {
    const Maker *maker = find_maker(settings);
    return maker != nullptr ? maker->calendar(settings) : read_calendar(settings.cron, settings.timezone);
}

// The first planned times that are due and not too late. The next run handles the others.
Due first_due(const Schedule &schedule, TimestampTz now) {
    constexpr std::size_t k_batch = 10;
    Due due{calendar_of(schedule.settings), schedule.state.handled, 0, allocate<TimestampTz>(k_batch)};
    auto first = schedule.state.next_run;
    if (const auto oldest = oldest_of(schedule.settings, now); oldest && *first < *oldest) {
        const DueTimes late = due_times(due.calendar, *first - 1, *oldest - 1, 1);
        due.too_many = late.total;
        due.last = late.latest.back();
        first = next_time(due.calendar, due.last);
    }
    std::size_t count = 0;
    for (auto time = first; count < k_batch && time && *time <= now; time = next_time(due.calendar, *time))
        due.times[count++] = due.last = *time;
    due.times = due.times.first(count);
    return due;
}

Due find_due(const Schedule &schedule, TimestampTz now) {
    const Settings &settings = schedule.settings;
    if (settings.max_catch_up == k_all_times)
        return first_due(schedule, now);
    Due due{calendar_of(settings), schedule.state.handled, 0, {}};
    const TimestampTz until = settings.ends ? Min(now, *settings.ends - 1) : now;
    const DueTimes come = due_times(due.calendar, *schedule.state.next_run - 1, until, limit_of(settings));
    if (!come.latest.empty())
        due.last = come.latest.back();
    std::size_t first = 0;
    if (const auto oldest = oldest_of(settings, now))
        while (first < come.latest.size() && come.latest[first] < *oldest)
            first++;
    due.times = come.latest.subspan(first);
    due.too_many = come.total - static_cast<int64>(due.times.size());
    return due;
}

// ---- one planned time ----------------------------------------------------------------------------------------------

bool is_ours(const ErrorData *error, int sqlstate, const char *table, const char *constraint) {
    const auto is = [](const char *field, const char *value) { return field != nullptr && strcmp(field, value) == 0; };
    return error->sqlerrcode == sqlstate && is(error->schema_name, "scylla") && is(error->table_name, table) &&
           is(error->constraint_name, constraint);
}

void note_skipped(State &state, TimestampTz planned, const char *reason) {
    state.skipped++;
    state.last_skipped = planned;
    state.skip_reason = cstring_to_text(reason);
    state.failing_since = std::nullopt;
    state.retry_at = std::nullopt;
}

void note_submitted(Schedule &schedule, TimestampTz planned, text *name) {
    State &state = schedule.state;
    state.runs++;
    state.last_run = planned;
    state.last_submitted = GetCurrentTimestamp();
    state.last_task = name;
    state.last_error = nullptr;
    state.failed = std::nullopt;
    state.failing_since = std::nullopt;
    state.retry_at = std::nullopt;
}

void note_error(Schedule &schedule, const ErrorData *error) {
    State &state = schedule.state;
    state.failed = GetCurrentTimestamp();
    state.last_error = cstring_to_text(psprintf("%s: %s", unpack_sql_state(error->sqlerrcode), error->message));
    ereport(WARNING, (errmsg("schedule \"%s\" could not submit its task: %s", text_to_cstring(schedule.settings.name),
                             error->message)));
}

// The planned time is tried again, as long as it is not too late.
void note_failed(Schedule &schedule, const ErrorData *error) {
    note_error(schedule, error);
    State &state = schedule.state;
    const TimestampTz now = *state.failed;
    state.failing_since = Min(state.failing_since.value_or(now), now);
    state.retry_at = now + std::clamp(now - *state.failing_since, k_first_retry, k_last_retry);
}

// The name belongs to another task. That will not change, and later planned times must not wait.
void note_taken(Schedule &schedule, const ErrorData *error) {
    note_error(schedule, error);
    schedule.state.missed++;
    schedule.state.failing_since = std::nullopt;
    schedule.state.retry_at = std::nullopt;
}

// False: the planned time must be tried again.
bool deal_with(Schedule &schedule, TimestampTz planned) {
    const bool live = schedule.settings.overlap != Overlap::allow && is_last_live(schedule);
    if (live && schedule.settings.overlap == Overlap::skip) {
        note_skipped(schedule.state, planned,
                     psprintf("\"%s\" has not ended", text_to_cstring(schedule.state.last_task)));
        return true;
    }
    text *name = nullptr;
    const ErrorData *error = attempt([&] {
        if (live)
            cancel_last(schedule);
        name = submit_planned(schedule, planned);
    });
    if (error == nullptr)
        note_submitted(schedule, planned, name);
    else if (is_dedup_key_taken(error) || is_job_running(error))
        note_skipped(schedule.state, planned, error->message);
    else if (is_name_taken(error))
        note_taken(schedule, error);
    else {
        note_failed(schedule, error);
        return false;
    }
    return true;
}

// The first planned time after those that are handled.
std::optional<TimestampTz> next_run(const Schedule &schedule, const Calendar &calendar) {
    const Settings &settings = schedule.settings;
    const auto next =
        next_time(calendar, Max(schedule.state.handled, settings.starts ? *settings.starts - 1 : DT_NOBEGIN));
    return settings.ends && next && *next >= *settings.ends ? std::nullopt : next;
}

} // namespace

bool is_monitored() { return shmem::shared != nullptr && settings::monitor; }

bool monitor_ticks() {
    return settings::schedules == static_cast<int>(settings::Schedules::automatic) && is_monitored();
}

int limit_waiting(Patience patience) {
    const int level = NewGUCNestLevel();
    const char *timeout = patience == Patience::shortest ? "1" : "10"; // milliseconds
    (void)set_config_option("lock_timeout", timeout, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
    return level;
}

bool is_dedup_key_taken(const ErrorData *error) { return is_ours(error, ERRCODE_UNIQUE_VIOLATION, "task", "dedup"); }

bool is_name_taken(const ErrorData *error) {
    return is_ours(error, ERRCODE_UNIQUE_VIOLATION, "task", "unique") ||
           is_ours(error, ERRCODE_DUPLICATE_OBJECT, "plan", "unique");
}

bool is_job_running(const ErrorData *error) {
    return is_ours(error, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, "job", "live");
}

void note_next(const State &state) {
    if (state.next_run)
        shmem::note_time(shmem::Timer::schedule, Max(*state.next_run, state.retry_at.value_or(DT_NOBEGIN)));
}

std::optional<TimestampTz> next_run(const Schedule &schedule) {
    return next_run(schedule, calendar_of(schedule.settings));
}

int64 run_schedule(const text *name, TimestampTz now) {
    auto held = store::schedules::hold_due(name, store::schedule_home(), now);
    if (!held)
        return 0;
    Schedule &schedule = *held;
    const int64 runs = schedule.state.runs;
    const int settings_level = limit_waiting(schedule.state.failing_since ? Patience::shortest : Patience::short_);
    Due due{};
    if (const ErrorData *error = attempt([&] { due = find_due(schedule, now); }))
        note_failed(schedule, error); // its planned times cannot be computed
    else {
        schedule.state.handled = due.last;
        schedule.state.missed += due.too_many;
        for (const TimestampTz planned : due.times)
            if (!deal_with(schedule, planned)) {
                schedule.state.handled = planned - 1;
                break;
            }
        schedule.state.next_run = next_run(schedule, due.calendar);
    }
    store::schedules::write(schedule.settings.name, schedule.state);
    AtEOXact_GUC(true, settings_level);
    note_next(schedule.state);
    return schedule.state.runs - runs;
}

void note_undone(const text *name, const ErrorData *error) {
    auto held = store::schedules::hold(name);
    if (!held)
        return;
    note_failed(*held, error);
    store::schedules::write(held->settings.name, held->state);
    note_next(held->state);
}

namespace {

void mend_schedule(const text *name, TimestampTz now) {
    auto held = store::schedules::hold_ahead(name, now + k_tick);
    if (!held)
        return;
    State &state = held->state;
    const TimestampTz before = state.handled;
    state.handled = Min(state.handled, now);
    state.failing_since = std::nullopt;
    state.retry_at = std::nullopt;
    if (const ErrorData *error = attempt([&] { state.next_run = next_run(*held, calendar_of(held->settings)); }))
        note_failed(*held, error); // its planned times cannot be computed
    store::schedules::write(held->settings.name, held->state);
    note_next(state);
    if (before > now)
        ereport(WARNING, (errmsg("schedule \"%s\" had handled all times until %s", text_to_cstring(name),
                                 timestamptz_to_str(before)),
                          errdetail("That is in the future, so the clock was ahead. It goes on from now.")));
}

} // namespace

void mend_schedules(TimestampTz now) {
    for (const text *name : store::schedules::ahead(store::schedule_home(), now + k_tick))
        mend_schedule(name, now);
}

int64 run_due_schedules(TimestampTz now, Oid caller, bool all) {
    int64 submitted = 0;
    const auto schedules = store::schedules::in_order_of_times(store::schedule_home());
    const RowMemory memory = begin_row_memory();
    for (const store::schedules::Next &schedule : schedules) {
        CHECK_FOR_INTERRUPTS();
        if (schedule.at > now)
            continue;
        if (all || may_act_for(caller, schedule.owner))
            submitted += run_schedule(schedule.name, now);
        reset(memory);
    }
    end(memory);
    return submitted;
}

void warn_of_asleep(TimestampTz now) {
    const int64 asleep = store::schedules::count_asleep_due(store::schedule_home(), now);
    if (asleep > 0)
        ereport(WARNING, (errmsg(INT64_FORMAT " schedules are not armed in this database", asleep),
                          errdetail("They came with a dump, or the server was upgraded by pg_upgrade."),
                          errhint("To let them run here, call scylla.arm_schedules().")));
}

} // namespace scylla::schedule
