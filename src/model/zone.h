// Time zones in text (docs/concepts.md, Times): the name of a zone, or an offset from UTC as ISO 8601 has it, positive
// east of Greenwich. The server's own function reads "+02:00" the other way round, as POSIX does, and takes "foo5".
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace scylla::model {

struct ZoneText {
    bool is_offset;
    std::int32_t offset;   // seconds east of Greenwich
    std::string_view name; // to be looked up; what the caller gave
};

// What an error says after "It must be ".
inline constexpr std::string_view k_zone_rule =
    R"(the name of a time zone, as "Europe/Berlin", or an offset from UTC, as "+02:00")";

namespace zone_detail {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr bool is_letter(char c) noexcept { return lower(c) >= 'a' && lower(c) <= 'z'; }

constexpr bool same(std::string_view a, std::string_view b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

// Takes one or two digits off the text; -1: there are none.
constexpr int take_number(std::string_view &given) noexcept {
    int number = -1;
    for (int i = 0; i < 2 && !given.empty() && is_digit(given.front()); i++, given.remove_prefix(1))
        number = std::max(number, 0) * 10 + (given.front() - '0');
    return number;
}

// "+2", "+02", "+02:00", "+0200": less than a day.
constexpr std::optional<std::int32_t> read_offset(std::string_view given) noexcept {
    if (given.empty() || (given.front() != '+' && given.front() != '-'))
        return std::nullopt;
    const bool west = given.front() == '-';
    given.remove_prefix(1);
    const std::size_t size = given.size();
    const int hours = take_number(given);
    const bool colon = !given.empty() && given.front() == ':';
    if (colon)
        given.remove_prefix(1);
    const bool has_minutes = colon || size == 4;
    const std::size_t digits = given.size();
    const int minutes = has_minutes ? take_number(given) : 0;
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || (has_minutes && digits != 2) || !given.empty())
        return std::nullopt;
    const std::int32_t seconds = hours * 3'600 + minutes * 60;
    return west ? -seconds : seconds;
}

// The names with digits that exist. With other digits, the server would take a name for one of POSIX.
constexpr bool is_known_with_digits(std::string_view name) noexcept {
    constexpr std::string_view k_names[] = {"EST5EDT", "CST6CDT", "MST7MDT", "PST8PDT", "GMT0", "Etc/GMT0"};
    if (std::any_of(std::begin(k_names), std::end(k_names), [&](std::string_view known) { return same(known, name); }))
        return true;
    constexpr std::string_view k_etc = "Etc/GMT";
    if (!same(name.substr(0, k_etc.size()), k_etc))
        return false;
    name.remove_prefix(k_etc.size());
    if (name.size() < 2 || name.size() > 3 || (name.size() == 3 && name[1] == '0'))
        return false;
    const auto hours = read_offset(name);
    return hours && *hours >= -14 * 3'600 && *hours <= 12 * 3'600;
}

} // namespace zone_detail

// Nothing: it cannot be a zone.
constexpr std::optional<ZoneText> read_zone(std::string_view given) noexcept {
    using namespace zone_detail;
    if (same(given, "Z") || same(given, "UTC"))
        return ZoneText{true, 0, given};
    std::string_view offset = given;
    for (const std::string_view prefix : {"UTC", "GMT", "UT"})
        if (offset.size() > prefix.size() && same(offset.substr(0, prefix.size()), prefix) &&
            !is_letter(offset[prefix.size()])) {
            offset.remove_prefix(prefix.size());
            break;
        }
    if (const auto seconds = read_offset(offset))
        return ZoneText{true, *seconds, given};
    const auto fits = [](char c) {
        return is_letter(c) || is_digit(c) || c == '/' || c == '_' || c == '+' || c == '-';
    };
    const bool is_name = !given.empty() && is_letter(given.front()) && std::all_of(given.begin(), given.end(), fits);
    if (!is_name || (std::any_of(given.begin(), given.end(), is_digit) && !is_known_with_digits(given)))
        return std::nullopt;
    return ZoneText{false, 0, given};
}

// "+05:30"; "UTC" for 0.
inline std::string show_offset(std::int32_t offset) {
    if (offset == 0)
        return "UTC";
    const std::int32_t minutes = (offset < 0 ? -offset : offset) / 60;
    const auto two = [](std::int32_t number) {
        return std::string{static_cast<char>('0' + number / 10), static_cast<char>('0' + number % 10)};
    };
    return (offset < 0 ? "-" : "+") + two(minutes / 60) + ":" + two(minutes % 60);
}

// The moment at which the clocks of a zone show a local time, both in seconds since 1970. `offset_at(moment)` is how
// far they are ahead of UTC then. A time that they show twice is the one with the offset `kept` if that is one of the
// two, and otherwise the first; one that they skip is moved forward by as much as they skip.
template <typename OffsetAt>
constexpr std::int64_t moment_of(std::int64_t local, OffsetAt offset_at,
                                 std::optional<std::int64_t> kept = std::nullopt) noexcept {
    constexpr std::int64_t k_most = 86'400; // no clock was ever changed by more
    const auto is_valid = [&](std::int64_t offset) { return std::int64_t{offset_at(local - offset)} == offset; };
    if (kept && is_valid(*kept))
        return local - *kept;
    const std::int64_t before = offset_at(local - k_most);
    if (is_valid(before))
        return local - before;
    const std::int64_t after = offset_at(local + k_most);
    return is_valid(after) ? local - after : local - before;
}

} // namespace scylla::model
