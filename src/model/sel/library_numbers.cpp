// Long, Double, Boolean, Math, UUID, System, and the methods of their values.
#include <algorithm>
#include <array>
#include <cmath>

#include "model/sel/library.h"

namespace scylla::model::sel {

namespace {

Value shown(Context &context, const Value &self, Args args) {
    return new_string(context, show(context, args.empty() ? self : args[0]));
}
Value itself(Context & /*context*/, const Value &self, Args /*args*/) { return self; }

Value number_equals(Context & /*context*/, const Value &self, Args args) {
    if (self.type != args[0].type)
        return Value::of(false);
    return Value::of(self.type == Type::boolean ? self.truth == args[0].truth
                     : self.type == Type::long_ ? self.number == args[0].number
                                                : self.real == args[0].real);
}

Value double_long_value(Context & /*context*/, const Value &self, Args /*args*/) {
    const double whole = std::isnan(self.real) ? 0 : std::trunc(self.real);
    if (whole >= 9223372036854775808.0)
        return Value::of(INT64_MAX);
    return Value::of(whole <= -9223372036854775808.0 ? INT64_MIN : static_cast<std::int64_t>(whole));
}
Value to_double_value(Context & /*context*/, const Value &self, Args /*args*/) { return Value::of(to_double(self)); }

Value long_value_of(Context & /*context*/, const Value & /*self*/, Args args) {
    return args[0].type == Type::string ? Value::of(parse_long(args[0].view())) : Value::of(to_long(args[0]));
}
Value double_value_of(Context & /*context*/, const Value & /*self*/, Args args) {
    return args[0].type == Type::string ? Value::of(parse_double(args[0].view())) : Value::of(to_double(args[0]));
}
// Any text but "true", in any case, is false.
Value boolean_value_of(Context & /*context*/, const Value & /*self*/, Args args) {
    if (args[0].type == Type::boolean)
        return args[0];
    const std::string_view text = to_string(args[0]);
    constexpr std::string_view k_true = "true";
    return Value::of(std::equal(text.begin(), text.end(), k_true.begin(), k_true.end(),
                                [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; }));
}

template <bool most> Value extreme(Context & /*context*/, const Value & /*self*/, Args args) {
    if (args[0].type == Type::long_ && args[1].type == Type::long_)
        return (args[0].number < args[1].number) == most ? args[1] : args[0];
    const double left = to_double(args[0]);
    const double right = to_double(args[1]);
    return Value::of((left < right) == most ? right : left);
}
Value math_random(Context &context, const Value & /*self*/, Args /*args*/) {
    return Value::of(static_cast<double>(context.world.random() >> 11U) / 9007199254740992.0);
}
Value math_pow(Context & /*context*/, const Value & /*self*/, Args args) {
    return Value::of(std::pow(to_double(args[0]), to_double(args[1])));
}

Value uuid_random(Context &context, const Value & /*self*/, Args /*args*/) {
    constexpr std::string_view k_digits = "0123456789abcdef";
    std::string text;
    std::uint64_t bits = 0;
    for (int i = 0; i < 32; i++) {
        if (i % 16 == 0)
            bits = context.world.random();
        if (i == 8 || i == 12 || i == 16 || i == 20)
            text += '-';
        const auto digit = static_cast<std::size_t>(bits & 0xFU);
        bits >>= 4U;
        text += i == 12 ? '4' : i == 16 ? k_digits[8 + digit % 4] : k_digits[digit]; // of version 4
    }
    return new_string(context, text);
}

Value system_time(Context &context, const Value & /*self*/, Args /*args*/) {
    return Value::of(context.world.now_millis());
}

// There is one type of whole numbers, so intValue() keeps all 64 bits.
constexpr auto k_long = std::to_array<Function>({{"intValue", 0, 0, itself},
                                                 {"longValue", 0, 0, itself},
                                                 {"doubleValue", 0, 0, to_double_value},
                                                 {"equals", 1, 1, number_equals},
                                                 {"toString", 0, 0, shown}});
constexpr auto k_double = std::to_array<Function>({{"intValue", 0, 0, double_long_value},
                                                   {"longValue", 0, 0, double_long_value},
                                                   {"doubleValue", 0, 0, itself},
                                                   {"equals", 1, 1, number_equals},
                                                   {"toString", 0, 0, shown}});
constexpr auto k_boolean = std::to_array<Function>(
    {{"booleanValue", 0, 0, itself}, {"equals", 1, 1, number_equals}, {"toString", 0, 0, shown}});
constexpr auto k_long_class = std::to_array<Function>({{"new", 1, 1, long_value_of},
                                                       {"valueOf", 1, 1, long_value_of},
                                                       {"parseLong", 1, 1, long_value_of},
                                                       {"parseInt", 1, 1, long_value_of},
                                                       {"toString", 1, 1, shown}});
constexpr auto k_double_class = std::to_array<Function>({{"new", 1, 1, double_value_of},
                                                         {"valueOf", 1, 1, double_value_of},
                                                         {"parseDouble", 1, 1, double_value_of},
                                                         {"parseFloat", 1, 1, double_value_of},
                                                         {"toString", 1, 1, shown}});
constexpr auto k_boolean_class = std::to_array<Function>({{"new", 1, 1, boolean_value_of},
                                                          {"valueOf", 1, 1, boolean_value_of},
                                                          {"parseBoolean", 1, 1, boolean_value_of},
                                                          {"toString", 1, 1, shown}});
constexpr auto k_math = std::to_array<Function>({{"min", 2, 2, extreme<false>},
                                                 {"max", 2, 2, extreme<true>},
                                                 {"random", 0, 0, math_random},
                                                 {"pow", 2, 2, math_pow}});
constexpr auto k_uuid = std::to_array<Function>({{"randomUUID", 0, 0, uuid_random}});
constexpr auto k_system = std::to_array<Function>({{"currentTimeMillis", 0, 0, system_time}});

} // namespace

std::span<const Function> number_functions(Receiver receiver) noexcept {
    switch (receiver) {
    case Receiver::long_:
        return k_long;
    case Receiver::double_:
        return k_double;
    case Receiver::boolean:
        return k_boolean;
    case Receiver::long_class:
        return k_long_class;
    case Receiver::double_class:
        return k_double_class;
    case Receiver::boolean_class:
        return k_boolean_class;
    case Receiver::math_class:
        return k_math;
    case Receiver::uuid_class:
        return k_uuid;
    case Receiver::system_class:
        return k_system;
    default:
        return {};
    }
}

} // namespace scylla::model::sel
