#include "model/workflow/param_merge.h"

#include "model/workflow/param_values.h"

namespace scylla::model::workflow {

namespace {

bool same_members(const ParamMap &one, const ParamMap &other);

bool has_reference(const sel::Value &value) {
    switch (value.type) {
    case sel::Type::string:
        return value.view().find('$') != std::string_view::npos;
    case sel::Type::array:
        return std::any_of(value.array->values().begin(), value.array->values().end(), has_reference);
    case sel::Type::map:
        return std::any_of(value.map->all().begin(), value.map->all().end(), [](const sel::Map::Member &member) {
            return has_reference(member.key) || has_reference(member.value);
        });
    default:
        return false;
    }
}

// Whether the literal is its own result.
bool is_plain(const Param &param) { return param.evaluated || !has_reference(param.value); }

// Another source alone is no change of a parameter.
bool same_param(const Param &one, const Param &other) {
    return one.type == other.type && one.form == other.form && is_plain(one) == is_plain(other) &&
           one.mode == other.mode && one.expression == other.expression && one.tags == other.tags &&
           one.validator == other.validator && same_value(one.value, other.value) &&
           same_members(one.members, other.members);
}

bool same_members(const ParamMap &one, const ParamMap &other) {
    if (one.size() != other.size())
        return false;
    for (const auto &[name, param] : one) {
        const Param *there = other.find(name);
        if (there == nullptr || !same_param(param, *there))
            return false;
    }
    return true;
}

ParamMode mode_of(const Param &param) noexcept { return param.mode.value_or(ParamMode::mutable_); }

// The strictest mode that a layer may still change.
ParamMode strictest_allowed(const Merge &merge) noexcept {
    if (merge.source == ParamSource::output_parameter)
        return ParamMode::mutable_;
    if (merge.restart || merge.source == ParamSource::restart)
        return ParamMode::mutable_on_start_restart;
    return ParamMode::mutable_on_start;
}

class Merger {
public:
    Merger(sel::Context &context, const Merge &merge) noexcept : context_{context}, merge_{merge} {}

    void merge(ParamMap &base, const ParamMap &incoming, const std::string &prefix, ParamMode at_least) {
        for (const auto &[name, param] : incoming) {
            context_.work();
            Param *there = base.find(name);
            Param merged = merge_one(there, param, prefix + name, at_least);
            if (there == nullptr)
                base.put(name, std::move(merged));
            else
                *there = std::move(merged);
        }
    }

private:
    bool system() const noexcept { return is_system(merge_.source); }

    Param merge_one(const Param *base, const Param &incoming, const std::string &name, ParamMode at_least) {
        if (!system() && incoming.source)
            fail_param(name, "the source of a parameter cannot be set");
        if (!system() && incoming.system_mode)
            fail_param(name, "the system mode of a parameter cannot be set");
        Param merged = merge_content(base, incoming, name, at_least);
        merged.system_mode = base != nullptr && base->system_mode ? base->system_mode : incoming.system_mode;
        merged.mode = merge_mode(base, incoming, merged.system_mode, at_least);
        if (base != nullptr)
            merge_words(*base, merged);
        const bool changed = base != nullptr && !same_param(*base, merged);
        if (changed)
            check_change(*base, merged, name);
        merged.source = merge_source(base, incoming, changed);
        return merged;
    }

    Param merge_content(const Param *base, const Param &incoming, const std::string &name, ParamMode at_least) {
        Param merged = incoming;
        const bool literal = incoming.form == ParamForm::literal;
        if (literal && incoming.type == ParamType::map) {
            check_maps(base, incoming, name);
            merged.members = base == nullptr ? ParamMap{} : base->members;
            const ParamMode stricter = std::max(at_least, mode_of(base == nullptr ? incoming : *base));
            merge(merged.members, incoming.members, name + ".", stricter);
        } else if (literal && incoming.type == ParamType::string_map) {
            check_maps(base, incoming, name);
            if (base != nullptr && base->form == ParamForm::literal)
                merged.value = merge_string_maps(base->value, incoming.value);
        } else if (base != nullptr && base->type != incoming.type) {
            merged.type = base->type;
            if (literal)
                convert(*base, incoming, merged, name);
        }
        return merged;
    }

