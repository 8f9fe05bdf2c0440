#include "model/workflow/scope_params.h"

#include <algorithm>

#include "model/sel/json.h"
#include "model/workflow/dependencies.h"
#include "model/workflow/loops.h"
#include "model/workflow/param_values.h"
#include "model/workflow/run_facts.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

constexpr std::string_view k_status = "MAESTRO_STEP_STATUS";
constexpr std::string_view k_end_time = "MAESTRO_STEP_END_TIME";
constexpr std::string_view k_error_retries = "MAESTRO_STEP_ERROR_RETRIES";

// The job type of its template, or the name of its type in Maestro.
std::string type_info(const StepNode &step) {
    std::string name = step.type;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    return step.sub_type.empty() ? name : step.sub_type;
}

constexpr std::string_view k_of_the_loop[] = {"loop_params", "loop_index",      "condition",
                                              "step_id",     "step_attempt_id", "step_instance_uuid"};

bool is_finished(StepStatus status) noexcept { return is_terminal(status) && !is_retryable(status); }

bool are_texts(sel::Args args) noexcept {
    return std::all_of(args.begin(), args.end(), [](const Value &arg) { return arg.type == sel::Type::string; });
}

} // namespace

bool is_of_the_loop(std::string_view name) noexcept {
    return std::find(std::begin(k_of_the_loop), std::end(k_of_the_loop), name) != std::end(k_of_the_loop);
}

bool is_pseudo_param(std::string_view name) noexcept {
    return name == k_status || name == k_end_time || name == k_error_retries;
}

std::string ambiguous_name(std::string_view name, std::string_view one, std::string_view other) {
    return "\"" + std::string(name) + "\" can mean a parameter of the step \"" + std::string(one) +
           "\" and one of the step \"" + std::string(other) + "\"; params.getFromStep(step, parameter) names one";
}

std::string path_of(const LiveScope &scope) {
    if (scope.around == nullptr)
        return {};
    const std::string before = path_of(*scope.around);
    return before + (before.empty() ? "" : ",") + std::to_string(scope.now.number);
}

std::optional<Value> ScopeParams::find(std::string_view name, sel::Context &context) {
    if (const Value *found = find_around(name))
        return copy_value(context, *found);
    return find_joined(name, context);
}

bool ScopeParams::knows(std::string_view name) {
    if (with_own_ && step_->node->params.find(name) != nullptr)
        return true;
    for (std::size_t at = name.find(k_between); at != std::string_view::npos; at = name.find(k_between, at + 1)) {
        const LiveStep *step = find_step(name.substr(0, at)).step;
        if (step != nullptr && step->node->params.find(name.substr(at + k_between.size())) != nullptr)
            return true;
    }
    return false;
}

const Value *ScopeParams::find_around(std::string_view name) {
    const Value *found = first_ == nullptr ? nullptr : first_->find(name);
    if (found == nullptr && with_own_)
        found = state_.params_of(*step_).find(name);
    for (LiveScope *scope = &scope_; found == nullptr; scope = scope->around) {
        found = state_.params_of(*scope).find(name);
        if (scope->around == nullptr)
            break;
        if (found == nullptr && !is_of_the_loop(name))
            found = state_.params_of(*scope->loop).find(name);
    }
    return found;
}

// step__param. Ids do not contain two adjacent underscores, but may begin or end with one.
std::optional<Value> ScopeParams::find_joined(std::string_view name, sel::Context &context) {
    std::optional<std::size_t> between;
    for (std::size_t at = name.find(k_between); at != std::string_view::npos; at = name.find(k_between, at + 1)) {
        if (find_step(name.substr(0, at)).step == nullptr)
            continue;
        if (between)
            sel::fail(sel::FaultKind::value, ambiguous_name(name, name.substr(0, *between), name.substr(0, at)));
        between = at;
    }
    if (between)
        return of_step(name.substr(0, *between), name.substr(*between + k_between.size()), context);
    return joined_param_of_signal(state_.run.name, name, context);
}

// A step before the evaluating step, or before a loop around it; or the step itself, when its parameters are known.
ScopeParams::Found ScopeParams::find_step(std::string_view id) {
    const LiveStep *asking = step_;
    for (LiveScope *scope = &scope_; scope != nullptr && asking != nullptr; scope = scope->around) {
        if (const StepNode *node = scope->list->find(id)) {
            LiveStep &there = scope->steps[scope->list->place_of(*node)];
            const bool itself = with_own_ && &there == step_;
            const bool before = asking->node->after[scope->list->place_of(*node)] && is_finished(there.now.status);
            return itself || before ? Found{scope, &there} : Found{nullptr, nullptr};
        }
        asking = scope->loop;
    }
    return {nullptr, nullptr};
}

