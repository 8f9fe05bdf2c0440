// The items of a backfill: a list of parameters, or all combinations of lists and ranges.
#include "model/bounds.h"
#include "pg/error.h"
#include "pg/growing.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/moment.h"
#include "pg/text.h"
#include "workflow/backfills.h"
#include "store/workflow/types.h"

namespace scylla::workflow {

namespace {

// ---- ranges --------------------------------------------------------------------------------------------------------

enum class Format : std::uint8_t { date, dateint, timestamp, millis };
constexpr std::array<std::string_view, 4> k_formats = {"date", "dateint", "timestamp", "millis"};

// The members of a range. Null: not given, or given as null.
struct Range {
    const char *name; // of the parameter
    JsonbValue *from = nullptr;
    JsonbValue *to = nullptr;
    JsonbValue *step = nullptr;
    JsonbValue *format = nullptr;
    JsonbValue *timezone = nullptr;

    const char *argument(const char *member) const { return psprintf("items.%s.%s", name, member); }
};

JsonbValue *copy(const JsonbValue *value) {
    auto *copied = static_cast<JsonbValue *>(palloc(sizeof(JsonbValue)));
    *copied = *value;
    return copied;
}

Range read_range(const char *name, JsonbContainer *object) {
    Range range{name};
    json::for_each_member(object, [&](const char *member, JsonbValue *value) {
        constexpr std::array<std::string_view, 5> k_members = {"from", "to", "step", "format", "timezone"};
        JsonbValue **const places[] = {&range.from, &range.to, &range.step, &range.format, &range.timezone};
        for (std::size_t i = 0; i < k_members.size(); i++)
            if (k_members[i] == member) {
                *places[i] = value->type == jbvNull ? nullptr : copy(value);
                return;
            }
        error::bad_argument(range.argument(member), json::show(value),
                            "A range has from, to, step, format and timezone.");
    });
    for (const auto &[member, value] : {std::pair{"from", range.from}, std::pair{"to", range.to}})
        if (value == nullptr)
            error::bad_argument(range.argument(member), "null", "A range must have it.");
    return range;
}

[[noreturn]] void too_many() {
    error::bad_argument("items", psprintf("more than %d", k_max_items), "A backfill has at most that many items.");
}

void add_value(Growing<Jsonb *> *values, JsonbValue value) {
    if (values->size() == static_cast<std::size_t>(k_max_items))
        too_many();
    values->add(JsonbValueToJsonb(&value));
}

int64 to_whole(const char *argument, JsonbValue *value) {
    if (value->type == jbvNumeric) {
        const Datum number = NumericGetDatum(value->val.numeric);
        const Datum rounded = DirectFunctionCall2(numeric_round, number, Int32GetDatum(0));
        const Datum most = DirectFunctionCall1(int8_numeric, Int64GetDatum(INT64_C(1) << 62));
        if (DatumGetBool(DirectFunctionCall2(numeric_eq, number, rounded)) &&
            DatumGetBool(DirectFunctionCall2(numeric_lt, DirectFunctionCall1(numeric_abs, number), most)))
            return DatumGetInt64(DirectFunctionCall1(numeric_int8, number));
    }
    error::bad_argument(argument, json::show(value), "It must be a whole number, as from is.");
}

std::span<Jsonb *const> whole_range(const Range &range) {
    const int64 from = to_whole(range.argument("from"), range.from);
    const int64 to = to_whole(range.argument("to"), range.to);
    const int64 step = range.step == nullptr ? 1 : to_whole(range.argument("step"), range.step);
    if (step < 1)
        error::bad_argument(range.argument("step"), json::show(range.step), "It must be at least 1.");
    for (const auto &[member, value] : {std::pair{"format", range.format}, std::pair{"timezone", range.timezone}})
        if (value != nullptr)
            error::bad_argument(range.argument(member), json::show(value), "It is only for times.");
    Growing<Jsonb *> values;
    for (int64 at = from; at <= to; at += step)
        add_value(&values, json::of_whole(at));
    return values.all();
}

Format to_format(const Range &range) {
    if (range.format == nullptr)
        return Format::date;
    const text *given = json::to_text(range.argument("format"), range.format);
    for (std::size_t i = 0; i < k_formats.size(); i++)
        if (view(given) == k_formats[i])
            return static_cast<Format>(i);
    error::bad_argument(range.argument("format"), json::show(range.format),
                        "It must be \"date\", \"dateint\", \"timestamp\" or \"millis\".");
}

struct pg_tm fields_of(Timestamp time) {
    struct pg_tm fields {};
    fsec_t fraction = 0;
    if (timestamp2tm(time, nullptr, &fields, &fraction, nullptr, nullptr) != 0)
        elog(ERROR, "timestamp out of range");
    return fields;
}

JsonbValue show_time(Format format, const pg_tz *zone, TimestampTz at) {
    if (format == Format::millis)
        return json::of_whole(store::to_millis(at));
    const struct pg_tm shown = fields_of(format == Format::timestamp ? at : local_in(zone, at));
    const int64 dateint = shown.tm_year * INT64_C(10000) + shown.tm_mon * 100 + shown.tm_mday;
    if (format == Format::dateint)
        return json::of_whole(dateint);
    const char *day = psprintf("%04d-%02d-%02d", shown.tm_year, shown.tm_mon, shown.tm_mday);
    if (format == Format::date)
        return json::of_text(day);
    return json::of_text(psprintf("%sT%02d:%02d:%02dZ", day, shown.tm_hour, shown.tm_min, shown.tm_sec));
}

// Months and days are steps in the calendar, counted from the first time (so that the 31st stays the 31st where it
// exists). Hours are elapsed time, even if clocks change.
struct Steps {
    Moment from;
    Interval *step;
    const pg_tz *zone;

