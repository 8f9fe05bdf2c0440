#include "model/workflow/param_evaluate.h"

#include <memory>
#include <unordered_map>
#include <utility>

#include "model/graph.h"
#include "model/sel/evaluate.h"
#include "model/sel/interpolate.h"
#include "model/sel/json.h"
#include "model/sel/library.h"
#include "model/sel/program_cache.h"
#include "model/workflow/param_values.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

enum class State : std::uint8_t { waiting, begun, done };

// A parameter with all programs and references in it and in its members.
struct Prepared {
    const std::string &name;
    const Param &param;
    State state = State::waiting;
    Value value{};
    std::vector<std::string> references{};
};

class Evaluator final : public sel::Params {
public:
    Evaluator(sel::Context &context, const ParamMap &params, std::string_view step)
        : outer_{context}, params_{params}, prefix_{step.empty() ? std::string{} : std::string(step) + "__"} {
        prepared_.reserve(params.size());
        for (const auto &[name, param] : params) {
            Prepared &made = prepared_.emplace_back(Prepared{.name = name, .param = param});
            prepare(param, name, made.references);
        }
    }

    ParamValues run() {
        for (const std::size_t place : order())
            value_of(prepared_[place]);
        ParamValues values;
        for (const Prepared &prepared : prepared_)
            values.put(prepared.name, prepared.value);
        return values;
    }

    // Called by expressions. Values that an expression could change are copied.
    std::optional<Value> find(std::string_view name, sel::Context &asking) override {
        if (validated_ != nullptr && name == "param")
            return copy_value(asking, *validated_);
        const std::size_t place = place_of(name);
        if (place == params_.size() || name == current_) {
            const auto found = outer_.params.find(name, asking);
            if (found || place == params_.size())
                return found;
        }
        const sel::Position here = asking.place;
        charge(asking);
        const Value value = value_of(prepared_[place]);
        pay(asking);
        asking.place = here;
        return copy_value(asking, value);
    }
    bool knows(std::string_view name) override { return outer_.params.knows(name); }
    std::optional<Value> find_from(std::string_view function, sel::Args args, sel::Context &asking) override {
        return outer_.params.find_from(function, args, asking);
    }

private:
    std::size_t place_of(std::string_view name) const {
        const std::size_t place = params_.place_of(name);
        return place == params_.size() && !prefix_.empty() && name.starts_with(prefix_)
                   ? params_.place_of(name.substr(prefix_.size()))
                   : place;
    }

    // Programs and references

    void prepare(const Param &param, const std::string &name, std::vector<std::string> &references) {
        outer_.work();
        if (param.form == ParamForm::expression)
            return prepare_expression(param, name, references);
        if (param.form != ParamForm::literal || param.evaluated)
            return;
        for (const auto &[member, of_member] : param.members)
            prepare(of_member, name + "." + member, references);
        collect(param.value, references);
    }

    void prepare_expression(const Param &param, const std::string &name, std::vector<std::string> &references) {
        outer_.work_on(param.expression.size());
        try {
            auto program = sel::program_of(param.expression, outer_.limits);
            references.insert(references.end(), program->references().begin(), program->references().end());
            programs_.emplace(&param, std::move(program));
        } catch (sel::Failure &failure) {
            throw ParamFailure{name, std::move(failure.fault)};
        }
    }

    // The references of a literal: a text, an array of texts, or a map of texts with texts as keys.
    void collect(const Value &literal, std::vector<std::string> &references) {
        if (literal.type == sel::Type::string) {
            outer_.work_on(literal.size);
            for (std::string &name : sel::references_in(literal.view()))
                references.push_back(std::move(name));
        } else if (literal.type == sel::Type::array) {
            for (const Value &item : literal.array->values())
                collect(item, references);
        } else if (literal.type == sel::Type::map) {
            for (const sel::Map::Member &member : literal.map->all()) {
                collect(member.key, references);
                collect(member.value, references);
            }
        }
    }

    // Order

    // The indexes in an order in which each parameter follows those that it refers to.
    std::vector<std::size_t> order() {
        std::vector<std::size_t> first{0};
        std::vector<std::size_t> target;
        for (const Prepared &prepared : prepared_) {
            for (const std::string &name : prepared.references) {
                const std::size_t place = place_of(name);
                if (place < params_.size() && !is_outside(prepared, name))
                    target.push_back(place);
            }
            first.push_back(target.size());
        }
        std::vector<CycleWork> work(prepared_.size());
        std::vector<std::size_t> cycle(prepared_.size());
        std::vector<std::size_t> order;
        const auto found = walk_graph({first, target}, work, cycle, [&](std::size_t place) { order.push_back(place); });
        if (!found.empty())
            fail_cycle(found);
        return order;
    }

    // A parameter that names itself means the parameter of the same name outside.
    bool is_outside(const Prepared &prepared, const std::string &name) {
        return name == prepared.name && outer_.params.find(name, outer_).has_value();
    }

    [[noreturn]] void fail_cycle(std::span<const std::size_t> cycle) const {
        constexpr std::size_t k_shown = 20;
        std::string names;
        for (std::size_t i = 0; i < cycle.size() && i < k_shown; i++)
            names += prepared_[cycle[i]].name + (i + 1 == k_shown && cycle.size() > k_shown ? ", …" : ", ");
        const std::string &start = prepared_[cycle[0]].name;
        fail_param(start, "parameters refer to each other in a circle: " + names + start);
    }

