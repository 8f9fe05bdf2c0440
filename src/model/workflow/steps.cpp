#include "model/workflow/steps.h"

#include <algorithm>
#include <unordered_set>

#include "model/graph.h"
#include "model/workflow/names.h"
#include "model/workflow/param_defaults.h"
#include "model/workflow/param_json.h"
#include "model/workflow/param_merge.h"
#include "model/workflow/signals.h"
#include "model/workflow/templates.h"
#include "model/workflow/words.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

constexpr std::string_view k_kinds[] = {"step", "subworkflow", "foreach", "while", "template"};
constexpr std::string_view k_backoffs[] = {"EXPONENTIAL_BACKOFF", "FIXED_BACKOFF"};

bool is_sql(std::string_view type) noexcept {
    constexpr std::string_view k_sql[] = {"SQL"};
    return find_word(k_sql, type).has_value();
}

bool is_array(ParamType type) noexcept { return type >= ParamType::string_array && type <= ParamType::boolean_array; }

void refuse_of_users(const Reader &reader, const ParamMap &params, const Where &where) {
    for (const auto &[name, param] : params) {
        const Where at = where.member(name);
        if (param.system_mode)
            reader.problem(at, "internal_mode is the system's to set");
        if (param.source)
            reader.problem(at, "source is the system's to set");
        refuse_of_users(reader, param.members, at.member("value"));
    }
}

// ---- retries -------------------------------------------------------------------------------------------------------

void check_backoff(const Reader &reader, const Object &backoff) {
    const bool fixed = reader.choice(backoff, "type", k_backoffs) == 1;
    const Bounds wait{1, reader.limits().of_steps.retry_wait};
    for (const std::string_view name :
         {"error_retry_backoff_in_secs", "platform_retry_backoff_in_secs", "timeout_retry_backoff_in_secs"})
        reader.duration(backoff, name, wait);
    if (fixed)
        return reader.refuse_others(backoff, {"type", "error_retry_backoff_in_secs", "platform_retry_backoff_in_secs",
                                              "timeout_retry_backoff_in_secs"});
    for (const std::string_view name :
         {"error_retry_limit_in_secs", "platform_retry_limit_in_secs", "timeout_retry_limit_in_secs"})
        reader.duration(backoff, name, wait);
    for (const std::string_view name : {"error_retry_exponent", "platform_retry_exponent", "timeout_retry_exponent"})
        reader.parsable(backoff, name, {1, INT32_MAX});
    reader.refuse_others(
        backoff,
        {"type", "error_retry_backoff_in_secs", "platform_retry_backoff_in_secs", "timeout_retry_backoff_in_secs"},
        {"error_retry_limit_in_secs", "platform_retry_limit_in_secs", "timeout_retry_limit_in_secs",
         "error_retry_exponent", "platform_retry_exponent", "timeout_retry_exponent"});
}

void check_retry_policy(const Reader &reader, const Object &step) {
    const sel::Map *policy = reader.object(step, "retry_policy");
    if (policy == nullptr)
        return;
    const Where where = step.where.member("retry_policy");
    const Object object{*policy, where};
    reader.refuse_others(object, {"error_retry_limit", "platform_retry_limit", "timeout_retry_limit", "backoff"});
    for (const std::string_view name : {"error_retry_limit", "platform_retry_limit", "timeout_retry_limit"})
        reader.parsable(object, name, {0, reader.limits().of_steps.retries});
    if (const sel::Map *backoff = reader.object(object, "backoff"))
        check_backoff(reader, {*backoff, where.member("backoff")});
}

// ---- transitions ---------------------------------------------------------------------------------------------------

// The steps of one list, whose transitions name each other.
struct Sibling {
    std::string_view id;
    const sel::Map &map;
    Where where;
};

class Transitions {
public:
    Transitions(const Reader &reader, const std::vector<Sibling> &steps, const Where &where)
        : reader_{reader}, steps_{steps}, where_{where}, predecessors_(steps.size()) {
        for (std::size_t place = 0; place < steps.size(); place++)
            places_.emplace(steps[place].id, place);
    }

