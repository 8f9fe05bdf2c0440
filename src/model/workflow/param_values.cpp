#include "model/workflow/param_values.h"

#include <charconv>
#include <cmath>

#include "model/sel/library.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

constexpr double k_two_to_63 = 9'223'372'036'854'775'808.0;

template <typename Number> std::optional<Number> parse(std::string_view text) noexcept {
    Number number{};
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || stop != text.data() + text.size())
        return std::nullopt;
    return number;
}

std::optional<Value> as_string(sel::Context &context, const Value &value) {
    switch (value.type) {
    case sel::Type::string:
        return value;
    case sel::Type::long_:
    case sel::Type::double_:
    case sel::Type::boolean:
    case sel::Type::date:
    case sel::Type::zone:
        return sel::new_string(context, sel::show(context, value));
    default:
        return std::nullopt;
    }
}

std::optional<Value> as_long(const Value &value) {
    if (value.type == sel::Type::long_)
        return value;
    if (value.type == sel::Type::days)
        return Value::of(value.number);
    if (value.type == sel::Type::double_ && value.real == std::floor(value.real) && value.real >= -k_two_to_63 &&
        value.real < k_two_to_63)
        return Value::of(static_cast<std::int64_t>(value.real));
    if (value.type != sel::Type::string)
        return std::nullopt;
    const auto number = parse<std::int64_t>(value.view());
    return number ? std::optional(Value::of(*number)) : std::nullopt;
}

std::optional<Value> as_double(const Value &value) {
    if (value.type == sel::Type::double_)
        return std::isfinite(value.real) ? std::optional(value) : std::nullopt;
    if (value.type == sel::Type::long_)
        return Value::of(static_cast<double>(value.number));
    if (value.type != sel::Type::string)
        return std::nullopt;
    const auto number = parse<double>(value.view());
    return number && std::isfinite(*number) ? std::optional(Value::of(*number)) : std::nullopt;
}

std::optional<Value> as_boolean(const Value &value) {
    if (value.type == sel::Type::boolean)
        return value;
    if (value.type != sel::Type::string)
        return std::nullopt;
    std::string lower(value.view());
    for (char &c : lower)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return lower == "true" || lower == "false" ? std::optional(Value::of(lower == "true")) : std::nullopt;
}

ParamType element_type(ParamType array) noexcept {
    switch (array) {
    case ParamType::long_array:
        return ParamType::long_;
    case ParamType::double_array:
        return ParamType::double_;
    case ParamType::boolean_array:
        return ParamType::boolean;
    default:
        return ParamType::string;
    }
}

sel::Elements elements_of(ParamType array) noexcept {
    switch (array) {
    case ParamType::long_array:
        return sel::Elements::long_;
    case ParamType::double_array:
        return sel::Elements::double_;
    case ParamType::boolean_array:
        return sel::Elements::boolean;
    default:
        return sel::Elements::string;
    }
}

std::optional<Value> as_array(sel::Context &context, const Value &value, ParamType type) {
    if (value.type != sel::Type::array)
        return std::nullopt;
    sel::Array *array = sel::make_array(context.heap, elements_of(type), value.array->size);
    for (std::uint32_t i = 0; i < value.array->size; i++) {
        context.work();
        const Value &item = value.array->items[i];
        if (item.is_null() && type == ParamType::string_array) // of an iteration that did not run the step, for example
            continue;
        const auto element = to_type(context, item, element_type(type));
        if (!element)
            return std::nullopt;
        array->items[i] = *element;
    }
    return Value::of(array);
}

std::optional<Value> as_string_map(sel::Context &context, const Value &value) {
    if (value.type != sel::Type::map)
        return std::nullopt;
    sel::Map *map = sel::make_map(context.heap);
    for (const sel::Map::Member &member : value.map->all()) {
        context.work();
        const auto text = as_string(context, member.value);
        if (!text)
            return std::nullopt;
        map->put(context.heap, member.key, *text);
    }
    return Value::of(map);
}

