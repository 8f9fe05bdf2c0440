#include "model/workflow/definition.h"

#include <memory>

#include "model/sel/json.h"
#include "model/workflow/known_names.h"
#include "model/workflow/names.h"
#include "model/workflow/no_params.h"
#include "model/workflow/param_defaults.h"
#include "model/workflow/param_evaluate.h"
#include "model/workflow/param_json.h"
#include "model/workflow/param_merge.h"
#include "model/workflow/param_values.h"
#include "model/workflow/reader.h"
#include "model/workflow/run_params.h"
#include "model/workflow/run_strategy.h"
#include "model/workflow/signals.h"
#include "model/workflow/steps.h"
#include "model/workflow/templates.h"
#include "model/workflow/words.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

// ---- properties ----------------------------------------------------------------------------------------------------

bool is_number(std::string_view text) noexcept {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// How a run must end to block those after it: FAILED always does.
void check_blocked_by(const Reader &reader, const Object &strategy, std::optional<std::size_t> rule) {
    const sel::Array *statuses = reader.array(strategy, "blocked_by");
    if (statuses == nullptr)
        return;
    const Where where = strategy.where.member("blocked_by");
    if (rule != static_cast<std::size_t>(Rule::strict_sequential))
        reader.problem(where, "only STRICT_SEQUENTIAL has this");
    for (std::uint32_t i = 0; i < statuses->size; i++) {
        const Value &status = statuses->items[i];
        if (status.type != sel::Type::string || !find_word(k_blocking, status.view()))
            reader.problem(where.element(i), "must be FAILED, TIMED_OUT or STOPPED");
    }
}

// A rule, a maximum number of live runs, or an object with both.
void check_run_strategy(const Reader &reader, const Object &properties) {
    const Value *json = properties.map.find("run_strategy");
    if (json == nullptr || json->is_null())
        return;
    const Where where = properties.where.member("run_strategy");
    const Bounds bounds{1, reader.limits().workflow_concurrency};
    if (json->type == sel::Type::long_) {
        reader.whole(properties, "run_strategy", bounds);
    } else if (json->type == sel::Type::string && is_number(json->view())) {
        reader.parsable(properties, "run_strategy", bounds);
    } else if (json->type == sel::Type::string) {
        reader.choice(properties, "run_strategy", k_rules);
    } else if (json->type == sel::Type::map) {
        const Object strategy{*json->map, where};
        reader.refuse_others(strategy, {"rule", "workflow_concurrency", "blocked_by"});
        const bool named = reader.require_text(strategy, "rule").has_value();
        const auto rule = reader.choice(strategy, "rule", k_rules);
        const auto concurrency = reader.whole(strategy, "workflow_concurrency", bounds);
        if (named && rule.value_or(0) != 0 && concurrency.value_or(1) != 1)
            reader.problem(where.member("workflow_concurrency"), "must be 1: only PARALLEL has more");
        check_blocked_by(reader, strategy, rule);
    } else {
        reader.problem(where, "must be a rule, a number or an object");
    }
}

void check_alerting(const Reader &reader, const Object &properties) {
    const sel::Map *alerting = reader.object(properties, "alerting");
    if (alerting == nullptr)
        return;
    const Where where = properties.where.member("alerting");
    const sel::Map *tct = reader.object({*alerting, where}, "tct");
    if (tct == nullptr)
        return;
    int times = 0;
    for (const std::string_view name : {"completed_by_hour", "duration_minutes", "completed_by_ts"}) {
        const Value *time = tct->find(name);
        times += time != nullptr && !time->is_null() ? 1 : 0;
    }
    if (times != 1)
        reader.problem(where.member("tct"), "must have one of completed_by_hour, duration_minutes and completed_by_ts");
}

// more: other members that are allowed.
void check_properties(const Reader &reader, const Object &properties, std::initializer_list<std::string_view> more) {
    reader.refuse_others(properties,
                         {"owner", "access_control", "run_strategy", "step_concurrency", "alerting", "tags",
                          "alerting_disabled", "signal_trigger_disabled", "time_trigger_disabled", "description",
                          "events"},
                         more);
    const Value *owner = properties.map.find("owner");
    if (owner != nullptr && owner->type == sel::Type::map)
        reader.require_text({*owner->map, properties.where.member("owner")}, "name");
    else
        reader.text(properties, "owner");
    check_run_strategy(reader, properties);
    reader.whole(properties, "step_concurrency", {1, reader.limits().step_concurrency});
    check_alerting(reader, properties);
    for (const std::string_view name :
         {"alerting_disabled", "signal_trigger_disabled", "time_trigger_disabled", "events"})
        reader.flag(properties, name);
    reader.text(properties, "description");
    reader.tags(properties);
}

// A change cannot set and reset the same property.
void check_once(const Reader &reader, const Object &change, std::string_view set, std::string_view other) {
    if (reader.has(change, set) && reader.has(change, other))
        reader.problem(change.where.member(other), "cannot be there together with " + quoted(set));
}

void check_reset(const Reader &reader, const Object &change, std::string_view set, std::string_view reset) {
    if (reader.flag(change, reset).value_or(false))
        check_once(reader, change, set, reset);
}

void check_tag_object(const Reader &reader, const Object &tag) {
    reader.require_text(tag, "name");
    reader.refuse_limit(tag);
}

void check_tag(const Reader &reader, const Object &change) {
    const Value *tag = change.map.find("add_tag");
    if (tag == nullptr || tag->is_null() || tag->type == sel::Type::string)
        return;
    const Where where = change.where.member("add_tag");
    if (tag->type == sel::Type::map)
        check_tag_object(reader, {*tag->map, where});
    else
        reader.problem(where, R"(must be a name or an object with a "name")");
}

void check_changes(const Reader &reader, const Value &json) {
    const Where root;
    const sel::Map *map = reader.as_object(json, root);
    if (map == nullptr)
        return;
    const Object change{*map, root};
    check_properties(
        reader, change,
        {"reset_run_strategy_rule", "reset_workflow_concurrency", "reset_step_concurrency", "add_tag", "delete_tag"});
    check_reset(reader, change, "run_strategy", "reset_run_strategy_rule");
    check_reset(reader, change, "run_strategy", "reset_workflow_concurrency");
    check_reset(reader, change, "step_concurrency", "reset_step_concurrency");
    check_tag(reader, change);
    reader.text(change, "delete_tag");
    check_once(reader, change, "tags", "add_tag");
    check_once(reader, change, "tags", "delete_tag");
    check_once(reader, change, "add_tag", "delete_tag");
}

// ---- the dry run ---------------------------------------------------------------------------------------------------

// An expression reads a value that only a run has: it cannot be tried.
struct OnlyInARun {};

// The facts that are known without a run.
class DryRun final : public sel::Params {
public:
    DryRun(const sel::Map &workflow, std::string_view owner, std::string_view zone)
        : workflow_{workflow}, owner_{owner}, zone_{zone} {}

    std::optional<Value> find(std::string_view name, sel::Context & /*context*/) override {
        if (name.find("__") != std::string_view::npos || // a parameter of a signal
            is_given_by_trigger(workflow_, name))
            throw OnlyInARun{};
        return std::nullopt;
    }
    std::optional<Value> find_from(std::string_view function, sel::Args args, sel::Context &context) override {
        const bool instance = function == "getFromInstance" && args.size() == 1 && args[0].type == sel::Type::string;
        const std::string_view field = instance ? args[0].view() : std::string_view{};
        if (field == "workflow_id")
            return sel::make_string(context.heap, text_of(workflow_, "id"));
        if (field == "owner")
            return sel::make_string(context.heap, owner_);
        if (field == "FIRST_TIME_TRIGGER_TIMEZONE")
            return sel::make_string(context.heap, zone_);
        if (field == "INITIATOR_TIMEZONE")
            return sel::make_string(context.heap, {});
        if (field == "INITIATOR_TYPE")
            return sel::make_string(context.heap, "VALIDATION");
        throw OnlyInARun{};
    }

private:
    const sel::Map &workflow_;
    std::string_view owner_;
    std::string_view zone_;
};

std::string_view text_in(const sel::Map *object, std::string_view name) noexcept {
    const Value *found = object == nullptr ? nullptr : object->find(name);
    return found != nullptr && found->type == sel::Type::string ? found->view() : std::string_view{};
}

std::string_view owner_in(const sel::Map *properties) noexcept {
    const Value *owner = properties == nullptr ? nullptr : properties->find("owner");
    return owner != nullptr && owner->type == sel::Type::map ? text_in(owner->map, "name")
                                                             : text_in(properties, "owner");
}

// The dates that a backfill gives to its runs.
void put_dates(sel::Context &context, ParamMap &params) {
    for (const std::string_view name : {"FROM_DATE", "TO_DATE"}) {
        if (params.find(name) == nullptr)
            params.put(name, make_evaluated(context, ParamType::string, sel::make_string(context.heap, "20210101")));
    }
}

void try_params(const Reader &reader, const sel::Map &workflow, const sel::Map *properties, const ParamMap &params,
                const Where &where) {
    sel::Context &given = reader.context();
    const std::string_view zone = first_time_zone(workflow);
    DryRun run(workflow, owner_in(properties), given.world.find_zone(zone) == nullptr ? std::string_view{} : zone);
    sel::Context context(given.heap, given.world, run, given.limits);
    const ParamMap &defaults = default_workflow_params();
    const Layer layers[] = {{&defaults, {ParamSource::system_default}}, {&params, {ParamSource::definition}}};
    try {
        ParamMap merged = merge_layers(context, layers);
        put_dates(context, merged);
        (void)write_values(context, evaluate_params(context, merged));
    } catch (const ParamFailure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw sel::Failure{failure.fault};
        reader.problem(where.member(failure.name), show_fault(failure.fault));
    } catch (const sel::Failure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw;
        reader.problem(where, show_fault(failure.fault));
    } catch (const OnlyInARun &) {
        return;
    }
}

// ---- the document --------------------------------------------------------------------------------------------------

// The version of templates in a run that is given no other one; empty: only known in a run.
std::string template_version(const ParamMap &params) {
    const Param *version = params.find(k_template_version);
    if (version == nullptr)
        return std::string(k_default_template);
    const bool is_known = version->form == ParamForm::literal && version->value.type == sel::Type::string &&
                          version->value.view().find('$') == std::string_view::npos;
    return std::string(is_known ? version->value.view() : std::string_view{});
}

void check_workflow(const Reader &reader, const Object &workflow, const sel::Map *properties,
                    TemplatesAtHand &templates) {
    reader.refuse_others(workflow, {"id", "name", "description", "tags", "timeout", "time_triggers", "signal_triggers"},
                         {"criticality", "instance_step_concurrency", "params", "steps"});
    require_id(reader, workflow, Named::workflow);
    check_words(reader, workflow);
    reader.tags(workflow);
    reader.duration(workflow, "timeout", {1, reader.limits().of_steps.timeout});
    check_time_triggers(reader, workflow);
    check_signal_triggers(reader, workflow);
    reader.choice(workflow, "criticality", k_criticalities);
    reader.whole(workflow, "instance_step_concurrency", {1, reader.limits().instance_step_concurrency});
    const std::size_t before = reader.problems().found().size();
    const ParamMap params = read_user_params(reader, workflow, "params");
    if (reader.problems().found().size() == before)
        check_names_of_params(reader, workflow, params);
    if (reader.problems().found().size() == before)
        try_params(reader, workflow.map, properties, params, workflow.where.member("params"));
    templates.version = template_version(params);
    check_steps(reader, workflow, templates);
    const bool knows_templates = templates.used.empty() || templates.templates != nullptr;
    if (reader.problems().found().empty() && knows_templates)
        check_names(reader, workflow, templates);
}

void check_document(const Reader &reader, const Value &json, TemplatesAtHand &templates) {
    const Where root;
    const sel::Map *document = reader.as_object(json, root);
    if (document == nullptr)
        return;
    const Object object{*document, root};
    const sel::Map *properties = reader.object(object, "properties");
    if (properties != nullptr)
        check_properties(reader, {*properties, root.member("properties")}, {});
    reader.flag(object, "is_active");
    reader.object(object, "git_info");
    const sel::Map *workflow = reader.object(object, "workflow");
    if (workflow != nullptr)
        check_workflow(reader, {*workflow, root.member("workflow")}, properties, templates);
    else if (!reader.has(object, "workflow"))
        reader.problem(root, R"(has no "workflow")");
}

// The memory of a result, until the caller releases it.
struct Found {
    Problems problems{};
    std::vector<ShownProblem> shown{};
    std::vector<TemplateUse> used{};
    std::vector<TemplateName> templates{};
};

std::optional<Value> read_document(sel::Context &context, std::string_view json, Problems &problems) {
    try {
        return sel::read_json(context, json);
    } catch (const sel::Failure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw;
        problems.add(Where{}, failure.fault.kind == sel::FaultKind::limit ? "is nested too deeply"
                                                                          : "has a number that is out of range");
        return std::nullopt;
    }
}

template <typename Check>
void check(const Check &document, std::string_view text, sel::World &world, const sel::Limits &limits,
           const DefinitionLimits &of_definitions, Found &found) {
    NoParams nothing;
    sel::Heap heap(limits.memory);
    sel::Context context(heap, world, nothing, limits);
    if (const auto json = read_document(context, text, found.problems))
        document(Reader(context, found.problems, of_definitions), *json, found);
}

template <typename Check>
Checked checked_by(const Check &document, std::string_view json, sel::World &world, const sel::Limits &limits,
                   const DefinitionLimits &of_definitions = {}) noexcept {
    try {
        auto found = std::make_unique<Found>();
        auto kind = sel::OutcomeKind::value;
        try {
            check(document, json, world, limits, of_definitions, *found);
        } catch (const sel::Failure &failure) {
            if (failure.fault.kind == sel::FaultKind::stopped)
                kind = sel::OutcomeKind::stopped;
            else
                found->problems.add(Where{}, failure.fault.message);
        }
        for (const Problem &problem : found->problems.found())
            found->shown.push_back({problem.where, problem.what});
        for (const TemplateUse &use : found->used)
            found->templates.push_back({use.job_type, use.version});
        Found *owned = found.release();
        return {kind, owned->shown, owned->templates, owned};
    } catch (...) { // only bad_alloc is left
        return {sel::OutcomeKind::out_of_memory, {}, {}, nullptr};
    }
}

// The templates that the caller has read: an object in the heap of the context.
void take_templates(const Reader &reader, std::string_view json, TemplatesAtHand &templates) {
    if (json.empty())
        return;
    const Value read = sel::read_json(reader.context(), json);
    templates.templates = read.map->find("templates");
    templates.known = read.map->find("known");
}

void check_inheritance_of(const Reader &reader, const Value &templates, const TemplateName &name) {
    try {
        if (!join_template(reader, templates, name))
            reader.problems().add(std::string{}, "there is no " + show_template(name));
    } catch (const ParamFailure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw sel::Failure{failure.fault};
        reader.problems().add(failure.name, show_fault(failure.fault));
    }
}

} // namespace

