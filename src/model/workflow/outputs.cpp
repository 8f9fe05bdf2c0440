#include "model/workflow/outputs.h"

#include <algorithm>

#include "model/sel/json.h"
#include "model/workflow/no_params.h"
#include "model/workflow/param_evaluate.h"
#include "model/workflow/param_json.h"
#include "model/workflow/scope_params.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

constexpr std::string_view k_dynamic = "maestro_dynamic_output";

const Value *member_of(const Value *object, std::string_view name) noexcept {
    return object != nullptr && object->type == sel::Type::map ? object->map->find(name) : nullptr;
}

// The sender, which lineage uses.
std::string source_of(const RunState &state, const LiveScope &scope, const LiveStep &step) {
    const RunName &name = state.run.name;
    std::string json = "{\"workflow\":" + json_text(name.workflow) + ",\"instance\":" + std::to_string(name.instance) +
                       ",\"run\":" + std::to_string(name.run) + ",\"step\":" + json_text(step.node->id) +
                       ",\"attempt\":" + std::to_string(step.now.attempt);
    if (scope.around != nullptr)
        json += ",\"iteration\":[" + path_of(scope) + "]";
    return json + "}";
}

constexpr std::string_view k_at = "at";

std::int64_t time_of(const Value &output) noexcept {
    const Value *at = member_of(&output, k_at);
    return at != nullptr && at->type == sel::Type::long_ ? at->number : 0;
}

Value read_output(sel::Context &context, std::string_view json) {
    return json.empty() ? Value{} : sel::read_json(context, json);
}

class Writer {
public:
    Writer(sel::Context &context, std::string source) : context_{context}, source_{std::move(source)} {}

    void add(const SignalOutput &output) {
        put(output.name, write_values(context_, evaluate_params(context_, output.params)),
            write_values(context_, evaluate_params(context_, output.payload)));
    }
    // {"name", "params", "payload"} with values; or as Maestro writes it: a MAP with the name and the params.
    void add(const Value &written) {
        const Value output = value_put_out(context_, written, ParamType::map);
        if (output.map != written.map || output.type != written.type)
            return add_flat(output);
        put(name_in(output), object_in(output, "params"), object_in(output, "payload"));
    }
    std::string take() { return json_.empty() ? std::string{} : json_ + "]"; }

private:
    static std::string_view name_in(const Value &output) {
        const Value *name = member_of(&output, "name");
        if (name == nullptr || name->type != sel::Type::string)
            sel::fail(sel::FaultKind::value, "a signal of \"" + std::string(k_dynamic) + "\" has no \"name\"");
        return name->view();
    }
    void add_flat(const Value &output) {
        sel::Map *params = sel::make_map(context_.heap);
        for (const sel::Map::Member &member : output.map->all())
            if (member.key.view() != "name")
                params->put(context_.heap, member.key, member.value);
        put(name_in(output), sel::write_json(context_, Value::of(params)), "{}");
    }
    std::string object_in(const Value &output, std::string_view member) {
        const Value *object = member_of(&output, member);
        if (object == nullptr || object->is_null())
            return "{}";
        if (object->type != sel::Type::map)
            sel::fail(sel::FaultKind::value, "\"" + std::string(member) + "\" of a signal must be an object");
        return sel::write_json(context_, *object);
    }
    void put(std::string_view name, const std::string &params, std::string payload) {
        payload.pop_back();
        payload += (payload.size() > 1 ? ",\"signal_source\":" : "\"signal_source\":") + source_ + "}";
        json_ += (json_.empty() ? "[{\"name\":" : ",{\"name\":") + json_text(name) + ",\"params\":" + params +
                 ",\"payload\":" + payload + "}";
    }

    sel::Context &context_;
    const std::string source_;
    std::string json_{};
};

} // namespace

std::string signals_of(RunState &state, LiveScope &scope, LiveStep &step, std::string_view data) {
    const bool has_dynamic = data.find(k_dynamic) != std::string_view::npos;
    if (step.node->outputs.empty() && !has_dynamic)
        return {};
    ScopeParams params(state, scope, &step, true);
    sel::Heap heap(state.limits.memory);
    sel::Context context(heap, state.world, params, state.begin_evaluation());
    Writer writer(context, source_of(state, scope, step));
    for (const SignalOutput &output : step.node->outputs)
        writer.add(output);
    if (!has_dynamic)
        return writer.take();
    const Value result = sel::read_json(context, data);
    const Value *dynamic = member_of(member_of(member_of(&result, "artifacts"), k_dynamic), "signal_outputs");
    if (dynamic != nullptr && dynamic->type == sel::Type::array)
        for (std::uint32_t i = 0; i < dynamic->array->size; i++)
            writer.add(dynamic->array->items[i]);
    return writer.take();
}

std::string put_over(RunState &state, std::string_view before, std::string_view later) {
    NoParams none;
    sel::Heap heap(state.limits.memory);
    sel::Context context(heap, state.world, none, state.limits);
    const Value outputs[] = {read_output(context, before), read_output(context, later)};
    sel::Map *all = sel::make_map(heap);
    for (const std::string_view name : {"params", "artifacts"}) {
        sel::Map *members = sel::make_map(heap);
        for (const Value &output : outputs) {
            const Value *object = member_of(&output, name);
            if (object == nullptr || object->type != sel::Type::map)
                continue;
            for (const sel::Map::Member &member : object->map->all())
                members->put(heap, member.key, member.value);
        }
        all->put(heap, sel::make_string(heap, name), Value::of(members));
    }
    all->put(heap, sel::make_string(heap, k_at), Value::of(std::max(time_of(outputs[0]), time_of(outputs[1]))));
    return sel::write_json(context, Value::of(all));
}

bool is_before(RunState &state, std::string_view one, std::string_view other) {
    NoParams none;
    sel::Heap heap(state.limits.memory);
    sel::Context context(heap, state.world, none, state.limits);
    return time_of(read_output(context, one)) < time_of(read_output(context, other));
}

bool forbids_retry(RunState &state, std::string_view output) {
    NoParams none;
    sel::Heap heap(state.limits.memory);
    sel::Context context(heap, state.world, none, state.limits);
    try {
        const Value value = read_output(context, output);
        const Value *retryable = member_of(member_of(member_of(&value, "artifacts"), "maestro_retry"), "retryable");
        return retryable != nullptr && retryable->type == sel::Type::boolean && !retryable->truth;
    } catch (const sel::Failure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw;
        return false; // unreadable
    }
}

} // namespace scylla::model::workflow
