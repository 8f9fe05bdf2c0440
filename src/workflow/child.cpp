// Subworkflows: runs that a step of another run starts.
#include "pg/error.h"
#include "pg/identity.h"
#include "pg/json.h"
#include "pg/settings.h"
#include "pg/subtransaction.h"
#include "store/spi_rows.h"
#include "workflow/definitions.h"
#include "workflow/restarts.h"
#include "workflow/turns.h"

namespace scylla::workflow {

using store::Parameters;

namespace {

constinit SPIPlanPtr parent_statement = nullptr;
constinit SPIPlanPtr instance_statement = nullptr;

struct ParentRun {
    const char *owner;
    int32 depth; // of the new run: how many runs are above it
    Jsonb *initiator;
    bool late;
};

// Nothing: the step does not wait for the child any more.
std::optional<ParentRun> find_parent(const Item &child) {
    Parameters parameters;
    parameters.add(child.root).add(child.step).add(child.scope).add(INT4OID, Int32GetDatum(child.attempt));
    const auto found = store::select<ParentRun>(
        &parent_statement,
        "select r.owner::pg_catalog.text, d.depth, pg_catalog.jsonb_build_object('type', 'SUBWORKFLOW', "
        "'workflow', r.workflow, 'instance', r.instance, 'run', r.run, 'step', $2, 'depth', d.depth), r.late "
        "from scylla.workflow_run_state r cross join lateral (select coalesce((r.initiator operator(pg_catalog.->>) "
        "'depth')"
        "::pg_catalog.int4, 0) operator(pg_catalog.+) 1 as depth) d where r.id operator(pg_catalog.=) $1 "
        "and exists (select from scylla.workflow_step_state s where s.scope operator(pg_catalog.=) $3 "
        "and s.step operator(pg_catalog.=) $2 and s.attempt operator(pg_catalog.=) $4 and s.ended is null)",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            store::Columns columns(row);
            ParentRun parent{};
            parent.owner = columns.next_string();
            parent.depth = columns.next_int32();
            parent.initiator = columns.next_jsonb();
            parent.late = columns.next_bool();
            return parent;
        });
    return found.empty() ? std::nullopt : std::optional(found[0]);
}

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

// Whether the instance has not been removed since.
bool has_instance(const text *workflow, int64 instance) {
    Parameters parameters;
    parameters.add(workflow).add(instance);
    return !store::select<int64>(&instance_statement,
                                 "select r.id from scylla.workflow_run_state r join scylla.workflow_head h on h.id "
                                 "operator(pg_catalog.=) r.workflow and h.created operator(pg_catalog.<=) r.created "
                                 "where r.workflow operator(pg_catalog.=) $1 and r.instance operator(pg_catalog.=) $2",
                                 parameters, SPI_OK_SELECT, [](uint64 row) { return store::Columns(row).next_int64(); })
                .empty();
}

Jsonb *describe(const text *workflow, const Started &started) {
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::push_text(&state, "workflow", workflow);
    json::push(&state, "instance", json::of_whole(started.instance));
    json::push(&state, "run", json::of_whole(started.run));
    json::push_text(&state, "status", started.status);
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

Started start_as_owner(const Item &child, const ParentRun &parent) {
    if (parent.depth >= settings::max_subworkflow_depth)
        error::subworkflows_too_deep(settings::max_subworkflow_depth);
    const Identity before = become(get_role_oid(parent.owner, false));
    const int64 instance = instance_of(child.data);
    const Parent of = is_sync(child.data) ? Parent{child.root, child.scope, child.step, child.attempt} : Parent{};
    const text *workflow = text_member(child.data, "workflow");
    Jsonb *params = object_member(child.data, "params");
    const Started started = instance != 0 && has_instance(workflow, instance)
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
    const auto parent = find_parent(child);
    if (!parent)
        return true;
    Started started{};
    const ErrorData *error = attempt([&] { started = start_as_owner(child, *parent); });
    Item answer = child;
    answer.kind = error == nullptr ? "child_started" : "child_failed";
    answer.data = error == nullptr ? describe(workflow, started) : json_of(error);
    put_on_agenda(answer);
    return true;
}

} // namespace scylla::workflow
