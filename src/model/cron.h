// Schedules in the syntax of cron: parsing them, and computing their next time. Times are seconds since 1970 in UTC; a
// local time is what a clock on the wall shows, counted the same way.
//
// The syntax is that of pg_cron: five fields (minute, hour, day of the month, month, day of the week) of numbers,
// names, ranges, lists and steps, $ for the last day of the month, @hourly and its like, "N seconds". A range may go
// beyond the end: fri-mon, 22-2, nov-feb.
//
// If neither of the fields for the day begins with a star, a day must fit one of them; otherwise it must fit both.
//
// When the clock on the wall is put forward or back, the rule is that of Vixie's cron. A schedule whose minute or hour
// begins with a star runs by elapsed time: it takes the clock as it is. Any other has fixed times, and each comes once:
// a time that the clock skips comes at the jump, and a time that is repeated comes only the first time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

namespace scylla::model {

// Some of the years that Quartz knows; empty: all years.
class Years {
public:
    static constexpr int k_first = 1970;
    static constexpr int k_last = 2099;

    constexpr void add(int year) noexcept { sets_[place(year)] |= bit(year); }
    // The first of these years that is not before another; nothing: there is none.
    constexpr std::optional<std::int64_t> next(std::int64_t year) const noexcept {
        if (*this == Years{})
            return year;
        for (int next = static_cast<int>(std::max<std::int64_t>(year, k_first)); year <= k_last && next <= k_last;
             next++)
            if ((sets_[place(next)] & bit(next)) != 0)
                return next;
        return std::nullopt;
    }
    constexpr bool operator==(const Years &) const noexcept = default;

private:
    static constexpr std::size_t place(int year) noexcept { return static_cast<std::size_t>(year - k_first) / 64; }
    static constexpr std::uint64_t bit(int year) noexcept {
        return std::uint64_t{1} << static_cast<unsigned>(year - k_first) % 64U;
    }

