// Dates and zones, after Joda-Time: a date is a moment in milliseconds with a zone, in which its fields are read. A
// local time that the clocks skip is moved forward by the length of the gap. A local time that occurs twice means the
// first one; if it comes from another date, the one with that date's offset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/sel/context.h"
#include "model/sel/value.h"

namespace scylla::model::sel {

inline constexpr std::int64_t k_millis_of_day = 86'400'000;
// Years that a date may have.
inline constexpr std::int64_t k_first_year = -9'999;
inline constexpr std::int64_t k_last_year = 9'999;

// A date and a time of day, without a zone.
struct Local {
    std::int64_t year = 1970;
    int month = 1;
    int day = 1;
    std::int64_t milli = 0; // of the day
};

enum class Unit : std::uint8_t { years, months, weeks, days, hours, minutes, seconds, millis };

std::int64_t days_of(std::int64_t year, int month, int day) noexcept; // since 1970
Local from_days(std::int64_t days, std::int64_t milli) noexcept;
int days_in_month(std::int64_t year, int month) noexcept;

const Zone *utc_zone() noexcept;
const Zone *known_zone(Context &context, std::string_view name); // null: there is none
const Zone *find_zone(Context &context, std::string_view name);
std::int32_t offset_at(Context &context, const Zone &zone, std::int64_t millis) noexcept;

// A date; a fault if its year is outside these.
Value make_date(Context &context, std::int64_t millis, const Zone *zone);
Local to_local(Context &context, const Date &date) noexcept;
// before: the date from which the local time was made.
std::int64_t from_local(Context &context, const Local &local, const Zone &zone, const Date *before = nullptr);

std::int64_t get_field(Context &context, const Date &date, Field field);
struct Range {
    std::int64_t least;
    std::int64_t most;
};
Range range_of(Context &context, const Date &date, Field field);
Value with_field(Context &context, const Date &date, Field field, std::int64_t value);
Value plus(Context &context, const Date &date, Unit unit, std::int64_t amount);
std::string_view month_name(int month) noexcept;
std::string_view day_name(int day_of_week) noexcept;

// As ISO 8601 writes it: 2026-11-23T08:30:00.000Z
std::string show_date(Context &context, const Date &date);
// By a pattern of letters; a fault if the pattern is invalid.
std::string print_date(Context &context, const Date &date, std::string_view pattern);
void check_pattern(std::string_view pattern);
// Fields that are missing from the text are those of 1970-01-01T00:00.
Value parse_date(Context &context, std::string_view text, std::string_view pattern, const Zone *zone);
Value parse_iso(Context &context, std::string_view text, const Zone *zone);

} // namespace scylla::model::sel
