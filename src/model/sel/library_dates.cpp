// DateTime, DateTimeZone, DateTimeFormat, Days, and the values that they make.
#include <array>

#include "model/sel/dates.h"
#include "model/sel/library.h"

namespace scylla::model::sel {

namespace {

// Joda counts in int.
std::int64_t to_int(const Value &value) {
    const std::int64_t number = to_long(value);
    if (number < INT32_MIN || number > INT32_MAX)
        fail(FaultKind::value, std::to_string(number) + " does not fit into 32 bits");
    return number;
}

Value date_now(Context &context, const Value & /*self*/, Args /*args*/) {
    return make_date(context, context.world.now_millis(), utc_zone());
}
Value convert(Context &context, const Value &from, const Zone *zone) {
    if (from.type == Type::string)
        return parse_iso(context, from.view(), zone);
    return make_date(context, from.type == Type::date ? from.date->millis : to_long(from), zone);
}
Value date_of(Context &context, const Value & /*self*/, Args args) {
    return convert(context, args[0], args[0].type == Type::date ? args[0].date->zone : utc_zone());
}
Value date_in_zone(Context &context, const Value & /*self*/, Args args) {
    return convert(context, args[0], to_zone(args[1]));
}
Value date_of_fields(Context &context, const Value & /*self*/, Args args) {
    constexpr std::array<Field, 7> k_fields{Field::year,   Field::month,  Field::day_of_month, Field::hour,
                                            Field::minute, Field::second, Field::milli};
    Value date = make_date(context, 0, utc_zone());
    for (std::size_t i = 0; i < k_fields.size(); i++)
        date = with_field(context, *date.date, k_fields[i], to_int(args[i]));
    const Zone *zone = to_zone(args[7]);
    return make_date(context, from_local(context, to_local(context, *date.date), *zone), zone);
}
Value date_parse(Context &context, const Value & /*self*/, Args args) {
    if (args[1].type != Type::formatter)
        fail(FaultKind::value, "DATETIME_FORMATTER is expected, not " + std::string(type_name(args[1])));
    return parse_date(context, to_string(args[0]), args[1].formatter->pattern, args[1].formatter->zone);
}

Value date_text(Context &context, const Value &self, Args args) {
    if (args.empty())
        return new_string(context, show_date(context, *self.date));
    return new_string(context, print_date(context, *self.date, to_string(args[0])));
}
Value date_millis(Context & /*context*/, const Value &self, Args /*args*/) { return Value::of(self.date->millis); }
Value date_with_zone(Context &context, const Value &self, Args args) {
    return make_date(context, self.date->millis, to_zone(args[0]));
}
Value date_start_of_day(Context &context, const Value &self, Args /*args*/) {
    Local local = to_local(context, *self.date);
    local.milli = 0;
    return make_date(context, from_local(context, local, *self.date->zone), self.date->zone);
}
Value date_is_after(Context & /*context*/, const Value &self, Args args) {
    return Value::of(self.date->millis > to_date(args[0]).millis);
}
Value date_is_before(Context & /*context*/, const Value &self, Args args) {
    return Value::of(self.date->millis < to_date(args[0]).millis);
}
Value date_is_equal(Context & /*context*/, const Value &self, Args args) {
    return Value::of(self.date->millis == to_date(args[0]).millis);
}

template <Unit unit, int sign> Value date_move(Context &context, const Value &self, Args args) {
    return plus(context, *self.date, unit, sign * to_int(args[0]));
}
template <Field field> Value date_get(Context &context, const Value &self, Args /*args*/) {
    return Value::of(get_field(context, *self.date, field));
}
template <Field field> Value date_with(Context &context, const Value &self, Args args) {
    return with_field(context, *self.date, field, to_int(args[0]));
}
template <Field field> Value date_property(Context &context, const Value &self, Args /*args*/) {
    return Value::of(static_cast<const Property *>(context.heap.make(Property{*self.date, field})));
}

constexpr auto k_date = std::to_array<Function>({
    {"toString", 0, 1, date_text},
    {"getMillis", 0, 0, date_millis},
    {"withZone", 1, 1, date_with_zone},
    {"toDateTime", 1, 1, date_with_zone},
    {"withTimeAtStartOfDay", 0, 0, date_start_of_day},
    {"isAfter", 1, 1, date_is_after},
    {"isBefore", 1, 1, date_is_before},
    {"isEqual", 1, 1, date_is_equal},
    {"plusYears", 1, 1, date_move<Unit::years, 1>},
    {"plusMonths", 1, 1, date_move<Unit::months, 1>},
    {"plusWeeks", 1, 1, date_move<Unit::weeks, 1>},
    {"plusDays", 1, 1, date_move<Unit::days, 1>},
    {"plusHours", 1, 1, date_move<Unit::hours, 1>},
    {"plusMinutes", 1, 1, date_move<Unit::minutes, 1>},
    {"plusSeconds", 1, 1, date_move<Unit::seconds, 1>},
    {"plusMillis", 1, 1, date_move<Unit::millis, 1>},
    {"minusYears", 1, 1, date_move<Unit::years, -1>},
    {"minusMonths", 1, 1, date_move<Unit::months, -1>},
    {"minusWeeks", 1, 1, date_move<Unit::weeks, -1>},
    {"minusDays", 1, 1, date_move<Unit::days, -1>},
    {"minusHours", 1, 1, date_move<Unit::hours, -1>},
    {"minusMinutes", 1, 1, date_move<Unit::minutes, -1>},
    {"minusSeconds", 1, 1, date_move<Unit::seconds, -1>},
    {"minusMillis", 1, 1, date_move<Unit::millis, -1>},
    {"getYear", 0, 0, date_get<Field::year>},
    {"getMonthOfYear", 0, 0, date_get<Field::month>},
    {"getWeekyear", 0, 0, date_get<Field::week_year>},
    {"getWeekOfWeekyear", 0, 0, date_get<Field::week>},
    {"getDayOfYear", 0, 0, date_get<Field::day_of_year>},
    {"getDayOfMonth", 0, 0, date_get<Field::day_of_month>},
    {"getDayOfWeek", 0, 0, date_get<Field::day_of_week>},
    {"getHourOfDay", 0, 0, date_get<Field::hour>},
    {"getMinuteOfDay", 0, 0, date_get<Field::minute_of_day>},
    {"getMinuteOfHour", 0, 0, date_get<Field::minute>},
    {"getSecondOfDay", 0, 0, date_get<Field::second_of_day>},
    {"getSecondOfMinute", 0, 0, date_get<Field::second>},
    {"getMillisOfDay", 0, 0, date_get<Field::milli_of_day>},
    {"getMillisOfSecond", 0, 0, date_get<Field::milli>},
    {"withYear", 1, 1, date_with<Field::year>},
    {"withMonthOfYear", 1, 1, date_with<Field::month>},
    {"withWeekyear", 1, 1, date_with<Field::week_year>},
    {"withWeekOfWeekyear", 1, 1, date_with<Field::week>},
    {"withDayOfYear", 1, 1, date_with<Field::day_of_year>},
    {"withDayOfMonth", 1, 1, date_with<Field::day_of_month>},
    {"withDayOfWeek", 1, 1, date_with<Field::day_of_week>},
    {"withHourOfDay", 1, 1, date_with<Field::hour>},
    {"withMinuteOfHour", 1, 1, date_with<Field::minute>},
    {"withSecondOfMinute", 1, 1, date_with<Field::second>},
    {"withMillisOfDay", 1, 1, date_with<Field::milli_of_day>},
    {"withMillisOfSecond", 1, 1, date_with<Field::milli>},
    {"year", 0, 0, date_property<Field::year>},
    {"monthOfYear", 0, 0, date_property<Field::month>},
    {"weekyear", 0, 0, date_property<Field::week_year>},
    {"weekOfWeekyear", 0, 0, date_property<Field::week>},
    {"dayOfYear", 0, 0, date_property<Field::day_of_year>},
    {"dayOfMonth", 0, 0, date_property<Field::day_of_month>},
    {"dayOfWeek", 0, 0, date_property<Field::day_of_week>},
    {"hourOfDay", 0, 0, date_property<Field::hour>},
    {"minuteOfDay", 0, 0, date_property<Field::minute_of_day>},
    {"minuteOfHour", 0, 0, date_property<Field::minute>},
    {"secondOfDay", 0, 0, date_property<Field::second_of_day>},
    {"secondOfMinute", 0, 0, date_property<Field::second>},
    {"millisOfDay", 0, 0, date_property<Field::milli_of_day>},
    {"millisOfSecond", 0, 0, date_property<Field::milli>},
});

constexpr auto k_date_class = std::to_array<Function>({{"new", 0, 0, date_now},
                                                       {"new", 1, 1, date_of},
                                                       {"new", 2, 2, date_in_zone},
                                                       {"new", 8, 8, date_of_fields},
                                                       {"parse", 2, 2, date_parse}});

// Properties

Value property_get(Context &context, const Value &self, Args /*args*/) {
    return Value::of(get_field(context, self.property->date, self.property->field));
}
Value property_text(Context &context, const Value &self, Args /*args*/) {
    const std::int64_t value = get_field(context, self.property->date, self.property->field);
    if (self.property->field == Field::month)
        return new_string(context, month_name(static_cast<int>(value)));
    if (self.property->field == Field::day_of_week)
        return new_string(context, day_name(static_cast<int>(value)));
    return new_string(context, std::to_string(value));
}
template <bool most> Value property_bound(Context &context, const Value &self, Args /*args*/) {
    const Property &property = *self.property;
    const Range range = range_of(context, property.date, property.field);
    return with_field(context, property.date, property.field, most ? range.most : range.least);
}
constexpr auto k_property = std::to_array<Function>({{"get", 0, 0, property_get},
                                                     {"getAsText", 0, 0, property_text},
                                                     {"withMinimumValue", 0, 0, property_bound<false>},
                                                     {"withMaximumValue", 0, 0, property_bound<true>}});

// Zones

Value zone_for_id(Context &context, const Value & /*self*/, Args args) {
    return Value::of(find_zone(context, to_string(args[0])));
}
Value zone_utc(Context & /*context*/, const Value & /*self*/, Args /*args*/) { return Value::of(utc_zone()); }
Value zone_get_offset(Context &context, const Value &self, Args args) {
    return Value::of(offset_at(context, *self.zone, to_date(args[0]).millis) * std::int64_t{1'000});
}
Value zone_text(Context &context, const Value &self, Args /*args*/) { return new_string(context, self.zone->name); }
constexpr auto k_zone = std::to_array<Function>({{"getOffset", 1, 1, zone_get_offset}, {"toString", 0, 0, zone_text}});
constexpr auto k_zone_class = std::to_array<Function>({{"forID", 1, 1, zone_for_id}, {"UTC", -1, -1, zone_utc}});

// Formats

Value format_for_pattern(Context &context, const Value & /*self*/, Args args) {
    const std::string_view pattern = make_string(context.heap, to_string(args[0])).view();
    check_pattern(pattern);
    return Value::of(static_cast<const Formatter *>(context.heap.make(Formatter{pattern, nullptr})));
}
Value format_with_zone(Context &context, const Value &self, Args args) {
    return Value::of(
        static_cast<const Formatter *>(context.heap.make(Formatter{self.formatter->pattern, to_zone(args[0])})));
}
Value format_utc(Context &context, const Value &self, Args /*args*/) {
    return Value::of(static_cast<const Formatter *>(context.heap.make(Formatter{self.formatter->pattern, utc_zone()})));
}
Value format_parse(Context &context, const Value &self, Args args) {
    return parse_date(context, number_or_text(args[0]), self.formatter->pattern, self.formatter->zone);
}
Value format_parse_millis(Context &context, const Value &self, Args args) {
    return Value::of(format_parse(context, self, args).date->millis);
}
Value format_print(Context &context, const Value &self, Args args) {
    const Zone *zone = self.formatter->zone;
    const bool is_date = args[0].type == Type::date;
    const Value date = make_date(context, is_date ? args[0].date->millis : to_long(args[0]),
                                 zone != nullptr ? zone
                                 : is_date       ? args[0].date->zone
                                                 : utc_zone());
    return new_string(context, print_date(context, *date.date, self.formatter->pattern));
}
constexpr auto k_formatter = std::to_array<Function>({{"withZone", 1, 1, format_with_zone},
                                                      {"withZoneUTC", 0, 0, format_utc},
                                                      {"parseDateTime", 1, 1, format_parse},
                                                      {"parseMillis", 1, 1, format_parse_millis},
                                                      {"print", 1, 1, format_print}});
constexpr auto k_format_class = std::to_array<Function>({{"forPattern", 1, 1, format_for_pattern}});

// Days

// Whole days, by the calendar of the first date's zone.
Value days_between(Context &context, const Value & /*self*/, Args args) {
    const Date &from = to_date(args[0]);
    const Local first = to_local(context, from);
    const Local last = to_local(context, {to_date(args[1]).millis, from.zone});
    const std::int64_t millis =
        (days_of(last.year, last.month, last.day) - days_of(first.year, first.month, first.day)) * k_millis_of_day +
        last.milli - first.milli;
    return Value::of(Type::days, millis / k_millis_of_day);
}
Value days_get(Context & /*context*/, const Value &self, Args /*args*/) { return Value::of(self.number); }
constexpr auto k_of_days = std::to_array<Function>({{"getDays", 0, 0, days_get}});
constexpr auto k_of_days_class = std::to_array<Function>({{"daysBetween", 2, 2, days_between}});

Value sunday(Context & /*context*/, const Value & /*self*/, Args /*args*/) { return Value::of(std::int64_t{7}); }
constexpr auto k_constants = std::to_array<Function>({{"SUNDAY", -1, -1, sunday}});

} // namespace

std::span<const Function> date_functions(Receiver receiver) noexcept {
    switch (receiver) {
    case Receiver::date:
        return k_date;
    case Receiver::date_class:
        return k_date_class;
    case Receiver::property:
        return k_property;
    case Receiver::zone:
        return k_zone;
    case Receiver::zone_class:
        return k_zone_class;
    case Receiver::formatter:
        return k_formatter;
    case Receiver::format_class:
        return k_format_class;
    case Receiver::days:
        return k_of_days;
    case Receiver::days_class:
        return k_of_days_class;
    case Receiver::constants_class:
        return k_constants;
    default:
        return {};
    }
}

} // namespace scylla::model::sel
