#include "model/workflow/graph.h"

#include <algorithm>

#include "model/graph.h"
#include "model/sel/json.h"
#include "model/workflow/no_params.h"
#include "model/workflow/param_json.h"
#include "model/workflow/param_merge.h"
#include "model/workflow/signals.h"
#include "model/workflow/steps.h"
#include "model/workflow/words.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

constexpr std::int16_t k_priorities[] = {96, 64, 32, 0}; // of k_criticalities
constexpr std::string_view k_true = "true";
constexpr std::string_view k_signs[] = {"=", "<", "<=", ">", ">="};

// A number, or a text, as a text.
std::string text_or_number(const sel::Map &object, std::string_view name) {
    const Value *found = object.find(name);
    if (found == nullptr)
        return {};
    if (found->type == sel::Type::long_)
        return std::to_string(found->number);
    return found->type == sel::Type::string ? std::string(found->view()) : std::string{};
}

RetryPolicy read_retries(const sel::Map &step) {
    RetryPolicy policy;
    const sel::Map *json = object_of(step, "retry_policy");
    if (json == nullptr)
        return policy;
    const sel::Map *backoff = object_of(*json, "backoff");
    constexpr std::string_view k_fixed[] = {"FIXED_BACKOFF"};
    policy.fixed = backoff != nullptr && find_word(k_fixed, text_or_number(*backoff, "type")).has_value();
    constexpr std::string_view k_classes[] = {"error", "platform", "timeout"};
    for (std::size_t i = 0; i < policy.of.size(); i++) {
        const std::string name(k_classes[i]);
        RetryRule &rule = policy.of[i];
        rule.limit = text_or_number(*json, name + "_retry_limit");
        if (backoff == nullptr)
            continue;
        rule.wait = text_or_number(*backoff, name + "_retry_backoff_in_secs");
        rule.exponent = text_or_number(*backoff, name + "_retry_exponent");
        rule.longest = text_or_number(*backoff, name + "_retry_limit_in_secs");
    }
    return policy;
}

ParamMap merge_step(sel::Context &context, StepKind kind, const ParamMap &written) {
    const ParamMap &of_steps = default_step_params();
    const ParamMap of_kind = default_params_of_kind(kind);
    const Layer layers[] = {{&of_steps, {ParamSource::system_default}},
                            {&of_kind, {ParamSource::system_default}},
                            {&written, {ParamSource::definition}}};
    return merge_layers(context, layers);
}

class GraphReader {
public:
    explicit GraphReader(const Reader &reader) noexcept : reader_{reader} {}

    // tags: of the workflow, and of the loops around the list.
    void read_list(const Object &of, StepList &list, const std::vector<std::string> &tags) {
        const Where where = of.where.member("steps");
        const sel::Array *steps = reader_.array(of, "steps");
        if (steps == nullptr || steps->size == 0)
            return reader_.problem(where, "must have at least one step");
        std::vector<const sel::Map *> jsons;
        list.steps.reserve(steps->size);
        for (const Value &json : steps->values()) {
            const Where at = where.element(list.steps.size());
            const auto kind = json.type == sel::Type::map && json.map->size == 1
                                  ? find_kind(json.map->members[0].key.view())
                                  : std::nullopt;
            if (!kind || json.map->members[0].value.type != sel::Type::map)
                return reader_.problem(at, "is no step");
            jsons.push_back(json.map->members[0].value.map);
            StepNode &step = list.steps.emplace_back();
            step.tags = tags;
            read_step({*jsons.back(), at}, *kind, step);
        }
        for (std::size_t place = 0; place < list.steps.size(); place++)
            list.places.emplace(list.steps[place].id, place);
        for (std::size_t place = 0; place < list.steps.size(); place++)
            read_edges(*jsons[place], list, place);
        put_in_order(list, where);
    }

private:
    void read_step(const Object &json, StepKind kind, StepNode &step) {
        step.id = std::string(reader_.require_text(json, "id").value_or(""));
        step.kind = kind;
        step.type = std::string(reader_.text(json, "type").value_or(""));
        step.failure_mode = static_cast<FailureMode>(reader_.choice(json, "failure_mode", k_failure_modes).value_or(0));
        step.timeout = text_or_number(json.map, "timeout");
        for (std::string &tag : reader_.tags(json))
            if (std::find(step.tags.begin(), step.tags.end(), tag) == step.tags.end())
                step.tags.push_back(std::move(tag));
        ParamMap written = read_user_params(reader_, json, "params");
        for (const auto &[name, param] : written)
            step.written.push_back(name);
        step.params = merge_step(reader_.context(), kind, written);
        if (kind == StepKind::typed)
            read_template(json, step, std::move(written));
        read_dependencies(json, step);
        read_outputs(json, step);
        if (kind == StepKind::typed) {
            step.sql = std::string(reader_.text(json, "sql").value_or(""));
            step.retries = read_retries(json.map);
        }
        if (kind == StepKind::subworkflow) {
            step.sync = reader_.flag(json, "sync").value_or(true);
            step.explicit_params = reader_.flag(json, "explicit_params").value_or(false);
        }
        if (step.is_loop())
            read_loop(json, step);
    }

