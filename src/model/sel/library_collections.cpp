// Arrays, maps, and the parameters.
#include <array>

#include "model/sel/library.h"

namespace scylla::model::sel {

namespace {

void check_storable(const Value &value) {
    if (value.type == Type::none || value.type == Type::class_ || value.type == Type::params)
        fail(FaultKind::value, std::string(type_name(value)) + " cannot be stored");
}

Value array_length(Context & /*context*/, const Value &self, Args /*args*/) {
    return Value::of(std::int64_t{self.array->size});
}

Value map_new(Context &context, const Value & /*self*/, Args /*args*/) { return Value::of(make_map(context.heap)); }
Value map_size(Context & /*context*/, const Value &self, Args /*args*/) {
    return Value::of(std::int64_t{self.map->size});
}
Value map_get(Context &context, const Value &self, Args args) {
    context.work_on(to_string(args[0]).size());
    const Value *found = self.map->find(args[0].view());
    return found != nullptr ? *found : args.size() > 1 ? args[1] : Value{};
}
Value map_contains(Context &context, const Value &self, Args args) {
    context.work_on(to_string(args[0]).size());
    return Value::of(self.map->find(args[0].view()) != nullptr);
}
// The value that was there before.
Value map_put(Context &context, const Value &self, Args args) {
    context.work_on(to_string(args[0]).size());
    check_storable(args[1]);
    const Value *found = self.map->find(args[0].view());
    const Value before = found == nullptr ? Value{} : *found;
    self.map->put(context.heap, args[0], args[1]);
    return before;
}

// The only argument if that is an array already.
Value as_list(Context &context, const Value & /*self*/, Args args) {
    if (args.size() == 1 && args[0].type == Type::array)
        return args[0];
    Array *array = new_array(context, Elements::any, static_cast<std::int64_t>(args.size()));
    for (std::size_t i = 0; i < args.size(); i++) {
        check_storable(args[i]);
        array->items[i] = args[i];
    }
    settle_elements(*array);
    return Value::of(array);
}

Value params_get(Context &context, const Value & /*self*/, Args args) {
    return context.params.find(to_string(args[0]), context).value_or(Value{});
}
Value params_contains(Context &context, const Value & /*self*/, Args args) {
    return Value::of(context.params.find(to_string(args[0]), context).has_value());
}
std::string joined(Args args) {
    std::string text;
    for (const Value &arg : args)
        text += (text.empty() ? "\"" : "\", \"") + number_or_text(arg);
    return text + "\"";
}
Value require_from(Context &context, std::string_view function, Args args) {
    const auto found = context.params.find_from(function, args, context);
    if (!found)
        fail(FaultKind::unknown, std::string(function) + "() found nothing for " + joined(args));
    return *found;
}
Value from_step(Context &context, const Value & /*self*/, Args args) {
    return require_from(context, "getFromStep", args);
}
Value from_signal(Context &context, const Value & /*self*/, Args args) {
    return require_from(context, "getFromSignal", args);
}
Value from_signal_dependency(Context &context, const Value & /*self*/, Args args) {
    return require_from(context, "getFromSignalDependency", args);
}
Value from_foreach(Context &context, const Value & /*self*/, Args args) {
    return require_from(context, "getFromForeach", args);
}
Value from_subworkflow(Context &context, const Value & /*self*/, Args args) {
    return require_from(context, "getFromSubworkflow", args);
}
Value from_instance(Context &context, const Value & /*self*/, Args args) {
    return require_from(context, "getFromInstance", args);
}
Value from_signal_or_default(Context &context, const Value & /*self*/, Args args) {
    const auto found = context.params.find_from("getFromSignal", args.first(args.size() - 1), context);
    return found.value_or(args.back());
}
Value environment(Context &context, const Value & /*self*/, Args /*args*/) {
    return context.params.find_from("getExecutionEnvironment", {}, context).value_or(Value{});
}
Value next_unique_id(Context &context, const Value & /*self*/, Args /*args*/) {
    return Value::of(static_cast<std::int64_t>(context.world.random() >> 1U));
}

constexpr auto k_array = std::to_array<Function>({{"length", -1, -1, array_length}, {"size", 0, 0, array_length}});
constexpr auto k_map = std::to_array<Function>({{"get", 1, 1, map_get},
                                                {"getOrDefault", 2, 2, map_get},
                                                {"put", 2, 2, map_put},
                                                {"containsKey", 1, 1, map_contains},
                                                {"size", 0, 0, map_size}});
constexpr auto k_map_class = std::to_array<Function>({{"new", 0, 0, map_new}});
constexpr auto k_arrays = std::to_array<Function>({{"asList", 1, k_any_number, as_list}});
constexpr auto k_params = std::to_array<Function>({{"get", 1, 1, params_get},
                                                   {"containsKey", 1, 1, params_contains},
                                                   {"getFromStep", 1, 2, from_step},
                                                   {"getFromSignal", 1, 2, from_signal},
                                                   {"getFromSignalOrDefault", 2, 3, from_signal_or_default},
                                                   {"getFromSignalDependency", 2, 2, from_signal_dependency},
                                                   {"getFromForeach", 3, 3, from_foreach},
                                                   {"getFromSubworkflow", 3, 3, from_subworkflow},
                                                   {"getFromInstance", 1, 1, from_instance},
                                                   {"getExecutionEnvironment", 0, 0, environment},
                                                   {"nextUniqueId", 0, 0, next_unique_id}});

} // namespace

std::span<const Function> collection_functions(Receiver receiver) noexcept {
    switch (receiver) {
    case Receiver::array:
        return k_array;
    case Receiver::map:
        return k_map;
    case Receiver::map_class:
        return k_map_class;
    case Receiver::arrays_class:
        return k_arrays;
    case Receiver::params:
        return k_params;
    default:
        return {};
    }
}

} // namespace scylla::model::sel
