#include "model/workflow/known_names.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <unordered_map>

#include "model/nearest.h"
#include "model/sel/interpolate.h"
#include "model/sel/program.h"
#include "model/workflow/graph.h"
#include "model/workflow/run_facts.h"
#include "model/workflow/scope_params.h"
#include "model/workflow/templates.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

constexpr std::string_view k_of_backfill[] = {"FROM_DATE", "TO_DATE"};

// Calls use for each object in an array.
template <typename Use> void for_each_object(const sel::Map &of, std::string_view name, Use use) {
    const Value *array = of.find(name);
    for (std::uint32_t i = 0; array != nullptr && array->type == sel::Type::array && i < array->array->size; i++) {
        if (array->array->items[i].type == sel::Type::map)
            use(i, *array->array->items[i].map);
    }
}

// Whether a signal of a trigger has such a parameter: signal__param. What a signal has is not known before it is sent.
bool is_of_signal(const sel::Map &trigger, std::string_view name) noexcept {
    const sel::Map *signals = object_of(trigger, "definitions");
    if (signals == nullptr)
        return false;
    for (std::size_t at = name.find(k_between); at != std::string_view::npos; at = name.find(k_between, at + 1)) {
        if (signals->find(name.substr(0, at)) != nullptr)
            return true;
    }
    return false;
}

// ---- what can be known ---------------------------------------------------------------------------------------------

// The steps of a workflow, or of the iterations of a loop.
struct Place {
    const Place *outer; // null: the workflow
    const StepNode *loop;
    const StepList *list; // null: no step can be read
};

// Who reads a name: a step, or its loop or workflow where that is null. more: parameters that are read first.
struct Asking {
    const Place &place;
    const StepNode *step;
    const ParamMap *more = nullptr;
};

class Names {
public:
    Names(const Reader &reader, const sel::Map &workflow, const ParamMap &params, const TemplatesAtHand *templates)
        : reader_{reader}, workflow_{workflow}, params_{params}, templates_{templates} {}

    void require(const Asking &asking, std::string_view name, const Where &where) {
        reader_.context().work();
        const bool is_full = reader_.problems().found().size() >= Problems::k_most; // no further one is kept
        if (!is_full && !is_known(asking, name))
            explain(asking, name, where);
    }

    // The template of a step; null: it has none, or it is only known in a run.
    const JobTemplate *template_of(const StepNode &step) {
        if (step.sub_type.empty() || templates_ == nullptr || templates_->templates == nullptr)
            return nullptr;
        const auto [found, is_new] = joined_.try_emplace(&step);
        if (is_new) {
            const std::string &version = step.sub_type_version.empty() ? templates_->version : step.sub_type_version;
            found->second = join_template(reader_, *templates_->templates, {step.sub_type, version});
        }
        return found->second ? &*found->second : nullptr;
    }
    // Whether the workflow, or a loop, has a parameter of that name. A template's is replaced by it.
    bool is_around(const Place &place, std::string_view name) const {
        if (place.loop == nullptr)
            return is_of_workflow(name);
        return is_of_iteration(*place.loop, name) || is_around(*place.outer, name);
    }

private:
    bool is_known(const Asking &asking, std::string_view name) {
        return (asking.more != nullptr && asking.more->find(name) != nullptr) ||
               (asking.step != nullptr && is_of_step(*asking.step, name)) || is_around(asking.place, name) ||
               is_joined(asking, name);
    }

    bool is_of_workflow(std::string_view name) const {
        return params_.find(name) != nullptr || default_workflow_params().find(name) != nullptr ||
               is_given_by_trigger(workflow_, name);
    }

    static bool is_of_iteration(const StepNode &loop, std::string_view name) {
        const Param *values = loop.params.find("loop_params");
        if (values == nullptr || values->form != ParamForm::literal) // only a run knows its members
            return true;
        return values->members.find(name) != nullptr || name == "loop_index" ||
               (!is_of_the_loop(name) && loop.params.find(name) != nullptr);
    }

    bool is_of_step(const StepNode &step, std::string_view name) {
        if (step.params.find(name) != nullptr)
            return true;
        if (step.sub_type.empty())
            return false;
        const JobTemplate *joined = template_of(step);
        return joined == nullptr || joined->params.find(name) != nullptr;
    }

    // The last value of a loop parameter.
    static bool is_result_of_while(const StepNode &step, std::string_view name) {
        return step.kind == StepKind::while_ && !is_of_the_loop(name) && is_of_iteration(step, name);
    }

