// Durations in text (docs/concepts.md, Durations): wherever a definition, a parameter or a member of JSON has one, and
// in the command line, which is C++17.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace scylla::model {

// As the server's intervals: months and days are apart, because a step in the calendar is no fixed time.
struct Duration {
    std::int64_t months = 0;
    std::int64_t days = 0;
    std::int64_t micros = 0;

    constexpr bool operator==(const Duration &other) const noexcept {
        return months == other.months && days == other.days && micros == other.micros;
    }
};

// What an error says after "It must be ".
inline constexpr std::string_view k_duration_rule =
    R"(a number of seconds, or numbers with units, the largest first, as "90", "1.5 hours", "1 day 2 hours" or "PT30M")";

namespace duration_detail {

inline constexpr std::int64_t k_micros_of_day = 86'400'000'000;

struct Unit {
    std::int64_t months;
    std::int64_t days;
    std::int64_t micros;
};
inline constexpr Unit k_units[] = {{12, 0, 0}, // the largest first
                                   {1, 0, 0},          {0, 7, 0},         {0, 1, 0},     {0, 0, 3'600'000'000},
                                   {0, 0, 60'000'000}, {0, 0, 1'000'000}, {0, 0, 1'000}, {0, 0, 1}};
inline constexpr std::size_t k_day_unit = 3;
inline constexpr std::size_t k_hour_unit = 4;
inline constexpr std::size_t k_second_unit = 6;

struct Word {
    std::string_view name; // without the s of a plural
    std::size_t unit;
};
inline constexpr Word k_words[] = {{"y", 0},     {"yr", 0},          {"year", 0},   {"mon", 1},  {"month", 1},
                                   {"w", 2},     {"week", 2},        {"d", 3},      {"day", 3},  {"h", 4},
                                   {"hr", 4},    {"hour", 4},        {"m", 5},      {"min", 5},  {"minute", 5},
                                   {"s", 6},     {"sec", 6},         {"second", 6}, {"ms", 7},   {"msec", 7},
                                   {"milli", 7}, {"millisecond", 7}, {"us", 8},     {"usec", 8}, {"microsecond", 8}};

constexpr bool is_blank(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// mantissa / scale
struct Number {
    std::int64_t mantissa = 0;
    std::int64_t scale = 1;
};

class Scanner {
public:
    constexpr explicit Scanner(std::string_view given) noexcept : rest_{given} {}

    constexpr bool at_end() const noexcept { return rest_.empty(); }
    constexpr bool at(char c) const noexcept { return !rest_.empty() && rest_.front() == c; }
    constexpr bool at_digit() const noexcept { return !rest_.empty() && is_digit(rest_.front()); }
    constexpr void skip_blanks() noexcept {
        while (!rest_.empty() && is_blank(rest_.front()))
            rest_.remove_prefix(1);
    }
    constexpr bool take(char c) noexcept {
        if (!at(c))
            return false;
        rest_.remove_prefix(1);
        return true;
    }
    // What may stand between two parts: blanks, a comma, "and". False: there is nothing more that could be a part.
    constexpr bool goes_on() noexcept {
        skip_blanks();
        const bool comma = take(',');
        skip_blanks();
        constexpr std::string_view k_and = "and";
        const bool has_and =
            rest_.size() > k_and.size() && same(rest_.substr(0, k_and.size()), k_and) && is_blank(rest_[k_and.size()]);
        if (has_and) {
            rest_.remove_prefix(k_and.size());
            skip_blanks();
        }
        return comma || has_and || at_digit();
    }
    // Digits, and perhaps a point and more digits. Nothing if there are none, or too many.
    constexpr std::optional<Number> number(bool fraction) noexcept {
        Number read;
        bool fits = digits(read.mantissa, nullptr);
        if (fits && fraction && take('.'))
            fits = digits(read.mantissa, &read.scale);
        return fits ? std::optional(read) : std::nullopt;
    }
    // The letters that follow, as a unit.
    constexpr std::optional<std::size_t> unit() noexcept {
        std::size_t size = 0;
        while (size < rest_.size() && lower(rest_[size]) >= 'a' && lower(rest_[size]) <= 'z')
            size++;
        const std::string_view word = rest_.substr(0, size);
        rest_.remove_prefix(size);
        for (const Word &known : k_words)
            if (same(word, known.name) || (size > 1 && lower(word.back()) == 's' && known.name.back() != 's' &&
                                           known.name.size() > 1 && same(word.substr(0, size - 1), known.name)))
                return known.unit;
        return std::nullopt;
    }

private:
    // Appends at least one digit to the mantissa, and counts them in the scale if there is one.
    constexpr bool digits(std::int64_t &mantissa, std::int64_t *scale) noexcept {
        constexpr std::int64_t k_most = 1'000'000'000'000'000'000;
        const bool any = at_digit();
        bool fits = true;
        for (; at_digit(); rest_.remove_prefix(1)) {
            fits = fits && mantissa < k_most / 10 && (scale == nullptr || *scale < k_most / 10);
            if (!fits)
                continue;
            mantissa = mantissa * 10 + (rest_.front() - '0');
            if (scale != nullptr)
                *scale *= 10;
        }
        return any && fits;
    }
    static constexpr bool same(std::string_view a, std::string_view b) noexcept {
        if (a.size() != b.size())
            return false;
        for (std::size_t i = 0; i < a.size(); i++)
            if (lower(a[i]) != b[i])
                return false;
        return true;
    }

    std::string_view rest_;
};

__extension__ typedef __int128 Wide;

constexpr bool add(std::int64_t &sum, Wide more) noexcept {
    const Wide total = more + sum;
    if (total > std::numeric_limits<std::int64_t>::max())
        return false;
    sum = static_cast<std::int64_t>(total);
    return true;
}

// Adds so many units, to the nearest microsecond. False: months in fractions, or too much.
constexpr bool add(Duration &sum, const Number &number, const Unit &unit) noexcept {
    const Wide mantissa = number.mantissa;
    if (unit.months != 0)
        return number.scale == 1 && add(sum.months, mantissa * unit.months);
    const Wide days = mantissa * unit.days;
    const Wide micros =
        (days % number.scale * k_micros_of_day + mantissa * unit.micros + number.scale / 2) / number.scale;
    return add(sum.days, days / number.scale) && add(sum.micros, micros);
}

// "02:30", "02:30:15.5", after the hours.
constexpr bool read_clock(Scanner &scanner, const Number &hours, Duration &sum) noexcept {
    constexpr std::int64_t k_sixty = 60;
    bool fits = hours.scale == 1 && add(sum, hours, k_units[k_hour_unit]);
    for (std::size_t unit = k_hour_unit + 1; unit <= k_second_unit; unit++) {
        if (!scanner.take(':'))
            return fits && unit == k_second_unit;
        const auto number = scanner.number(unit == k_second_unit);
        fits = fits && number && number->mantissa < k_sixty * number->scale && add(sum, *number, k_units[unit]);
        if (!fits)
            return false;
    }
    return true;
}

// P1Y2M3W4DT5H6M7.5S, after the P. Only the last number may have a fraction.
constexpr bool read_iso(Scanner &scanner, Duration &sum) noexcept {
    constexpr std::string_view k_letters = "YMWDHMS";
    std::size_t next = 0; // the first letter that may follow
    bool in_time = false;
    bool is_last = false;
    bool any = false;
    while (!scanner.at_end()) {
        if (!in_time && scanner.take('T')) {
            in_time = true;
            next = k_hour_unit;
            any = false;
            continue;
        }
        const auto number = scanner.number(true);
        if (!number || is_last)
            return false;
        is_last = number->scale != 1;
        const std::size_t end = in_time ? k_letters.size() : k_hour_unit;
        while (next < end && !scanner.take(k_letters[next]))
            next++;
        if (next >= end || !add(sum, *number, k_units[next]))
            return false;
        next++;
        any = true;
    }
    return any;
}

// "1 day 2 hours", "1 day 02:00". A number without a unit is one of seconds, if there is nothing else.
constexpr bool read_parts(Scanner &scanner, Duration &sum) noexcept {
    std::size_t next = 0; // the largest unit that may follow
    do {
        const auto number = scanner.number(true);
        if (!number)
            return false;
        if (scanner.at(':')) {
            const bool is_clock = next <= k_hour_unit && read_clock(scanner, *number, sum);
            scanner.skip_blanks();
            return is_clock && scanner.at_end();
        }
        scanner.skip_blanks();
        if (next == 0 && scanner.at_end())
            return add(sum, *number, k_units[k_second_unit]);
        const auto unit = scanner.unit();
        if (!unit || *unit < next || !add(sum, *number, k_units[*unit]))
            return false;
        next = *unit + 1;
    } while (scanner.goes_on());
    return scanner.at_end();
}

constexpr bool read(Scanner scanner, Duration &sum) noexcept {
    scanner.skip_blanks();
    if (scanner.take('P'))
        return read_iso(scanner, sum);
    if (scanner.take('@')) // as the server writes intervals with intervalstyle postgres_verbose
        scanner.skip_blanks();
    return read_parts(scanner, sum);
}

} // namespace duration_detail

// Nothing: the text is no duration, or one that is too long to be counted.
constexpr std::optional<Duration> read_duration(std::string_view given) noexcept {
    while (!given.empty() && duration_detail::is_blank(given.back()))
        given.remove_suffix(1);
    Duration sum;
    return duration_detail::read(duration_detail::Scanner(given), sum) ? std::optional(sum) : std::nullopt;
}

// The microseconds of a duration without months and years, whose length is not fixed; a day has 24 hours. What does
// not fit is the most that does.
constexpr std::optional<std::int64_t> read_fixed_duration(std::string_view given) noexcept {
    const auto read = read_duration(given);
    if (!read || read->months != 0)
        return std::nullopt;
    std::int64_t micros = read->micros;
    const bool fits =
        duration_detail::add(micros, duration_detail::Wide{read->days} * duration_detail::k_micros_of_day);
    return fits ? micros : std::numeric_limits<std::int64_t>::max();
}

} // namespace scylla::model
