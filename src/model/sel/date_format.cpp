// Dates as texts: patterns of letters, after Joda-Time, and ISO 8601.
#include <algorithm>
#include <cstdlib>

#include "model/sel/dates.h"
#include "model/sel/library.h"
#include "model/sel/utf8.h"

namespace scylla::model::sel {

namespace {

// One part of a pattern: a letter that is repeated, or a text (letter 0).
struct Part {
    char letter = 0;
    int count = 0;
    std::string text{};
};

constexpr std::string_view k_letters = "GCYyxwDMdaKhkHmsSEeZ";
constexpr int k_most_repeated = 32;

class Pattern {
public:
    explicit Pattern(std::string_view text) noexcept : text_{text} {}

    // The next part; false at the end.
    bool next(Part &part) {
        if (at_ >= text_.size())
            return false;
        part = {};
        if (is_letter(text_[at_]))
            read_letters(part);
        else
            read_text(part);
        return true;
    }
    // Whether digits follow directly, so that a number must have as many digits as its part has letters.
    bool digits_follow() const noexcept {
        if (at_ >= text_.size())
            return false;
        const std::size_t end = std::min(text_.find_first_not_of(text_[at_], at_), text_.size());
        return is_number(text_[at_], static_cast<int>(end - at_)) || is_digit(text_[at_]);
    }
    static bool is_number(char letter, int count) noexcept {
        return std::string_view("CYyxwDdKhkHmsSe").find(letter) != std::string_view::npos ||
               (letter == 'M' && count <= 2);
    }

private:
    void read_letters(Part &part) {
        part.letter = text_[at_];
        while (at_ < text_.size() && text_[at_] == part.letter) {
            part.count++;
            at_++;
        }
        if (k_letters.find(part.letter) == std::string_view::npos)
            fail(FaultKind::value, std::string("the letter \"") + part.letter + "\" of a pattern is not supported");
        if (part.count > k_most_repeated)
            fail(FaultKind::value, std::string("too many letters \"") + part.letter + "\" in a pattern");
    }
    // Text between quotes, where '' is a quote, or characters that are not letters.
    void read_text(Part &part) {
        bool quoted = false;
        for (; at_ < text_.size() && (quoted || !is_letter(text_[at_])); at_++) {
            if (text_[at_] != '\'') {
                part.text += text_[at_];
            } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '\'') {
                part.text += text_[at_++];
            } else {
                quoted = !quoted;
            }
        }
        if (quoted)
            fail(FaultKind::value, "a quote of a pattern is not closed");
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

std::string padded(std::int64_t number, int width) {
    std::string digits = std::to_string(std::llabs(number));
    if (static_cast<int>(digits.size()) < width)
        digits.insert(0, static_cast<std::size_t>(width) - digits.size(), '0');
    return number < 0 ? "-" + digits : digits;
}

std::string offset_text(std::int32_t offset, bool colon) {
    const int minutes = std::abs(offset) / 60;
    return (offset < 0 ? "-" : "+") + padded(minutes / 60, 2) + (colon ? ":" : "") + padded(minutes % 60, 2);
}

std::string print_zone(Context &context, const Date &date, int count) {
    if (count >= 3)
        return std::string(date.zone->name);
    return offset_text(offset_at(context, *date.zone, date.millis), count == 2);
}

std::string print_fraction(std::int64_t milli, int count) {
    std::string digits = padded(milli, 3);
    digits.resize(static_cast<std::size_t>(count), '0');
    return digits;
}

std::string print_year(std::int64_t year, int count) {
    return count == 2 ? padded(std::llabs(year) % 100, 2) : padded(year, count);
}

std::string print_month(int month, int count) {
    return count <= 2 ? padded(month, count) : std::string(month_name(month).substr(0, count == 3 ? 3 : 9));
}

std::string print_weekday(int weekday, int count) {
    const auto name = day_name(weekday);
    return std::string(count <= 3 ? name.substr(0, 3) : name);
}

// The letters of a year; nothing for other letters.
std::optional<std::string> print_of_year(std::int64_t year, const Part &part) {
    const std::int64_t of_era = year > 0 ? year : 1 - year;
    switch (part.letter) {
    case 'G':
        return year > 0 ? "AD" : "BC";
    case 'C':
        return padded(of_era / 100, part.count);
    case 'Y':
        return print_year(of_era, part.count);
    case 'y':
        return print_year(year, part.count);
    default:
        return std::nullopt;
    }
}

// The letters of an hour; nothing for other letters.
std::optional<std::string> print_of_hour(std::int64_t hour, const Part &part) {
    switch (part.letter) {
    case 'a':
        return hour < 12 ? "AM" : "PM";
    case 'K':
        return padded(hour % 12, part.count);
    case 'h':
        return padded((hour + 11) % 12 + 1, part.count);
    case 'k':
        return padded((hour + 23) % 24 + 1, part.count);
    case 'H':
        return padded(hour, part.count);
    default:
        return std::nullopt;
    }
}

std::string print_part(Context &context, const Date &date, const Part &part) {
    const auto get = [&](Field field) { return get_field(context, date, field); };
    if (auto printed = print_of_year(get(Field::year), part))
        return *printed;
    if (auto printed = print_of_hour(get(Field::hour), part))
        return *printed;
    switch (part.letter) {
    case 'x':
        return print_year(get(Field::week_year), part.count);
    case 'w':
        return padded(get(Field::week), part.count);
    case 'D':
        return padded(get(Field::day_of_year), part.count);
    case 'M':
        return print_month(static_cast<int>(get(Field::month)), part.count);
    case 'd':
        return padded(get(Field::day_of_month), part.count);
    case 'm':
        return padded(get(Field::minute), part.count);
    case 's':
        return padded(get(Field::second), part.count);
    case 'S':
        return print_fraction(get(Field::milli), part.count);
    case 'E':
        return print_weekday(static_cast<int>(get(Field::day_of_week)), part.count);
    case 'e':
        return padded(get(Field::day_of_week), part.count);
    default:
        return print_zone(context, date, part.count);
    }
}

// Reads a date from a text, part by part of a pattern.
class Reader {
public:
    Reader(Context &context, std::string_view text, const Zone *zone) : context_{context}, text_{text}, zone_{zone} {}

