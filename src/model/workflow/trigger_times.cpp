#include "model/workflow/trigger_times.h"

#include <charconv>

#include "model/quartz.h"
#include "model/workflow/reader.h"

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
    constexpr std::int64_t k_millis = 1'000;
    std::int64_t whole = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (fault == std::errc{} && end == text.data() + text.size())
        return whole;
    const auto millis = parse_duration(text);
    return millis ? std::optional(*millis / k_millis) : std::nullopt;
}

std::optional<TriggerTimes> read_trigger_interval(std::string_view text) noexcept {
    const auto seconds = read_trigger_seconds(text);
    if (!seconds || *seconds < 1 || *seconds > INT32_MAX)
        return std::nullopt;
    TriggerTimes times;
    times.cron.seconds = static_cast<int>(*seconds);
    return times;
}

// Two adjacent minutes, in one hour or from one hour to the next.
bool is_too_frequent(const Cron &cron) noexcept {
    constexpr int k_least = 120;
    const bool in_an_hour = (cron.minutes & cron.minutes >> 1U) != 0;
    const bool over_hours =
        (cron.minutes & 1U) != 0 && (cron.minutes >> 59U) != 0 &&
        ((cron.hours & cron.hours >> 1U) != 0 || ((cron.hours & 1U) != 0 && (cron.hours >> 23U) != 0));
    return in_an_hour || over_hours || (cron.seconds != 0 && cron.seconds < k_least);
}

} // namespace scylla::model::workflow
