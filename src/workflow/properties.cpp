// Properties, which are kept over versions: how they change (section 1.2).
#include "pg/json.h"
#include "pg/text.h"
#include "workflow/definitions.h"

namespace scylla::workflow {

namespace {

using model::workflow::RunStrategy;

// What a push removes if it does not have it.
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
    return model::workflow::read_run_strategy(text, number).value_or(RunStrategy{});
}

} // namespace

Jsonb *push_properties(Jsonb *present, Jsonb *pushed) {
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    if (present != nullptr)
        json::for_each_member(&present->root, [&](const char *name, JsonbValue *value) {
            if (!is_pushed(name) && (pushed == nullptr || find_member(pushed, name) == nullptr))
                json::push(&state, name, *value);
        });
    if (pushed != nullptr)
        json::for_each_member(&pushed->root, [&](const char *name, JsonbValue *value) {
            if (value->type != jbvNull)
                json::push(&state, name, *value);
        });
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
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
