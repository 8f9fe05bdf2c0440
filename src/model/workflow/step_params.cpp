#include "model/workflow/step_params.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "model/sel/evaluate.h"
#include "model/sel/interpolate.h"
#include "model/sel/json.h"
#include "model/sel/library.h"
#include "model/workflow/no_params.h"
#include "model/workflow/param_evaluate.h"
#include "model/workflow/param_json.h"
#include "model/workflow/param_merge.h"
#include "model/workflow/param_values.h"
#include "model/workflow/reader.h"
#include "model/workflow/run_params.h"
#include "model/workflow/scope_params.h"
#include "model/workflow/step_template.h"
#include "model/workflow/steps.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

constexpr std::string_view k_sleep = "sleep_seconds";
constexpr std::string_view k_queue = "queue";

std::string fill_in(RunState &state, LiveScope &scope, LiveStep *step, std::string_view text) {
    if (text.find('$') == std::string_view::npos)
        return std::string(text);
    ScopeParams params(state, scope, step, step != nullptr);
    sel::Heap heap(state.limits.memory);
    sel::Context context(heap, state.world, params, state.limits);
    return sel::interpolate(context, text);
}

bool run_condition(RunState &state, ScopeParams &params, const sel::Program &program) {
    sel::Heap heap(state.limits.memory);
    sel::Context context(heap, state.world, params, state.begin_evaluation());
    const Value value = sel::evaluate(program, context);
    const auto truth = to_type(context, value, ParamType::boolean);
    if (!truth)
        sel::fail(sel::FaultKind::value, "the condition is " + std::string(sel::type_name(value)) + ", not BOOLEAN");
    return truth->truth;
}

ParamMap read_values(sel::Context &context, const ParamMap &defined, const sel::Map &values) {
    ParamMap params;
    for (const auto &[name, param] : defined) {
        const Value *value = values.find(name);
        const auto typed = value == nullptr ? std::nullopt : to_type(context, *value, param.type);
        if (!typed)
            fail_param(name, "the stored value is no " + std::string(name_of(param.type)));
        params.put(name, with_modes(param, make_evaluated(context, param.type, *typed)));
    }
    return params;
}

ParamMap read_output(sel::Context &context, const ParamMap &params, const sel::Map &output) {
    ParamMap read;
    for (const sel::Map::Member &member : output.all()) {
        const std::string_view name = member.key.view();
        const Param *base = params.find(name);
        if (base == nullptr)
            fail_param(name, "the step has no such parameter to put out");
        const auto typed = to_type(context, value_put_out(context, member.value, base->type), base->type);
        if (!typed)
            fail_param(name, "the parameter is " + std::string(name_of(base->type)) + ", and what was put out is " +
                                 std::string(sel::type_name(member.value)));
        read.put(name, make_evaluated(context, base->type, *typed));
    }
    return read;
}

// The value of an evaluated parameter.
Value value_of(sel::Context &context, const Param &param) {
    if (param.type != ParamType::map)
        return param.value;
    sel::Map *map = sel::make_map(context.heap);
    for (const auto &[name, member] : param.members)
        map->put(context.heap, sel::make_string(context.heap, name), value_of(context, member));
    return Value::of(map);
}

const sel::Map *find_given(const sel::Map *by_step, const LiveStep &step) {
    const Value *found = by_step == nullptr ? nullptr : by_step->find(step.node->id);
    return found == nullptr || found->type != sel::Type::map ? nullptr : found->map;
}

// The parameters that somebody gives to the step; null: none.
struct GivenToStep {
    const sel::Map *at_start = nullptr;
    const sel::Map *by_restart = nullptr;
};
GivenToStep given_to_step(RunState &state, const LiveScope &scope, const LiveStep &step) {
    if (scope.around != nullptr)
        return {};
    const RunName &name = state.run.name;
    return {name.step_params.empty() ? nullptr : find_given(&state.step_params(), step),
            name.restart.empty() ? nullptr : find_given(state.restart().step_params, step)};
}

} // namespace

std::string evaluate_step_params(RunState &state, LiveScope &scope, LiveStep &step) {
    ScopeParams params(state, scope, &step, false);
    sel::Heap heap(state.limits.memory);
    sel::Context context(heap, state.world, params, state.begin_evaluation());
    const auto [at_start, by_restart] = given_to_step(state, scope, step);
    if (at_start == nullptr && by_restart == nullptr && step.node->sub_type.empty())
        return write_values(context, evaluate_params(context, step.node->params, step.node->id));
    ParamMap merged =
        step.node->sub_type.empty() ? step.node->params : params_over_template(state, scope, step, context);
    if (at_start != nullptr)
        merge_params(context, merged, read_given(context, merged, *at_start), {.source = ParamSource::launch});
    if (by_restart != nullptr)
        merge_params(context, merged, read_given(context, merged, *by_restart),
                     {.source = ParamSource::restart, .restart = true});
    finish_merge(merged);
    return write_values(context, evaluate_params(context, merged, step.node->id));
}

