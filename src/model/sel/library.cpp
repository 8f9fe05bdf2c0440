#include "model/sel/library.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "model/sel/dates.h"

namespace scylla::model::sel {

namespace {

struct ClassName {
    std::string_view name;
    Receiver receiver;
};
constexpr auto k_classes = std::to_array<ClassName>({{"String", Receiver::string_class},
                                                     {"Long", Receiver::long_class},
                                                     {"Integer", Receiver::long_class},
                                                     {"Double", Receiver::double_class},
                                                     {"Float", Receiver::double_class},
                                                     {"Boolean", Receiver::boolean_class},
                                                     {"Map", Receiver::map_class},
                                                     {"HashMap", Receiver::map_class},
                                                     {"LinkedHashMap", Receiver::map_class},
                                                     {"Math", Receiver::math_class},
                                                     {"UUID", Receiver::uuid_class},
                                                     {"Arrays", Receiver::arrays_class},
                                                     {"System", Receiver::system_class},
                                                     {"DateTime", Receiver::date_class},
                                                     {"DateTimeZone", Receiver::zone_class},
                                                     {"DateTimeFormat", Receiver::format_class},
                                                     {"Days", Receiver::days_class},
                                                     {"DateTimeConstants", Receiver::constants_class},
                                                     {"Util", Receiver::util_class}});

[[noreturn]] void wrong_type(std::string_view expected, const Value &value) {
    fail(FaultKind::value, std::string(expected) + " is expected, not " + std::string(type_name(value)));
}

} // namespace

std::optional<Receiver> find_class(std::string_view name) noexcept {
    const auto *found =
        std::find_if(k_classes.begin(), k_classes.end(), [name](const ClassName &known) { return known.name == name; });
    return found == k_classes.end() ? std::nullopt : std::optional(found->receiver);
}

std::optional<Receiver> receiver_of(const Value &value) noexcept {
    switch (value.type) {
    case Type::string:
        return Receiver::string;
    case Type::long_:
        return Receiver::long_;
    case Type::double_:
        return Receiver::double_;
    case Type::boolean:
        return Receiver::boolean;
    case Type::array:
        return Receiver::array;
    case Type::map:
        return Receiver::map;
    case Type::date:
        return Receiver::date;
    case Type::zone:
        return Receiver::zone;
    case Type::formatter:
        return Receiver::formatter;
    case Type::property:
        return Receiver::property;
    case Type::days:
        return Receiver::days;
    case Type::params:
        return Receiver::params;
    case Type::class_:
        return static_cast<Receiver>(value.number);
    case Type::null:
    case Type::none:
        break;
    }
    return std::nullopt;
}

std::string_view receiver_name(Receiver receiver) noexcept {
    for (const ClassName &known : k_classes) {
        if (known.receiver == receiver)
            return known.name;
    }
    constexpr std::string_view k_types[] = {"STRING",
                                            "LONG",
                                            "DOUBLE",
                                            "BOOLEAN",
                                            "an array",
                                            "MAP",
                                            "DATETIME",
                                            "DATETIME_ZONE",
                                            "DATETIME_FORMATTER",
                                            "DATETIME_PROPERTY",
                                            "DATETIME_DAYS",
                                            "params"};
    return k_types[static_cast<std::size_t>(receiver)];
}

std::span<const Function> functions_of(Receiver receiver) noexcept {
    for (const auto functions :
         {text_functions, number_functions, collection_functions, date_functions, util_functions}) {
        if (const auto found = functions(receiver); !found.empty())
            return found;
    }
    return {};
}

const Function *find_function(Receiver receiver, std::string_view name, int arguments) noexcept {
    for (const Function &function : functions_of(receiver)) {
        if (function.name == name && arguments >= function.least && arguments <= function.most)
            return &function;
    }
    return nullptr;
}

std::string describe_missing(Receiver receiver, std::string_view name, int arguments) {
    const std::string of = std::string(receiver_name(receiver)) + " has no ";
    if (arguments < 0)
        return of + "field \"" + std::string(name) + "\"";
    return of + "method \"" + std::string(name) + "\" with " + std::to_string(arguments) +
           (arguments == 1 ? " argument" : " arguments");
}

std::string_view to_string(const Value &value) {
    if (value.type != Type::string)
        wrong_type("STRING", value);
    return value.view();
}
std::int64_t to_long(const Value &value) {
    if (value.type != Type::long_)
        wrong_type("LONG", value);
    return value.number;
}
double to_double(const Value &value) {
    if (value.type == Type::long_)
        return static_cast<double>(value.number);
    if (value.type != Type::double_)
        wrong_type("DOUBLE", value);
    return value.real;
}
Map &to_map(const Value &value) {
    if (value.type != Type::map)
        wrong_type("MAP", value);
    return *value.map;
}
const Date &to_date(const Value &value) {
    if (value.type != Type::date)
        wrong_type("DATETIME", value);
    return *value.date;
}
const Zone *to_zone(const Value &value) {
    if (value.type != Type::zone)
        wrong_type("DATETIME_ZONE", value);
    return value.zone;
}
std::string number_or_text(const Value &value) {
    if (value.type == Type::long_)
        return std::to_string(value.number);
    if (value.type != Type::string)
        wrong_type("STRING or LONG", value);
    return std::string(value.view());
}

std::int64_t parse_long(std::string_view text) {
    const std::string_view digits = text.starts_with('+') && !text.starts_with("+-") ? text.substr(1) : text;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || end != digits.data() + digits.size())
        fail(FaultKind::value, "\"" + std::string(text.substr(0, 100)) + "\" is not a LONG");
    return number;
}

double parse_double(std::string_view text) {
    std::string_view digits = text.starts_with('+') && !text.starts_with("+-") ? text.substr(1) : text;
    double number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    // Only finite numbers in digits: no "inf", no "nan".
    const bool written = digits.find_first_of("0123456789") != std::string_view::npos;
    if (error != std::errc{} || end != digits.data() + digits.size() || !written)
        fail(FaultKind::value, "\"" + std::string(text.substr(0, 100)) + "\" is not a DOUBLE");
    return number;
}

Value new_string(Context &context, std::string_view text) {
    context.work_on(text.size());
    return make_string(context.heap, text);
}

Array *new_array(Context &context, Elements elements, std::int64_t size) {
    if (size >= context.limits.array)
        fail(FaultKind::limit, "an array has " + std::to_string(context.limits.array) + " elements or more");
    context.work_on(static_cast<std::size_t>(size) * sizeof(Value));
    return make_array(context.heap, elements, static_cast<std::size_t>(size));
}

} // namespace scylla::model::sel