namespace {

// What Java's arrays have where nothing was put.
Value default_of(ParamType type) noexcept {
    return type == ParamType::long_     ? Value::of(std::int64_t{0})
           : type == ParamType::double_ ? Value::of(0.0)
           : type == ParamType::boolean ? Value::of(false)
                                        : Value{};
}

// Reads the values of all iterations of a loop. param: its definition; null: only a run knows it.
Value read_iterations(sel::Context &context, std::string_view json, const Param *param) {
    const Value values = sel::read_json(context, json);
    for (Value &value : values.array->values()) {
        if (value.is_null() && param != nullptr) // the iteration did not run the step
            value = default_of(param->type);
    }
    sel::settle_elements(*values.array);
    return values;
}

} // namespace

std::optional<Value> ScopeParams::of_while(const LiveStep &step, std::string_view param, sel::Context &context) {
    if (step.now.loop.empty())
        return std::nullopt;
    const WhileState loop = read_while(state_, step);
    if (param == "loop_params") {
        sel::Map values = *loop.values->map;
        return copy_value(context, Value::of(&values));
    }
    const Value *found = loop.values->map->find(param);
    return found == nullptr ? std::nullopt : std::optional(copy_value(context, *found));
}

std::optional<Value> ScopeParams::of_step(std::string_view id, std::string_view param, sel::Context &context) {
    LiveStep *step = find_step(id).step;
    if (step == nullptr)
        return std::nullopt;
    if (param == k_status)
        return sel::make_string(context.heap, name_of(step->now.status));
    if (param == k_end_time)
        return Value::of(step->now.ended);
    if (param == k_error_retries)
        return Value::of(static_cast<std::int64_t>(step->now.retries.error));
    if (step->node->kind == StepKind::while_) {
        if (auto last = of_while(*step, param, context))
            return last;
    }
    const Value *found = state_.params_of(*step).find(param);
    return found == nullptr ? std::nullopt : std::optional(copy_value(context, *found));
}

std::optional<Value> ScopeParams::own_field(std::string_view field, sel::Context &context) const {
    if (step_ == nullptr)
        return std::nullopt;
    if (field == "step_id")
        return sel::make_string(context.heap, step_->node->id);
    if (field == "step_attempt_id")
        return Value::of(static_cast<std::int64_t>(step_->now.attempt));
    if (field == "step_type_info")
        return sel::make_string(context.heap, type_info(*step_->node));
    if (field == k_error_retries)
        return Value::of(static_cast<std::int64_t>(step_->now.retries.error));
    if (field == "step_instance_uuid")
        return sel::make_string(context.heap,
                                uuid_of_step(state_.run.name, path_of(scope_), step_->node->id, step_->now.attempt));
    return std::nullopt;
}

// Values that a turn is given only if it asks for them.
std::optional<Value> ScopeParams::of_others(Need::What what, sel::Args args, sel::Context &context) {
    const auto [scope, step] = find_step(args[0].view());
    const bool is_loop = what == Need::What::foreach; // or a while
    if (step == nullptr || (is_loop ? !step->node->is_loop() : step->node->kind != StepKind::subworkflow))
        return std::nullopt;
    const StepNode *inner = is_loop ? step->node->steps->find(args[1].view()) : nullptr;
    const Param *param = inner == nullptr ? nullptr : inner->params.find(args[2].view());
    if (is_loop && param == nullptr && (inner == nullptr || inner->sub_type.empty()))
        return std::nullopt;
    for (const Supply &supply : state_.run.supplies) {
        if (supply.scope != scope->now.id || supply.step != step->node->id || supply.inner != args[1].view() ||
            supply.param != args[2].view())
            continue;
        if (supply.json.empty())
            return std::nullopt;
        return is_loop ? read_iterations(context, supply.json, param) : sel::read_json(context, supply.json);
    }
    // Iterations that have ended in this turn can be read only when it has been written.
    const bool had_ended = !step->new_attempt && (is_finished(step->before) || step->before == StepStatus::finishing);
    if (is_loop && (scope->is_new || !had_ended))
        throw NotYet{};
    throw NeedMore{{what, scope->now.id, step->node->id, state_.keep(std::string(args[1].view())),
                    state_.keep(std::string(args[2].view())), step->now.loop}};
}

std::optional<Value> ScopeParams::find_from(std::string_view function, sel::Args args, sel::Context &context) {
    if (!are_texts(args))
        return std::nullopt;
    if (function == "getFromInstance" && args.size() == 1)
        return fact_of_run(state_.definition, state_.run.name, args[0].view(), context);
    if (function == "getFromSignal")
        return param_of_signal(state_.run.name, args, context);
    if (function == "getFromSignalDependency" && args.size() == 2)
        return step_ == nullptr ? std::nullopt : param_of_dependency(*step_, args, context);
    if (function == "getFromStep" && args.size() == 1)
        return own_field(args[0].view(), context);
    if (function == "getFromStep" && args.size() == 2)
        return of_step(args[0].view(), args[1].view(), context);
    if (function == "getFromForeach" && args.size() == 3)
        return of_others(Need::What::foreach, args, context);
    if (function == "getFromSubworkflow" && args.size() == 3)
        return of_others(Need::What::subworkflow, args, context);
    return std::nullopt;
}

} // namespace scylla::model::workflow