    Value read(std::string_view pattern_text) {
        Pattern pattern(pattern_text);
        Part part;
        while (pattern.next(part)) {
            if (part.letter == 0)
                expect(part.text);
            else
                read_part(part, pattern.digits_follow());
        }
        if (at_ != text_.size())
            malformed();
        return build();
    }

private:
    [[noreturn]] void malformed() const {
        fail(FaultKind::value, "\"" + std::string(text_.substr(0, 100)) + "\" does not fit the pattern at character " +
                                   std::to_string(at_ + 1));
    }
    void expect(std::string_view wanted) {
        if (!text_.substr(at_).starts_with(wanted))
            malformed();
        at_ += wanted.size();
    }

    std::int64_t read_number(int most, bool sign) {
        const bool minus = sign && at_ < text_.size() && text_[at_] == '-';
        at_ += minus ? 1 : 0;
        std::int64_t number = 0;
        int count = 0;
        for (; count < most && at_ < text_.size() && is_digit(text_[at_]); at_++, count++)
            number = number * 10 + (text_[at_] - '0');
        if (count == 0)
            malformed();
        return minus ? -number : number;
    }
    int read_between(int most_digits, int least, int most) {
        const std::size_t start = at_;
        const std::int64_t number = read_number(most_digits, false);
        if (number < least || number > most) {
            at_ = start;
            malformed();
        }
        return static_cast<int>(number);
    }

    static bool same_letters(std::string_view a, std::string_view b) noexcept {
        return a.size() == b.size() &&
               std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return (x | 0x20) == (y | 0x20); });
    }
    // One of the names from first to last, whole or its first three letters.
    template <typename Name> int read_name(int last, Name name) {
        for (int i = 1; i <= last; i++) {
            for (const std::size_t size : {name(i).size(), std::size_t{3}}) {
                if (same_letters(text_.substr(at_, size), name(i).substr(0, size))) {
                    at_ += size;
                    return i;
                }
            }
        }
        malformed();
    }

    // Two digits are a year from 80 years ago to 19 years ahead.
    std::int64_t read_year(const Part &part, bool exact) {
        const std::size_t start = at_;
        const std::int64_t year = read_number(exact ? part.count : std::max(part.count, 9), true);
        if (part.count != 2 || at_ - start != 2 || year < 0)
            return year;
        const Date now{context_.world.now_millis(), utc_zone()};
        const std::int64_t first = get_field(context_, now, Field::year) - 80;
        const std::int64_t in_century = first - first % 100 + year;
        return in_century < first ? in_century + 100 : in_century;
    }

    void read_fraction(const Part &part, bool exact) {
        const std::size_t start = at_;
        std::int64_t scale = 100;
        std::int64_t value = 0;
        for (int count = 0; (!exact || count < part.count) && count < 9 && at_ < text_.size() && is_digit(text_[at_]);
             count++, at_++) {
            value += (text_[at_] - '0') * scale;
            scale /= 10;
        }
        if (at_ == start)
            malformed();
        milli_ = static_cast<int>(value);
    }

