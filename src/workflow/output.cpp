#include "workflow/output.h"

#include "pg/error.h"
#include "pg/json.h"
#include "pg/text.h"
#include "store/spi_rows.h"
#include "task/rights.h"
#include "workflow/runs.h"

namespace scylla::workflow {

using store::Parameters;

namespace {

constinit SPIPlanPtr step_statement = nullptr;

struct TaskStep {
    int64 root;
    int64 scope;
    text *step;
    int32 attempt;
    Jsonb *params;
};

std::optional<TaskStep> find_step(int64 task) {
    Parameters parameters;
    parameters.add(task);
    const auto found =
        store::select<TaskStep>(&step_statement,
                                "select root, scope, step, attempt, params from scylla.workflow_step_state "
                                "where task operator(pg_catalog.=) $1 and ended is null and params is not null",
                                parameters, SPI_OK_SELECT, [](uint64 row) {
                                    store::Columns columns(row);
                                    TaskStep step{};
                                    step.root = columns.next_int64();
                                    step.scope = columns.next_int64();
                                    step.step = columns.next_text();
                                    step.attempt = columns.next_int32();
                                    step.params = columns.next_jsonb();
                                    return step;
                                });
    return found.empty() ? std::nullopt : std::optional(found[0]);
}

[[noreturn]] void refuse(const text *rn) {
    error::bad_argument("rn", error::quote(rn), "It must be a task that runs, of a step of a workflow.");
}

// The task, whose lease must be held.
store::SpecRow require_held(store::Store &store, const Output &output) {
    const auto spec = find_spec(store, output.rn, store::With::no_spec);
    if (!spec || !rights::may_act(store, spec->queue, model::Privilege::work))
        error::no_such_task(output.rn);
    const auto lease = find_lease(store, spec->id);
    if (!lease)
        refuse(output.rn);
    const bool other_worker = output.worker != nullptr && !equal(lease->owner, output.worker);
    const bool other_attempt = output.attempt && *output.attempt != lease->carry.attempt;
    if (other_worker || other_attempt)
        error::not_held(output.rn, output.worker != nullptr ? output.worker : lease->owner,
                        model::name(model::Status::running), lease->owner, lease->carry.attempt,
                        other_worker ? std::nullopt : output.attempt);
    return *spec;
}

Jsonb *data_of(const Output &output) {
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    if (output.params != nullptr)
        json::push_json(&state, "params", output.params);
    if (output.artifacts != nullptr)
        json::push_json(&state, "artifacts", output.artifacts);
    json::push(&state, "at", json::of_whole(GetCurrentTimestamp()));
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

} // namespace

void set_output(store::Store &store, const Output &output) {
    const auto step = find_step(require_held(store, output).id);
    if (!step)
        refuse(output.rn);
    if (output.params != nullptr)
        json::for_each_member(&output.params->root, [&](const char *name, JsonbValue *) {
            if (getKeyJsonValueFromContainer(&step->params->root, name, static_cast<int>(strlen(name)), nullptr) ==
                nullptr)
                error::bad_argument("params", error::quote(cstring_to_text(name)), "The step has no such parameter.");
        });
    put_on_agenda({.root = step->root,
                   .kind = "output",
                   .scope = step->scope,
                   .step = step->step,
                   .attempt = step->attempt,
                   .data = data_of(output)});
}

} // namespace scylla::workflow