    // Evaluation

    const Value &value_of(Prepared &prepared) {
        if (prepared.state == State::done)
            return prepared.value;
        // Because of the order, only a computed name can lead here.
        if (prepared.state == State::begun)
            fail_param(prepared.name, "parameters refer to each other in a circle: " + prepared.name);
        if (depth_ == outer_.limits.depth)
            fail_param(prepared.name, "parameters that compute names of parameters are nested too deeply");
        depth_++;
        prepared.state = State::begun;
        const std::string before = std::exchange(current_, prepared.name);
        prepared.value = evaluate(prepared.param, prepared.name);
        if (!prepared.param.validator.empty())
            validate(prepared.param, prepared.name, prepared.value);
        prepared.state = State::done;
        current_ = before;
        depth_--;
        return prepared.value;
    }

    // A condition on the value, which it reads as "param". Those of members of a MAP are not checked: definitions for
    // Maestro, which checks none, have wrong ones in loop_params.
    void validate(const Param &param, const std::string &name, const Value &value) {
        bool is_valid = false;
        try {
            const auto program = sel::program_of(param.validator, outer_.limits);
            validated_ = &value;
            const Value found = apart([&](sel::Context &inner) { return sel::evaluate(*program, inner); });
            validated_ = nullptr;
            is_valid = sel::to_truth(found);
        } catch (sel::Failure &failure) {
            validated_ = nullptr;
            failure.fault.message = "validator: " + failure.fault.message;
            throw ParamFailure{name, std::move(failure.fault)};
        }
        if (!is_valid)
            fail_param(name, "the value does not satisfy the validator " + param.validator);
    }

    Value evaluate(const Param &param, const std::string &name) {
        if (param.form == ParamForm::literal && param.type == ParamType::map)
            return evaluate_members(param, name);
        try {
            outer_.work();
            if (param.form == ParamForm::expression)
                return run_expression(param);
            return param.evaluated ? param.value : fill_in(param.value);
        } catch (sel::Failure &failure) {
            throw ParamFailure{name, std::move(failure.fault)};
        }
    }

    Value evaluate_members(const Param &param, const std::string &name) {
        sel::Map *map = sel::make_map(outer_.heap);
        for (const auto &[member, of_member] : param.members)
            map->put(outer_.heap, sel::make_string(outer_.heap, member), evaluate(of_member, name + "." + member));
        return Value::of(map);
    }

    Value run_expression(const Param &param) {
        return apart([&](sel::Context &inner) {
            const Value value = sel::evaluate(*programs_.find(&param)->second, inner);
            const auto typed = to_type(inner, value, param.type);
            if (!typed)
                sel::fail(sel::FaultKind::value, "the value is " + std::string(sel::type_name(value)) + ", not " +
                                                     std::string(name_of(param.type)));
            return *typed;
        });
    }

    Value fill_in(const Value &literal) {
        switch (literal.type) {
        case sel::Type::string:
            return fill_in_text(literal);
        case sel::Type::array: {
            sel::Array *array = sel::make_array(outer_.heap, literal.array->elements, literal.array->size);
            for (std::uint32_t i = 0; i < array->size; i++)
                array->items[i] = fill_in(literal.array->items[i]);
            return Value::of(array);
        }
        case sel::Type::map: {
            sel::Map *map = sel::make_map(outer_.heap);
            for (const sel::Map::Member &member : literal.map->all())
                map->put(outer_.heap, fill_in(member.key), fill_in(member.value));
            return Value::of(map);
        }
        default:
            return literal;
        }
    }

    Value fill_in_text(const Value &text) {
        outer_.work();
        if (text.view().find('$') == std::string_view::npos)
            return text;
        return apart(
            [&](sel::Context &inner) { return sel::make_string(inner.heap, sel::interpolate(inner, text.view())); });
    }

    // Works in a heap of its own, which frees everything except the value.
    template <typename Work> Value apart(Work work) {
        sel::Heap scratch(outer_.limits.memory);
        sel::Context inner(scratch, outer_.world, *this, outer_.limits);
        pay(inner);
        inner.begun = outer_.begun;
        const Value value = work(inner);
        charge(inner);
        return copy_value(outer_, value);
    }
    // Steps are counted in one context at a time: that of the evaluation in progress.
    void charge(const sel::Context &inner) noexcept {
        outer_.steps = inner.steps;
        outer_.next_look = inner.next_look;
    }
    void pay(sel::Context &inner) const noexcept {
        inner.steps = outer_.steps;
        inner.next_look = outer_.next_look;
    }

    sel::Context &outer_;
    const ParamMap &params_;
    std::string prefix_; // of a name that means one of them, too
    std::vector<Prepared> prepared_{};
    std::unordered_map<const Param *, std::shared_ptr<const sel::Program>> programs_{};
    std::string current_{};            // the parameter that is being evaluated
    const Value *validated_ = nullptr; // the value that a validator checks
    int depth_ = 0;
};

} // namespace

ParamValues evaluate_params(sel::Context &context, const ParamMap &params, std::string_view step) {
    return Evaluator(context, params, step).run();
}

std::string write_values(sel::Context &context, const ParamValues &values) {
    sel::Map *map = sel::make_map(context.heap);
    for (const auto &[name, value] : values)
        map->put(context.heap, sel::make_string(context.heap, name), value);
    return sel::write_json(context, Value::of(map));
}

} // namespace scylla::model::workflow
