// Operators, and how values are shown.
#include <charconv>
#include <cmath>

#include "model/sel/dates.h"
#include "model/sel/library.h"

namespace scylla::model::sel {

namespace {

[[noreturn]] void not_supported(Op op, const Value &left, const Value &right) {
    fail(FaultKind::value, std::string(type_name(left)) + " " + std::string(sign_of(op)) + " " +
                               std::string(type_name(right)) + " is not supported");
}

[[noreturn]] void out_of_range(Op op, std::int64_t left, std::int64_t right) {
    fail(FaultKind::value, std::to_string(left) + " " + std::string(sign_of(op)) + " " + std::to_string(right) +
                               " does not fit into 64 bits");
}

template <typename T> bool compares(Op op, const T &left, const T &right) noexcept {
    switch (op) {
    case Op::equal:
        return left == right;
    case Op::not_equal:
        return left != right;
    case Op::less:
        return left < right;
    case Op::greater:
        return left > right;
    case Op::less_equal:
        return left <= right;
    default:
        return left >= right;
    }
}

bool is_comparison(Op op) noexcept { return op >= Op::equal && op <= Op::greater_equal; }
bool is_order(Op op) noexcept { return op >= Op::less && op <= Op::greater_equal; }

Value divide(Op op, std::int64_t left, std::int64_t right) {
    if (right == 0)
        fail(FaultKind::value, "division by zero");
    if (right == -1) { // the only one that can overflow
        std::int64_t negated = 0;
        if (op == Op::modulo)
            return Value::of(std::int64_t{0});
        if (__builtin_sub_overflow(std::int64_t{0}, left, &negated))
            out_of_range(op, left, right);
        return Value::of(negated);
    }
    return Value::of(op == Op::divide ? left / right : left % right);
}

Value combine_longs(Op op, std::int64_t left, std::int64_t right) {
    std::int64_t result = 0;
    bool overflow = false;
    switch (op) {
    case Op::add:
        overflow = __builtin_add_overflow(left, right, &result);
        break;
    case Op::subtract:
        overflow = __builtin_sub_overflow(left, right, &result);
        break;
    case Op::multiply:
        overflow = __builtin_mul_overflow(left, right, &result);
        break;
    case Op::divide:
    case Op::modulo:
        return divide(op, left, right);
    default:
        return Value::of(compares(op, left, right));
    }
    if (overflow)
        out_of_range(op, left, right);
    return Value::of(result);
}

Value combine_doubles(Op op, double left, double right) {
    switch (op) {
    case Op::add:
        return Value::of(left + right);
    case Op::subtract:
        return Value::of(left - right);
    case Op::multiply:
        return Value::of(left * right);
    case Op::divide:
        // As IEEE 754 defines, without a report of the sanitizer.
        if (right == 0)
            return Value::of(left == 0 || std::isnan(left)
                                 ? std::nan("")
                                 : std::copysign(HUGE_VAL, std::signbit(left) == std::signbit(right) ? 1.0 : -1.0));
        return Value::of(left / right);
    case Op::modulo:
        return Value::of(std::fmod(left, right));
    default:
        return Value::of(compares(op, left, right));
    }
}

// A number on the left becomes a text; a number on the right only for +.
Value combine_strings(Context &context, Op op, const Value &left, const Value &right) {
    if (op == Op::add && left.type == Type::string) {
        const bool plain = right.type == Type::string;
        const std::string shown = plain ? std::string{} : show(context, right);
        const std::string_view back = plain ? right.view() : std::string_view(shown);
        const bool in_place = left.text->used == left.size && left.size + back.size() <= left.text->capacity;
        context.work_on(back.size() + (in_place ? 0 : left.size));
        return append(context.heap, left, back);
    }
    const bool number = left.type == Type::long_ || left.type == Type::double_;
    if (right.type != Type::string || (!number && left.type != Type::string))
        not_supported(op, left, right);
    if (number)
        return combine_strings(context, op, new_string(context, show(context, left)), right);
    if (op != Op::equal && op != Op::not_equal)
        fail(FaultKind::value, "STRING does not support " + std::string(sign_of(op)) + "; use compareTo()");
    context.work_on(left.size);
    return Value::of((left.view() == right.view()) == (op == Op::equal));
}

// Only null equals null, and nothing is more or less than it.
Value combine_null(Context &context, Op op, const Value &left, const Value &right) {
    if (is_order(op))
        return Value::of(false);
    if (op == Op::equal || op == Op::not_equal)
        return Value::of((left.is_null() && right.is_null()) == (op == Op::equal));
    if (op == Op::add && left.type == Type::string)
        return combine_strings(context, op, left, right);
    if (op == Op::add && left.type == Type::null)
        return combine_strings(context, op, new_string(context, "null"), right);
    not_supported(op, left, right);
}

Value combine_others(Op op, const Value &left, const Value &right) {
    if (left.type != right.type || !is_comparison(op) || is_order(op))
        not_supported(op, left, right);
    bool same = false;
    switch (left.type) {
    case Type::boolean:
        same = left.truth == right.truth;
        break;
    case Type::days:
        same = left.number == right.number;
        break;
    case Type::array:
    case Type::map: // the same one, as in Java
        same = left.map == right.map;
        break;
    case Type::date:
        same = left.date->millis == right.date->millis && left.date->zone->name == right.date->zone->name;
        break;
    case Type::zone:
        same = left.zone->name == right.zone->name;
        break;
    default:
        not_supported(op, left, right);
    }
    return Value::of(same == (op == Op::equal));
}

bool is_number(const Value &value) noexcept { return value.type == Type::long_ || value.type == Type::double_; }

// Shows values, also nested ones, down to the maximum depth.
class Shower {
public:
    explicit Shower(Context &context) : context_{context} {}