    bool by_calendar() const { return step->month != 0 || step->day != 0; }

    // Nothing: the zone skipped that day.
    std::optional<TimestampTz> place(int64 number) const {
        Interval way = *DatumGetIntervalP(
            DirectFunctionCall2(interval_mul, IntervalPGetDatum(step), Float8GetDatum(static_cast<float8>(number))));
        Interval passing{};
        passing.time = way.time;
        way.time = 0;
        const Timestamp local = DatumGetTimestamp(
            DirectFunctionCall2(timestamp_pl_interval, TimestampGetDatum(from.local), IntervalPGetDatum(&way)));
        const auto begin = number == 0 || !by_calendar() ? std::optional(from.at) : moment_in(zone, local);
        if (!begin)
            ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("timestamp out of range")));
        if (by_calendar() && day_of(local_in(zone, *begin)) != day_of(local))
            return std::nullopt;
        return DatumGetTimestampTz(
            DirectFunctionCall2(timestamptz_pl_interval, TimestampTzGetDatum(*begin), IntervalPGetDatum(&passing)));
    }

private:
    static int64 day_of(Timestamp local) { return model::cron_detail::floor_div(local, USECS_PER_DAY); }
};

Interval *default_step() {
    auto *step = static_cast<Interval *>(palloc0(sizeof(Interval)));
    step->day = 1;
    return step;
}

const pg_tz *to_zone(const Range &range) {
    if (range.timezone == nullptr)
        return find_zone("UTC");
    const char *argument = range.argument("timezone");
    const pg_tz *zone = find_zone(view(json::to_text(argument, range.timezone)));
    if (zone == nullptr)
        error::bad_argument(argument, json::show(range.timezone),
                            psprintf("It must be %s.", model::k_zone_rule.data()));
    return zone;
}

[[noreturn]] void too_coarse(const Range &range) {
    error::bad_argument(range.argument("format"), range.format == nullptr ? "\"date\"" : json::show(range.format),
                        "Two times of the range would be the same: use a finer format, or a step of whole days.");
}

