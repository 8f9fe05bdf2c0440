#include "model/sel/format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "model/sel/library.h"
#include "model/sel/utf8.h"

namespace scylla::model::sel {

namespace {

constexpr int k_most_width = 10'000;
constexpr int k_most_precision = 1'000;

// %[argument$][flags][width][.precision]conversion
struct Spec {
    int argument = 0; // 0: the next one
    bool left = false;
    bool plus = false;
    bool space = false;
    bool zero = false;
    bool comma = false;
    bool parentheses = false;
    bool alternative = false;
    int width = 0;
    int precision = -1;
    char conversion = 0;
};

class FormatWriter {
public:
    FormatWriter(Context &context, std::string_view pattern, Args args) noexcept
        : context_{context}, pattern_{pattern}, args_{args} {}

    std::string run() {
        std::string made;
        while (at_ < pattern_.size()) {
            context_.work();
            const std::size_t percent = std::min(pattern_.find('%', at_), pattern_.size());
            made += pattern_.substr(at_, percent - at_);
            at_ = percent;
            if (at_ == pattern_.size())
                break;
            at_++;
            made += one(read_spec());
            context_.work_on(made.size() / 64);
            if (static_cast<std::int64_t>(made.size()) > context_.limits.memory / 4)
                fail(FaultKind::limit, "the expression needs too much memory");
        }
        return made;
    }

private:
    int read_number(int most) {
        int number = 0;
        for (; at_ < pattern_.size() && pattern_[at_] >= '0' && pattern_[at_] <= '9'; at_++) {
            number = number * 10 + (pattern_[at_] - '0');
            if (number > most)
                fail(FaultKind::value, "a number in the format is too large");
        }
        return number;
    }
    bool read_flag(Spec &spec) {
        switch (at_ < pattern_.size() ? pattern_[at_] : '\0') {
        case '-':
            spec.left = true;
            break;
        case '+':
            spec.plus = true;
            break;
        case ' ':
            spec.space = true;
            break;
        case '0':
            spec.zero = true;
            break;
        case ',':
            spec.comma = true;
            break;
        case '(':
            spec.parentheses = true;
            break;
        case '#':
            spec.alternative = true;
            break;
        default:
            return false;
        }
        at_++;
        return true;
    }
    Spec read_spec() {
        Spec spec;
        const std::size_t start = at_;
        const int number = read_number(k_most_width);
        if (number > 0 && at_ < pattern_.size() && pattern_[at_] == '$') {
            spec.argument = number;
            at_++;
        } else {
            at_ = start;
        }
        while (read_flag(spec)) {
        }
        spec.width = read_number(k_most_width);
        if (at_ < pattern_.size() && pattern_[at_] == '.') {
            at_++;
            spec.precision = read_number(k_most_precision);
        }
        if (at_ >= pattern_.size())
            fail(FaultKind::value, "the format ends inside a conversion");
        spec.conversion = pattern_[at_++];
        return spec;
    }

    const Value &argument(const Spec &spec) {
        const std::size_t number = spec.argument > 0 ? static_cast<std::size_t>(spec.argument) : ++next_;
        if (number > args_.size())
            fail(FaultKind::value,
                 "the format needs " + std::to_string(number) + " arguments and has " + std::to_string(args_.size()));
        return args_[number - 1];
    }

    static std::string padded(const Spec &spec, std::string text) {
        const std::int64_t missing = spec.width - count_chars(text);
        if (missing > 0)
            text.insert(spec.left ? text.size() : 0, static_cast<std::size_t>(missing), ' ');
        return text;
    }
    [[noreturn]] static void wrong(const Spec &spec, const Value &value) {
        fail(FaultKind::value, std::string("%") + spec.conversion + " cannot show " + std::string(type_name(value)));
    }

    // Sign, zeros and commas for digits without a sign.
    static std::string number(const Spec &spec, bool negative, std::string digits) {
        if (spec.comma) {
            const std::size_t whole = std::min(digits.find_first_of(".e"), digits.size());
            for (std::size_t at = whole; at > 3; at -= 3)
                digits.insert(at - 3, 1, ',');
        }
        const std::string front = negative ? (spec.parentheses ? "(" : "-") : spec.plus ? "+" : spec.space ? " " : "";
        const std::string back = negative && spec.parentheses ? ")" : "";
        const std::size_t size = front.size() + digits.size() + back.size();
        if (spec.zero && size < static_cast<std::size_t>(spec.width))
            digits.insert(0, static_cast<std::size_t>(spec.width) - size, '0');
        return padded(spec, front + digits + back);
    }

