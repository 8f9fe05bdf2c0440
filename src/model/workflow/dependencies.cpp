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

constexpr std::string_view k_pending = "PENDING";

// {"table": "orders", "day": {">=": 5}}
std::string match_of(sel::Context &context, const SignalDependency &dependency) {
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
    return "{" + match + "}";
}

// The state of one wait: these members of the objects.
std::string keep(sel::Context &context, std::string_view status, const sel::Map &wait, const sel::Map *signal) {
    std::string json = "{\"status\":" + json_text(status);
    const auto add = [&](const sel::Map &from, std::string_view name) {
        if (const Value *value = from.find(name))
            json += "," + json_text(name) + ":" + sel::write_json(context, *value);
    };
    for (const std::string_view name : {"signal", "match", "since"})
        add(wait, name);
    if (signal != nullptr)
        for (const std::string_view name : {"seq", "params", "sent"})
            add(*signal, name);
    return json + "}";
}

// The state, in the heap of the context.
const sel::Array *read_kept(sel::Context &context, const LiveStep &step) {
    if (step.now.signals.empty())
        return nullptr;
    const Value value = sel::read_json(context, step.now.signals);
    return value.type == sel::Type::array ? value.array : nullptr;
}
// The state of one wait; null: it has not begun.
const Value *kept_of(const sel::Array *kept, std::size_t place) noexcept {
    return kept != nullptr && place < kept->size && kept->items[place].type == sel::Type::map ? &kept->items[place]
                                                                                              : nullptr;
}
bool is_pending(const Value *kept) noexcept {
    const Value *status = kept == nullptr ? nullptr : kept->map->find("status");
    return status != nullptr && status->type == sel::Type::string && status->view() == k_pending;
}

// The state after `change` of each member, which gets the old member (null: the wait has not begun).
template <typename Change> std::string with_each(RunState &state, const LiveStep &step, Change change) {
    NoParams none;
    sel::Heap heap(state.limits.memory);
    sel::Context context(heap, state.world, none, state.limits);
    const sel::Array *kept = read_kept(context, step);
    std::string json;
    for (std::size_t place = 0; place < step.node->dependencies.size(); place++)
        json += (json.empty() ? "[" : ",") + change(context, place, kept_of(kept, place));
    return json + "]";
}

std::string as_it_is(sel::Context &context, const Value *now) {
    return now == nullptr ? "null" : sel::write_json(context, *now);
}

} // namespace

BegunWaits begin_waits(RunState &state, LiveScope &scope, const LiveStep &step) {
    ScopeParams params(state, scope, nullptr, false);
    sel::Heap heap(state.limits.memory);
    sel::Context context(heap, state.world, params, state.begin_evaluation());
    BegunWaits begun;
    begun.kept = with_each(state, step, [&](sel::Context &own, std::size_t place, const Value *now) {
        if (now != nullptr)
            return as_it_is(own, now);
        const SignalDependency &dependency = step.node->dependencies[place];
        const std::string wait =
            "\"signal\":" + json_text(dependency.name) + ",\"match\":" + match_of(context, dependency);
        begun.waits += (begun.waits.empty() ? "[" : ",") + ("{\"number\":" + std::to_string(place)) + "," + wait + "}";
        return "{\"status\":" + json_text(k_pending) + "," + wait + ",\"since\":" + std::to_string(state.now) + "}";
    });
    if (!begun.waits.empty())
        begun.waits += "]";
    return begun;
}

bool are_matched(RunState &state, const LiveStep &step) {
    bool all = true;
    (void)with_each(state, step, [&](sel::Context &, std::size_t, const Value *now) {
        all = all && now != nullptr && !is_pending(now);
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
    std::string json = with_each(state, step, [&](sel::Context &context, std::size_t place, const Value *now) {
        if (!is_pending(now) || number->number != static_cast<std::int64_t>(place))
            return as_it_is(context, now);
        is_new = true;
        return keep(context, "MATCHED", *now->map, signal->map);
    });
    return is_new ? std::optional(std::move(json)) : std::nullopt;
}

std::string with_bypassed(RunState &state, const LiveStep &step) {
    return with_each(state, step, [](sel::Context &context, std::size_t, const Value *now) {
        return is_pending(now) ? keep(context, "SKIPPED", *now->map, nullptr) : as_it_is(context, now);
    });
}

std::string for_next_attempt(RunState &state, const LiveStep &step) {
    if (step.now.signals.empty())
        return {};
    try {
        return with_each(state, step, [](sel::Context &context, std::size_t, const Value *now) {
            return as_it_is(context, is_pending(now) ? nullptr : now);
        });
    } catch (const sel::Failure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw;
        return {};
    }
}

std::optional<Value> param_of_dependency(const LiveStep &step, sel::Args args, sel::Context &context) {
    const std::string_view number = args[0].view();
    std::size_t place = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), place);
    if (error != std::errc{} || end != number.data() + number.size())
        return std::nullopt;
    const Value *kept = kept_of(read_kept(context, step), place);
    const Value *params = kept == nullptr ? nullptr : kept->map->find("params");
    const Value *found =
        params == nullptr || params->type != sel::Type::map ? nullptr : params->map->find(args[1].view());
    return found == nullptr ? std::nullopt : std::optional(copy_value(context, *found));
}

} // namespace scylla::model::workflow
