#include "model/workflow/signals.h"

#include <algorithm>

#include "model/bounds.h"
#include "model/workflow/param_json.h"
#include "model/workflow/steps.h"
#include "model/workflow/trigger_times.h"
#include "model/zone.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

// ---- time ----------------------------------------------------------------------------------------------------------

void check_time_zone(const Reader &reader, const Object &trigger) {
    const auto given = reader.text(trigger, "timezone");
    if (!given)
        return;
    const auto zone = read_zone(*given);
    if (!zone || (!zone->is_offset && reader.context().world.find_zone(*given) == nullptr))
        reader.problem(trigger.where.member("timezone"), quoted(*given) + " must be " + std::string(k_zone_rule));
}

// Why it cannot be read.
std::string rule_of_cron(std::string_view text) {
    Cron read;
    const CronFault fault = parse_cron(text, read);
    if (fault != CronFault::fields && fault != CronFault::none)
        return rule_of(fault);
    return "It must have the five fields of Unix (minute, hour, day of the month, month, day of the week), or the six "
           "or "
           "seven of Quartz (a second before them, a year from 1970 to 2099 behind them).";
}

void check_cron(const Reader &reader, std::string_view text, const Where &where) {
    const auto times = read_trigger_cron(text);
    if (!times || times->cron.seconds != 0)
        return reader.problem(where, quoted(text) + " is no cron expression. " + rule_of_cron(text));
    const std::int64_t least = reader.limits().trigger_interval;
    if (const std::int64_t gap = shortest_gap(times->cron); gap < least)
        reader.problem(where, quoted(text) + " has times " + show_seconds(gap) + " apart, and at least " +
                                  show_seconds(least) + " are required");
    const std::int64_t now = reader.context().world.now_millis() / 1'000;
    if (!next_time(times->cron, now, [](std::int64_t /*moment*/) { return ZoneSpan{0, false, 0, 0}; }))
        reader.problem(where, quoted(text) + " never comes: there is no such day from now on");
}

// A reference in it has nothing to refer to.
void check_trigger_duration(const Reader &reader, const Object &trigger, std::string_view name, std::int64_t least) {
    reader.duration(trigger, name, {least, reader.limits().of_steps.timeout});
    const Value *given = trigger.map.find(name);
    if (given == nullptr || given->type != sel::Type::string)
        return;
    if (given->view().find('$') != std::string_view::npos)
        reader.problem(trigger.where.member(name), "must not refer to parameters");
    else if (parse_millis(given->view()) && !read_trigger_seconds(given->view()))
        reader.problem(trigger.where.member(name), "must be a whole number of seconds, not " + quoted(given->view()));
}

void check_time_trigger(const Reader &reader, const Object &trigger) {
    constexpr std::string_view k_time_triggers[] = {"CRON", "PREDEFINED", "INTERVAL"};
    const auto type =
        reader.require_text(trigger, "type") ? reader.choice(trigger, "type", k_time_triggers) : std::nullopt;
    if (type == 0) {
        reader.refuse_others(trigger, {"type", "cron", "timezone", "fuzzy_max_delay", "grace", "max_catch_up"});
        if (const auto cron = reader.require_text(trigger, "cron"))
            check_cron(reader, *cron, trigger.where.member("cron"));
    } else if (type == 1) {
        reader.refuse_others(trigger, {"type", "expression", "timezone", "fuzzy_max_delay", "grace", "max_catch_up"});
        const auto name = reader.require_text(trigger, "expression");
        constexpr std::string_view k_names[] = {"@hourly", "@daily", "@weekly", "@monthly", "@yearly"};
        if (name && std::find(std::begin(k_names), std::end(k_names), *name) == std::end(k_names))
            reader.problem(trigger.where.member("expression"),
                           quoted(*name) + " is none of @hourly, @daily, @weekly, @monthly and @yearly");
    } else if (type == 2) {
        reader.refuse_others(trigger, {"type", "interval", "timezone", "fuzzy_max_delay", "grace", "max_catch_up"});
        if (!reader.has(trigger, "interval"))
            reader.problem(trigger.where, R"(has no "interval")");
        check_trigger_duration(reader, trigger, "interval", reader.limits().trigger_interval);
    }
    check_time_zone(reader, trigger);
    check_trigger_duration(reader, trigger, "fuzzy_max_delay", 0);
    check_trigger_duration(reader, trigger, "grace", 120);
    reader.whole(trigger, "max_catch_up", {1, k_max_catch_up});
}

// ---- signals -------------------------------------------------------------------------------------------------------

bool check_operator(const Reader &reader, const Object &match) {
    constexpr std::string_view k_operators[] = {"=", "<", "<=", ">", ">="};
    const auto sign = reader.text(match, "operator");
    if (sign && std::find(std::begin(k_operators), std::end(k_operators), *sign) == std::end(k_operators))
        reader.problem(match.where.member("operator"), quoted(*sign) + " is none of = < <= > >=");
    return sign && *sign != "=";
}

// Calls use for each member; true: its operator is a range operator, which at most one member may have.
template <typename Use> void check_matches(const Reader &reader, const Object &of, Use use) {
    const sel::Map *matches = reader.object(of, "match_params");
    if (matches == nullptr)
        return;
    const Where where = of.where.member("match_params");
    int ranges = 0;
    for (const sel::Map::Member &member : matches->all()) {
        const Where at = where.member(member.key.view());
        if (const sel::Map *match = reader.as_object(member.value, at))
            ranges += use(Object{*match, at}) ? 1 : 0;
    }
    if (ranges > 1)
        reader.problem(where, "more than one parameter is compared by <, <=, > or >=");
}