    void read_template(const Object &json, StepNode &step, ParamMap written) const {
        step.sub_type = std::string(reader_.text(json, "sub_type").value_or(""));
        if (step.sub_type.empty())
            return;
        step.sub_type_version = std::string(reader_.text(json, "sub_type_version").value_or(""));
        step.own = std::move(written);
    }

    void read_dependencies(const Object &json, StepNode &step) {
        const sel::Array *dependencies = reader_.array(json, "signal_dependencies");
        const Where where = json.where.member("signal_dependencies");
        for (std::uint32_t i = 0; dependencies != nullptr && i < dependencies->size; i++) {
            const Where at = where.element(i);
            if (const sel::Map *map = reader_.as_object(dependencies->items[i], at))
                step.dependencies.push_back(read_dependency({*map, at}));
        }
    }
    SignalDependency read_dependency(const Object &json) {
        SignalDependency dependency{.name = std::string(reader_.require_text(json, "name").value_or(""))};
        const sel::Map *matches = reader_.object(json, "match_params");
        const Where where = json.where.member("match_params");
        if (matches == nullptr)
            return dependency;
        for (const sel::Map::Member &member : matches->all()) {
            const Where at = where.member(member.key.view());
            const sel::Map *match = reader_.as_object(member.value, at);
            const sel::Value *param = match == nullptr ? nullptr : match->find("param");
            auto read = param == nullptr
                            ? std::nullopt
                            : read_param(reader_.context(), *param, at.member("param"), reader_.problems());
            if (!read)
                continue;
            const auto sign = reader_.choice({*match, at}, "operator", k_signs).value_or(0);
            dependency.match.put(std::string(member.key.view()), std::move(*read));
            dependency.signs.push_back(k_signs[sign]);
        }
        return dependency;
    }

    void read_outputs(const Object &json, StepNode &step) {
        const sel::Array *outputs = reader_.array(json, "signal_outputs");
        const Where where = json.where.member("signal_outputs");
        for (std::uint32_t i = 0; outputs != nullptr && i < outputs->size; i++) {
            const Where at = where.element(i);
            const sel::Map *map = reader_.as_object(outputs->items[i], at);
            if (map == nullptr)
                continue;
            const Object output{*map, at};
            step.outputs.push_back({.name = std::string(reader_.require_text(output, "name").value_or("")),
                                    .params = read_user_params(reader_, output, "params"),
                                    .payload = read_user_params(reader_, output, "payload")});
        }
    }

    void read_loop(const Object &json, StepNode &step) {
        if (step.kind == StepKind::foreach) {
            step.concurrency = reader_.whole(json, "concurrency", {1, INT32_MAX}).value_or(0);
            step.strict = reader_.flag(json, "strict_ordering").value_or(false);
            const sel::Array *order = reader_.array(json, "loop_order");
            for (std::uint32_t i = 0; order != nullptr && i < order->size; i++)
                if (order->items[i].type == sel::Type::string)
                    step.loop_order.emplace_back(order->items[i].view());
        } else if (const auto condition = reader_.condition(json, "condition")) {
            step.condition = sel::Program::parse(*condition, reader_.context().limits);
        }
        step.steps = std::make_unique<StepList>();
        read_list(json, *step.steps, step.tags);
    }