    // by_id: of three letters, which mean the id of a zone. The date keeps it.
    void read_zone(bool by_id) {
        std::size_t size = 0;
        const auto in_name = [](char c) {
            return is_letter(c) || is_digit(c) || c == '/' || c == '_' || c == '+' || c == '-' || c == ':';
        };
        while (at_ + size < text_.size() && in_name(text_[at_ + size]))
            size++;
        if (size == 0)
            malformed();
        given_zone_ = find_zone(context_, text_.substr(at_, size));
        keeps_zone_ = by_id;
        at_ += size;
    }

    void read_part(const Part &part, bool exact) {
        if (!read_of_day(part, exact) && !read_of_time(part, exact))
            fail(FaultKind::value, std::string("the letter \"") + part.letter + "\" is not supported for reading");
    }

    static int digits_of(const Part &part, bool exact) { return exact ? part.count : std::max(part.count, 2); }

    // False: it is not a letter of a day.
    bool read_of_day(const Part &part, bool exact) {
        const int digits = digits_of(part, exact);
        switch (part.letter) {
        case 'y':
        case 'Y':
            year_ = read_year(part, exact);
            has_year_ = true;
            return true;
        case 'x':
            week_year_ = read_year(part, exact);
            has_year_ = true;
            return true;
        case 'w':
            week_ = read_between(digits, 1, 53);
            break;
        case 'D':
            day_of_year_ = read_between(exact ? part.count : 3, 1, 366);
            break;
        case 'M':
            month_ = part.count <= 2 ? read_between(digits, 1, 12) : read_name(12, month_name);
            break;
        case 'd':
            day_ = read_between(digits, 1, 31);
            break;
        case 'E':
            read_name(7, day_name);
            break;
        case 'e':
            weekday_ = read_between(digits, 1, 7);
            break;
        default:
            return false;
        }
        has_day_ = true;
        return true;
    }

    // False: it is not a letter of a time of day.
    bool read_of_time(const Part &part, bool exact) {
        const int digits = digits_of(part, exact);
        switch (part.letter) {
        case 'a':
            afternoon_ = read_name(2, [](int i) { return std::string_view(i == 1 ? "AM " : "PM ").substr(0, 2); }) == 2;
            break;
        case 'K':
            half_hour_ = read_between(digits, 0, 11);
            break;
        case 'h':
            half_hour_ = read_between(digits, 1, 12) % 12;
            break;
        case 'k':
            hour_ = read_between(digits, 1, 24) % 24;
            break;
        case 'H':
            hour_ = read_between(digits, 0, 23);
            break;
        case 'm':
            minute_ = read_between(digits, 0, 59);
            break;
        case 's':
            second_ = read_between(digits, 0, 59);
            break;
        case 'S':
            read_fraction(part, exact);
            break;
        case 'Z':
            read_zone(part.count >= 3);
            break;
        default:
            return false;
        }
        return true;
    }

    Value build() {
        const int hour = half_hour_ >= 0 ? half_hour_ + (afternoon_ ? 12 : 0) : hour_;
        const std::int64_t milli = ((hour * std::int64_t{60} + minute_) * 60 + second_) * 1'000 + milli_;
        if (!has_year_ && has_day_) // as a day without a year, 29 February can be read
            year_ = 2000;
        const std::int64_t year = week_ > 0 || week_year_ != k_none ? 1970 : year_;
        if (day_ > days_in_month(year_, month_))
            fail(FaultKind::value, "there is no day " + std::to_string(day_) + " in that month");
        if (std::llabs(year) > k_last_year)
            fail(FaultKind::value, "a date must be between the years " + std::to_string(k_first_year) + " and " +
                                       std::to_string(k_last_year));
        const Zone *from = given_zone_ != nullptr ? given_zone_ : zone_ != nullptr ? zone_ : utc_zone();
        Value date = make_date(context_, from_local(context_, {year, month_, day_, milli}, *from), from);
        if (week_year_ != k_none || week_ > 0)
            date = with_week(date);
        if (day_of_year_ > 0)
            date = with_field(context_, *date.date, Field::day_of_year, day_of_year_);
        return make_date(context_, date.date->millis,
                         zone_ != nullptr ? zone_
                         : keeps_zone_    ? given_zone_
                                          : utc_zone());
    }
    Value with_week(Value date) {
        date = with_field(context_, *date.date, Field::week_year, week_year_ != k_none ? week_year_ : year_);
        date = with_field(context_, *date.date, Field::week, std::max(week_, 1));
        return with_field(context_, *date.date, Field::day_of_week, weekday_);
    }

    static constexpr std::int64_t k_none = INT64_MAX;

