// The arguments of create_trigger(), and the action of a trigger.
#include "pg/error.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "pg/text.h"
#include "plan/signal_match.h"
#include "schedule/submission.h"
#include "task/rules.h"
#include "trigger/triggers.h"

namespace scylla::trigger {

namespace {

constexpr const char *k_join_rule = "\"join\" must be an array of parameters, and the same number for each signal.";
constexpr const char *k_action_rule = R"(It must be {"submit": {...}}, {"plan": [...]} or {"workflow": ...}.)";
constexpr const char *k_submit_rule = "The trigger itself gives rn and plan.";
constexpr const char *k_plan_rule = "A plan must be an array of objects, with at least one.";

constinit Maker registered{};

[[noreturn]] void refuse_signals(const char *shown, int64 element = 0) {
    error::bad_argument("signals", shown,
                        psprintf("It must be an array of 1 to %d objects "
                                 "{\"signal\": name, \"match\": {...}, \"join\": [parameters]}.",
                                 settings::max_trigger_signals),
                        element);
}

bool is_array(Jsonb *value) { return value != nullptr && JB_ROOT_IS_ARRAY(value) && !JB_ROOT_IS_SCALAR(value); }

// The parameters of "join", as text[].
ArrayType *read_join(JsonbValue *value, int64 element) {
    if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data))
        error::bad_argument("signals", json::show(value), k_join_rule, element);
    const auto names = allocate<Datum>(JsonContainerSize(value->val.binary.data));
    if (names.size() > k_max_signal_params)
        error::bad_argument("signals", json::show(value), k_join_rule, element);
    for (std::size_t i = 0; i < names.size(); i++) {
        JsonbValue *name = getIthJsonbValueFromContainer(value->val.binary.data, static_cast<uint32>(i));
        names[i] = PointerGetDatum(json::to_text("join", name, element));
    }
    return construct_array(names.data(), static_cast<int>(names.size()), TEXTOID, -1, false, TYPALIGN_INT);
}

Input read_input(JsonbValue *object, int64 element) {
    if (object->type != jbvBinary || !JsonContainerIsObject(object->val.binary.data))
        refuse_signals(json::show(object), element);
    Input input{nullptr, json::empty_object(), construct_empty_array(TEXTOID)};
    json::for_each_member(object->val.binary.data, [&](const char *argument, JsonbValue *value) {
        const std::string_view member(argument);
        const bool is_default = value->type == jbvNull;
        if (member == "signal")
            input.signal = args::name(argument, json::to_text(argument, value, element), element);
        else if (member == "match")
            input.match = is_default ? input.match : json::to_jsonb(value);
        else if (member == "join")
            input.joined_by = is_default ? input.joined_by : read_join(value, element);
        else
            refuse_signals(json::show(object), element);
    });
    if (input.signal == nullptr)
        refuse_signals(json::show(object), element);
    (void)read_signal_match(input.match);
    return input;
}

int joins_by(const Input &input) { return ArrayGetNItems(ARR_NDIM(input.joined_by), ARR_DIMS(input.joined_by)); }

bool has_member(JsonbContainer *object, std::string_view key) {
    JsonbValue value;
    return getKeyJsonValueFromContainer(object, key.data(), static_cast<int>(key.size()), &value) != nullptr;
}

} // namespace

std::span<const Input> read_inputs(Jsonb *signals, std::size_t most) {
    if (!is_array(signals) || JB_ROOT_COUNT(signals) == 0 || JB_ROOT_COUNT(signals) > most)
        refuse_signals(error::show(signals));
    const auto inputs = allocate<Input>(JB_ROOT_COUNT(signals));
    for (std::size_t i = 0; i < inputs.size(); i++) {
        const auto element = static_cast<int64>(i) + 1;
        inputs[i] = read_input(getIthJsonbValueFromContainer(&signals->root, static_cast<uint32>(i)), element);
        if (joins_by(inputs[i]) != joins_by(inputs[0]))
            error::bad_argument("signals", error::show(signals), k_join_rule, element);
    }
    return inputs;
}

Jsonb *read_action(Jsonb *action) {
    if (const Maker *maker = find_maker(action)) {
        maker->check(action);
        return action;
    }
    if (!json::is_object(action) || JB_ROOT_COUNT(action) != 1)
        error::bad_argument("action", error::show(action), k_action_rule);
    Jsonb *tasks = nullptr;
    json::for_each_member(&action->root, [&](const char *member, JsonbValue *value) {
        tasks = json::to_jsonb(value);
        const std::string_view kind(member);
        if (kind == "submit" ? !json::is_object(tasks) : kind != "plan" || !is_array(tasks))
            error::bad_argument("action", error::show(action), k_action_rule);
    });
    if (json::is_object(tasks)) {
        if (has_member(&tasks->root, "rn") || has_member(&tasks->root, "plan"))
            error::bad_argument("action", error::show(action), k_submit_rule);
        return tasks;
    }
    for (uint32 i = 0; i < JB_ROOT_COUNT(tasks); i++) {
        const JsonbValue *task = getIthJsonbValueFromContainer(&tasks->root, i);
        if (task->type != jbvBinary || !JsonContainerIsObject(task->val.binary.data))
            error::bad_argument("action", error::show(action), k_plan_rule);
    }
    if (JB_ROOT_COUNT(tasks) == 0)
        error::bad_argument("action", error::show(action), k_plan_rule);
    return tasks;
}

void register_maker(const Maker &maker) { registered = maker; }

const Maker *find_maker(Jsonb *action) {
    const bool is_made =
        json::is_object(action) && has_member(&action->root, registered.member) && !has_member(&action->root, "queue");
    return is_made ? &registered : nullptr;
}

bool belongs_to_maker(Jsonb *action) {
    return find_maker(action) != nullptr && has_member(&action->root, registered.own_member);
}

void carry_out(Oid role, const Action &action) {
    const text *name = cstring_to_text(psprintf("%s/" INT64_FORMAT, text_to_cstring(action.trigger), action.seq));
    Jsonb *tasks = schedule::named_tasks(
        action.tasks,
        {.name = name, .planned = nullptr, .not_before = nullptr, .planned_key = nullptr, .wait_for = action.wait_for});
    StringInfoData spec;
    initStringInfo(&spec);
    appendStringInfoString(&spec, "{\"trigger\": ");
    escape_json(&spec, text_to_cstring(action.trigger));
    appendStringInfoChar(&spec, '}');
    schedule::submit_as(role, {.tasks = tasks,
                               .plan = JB_ROOT_IS_ARRAY(action.tasks) ? name : nullptr,
                               .plan_spec = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(spec.data)))});
}

} // namespace scylla::trigger