    void read_edges(const sel::Map &json, StepList &list, std::size_t place) {
        const sel::Map *transition = object_of(json, "transition");
        const sel::Map *successors = transition == nullptr ? nullptr : object_of(*transition, "successors");
        if (successors == nullptr)
            return;
        for (const sel::Map::Member &member : successors->all()) {
            const auto to = list.places.find(member.key.view());
            const bool is_truth = member.value.type == sel::Type::boolean;
            if (to == list.places.end() || (!is_truth && member.value.type != sel::Type::string))
                continue;
            const std::string_view text = is_truth ? (member.value.truth ? k_true : "false") : member.value.view();
            std::unique_ptr<sel::Program> condition;
            if (text != k_true)
                condition = sel::Program::parse(text, reader_.context().limits);
            list.steps[place].successors.push_back({to->second, std::move(condition)});
            list.steps[to->second].predecessors.push_back(place);
        }
    }

    // Computes ranks, and for each step the steps before it.
    void put_in_order(StepList &list, const Where &where) {
        std::vector<std::size_t> first{0};
        std::vector<std::size_t> target;
        for (const StepNode &step : list.steps) {
            target.insert(target.end(), step.predecessors.begin(), step.predecessors.end());
            first.push_back(target.size());
        }
        std::vector<CycleWork> work(list.steps.size());
        std::vector<std::size_t> cycle(list.steps.size());
        std::size_t rank = 0;
        const auto found = walk_graph({first, target}, work, cycle, [&](std::size_t place) {
            StepNode &step = list.steps[place];
            step.rank = rank++;
            step.after.assign(list.steps.size(), false);
            for (const std::size_t before : step.predecessors) {
                const std::vector<bool> &further = list.steps[before].after;
                step.after[before] = true;
                for (std::size_t i = 0; i < further.size(); i++)
                    step.after[i] = step.after[i] || further[i];
            }
        });
        if (!found.empty())
            reader_.problem(where, "steps follow each other in a circle");
    }

    const Reader &reader_;
};

void collect_tags(const StepList &list, std::vector<std::string_view> &tags) {
    for (const StepNode &step : list.steps) {
        if (step.steps != nullptr)
            collect_tags(*step.steps, tags);
        if (step.kind != StepKind::typed)
            continue;
        for (const std::string &tag : step.tags)
            if (std::find(tags.begin(), tags.end(), tag) == tags.end())
                tags.push_back(tag);
    }
}

} // namespace

std::span<const std::string_view> tags_of(const Definition &definition) noexcept { return definition.tags; }
std::int64_t instance_step_concurrency_of(const Definition &definition) noexcept {
    return definition.instance_step_concurrency;
}

namespace {

void read_into(Definition &definition, const Reader &reader, const Object &workflow) {
    definition.id = std::string(reader.require_text(workflow, "id").value_or(""));
    definition.timeout = text_or_number(workflow.map, "timeout");
    definition.zone = std::string(first_time_zone(workflow.map));
    definition.priority = k_priorities[reader.choice(workflow, "criticality", k_criticalities).value_or(3)];
    definition.instance_step_concurrency =
        reader.whole(workflow, "instance_step_concurrency", {1, INT32_MAX}).value_or(0);
    definition.params = read_user_params(reader, workflow, "params");
    GraphReader(reader).read_list(workflow, definition.steps, reader.tags(workflow));
    collect_tags(definition.steps, definition.tags);
}

} // namespace

std::unique_ptr<Definition> read_workflow(const Reader &reader, const Object &workflow) {
    auto definition = std::make_unique<Definition>(reader.context().limits.memory);
    read_into(*definition, reader, workflow);
    return definition;
}

std::unique_ptr<Definition> read_definition(std::string_view json, sel::World &world, const sel::Limits &limits) {
    auto definition = std::make_unique<Definition>(limits.memory);
    NoParams none;
    sel::Context context(definition->heap, world, none, limits);
    // Strings of the value refer to the text of the JSON.
    const Value value = sel::read_json(context, sel::make_string(definition->heap, json).view());
    Problems problems;
    const Reader reader(context, problems, k_limits_of_stored);
    const Where root;
    if (const sel::Map *map = reader.as_object(value, root))
        read_into(*definition, reader, {*map, root});
    if (!problems.found().empty())
        fail_param(problems.found()[0].where, problems.found()[0].what);
    return definition;
}

} // namespace scylla::model::workflow