Checked check_definition(std::string_view json, sel::World &world, const sel::Limits &limits,
                         const DefinitionLimits &of_definitions, std::string_view templates) noexcept {
    // cppcheck-suppress throwInNoexceptFunction // checked_by() catches it
    const auto document = [&](const Reader &reader, const Value &value, Found &found) {
        TemplatesAtHand at_hand;
        take_templates(reader, templates, at_hand);
        check_document(reader, value, at_hand);
        found.used = std::move(at_hand.used);
    };
    return checked_by(document, json, world, limits, of_definitions);
}

Checked check_template(std::string_view json, sel::World &world, const sel::Limits &limits,
                       const DefinitionLimits &of_definitions) noexcept {
    // cppcheck-suppress throwInNoexceptFunction // checked_by() catches it
    const auto document = [](const Reader &reader, const Value &value, const Found & /*found*/) {
        check_template_request(reader, value);
    };
    return checked_by(document, json, world, limits, of_definitions);
}

Checked check_inheritance(std::string_view templates, const TemplateName &name, sel::World &world,
                          const sel::Limits &limits) noexcept {
    // cppcheck-suppress throwInNoexceptFunction // checked_by() catches it
    const auto document = [&](const Reader &reader, const Value &value, const Found & /*found*/) {
        check_inheritance_of(reader, value, name);
    };
    return checked_by(document, templates, world, limits);
}

Checked check_change(std::string_view json, sel::World &world, const sel::Limits &limits,
                     const DefinitionLimits &of_definitions) noexcept {
    // cppcheck-suppress throwInNoexceptFunction // checked_by() catches it
    const auto document = [](const Reader &reader, const Value &value, const Found & /*found*/) {
        check_changes(reader, value);
    };
    return checked_by(document, json, world, limits, of_definitions);
}

Checked check_given(std::string_view json, sel::World &world, const sel::Limits &limits) noexcept {
    // cppcheck-suppress throwInNoexceptFunction // checked_by() catches it
    const auto document = [](const Reader &reader, const Value &value, const Found & /*found*/) {
        for (const sel::Map::Member &member : value.map->all())
            check_name_given(reader, member.key.view());
    };
    return checked_by(document, json, world, limits);
}

void release(Checked &checked) noexcept {
    delete static_cast<Found *>(checked.owned);
    checked.owned = nullptr;
    checked.problems = {};
    checked.templates = {};
}

} // namespace scylla::model::workflow