std::optional<std::string> put_out(RunState &state, LiveScope &scope, LiveStep &step, std::string_view data) {
    if (data.find("\"params\"") == std::string_view::npos)
        return std::nullopt;
    NoParams none;
    sel::Heap heap(state.limits.memory);
    sel::Context context(heap, state.world, none, state.limits);
    const Value result = sel::read_json(context, data);
    const Value *output = result.type == sel::Type::map ? result.map->find("params") : nullptr;
    if (output == nullptr || output->is_null())
        return std::nullopt;
    if (output->type != sel::Type::map)
        sel::fail(sel::FaultKind::value, "\"params\" of the result must be an object of parameters, and is " +
                                             std::string(sel::type_name(*output)));
    if (output->map->size == 0)
        return std::nullopt;
    ParamMap params = step.node->sub_type.empty() ? read_values(context, step.node->params, state.params_of(step))
                                                  : params_to_put_out(state, scope, step, context);
    merge_output(context, params, read_output(context, params, *output->map));
    ParamValues values;
    for (const auto &[name, param] : params)
        values.put(name, value_of(context, param));
    return write_values(context, values);
}

bool is_taken(RunState &state, LiveScope &scope, LiveStep &step, const Edge &edge) {
    if (edge.condition == nullptr)
        return true;
    ScopeParams params(state, scope, &step, true);
    return run_condition(state, params, *edge.condition);
}

bool is_to_go_on(RunState &state, LiveScope &scope, LiveStep &step, const sel::Map &values) {
    ScopeParams params(state, scope, &step, true);
    params.put_first(values);
    return run_condition(state, params, *step.node->condition);
}

