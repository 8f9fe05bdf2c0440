// Times in text, as ISO 8601 has them (docs/concepts.md, Times): "2026-11-28", "2026-11-28 08:30",
// "2026-11-28T08:30:15.25+01:00", "2026-11-28 08:30 Europe/Berlin". Whatever the session's DateStyle and TimeZone are.
#pragma once

#include "model/cron.h"
#include "model/zone.h"

namespace scylla::model {

struct TimeText {
    std::int64_t local; // seconds since 1970 that a clock on the wall shows
    std::int64_t micros;
    std::optional<ZoneText> zone; // if one is given
};

// What an error says after "It must be ".
inline constexpr std::string_view k_time_rule =
    R"(a time as ISO 8601 has it, as "2026-11-28", "2026-11-28 08:30" or "2026-11-28T08:30:15+01:00")";

namespace moment_detail {

using cron_detail::is_digit;

class Scanner {
public:
    constexpr explicit Scanner(std::string_view given) noexcept : rest_{given} {}

    constexpr bool take(char c) noexcept {
        if (rest_.empty() || rest_.front() != c)
            return false;
        rest_.remove_prefix(1);
        return true;
    }
    // Exactly so many digits.
    constexpr std::optional<int> number(int digits) noexcept {
        int number = 0;
        for (int i = 0; i < digits; i++, rest_.remove_prefix(1)) {
            if (!at_digit())
                return std::nullopt;
            number = number * 10 + (rest_.front() - '0');
        }
        return number;
    }
    constexpr bool at_digit() const noexcept { return !rest_.empty() && is_digit(rest_.front()); }
    constexpr std::size_t digits() const noexcept {
        return std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    }
    constexpr std::string_view rest() const noexcept { return rest_; }

private:
    std::string_view rest_;
};

// Seconds since 1970 of midnight.
constexpr std::optional<std::int64_t> read_day(Scanner &scanner) noexcept {
    constexpr std::size_t k_compact = 8;
    const std::size_t digits = scanner.digits();
    const bool compact = digits == k_compact;
    if (!compact && (digits < 4 || digits > 6))
        return std::nullopt;
    const int year = *scanner.number(compact ? 4 : static_cast<int>(digits));
    const bool dash = compact || scanner.take('-');
    const auto month = scanner.number(2);
    const bool second_dash = compact || scanner.take('-');
    const auto day = scanner.number(2);
    if (year < 1 || !dash || !second_dash || !month || !day || *month < 1 || *month > 12 || *day < 1 ||
        *day > cron_detail::days_of(year, *month))
        return std::nullopt;
    return cron_detail::days_until(year, *month, *day) * cron_detail::k_day_seconds;
}

// The microseconds of "08:30", "08:30:15", "08:30:15.25".
constexpr std::optional<std::int64_t> read_clock(Scanner &scanner) noexcept {
    constexpr std::int64_t k_micros = 1'000'000;
    const auto hour = scanner.number(2);
    const bool colon = scanner.take(':');
    const auto minute = scanner.number(2);
    const auto second = minute && scanner.take(':') ? scanner.number(2) : std::optional(0);
    if (!hour || !colon || !minute || !second || *hour > 23 || *minute > 59 || *second > 59)
        return std::nullopt;
    std::int64_t micros = ((*hour * std::int64_t{60} + *minute) * 60 + *second) * k_micros;
    if (scanner.take('.') || scanner.take(',')) {
        if (!scanner.at_digit() || scanner.digits() > 9)
            return std::nullopt;
        for (std::int64_t unit = k_micros / 10; scanner.at_digit(); unit /= 10)
            micros += *scanner.number(1) * unit;
    }
    return micros;
}

} // namespace moment_detail

// Nothing: it is no time. Digits behind the microseconds do not count.
constexpr std::optional<TimeText> read_time(std::string_view given) noexcept {
    using namespace moment_detail;
    constexpr std::int64_t k_micros = 1'000'000;
    Scanner scanner(cron_detail::trim(given));
    const auto day = read_day(scanner);
    if (!day)
        return std::nullopt;
    TimeText time{*day, 0, std::nullopt};
    std::string_view zone = scanner.rest();
    const bool letter = scanner.take('T') || scanner.take('t');
    bool blank = false;
    while (!letter && scanner.take(' '))
        blank = true;
    if (letter || (blank && scanner.at_digit())) {
        const auto clock = read_clock(scanner);
        if (!clock)
            return std::nullopt;
        time.local += *clock / k_micros;
        time.micros = *clock % k_micros;
        zone = scanner.rest();
    }
    zone = cron_detail::trim(zone);
    if (zone.empty())
        return time;
    time.zone = read_zone(zone);
    return time.zone ? std::optional(time) : std::nullopt;
}

} // namespace scylla::model
