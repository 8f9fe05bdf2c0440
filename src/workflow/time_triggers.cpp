// Time triggers (docs/workflows.md, Time triggers): schedules that start runs.
#include "model/workflow/trigger_times.h"
#include "model/zone.h"
#include "pg/growing.h"
#include "pg/hash.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "schedule/change.h"
#include "schedule/run.h"
#include "schedule/submission.h"
#include "store/plans.h"
#include "store/schedule/schedules.h"
#include "workflow/definitions.h"
#include "workflow/runs.h"
#include "workflow/triggers.h"

namespace scylla::workflow {

using model::workflow::TriggerTimes;
using schedule::Calendar;
using store::schedules::Settings;

namespace {

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

// Without what is the default: triggers that differ only by that are the same.
Jsonb *without_defaults(Jsonb *trigger) {
    const auto without = [](Jsonb *object, const char *member) {
        return DatumGetJsonbP(DirectFunctionCall2(jsonb_delete, JsonbPGetDatum(object), CStringGetTextDatum(member)));
    };
    const auto zone = model::read_zone(string_member(trigger, "timezone"));
    if (zone && zone->is_offset && zone->offset == 0)
        trigger = without(trigger, "timezone");
    return model::workflow::read_trigger_seconds(scalar_member(trigger, "fuzzy_max_delay")) == 0
               ? without(trigger, "fuzzy_max_delay")
               : trigger;
}

// A delay from 0 to fuzzy_max_delay in seconds, the same for all times of the trigger.
int64 delay_of(const text *workflow, Jsonb *trigger) {
    const int64 most = model::workflow::read_trigger_seconds(scalar_member(trigger, "fuzzy_max_delay")).value_or(0);
    const char *seed = psprintf("%s:%s", text_to_cstring(workflow), json_text(trigger).data());
    return most <= 0 ? 0 : static_cast<int64>(hash_of(seed) % static_cast<uint64>(most + 1));
}

Jsonb *make_request(const text *workflow, Jsonb *trigger) {
    json::Builder object = json::build_object();
    object.member(k_trigger_member, workflow);
    object.member("delay", json::of_whole(delay_of(workflow, trigger)));
    object.member("trigger", trigger);
    return object.finish();
}

// How many of the planned times that have passed start runs, the latest; schedule::k_all_times: all.
int32 max_catch_up_of(Jsonb *trigger) {
    const text *given = to_text(scalar_member(trigger, "max_catch_up"));
    return VARSIZE_ANY_EXHDR(given) == 0 ? schedule::k_all_times : pg_strtoint32(text_to_cstring(given));
}

Settings settings_of(const text *workflow, Jsonb *trigger) {
    Settings settings{};
    settings.name = name_of_trigger(workflow, trigger);
    settings.cron = times_of(trigger);
    settings.timezone = zone_of(trigger);
    settings.task = make_request(workflow, trigger);
    settings.overlap = store::Overlap::allow;
    settings.catch_up = store::CatchUp::all;
    settings.grace = grace_of(trigger);
    settings.max_catch_up = max_catch_up_of(trigger);
    settings.jitter = static_cast<Interval *>(palloc0(sizeof(Interval)));
    return settings;
}

// ---- its times -----------------------------------------------------------------------------------------------------

Jsonb *trigger_of(const Settings &schedule) { return json_member(schedule.task, "trigger"); }

int64 delay_of(const Settings &schedule) {
    const auto seconds = model::workflow::read_trigger_seconds(scalar_member(schedule.task, "delay"));
    return seconds.value_or(0) * USECS_PER_SEC;
}

Calendar calendar(const Settings &schedule) {
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
    json::Builder object = json::build_object();
    object.member("RUN_TS", json::of_whole(millis));
    return object.finish();
}

Jsonb *make_initiator(const Settings &schedule, int64 millis) {
    json::Builder object = json::build_object();
    object.member("type", "TIME");
    object.member("timezone", schedule.timezone);
    object.member("trigger_time", json::of_whole(millis));
    object.member("schedule", schedule.name);
    return object.finish();
}

text *start_run(const Settings &schedule, TimestampTz time) {
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

} // namespace

// ---- those of a workflow -------------------------------------------------------------------------------------------

void keep_time_triggers(const text *workflow) {
    Growing<Settings> wanted;
    const auto is_wanted = [&wanted](const text *name) {
        return std::any_of(wanted.all().begin(), wanted.all().end(),
                           [name](const Settings &one) { return equal(one.name, name); });
    };
    for (Jsonb *trigger : active_triggers(workflow, TriggerKind::time)) {
        const Settings settings = settings_of(workflow, without_defaults(trigger));
        if (!is_wanted(settings.name))
            wanted.add(settings);
    }
    for (const text *name : store::schedules::made_for(workflow))
        if (!is_wanted(name))
            schedule::remove_made(name);
    const auto head = wanted.size() == 0 ? std::nullopt : find(workflow);
    for (const Settings &each : wanted.all())
        schedule::put_made(each, head->owner);
}

void register_time_triggers() {
    schedule::register_maker({.member = k_trigger_member, .calendar = calendar, .make = start_run});
}

} // namespace scylla::workflow