    static const StepNode *find_step(const Place &place, std::string_view id) {
        const StepNode *found = place.list == nullptr ? nullptr : place.list->find(id);
        return found != nullptr || place.outer == nullptr ? found : find_step(*place.outer, id);
    }
    // A step can read itself, and the steps before itself or before a loop around it.
    static bool is_before(const Asking &asking, const StepNode &step) {
        const StepNode *here = asking.step;
        for (const Place *place = &asking.place; place != nullptr && here != nullptr; place = place->outer) {
            if (place->list != nullptr && place->list->find(step.id) == &step)
                return &step == here || here->after[place->list->place_of(step)];
            here = place->loop;
        }
        return false;
    }

    // step__param, or signal__param
    bool is_joined(const Asking &asking, std::string_view name) {
        int readings = 0;
        bool known = is_of_a_signal(name);
        for (std::size_t at = name.find(k_between); at != std::string_view::npos; at = name.find(k_between, at + 1)) {
            const StepNode *step = find_step(asking.place, name.substr(0, at));
            if (step == nullptr)
                continue;
            readings++;
            const std::string_view param = name.substr(at + k_between.size());
            known = known || (is_before(asking, *step) &&
                              (is_pseudo_param(param) || is_of_step(*step, param) || is_result_of_while(*step, param)));
        }
        return known && readings < 2;
    }
    bool is_of_a_signal(std::string_view name) const {
        bool found = false;
        for_each_object(workflow_, "signal_triggers",
                        [&](std::size_t, const sel::Map &trigger) { found = found || is_of_signal(trigger, name); });
        return found;
    }

    // What is wrong

    void explain(const Asking &asking, std::string_view name, const Where &where) {
        std::vector<const StepNode *> steps;
        for (std::size_t at = name.find(k_between); at != std::string_view::npos; at = name.find(k_between, at + 1)) {
            if (const StepNode *step = find_step(asking.place, name.substr(0, at)))
                steps.push_back(step);
        }
        if (steps.size() > 1)
            return reader_.problem(where, ambiguous_name(name, steps[0]->id, steps[1]->id));
        if (steps.size() == 1 && !is_before(asking, *steps[0]))
            return reader_.problem(where, quoted(name) + " cannot be read here: the step " + quoted(steps[0]->id) +
                                              " does not come before");
        Nearest nearest(name);
        std::deque<std::string> joined; // keeps what was offered
        offer_all(asking, name, nearest, joined);
        std::string what = sel::no_parameter(name);
        if (!nearest.best().empty())
            what += ": did you mean " + quoted(nearest.best()) + "?";
        else if (const std::size_t at = name.find(k_between); at != std::string_view::npos && steps.empty())
            what += ": no step before and no signal of a trigger is named " + quoted(name.substr(0, at));
        reader_.problem(where, what);
    }

    // Counts the comparison, which takes as many steps as both names have letters, multiplied.
    void offer(std::string_view typed, std::string_view name, Nearest &nearest) {
        reader_.context().work(static_cast<std::int64_t>(typed.size() * name.size() / 64) + 1);
        nearest.offer(name);
    }
    void offer(std::string_view typed, const ParamMap &params, Nearest &nearest) {
        for (const auto &[name, param] : params)
            offer(typed, name, nearest);
    }
    void offer_all(const Asking &asking, std::string_view typed, Nearest &nearest, std::deque<std::string> &joined) {
        if (asking.more != nullptr)
            offer(typed, *asking.more, nearest);
        if (asking.step != nullptr)
            offer(typed, asking.step->params, nearest);
        if (const JobTemplate *of_template = asking.step == nullptr ? nullptr : template_of(*asking.step))
            offer(typed, of_template->params, nearest);
        for (const Place *place = &asking.place; place != nullptr; place = place->outer) {
            if (place->loop != nullptr)
                offer(typed, place->loop->params, nearest);
            const Param *values = place->loop == nullptr ? nullptr : place->loop->params.find("loop_params");
            if (values != nullptr)
                offer(typed, values->members, nearest);
            if (place->list != nullptr && typed.find(k_between) != std::string_view::npos)
                offer_joined(asking, *place->list, typed, nearest, joined);
        }
        offer(typed, params_, nearest);
        offer(typed, default_workflow_params(), nearest);
    }
    void offer_joined(const Asking &asking, const StepList &list, std::string_view typed, Nearest &nearest,
                      std::deque<std::string> &joined) {
        for (const StepNode &step : list.steps) {
            if (!is_before(asking, step))
                continue;
            for (const auto &[param, value] : step.params)
                offer(typed, joined.emplace_back(step.id + std::string(k_between) + param), nearest);
        }
    }

