#include "model/workflow/templates.h"

#include <algorithm>
#include <map>

#include "model/workflow/names.h"
#include "model/workflow/param_json.h"
#include "model/workflow/param_merge.h"
#include "model/workflow/reader.h"
#include "model/workflow/words.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

constexpr std::size_t k_most_ancestors = 32; // levels of inheritance

std::string_view type_of(const sel::Map &definition) noexcept {
    const std::string_view type = text_of(definition, "type");
    return type.empty() ? text_of(definition, "step_type") : type;
}

// ---- a request -----------------------------------------------------------------------------------------------------

// A template may set what the system may set of a parameter, except the source.
void refuse_sources(const Reader &reader, const ParamMap &params, const Where &where) {
    for (const auto &[name, param] : params) {
        const Where at = where.member(name);
        if (param.source)
            reader.problem(at, "source is the system's to set");
        refuse_sources(reader, param.members, at.member("value"));
    }
}

void check_params(const Reader &reader, const Object &definition) {
    const Value *json = definition.map.find("params");
    if (json == nullptr || json->is_null())
        return;
    const Where where = definition.where.member("params");
    const ParamMap params = read_params(reader.context(), *json, where, reader.problems());
    const ParamMap &of_steps = default_step_params();
    for (const auto &[name, param] : params) {
        check_id(reader, name, where.member(name), Named::param);
        if (of_steps.find(name) != nullptr)
            reader.problem(where.member(name), "is a parameter that every step has");
    }
    refuse_sources(reader, params, where);
}

void check_parents(const Reader &reader, const Object &definition) {
    const sel::Map *parents = reader.object(definition, "inherit_from");
    if (parents == nullptr)
        return;
    const Where where = definition.where.member("inherit_from");
    for (const sel::Map::Member &member : parents->all()) {
        if (member.value.type != sel::Type::string || member.value.view().empty())
            reader.problem(where.member(member.key.view()), "must be the version of the template, a string");
    }
}

void check_definition_of(const Reader &reader, const Object &definition) {
    reader.refuse_others(definition, {"job_type", "version", "type", "step_type", "description", "status"},
                         {"tags", "inherit_from", "params"});
    if (const auto job_type = reader.require_text(definition, "job_type"))
        check_id(reader, *job_type, definition.where.member("job_type"), Named::job_template);
    if (const auto version = reader.text(definition, "version"))
        check_id(reader, *version, definition.where.member("version"), Named::job_template);
    const bool has_other = reader.has(definition, "step_type");
    if (has_other && reader.has(definition, "type"))
        reader.problem(definition.where, R"(has both "type" and "step_type")");
    const auto type = reader.require_text(definition, has_other ? "step_type" : "type");
    if (type && type->empty())
        reader.problem(definition.where.member(has_other ? "step_type" : "type"), "must not be empty");
    reader.text(definition, "description");
    reader.text(definition, "status");
    reader.tags(definition);
    check_parents(reader, definition);
    check_params(reader, definition);
}

// ---- inheritance ---------------------------------------------------------------------------------------------------

// Joins parents before their children, each template once.
class Joiner {
public:
    Joiner(const Reader &reader, const Value &templates) : reader_{reader} {
        if (templates.type != sel::Type::array)
            return;
        for (const Value &json : templates.array->values()) {
            if (json.type == sel::Type::map)
                known_.emplace(Key{text_of(*json.map, "job_type"), text_of(*json.map, "version")}, Known{json.map});
        }
    }

    std::optional<JobTemplate> join(const TemplateName &name) {
        const auto found = known_.find({name.job_type, name.version});
        if (found == known_.end())
            return std::nullopt;
        add(*found, {});
        joined_.type = std::string(type_of(*found->second.definition));
        return std::move(joined_);
    }

private:
    using Key = std::pair<std::string_view, std::string_view>;
    struct Known {
        const sel::Map *definition;
        bool is_added = false;
    };
    using Entry = std::pair<const Key, Known>;

    // place: the parent of the joined template through which this one is inherited; empty: it is the joined template.
    void add(Entry &entry, const std::string &place) {
        auto &[key, known] = entry;
        path_.push_back(key);
        if (path_.size() > k_most_ancestors)
            fail_param(place, "inherits over more than " + std::to_string(k_most_ancestors) + " templates");
        if (const sel::Map *parents = object_of(*known.definition, "inherit_from"))
            add_parents(*parents, place);
        add_params(known, place, {key.first, key.second});
        add_tags(known);
        known.is_added = true;
        path_.pop_back();
    }