    void check() {
        std::vector<std::size_t> first{0};
        std::vector<std::size_t> target;
        for (std::size_t place = 0; place < steps_.size(); place++) {
            read_successors(place, target);
            first.push_back(target.size());
        }
        for (std::size_t place = 0; place < steps_.size(); place++)
            check_predecessors(place);
        std::vector<CycleWork> work(steps_.size());
        std::vector<std::size_t> cycle(steps_.size());
        const auto found = find_cycle({first, target}, work, cycle);
        if (found.empty())
            return;
        std::string names;
        for (const std::size_t place : found)
            names += quoted(steps_[place].id) + ", ";
        reader_.problem(where_, "steps follow each other in a circle: " + names + quoted(steps_[found[0]].id));
    }

private:
    void read_successors(std::size_t place, std::vector<std::size_t> &target) {
        const Sibling &step = steps_[place];
        const sel::Map *transition = reader_.object({step.map, step.where}, "transition");
        if (transition == nullptr)
            return;
        const Where at = step.where.member("transition");
        reader_.refuse_others({*transition, at}, {"predecessors", "successors"});
        const sel::Map *successors = reader_.object({*transition, at}, "successors");
        if (successors == nullptr)
            return;
        const Where where = at.member("successors");
        for (const sel::Map::Member &member : successors->all()) {
            reader_.condition({*successors, where}, member.key.view());
            const auto found = places_.find(member.key.view());
            if (found == places_.end()) {
                reader_.problem(where, "there is no step " + quoted(member.key.view()) + " beside " + quoted(step.id));
                continue;
            }
            target.push_back(found->second);
            predecessors_[found->second].insert(step.id);
        }
    }

    // If predecessors are written, they must be complete.
    void check_predecessors(std::size_t place) {
        const Sibling &step = steps_[place];
        const Value *transition = step.map.find("transition");
        if (transition == nullptr || transition->type != sel::Type::map)
            return;
        const Where at = step.where.member("transition");
        const sel::Array *written = reader_.array({*transition->map, at}, "predecessors");
        if (written == nullptr || written->size == 0)
            return;
        const Where where = at.member("predecessors");
        std::unordered_set<std::string_view> seen;
        for (std::uint32_t i = 0; i < written->size; i++) {
            const Value &id = written->items[i];
            if (id.type != sel::Type::string)
                reader_.problem(where.element(i), "must be a string");
            else if (!seen.insert(id.view()).second)
                reader_.problem(where.element(i), quoted(id.view()) + " is there twice");
            else if (!predecessors_[place].contains(id.view()))
                reader_.problem(where.element(i), quoted(id.view()) + " is no predecessor of " + quoted(step.id));
        }
        for (const std::string_view id : predecessors_[place]) {
            if (!seen.contains(id))
                reader_.problem(where, quoted(id) + " is missing");
        }
    }

    const Reader &reader_;
    const std::vector<Sibling> &steps_;
    const Where &where_;
    std::unordered_map<std::string_view, std::size_t> places_{};
    std::vector<std::unordered_set<std::string_view>> predecessors_;
};

// ---- steps ---------------------------------------------------------------------------------------------------------

class StepChecker {
public:
    StepChecker(const Reader &reader, TemplatesAtHand &templates) noexcept
        : reader_{reader}, limits_{reader.limits()}, templates_{templates} {}

    void check_list(const Object &of, std::int64_t depth) {
        const Where where = of.where.member("steps");
        const sel::Array *steps = reader_.array(of, "steps");
        if (steps == nullptr || steps->size == 0)
            return reader_.problem(where, "must have at least one step");
        count_ += steps->size;
        std::vector<Sibling> siblings;
        siblings.reserve(steps->size);
        std::vector<Where> places; // referenced by others
        places.reserve(steps->size);
        for (std::uint32_t i = 0; i < steps->size; i++)
            check_element(steps->items[i], places.emplace_back(where.element(i)), siblings, depth);
        Transitions(reader_, siblings, where).check();
    }

    std::int64_t count() const noexcept { return count_; }

private:
    void check_element(const Value &json, const Where &where, std::vector<Sibling> &siblings, std::int64_t depth) {
        const sel::Map *element = reader_.as_object(json, where);
        if (element == nullptr)
            return;
        const auto kind = element->size == 1 ? find_kind(element->members[0].key.view()) : std::nullopt;
        if (!kind)
            return reader_.problem(where, "must have one member: step, subworkflow, foreach, while or template");
        const Where at = where.member(element->members[0].key.view());
        const sel::Map *step = reader_.as_object(element->members[0].value, at);
        if (step == nullptr)
            return;
        const Object object{*step, at};
        const std::string_view id = require_id(reader_, object, Named::step);
        if (!id.empty() && !ids_.emplace(id).second)
            reader_.problem(at.member("id"), "there is another step " + quoted(id));
        if (!id.empty())
            siblings.push_back({id, *step, at});
        check_common(object);
        check_kind(object, *kind, depth);
    }

