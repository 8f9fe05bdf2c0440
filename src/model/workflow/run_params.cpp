#include "model/workflow/run_params.h"

#include <algorithm>

#include "model/sel/json.h"
#include "model/workflow/names.h"
#include "model/workflow/param_evaluate.h"
#include "model/workflow/param_json.h"
#include "model/workflow/param_merge.h"
#include "model/workflow/param_values.h"
#include "model/workflow/run_facts.h"
#include "model/workflow/words.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

class FactsOnly final : public sel::Params {
public:
    FactsOnly(const Definition &definition, const RunName &name) noexcept : definition_{definition}, name_{name} {}

    std::optional<Value> find(std::string_view name, sel::Context &context) override {
        return joined_param_of_signal(name_, name, context);
    }
    std::optional<Value> find_from(std::string_view function, sel::Args args, sel::Context &context) override {
        const bool are_texts =
            std::all_of(args.begin(), args.end(), [](const Value &arg) { return arg.type == sel::Type::string; });
        if (function == "getFromSignal" && are_texts)
            return param_of_signal(name_, args, context);
        if (function != "getFromInstance" || args.size() != 1 || args[0].type != sel::Type::string)
            return std::nullopt;
        return fact_of_run(definition_, name_, args[0].view(), context);
    }

private:
    const Definition &definition_;
    const RunName &name_;
};

Merge merge_for(const RunName &name, sel::Context &context) {
    constexpr std::string_view k_starters[] = {"SIGNAL", "TIME", "SUBWORKFLOW"};
    const auto type = find_word(k_starters, member_text(name.initiator, "type", context));
    if (!type)
        return {.source = ParamSource::launch};
    return *type == 0   ? Merge{.source = ParamSource::signal}
           : *type == 1 ? Merge{.source = ParamSource::time_trigger}
                        : Merge{.source = ParamSource::subworkflow, .upstream = true};
}

void check_name(sel::Context &context, const std::string &name) {
    Problems problems;
    check_name_given(Reader(context, problems), name);
    if (!problems.found().empty())
        sel::fail(sel::FaultKind::value, "parameter " + problems.found()[0].what);
}

bool is_definition(const Value &json) noexcept {
    if (json.type != sel::Type::map)
        return false;
    const Value *type = json.map->find("type");
    return type != nullptr && type->type == sel::Type::string &&
           (json.map->find("value") != nullptr || json.map->find("expression") != nullptr);
}

// What a user, a trigger or a backfill gives may be a definition; what a run passes to its subworkflow is a value,
// whatever it looks like.
enum class Given : std::uint8_t { by_users, by_a_run };

Param read_param_given(sel::Context &context, const ParamMap &params, const std::string &name, const Value &json,
                       Given given) {
    check_name(context, name);
    if (given == Given::by_users && is_definition(json)) {
        Problems problems;
        const Where root;
        auto param = read_param(context, json, root.member(name), problems);
        if (!problems.found().empty())
            fail_param(problems.found()[0].where, problems.found()[0].what);
        return std::move(*param);
    }
    const Param *defined = params.find(name);
    const ParamType type = defined == nullptr ? natural_type(json) : defined->type;
    const auto typed = to_type(context, json, type);
    if (!typed)
        fail_param(name, "the parameter is " + std::string(name_of(type)) + ", and " +
                             std::string(sel::type_name(json)) + " was given");
    return make_evaluated(context, type, *typed);
}

// most: maximum number of parameters, except for a run that gets them from another run.
ParamMap read_request(sel::Context &context, const Definition &definition, std::string_view request, const Merge &merge,
                      std::int64_t most) {
    ParamMap params;
    if (request.empty())
        return params;
    const Value json = sel::read_json(context, request);
    if (json.type != sel::Type::map)
        sel::fail(sel::FaultKind::value, "the parameters of a run must be an object");
    if (json.map->size > most && !merge.upstream)
        sel::fail(sel::FaultKind::limit, "a run can be given at most " + std::to_string(most) + " parameters");
    for (const sel::Map::Member &member : json.map->all()) {
        const std::string name(member.key.view());
        params.put(name, read_param_given(context, definition.params, name, member.value,
                                          merge.upstream ? Given::by_a_run : Given::by_users));
    }
    return params;
}

