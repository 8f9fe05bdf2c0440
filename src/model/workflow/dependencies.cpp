#include "model/workflow/dependencies.h"

#include <charconv>

#include "model/sel/json.h"
#include "model/workflow/no_params.h"
#include "model/workflow/param_evaluate.h"
#include "model/workflow/param_values.h"
#include "model/workflow/scope_params.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

std::string wait_of(sel::Context &context, const SignalDependency &dependency) {
    const ParamValues values = evaluate_params(context, dependency.match);
    std::string match;
    for (std::size_t place = 0; place < dependency.match.size(); place++) {
        const std::string &name = dependency.match[place].name;
        const Value *value = values.find(name);
        if (value == nullptr)
            sel::fail(sel::FaultKind::value, "\"" + name + "\" has no value");
        const std::string_view sign = dependency.signs[place];
        const std::string json = sel::write_json(context, *value);
        match += (match.empty() ? "" : ",") + json_text(name) + ":" +
                 (sign == "=" ? json : "{\"" + std::string(sign) + "\":" + json + "}");
    }
    return "{\"signal\":" + json_text(dependency.name) + ",\"match\":{" + match + "}}";
}

// What is kept, in the heap of the context.
const sel::Array *read_kept(sel::Context &context, const LiveStep &step) {
    const Value value = sel::read_json(context, step.now.signals);
    return value.type == sel::Type::array ? value.array : nullptr;
}

// What is kept with each member as `change` makes it: empty if it is to stay.
template <typename Change> std::string with_each(RunState &state, const LiveStep &step, Change change) {
    NoParams none;
    sel::Heap heap(state.limits.memory);
    sel::Context context(heap, state.world, none, state.limits);
    const sel::Array *kept = read_kept(context, step);
    std::string json = "[";
    for (std::uint32_t i = 0; i < step.node->dependencies.size(); i++) {
        const Value *now = kept == nullptr || i >= kept->size ? nullptr : &kept->items[i];
        std::string changed = change(context, i, now == nullptr || now->is_null());
        if (changed.empty())
            changed = now == nullptr ? "null" : sel::write_json(context, *now);
        json += (i == 0 ? "" : ",") + changed;
    }
    return json + "]";
}

} // namespace

std::string waits_of(RunState &state, LiveScope &scope, const StepNode &step) {
    ScopeParams params(state, scope, nullptr, false);
    sel::Heap heap(state.limits.memory);
    sel::Context context(heap, state.world, params, state.limits);
    std::string json;
    for (const SignalDependency &dependency : step.dependencies)
        json += (json.empty() ? "[" : ",") + wait_of(context, dependency);
    return json + "]";
}

std::string none_matched(const StepNode &step) {
    std::string json;
    for (std::size_t i = 0; i < step.dependencies.size(); i++)
        json += json.empty() ? "[null" : ",null";
    return json + "]";
}

bool are_matched(RunState &state, const LiveStep &step) {
    if (step.node->dependencies.empty())
        return true;
    if (step.now.signals.empty())
        return false;
    bool all = true;
    (void)with_each(state, step, [&](sel::Context &, std::uint32_t, bool waits) {
        all = all && !waits;
        return std::string{};
    });
    return all;
}

std::optional<std::string> with_match(RunState &state, const LiveStep &step, std::string_view data) {
    const auto parsed = state.parse(data);
    const Value *number = parsed->map->find("number");
    const Value *signal = parsed->map->find("signal");
    if (number == nullptr || number->type != sel::Type::long_ || signal == nullptr || signal->type != sel::Type::map)
        return std::nullopt;
    bool is_new = false;
    std::string json = with_each(state, step, [&](sel::Context &context, std::uint32_t place, bool waits) {
        if (!waits || number->number != static_cast<std::int64_t>(place))
            return std::string{};
        is_new = true;
        return sel::write_json(context, *signal);
    });
    return is_new ? std::optional(std::move(json)) : std::nullopt;
}

std::string with_bypassed(RunState &state, const LiveStep &step) {
    return with_each(state, step, [](sel::Context &, std::uint32_t, bool waits) {
        return std::string(waits ? R"({"bypassed":true})" : "");
    });
}

std::optional<Value> param_of_dependency(const LiveStep &step, sel::Args args, sel::Context &context) {
    const std::string_view number = args[0].view();
    std::uint32_t place = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), place);
    const sel::Array *kept = step.now.signals.empty() ? nullptr : read_kept(context, step);
    if (error != std::errc{} || end != number.data() + number.size() || kept == nullptr || place >= kept->size ||
        kept->items[place].type != sel::Type::map)
        return std::nullopt;
    const Value *params = kept->items[place].map->find("params");
    const Value *found =
        params == nullptr || params->type != sel::Type::map ? nullptr : params->map->find(args[1].view());
    return found == nullptr ? std::nullopt : std::optional(copy_value(context, *found));
}

} // namespace scylla::model::workflow