    std::string text() && { return std::move(text_); }
    void add(const Value &value, int depth = 0) {
        context_.work_on(text_.size() - counted_);
        counted_ = text_.size();
        if (depth > context_.limits.depth)
            fail(FaultKind::limit, "the value is nested too deeply");
        if (static_cast<std::int64_t>(text_.size()) > context_.limits.memory / 4)
            fail(FaultKind::limit, "the expression needs too much memory");
        if (value.type == Type::array)
            add_array(*value.array, depth);
        else if (value.type == Type::map)
            add_map(*value.map, depth);
        else
            add_scalar(value);
    }

private:
    void add_array(const Array &array, int depth) {
        text_ += '[';
        for (const Value &item : array.values()) {
            text_ += &item == array.items ? "" : ", ";
            add(item, depth + 1);
        }
        text_ += ']';
    }
    void add_map(const Map &map, int depth) {
        text_ += '{';
        for (const Map::Member &member : map.all()) {
            text_ += &member == map.members ? "" : ", ";
            text_ += member.key.view();
            text_ += '=';
            add(member.value, depth + 1);
        }
        text_ += '}';
    }
    void add_scalar(const Value &value) {
        switch (value.type) {
        case Type::null:
            text_ += "null";
            return;
        case Type::string:
            text_ += value.view();
            return;
        case Type::long_:
            text_ += std::to_string(value.number);
            return;
        case Type::double_:
            text_ += show_double(value.real);
            return;
        case Type::boolean:
            text_ += value.truth ? "true" : "false";
            return;
        case Type::date:
            text_ += show_date(context_, *value.date);
            return;
        case Type::zone:
            text_ += value.zone->name;
            return;
        case Type::days:
            text_ += "P" + std::to_string(value.number) + "D";
            return;
        default:
            fail(FaultKind::value, std::string(type_name(value)) + " cannot be shown as text");
        }
    }

    Context &context_;
    std::string text_{};
    std::size_t counted_ = 0;
};

// Formats 0.d1d2d3… × 10^exponent, given its digits and the exponent, as Java does.
std::string lay_out(std::string_view digits, int exponent) {
    const int count = static_cast<int>(digits.size());
    std::string text;
    if (exponent > -3 && exponent <= 0) {
        text = "0." + std::string(static_cast<std::size_t>(-exponent), '0') + std::string(digits);
    } else if (exponent > 0 && exponent <= 7) {
        const int whole = std::min(exponent, count);
        text = std::string(digits.substr(0, static_cast<std::size_t>(whole))) +
               std::string(static_cast<std::size_t>(exponent - whole), '0') + "." +
               (whole < count ? std::string(digits.substr(static_cast<std::size_t>(whole))) : "0");
    } else {
        text = std::string(1, digits[0]) + "." + (count > 1 ? std::string(digits.substr(1)) : "0") + "E" +
               std::to_string(exponent - 1);
    }
    return text;
}

} // namespace

std::string show_double(double value) {
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value < 0 ? "-Infinity" : "Infinity";
    const std::string sign = std::signbit(value) ? "-" : "";
    if (value == 0)
        return sign + "0.0";
    char buffer[64];
    const auto end =
        std::to_chars(buffer, buffer + sizeof(buffer), std::fabs(value), std::chars_format::scientific).ptr;
    const std::string_view written(buffer, static_cast<std::size_t>(end - buffer));
    const std::size_t e = written.find('e');
    int exponent = 0;
    const std::string_view power = written.substr(written[e + 1] == '+' ? e + 2 : e + 1);
    std::from_chars(power.data(), power.data() + power.size(), exponent);
    std::string digits(1, written[0]);
    if (e > 2)
        digits += written.substr(2, e - 2);
    return sign + lay_out(digits, exponent + 1);
}

std::string show(Context &context, const Value &value) {
    Shower shower(context);
    shower.add(value);
    return std::move(shower).text();
}

bool to_truth(const Value &value) {
    if (value.type != Type::boolean)
        fail(FaultKind::value, "BOOLEAN is expected, not " + std::string(type_name(value)));
    return value.truth;
}

Value combine(Context &context, Op op, const Value &left, const Value &right) {
    if (left.type == Type::long_ && right.type == Type::long_)
        return combine_longs(op, left.number, right.number);
    if (left.is_null() || right.is_null())
        return combine_null(context, op, left, right);
    if (is_number(left) && is_number(right))
        return combine_doubles(op, to_double(left), to_double(right));
    if (left.type == Type::string || right.type == Type::string)
        return combine_strings(context, op, left, right);
    return combine_others(op, left, right);
}

} // namespace scylla::model::sel
