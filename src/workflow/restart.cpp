// How an instance runs again: its row becomes that of the new run, and the run before gets another row.
// Its steps stay as they are until the engine begins the run.
#include "pg/error.h"
#include "pg/growing.h"
#include "pg/json.h"
#include "store/plans.h"
#include "store/spi_rows.h"
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
using model::workflow::StepStatus;
using store::Parameters;

namespace {

constinit SPIPlanPtr last_statement = nullptr;
constinit SPIPlanPtr steps_statement = nullptr;
constinit SPIPlanPtr again_statement = nullptr;

// The last run of an instance, locked.
struct EarlierRun {
    int64 id;
    int32 run;
    int32 version;
    bool ended;
    Jsonb *properties;
    Jsonb *request;
    Jsonb *params;    // empty: they could not be evaluated
    Jsonb *initiator; // without the user: the signals, the time zone, the depth among subworkflows
};

// Nothing: there is no such instance.
std::optional<EarlierRun> hold_last(const Head &head, int64 instance) {
    Parameters parameters;
    parameters.add(head.id).add(instance);
    const auto last = store::select<EarlierRun>(
        &last_statement,
        "select r.id, r.run, r.version, r.ended is not null, r.properties, r.request, r.params, "
        "r.initiator operator(pg_catalog.-) array['type', 'user', 'workflow', 'instance', 'run', 'step'] "
        "from scylla.workflow_run_state r join scylla.workflow_head h on h.id operator(pg_catalog.=) r.workflow "
        "and h.created operator(pg_catalog.<=) r.created where r.workflow operator(pg_catalog.=) $1 "
        "and r.instance operator(pg_catalog.=) $2 for no key update of r",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            store::Columns columns(row);
            EarlierRun read{};
            read.id = columns.next_int64();
            read.run = columns.next_int32();
            read.version = columns.next_int32();
            read.ended = columns.next_bool();
            read.properties = columns.next_jsonb();
            read.request = columns.next_jsonb();
            read.params = columns.next_jsonb();
            read.initiator = columns.next_jsonb();
            return read;
        });
    return last.empty() ? std::nullopt : std::optional(last[0]);
}

// ---- what is to run again ------------------------------------------------------------------------------------------

} // namespace

std::span<const Step> steps_of(int64 scope) {
    Parameters parameters;
    parameters.add(scope);
    return store::select<Step>(&steps_statement,
                               "select step, status from scylla.workflow_step_state "
                               "where scope operator(pg_catalog.=) $1",
                               parameters, SPI_OK_SELECT, [](uint64 row) {
                                   store::Columns columns(row);
                                   Step step{};
                                   step.id = view(columns.next_text());
                                   step.status = columns.next_word<StepStatus>(model::workflow::k_step_statuses);
                                   return step;
                               });
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
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    push_restart(&state, call);
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

Jsonb *concat(Jsonb *one, Jsonb *other) {
    return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(one), JsonbPGetDatum(other)));
}

text *write_again(const NewRun &made, int64 root, const Parent &parent, bool stopped) {
    const int64 plan = make_plan(made);
    const bool is_child = parent.root != 0;
    Parameters parameters;
    parameters.add(root)
        .add(plan)
        .add(INT4OID, Int32GetDatum(made.run))
        .add(std::optional(GetCurrentTimestamp()))
        .add(TEXTOID, CStringGetTextDatum(made.head->owner))
        .add(JSONBOID, JsonbPGetDatum(made.initiator))
        .add(JSONBOID, JsonbPGetDatum(made.request))
        .add(JSONBOID, JsonbPGetDatum(made.params))
        .add(JSONBOID, JsonbPGetDatum(made.restart))
        .add(BOOLOID, BoolGetDatum(stopped))
        .add(INT8OID, Int64GetDatum(parent.root), !is_child)
        .add(INT8OID, Int64GetDatum(parent.scope), !is_child)
        .add(parent.step)
        .add(INT4OID, Int32GetDatum(parent.attempt), !is_child)
        .add(stopped ? nullptr : tree_permits(made, parent.root));
    text *status = store::select<text *>(
        &again_statement,
        "with past as (insert into scylla.workflow_run_past (plan, root, instance, created, started, ended, run, "
        "status, aggregated, workflow, owner, initiator, request, params, restart, error) "
        "select plan, id, instance, created, started, ended, run, status, coalesce(aggregated, status), workflow, "
        "owner, initiator, request, params, restart, error from scylla.workflow_run_state "
        "where id operator(pg_catalog.=) $1), "
        "plan as (insert into scylla.workflow_plan (plan, root) values ($2, $1)) "
        "update scylla.workflow_run_state set plan = $2, run = $3, created = $4, started = null, "
        "ended = case when $10 then $4 end, due = null, parent_root = $11, parent_scope = $12, parent_step = $13, "
        "parent_attempt = $14, blocks = false, status = case when $10 then 'STOPPED' else 'CREATED' end, "
        "aggregated = case when not $10 then coalesce(aggregated, status) end, "
        "owner = $5::pg_catalog.name, initiator = $6, request = $7, params = $8, restart = $9, "
        "error = case when $10 then '{\"message\": \"Another run has not ended, and the run strategy is "
        "FIRST_ONLY.\"}'::pg_catalog.jsonb end, permits = $15 where id operator(pg_catalog.=) $1 returning status",
        parameters, SPI_OK_UPDATE_RETURNING, [](uint64 row) { return store::Columns(row).next_text(); })[0];
    if (stopped)
        store::finish_plan(plan, {.aborted = false, .cancelled = true}, GetCurrentTimestamp());
    put_on_agenda({.root = root, .kind = "next"});
    return status;
}

} // namespace

void push_restart(JsonbParseState **state, const RestartCall &call) {
    json::push_text(state, "policy",
                    to_text(model::workflow::k_restart_policies[static_cast<std::size_t>(call.policy)]));
    if (call.step != nullptr)
        json::push_text(state, "step", call.step);
    if (call.below != nullptr)
        json::push_json(state, "below", call.below);
    if (JB_ROOT_COUNT(call.step_params) > 0)
        json::push_json(state, "step_params", call.step_params);
    if (call.skip_steps.empty())
        return;
    Growing<Jsonb *> steps;
    for (const text *step : call.skip_steps) {
        JsonbValue value = json::of_text(view(step));
        steps.add(json::to_jsonb(&value));
    }
    json::push_json(state, "skip_steps", json::array_of(steps.all()));
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
    const auto found = hold_last(head, call.instance);
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
