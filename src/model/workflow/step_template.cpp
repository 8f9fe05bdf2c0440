#include "model/workflow/step_template.h"

#include "model/sel/json.h"
#include "model/workflow/no_params.h"
#include "model/workflow/param_merge.h"
#include "model/workflow/param_values.h"
#include "model/workflow/scope_params.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

// The version that the step names, otherwise that of its run.
std::string version_of(RunState &state, LiveScope &scope, LiveStep &step) {
    if (!step.node->sub_type_version.empty())
        return step.node->sub_type_version;
    const Value *given = ScopeParams(state, scope, &step, false).find_around(k_template_version);
    const bool is_text = given != nullptr && given->type == sel::Type::string && !given->view().empty();
    return std::string(is_text ? given->view() : k_default_template);
}

std::string_view find_supply(const RunState &state, const TemplateName &name) {
    for (const Supply &supply : state.run.supplies) {
        if (supply.scope != 0 || !supply.step.empty() || supply.inner != name.job_type || supply.param != name.version)
            continue;
        if (supply.json.empty())
            sel::fail(sel::FaultKind::value, "there is no " + show_template(name));
        return supply.json;
    }
    return {};
}

std::unique_ptr<LiveTemplate> read_template(RunState &state, std::string_view json, const TemplateName &name) {
    auto read = std::make_unique<LiveTemplate>(state.limits.memory);
    NoParams none;
    sel::Context context(read->heap, state.world, none, state.limits);
    const Value supply = sel::read_json(context, json);
    const Value *templates = supply.type == sel::Type::map ? supply.map->find("templates") : nullptr;
    const Value *limited = templates == nullptr ? nullptr : supply.map->find("limited");
    if (limited == nullptr || limited->type != sel::Type::array)
        sel::fail(sel::FaultKind::value, show_template(name) + " cannot be read");
    if (templates->type == sel::Type::array && templates->array->size == 0) // the job type has no template at all
        return read;
    Problems problems;
    try {
        auto joined = join_template(Reader(context, problems), *templates, name);
        if (!joined)
            sel::fail(sel::FaultKind::value, "there is no " + show_template(name));
        read->joined = std::move(*joined);
    } catch (const ParamFailure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw sel::Failure{failure.fault};
        sel::fail(failure.fault.kind, show_template(name) + ": " + failure.name + ": " + show_fault(failure.fault));
    }
    for (const Value &tag : limited->array->values())
        read->limited.emplace_back(tag.type == sel::Type::string ? tag.view() : std::string_view{});
    return read;
}

// The values of the workflow, or of a loop around the step, for parameters of the template.
ParamMap values_around(RunState &state, LiveScope &scope, LiveStep &step, sel::Context &context,
                       const ParamMap &of_template) {
    ScopeParams around(state, scope, &step, false);
    ParamMap values;
    for (const auto &[name, param] : of_template) {
        const Value *value = around.find_around(name);
        if (value == nullptr)
            continue;
        const auto typed = to_type(context, *value, param.type);
        if (!typed)
            fail_param(name, "the parameter is " + std::string(name_of(param.type)) + " in the " +
                                 show_template({step.node->sub_type, version_of(state, scope, step)}) +
                                 ", and the workflow has " + std::string(sel::type_name(*value)));
        values.put(name, make_evaluated(context, param.type, *typed));
    }
    return values;
}

} // namespace

const LiveTemplate &template_of(RunState &state, LiveScope &scope, LiveStep &step) {
    const std::string version = version_of(state, scope, step);
    const TemplateName name{step.node->sub_type, version};
    std::unique_ptr<LiveTemplate> &there = state.templates[{step.node->sub_type, version}];
    if (there == nullptr) {
        const std::string_view json = find_supply(state, name);
        if (json.empty())
            throw NeedMore{{Need::What::job_template, 0, {}, step.node->sub_type, state.keep(version), {}}};
        there = read_template(state, json, name);
    }
    if (there->joined.type.empty())
        return *there;
    if (std::string fault = type_fault(there->joined, name, step.node->type); !fault.empty())
        sel::fail(sel::FaultKind::value, std::move(fault));
    return *there;
}

ParamMap params_over_template(RunState &state, LiveScope &scope, LiveStep &step, sel::Context &context) {
    ParamMap of_template = template_of(state, scope, step).joined.params;
    merge_params(context, of_template, values_around(state, scope, step, context, of_template),
                 {.source = ParamSource::workflow_parameter});
    return merge_over_template(context, of_template, step.node->own);
}

ParamMap params_to_put_out(RunState &state, LiveScope &scope, LiveStep &step, sel::Context &context) {
    ParamMap defined;
    try {
        defined = params_over_template(state, scope, step, context);
    } catch (const ParamFailure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw;
        defined = step.node->params;
    } catch (const sel::Failure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw;
        defined = step.node->params;
    }
    ParamMap params;
    for (const sel::Map::Member &member : state.params_of(step).all()) {
        const Param *there = defined.find(member.key.view());
        const auto typed = there == nullptr ? std::nullopt : to_type(context, member.value, there->type);
        params.put(member.key.view(), typed ? with_modes(*there, make_evaluated(context, there->type, *typed))
                                            : make_evaluated(context, natural_type(member.value), member.value));
    }
    return params;
}

} // namespace scylla::model::workflow
