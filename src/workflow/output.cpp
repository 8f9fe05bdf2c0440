#include "workflow/output.h"

#include "pg/error.h"
#include "pg/json.h"
#include "pg/text.h"
#include "store/workflow/steps.h"
#include "task/rights.h"
#include "workflow/runs.h"

namespace scylla::workflow {

namespace {

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
    json::Builder object = json::build_object();
    if (output.params != nullptr)
        object.member("params", output.params);
    if (output.artifacts != nullptr)
        object.member("artifacts", output.artifacts);
    object.member("at", json::of_whole(GetCurrentTimestamp()));
    return object.finish();
}

} // namespace

void set_output(store::Store &store, const Output &output) {
    const auto step = store::steps::of_task(require_held(store, output).id);
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