Value copy_at(sel::Context &context, const Value &value, int depth) {
    if (depth > context.limits.depth)
        sel::fail(sel::FaultKind::limit, "the value is nested too deeply");
    context.work();
    switch (value.type) {
    case sel::Type::string:
        context.work_on(value.size);
        return sel::make_string(context.heap, value.view());
    case sel::Type::array: {
        sel::Array *array = sel::make_array(context.heap, value.array->elements, value.array->size);
        for (std::uint32_t i = 0; i < array->size; i++)
            array->items[i] = copy_at(context, value.array->items[i], depth + 1);
        return Value::of(array);
    }
    case sel::Type::map: {
        sel::Map *map = sel::make_map(context.heap);
        for (const sel::Map::Member &member : value.map->all())
            map->put(context.heap, copy_at(context, member.key, depth), copy_at(context, member.value, depth + 1));
        return Value::of(map);
    }
    case sel::Type::date: // a parameter is JSON: types that JSON does not have become text
    case sel::Type::zone:
        return sel::make_string(context.heap, sel::show(context, value));
    case sel::Type::days:
        return Value::of(value.number);
    case sel::Type::null:
    case sel::Type::long_:
    case sel::Type::double_:
    case sel::Type::boolean:
        return value;
    default:
        sel::fail(sel::FaultKind::value, std::string(sel::type_name(value)) + " cannot be the value of a parameter");
    }
}

bool same_map(const sel::Map &one, const sel::Map &other) {
    if (one.size != other.size)
        return false;
    for (const sel::Map::Member &member : one.all()) {
        const Value *there = other.find(member.key.view());
        if (there == nullptr || !same_value(member.value, *there))
            return false;
    }
    return true;
}

bool same_array(const sel::Array &one, const sel::Array &other) {
    if (one.size != other.size)
        return false;
    for (std::uint32_t i = 0; i < one.size; i++) {
        if (!same_value(one.items[i], other.items[i]))
            return false;
    }
    return true;
}

} // namespace

ParamType type_of(const Value &value) noexcept {
    switch (value.type) {
    case sel::Type::long_:
        return ParamType::long_;
    case sel::Type::double_:
        return ParamType::double_;
    case sel::Type::boolean:
        return ParamType::boolean;
    case sel::Type::map:
        return ParamType::map;
    case sel::Type::array:
        return value.array->elements == sel::Elements::long_     ? ParamType::long_array
               : value.array->elements == sel::Elements::double_ ? ParamType::double_array
               : value.array->elements == sel::Elements::boolean ? ParamType::boolean_array
                                                                 : ParamType::string_array;
    default:
        return ParamType::string;
    }
}

ParamType natural_type(const Value &value) noexcept {
    if (value.type == sel::Type::array)
        sel::settle_elements(*value.array);
    return type_of(value);
}

std::optional<Value> to_type(sel::Context &context, const Value &value, ParamType type) {
    switch (type) {
    case ParamType::string:
        return as_string(context, value);
    case ParamType::long_:
        return as_long(value);
    case ParamType::double_:
        return as_double(value);
    case ParamType::boolean:
        return as_boolean(value);
    case ParamType::string_map:
        return as_string_map(context, value);
    case ParamType::map:
        return value.type == sel::Type::map ? std::optional(value) : std::nullopt;
    default:
        return as_array(context, value, type);
    }
}

Value copy_value(sel::Context &context, const Value &value) { return copy_at(context, value, 0); }

bool same_value(const Value &one, const Value &other) {
    if (one.type != other.type)
        return false;
    switch (one.type) {
    case sel::Type::string:
        return one.view() == other.view();
    case sel::Type::double_:
        return one.real == other.real;
    case sel::Type::boolean:
        return one.truth == other.truth;
    case sel::Type::array:
        return same_array(*one.array, *other.array);
    case sel::Type::map:
        return same_map(*one.map, *other.map);
    case sel::Type::null:
        return true;
    default:
        return one.number == other.number;
    }
}

Param make_evaluated(sel::Context &context, ParamType type, const Value &value) {
    Param param{.type = type, .form = ParamForm::literal, .evaluated = true};
    if (type != ParamType::map) {
        param.value = copy_value(context, value);
        return param;
    }
    for (const sel::Map::Member &member : value.map->all())
        param.members.put(member.key.view(), make_evaluated(context, type_of(member.value), member.value));
    return param;
}

Param with_modes(const Param &defined, Param value) {
    value.mode = defined.mode;
    value.validator = defined.validator;
    for (auto &[name, member] : value.members) {
        if (const Param *of_member = defined.members.find(name))
            member = with_modes(*of_member, std::move(member));
    }
    return value;
}

} // namespace scylla::model::workflow
