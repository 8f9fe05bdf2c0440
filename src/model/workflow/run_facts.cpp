#include "model/workflow/run_facts.h"

#include <array>

#include "model/sel/json.h"
#include "model/workflow/fnv.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

constexpr std::string_view k_fresh = "START_FRESH_NEW_RUN";

const Value *member_of(std::string_view json, std::string_view member, sel::Context &context) {
    if (json.empty())
        return nullptr;
    const Value object = sel::read_json(context, json);
    return object.type == sel::Type::map ? object.map->find(member) : nullptr;
}

// A parameter cannot be null: a missing value is an empty text.
Value of_initiator(const RunName &name, std::string_view member, sel::Context &context) {
    const Value *found = member_of(name.initiator, member, context);
    return found == nullptr ? sel::make_string(context.heap, {}) : *found;
}

} // namespace

std::string member_text(std::string_view json, std::string_view member, sel::Context &context) {
    const Value *found = member_of(json, member, context);
    return found != nullptr && found->type == sel::Type::string ? std::string(found->view()) : std::string{};
}

std::optional<std::int64_t> member_number(std::string_view json, std::string_view member, sel::Context &context) {
    const Value *found = member_of(json, member, context);
    return found != nullptr && found->type == sel::Type::long_ ? std::optional(found->number) : std::nullopt;
}

std::optional<Value> fact_of_run(const Definition &definition, const RunName &name, std::string_view field,
                                 sel::Context &context) {
    if (field == "workflow_id")
        return sel::make_string(context.heap, name.workflow);
    if (field == "workflow_instance_id")
        return Value::of(name.instance);
    if (field == "workflow_run_id")
        return Value::of(name.run);
    if (field == "owner")
        return sel::make_string(context.heap, member_text(name.properties, "owner", context));
    if (field == "FIRST_TIME_TRIGGER_TIMEZONE")
        return sel::make_string(context.heap, definition.zone);
    if (field == "INITIATOR_TYPE")
        return of_initiator(name, "type", context);
    if (field == "INITIATOR_RUNNER_NAME")
        return of_initiator(name, "user", context);
    if (field == "INITIATOR_TIMEZONE")
        return of_initiator(name, "timezone", context);
    if (field == "RUN_POLICY") {
        const std::string policy = member_text(name.restart, "policy", context);
        return sel::make_string(context.heap, policy.empty() ? k_fresh : policy);
    }
    return std::nullopt;
}

std::optional<Value> param_of_signal(const RunName &name, sel::Args args, sel::Context &context) {
    const Value *signals = member_of(name.initiator, "signals", context);
    if (signals == nullptr || signals->type != sel::Type::map)
        return std::nullopt;
    for (const sel::Map::Member &signal : signals->map->all()) {
        if ((args.size() == 2 && signal.key.view() != args[0].view()) || signal.value.type != sel::Type::map)
            continue;
        const Value *params = signal.value.map->find("params");
        const Value *found = params != nullptr && params->type == sel::Type::map
                                 ? params->map->find(args[args.size() - 1].view())
                                 : nullptr;
        if (found != nullptr)
            return *found;
    }
    return std::nullopt;
}

std::optional<Value> joined_param_of_signal(const RunName &name, std::string_view joined, sel::Context &context) {
    for (std::size_t at = joined.find(k_between); at != std::string_view::npos; at = joined.find(k_between, at + 1)) {
        const std::array args{sel::make_string(context.heap, joined.substr(0, at)),
                              sel::make_string(context.heap, joined.substr(at + k_between.size()))};
        if (const auto found = param_of_signal(name, args, context))
            return found;
    }
    return std::nullopt;
}

std::string uuid_of_step(const RunName &name, std::string_view path, std::string_view step, std::int32_t attempt) {
    const std::string identity = std::string(name.workflow) + "\n" + std::to_string(name.instance) + "\n" +
                                 std::to_string(name.run) + "\n" + std::string(path) + "\n" + std::string(step) + "\n" +
                                 std::to_string(attempt);
    std::uint64_t high = fnv(identity);
    std::uint64_t low = fnv(identity, high ^ 0x9e3779b97f4a7c15ULL);
    high = (high & ~0xf000ULL) | 0x8000ULL; // version 8: custom (RFC 9562)
    low = (low & ~(3ULL << 62U)) | (2ULL << 62U);
    constexpr char k_digits[] = "0123456789abcdef";
    std::string text;
    for (int i = 0; i < 32; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            text += '-';
        const std::uint64_t half = i < 16 ? high : low;
        text += k_digits[(half >> (60U - 4U * (static_cast<unsigned>(i) % 16U))) & 15U];
    }
    return text;
}

} // namespace scylla::model::workflow
