// How an instance runs again: its row becomes that of the new run, and the run before gets another row.
// Its steps stay as they are until the engine begins the run.
#include "pg/error.h"
#include "pg/growing.h"
#include "pg/json.h"
#include "store/plans.h"
#include "store/workflow/steps.h"
#include "workflow/definition_cache.h"
#include "workflow/new_run.h"
#include "workflow/permits.h"
#include "workflow/restarts.h"
#include "workflow/texts.h"

namespace scylla::workflow {

using model::workflow::RestartCheck;
using model::workflow::RestartPolicy;
using model::workflow::RestartProblem;
using model::workflow::Step;
using store::runs::EarlierRun;

// ---- what is to run again ------------------------------------------------------------------------------------------

std::span<const Step> steps_of(int64 scope) {
    const auto rows = store::steps::statuses(scope);
    const auto steps = allocate<Step>(rows.size());
    for (std::size_t i = 0; i < rows.size(); i++) {
        steps[i] = Step{};
        steps[i].id = rows[i].step;
        steps[i].status = rows[i].status;
    }
    return steps;
}

namespace {

std::span<const std::string_view> member_names(Jsonb *object) {
    Growing<std::string_view> names;
    json::for_each_member(&object->root, [&](const char *name, JsonbValue *) { names.add(std::string_view(name)); });
    return names.all();
}

// Whether a restart from incomplete steps would run nothing.
bool is_complete(const Head &head, const EarlierRun &last) {
    const auto version = find_version(head.id, last.version);
    return check_restart(definition_of(*version), steps_of(last.id), {}).problem == RestartProblem::nothing_to_do;
}

} // namespace

void require_steps(const text *workflow, int32 version, Jsonb *step_params) {
    const auto of = find_version(workflow, version);
    const RestartCheck found = check_restart(
        definition_of(*of), {}, {.policy = RestartPolicy::from_beginning, .with_params = member_names(step_params)});
    if (found.problem == RestartProblem::outside)
        error::bad_argument("step_params", error::quote(to_text(found.step)),
                            "The workflow has no such step outside of its loops.");
}

void require_sound_restart(const RestartCall &call, const RestartScope &of) {
    Growing<std::string_view> skipped;
    for (const text *step : call.skip_steps)
        skipped.add(view(step));
    const auto version = find_version(call.workflow, of.version);
    const RestartCheck found = check_restart(definition_of(*version), steps_of(of.scope),
                                             {.policy = call.policy,
                                              .within = of.loop == nullptr ? std::string_view{} : view(of.loop),
                                              .step = call.step == nullptr ? std::string_view{} : view(call.step),
                                              .with_params = member_names(call.step_params),
                                              .skipped = skipped.all()});
    const text *step = to_text(found.step);
    switch (found.problem) {
    case RestartProblem::none:
        return;
    case RestartProblem::unknown_step:
        error::bad_argument("step", error::quote(step), "The workflow has no such step.");
    case RestartProblem::not_a_start:
        error::step_not_a_start(call.workflow, call.instance, step);
    case RestartProblem::nothing_to_do:
        error::instance_complete(call.workflow, call.instance);
    case RestartProblem::outside:
        error::bad_argument(std::find(skipped.all().begin(), skipped.all().end(), found.step) != skipped.all().end()
                                ? "skip_steps"
                                : "step_params",
                            error::quote(step), "The run has no such step that it runs again.");
    case RestartProblem::out_of_memory:
        ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
    }
}

namespace {

// ---- rows ----------------------------------------------------------------------------------------------------------

Jsonb *restart_json(const RestartCall &call) {
    json::Builder object = json::build_object();
    push_restart(object, call);
    return object.finish();
}

Jsonb *concat(Jsonb *one, Jsonb *other) {
    return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(one), JsonbPGetDatum(other)));
}

text *write_again(const NewRun &made, int64 root, const Parent &parent, bool stopped) {
    const int64 plan = make_plan(made);
    text *status = store::runs::run_again({.id = root,
                                           .plan = plan,
                                           .run = made.run,
                                           .now = GetCurrentTimestamp(),
                                           .owner = made.head->owner,
                                           .initiator = made.initiator,
                                           .request = made.request,
                                           .params = made.params,
                                           .restart = made.restart,
                                           .stopped = stopped,
                                           .parent_root = parent.root,
                                           .parent_scope = parent.scope,
                                           .parent_step = parent.step,
                                           .parent_attempt = parent.attempt,
                                           .permits = stopped ? nullptr : tree_permits(made, parent.root)});
    if (stopped)
        store::plans::finish(plan, {.aborted = false, .cancelled = true}, GetCurrentTimestamp());
    put_on_agenda({.root = root, .kind = "next"});
    return status;
}

} // namespace

void push_restart(json::Builder &object, const RestartCall &call) {
    object.member("policy", to_text(model::workflow::k_restart_policies[static_cast<std::size_t>(call.policy)]));
    if (call.step != nullptr)
        object.member("step", call.step);
    if (call.below != nullptr)
        object.member("below", call.below);
    if (JB_ROOT_COUNT(call.step_params) > 0)
        object.member("step_params", call.step_params);
    if (call.given != nullptr)
        object.member("params", call.given);
    if (call.skip_steps.empty())
        return;
    Growing<Jsonb *> steps;
    for (const text *step : call.skip_steps) {
        JsonbValue value = json::of_text(view(step));
        steps.add(json::to_jsonb(&value));
    }
    object.member("skip_steps", json::array_of(steps.all()));
}

Started restart(const RestartCall &call) {
    if (const auto started = try_restart(call))
        return *started;
    (void)require_last(call.workflow, call.instance); // an error if it does not exist
    error::instance_runs(call.workflow, call.instance);
}

std::optional<Started> try_restart(const RestartCall &given) {
    RestartCall call = given;
    const Head head = hold(call.workflow, Privilege::run);
    const auto found = store::runs::hold_last(head.id, call.instance);
    if (!found || !found->ended)
        return std::nullopt;
    const EarlierRun &last = *found;
    if (!call.is_exact && is_complete(head, last))
        call.policy = RestartPolicy::from_beginning;
    require_sound_restart(call, {.scope = last.id, .version = last.version});
    NewRun made{.head = &head,
                .version = last.version,
                .instance = call.instance,
                .run = last.run + 1,
                .initiator = concat(last.initiator, call.initiator),
                .properties = last.properties,
                .request = call.params,
                .restart = restart_json(call)};
    const bool had_params = JB_ROOT_COUNT(last.params) > 0;
    if (!had_params) // the earlier request is repeated
        made.request = concat(last.request, call.params);
    evaluate_params(made, had_params ? last.params : nullptr, false);
    const bool stopped = apply_strategy(made).stopped;
    text *status = write_again(made, last.id, call.parent, stopped);
    record_new_run(made, stopped ? model::workflow::RunStatus::stopped : model::workflow::RunStatus::created);
    return Started{stopped ? -1 : 1, call.instance, made.run, status, last.id};
}

} // namespace scylla::workflow
