// Dates as texts: patterns of letters, after Joda-Time, and ISO 8601.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <vector>

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

// What letters of a pattern mean, in the order in which Joda-Time sets the fields.
struct PatternField {
    std::string_view letters;
    Field field;
    std::int64_t unit; // milliseconds; what is smaller is 0
    bool is_of_year = false;
};
constexpr std::int64_t k_millis_of_hour = 3'600'000;
constexpr PatternField k_pattern_fields[] = {{"yY", Field::year, k_millis_of_day},
                                             {"x", Field::week_year, k_millis_of_day},
                                             {"M", Field::month, k_millis_of_day, true},
                                             {"w", Field::week, k_millis_of_day, true},
                                             {"D", Field::day_of_year, k_millis_of_day, true},
                                             {"d", Field::day_of_month, k_millis_of_day, true},
                                             {"Ee", Field::day_of_week, k_millis_of_day, true},
                                             {"a", Field::hour, 12 * k_millis_of_hour},
                                             {"Hk", Field::hour, k_millis_of_hour},
                                             {"Kh", Field::hour, k_millis_of_hour},
                                             {"m", Field::minute, 60'000},
                                             {"s", Field::second, 1'000},
                                             {"S", Field::milli, 1}};
const PatternField *field_of_letter(char letter) {
    return std::find_if(std::begin(k_pattern_fields), std::end(k_pattern_fields),
                        [&](const PatternField &kind) { return kind.letters.find(letter) != std::string_view::npos; });
}
// A field that was read.
struct ReadField {
    const PatternField *kind;
    std::int64_t value;
};

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
        const bool plus = sign && at_ < text_.size() && text_[at_] == '+';
        at_ += minus || plus ? 1 : 0;
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

    std::int64_t read_fraction(const Part &part, bool exact) {
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
        return value;
    }

    // by_id: of three letters, which mean the id of a zone. The date keeps it.
    void read_zone(bool by_id) {
        std::size_t size = 0;
        const auto in_name = [](char c) {
            return is_letter(c) || is_digit(c) || c == '/' || c == '_' || c == '+' || c == '-' || c == ':';
        };
        while (size < k_longest_zone && at_ + size < text_.size() && in_name(text_[at_ + size]))
            size++;
        if (size == 0)
            malformed();
        const std::string_view name = text_.substr(at_, size);
        given_zone_ = known_zone(context_, name);
        for (; given_zone_ == nullptr && size > 1; size--) // what follows may look like a part of it
            given_zone_ = known_zone(context_, text_.substr(at_, size - 1));
        if (given_zone_ == nullptr)
            given_zone_ = find_zone(context_, name); // a fault
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
        case 'x':
            give(part, read_year(part, exact));
            return true;
        case 'w':
            give(part, read_between(digits, 1, 53));
            return true;
        case 'D':
            give(part, read_between(exact ? part.count : 3, 1, 366));
            return true;
        case 'M':
            give(part, part.count <= 2 ? read_between(digits, 1, 12) : read_name(12, month_name));
            return true;
        case 'd':
            give(part, read_between(digits, 1, 31));
            return true;
        case 'E':
            give(part, read_name(7, day_name));
            return true;
        case 'e':
            give(part, read_between(digits, 1, 7));
            return true;
        default:
            return false;
        }
    }

    // False: it is not a letter of a time of day.
    bool read_of_time(const Part &part, bool exact) {
        const int digits = digits_of(part, exact);
        switch (part.letter) {
        case 'a':
            give(part, read_name(2, [](int i) { return std::string_view(i == 1 ? "AM " : "PM ").substr(0, 2); }) - 1);
            return true;
        case 'K':
            give(part, read_between(digits, 0, 11));
            return true;
        case 'h':
            give(part, read_between(digits, 1, 12) % 12);
            return true;
        case 'k':
            give(part, read_between(digits, 1, 24) % 24);
            return true;
        case 'H':
            give(part, read_between(digits, 0, 23));
            return true;
        case 'm':
        case 's':
            give(part, read_between(digits, 0, 59));
            return true;
        case 'S':
            give(part, read_fraction(part, exact));
            return true;
        case 'Z':
            read_zone(part.count >= 3);
            return true;
        default:
            return false;
        }
    }

    void give(const Part &part, std::int64_t value) { given_.push_back({field_of_letter(part.letter), value}); }

    // Sets a field, and forgets what is smaller. Of half a day, what it leaves of the hour stays.
    Value set(const Value &date, const ReadField &given, bool floors) {
        const std::int64_t hour = get_field(context_, *date.date, Field::hour);
        const std::int64_t value = given.kind->letters.starts_with('a')   ? hour % 12 + given.value * 12
                                   : given.kind->letters.starts_with('K') ? hour - hour % 12 + given.value
                                                                          : given.value;
        const Field field = given.kind->field;
        if (field == Field::day_of_month && value > range_of(context_, *date.date, field).most)
            fail(FaultKind::value, "there is no day " + std::to_string(value) + " in that month");
        Value made = with_field(context_, *date.date, field, value);
        if (!floors)
            return made;
        if (field == Field::year)
            made = with_field(context_, *made.date, Field::day_of_year, 1);
        if (field == Field::month)
            made = with_field(context_, *made.date, Field::day_of_month, 1);
        if (field == Field::week_year)
            made = with_field(context_, *made.date, Field::week, 1);
        if (field == Field::week_year || field == Field::week)
            made = with_field(context_, *made.date, Field::day_of_week, 1);
        const std::int64_t unit = given.kind->unit;
        const std::int64_t rest = made.date->millis % unit;
        return make_date(context_, made.date->millis - (rest < 0 ? rest + unit : rest), made.date->zone);
    }

    // As Joda-Time: fields of larger wholes first, and all of them twice, as a later one may lead away from an earlier
    // one. A day without a year is one of 2000, so that 29 February can be read.
    Value build() {
        const auto rank = [](const ReadField &given) {
            return std::max(given.kind, &k_pattern_fields[1]);
        }; // one of all years
        std::stable_sort(given_.begin(), given_.end(),
                         [&](const ReadField &a, const ReadField &b) { return rank(a) < rank(b); });
        if (!given_.empty() && given_.front().kind->is_of_year)
            given_.insert(given_.begin(), {field_of_letter('y'), 2000});
        Value date = make_date(context_, 0, utc_zone());
        for (const bool first : {true, false})
            for (const ReadField &given : given_)
                date = set(date, given, first || &given == &given_.back());
        const Zone *from = given_zone_ != nullptr ? given_zone_ : zone_ != nullptr ? zone_ : utc_zone();
        return make_date(context_, from_local(context_, to_local(context_, *date.date), *from),
                         zone_ != nullptr ? zone_
                         : keeps_zone_    ? given_zone_
                                          : utc_zone());
    }

    static constexpr std::size_t k_longest_zone = 64;

    Context &context_;
    std::string_view text_;
    const Zone *zone_;
    const Zone *given_zone_ = nullptr;
    std::size_t at_ = 0;
    bool keeps_zone_ = false;
    std::vector<ReadField> given_;
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
    const std::string_view digits = day.starts_with('-') || day.starts_with('+') ? day.substr(1) : day;
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
    std::int64_t value = 0; // in tenths, each digit rounded down, as Joda-Time does
    std::int64_t unit = millis;
    for (const char digit : fraction) {
        value += (digit - '0') * unit;
        unit /= 10;
    }
    return value / 10;
}

} // namespace

// 2026, 2026-11, 2026-11-23, 2026-W48-1, 2026-327 or nothing, with T08, T08:30, T08:30:15, each with a fraction of its
// last part after a point or a comma, with Z or +01:00.
Value parse_iso(Context &context, std::string_view text, const Zone *zone) {
    const std::size_t time = std::min(text.find('T'), text.size());
    std::string pattern = text.empty() ? "yyyy" : iso_day(text.substr(0, time));
    if (time == text.size())
        return parse_date(context, text, pattern, zone);
    const std::size_t zone_at = std::min(text.find_first_of("Zz+-", time), text.size());
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
