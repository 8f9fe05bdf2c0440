// Triggers of signals that start runs: the signal triggers of a workflow (docs/workflows.md, Signal triggers), and
// those of create_trigger() with the action {"workflow": ID, "params": {...}, "version": ...}.
#include "model/sel/sel.h"
#include "pg/error.h"
#include "pg/hash.h"
#include "pg/memory.h"
#include "store/trigger/triggers.h"
#include "task/rules.h"
#include "trigger/triggers.h"
#include "workflow/definitions.h"
#include "workflow/run_limits.h"
#include "workflow/runs.h"
#include "workflow/server_world.h"
#include "workflow/triggers.h"

namespace scylla::workflow {

using trigger::Firing;
using trigger::TriggerRequest;

namespace {

namespace sel = model::sel;

constexpr const char *k_definition_member = "trigger"; // of the actions of signal triggers

constexpr const char *k_action_rule = R"(With "workflow" it may have "params", an object, and "version".)";

// ---- what it waits for ---------------------------------------------------------------------------------------------

// {"p": {"value": 1, "operator": ">="}} as {"p": {">=": 1}}.
void push_match(json::Builder &object, JsonbValue *params) {
    object.begin_object("match");
    if (params != nullptr && params->type == jbvBinary)
        json::for_each_member(params->val.binary.data, [&](const char *param, JsonbValue *given) {
            Jsonb *match = json::to_jsonb(given);
            const auto sign = string_member(match, "operator");
            JsonbValue *value = find_member(match, "value");
            if (sign.empty() || sign == "=")
                return object.member(param, *value);
            object.begin_object(param);
            object.member(sign, *value);
            object.end_object();
        });
    object.end_object();
}

// In the form of create_trigger().
Jsonb *signals_of(Jsonb *trigger) {
    json::Builder list = json::build_array();
    json::for_each_member(&json_member(trigger, "definitions")->root, [&](const char *name, JsonbValue *given) {
        Jsonb *signal = json::to_jsonb(given);
        list.begin_object();
        list.member("signal", name);
        push_match(list, find_member(signal, "match_params"));
        JsonbValue *keys = find_member(signal, "join_keys");
        if (keys != nullptr && keys->type == jbvBinary)
            list.member("join", *keys);
        list.end_object();
    });
    return list.finish();
}

Jsonb *make_action(const text *workflow, Jsonb *trigger) {
    json::Builder object = json::build_object();
    object.member(k_trigger_member, workflow);
    object.member(k_definition_member, trigger);
    return object.finish();
}

// ---- a set of signals ----------------------------------------------------------------------------------------------

// Calls use for each signal of a set, which is an array of values of gates.
template <typename Use> void for_each_signal(Jsonb *signals, Use use) {
    for (uint32 i = 0; i < JB_ROOT_COUNT(signals); i++)
        use(json::to_jsonb(getIthJsonbValueFromContainer(&signals->root, i)));
}

// The parameters for expressions of the trigger: signal__param.
Jsonb *params_of(Jsonb *signals) {
    json::Builder object = json::build_object();
    for_each_signal(signals, [&](Jsonb *signal) {
        const text *name = to_text(string_member(signal, "name"));
        json::for_each_member(&json_member(signal, "params")->root, [&](const char *param, JsonbValue *value) {
            object.member(psprintf("%s__%s", text_to_cstring(name), param), *value);
        });
    });
    return object.finish();
}

Jsonb *make_initiator(const Firing &firing) {
    json::Builder object = json::build_object();
    object.member("type", "SIGNAL");
    object.member("trigger", firing.trigger);
    object.begin_object("signals");
    for_each_signal(firing.signals, [&](Jsonb *signal) {
        object.begin_object(string_member(signal, "name"));
        for (const char *member : {"seq", "params"})
            object.member(member, *find_member(signal, member));
        object.end_object();
    });
    object.end_object();
    return object.finish();
}

// ---- expressions ---------------------------------------------------------------------------------------------------

struct Held {
    sel::Outcome outcome;
    MemoryContextCallback callback;
};

struct Evaluated {
    bool sound;
    const char *text; // the value as JSON, or the problem
};
Evaluated evaluate(std::string_view expression, Jsonb *params) {
    check_stack_depth();
    auto *held = static_cast<Held *>(palloc0(sizeof(Held)));
    held->callback.func = [](void *arg) { sel::release(static_cast<Held *>(arg)->outcome); };
    held->callback.arg = held;
    MemoryContextRegisterResetCallback(CurrentMemoryContext, &held->callback);
    ServerWorld world;
    held->outcome = sel::evaluate_json(expression, json_text(params), world, turn_limits());
    world.raise_seen();
    const char *text = pnstrdup(held->outcome.text.data(), held->outcome.text.size());
    const bool sound = held->outcome.kind == sel::OutcomeKind::value;
    sel::release(held->outcome);
    return {sound, text};
}

text *request_id_by_signals(const char *trigger, std::span<const int64> seqs) {
    StringInfoData id;
    initStringInfo(&id);
    appendStringInfo(&id, "signal:%s", trigger);
    for (const int64 seq : seqs)
        appendStringInfo(&id, ":" INT64_FORMAT, seq);
    return cstring_to_text(id.data);
}

// Without dedup_expr, or if that cannot be evaluated, each set of signals is a request of its own.
const text *request_id_of(const Firing &firing, std::string_view dedup, Jsonb *params) {
    constexpr std::size_t k_longest = 150;
    if (!dedup.empty())
        if (const auto value = evaluate(dedup, params); value.sound)
            return cstring_to_text(
                strlen(value.text) <= k_longest
                    ? psprintf("signal:%s", value.text)
                    : psprintf("signal:%016llx", static_cast<unsigned long long>(hash_of(value.text))));
    return request_id_by_signals(hash_in(firing.trigger), firing.seqs);
}

// ---- a run ---------------------------------------------------------------------------------------------------------

Jsonb *params_or_none(Jsonb *object) {
    JsonbValue *given = find_member(object, "params");
    return given != nullptr && given->type == jbvBinary ? json::to_jsonb(given) : json::empty_object();
}

// The action of create_trigger().
bool start_given_run(const Firing &firing) {
    const auto version = scalar_member(firing.action, "version");
    const char *name = psprintf("%016llx", static_cast<unsigned long long>(hash_of(text_to_cstring(firing.trigger))));
    (void)start({.workflow = to_text(string_member(firing.action, k_trigger_member)),
                 .params = params_or_none(firing.action),
                 .version = version.empty() ? cstring_to_text("active") : to_text(version),
                 .request_id = request_id_by_signals(name, firing.seqs),
                 .initiator = make_initiator(firing),
                 .keep_failed = true});
    return true;
}

std::string_view condition_of(Jsonb *trigger) {
    const JsonbValue *value = find_member(trigger, "condition");
    if (value != nullptr && value->type == jbvBool)
        return value->val.boolean ? "true" : "false";
    return string_member(trigger, "condition");
}

bool start_run(const Firing &firing) {
    if (find_member(firing.action, k_definition_member) == nullptr)
        return start_given_run(firing);
    Jsonb *trigger = json_member(firing.action, k_definition_member);
    Jsonb *params = params_of(firing.signals);
    const auto condition = condition_of(trigger);
    const auto met = condition.empty() ? Evaluated{true, "true"} : evaluate(condition, params);
    if (met.sound && strcmp(met.text, "true") != 0)
        return false;
    const Start request{.workflow = to_text(string_member(firing.action, k_trigger_member)),
                        .params = params_or_none(trigger),
                        .version = cstring_to_text("active"),
                        .request_id = request_id_of(firing, string_member(trigger, "dedup_expr"), params),
                        .initiator = make_initiator(firing),
                        .keep_failed = true,
                        .fault = met.sound ? nullptr : psprintf("condition of the trigger: %s", met.text)};
    return start(request).code != 0;
}

bool is_object(const JsonbValue *value) {
    return value->type == jbvBinary && JsonContainerIsObject(value->val.binary.data);
}

// What create_trigger() may store. A null member counts as missing.
void check_action(Jsonb *action) {
    json::for_each_member(&args::document("action", action)->root, [&](const char *name, JsonbValue *value) {
        const std::string_view member(name);
        const bool is_text = value->type == jbvString;
        const bool is_default = value->type == jbvNull;
        const bool is_sound = member == k_trigger_member ? is_text
                              : member == "params"       ? is_default || is_object(value)
                              : member == "version"      ? is_default || is_text || value->type == jbvNumeric
                                                         : false;
        if (!is_sound)
            error::bad_argument("action", error::show(action), k_action_rule);
    });
    if (JsonbValue *params = find_member(action, "params"); params != nullptr && params->type != jbvNull) {
        Jsonb *given = json::to_jsonb(params);
        require_sound_names(to_text(string_member(action, k_trigger_member)), {&given, 1});
    }
}

} // namespace

// ---- those of a workflow -------------------------------------------------------------------------------------------

void keep_signal_triggers(const text *workflow) {
    const auto triggers = active_triggers(workflow, TriggerKind::signal);
    const auto wanted = allocate<TriggerRequest>(triggers.size());
    for (std::size_t i = 0; i < triggers.size(); i++)
        wanted[i] = {.name = name_of_trigger(workflow, triggers[i]),
                     .signals = signals_of(triggers[i]),
                     .action = make_action(workflow, triggers[i]),
                     .condition = 0,
                     .grace = grace_of(triggers[i])};
    for (const text *name : store::triggers::made_for(workflow))
        if (std::none_of(wanted.begin(), wanted.end(),
                         [&](const TriggerRequest &one) { return view(one.name) == view(name); }))
            trigger::remove_made(name);
    const auto head = wanted.empty() ? std::nullopt : find(workflow);
    for (const TriggerRequest &each : wanted)
        trigger::put_made(each, get_role_oid(head->owner, false));
}

void register_signal_triggers() {
    trigger::register_maker(
        {.member = k_trigger_member, .own_member = k_definition_member, .check = check_action, .make = start_run});
}

} // namespace scylla::workflow