    static std::string whole(const Spec &spec, const Value &value) {
        if (value.type != Type::long_)
            wrong(spec, value);
        const std::uint64_t size =
            value.number < 0 ? 0 - static_cast<std::uint64_t>(value.number) : static_cast<std::uint64_t>(value.number);
        return number(spec, value.number < 0, std::to_string(size));
    }
    // In base 16 or 8 negative numbers show their bits, of which there are 32 where these suffice.
    static std::string bits(const Spec &spec, const Value &value) {
        if (value.type != Type::long_)
            wrong(spec, value);
        const int base = spec.conversion == 'o' ? 8 : 16;
        const bool is_short = value.number < 0 && value.number >= INT32_MIN;
        const auto shown =
            is_short ? static_cast<std::uint32_t>(value.number) : static_cast<std::uint64_t>(value.number);
        char buffer[32];
        const auto end = std::to_chars(buffer, buffer + sizeof(buffer), shown, base).ptr;
        std::string digits(buffer, static_cast<std::size_t>(end - buffer));
        if (spec.alternative)
            digits.insert(0, base == 8 ? "0" : "0x");
        return number(spec, false, std::move(digits));
    }
    static std::string real(const Spec &spec, const Value &value) {
        if (value.type != Type::double_)
            wrong(spec, value);
        if (!std::isfinite(value.real))
            return padded(spec, show_double(value.real));
        const int precision = spec.precision < 0 ? 6 : spec.precision;
        const double size = std::fabs(value.real);
        return number(spec, std::signbit(value.real),
                      spec.conversion == 'f'   ? fixed(size, precision)
                      : spec.conversion == 'e' ? scientific(Decimal(size), precision)
                                               : general(size, std::max(precision, 1)));
    }
    // The fewest digits that mean the number, and the power of ten of the first one.
    struct Decimal {
        std::string digits;
        int exponent;

        explicit Decimal(double size) {
            std::string text(32, '\0');
            const auto end = std::to_chars(text.data(), text.data() + text.size(), size, std::chars_format::scientific);
            text.resize(static_cast<std::size_t>(end.ptr - text.data()));
            const std::size_t e = text.find('e');
            digits = text.substr(0, e);
            exponent = std::atoi(text.c_str() + e + 1);
            if (e > 1)
                digits.erase(1, 1); // the point
        }
        // Keeps so many digits. Java rounds half up, and by these digits: 1.005 to two places is 1.01.
        void round(int count) {
            const std::size_t keep = static_cast<std::size_t>(std::max(count, 0));
            const bool up = count >= 0 && keep < digits.size() && digits[keep] >= '5';
            digits.resize(keep, '0');
            if (!up)
                return;
            std::size_t at = digits.size();
            for (; at > 0 && digits[at - 1] == '9'; at--)
                digits[at - 1] = '0';
            if (at > 0) {
                digits[at - 1]++;
            } else {
                digits.insert(0, 1, '1');
                exponent++;
            }
        }
    };
    static std::string fixed(double size, int precision) {
        Decimal decimal(size);
        decimal.round(decimal.exponent + 1 + precision);
        std::string digits = decimal.digits;
        if (decimal.exponent < 0)
            digits.insert(0, static_cast<std::size_t>(std::min(-decimal.exponent, precision + 1)), '0');
        if (precision > 0)
            digits.insert(digits.size() - static_cast<std::size_t>(precision), 1, '.');
        return digits;
    }
    static std::string scientific(Decimal decimal, int precision) {
        decimal.round(precision + 1);
        std::string digits = decimal.digits.substr(0, static_cast<std::size_t>(precision) + 1);
        if (precision > 0)
            digits.insert(1, 1, '.');
        const std::string exponent = std::to_string(std::abs(decimal.exponent));
        return digits + (decimal.exponent < 0 ? "e-" : "e+") + (exponent.size() < 2 ? "0" : "") + exponent;
    }
    // So many digits, of which Java drops none.
    static std::string general(double size, int digits) {
        Decimal rounded(size);
        rounded.round(digits);
        return rounded.exponent < -4 || rounded.exponent >= digits ? scientific(Decimal(size), digits - 1)
                                                                   : fixed(size, digits - 1 - rounded.exponent);
    }
    std::string text(const Spec &spec, const Value &value) {
        std::string shown = show(context_, value);
        if (spec.precision >= 0)
            shown.resize(offset_of_char(shown, spec.precision));
        return padded(spec, std::move(shown));
    }
    static std::string character(const Spec &spec, const Value &value) {
        std::string made;
        if (value.type == Type::string && count_chars(value.view()) == 1)
            made = value.view();
        else if (value.type == Type::long_ && value.number > 0 && value.number < 0xD800)
            append_char(made, static_cast<char32_t>(value.number));
        else
            wrong(spec, value);
        return padded(spec, std::move(made));
    }

    std::string one(Spec spec) {
        if (spec.conversion == '%')
            return padded(spec, "%");
        if (spec.conversion == 'n')
            return "\n";
        const bool upper = std::string_view("SXEGBC").find(spec.conversion) != std::string_view::npos;
        if (upper)
            spec.conversion = static_cast<char>(spec.conversion + ('a' - 'A'));
        std::string made = convert(spec, argument(spec));
        if (upper)
            std::transform(made.begin(), made.end(), made.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
        return made;
    }
    std::string convert(const Spec &spec, const Value &value) {
        if (value.is_null() && spec.conversion != 'b')
            return text(spec, value);
        switch (spec.conversion) {
        case 's':
            return text(spec, value);
        case 'd':
            return whole(spec, value);
        case 'x':
        case 'o':
            return bits(spec, value);
        case 'f':
        case 'e':
        case 'g':
            return real(spec, value);
        case 'b':
            return padded(spec, value.is_null() || (value.type == Type::boolean && !value.truth) ? "false" : "true");
        case 'c':
            return character(spec, value);
        default:
            break;
        }
        fail(FaultKind::value, "the conversion \"%" + std::string(1, spec.conversion) + "\" is not supported");
    }

    Context &context_;
    std::string_view pattern_;
    Args args_;
    std::size_t at_ = 0;
    std::size_t next_ = 0;
};

} // namespace

std::string format(Context &context, std::string_view pattern, Args args) {
    return FormatWriter(context, pattern, args).run();
}

} // namespace scylla::model::sel