    static void check_maps(const Param *base, const Param &incoming, const std::string &name) {
        if (base == nullptr)
            return;
        if (base->type != incoming.type)
            mismatch(*base, incoming, name);
        if (base->form == ParamForm::expression)
            fail_param(name, "a " + std::string(name_of(base->type)) +
                                 " that is an expression cannot be merged with members");
    }
    [[noreturn]] static void mismatch(const Param &base, const Param &incoming, const std::string &name) {
        fail_param(name, "the parameter is " + std::string(name_of(base.type)) + ", and this " +
                             std::string(name_of(incoming.type)) + " cannot become one");
    }

    void convert(const Param &base, const Param &incoming, Param &merged, const std::string &name) {
        const auto value = to_type(context_, incoming.value, base.type);
        if (!value || base.type == ParamType::map)
            mismatch(base, incoming, name);
        merged.value = *value;
    }

    sel::Value merge_string_maps(const sel::Value &base, const sel::Value &incoming) {
        const sel::Value merged = copy_value(context_, base);
        for (const sel::Map::Member &member : incoming.map->all())
            merged.map->put(context_.heap, member.key, member.value);
        return merged;
    }

    ParamMode merge_mode(const Param *base, const Param &incoming, std::optional<SystemMode> system_mode,
                         ParamMode at_least) const noexcept {
        ParamMode mode = incoming.mode.value_or(base == nullptr ? ParamMode::mutable_ : mode_of(*base));
        if (system_mode == SystemMode::reserved)
            mode = ParamMode::constant;
        if (merge_.upstream && base != nullptr)
            mode = std::max(mode, mode_of(*base));
        return std::max(mode, at_least);
    }

    // The tags of both, and the newer validator.
    static void merge_words(const Param &base, Param &merged) {
        std::vector<std::string> tags = base.tags;
        for (std::string &tag : merged.tags) {
            if (std::find(tags.begin(), tags.end(), tag) == tags.end())
                tags.push_back(std::move(tag));
        }
        merged.tags = std::move(tags);
        if (merged.validator.empty())
            merged.validator = base.validator;
    }

    void check_change(const Param &base, const Param &merged, const std::string &name) const {
        if (system())
            return;
        if (mode_of(base) > strictest_allowed(merge_))
            fail_param(name, "the parameter is " + std::string(name_of(mode_of(base))) + " and cannot be changed by " +
                                 std::string(name_of(merge_.source)));
        if (mode_of(merged) < mode_of(base))
            fail_param(name, "the mode of the parameter cannot be lowered from " + std::string(name_of(mode_of(base))) +
                                 " to " + std::string(name_of(mode_of(merged))));
    }

    ParamSource merge_source(const Param *base, const Param &incoming, bool changed) const noexcept {
        if (base != nullptr && !changed && base->source && (system() || merge_.upstream))
            return *base->source;
        if (base == nullptr && system() && incoming.source)
            return *incoming.source;
        return merge_.source;
    }

    sel::Context &context_;
    const Merge &merge_;
};

void finish(ParamMap &params, const std::string &prefix) {
    params.remove_if([](const Param &param) {
        const bool nothing = param.form == ParamForm::empty || (param.form == ParamForm::literal &&
                                                                param.type == ParamType::map && param.members.empty());
        return param.system_mode == SystemMode::optional && nothing;
    });
    for (auto &[name, param] : params) {
        if (param.form == ParamForm::empty)
            fail_param(prefix + name, "a value is required (" + std::string(name_of(param.type)) + ")");
        finish(param.members, prefix + name + ".");
        param.system_mode.reset();
    }
}

} // namespace

bool is_system(ParamSource source) noexcept { return source <= ParamSource::system_default; }

void merge_params(sel::Context &context, ParamMap &base, const ParamMap &incoming, const Merge &merge) {
    Merger(context, merge).merge(base, incoming, {}, ParamMode::mutable_);
}

void finish_merge(ParamMap &params) { finish(params, {}); }

ParamMap merge_layers(sel::Context &context, std::span<const Layer> layers) {
    ParamMap merged;
    for (const Layer &layer : layers) {
        if (layer.params != nullptr)
            merge_params(context, merged, *layer.params, layer.merge);
    }
    finish_merge(merged);
    return merged;
}

void merge_output(sel::Context &context, ParamMap &params, const ParamMap &output) {
    for (const auto &[name, param] : output) {
        if (params.find(name) == nullptr)
            fail_param(name, "the step has no such parameter to put out");
    }
    merge_params(context, params, output, {.source = ParamSource::output_parameter});
}

} // namespace scylla::model::workflow
