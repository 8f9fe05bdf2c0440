// Changes of properties, which are independent of versions (docs/workflows.md, Properties).
#include "pg/error.h"
#include "pg/growing.h"
#include "pg/json.h"
#include "pg/settings.h"
#include "pg/text.h"
#include "workflow/definitions.h"

namespace scylla::workflow {

namespace {

using model::workflow::RunStrategy;

// Members that a push removes if it does not contain them.
constexpr std::array<std::string_view, 3> k_pushed = {"run_strategy", "step_concurrency", "alerting"};

JsonbValue *find_member(Jsonb *object, std::string_view name) {
    JsonbValue key = json::of_text(name);
    JsonbValue *found = findJsonbValueFromContainer(&object->root, JB_FOBJECT, &key);
    return found == nullptr || found->type == jbvNull ? nullptr : found;
}

bool is_pushed(std::string_view name) { return std::find(k_pushed.begin(), k_pushed.end(), name) != k_pushed.end(); }

RunStrategy strategy_of(JsonbValue *word, JsonbValue *concurrency) {
    const std::optional<int32> number =
        concurrency == nullptr ? std::nullopt : std::optional(json::to_int("workflow_concurrency", concurrency));
    const std::string_view text(word->val.string.val, static_cast<std::size_t>(word->val.string.len));
    const int32 usual = std::min(model::workflow::k_default_parallelism, settings::max_workflow_concurrency);
    return model::workflow::read_run_strategy(text, number, usual).value_or(RunStrategy{});
}

bool is_set(Jsonb *change, std::string_view flag) {
    const JsonbValue *found = find_member(change, flag);
    return found != nullptr && found->type == jbvBool && found->val.boolean;
}

// Whether a member of a change sets a property, and is not just an instruction.
bool is_property(std::string_view name) {
    return !name.starts_with("reset_") && name != "add_tag" && name != "delete_tag";
}

bool is_reset(Jsonb *change, std::string_view name) {
    if (name == "run_strategy")
        return is_set(change, "reset_run_strategy_rule") || is_set(change, "reset_workflow_concurrency");
    return name == "step_concurrency" && is_set(change, "reset_step_concurrency");
}

// A tag is a name, or an object that has one.
std::string_view tag_name(JsonbValue *tag) {
    JsonbValue *name = tag->type == jbvString ? tag : find_member(json::to_jsonb(tag), "name");
    return {name->val.string.val, static_cast<std::size_t>(name->val.string.len)};
}

// The tags with `tag` in place of the one with this name; tag null: without it. Returns null if there was none.
Jsonb *with_tag(Jsonb *tags, std::string_view name, JsonbValue *tag) {
    bool found = false;
    Growing<Jsonb *> kept;
    const uint32 count = tags == nullptr ? 0 : JB_ROOT_COUNT(tags);
    for (uint32 i = 0; i < count; i++) {
        JsonbValue *each = getIthJsonbValueFromContainer(&tags->root, i);
        const bool same = tag_name(each) == name;
        found = found || same;
        if (!same)
            kept.push_back(json::to_jsonb(each));
        else if (tag != nullptr)
            kept.push_back(json::to_jsonb(tag));
    }
    if (!found && tag != nullptr)
        kept.push_back(json::to_jsonb(tag));
    return found || tag != nullptr ? json::array_of(kept.all()) : nullptr;
}

// The tags after a change; null: unchanged.
Jsonb *change_tags(const text *id, Jsonb *present, Jsonb *change) {
    JsonbValue *added = find_member(change, "add_tag");
    const JsonbValue *deleted = find_member(change, "delete_tag");
    if (added == nullptr && deleted == nullptr)
        return nullptr;
    JsonbValue *tags = find_member(present, "tags");
    Jsonb *all = tags == nullptr ? nullptr : json::to_jsonb(tags);
    if (added != nullptr)
        return with_tag(all, tag_name(added), added);
    const std::string_view name(deleted->val.string.val, static_cast<std::size_t>(deleted->val.string.len));
    Jsonb *left = with_tag(all, name, nullptr);
    if (left == nullptr)
        error::no_such_workflow_tag(id, pnstrdup(name.data(), name.size()));
    return left;
}

// An owner may be an object, of which the name is taken.
void push_property(json::Builder &object, std::string_view name, JsonbValue *value) {
    const bool is_object = name == "owner" && value->type == jbvBinary;
    object.member(name, is_object ? *find_member(json::to_jsonb(value), "name") : *value);
}

} // namespace

Jsonb *push_properties(Jsonb *present, Jsonb *pushed) {
    json::Builder object = json::build_object();
    if (present != nullptr)
        json::for_each_member(&present->root, [&](const char *name, JsonbValue *value) {
            if (!is_pushed(name) && (pushed == nullptr || find_member(pushed, name) == nullptr))
                object.member(name, *value);
        });
    if (pushed != nullptr)
        json::for_each_member(&pushed->root, [&](const char *name, JsonbValue *value) {
            if (value->type != jbvNull)
                push_property(object, name, value);
        });
    return object.finish();
}

Jsonb *change_properties(const text *id, Jsonb *present, Jsonb *change) {
    const bool fresh_concurrency =
        is_set(change, "reset_workflow_concurrency") && !is_set(change, "reset_run_strategy_rule");
    if (fresh_concurrency && run_strategy(present).rule != model::workflow::Rule::parallel)
        error::workflow_not_parallel(id);
    Jsonb *tags = change_tags(id, present, change);
    json::Builder object = json::build_object();
    json::for_each_member(&present->root, [&](const char *name, JsonbValue *value) {
        const bool stays = find_member(change, name) == nullptr && !is_reset(change, name);
        if (stays && (tags == nullptr || std::string_view(name) != "tags"))
            object.member(name, *value);
    });
    json::for_each_member(&change->root, [&](const char *name, JsonbValue *value) {
        if (value->type != jbvNull && is_property(name))
            push_property(object, name, value);
    });
    if (fresh_concurrency)
        object.member("run_strategy", "PARALLEL");
    if (tags != nullptr)
        object.member("tags", tags);
    return object.finish();
}

RunStrategy run_strategy(Jsonb *properties) {
    JsonbValue *given = find_member(properties, "run_strategy");
    if (given == nullptr)
        return {};
    if (given->type == jbvNumeric)
        return model::workflow::parallel(json::to_int("run_strategy", given));
    if (given->type == jbvString)
        return strategy_of(given, nullptr);
    Jsonb *object = json::to_jsonb(given);
    return strategy_of(find_member(object, "rule"), find_member(object, "workflow_concurrency"));
}

} // namespace scylla::workflow