    const Reader &reader_;
    const sel::Map &workflow_;
    const ParamMap &params_;
    const TemplatesAtHand *templates_;
    std::unordered_map<const StepNode *, std::optional<JobTemplate>> joined_{};
};

// ---- what is read --------------------------------------------------------------------------------------------------

class NameChecker {
public:
    NameChecker(const Reader &reader, Names &names) noexcept : reader_{reader}, names_{names} {}

    void check_params(const Asking &asking, const ParamMap &params, const Where &where) {
        for (const auto &[name, param] : params)
            check_param(asking, param, where.member(name));
    }

    void check_param(const Asking &asking, const Param &param, const Where &where) {
        if (!param.validator.empty())
            check_validator(asking, param.validator, where.member("validator"));
        if (param.form == ParamForm::expression)
            return check_text(asking, param.expression, where.member("expression"));
        const Where value = where.member("value");
        for (const auto &[name, member] : param.members)
            check_param(asking, member, value.member(name));
        check_literal(asking, param.value, value);
    }

    void check_validator(const Asking &asking, std::string_view validator, const Where &where) {
        const auto program = sel::Program::parse(validator, reader_.context().limits);
        for (const sel::Program::Required &read : program->required()) {
            if (read.name != "param")
                names_.require(asking, read.name, where);
        }
    }
    void check_text(const Asking &asking, std::string_view expression, const Where &where) {
        check_program(asking, *sel::Program::parse(expression, reader_.context().limits), where);
    }
    void check_program(const Asking &asking, const sel::Program &program, const Where &where) {
        for (const sel::Program::Required &read : program.required())
            names_.require(asking, read.name, where);
    }
    void check_references(const Asking &asking, std::string_view text, const Where &where) {
        reader_.context().work_on(text.size());
        for (const std::string &name : sel::references_in(text))
            names_.require(asking, name, where);
    }

    void check_list(const Place &place, const Where &where) {
        for (std::size_t i = 0; i < place.list->steps.size(); i++) {
            const StepNode &step = place.list->steps[i];
            const Where element = where.element(i);
            check_step(place, step, element.member(name_of(step.kind)));
        }
    }

private:
    void check_literal(const Asking &asking, const Value &literal, const Where &where) {
        if (literal.type == sel::Type::string) {
            check_references(asking, literal.view(), where);
        } else if (literal.type == sel::Type::array) {
            for (std::uint32_t i = 0; i < literal.array->size; i++)
                check_literal(asking, literal.array->items[i], where.element(i));
        } else if (literal.type == sel::Type::map) {
            for (const sel::Map::Member &member : literal.map->all()) {
                check_references(asking, member.key.view(), where);
                check_literal(asking, member.value, where.member(member.key.view()));
            }
        }
    }

    void check_step(const Place &place, const StepNode &step, const Where &where) {
        const Asking own{place, &step};
        const Where params = where.member("params");
        for (const std::string &name : step.written) {
            const Param *param = step.sub_type.empty() ? step.params.find(name) : step.own.find(name);
            if (param != nullptr)
                check_param(own, *param, params.member(name));
        }
        check_template(own, step, where.member("sub_type"));
        check_references(own, step.timeout, where.member("timeout"));
        check_retries(own, step.retries, where.member("retry_policy"));
        check_signals(place, step, where);
        const Where transition = where.member("transition");
        const Where successors = transition.member("successors");
        for (const Edge &edge : step.successors) {
            if (edge.condition != nullptr)
                check_program(own, *edge.condition, successors.member(place.list->steps[edge.to].id));
        }
        if (step.steps == nullptr)
            return;
        if (step.condition != nullptr) {
            const Param *values = step.params.find("loop_params");
            if (values == nullptr || values->form == ParamForm::literal)
                check_program({place, &step, values == nullptr ? nullptr : &values->members}, *step.condition,
                              where.member("condition"));
        }
        check_list({&place, &step, step.steps.get()}, where.member("steps"));
    }