    void check_common(const Object &step) {
        check_words(reader_, step);
        reader_.tags(step);
        reader_.duration(step, "timeout", {1, limits_.of_steps.timeout});
        reader_.choice(step, "failure_mode", k_failure_modes);
        check_signal_dependencies(reader_, step);
        check_signal_outputs(reader_, step);
    }

    void check_kind(const Object &step, StepKind kind, std::int64_t depth) {
        const ParamMap params = read_user_params(reader_, step, "params");
        merge(step, kind, params);
        switch (kind) {
        case StepKind::typed:
            refuse_others(step, {"type", "sub_type", "sub_type_version", "retry_policy", "sql"});
            check_statement(step, reader_.require_text(step, "type").value_or(""));
            check_template_of(step, params);
            return check_retry_policy(reader_, step);
        case StepKind::subworkflow:
            refuse_others(step, {"sync", "explicit_params"});
            reader_.flag(step, "sync");
            reader_.flag(step, "explicit_params");
            return;
        case StepKind::foreach:
            refuse_others(step, {"concurrency", "strict_ordering", "loop_order", "steps"});
            reader_.whole(step, "concurrency", {1, limits_.concurrency});
            reader_.flag(step, "strict_ordering");
            check_loop_order(step, params);
            return check_loop(step, kind, params, depth);
        case StepKind::while_:
            refuse_others(step, {"condition", "steps"});
            if (!reader_.condition(step, "condition") && !reader_.has(step, "condition"))
                reader_.problem(step.where, R"(has no "condition")");
            return check_loop(step, kind, params, depth);
        case StepKind::template_:
            return;
        }
    }

    // The statement is not a parameter: a run cannot change it, and references in it are not replaced.
    void check_statement(const Object &step, std::string_view type) const {
        if (is_sql(type))
            reader_.require_text(step, "sql");
        else if (reader_.has(step, "sql"))
            reader_.problem(step.where.member("sql"), "only steps of type Sql have it");
    }

    void check_template_of(const Object &step, const ParamMap &params) {
        const std::string job_type(reader_.text(step, "sub_type").value_or(""));
        const std::string version(reader_.text(step, "sub_type_version").value_or(""));
        if (job_type.empty())
            return;
        const TemplateUse use{job_type, version.empty() ? templates_.version : version};
        if (templates_.templates != nullptr)
            return check_fit(step, params, use, !version.empty());
        const auto is_same = [&](const TemplateUse &other) {
            return other.job_type == use.job_type && other.version == use.version;
        };
        if (std::none_of(templates_.used.begin(), templates_.used.end(), is_same))
            templates_.used.push_back(use);
    }

    // is_named: the step names the version. If not, its run can name another one, which is not known here.
    void check_fit(const Object &step, const ParamMap &params, const TemplateUse &use, bool is_named) const {
        const TemplateName name{use.job_type, use.version};
        const Where where = step.where.member(is_named ? "sub_type_version" : "sub_type");
        try {
            const auto found = join_template(reader_, *templates_.templates, name);
            if (!found)
                return check_known(where, name, is_named);
            const std::string fault = type_fault(*found, name, text_of(step.map, "type"));
            if (!fault.empty())
                return reader_.problem(where, fault);
            check_params(step, *found, params);
        } catch (const ParamFailure &failure) {
            if (failure.fault.kind == sel::FaultKind::stopped)
                throw;
            reader_.problem(where, show_template(name) + ": " + failure.name + ": " + show_fault(failure.fault));
        }
    }

    void check_known(const Where &where, const TemplateName &name, bool is_named) const {
        const auto &known = templates_.known->array->values();
        const bool exists = std::any_of(known.begin(), known.end(), [&](const Value &job_type) {
            return job_type.type == sel::Type::string && job_type.view() == name.job_type;
        });
        if (exists && is_named) // a job type without any template adds nothing to its steps
            reader_.problem(where, "there is no " + show_template(name));
    }

    void check_params(const Object &step, const JobTemplate &found, const ParamMap &params) const {
        try {
            (void)merge_over_template(reader_.context(), found.params, params);
        } catch (const ParamFailure &failure) {
            reader_.problem(step.where.member("params").member(failure.name), show_fault(failure.fault));
        }
    }