    Context &context_;
    std::string_view text_;
    const Zone *zone_;
    const Zone *given_zone_ = nullptr;
    std::size_t at_ = 0;
    bool keeps_zone_ = false;
    bool has_year_ = false;
    bool has_day_ = false; // or a month, a week
    std::int64_t year_ = 1970;
    std::int64_t week_year_ = k_none;
    int month_ = 1;
    int day_ = 1;
    int week_ = 0;
    int weekday_ = 1;
    int day_of_year_ = 0;
    int hour_ = 0;
    int half_hour_ = -1;
    bool afternoon_ = false;
    int minute_ = 0;
    int second_ = 0;
    int milli_ = 0;
};

} // namespace

void check_pattern(std::string_view text) {
    if (text.empty())
        fail(FaultKind::value, "a pattern must not be empty");
    Pattern pattern(text);
    for (Part part; pattern.next(part);) {
    }
}

std::string print_date(Context &context, const Date &date, std::string_view text) {
    Pattern pattern(text);
    std::string printed;
    for (Part part; pattern.next(part);) {
        context.work(8);
        printed += part.letter == 0 ? part.text : print_part(context, date, part);
    }
    return printed;
}

std::string show_date(Context &context, const Date &date) {
    const std::int32_t offset = offset_at(context, *date.zone, date.millis);
    return print_date(context, date, "yyyy-MM-dd'T'HH:mm:ss.SSS") + (offset == 0 ? "Z" : offset_text(offset, true));
}

Value parse_date(Context &context, std::string_view text, std::string_view pattern, const Zone *zone) {
    context.work_on(text.size() + pattern.size() * 16);
    return Reader(context, text, zone).read(pattern);
}

namespace {

// The pattern of a day as ISO 8601 writes it: also of a week, and of a day of a year. Empty: there is none.
std::string iso_day(std::string_view day) {
    const std::string_view digits = day.starts_with('-') ? day.substr(1) : day;
    const std::size_t dash = std::min(digits.find('-'), digits.size());
    const std::string_view after = digits.substr(std::min(dash + 1, digits.size()));
    const auto dashes = std::count(digits.begin(), digits.end(), '-');
    if (after.starts_with('W'))
        return dashes >= 2 ? "xxxx-'W'ww-e" : "xxxx-'W'ww";
    if (dashes == 1 && after.size() == 3)
        return "yyyy-DDD";
    return day.empty() ? "" : dashes >= 2 ? "yyyy-MM-dd" : dashes == 1 ? "yyyy-MM" : "yyyy";
}

// The milliseconds that a fraction stands for, as of an hour: "5" is half of it.
std::int64_t part_of(std::int64_t millis, std::string_view fraction) {
    constexpr std::size_t k_digits = 9;
    if (fraction.empty() || fraction.size() > k_digits ||
        fraction.find_first_not_of("0123456789") != std::string_view::npos)
        fail(FaultKind::value, "\"" + std::string(fraction.substr(0, 100)) + "\" is no fraction of a time");
    std::int64_t scale = 1;
    for (std::size_t i = 0; i < fraction.size(); i++)
        scale *= 10;
    return parse_long(fraction) * millis / scale;
}

} // namespace

// 2026, 2026-11, 2026-11-23, 2026-W48-1, 2026-327 or nothing, with T08, T08:30, T08:30:15, each with a fraction of its
// last part after a point or a comma, with Z or +01:00.
Value parse_iso(Context &context, std::string_view text, const Zone *zone) {
    const std::size_t time = std::min(text.find('T'), text.size());
    std::string pattern = text.empty() ? "yyyy" : iso_day(text.substr(0, time));
    if (time == text.size())
        return parse_date(context, text, pattern, zone);
    const std::size_t zone_at = std::min(text.find_first_of("Z+-", time), text.size());
    const std::string_view clock = text.substr(time, zone_at - time);
    const auto colons = std::count(clock.begin(), clock.end(), ':');
    pattern += clock.size() > 1 ? "'T'HH" : "'T'";
    pattern += colons >= 2 ? ":mm:ss" : colons == 1 ? ":mm" : "";
    const std::size_t point = clock.find_first_of(".,");
    const std::string after_clock = zone_at < text.size() ? "Z" : "";
    if (point == std::string_view::npos || colons >= 2)
        return parse_date(
            context, text,
            pattern + (point == std::string_view::npos ? "" : clock[point] + std::string("SSS")) + after_clock, zone);
    const std::int64_t more = part_of(colons == 1 ? 60'000 : 3'600'000, clock.substr(point + 1));
    const std::string whole = std::string(text.substr(0, time + point)) + std::string(text.substr(zone_at));
    const Value date = parse_date(context, whole, pattern + after_clock, zone);
    return make_date(context, date.date->millis + more, date.date->zone);
}

} // namespace scylla::model::sel