    // Those of the template that neither the step nor what is around it replaces.
    void check_template(const Asking &asking, const StepNode &step, const Where &where) {
        const JobTemplate *joined = names_.template_of(step);
        if (joined == nullptr)
            return;
        for (const auto &[name, param] : joined->params) {
            if (step.own.find(name) == nullptr && !names_.is_around(asking.place, name))
                check_param(asking, param, where.member(name));
        }
    }

    void check_retries(const Asking &asking, const RetryPolicy &policy, const Where &where) {
        constexpr std::string_view k_classes[] = {"error", "platform", "timeout"};
        const Where backoff = where.member("backoff");
        for (std::size_t i = 0; i < policy.of.size(); i++) {
            const RetryRule &rule = policy.of[i];
            const std::string of(k_classes[i]);
            check_references(asking, rule.limit, where.member(of + "_retry_limit"));
            check_references(asking, rule.wait, backoff.member(of + "_retry_backoff_in_secs"));
            check_references(asking, rule.exponent, backoff.member(of + "_retry_exponent"));
            check_references(asking, rule.longest, backoff.member(of + "_retry_limit_in_secs"));
        }
    }

    // A step waits for signals before its parameters are known, and sends them when it has ended.
    void check_signals(const Place &place, const StepNode &step, const Where &where) {
        const Where dependencies = where.member("signal_dependencies");
        for (std::size_t i = 0; i < step.dependencies.size(); i++) {
            const Where element = dependencies.element(i);
            const Where match = element.member("match_params");
            for (const auto &[name, param] : step.dependencies[i].match) {
                const Where of_match = match.member(name);
                check_param({place, nullptr, &step.dependencies[i].match}, param, of_match.member("param"));
            }
        }
        const Where outputs = where.member("signal_outputs");
        for (std::size_t i = 0; i < step.outputs.size(); i++) {
            const Where element = outputs.element(i);
            check_params({place, &step, &step.outputs[i].params}, step.outputs[i].params, element.member("params"));
            check_params({place, &step, &step.outputs[i].payload}, step.outputs[i].payload, element.member("payload"));
        }
    }

    const Reader &reader_;
    Names &names_;
};

// The condition of a trigger, and dedup_expr: they know the signals only.
void check_expression_of_trigger(const Reader &reader, const sel::Map &trigger, std::string_view member,
                                 const Where &where) {
    const auto program = sel::Program::parse(text_of(trigger, member), reader.context().limits);
    for (const sel::Program::Required &read : program->required()) {
        if (!is_of_signal(trigger, read.name))
            reader.problem(where, sel::no_parameter(read.name) +
                                      ": a trigger reads those of its signals, as \"signal__parameter\"");
    }
}

} // namespace

bool is_given_by_trigger(const sel::Map &workflow, std::string_view name) noexcept {
    bool found = std::find(std::begin(k_of_backfill), std::end(k_of_backfill), name) != std::end(k_of_backfill);
    for_each_object(workflow, "signal_triggers", [&](std::size_t, const sel::Map &trigger) {
        const sel::Map *params = object_of(trigger, "params");
        found = found || (params != nullptr && params->find(name) != nullptr);
    });
    return found;
}

void check_names_of_params(const Reader &reader, const Object &workflow, const ParamMap &params) {
    Names names(reader, workflow.map, params, nullptr);
    const Place place{nullptr, nullptr, nullptr};
    NameChecker(reader, names).check_params({place, nullptr}, params, workflow.where.member("params"));
}

void check_names(const Reader &reader, const Object &workflow, const TemplatesAtHand &templates) {
    const auto definition = read_workflow(reader, workflow);
    Names names(reader, workflow.map, definition->params, &templates);
    NameChecker checker(reader, names);
    const Place place{nullptr, nullptr, &definition->steps};
    checker.check_references({place, nullptr}, definition->timeout, workflow.where.member("timeout"));
    checker.check_list(place, workflow.where.member("steps"));
    const Where triggers = workflow.where.member("signal_triggers");
    for_each_object(workflow.map, "signal_triggers", [&](std::size_t i, const sel::Map &trigger) {
        const Where where = triggers.element(i);
        for (const std::string_view member : {"condition", "dedup_expr"})
            check_expression_of_trigger(reader, trigger, member, where.member(member));
        checker.check_params({place, nullptr}, read_user_params(reader, {trigger, where}, "params"),
                             where.member("params"));
    });
}

} // namespace scylla::model::workflow