    void refuse_others(const Object &step, std::initializer_list<std::string_view> of_kind) const {
        reader_.refuse_others(step, of_kind,
                              {"id", "name", "description", "tags", "timeout", "failure_mode", "transition", "params",
                               "signal_dependencies", "signal_outputs"});
    }

    // Merges as a run does: over the parameters that every step has.
    void merge(const Object &step, StepKind kind, const ParamMap &params) const {
        const ParamMap &of_steps = default_step_params();
        const ParamMap of_kind = default_params_of_kind(kind);
        const Layer layers[] = {{&of_steps, {ParamSource::system_default}},
                                {&of_kind, {ParamSource::system_default}},
                                {&params, {ParamSource::definition}}};
        try {
            merge_layers(reader_.context(), layers);
        } catch (const ParamFailure &failure) {
            reader_.problem(step.where.member("params").member(failure.name), show_fault(failure.fault));
        }
    }

    // The names of its loop parameters, each once. An object of jsonb does not keep the order of its members.
    void check_loop_order(const Object &step, const ParamMap &params) const {
        const sel::Array *order = reader_.array(step, "loop_order");
        const Param *loop = params.find("loop_params");
        if (order == nullptr || loop == nullptr || loop->type != ParamType::map)
            return;
        std::unordered_set<std::string_view> missing;
        for (const auto &[name, param] : loop->members)
            missing.insert(name);
        bool is_sound = true;
        for (const Value &name : order->values())
            is_sound = is_sound && name.type == sel::Type::string && missing.erase(name.view()) == 1;
        if (!is_sound || !missing.empty())
            reader_.problem(step.where.member("loop_order"), "must have the name of each of the loop_params once");
    }

    // The names of its loop parameters are taken while the steps in it are checked.
    void check_loop(const Object &step, StepKind kind, const ParamMap &params, std::int64_t depth) {
        if (depth == limits_.nesting)
            return reader_.problem(step.where,
                                   "loops are nested more than " + std::to_string(limits_.nesting) + " deep");
        const Where of_params = step.where.member("params");
        const Where of_loop = of_params.member("loop_params");
        const Where where = of_loop.member("value");
        const Param *loop = params.find("loop_params");
        std::vector<std::string> own;
        if (loop != nullptr && loop->type == ParamType::map) {
            for (const auto &[name, param] : loop->members) {
                const Where at = where.member(name);
                check_id(reader_, name, at, Named::param);
                if (kind == StepKind::foreach && !is_array(param.type))
                    reader_.problem(at, "must be an array, of which each run has one element");
                if (loop_names_.insert(name).second)
                    own.push_back(name);
                else
                    reader_.problem(at, "a loop around this one has a parameter of that name");
            }
        }
        check_list(step, depth + 1);
        for (const std::string &name : own)
            loop_names_.erase(name);
    }

    const Reader &reader_;
    const DefinitionLimits &limits_;
    TemplatesAtHand &templates_;
    std::int64_t count_ = 0;
    std::unordered_set<std::string_view> ids_{};
    std::unordered_set<std::string> loop_names_{};
};

} // namespace

std::optional<StepKind> find_kind(std::string_view name) noexcept {
    const auto *found = std::find(std::begin(k_kinds), std::end(k_kinds), name);
    return found == std::end(k_kinds) ? std::nullopt : std::optional(static_cast<StepKind>(found - k_kinds));
}

std::string_view name_of(StepKind kind) noexcept { return k_kinds[static_cast<std::size_t>(kind)]; }

ParamMap read_user_params(const Reader &reader, const Object &of, std::string_view name) {
    const Value *json = of.map.find(name);
    if (json == nullptr || json->is_null())
        return {};
    const Where where = of.where.member(name);
    ParamMap params = read_params(reader.context(), *json, where, reader.problems());
    for (const auto &[param, value] : params)
        check_id(reader, param, where.member(param), Named::param);
    refuse_of_users(reader, params, where);
    return params;
}

void check_steps(const Reader &reader, const Object &workflow, TemplatesAtHand &templates) {
    const DefinitionLimits &limits = reader.limits();
    StepChecker checker(reader, templates);
    checker.check_list(workflow, 0);
    if (checker.count() > limits.steps)
        reader.problem(workflow.where.member("steps"), too_many(checker.count(), "steps", limits.steps));
}

} // namespace scylla::model::workflow
