#include "model/sel/dates.h"

#include <algorithm>
#include <array>

#include "model/cron.h"
#include "model/sel/library.h"
#include "model/zone.h"

namespace scylla::model::sel {

namespace {

constexpr std::array<std::string_view, 12> k_months{"January",   "February", "March",    "April",
                                                    "May",       "June",     "July",     "August",
                                                    "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> k_days{"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                 "Friday", "Saturday", "Sunday"};

std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept { return a / b - (a % b < 0 ? 1 : 0); }
std::int64_t floor_mod(std::int64_t a, std::int64_t b) noexcept { return a - floor_div(a, b) * b; }

std::int64_t millis_of(const Local &local) noexcept {
    return days_of(local.year, local.month, local.day) * k_millis_of_day + local.milli;
}
Local local_of(std::int64_t local_millis) noexcept {
    return from_days(floor_div(local_millis, k_millis_of_day), floor_mod(local_millis, k_millis_of_day));
}
int weekday_of(std::int64_t days) noexcept { return static_cast<int>(floor_mod(days + 3, 7)) + 1; }

// Monday of the first week: that in which 4 January is.
std::int64_t first_week(std::int64_t year) noexcept {
    const std::int64_t fourth = days_of(year, 1, 4);
    return fourth - (weekday_of(fourth) - 1);
}
std::int64_t week_year_of(std::int64_t days) noexcept {
    const std::int64_t year = from_days(days, 0).year;
    return days >= first_week(year + 1) ? year + 1 : days < first_week(year) ? year - 1 : year;
}

void check_year(std::int64_t year) {
    if (year < k_first_year || year > k_last_year)
        fail(FaultKind::value, "a date must be between the years " + std::to_string(k_first_year) + " and " +
                                   std::to_string(k_last_year));
}

constexpr std::int64_t k_no_date = INT64_MAX;

} // namespace

std::int64_t days_of(std::int64_t year, int month, int day) noexcept {
    return cron_detail::days_until(year, month, day);
}

Local from_days(std::int64_t days, std::int64_t milli) noexcept {
    days += 719'468;
    const std::int64_t era = floor_div(days, 146'097);
    const std::int64_t day_of_era = days - era * 146'097;
    const std::int64_t of_era = (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
    const std::int64_t of_year = day_of_era - (365 * of_era + of_era / 4 - of_era / 100);
    const std::int64_t shifted = (5 * of_year + 2) / 153;
    const int month = static_cast<int>(shifted < 10 ? shifted + 3 : shifted - 9);
    return {of_era + era * 400 + (month <= 2 ? 1 : 0), month, static_cast<int>(of_year - (153 * shifted + 2) / 5 + 1),
            milli};
}

int days_in_month(std::int64_t year, int month) noexcept {
    constexpr std::array<int, 12> k_length{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month == 2 && leap ? 29 : k_length[static_cast<std::size_t>(month - 1)];
}

const Zone *utc_zone() noexcept {
    static constexpr Zone k_utc{"UTC", nullptr, 0};
    return &k_utc;
}

const Zone *known_zone(Context &context, std::string_view name) {
    const auto zone = read_zone(name);
    if (zone && zone->is_offset) {
        if (zone->offset == 0)
            return utc_zone();
        const std::string_view shown = make_string(context.heap, show_offset(zone->offset)).view();
        return context.heap.make(Zone{shown, nullptr, zone->offset});
    }
    context.work(16);
    const void *handle = zone ? context.world.find_zone(name) : nullptr;
    return handle != nullptr ? context.heap.make(Zone{make_string(context.heap, name).view(), handle, 0}) : nullptr;
}

const Zone *find_zone(Context &context, std::string_view name) {
    const Zone *zone = known_zone(context, name);
    if (zone == nullptr)
        fail(FaultKind::value, "\"" + std::string(name) + "\" must be " + std::string(k_zone_rule));
    return zone;
}

std::int32_t offset_at(Context &context, const Zone &zone, std::int64_t millis) noexcept {
    return zone.handle == nullptr ? zone.offset : context.world.zone_offset(zone.handle, floor_div(millis, 1'000));
}

Value make_date(Context &context, std::int64_t millis, const Zone *zone) {
    if (millis == k_no_date || millis < days_of(k_first_year, 1, 2) * k_millis_of_day ||
        millis >= days_of(k_last_year, 12, 31) * k_millis_of_day)
        check_year(k_last_year + 1);
    return Value::of(context.heap.make(Date{millis, zone}));
}

Local to_local(Context &context, const Date &date) noexcept {
    return local_of(date.millis + offset_at(context, *date.zone, date.millis) * std::int64_t{1'000});
}

std::int64_t from_local(Context &context, const Local &local, const Zone &zone, const Date *before) {
    check_year(local.year);
    const std::int64_t millis = millis_of(local);
    const auto offset = [&](std::int64_t second) { return offset_at(context, zone, second * 1'000); };
    const auto kept =
        before == nullptr ? std::nullopt : std::optional<std::int64_t>(offset_at(context, zone, before->millis));
    return moment_of(floor_div(millis, 1'000), offset, kept) * 1'000 + floor_mod(millis, 1'000);
}

std::int64_t get_field(Context &context, const Date &date, Field field) {
    const Local local = to_local(context, date);
    const std::int64_t days = days_of(local.year, local.month, local.day);
    switch (field) {
    case Field::year:
        return local.year;
    case Field::month:
        return local.month;
    case Field::week_year:
        return week_year_of(days);
    case Field::week:
        return (days - first_week(week_year_of(days))) / 7 + 1;
    case Field::day_of_year:
        return days - days_of(local.year, 1, 1) + 1;
    case Field::day_of_month:
        return local.day;
    case Field::day_of_week:
        return weekday_of(days);
    case Field::hour:
        return local.milli / 3'600'000;
    case Field::minute_of_day:
        return local.milli / 60'000;
    case Field::minute:
        return local.milli / 60'000 % 60;
    case Field::second_of_day:
        return local.milli / 1'000;
    case Field::second:
        return local.milli / 1'000 % 60;
    case Field::milli_of_day:
        return local.milli;
    case Field::milli:
        break;
    }
    return local.milli % 1'000;
}

Range range_of(Context &context, const Date &date, Field field) {
    const Local local = to_local(context, date);
    const std::int64_t week_year = week_year_of(days_of(local.year, local.month, local.day));
    switch (field) {
    case Field::year:
    case Field::week_year:
        return {k_first_year, k_last_year};
    case Field::month:
        return {1, 12};
    case Field::week:
        return {1, (first_week(week_year + 1) - first_week(week_year)) / 7};
    case Field::day_of_year:
        return {1, days_of(local.year + 1, 1, 1) - days_of(local.year, 1, 1)};
    case Field::day_of_month:
        return {1, days_in_month(local.year, local.month)};
    case Field::day_of_week:
        return {1, 7};
    case Field::hour:
        return {0, 23};
    case Field::minute_of_day:
        return {0, 1'439};
    case Field::minute:
    case Field::second:
        return {0, 59};
    case Field::second_of_day:
        return {0, 86'399};
    case Field::milli_of_day:
        return {0, k_millis_of_day - 1};
    case Field::milli:
        break;
    }
    return {0, 999};
}

namespace {

// The same time on another day.
Local on_day(const Local &local, std::int64_t days) noexcept { return from_days(days, local.milli); }

Local in_month(const Local &local, std::int64_t year, int month) noexcept {
    return {year, month, std::min(local.day, days_in_month(year, month)), local.milli};
}

Local replace(const Local &local, Field field, std::int64_t value) {
    const std::int64_t days = days_of(local.year, local.month, local.day);
    const std::int64_t week_year = week_year_of(days);
    const std::int64_t milli = local.milli;
    switch (field) {
    case Field::year:
        return in_month(local, value, local.month);
    case Field::month:
        return in_month(local, local.year, static_cast<int>(value));
    case Field::week_year: {
        const std::int64_t weeks =
            std::min((days - first_week(week_year)) / 7, (first_week(value + 1) - first_week(value)) / 7 - 1);
        return on_day(local, first_week(value) + weeks * 7 + weekday_of(days) - 1);
    }
    case Field::week:
        return on_day(local, first_week(week_year) + (value - 1) * 7 + weekday_of(days) - 1);
    case Field::day_of_year:
        return on_day(local, days_of(local.year, 1, 1) + value - 1);
    case Field::day_of_month:
        return {local.year, local.month, static_cast<int>(value), milli};
    case Field::day_of_week:
        return on_day(local, days - weekday_of(days) + value);
    case Field::hour:
        return {local.year, local.month, local.day, milli % 3'600'000 + value * 3'600'000};
    case Field::minute_of_day:
        return {local.year, local.month, local.day, milli % 60'000 + value * 60'000};
    case Field::minute:
        return {local.year, local.month, local.day, milli + (value - milli / 60'000 % 60) * 60'000};
    case Field::second_of_day:
        return {local.year, local.month, local.day, milli % 1'000 + value * 1'000};
    case Field::second:
        return {local.year, local.month, local.day, milli + (value - milli / 1'000 % 60) * 1'000};
    case Field::milli_of_day:
        return {local.year, local.month, local.day, value};
    case Field::milli:
        break;
    }
    return {local.year, local.month, local.day, milli - milli % 1'000 + value};
}

} // namespace

Value with_field(Context &context, const Date &date, Field field, std::int64_t value) {
    const Range range = range_of(context, date, field);
    if (value < range.least || value > range.most)
        fail(FaultKind::value, "a field of a date must be between " + std::to_string(range.least) + " and " +
                                   std::to_string(range.most) + ", not " + std::to_string(value));
    return make_date(context, from_local(context, replace(to_local(context, date), field, value), *date.zone, &date),
                     date.zone);
}

namespace {

std::int64_t add_checked(std::int64_t value, std::int64_t amount, std::int64_t unit) {
    std::int64_t product = 0;
    std::int64_t sum = 0;
    if (__builtin_mul_overflow(amount, unit, &product) || __builtin_add_overflow(value, product, &sum))
        check_year(k_last_year + 1);
    return sum;
}

// Adds months; the last day of the month if the day does not exist in it.
std::int64_t plus_months(Context &context, const Date &date, std::int64_t amount) {
    const Local local = to_local(context, date);
    const std::int64_t month = add_checked(local.year * 12 + local.month - 1, amount, 1);
    const std::int64_t year = floor_div(month, 12);
    check_year(year);
    return from_local(context, in_month(local, year, static_cast<int>(floor_mod(month, 12)) + 1), *date.zone, &date);
}

std::int64_t plus_days(Context &context, const Date &date, std::int64_t amount, std::int64_t unit) {
    const Local local = to_local(context, date);
    const std::int64_t days = add_checked(days_of(local.year, local.month, local.day), amount, unit);
    if (days < days_of(k_first_year, 1, 1) || days > days_of(k_last_year, 12, 31))
        check_year(k_last_year + 1);
    return from_local(context, on_day(local, days), *date.zone, &date);
}

} // namespace

Value plus(Context &context, const Date &date, Unit unit, std::int64_t amount) {
    const auto moved = [&] {
        switch (unit) {
        case Unit::years:
            return plus_months(context, date, add_checked(0, amount, 12));
        case Unit::months:
            return plus_months(context, date, amount);
        case Unit::weeks:
            return plus_days(context, date, amount, 7);
        case Unit::days:
            return plus_days(context, date, amount, 1);
        case Unit::hours:
            return add_checked(date.millis, amount, 3'600'000);
        case Unit::minutes:
            return add_checked(date.millis, amount, 60'000);
        case Unit::seconds:
            return add_checked(date.millis, amount, 1'000);
        case Unit::millis:
            break;
        }
        return add_checked(date.millis, amount, 1);
    };
    return make_date(context, moved(), date.zone);
}

std::string_view month_name(int month) noexcept { return k_months[static_cast<std::size_t>(month - 1)]; }
std::string_view day_name(int day_of_week) noexcept { return k_days[static_cast<std::size_t>(day_of_week - 1)]; }

} // namespace scylla::model::sel
