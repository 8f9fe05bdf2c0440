// Subworkflows: runs that a step of another run starts.
#include "pg/error.h"
#include "pg/identity.h"
#include "pg/json.h"
#include "pg/settings.h"
#include "pg/subtransaction.h"
#include "store/workflow/runs.h"
#include "workflow/definitions.h"
#include "workflow/restarts.h"
#include "workflow/turns.h"

namespace scylla::workflow {

using store::runs::ParentRun;

namespace {

text *text_member(Jsonb *object, const char *name) {
    JsonbValue *value = getKeyJsonValueFromContainer(&object->root, name, static_cast<int>(strlen(name)), nullptr);
    return cstring_to_text_with_len(value->val.string.val, value->val.string.len);
}

Jsonb *object_member(Jsonb *object, const char *name) {
    return json::to_jsonb(getKeyJsonValueFromContainer(&object->root, name, static_cast<int>(strlen(name)), nullptr));
}

bool is_sync(Jsonb *object) {
    const JsonbValue *value = getKeyJsonValueFromContainer(&object->root, "sync", 4, nullptr);
    return value->val.boolean;
}

// The instance that an earlier run has started and that runs again; 0: none.
int64 instance_of(Jsonb *object) {
    const JsonbValue *value = getKeyJsonValueFromContainer(&object->root, "instance", 8, nullptr);
    return value == nullptr ? 0 : DatumGetInt64(DirectFunctionCall1(numeric_int8, NumericGetDatum(value->val.numeric)));
}

// With the part of the instance that runs again, if a restart of the parent names it.
RestartCall restart_of(const Item &child, const RestartCall &call) {
    JsonbValue *below = getKeyJsonValueFromContainer(&child.data->root, "restart", 7, nullptr);
    return below == nullptr ? call : on_path(call, json::to_jsonb(below));
}

Jsonb *describe(const text *workflow, const Started &started) {
    json::Builder object = json::build_object();
    object.member("workflow", workflow);
    object.member("instance", json::of_whole(started.instance));
    object.member("run", json::of_whole(started.run));
    object.member("status", started.status);
    return object.finish();
}

Started start_as_owner(const Item &child, const ParentRun &parent) {
    if (parent.depth >= settings::max_subworkflow_depth)
        error::subworkflows_too_deep(settings::max_subworkflow_depth);
    const Identity before = become(get_role_oid(parent.owner, false));
    const int64 instance = instance_of(child.data);
    const Parent of = is_sync(child.data) ? Parent{child.root, child.scope, child.step, child.attempt} : Parent{};
    const text *workflow = text_member(child.data, "workflow");
    Jsonb *params = object_member(child.data, "params");
    const Started started = instance != 0 && store::runs::has_instance(workflow, instance)
                                ? restart(restart_of(child, {.workflow = workflow,
                                                             .instance = instance,
                                                             .policy = model::workflow::RestartPolicy::from_incomplete,
                                                             .step = nullptr,
                                                             .params = params,
                                                             .step_params = json::empty_object(),
                                                             .skip_steps = {},
                                                             .initiator = parent.initiator,
                                                             .parent = of,
                                                             .is_exact = false}))
                                : start({.workflow = workflow,
                                         .params = params,
                                         .version = text_member(child.data, "version"),
                                         .initiator = parent.initiator,
                                         .parent = of,
                                         .late = parent.late});
    restore(before);
    return started;
}

} // namespace

bool start_child(const Item &child) {
    const text *workflow = text_member(child.data, "workflow");
    if (!try_hold(workflow)) {
        put_on_agenda(child);
        return false;
    }
    const auto parent =
        store::runs::parent({.root = child.root, .scope = child.scope, .step = child.step, .attempt = child.attempt});
    if (!parent)
        return true;
    Started started{};
    const ErrorData *error = attempt([&] { started = start_as_owner(child, *parent); });
    Item answer = child;
    answer.slow = pace.is_slow;
    if (error != nullptr && error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE) {
        put_on_agenda(answer);
        return pace.is_slow;
    }
    answer.kind = error == nullptr ? "child_started" : "child_failed";
    answer.data = error == nullptr ? describe(workflow, started) : json_of(error);
    put_on_agenda(answer);
    return true;
}

} // namespace scylla::workflow