    std::array<std::uint64_t, 3> sets_{};
};

struct Cron {
    std::uint64_t minutes = 0;  // bit n: minute n
    std::uint32_t hours = 0;    // bit n: hour n
    std::uint32_t days = 0;     // bit n: day n of the month
    std::uint32_t months = 0;   // bit n: month n
    std::uint32_t weekdays = 0; // bit n: day n of the week, 0 is Sunday
    bool last_day = false;      // $
    bool either_day = false;    // the day must fit one of the fields, not both
    bool fixed = false;         // neither minute nor hour begins with a star
    int seconds = 0;            // if more than 0: every so many seconds, and nothing else counts
    Years years{};              // of Quartz
};

// What is wrong with a text, or nothing.
enum class CronFault : std::uint8_t { none, minute, hour, day, month, weekday, fields, shorthand, seconds };

// What an error says.
constexpr const char *rule_of(CronFault fault) noexcept {
    using enum CronFault;
    switch (fault) {
    case minute:
        return "The field for the minute must be a list of numbers and ranges between 0 and 59.";
    case hour:
        return "The field for the hour must be a list of numbers and ranges between 0 and 23.";
    case day:
        return "The field for the day of the month must be a list of numbers and ranges between 1 and 31, or \"$\".";
    case month:
        return "The field for the month must be a list of numbers and ranges between 1 and 12, or of names like "
               "\"jan\".";
    case weekday:
        return "The field for the day of the week must be a list of numbers and ranges between 0 and 7, or of names "
               "like \"mon\".";
    case shorthand:
        return "The names are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly.";
    case seconds:
        return "It must be between 1 and 59 seconds.";
    case none:
    case fields:
        break;
    }
    return "It must have five fields (minute, hour, day of the month, month, day of the week), or be a name like "
           "@daily or \"30 seconds\".";
}

namespace cron_detail {

constexpr bool is_blank(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr bool same_word(std::string_view a, std::string_view b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

constexpr std::string_view trim(std::string_view text) noexcept {
    while (!text.empty() && is_blank(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back()))
        text.remove_suffix(1);
    return text;
}

// Takes the first field off the text; empty when there is none left.
constexpr std::string_view take_field(std::string_view &text) noexcept {
    text = trim(text);
    std::size_t size = 0;
    while (size < text.size() && !is_blank(text[size]))
        size++;
    const std::string_view field = text.substr(0, size);
    text.remove_prefix(size);
    return field;
}

inline constexpr std::array<std::string_view, 12> k_months{"jan", "feb", "mar", "apr", "may", "jun",
                                                           "jul", "aug", "sep", "oct", "nov", "dec"};
inline constexpr std::array<std::string_view, 7> k_weekdays{"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

struct Bounds {
    int low;
    int high;
    const std::string_view *names = nullptr;
    int names_count = 0;
    bool steps_to_end = false; // 5/10 is 5-59/10
    bool twice = false;        // the highest is the lowest, too: 7 is Sunday, as 0 is
};
inline constexpr Bounds k_minute{0, 59};
inline constexpr Bounds k_hour{0, 23};
inline constexpr Bounds k_day{1, 31};
inline constexpr Bounds k_month{1, 12, k_months.data(), 12};
inline constexpr Bounds k_weekday{.low = 0, .high = 7, .names = k_weekdays.data(), .names_count = 7, .twice = true};

// Takes a number, or a name, off the text.
constexpr std::optional<int> take_number(std::string_view &text, const Bounds &bounds) noexcept {
    if (!text.empty() && is_digit(text.front())) {
        int number = 0;
        while (!text.empty() && is_digit(text.front())) {
            number = std::min(number * 10 + (text.front() - '0'), 1'000);
            text.remove_prefix(1);
        }
        return number;
    }
    for (int i = 0; i < bounds.names_count; i++) {
        const std::string_view name = bounds.names[i];
        if (same_word(text.substr(0, name.size()), name)) {
            text.remove_prefix(name.size());
            return bounds.low + i;
        }
    }
    return std::nullopt;
}

constexpr bool take(std::string_view &text, char c) noexcept {
    if (text.empty() || text.front() != c)
        return false;
    text.remove_prefix(1);
    return true;
}

// A list of numbers, ranges and stars, with steps, as a set of bits.
constexpr std::optional<std::uint64_t> parse_list(std::string_view text, const Bounds &bounds) noexcept {
    std::uint64_t set = 0;
    do {
        int first = bounds.low;
        int last = bounds.high;
        int step = 1;
        bool is_range = true;
        if (!take(text, '*')) {
            const auto number = take_number(text, bounds);
            if (!number)
                return std::nullopt;
            first = last = *number;
            is_range = take(text, '-');
            if (is_range) {
                const auto end = take_number(text, bounds);
                if (!end)
                    return std::nullopt;
                last = *end;
            } else if (bounds.steps_to_end && text.starts_with('/')) {
                is_range = true;
                last = bounds.high;
            }
        }
        if (is_range && take(text, '/')) {
            if (text.empty() || !is_digit(text.front()))
                return std::nullopt;
            step = *take_number(text, bounds);
            if (step < 1 || step > bounds.high)
                return std::nullopt;
        }
        if (first < bounds.low || first > bounds.high || last < bounds.low || last > bounds.high)
            return std::nullopt;
        const int round = bounds.high - bounds.low + 1 - (bounds.twice ? 1 : 0);
        if (first > last) // beyond the end, and from the beginning again
            last += round;
        for (int i = first; i <= last; i += step)
            set |= std::uint64_t{1} << (i > bounds.high ? i - round : i);
    } while (take(text, ','));
    return text.empty() ? std::optional(set) : std::nullopt;
}

constexpr CronFault parse_fields(std::string_view text, Cron &cron) noexcept {
    std::array<std::string_view, 5> field;
    for (auto &f : field)
        if (f = take_field(text); f.empty())
            return CronFault::fields;
    if (!trim(text).empty())
        return CronFault::fields;
    const auto minutes = parse_list(field[0], k_minute);
    if (!minutes)
        return CronFault::minute;
    const auto hours = parse_list(field[1], k_hour);
    if (!hours)
        return CronFault::hour;
    const bool last_day = field[2] == "$";
    const auto days = last_day ? std::optional(std::uint64_t{0}) : parse_list(field[2], k_day);
    if (!days)
        return CronFault::day;
    const auto months = parse_list(field[3], k_month);
    if (!months)
        return CronFault::month;
    const auto weekdays = parse_list(field[4], k_weekday);
    if (!weekdays)
        return CronFault::weekday;
    cron = {*minutes,
            static_cast<std::uint32_t>(*hours),
            static_cast<std::uint32_t>(*days),
            static_cast<std::uint32_t>(*months),
            static_cast<std::uint32_t>((*weekdays | *weekdays >> 7) & 0x7f), // 7 is Sunday, too
            last_day,
            field[2].front() != '*' && field[4].front() != '*',
            field[0].front() != '*' && field[1].front() != '*',
            0,
            {}};
    return CronFault::none;
}

constexpr CronFault parse_shorthand(std::string_view text, Cron &cron) noexcept {
    constexpr std::array<std::array<std::string_view, 2>, 7> k_shorthands{{{"@yearly", "0 0 1 1 *"},
                                                                           {"@annually", "0 0 1 1 *"},
                                                                           {"@monthly", "0 0 1 * *"},
                                                                           {"@weekly", "0 0 * * 0"},
                                                                           {"@daily", "0 0 * * *"},
                                                                           {"@midnight", "0 0 * * *"},
                                                                           {"@hourly", "0 * * * *"}}};
    for (const auto &[name, meaning] : k_shorthands)
        if (text == name)
            return parse_fields(meaning, cron);
    return CronFault::shorthand;
}

// "30 seconds": 1 to 59 of them. Nothing: it is something else.
constexpr std::optional<CronFault> parse_seconds(std::string_view text, Cron &cron) noexcept {
    constexpr Bounds k_seconds{1, 59};
    if (text.empty() || !is_digit(text.front()))
        return std::nullopt;
    const int number = *take_number(text, k_seconds);
    const std::string_view unit = trim(text);
    if (!same_word(unit, "second") && !same_word(unit, "seconds"))
        return std::nullopt;
    if (number < k_seconds.low || number > k_seconds.high)
        return CronFault::seconds;
    cron.seconds = number;
    return CronFault::none;
}

// ---- the calendar --------------------------------------------------------------------------------------------------

inline constexpr std::int64_t k_minute_seconds = 60;
inline constexpr std::int64_t k_day_seconds = 86'400;
inline constexpr std::int64_t k_cycle_days = 146'097; // 400 years, after which the calendar is the same again

constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept { return a / b - (a % b < 0 ? 1 : 0); }

struct Date {
    std::int64_t year;
    int month; // 1..12
    int day;   // 1..31
};

constexpr bool is_leap(std::int64_t year) noexcept { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

constexpr int days_of(std::int64_t year, int month) noexcept {
    constexpr std::array<int, 12> k_days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return k_days[static_cast<std::size_t>(month - 1)] + (month == 2 && is_leap(year) ? 1 : 0);
}

// Days since 1970 as a date. Counted in years that begin in March, so that the leap day is the last of its year.
constexpr Date date_of(std::int64_t days) noexcept {
    const std::int64_t since = days + 719'468; // since 1 March of the year 0
    const std::int64_t cycle = floor_div(since, k_cycle_days);
    const std::int64_t day = since - cycle * k_cycle_days;
    const std::int64_t year = (day - day / 1'460 + day / 36'524 - day / 146'096) / 365;
    const auto day_of_year = static_cast<int>(day - (365 * year + year / 4 - year / 100));
    const int month = (5 * day_of_year + 2) / 153; // 0 is March
    return {cycle * 400 + year + (month >= 10 ? 1 : 0), month < 10 ? month + 3 : month - 9,
            day_of_year - (153 * month + 2) / 5 + 1};
}

constexpr std::int64_t days_until(std::int64_t year, int month, int day) noexcept {
    const std::int64_t since = year - (month <= 2 ? 1 : 0); // years that begin in March
    const std::int64_t cycle = floor_div(since, 400);
    const std::int64_t of_cycle = since - cycle * 400;
    const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return cycle * k_cycle_days + of_cycle * 365 + of_cycle / 4 - of_cycle / 100 + of_year - 719'468;
}

constexpr int weekday_of(std::int64_t days) noexcept {
    const std::int64_t day = days + 4; // 1970 began with a Thursday
    return static_cast<int>(day - 7 * floor_div(day, 7));
}

constexpr bool has(std::uint64_t set, int bit) noexcept { return (set >> bit & 1) != 0; }

constexpr bool fits(const Cron &cron, const Date &date, std::int64_t days) noexcept {
    const bool day = has(cron.days, date.day) || (cron.last_day && date.day == days_of(date.year, date.month));
    const bool weekday = has(cron.weekdays, weekday_of(days));
    return cron.either_day ? day || weekday : day && weekday;
}

// The first member of the set that is at least `from`, or -1.
constexpr int first_from(std::uint64_t set, int from) noexcept {
    const std::uint64_t rest = from > 63 ? 0 : set >> from << from;
    return rest == 0 ? -1 : std::countr_zero(rest);
}

// The first local time that fits, at `from` or later but before `limit`.
constexpr std::optional<std::int64_t> first_fit(const Cron &cron, std::int64_t from, std::int64_t limit) noexcept {
    const std::int64_t start = -floor_div(-from, k_minute_seconds) * k_minute_seconds; // a whole minute
    std::int64_t days = floor_div(start, k_day_seconds);
    auto minute_of_day = static_cast<int>((start - days * k_day_seconds) / k_minute_seconds);
    for (; days * k_day_seconds < limit; days++, minute_of_day = 0) {
        const Date date = date_of(days);
        const auto year = cron.years.next(date.year);
        if (!year)
            return std::nullopt;
        if (*year != date.year) {
            days = days_until(*year, 1, 1) - 1;
            continue;
        }
        if (!has(cron.months, date.month)) {
            days += days_of(date.year, date.month) - date.day; // its last day, and so on with the first of the next
            continue;
        }
        if (!fits(cron, date, days))
            continue;
        for (int hour = first_from(cron.hours, minute_of_day / 60); hour >= 0;
             hour = first_from(cron.hours, hour + 1)) {
            const int minute = first_from(cron.minutes, hour * 60 < minute_of_day ? minute_of_day - hour * 60 : 0);
            if (minute < 0)
                continue;
            const std::int64_t fit = days * k_day_seconds + (hour * 60 + minute) * k_minute_seconds;
            return fit < limit ? std::optional(fit) : std::nullopt;
        }
    }
    return std::nullopt;
}

} // namespace cron_detail

constexpr CronFault parse_cron(std::string_view text, Cron &cron) noexcept {
    using namespace cron_detail;
    cron = {};
    text = trim(text);
    if (text.empty())
        return CronFault::fields;
    if (text.front() == '@')
        return parse_shorthand(text, cron);
    if (const auto seconds = parse_seconds(text, cron))
        return *seconds;
    return parse_fields(text, cron);
}

// A time zone at one moment: how far its clocks are ahead of UTC, and when that changes next.
struct ZoneSpan {
    std::int64_t offset;
    bool changes;     // if false, `end` has no meaning
    std::int64_t end; // the first moment of the next span
    std::int64_t next_offset;
};

// The next time of the schedule after a moment; nothing: there is none. `span_at(moment)` is the ZoneSpan of the time
// zone then.
template <typename SpanAt>
constexpr std::optional<std::int64_t> next_time(const Cron &cron, std::int64_t after, SpanAt span_at) noexcept {
    using namespace cron_detail;
    if (cron.seconds > 0)
        return (floor_div(after, cron.seconds) + 1) * cron.seconds;
    // Begins early enough to meet a change of the clock that may still matter: no clock was ever put back by two days.
    std::int64_t begin = after - 2 * k_day_seconds;
    const std::int64_t horizon = after + k_cycle_days * k_day_seconds;
    std::optional<std::int64_t> shown; // the clock has shown all local times before this one
    while (begin < horizon) {
        const ZoneSpan span = span_at(begin);
        std::int64_t from = std::max(begin, after + 1) + span.offset;
        if (cron.fixed && shown)
            from = std::max(from, *shown);
        const std::int64_t limit = (span.changes ? std::min(span.end, horizon) : horizon) + span.offset;
        if (const auto fit = first_fit(cron, from, limit))
            return *fit - span.offset;
        if (!span.changes)
            break;
        shown = std::max(shown.value_or(span.end + span.offset), span.end + span.offset);
        // Times that the clock skips come at the jump.
        if (cron.fixed && span.end > after && first_fit(cron, *shown, span.end + span.next_offset))
            return span.end;
        begin = span.end;
    }
    return std::nullopt;
}

} // namespace scylla::model
