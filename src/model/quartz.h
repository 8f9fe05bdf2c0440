// The cron expressions of Quartz: a second before the five fields, and perhaps a year behind them. Understood is what
// model/cron.h can say: one second; ? for any day; L for the last day of the month; n/step for every step from n on;
// days of the week from 1, which is Sunday; no year but *.
#pragma once

#include "model/cron.h"

namespace scylla::model {

namespace quartz_detail {

using cron_detail::Bounds;
inline constexpr Bounds k_second{0, 59};
inline constexpr Bounds k_minute{.low = 0, .high = 59, .steps_to_end = true};
inline constexpr Bounds k_hour{.low = 0, .high = 23, .steps_to_end = true};
inline constexpr Bounds k_day{.low = 1, .high = 31, .steps_to_end = true};
inline constexpr Bounds k_month{
    .low = 1, .high = 12, .names = cron_detail::k_months.data(), .names_count = 12, .steps_to_end = true};
inline constexpr Bounds k_weekday{
    .low = 1, .high = 7, .names = cron_detail::k_weekdays.data(), .names_count = 7, .steps_to_end = true};

constexpr std::string_view any(std::string_view field) noexcept { return field == "?" ? "*" : field; }

} // namespace quartz_detail

// The second of the minute at which the expression comes; nothing if it is not understood.
constexpr std::optional<int> parse_quartz(std::string_view text, Cron &cron) noexcept {
    using namespace quartz_detail;
    std::array<std::string_view, 7> field;
    for (auto &f : field)
        f = cron_detail::take_field(text);
    if (field[5].empty() || !cron_detail::trim(text).empty() || (!field[6].empty() && any(field[6]) != "*"))
        return std::nullopt;
    const auto second = cron_detail::take_number(field[0], k_second);
    const bool last_day = field[3] == "L";
    const auto minutes = cron_detail::parse_list(field[1], k_minute);
    const auto hours = cron_detail::parse_list(field[2], k_hour);
    const auto days = last_day ? std::optional(std::uint64_t{0}) : cron_detail::parse_list(any(field[3]), k_day);
    const auto months = cron_detail::parse_list(field[4], k_month);
    const auto weekdays = cron_detail::parse_list(any(field[5]), k_weekday);
    if (!second || *second > k_second.high || !field[0].empty() || !minutes || !hours || !days || !months || !weekdays)
        return std::nullopt;
    cron = {*minutes,
            static_cast<std::uint32_t>(*hours),
            static_cast<std::uint32_t>(*days),
            static_cast<std::uint32_t>(*months),
            static_cast<std::uint32_t>(*weekdays >> 1U),
            last_day,
            false,
            field[1].front() != '*' && field[2].front() != '*',
            0};
    return second;
}

} // namespace scylla::model