std::int64_t timeout_of(RunState &state, LiveScope &scope, LiveStep *step, std::string_view text) {
    const std::string filled = fill_in(state, scope, step, text);
    const auto millis = parse_millis(filled);
    const std::int64_t most = state.run.name.limits.of_steps.timeout;
    if (!millis)
        sel::fail(sel::FaultKind::value, "the timeout " + no_duration(filled));
    if (*millis <= 0 || *millis > most * 1'000)
        sel::fail(sel::FaultKind::value,
                  "the timeout " + quoted(filled) +
                      " cannot be non-positive or more than system limit: " + show_seconds(most));
    return *millis;
}

std::int64_t sleep_of(RunState &state, LiveStep &step) {
    const Value *seconds = state.params_of(step).find(k_sleep);
    if (seconds == nullptr)
        return 0;
    const std::int64_t most = state.run.name.limits.of_steps.timeout; // seconds
    std::optional<std::int64_t> millis;
    if (seconds->type == sel::Type::long_ && seconds->number >= 0 && seconds->number <= most)
        millis = seconds->number * 1'000;
    else if (seconds->type == sel::Type::double_ && seconds->real >= 0 && seconds->real <= static_cast<double>(most))
        millis = static_cast<std::int64_t>(std::ceil(seconds->real * 1'000));
    else if (seconds->type == sel::Type::string) {
        millis = parse_millis(seconds->view());
        if (!millis)
            fail_param(k_sleep, no_duration(seconds->view()));
    }
    if (!millis || *millis > most * 1'000)
        fail_param(k_sleep, "must be a time of at most " + show_seconds(most));
    return *millis;
}

std::string queue_of(RunState &state, LiveStep &step) {
    std::string queue = step.node->type;
    std::transform(queue.begin(), queue.end(), queue.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (step.node->params.find(k_queue) == nullptr && step.node->sub_type.empty())
        return queue;
    const std::string named = text_param(state, step, k_queue);
    return named.empty() ? queue : named;
}

// ---- subworkflows --------------------------------------------------------------------------------------------------

namespace {

// Parameters that a subworkflow has of its own.
constexpr std::string_view k_not_passed[] = {"owner",
                                             "workflow_id",
                                             "workflow_instance_id",
                                             "step_id",
                                             "step_attempt_id",
                                             "step_instance_uuid",
                                             "subworkflow_id",
                                             "subworkflow_version",
                                             "loop_params",
                                             "loop_index",
                                             "condition"};

bool is_passed(std::string_view name) noexcept {
    return std::find(std::begin(k_not_passed), std::end(k_not_passed), name) == std::end(k_not_passed);
}

void put_all(sel::Heap &heap, sel::Map &all, const sel::Map &params) {
    for (const sel::Map::Member &member : params.all()) {
        if (is_passed(member.key.view()))
            all.put(heap, member.key, member.value);
    }
}

// The outermost ones first: inner ones overwrite them.
void put_around(RunState &state, sel::Heap &heap, sel::Map &all, LiveScope &scope) {
    if (scope.around != nullptr) {
        put_around(state, heap, all, *scope.around);
        put_all(heap, all, state.params_of(*scope.loop));
    }
    put_all(heap, all, state.params_of(scope));
}

} // namespace

std::string params_of_child(RunState &state, LiveScope &scope, LiveStep &step) {
    sel::Heap heap(state.limits.memory);
    sel::Map *all = sel::make_map(heap);
    const sel::Map &own = state.params_of(step);
    if (step.node->explicit_params) {
        for (const std::string &name : step.node->written) {
            if (const Value *value = own.find(name); value != nullptr && is_passed(name))
                all->put(heap, sel::make_string(heap, name), *value);
        }
    } else {
        put_around(state, heap, *all, scope);
        put_all(heap, *all, own);
    }
    NoParams none;
    sel::Context context(heap, state.world, none, state.limits);
    return sel::write_json(context, Value::of(all));
}

std::string text_param(RunState &state, LiveStep &step, std::string_view name) {
    const Value *found = state.params_of(step).find(name);
    return found != nullptr && found->type == sel::Type::string ? std::string(found->view()) : std::string{};
}

// ---- retries -------------------------------------------------------------------------------------------------------

namespace {

struct RetryNumbers {
    std::int64_t limit;
    std::int64_t wait; // milliseconds
    std::int64_t exponent;
    std::int64_t longest; // milliseconds
};
constexpr std::int64_t k_second = 1'000;
constexpr RetryNumbers k_default_retries[] = {{2, 60 * k_second, 2, 600 * k_second},
                                              {10, 60 * k_second, 2, 3'600 * k_second},
                                              {0, 60 * k_second, 2, 3'600 * k_second}};

// A text that does not lead to a number within the bounds counts as not given.
template <typename Read>
std::int64_t number_of(RunState &state, LiveScope &scope, LiveStep &step, std::string_view text, Read read,
                       std::int64_t least, std::int64_t most, std::int64_t other) {
    const std::int64_t usual = std::min(other, most);
    if (text.empty())
        return usual;
    try {
        const std::optional<std::int64_t> number = read(fill_in(state, scope, &step, text));
        return number && *number >= least && *number <= most ? *number : usual;
    } catch (const sel::Failure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw;
        return usual;
    }
}

RetryNumbers numbers_of(RunState &state, LiveScope &scope, LiveStep &step, FailureClass why) {
    const RetryRule &rule = step.node->retries.of[static_cast<std::size_t>(why)];
    const RetryNumbers &other = k_default_retries[static_cast<std::size_t>(why)];
    const StepLimits &limits = state.run.name.limits.of_steps;
    const auto count = [&](std::string_view text, std::int64_t least, std::int64_t most, std::int64_t usual) {
        return number_of(state, scope, step, text, parse_whole, least, most, usual);
    };
    const auto wait = [&](std::string_view text, std::int64_t usual) {
        return number_of(state, scope, step, text, parse_millis, k_second, limits.retry_wait * k_second, usual);
    };
    return {count(rule.limit, 0, limits.retries, other.limit), wait(rule.wait, other.wait),
            count(rule.exponent, 1, INT32_MAX, other.exponent), wait(rule.longest, other.longest)};
}

} // namespace

std::int32_t &count_of(Retries &retries, FailureClass why) noexcept {
    return why == FailureClass::user       ? retries.error
           : why == FailureClass::platform ? retries.platform
                                           : retries.timeout;
}

std::optional<std::int64_t> wait_before_retry(RunState &state, LiveScope &scope, LiveStep &step, FailureClass why) {
    if (step.node->kind != StepKind::typed)
        return std::nullopt;
    const std::int32_t before = count_of(step.now.retries, why);
    const RetryNumbers numbers = numbers_of(state, scope, step, why);
    if (before >= numbers.limit)
        return std::nullopt;
    if (step.node->retries.fixed)
        return numbers.wait;
    std::int64_t millis = numbers.wait;
    for (std::int32_t i = 0; i < before && millis < numbers.longest; i++)
        millis *= numbers.exponent;
    return std::min(millis, numbers.longest);
}

} // namespace scylla::model::workflow
