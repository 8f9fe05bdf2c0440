#include "model/workflow/trigger_times.h"

#include <algorithm>

#include "model/duration.h"
#include "model/quartz.h"

namespace scylla::model::workflow {

std::optional<TriggerTimes> read_trigger_cron(std::string_view text) noexcept {
    TriggerTimes times;
    if (parse_cron(text, times.cron) == CronFault::none)
        return times;
    const auto second = parse_quartz(text, times.cron);
    if (!second)
        return std::nullopt;
    times.second = *second;
    return times;
}

std::optional<std::int64_t> read_trigger_seconds(std::string_view text) noexcept {
    constexpr std::int64_t k_micros = 1'000'000;
    const auto micros = read_fixed_duration(text);
    return micros && *micros % k_micros == 0 ? std::optional(*micros / k_micros) : std::nullopt;
}

std::optional<TriggerTimes> read_trigger_interval(std::string_view text) noexcept {
    const auto seconds = read_trigger_seconds(text);
    if (!seconds || *seconds < 1 || *seconds > INT32_MAX)
        return std::nullopt;
    TriggerTimes times;
    times.cron.seconds = static_cast<int>(*seconds);
    return times;
}

std::int64_t shortest_gap(const Cron &cron) noexcept {
    constexpr int k_hours = 24;
    constexpr int k_minutes = 60;
    constexpr int k_day = k_hours * k_minutes;
    if (cron.seconds != 0)
        return cron.seconds;
    int first = k_day;
    int last = -k_day;
    int gap = k_day;
    for (int minute = 0; minute < k_day; minute++) {
        if ((cron.hours >> (minute / k_minutes) & 1U) == 0 || (cron.minutes >> (minute % k_minutes) & 1U) == 0)
            continue;
        first = std::min(first, minute);
        gap = std::min(gap, minute - last);
        last = minute;
    }
    return std::int64_t{std::min(gap, first + k_day - last)} * k_minutes;
}

} // namespace scylla::model::workflow