std::span<Jsonb *const> time_range(const Range &range) {
    const pg_tz *zone = to_zone(range);
    const Moment from = json::to_moment(range.argument("from"), range.from, zone);
    const Moment to = json::to_moment(range.argument("to"), range.to, zone);
    Interval *step = range.step == nullptr ? default_step() : json::to_interval(range.argument("step"), range.step);
    const Format format = to_format(range);
    const Steps steps{from, step, zone};
    if (model::interval_length(step->month, step->day, step->time, 1, model::k_max_retention) == std::nullopt)
        error::bad_argument(range.argument("step"), json::show(range.step),
                            "It must be more than 0, and at most 100 years.");
    const bool to_is_skipped = local_in(zone, to.at) != to.local;
    Growing<Jsonb *> values;
    for (int64 number = 0;; number++) {
        CHECK_FOR_INTERRUPTS();
        const auto at = steps.place(number);
        if (!at)
            continue;
        if (*at > to.at || (to_is_skipped && local_in(zone, *at) > to.local))
            break;
        const auto count = values.size();
        add_value(&values, show_time(format, zone, *at));
        if (count > 0 && compareJsonbContainers(&values.all()[count - 1]->root, &values.all()[count]->root) == 0)
            too_coarse(range);
    }
    return values.all();
}

// ---- combinations --------------------------------------------------------------------------------------------------

struct Axis {
    const char *name;
    std::span<Jsonb *const> values;
};

std::span<Jsonb *const> elements_of(JsonbContainer *array) {
    const uint32 size = JsonContainerSize(array);
    if (size > static_cast<uint32>(k_max_items))
        too_many();
    Growing<Jsonb *> values;
    for (uint32 i = 0; i < size; i++)
        values.add(JsonbValueToJsonb(getIthJsonbValueFromContainer(array, i)));
    return values.all();
}

Axis read_axis(const char *name, JsonbValue *value) {
    const bool container = value->type == jbvBinary;
    if (container && JsonContainerIsArray(value->val.binary.data))
        return {name, elements_of(value->val.binary.data)};
    if (!container)
        error::bad_argument(psprintf("items.%s", name), json::show(value), "It must be a list or a range.");
    const Range range = read_range(name, value->val.binary.data);
    return {name, range.from->type == jbvNumeric ? whole_range(range) : time_range(range)};
}

Jsonb *combination(std::span<const Axis> axes, std::size_t number) {
    const auto picked = allocate<std::size_t>(axes.size());
    for (std::size_t i = axes.size(); i-- > 0;) {
        picked[i] = number % axes[i].values.size();
        number /= axes[i].values.size();
    }
    json::Builder object = json::build_object();
    for (std::size_t i = 0; i < axes.size(); i++)
        object.member(axes[i].name, axes[i].values[picked[i]]);
    return object.finish();
}

std::span<Jsonb *const> combine(Jsonb *object) {
    Growing<Axis> axes;
    json::for_each_member(&object->root,
                          [&](const char *name, JsonbValue *value) { axes.add(read_axis(name, value)); });
    std::size_t count = axes.size() == 0 ? 0 : 1;
    for (const Axis &axis : axes.all()) {
        count *= axis.values.size();
        if (count > static_cast<std::size_t>(k_max_items))
            too_many();
    }
    Growing<Jsonb *> items;
    for (std::size_t number = 0; number < count; number++) {
        CHECK_FOR_INTERRUPTS();
        items.add(combination(axes.all(), number));
    }
    return items.all();
}

std::span<Jsonb *const> as_listed(Jsonb *array) {
    const auto items = elements_of(&array->root);
    for (std::size_t i = 0; i < items.size(); i++)
        if (!json::is_object(items[i]))
            error::bad_argument("items", error::show(items[i]), "It must be an object.", static_cast<int64>(i) + 1);
    return items;
}

} // namespace

std::span<Jsonb *const> expand_items(Jsonb *items) {
    const bool is_list = items != nullptr && JB_ROOT_IS_ARRAY(items) && !JB_ROOT_IS_SCALAR(items);
    if (!is_list && !json::is_object(items))
        error::bad_argument("items", error::show(items), "It must be an array of objects, or an object.");
    const auto expanded = is_list ? as_listed(items) : combine(items);
    if (expanded.empty())
        error::bad_argument("items", error::show(items), "There is nothing to run over.");
    return expanded;
}

} // namespace scylla::workflow
