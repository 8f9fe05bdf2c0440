#include "model/workflow/param_defaults.h"

#include <span>

namespace scylla::model::workflow {

namespace {

Param expression(ParamType type, std::string text) {
    Param param{.type = type, .form = ParamForm::expression};
    param.expression = std::move(text);
    return param;
}

void put_reserved(ParamMap &params, std::string_view name, ParamType type, std::string text) {
    Param param = expression(type, std::move(text));
    param.system_mode = SystemMode::reserved;
    params.put(name, std::move(param));
}

void put_default(ParamMap &params, std::string_view name, ParamType type, std::string text) {
    Param param = expression(type, std::move(text));
    param.mode = ParamMode::mutable_on_start;
    params.put(name, std::move(param));
}

// The time zone of the run's trigger if it has one, otherwise another.
std::string zone_of(std::string_view field, std::string_view other) {
    return "String zone = params.getFromInstance('" + std::string(field) + "'); zone == null || zone == '' ? " +
           std::string(other) + " : zone";
}

// A day or an hour of one of the moments, shown in a zone.
struct Shown {
    std::string_view name;
    std::string_view moment;
    std::string_view zone;
    std::string_view shift;
    std::string_view pattern;
};
constexpr std::string_view k_cron_zone = "WORKFLOW_CRON_TIMEZONE";
constexpr std::string_view k_utc = "'UTC'";
constexpr std::string_view k_pacific = "'America/Los_Angeles'";
constexpr std::string_view k_day_pattern = "yyyyMMdd";
constexpr std::string_view k_hour = "HH";
constexpr Shown k_of_the_run[] = {
    {"TARGET_RUN_DATE", "RUN_TS", k_cron_zone, "", k_day_pattern},
    {"TARGET_RUN_HOUR", "RUN_TS", k_cron_zone, "", k_hour},
};
constexpr Shown k_derived[] = {
    {"DERIVED_RUN_DATE_US_PACIFIC", "DERIVED_RUN_TS", k_pacific, "", k_day_pattern},
    {"DERIVED_RUN_DATE_US_PACIFIC_MINUS_ONE", "DERIVED_RUN_TS", k_pacific, ".minusDays(1)", k_day_pattern},
    {"DERIVED_RUN_DATE_UTC", "DERIVED_RUN_TS", k_utc, "", k_day_pattern},
    {"DERIVED_RUN_DATE_UTC_MINUS_ONE", "DERIVED_RUN_TS", k_utc, ".minusDays(1)", k_day_pattern},
    {"DERIVED_RUN_DATE_UTC_PLUS_ONE", "DERIVED_RUN_TS", k_utc, ".plusDays(1)", k_day_pattern},
    {"DERIVED_RUN_DATE_UTC_MINUS_ONE_HOUR", "DERIVED_RUN_TS", k_utc, ".minusHours(1)", k_day_pattern},
    {"DERIVED_RUN_DATE_UTC_PLUS_ONE_HOUR", "DERIVED_RUN_TS", k_utc, ".plusHours(1)", k_day_pattern},
    {"DERIVED_RUN_HOUR_US_PACIFIC", "DERIVED_RUN_TS", k_pacific, "", k_hour},
    {"DERIVED_RUN_HOUR_UTC", "DERIVED_RUN_TS", k_utc, "", k_hour},
    {"DERIVED_RUN_HOUR_UTC_MINUS_ONE_HOUR", "DERIVED_RUN_TS", k_utc, ".minusHours(1)", k_hour},
    {"DERIVED_RUN_HOUR_UTC_PLUS_ONE_HOUR", "DERIVED_RUN_TS", k_utc, ".plusHours(1)", k_hour},
    {"LOCAL_RUN_DATE", "RUN_TS", k_cron_zone, "", k_day_pattern},
    {"RUN_DATE", "RUN_TS", k_utc, "", k_day_pattern},
    {"RUN_DATE_MINUS_1", "RUN_TS", k_utc, ".minusDays(1)", k_day_pattern},
    {"RUN_DATE_MINUS_7", "RUN_TS", k_utc, ".minusDays(7)", k_day_pattern},
};

void put_shown(ParamMap &params, std::span<const Shown> all) {
    for (const auto &[name, moment, zone, shift, pattern] : all)
        put_default(params, name, ParamType::string,
                    "new DateTime(" + std::string(moment) + ").withZone(DateTimeZone.forID(" + std::string(zone) +
                        "))" + std::string(shift) + ".toString('" + std::string(pattern) + "')");
}

ParamMap make_workflow_params() {
    ParamMap params;
    put_default(params, "DSL_DEFAULT_TZ", ParamType::string, zone_of("FIRST_TIME_TRIGGER_TIMEZONE", k_utc));
    put_default(params, k_cron_zone, ParamType::string, zone_of("INITIATOR_TIMEZONE", "DSL_DEFAULT_TZ"));
    put_default(params, "RUN_TS", ParamType::long_, "System.currentTimeMillis()");
    put_shown(params, k_of_the_run);
    // By the time of the run, whose hour is the second of two where clocks are put back; a start may give another hour.
    put_default(params, "DERIVED_RUN_TS", ParamType::long_,
                "DateTime hour = new DateTime(RUN_TS, DateTimeZone.forID(WORKFLOW_CRON_TIMEZONE)).withMinuteOfHour(0)"
                ".withSecondOfMinute(0).withMillisOfSecond(0); "
                "hour.toString('yyyyMMddHH') == TARGET_RUN_DATE + TARGET_RUN_HOUR ? hour.getMillis() : "
                "Util.dateIntHourToTs(TARGET_RUN_DATE, TARGET_RUN_HOUR, WORKFLOW_CRON_TIMEZONE, 0, 0)");
    put_shown(params, k_derived);
    put_reserved(params, "owner", ParamType::string, "params.getFromInstance('owner')");
    put_reserved(params, "workflow_id", ParamType::string, "params.getFromInstance('workflow_id')");
    params.put("job_template_version", {.type = ParamType::string, .system_mode = SystemMode::optional});
    return params;
}

ParamMap make_step_params() {
    ParamMap params;
    put_reserved(params, "workflow_instance_id", ParamType::long_, "params.getFromInstance('workflow_instance_id')");
    put_reserved(params, "step_id", ParamType::string, "params.getFromStep('step_id')");
    put_reserved(params, "step_attempt_id", ParamType::long_, "params.getFromStep('step_attempt_id')");
    put_reserved(params, "step_instance_uuid", ParamType::string, "params.getFromStep('step_instance_uuid')");
    return params;
}

} // namespace

// Made once, and never freed: nothing is to run when a process ends.
const ParamMap &default_workflow_params() {
    static const auto *const params = new ParamMap(make_workflow_params());
    return *params;
}

const ParamMap &default_step_params() {
    static const auto *const params = new ParamMap(make_step_params());
    return *params;
}

ParamMap default_params_of_kind(StepKind kind) {
    ParamMap params;
    if (kind == StepKind::subworkflow) {
        params.put(
            "subworkflow_id",
            {.type = ParamType::string, .mode = ParamMode::mutable_on_start, .system_mode = SystemMode::required});
        Param version = expression(ParamType::string, "'active'");
        version.mode = ParamMode::mutable_on_start;
        version.system_mode = SystemMode::provided;
        params.put("subworkflow_version", std::move(version));
    }
    if (kind == StepKind::foreach || kind == StepKind::while_) {
        params.put("loop_params",
                   {.type = ParamType::map, .mode = ParamMode::mutable_on_start, .system_mode = SystemMode::required});
        put_reserved(params, "loop_index", ParamType::long_, "-1");
    }
    if (kind == StepKind::while_)
        put_reserved(params, "condition", ParamType::boolean, "false");
    return params;
}

} // namespace scylla::model::workflow