bool check_literal_match(const Reader &reader, const Object &match) {
    reader.refuse_others(match, {"value", "operator"});
    const Value *value = match.map.find("value");
    if (value == nullptr || (value->type != sel::Type::string && value->type != sel::Type::long_))
        reader.problem(match.where, R"(must have a "value" that is a string or a whole number)");
    return check_operator(reader, match);
}

bool check_param_match(const Reader &reader, const Object &match) {
    reader.refuse_others(match, {"param", "operator"});
    const Value *param = match.map.find("param");
    if (param == nullptr)
        reader.problem(match.where, R"(has no "param")");
    else if (const auto read = read_param(reader.context(), *param, match.where.member("param"), reader.problems()))
        if (read->type != ParamType::string && read->type != ParamType::long_)
            reader.problem(match.where.member("param"), "must be STRING or LONG");
    return check_operator(reader, match);
}

// How many join keys a signal has.
std::size_t check_trigger_signal(const Reader &reader, const Object &signal) {
    reader.refuse_others(signal, {"match_params", "join_keys"});
    check_matches(reader, signal, [&](const Object &match) { return check_literal_match(reader, match); });
    const sel::Array *keys = reader.array(signal, "join_keys");
    if (keys == nullptr)
        return 0;
    const sel::Map *matches = reader.object(signal, "match_params");
    const Where where = signal.where.member("join_keys");
    for (std::uint32_t i = 0; i < keys->size; i++) {
        const Value &key = keys->items[i];
        if (key.type != sel::Type::string)
            reader.problem(where.element(i), "must be a string");
        else if (matches != nullptr && matches->find(key.view()) != nullptr)
            reader.problem(where.element(i), quoted(key.view()) + " is in match_params, too");
    }
    return keys->size;
}

void check_signal_trigger(const Reader &reader, const Object &trigger) {
    reader.refuse_others(trigger, {"definitions", "params", "condition", "dedup_expr", "grace", "max_catch_up"});
    if (reader.has(trigger, "max_catch_up"))
        reader.problem(trigger.where.member("max_catch_up"),
                       "is for time triggers: each signal counts; \"grace\" bounds what an action catches up with");
    reader.condition(trigger, "condition");
    reader.expression(trigger, "dedup_expr");
    check_trigger_duration(reader, trigger, "grace", 1);
    read_user_params(reader, trigger, "params");
    const sel::Map *signals = reader.object(trigger, "definitions");
    if (signals == nullptr || signals->size == 0)
        return reader.problem(trigger.where, R"(must have a signal in "definitions")");
    if (const std::int64_t most = reader.limits().trigger_signals; signals->size > most)
        return reader.problem(trigger.where.member("definitions"), too_many(signals->size, "signals", most));
    const Where where = trigger.where.member("definitions");
    std::optional<std::size_t> keys;
    for (const sel::Map::Member &member : signals->all()) {
        const Where at = where.member(member.key.view());
        const sel::Map *signal = reader.as_object(member.value, at);
        if (signal == nullptr)
            continue;
        const std::size_t own = check_trigger_signal(reader, {*signal, at});
        if (keys.value_or(own) != own)
            reader.problem(at, "has " + std::to_string(own) + " join_keys, another signal " + std::to_string(*keys));
        keys = own;
    }
}

void check_dependency(const Reader &reader, const Object &dependency) {
    reader.refuse_others(dependency, {"name", "match_params"});
    reader.require_text(dependency, "name");
    check_matches(reader, dependency, [&](const Object &match) { return check_param_match(reader, match); });
}

void check_output(const Reader &reader, const Object &output) {
    reader.refuse_others(output, {"name", "params", "payload"});
    reader.require_text(output, "name");
    const Where where = output.where.member("params");
    const ParamMap params = read_user_params(reader, output, "params");
    const ParamMap payload = read_user_params(reader, output, "payload");
    for (const auto &[name, param] : params) {
        if (param.type != ParamType::string && param.type != ParamType::long_)
            reader.problem(where.member(name), "must be STRING or LONG");
        if (payload.find(name) != nullptr)
            reader.problem(output.where.member("payload").member(name), "is in params, too");
    }
}

// The elements of an array of objects.
template <typename Use> void for_each_object(const Reader &reader, const Object &of, std::string_view name, Use use) {
    const sel::Array *array = reader.array(of, name);
    const Where where = of.where.member(name);
    for (std::uint32_t i = 0; array != nullptr && i < array->size; i++) {
        const Where at = where.element(i);
        if (const sel::Map *object = reader.as_object(array->items[i], at))
            use(Object{*object, at});
    }
}

} // namespace

void check_time_triggers(const Reader &reader, const Object &workflow) {
    for_each_object(reader, workflow, "time_triggers", [&](const Object &one) { check_time_trigger(reader, one); });
}
void check_signal_triggers(const Reader &reader, const Object &workflow) {
    for_each_object(reader, workflow, "signal_triggers", [&](const Object &one) { check_signal_trigger(reader, one); });
}
void check_signal_dependencies(const Reader &reader, const Object &step) {
    for_each_object(reader, step, "signal_dependencies", [&](const Object &one) { check_dependency(reader, one); });
}
void check_signal_outputs(const Reader &reader, const Object &step) {
    for_each_object(reader, step, "signal_outputs", [&](const Object &one) { check_output(reader, one); });
}

std::string_view first_time_zone(const sel::Map &workflow) noexcept {
    const Value *triggers = workflow.find("time_triggers");
    if (triggers == nullptr || triggers->type != sel::Type::array || triggers->array->size == 0)
        return {};
    const Value &first = triggers->array->items[0];
    const Value *zone = first.type == sel::Type::map ? first.map->find("timezone") : nullptr;
    return zone != nullptr && zone->type == sel::Type::string ? zone->view() : std::string_view{};
}

} // namespace scylla::model::workflow
