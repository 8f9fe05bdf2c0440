// Util: numbers like 20261123 for days, and ranges.
#include <algorithm>
#include <array>

#include "model/duration.h"
#include "model/sel/dates.h"
#include "model/sel/library.h"

namespace scylla::model::sel {

namespace {

constexpr std::string_view k_date_int = "yyyyMMdd";

std::int64_t whole(const Value &value) { return parse_long(number_or_text(value)); }

Value date_of_int(Context &context, const Value &value) {
    return parse_date(context, number_or_text(value), k_date_int, utc_zone());
}
std::string int_of_date(Context &context, const Value &date) { return print_date(context, *date.date, k_date_int); }

Value date_int_to_ts(Context &context, const Value & /*self*/, Args args) {
    return Value::of(date_of_int(context, args[0]).date->millis);
}
Value ts_to_date_int(Context &context, const Value & /*self*/, Args args) {
    return new_string(context, int_of_date(context, make_date(context, whole(args[0]), utc_zone())));
}
Value increment_date_int(Context &context, const Value & /*self*/, Args args) {
    const Value date = date_of_int(context, args[0]);
    return new_string(context, int_of_date(context, plus(context, *date.date, Unit::days, whole(args[1]))));
}
// dateIntHourToTs(date, hour, zone, minusDays, minusHours)
Value date_int_hour_to_ts(Context &context, const Value & /*self*/, Args args) {
    std::string hour = number_or_text(args[1]);
    if (hour.size() == 1)
        hour.insert(0, 1, '0');
    const Zone *zone = find_zone(context, to_string(args[2]));
    Value date = parse_date(context, number_or_text(args[0]) + hour, "yyyyMMddHH", zone);
    date = plus(context, *date.date, Unit::days, -std::clamp<std::int64_t>(whole(args[3]), INT32_MIN, INT32_MAX));
    date = plus(context, *date.date, Unit::hours, -std::clamp<std::int64_t>(whole(args[4]), INT32_MIN, INT32_MAX));
    return Value::of(date.date->millis);
}

std::int64_t millis_of(std::string_view duration) {
    constexpr std::int64_t k_micros = 1'000;
    const auto micros = read_fixed_duration(duration);
    if (!micros)
        fail(FaultKind::value, "\"" + std::string(duration) + "\" must be " + std::string(k_duration_rule));
    return *micros / k_micros;
}

Value timeout_for(Context &context, const Date &date, const Value &duration) {
    std::int64_t deadline = 0;
    if (__builtin_add_overflow(date.millis, millis_of(to_string(duration)), &deadline))
        fail(FaultKind::value, "the duration is too long");
    const std::int64_t now = context.world.now_millis();
    return new_string(context, std::to_string(deadline > now ? deadline - now : 0) + " milliseconds");
}
Value timeout_for_date(Context &context, const Value & /*self*/, Args args) {
    return timeout_for(context, to_date(args[0]), args[1]);
}
Value timeout_for_date_int(Context &context, const Value & /*self*/, Args args) {
    return timeout_for(context, *date_of_int(context, args[0]).date, args[1]);
}

constexpr std::int64_t k_endless = INT64_MAX;

// How many numbers from `from` in steps of `step` are less than `to` (greater, if step is negative).
std::int64_t count_between(std::int64_t from, std::int64_t to, std::int64_t step) noexcept {
    const bool up = step > 0;
    if (up ? from >= to : from <= to)
        return 0;
    if (step == 0)
        return k_endless;
    const auto low = static_cast<std::uint64_t>(up ? from : to);
    const std::uint64_t distance = static_cast<std::uint64_t>(up ? to : from) - low;
    const std::uint64_t size = up ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
    return static_cast<std::int64_t>(std::min<std::uint64_t>((distance - 1) / size + 1, INT64_MAX));
}

Value ints_between(Context &context, const Value & /*self*/, Args args) {
    const std::int64_t from = whole(args[0]);
    const std::int64_t step = whole(args[2]);
    const std::int64_t count = count_between(from, whole(args[1]), step);
    if (step == 0)
        fail(FaultKind::value, "the step must not be 0");
    Array *array = new_array(context, Elements::long_, count);
    for (std::int64_t i = 0; i < count; i++)
        array->items[i] = Value::of(from + i * step);
    return Value::of(array);
}

// A negative step swaps the ends: the days from `to` on and before `from`, the last one first.
Value date_ints_between(Context &context, const Value & /*self*/, Args args) {
    const std::int64_t step = whole(args[2]);
    if (step == 0)
        fail(FaultKind::value, "the step must not be 0");
    const Date first = *date_of_int(context, args[step > 0 ? 0 : 1]).date;
    const Date end = *date_of_int(context, args[step > 0 ? 1 : 0]).date;
    const std::int64_t distance = (end.millis - first.millis) / k_millis_of_day;
    const std::int64_t stride = step == INT64_MIN ? INT64_MAX : step > 0 ? step : -step;
    const std::int64_t count = count_between(0, distance, stride);
    Array *array = new_array(context, Elements::long_, count);
    for (std::int64_t i = 0; i < count; i++) {
        context.work(32);
        const Local day = from_days(first.millis / k_millis_of_day + i * stride, 0);
        array->items[step > 0 ? i : count - 1 - i] = Value::of(day.year * 10'000 + day.month * 100 + day.day);
    }
    return Value::of(array);
}

constexpr auto k_util = std::to_array<Function>({{"dateIntToTs", 1, 1, date_int_to_ts},
                                                 {"dateIntHourToTs", 5, 5, date_int_hour_to_ts},
                                                 {"incrementDateInt", 2, 2, increment_date_int},
                                                 {"tsToDateInt", 1, 1, ts_to_date_int},
                                                 {"timeoutForDateTimeDeadline", 2, 2, timeout_for_date},
                                                 {"timeoutForDateIntDeadline", 2, 2, timeout_for_date_int},
                                                 {"dateIntsBetween", 3, 3, date_ints_between},
                                                 {"intsBetween", 3, 3, ints_between}});

} // namespace

std::span<const Function> util_functions(Receiver receiver) noexcept {
    return receiver == Receiver::util_class ? std::span<const Function>(k_util) : std::span<const Function>{};
}

} // namespace scylla::model::sel
