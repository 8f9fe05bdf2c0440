// Time triggers (docs/workflows.md, Time triggers): schedules that start runs.
#include "model/workflow/trigger_times.h"
#include "pg/hash.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "schedule/change.h"
#include "schedule/submission.h"
#include "store/plans.h"
#include "store/spi_rows.h"
#include "workflow/definitions.h"
#include "workflow/runs.h"
#include "workflow/triggers.h"

namespace scylla::workflow {

using model::workflow::TriggerTimes;
using schedule::Calendar;
using store::Parameters;
using store::ScheduleSettings;

namespace {

constinit SPIPlanPtr kept_statement = nullptr;

constexpr int64 k_epoch = static_cast<int64>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY * USECS_PER_SEC;

// ---- one trigger ---------------------------------------------------------------------------------------------------

// As shown by the view of schedules.
text *times_of(Jsonb *trigger) {
    for (const char *name : {"cron", "expression"})
        if (const auto given = string_member(trigger, name); !given.empty())
            return to_text(given);
    const auto seconds = model::workflow::read_trigger_seconds(scalar_member(trigger, "interval"));
    return cstring_to_text(psprintf(INT64_FORMAT " seconds", static_cast<int64>(seconds.value_or(0))));
}

text *zone_of(Jsonb *trigger) {
    const auto given = string_member(trigger, "timezone");
    return given.empty() ? cstring_to_text("UTC") : to_text(given);
}

// A delay from 0 to fuzzy_max_delay in seconds, the same for all times of the trigger.
int64 delay_of(const text *workflow, Jsonb *trigger) {
    const int64 most = model::workflow::read_trigger_seconds(scalar_member(trigger, "fuzzy_max_delay")).value_or(0);
    const char *seed = psprintf("%s:%s", text_to_cstring(workflow), json_text(trigger).data());
    return most <= 0 ? 0 : static_cast<int64>(hash_of(seed) % static_cast<uint64>(most + 1));
}

Jsonb *make_request(const text *workflow, Jsonb *trigger) {
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::push_text(&state, k_trigger_member, workflow);
    json::push(&state, "delay", json::of_whole(delay_of(workflow, trigger)));
    json::push_json(&state, "trigger", trigger);
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

ScheduleSettings settings_of(const text *workflow, Jsonb *trigger) {
    ScheduleSettings settings{};
    settings.name = name_of_trigger(workflow, trigger);
    settings.cron = times_of(trigger);
    settings.timezone = zone_of(trigger);
    settings.task = make_request(workflow, trigger);
    settings.overlap = store::Overlap::allow;
    settings.catch_up = store::CatchUp::all;
    settings.max_catch_up = 1;
    settings.jitter = static_cast<Interval *>(palloc0(sizeof(Interval)));
    return settings;
}

// ---- its times -----------------------------------------------------------------------------------------------------

Jsonb *trigger_of(const ScheduleSettings &schedule) { return json_member(schedule.task, "trigger"); }

int64 delay_of(const ScheduleSettings &schedule) {
    const auto seconds = model::workflow::read_trigger_seconds(scalar_member(schedule.task, "delay"));
    return seconds.value_or(0) * USECS_PER_SEC;
}

Calendar calendar(const ScheduleSettings &schedule) {
    Jsonb *trigger = trigger_of(schedule);
    const bool is_interval = string_member(trigger, "type") == "INTERVAL";
    const auto times = is_interval ? model::workflow::read_trigger_interval(scalar_member(trigger, "interval"))
                                   : model::workflow::read_trigger_cron(view(schedule.cron));
    if (!times)
        elog(ERROR, "the times of schedule \"%s\" cannot be read", text_to_cstring(schedule.name));
    return {times->cron, schedule::read_timezone(schedule.timezone),
            delay_of(schedule) + times->second * USECS_PER_SEC};
}

Jsonb *make_params(int64 millis) {
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::push(&state, "RUN_TS", json::of_whole(millis));
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

Jsonb *make_initiator(const ScheduleSettings &schedule, int64 millis) {
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::push(&state, "type", json::of_text("TIME"));
    json::push_text(&state, "timezone", schedule.timezone);
    json::push(&state, "trigger_time", json::of_whole(millis));
    json::push_text(&state, "schedule", schedule.name);
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

text *start_run(const ScheduleSettings &schedule, TimestampTz time) {
    const int64 millis = (time - delay_of(schedule) + k_epoch) / 1'000;
    const auto workflow = string_member(schedule.task, k_trigger_member);
    const text *id = to_text(workflow);
    const text *request_id = cstring_to_text(psprintf("time:%s:" INT64_FORMAT, hash_in(schedule.name), millis / 1'000));
    const Started started = start({.workflow = id,
                                   .params = make_params(millis),
                                   .version = cstring_to_text("active"),
                                   .request_id = request_id,
                                   .initiator = make_initiator(schedule, millis),
                                   .keep_failed = true});
    return cstring_to_text(psprintf("%s%.*s/" INT64_FORMAT "/%d", store::k_run_prefix.data(),
                                    static_cast<int>(workflow.size()), workflow.data(), started.instance, started.run));
}

// ---- those of a workflow -------------------------------------------------------------------------------------------

std::span<text *const> schedules_of(const text *workflow) {
    Parameters parameters;
    parameters.add(workflow);
    return store::select<text *>(&kept_statement,
                                 "select name from scylla.schedule where task operator(pg_catalog.?) 'workflow' "
                                 "and task operator(pg_catalog.->>) 'workflow' operator(pg_catalog.=) $1 and not task "
                                 "operator(pg_catalog.?) 'queue' order by name",
                                 parameters, SPI_OK_SELECT, [](uint64 row) { return store::Columns(row).next_text(); });
}

} // namespace

void keep_time_triggers(const text *workflow) {
    const auto triggers = active_triggers(workflow, TriggerKind::time);
    const auto wanted = allocate<ScheduleSettings>(triggers.size());
    for (std::size_t i = 0; i < triggers.size(); i++)
        wanted[i] = settings_of(workflow, triggers[i]);
    for (const text *name : schedules_of(workflow))
        if (std::none_of(wanted.begin(), wanted.end(),
                         [&](const ScheduleSettings &one) { return view(one.name) == view(name); }))
            schedule::remove_made(name);
    const auto head = wanted.empty() ? std::nullopt : find(workflow);
    for (const ScheduleSettings &each : wanted)
        schedule::put_made(each, head->owner);
}

void register_time_triggers() {
    schedule::register_maker({.member = k_trigger_member, .calendar = calendar, .make = start_run});
}

} // namespace scylla::workflow