    // Sorted by name: a JSON object has no order.
    void add_parents(const sel::Map &json, const std::string &place) {
        std::vector<Key> parents;
        for (const sel::Map::Member &member : json.all())
            parents.emplace_back(member.key.view(),
                                 member.value.type == sel::Type::string ? member.value.view() : std::string_view{});
        std::sort(parents.begin(), parents.end());
        for (const Key &parent : parents)
            add_parent(parent, place.empty() ? "inherit_from." + std::string(parent.first) : place);
    }

    void add_parent(const Key &parent, const std::string &place) {
        const auto found = known_.find(parent);
        if (found == known_.end())
            fail_param(place, "there is no " + show_template({parent.first, parent.second}));
        if (std::find(path_.begin(), path_.end(), parent) != path_.end())
            fail_param(place, "templates inherit from each other in a circle: " + show_circle(parent));
        if (!found->second.is_added)
            add(*found, place);
    }

    std::string show_circle(const Key &last) const {
        std::string circle;
        for (auto key = std::find(path_.begin(), path_.end(), last); key != path_.end(); ++key)
            circle += quoted(key->first) + " " + quoted(key->second) + ", ";
        return circle + quoted(last.first) + " " + quoted(last.second);
    }

    void add_params(const Known &known, const std::string &place, const TemplateName &name) {
        const Value *json = known.definition->find("params");
        if (json == nullptr || json->is_null())
            return;
        const Where root;
        const ParamMap params = read_params(reader_.context(), *json, root.member("params"), reader_.problems());
        try {
            merge_params(reader_.context(), joined_.params, params, {.source = ParamSource::template_schema});
        } catch (const ParamFailure &failure) {
            if (failure.fault.kind == sel::FaultKind::stopped)
                throw;
            if (place.empty())
                throw ParamFailure{"params." + failure.name, failure.fault};
            fail_param(place,
                       "params." + failure.name + " of " + show_template(name) + ": " + show_fault(failure.fault));
        }
    }

    void add_tags(const Known &known) {
        const Where root;
        for (std::string &tag : reader_.tags({*known.definition, root})) {
            if (std::find(joined_.tags.begin(), joined_.tags.end(), tag) == joined_.tags.end())
                joined_.tags.push_back(std::move(tag));
        }
    }

    const Reader &reader_;
    std::map<Key, Known> known_{};
    std::vector<Key> path_{};
    JobTemplate joined_{};
};

} // namespace

std::optional<JobTemplate> join_template(const Reader &reader, const Value &templates, const TemplateName &name) {
    return Joiner(reader, templates).join(name);
}

void check_template_request(const Reader &reader, const Value &json) {
    const Where root;
    const sel::Map *request = reader.as_object(json, root);
    if (request == nullptr)
        return;
    if (request->find("definition") == nullptr)
        return check_definition_of(reader, {*request, root});
    const Where where = root.member("definition");
    if (const sel::Map *definition = reader.as_object(*request->find("definition"), where))
        check_definition_of(reader, {*definition, where});
    for (const std::string_view name : {"status", "support"})
        reader.text({*request, root}, name);
}

std::string show_template(const TemplateName &name) {
    return "job template " + quoted(name.job_type) + " of version " + quoted(name.version);
}

std::string type_fault(const JobTemplate &found, const TemplateName &name, std::string_view type) {
    const bool is_same = std::equal(found.type.begin(), found.type.end(), type.begin(), type.end(),
                                    [](char a, char b) { return to_upper(a) == to_upper(b); });
    return is_same ? std::string{}
                   : show_template(name) + " is for steps of type " + quoted(found.type) + ", and the step is " +
                         quoted(type);
}

ParamMap merge_over_template(sel::Context &context, const ParamMap &of_template, const ParamMap &written) {
    ParamMap merged = default_step_params();
    for (auto &[name, param] : merged)
        param.source = ParamSource::system_default;
    merge_params(context, merged, of_template, {.source = ParamSource::template_schema});
    merge_params(context, merged, written, {.source = ParamSource::definition});
    return merged;
}

} // namespace scylla::model::workflow