// Puts the values of an earlier run, with the modes of the definition. Reserved parameters are not changed.
void put_values(sel::Context &context, ParamMap &params, const sel::Map &values) {
    for (const sel::Map::Member &member : values.all()) {
        const std::string name(member.key.view());
        const Param *defined = params.find(name);
        if (defined != nullptr && defined->system_mode == SystemMode::reserved)
            continue;
        const ParamType type = defined == nullptr ? natural_type(member.value) : defined->type;
        const auto typed = to_type(context, member.value, type);
        if (!typed)
            fail_param(name, "the stored value is no " + std::string(name_of(type)));
        Param value = make_evaluated(context, type, *typed);
        params.put(name, defined == nullptr ? std::move(value) : with_modes(*defined, std::move(value)));
    }
}

} // namespace

void check_name_given(const Reader &reader, std::string_view name) {
    const Where root;
    check_id(Reader(reader.context(), reader.problems(), k_limits_of_stored), name, root.member(name), Named::param);
}

ParamMap read_given(sel::Context &context, const ParamMap &defined, const sel::Map &given) {
    ParamMap params;
    for (const sel::Map::Member &member : given.all()) {
        const std::string name(member.key.view());
        params.put(name, read_param_given(context, defined, name, member.value, Given::by_users));
    }
    return params;
}

namespace {

// The member "params" of the restart.
ParamMap read_given_on_path(sel::Context &context, const ParamMap &defined, std::string_view restart) {
    if (restart.empty())
        return {};
    const Value json = sel::read_json(context, restart);
    const Value *given = json.type == sel::Type::map ? json.map->find("params") : nullptr;
    return given == nullptr || given->type != sel::Type::map ? ParamMap{} : read_given(context, defined, *given->map);
}

} // namespace

std::string values_of_restart(const Definition &definition, const RunName &name, std::string_view before,
                              std::string_view given, sel::World &world, const sel::Limits &limits) {
    FactsOnly facts(definition, name);
    sel::Heap heap(limits.memory);
    sel::Context context(heap, world, facts, limits);
    const ParamMap &defaults = default_workflow_params();
    const Layer layers[] = {{&defaults, {ParamSource::system_default}},
                            {&definition.params, {ParamSource::definition}}};
    ParamMap params;
    for (const Layer &layer : layers)
        merge_params(context, params, *layer.params, layer.merge);
    const Value values = sel::read_json(context, before);
    if (values.type != sel::Type::map)
        sel::fail(sel::FaultKind::value, "what is stored is no object");
    put_values(context, params, *values.map);
    constexpr Merge k_of_restart{.source = ParamSource::restart, .restart = true};
    Merge merge = merge_for(name, context);
    if (!merge.upstream)
        merge = k_of_restart;
    merge.restart = true;
    merge_params(context, params, read_request(context, definition, given, merge, name.limits.params), merge);
    if (merge.upstream) // and what the restart gives to this instance, which its path leads to
        merge_params(context, params, read_given_on_path(context, params, name.restart), k_of_restart);
    finish_merge(params);
    return write_values(context, evaluate_params(context, params));
}

std::string values_of_run(const Definition &definition, const RunName &name, std::string_view request,
                          sel::World &world, const sel::Limits &limits) {
    FactsOnly facts(definition, name);
    sel::Heap heap(limits.memory);
    sel::Context context(heap, world, facts, limits);
    const Merge merge = merge_for(name, context);
    const ParamMap &defaults = default_workflow_params();
    const ParamMap given = read_request(context, definition, request, merge, name.limits.params);
    const Layer layers[] = {
        {&defaults, {ParamSource::system_default}}, {&definition.params, {ParamSource::definition}}, {&given, merge}};
    return write_values(context, evaluate_params(context, merge_layers(context, layers)));
}

} // namespace scylla::model::workflow
