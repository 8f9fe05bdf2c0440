// The cron expressions of Quartz: a second before the five fields, and perhaps a year behind them. Understood is what
// model/cron.h can say: one second; ? for any day; L for the last day of the month; n/step for every step from n on;
// days of the week from 1, which is Sunday; years from 1970 to 2099.
#pragma once

#include "model/cron.h"

namespace scylla::model {

namespace quartz_detail {

using cron_detail::Bounds;
inline constexpr Bounds k_second_field{0, 59};
inline constexpr Bounds k_minute_field{.low = 0, .high = 59, .steps_to_end = true};
inline constexpr Bounds k_hour_field{.low = 0, .high = 23, .steps_to_end = true};
inline constexpr Bounds k_day_field{.low = 1, .high = 31, .steps_to_end = true};
inline constexpr Bounds k_month_field{
    .low = 1, .high = 12, .names = cron_detail::k_months.data(), .names_count = 12, .steps_to_end = true};
inline constexpr Bounds k_weekday_field{
    .low = 1, .high = 7, .names = cron_detail::k_weekdays.data(), .names_count = 7, .steps_to_end = true};

constexpr std::string_view any(std::string_view field) noexcept { return field == "?" ? "*" : field; }

constexpr std::optional<int> take_year(std::string_view &text) noexcept {
    int year = 0;
    for (int i = 0; i < 4; i++, text.remove_prefix(1)) {
        if (text.empty() || !cron_detail::is_digit(text.front()))
            return std::nullopt;
        year = year * 10 + (text.front() - '0');
    }
    return year;
}

// A list of years and ranges, with steps. False: it is none.
constexpr bool read_years(std::string_view text, Years &years) noexcept {
    if (text.empty() || any(text) == "*")
        return true;
    constexpr Bounds k_year{.low = Years::k_first, .high = Years::k_last};
    do {
        const bool star = cron_detail::take(text, '*');
        const auto first = star ? std::optional(k_year.low) : take_year(text);
        const bool is_range = !star && cron_detail::take(text, '-');
        const auto last = is_range ? take_year(text) : star ? std::optional(k_year.high) : first;
        const bool has_step = cron_detail::take(text, '/');
        const auto step = has_step ? cron_detail::take_number(text, k_second_field) : std::optional(1);
        if (!first || !last || !step || *step < 1 || *first < k_year.low || *last > k_year.high || *first > *last)
            return false;
        for (int year = *first; year <= (has_step && !is_range ? k_year.high : *last); year += *step)
            years.add(year);
    } while (cron_detail::take(text, ','));
    return text.empty();
}

} // namespace quartz_detail

// The second of the minute at which the expression comes; nothing if it is not understood.
constexpr std::optional<int> parse_quartz(std::string_view text, Cron &cron) noexcept {
    using namespace quartz_detail;
    std::array<std::string_view, 7> field;
    for (auto &f : field)
        f = cron_detail::take_field(text);
    if (field[5].empty() || !cron_detail::trim(text).empty())
        return std::nullopt;
    Years years;
    const auto second = cron_detail::take_number(field[0], k_second_field);
    const bool last_day = field[3] == "L";
    const auto minutes = cron_detail::parse_list(field[1], k_minute_field);
    const auto hours = cron_detail::parse_list(field[2], k_hour_field);
    const auto days = last_day ? std::optional(std::uint64_t{0}) : cron_detail::parse_list(any(field[3]), k_day_field);
    const auto months = cron_detail::parse_list(field[4], k_month_field);
    const auto weekdays = cron_detail::parse_list(any(field[5]), k_weekday_field);
    if (!second || *second > k_second_field.high || !field[0].empty() || !minutes || !hours || !days || !months ||
        !weekdays || !read_years(field[6], years))
        return std::nullopt;
    cron = {*minutes,
            static_cast<std::uint32_t>(*hours),
            static_cast<std::uint32_t>(*days),
            static_cast<std::uint32_t>(*months),
            static_cast<std::uint32_t>(*weekdays >> 1U),
            last_day,
            false,
            field[1].front() != '*' && field[2].front() != '*',
            0,
            years};
    return second;
}

} // namespace scylla::model
