// How a run begins: its number, its parameters, and its run strategy.
#include "pg/error.h"
#include "pg/growing.h"
#include "pg/identity.h"
#include "pg/json.h"
#include "store/plans.h"
#include "store/workflow/backfills.h"
#include "store/workflow/workflows.h"
#include "task/names.h"
#include "workflow/actions.h"
#include "workflow/backfills.h"
#include "workflow/definition_cache.h"
#include "workflow/definitions.h"
#include "workflow/events.h"
#include "workflow/new_run.h"
#include "workflow/permits.h"
#include "workflow/run_limits.h"
#include "workflow/runs.h"
#include "workflow/server_world.h"
#include "workflow/texts.h"

namespace scylla::workflow {

using model::workflow::Outcome;
using model::workflow::Rule;
using model::workflow::RunStatus;

namespace runs = store::runs;

namespace {

// The result of an earlier request with this request_id.
std::optional<Started> find_request(const Start &request) {
    if (request.request_id == nullptr)
        return std::nullopt;
    const auto found = runs::find_request(request.workflow, request.request_id);
    if (!found)
        return std::nullopt;
    return Started{.code = 0, .instance = found->instance, .run = found->run, .status = found->status, .id = found->id};
}

// ---- parameters ----------------------------------------------------------------------------------------------------

// The model's result, freed with the memory context if an error is raised first.
struct Held {
    Outcome outcome;
    MemoryContextCallback callback;
};

Held *hold_outcome() {
    auto *held = static_cast<Held *>(palloc0(sizeof(Held)));
    held->callback.func = [](void *arg) { model::workflow::release(static_cast<Held *>(arg)->outcome); };
    held->callback.arg = held;
    MemoryContextRegisterResetCallback(CurrentMemoryContext, &held->callback);
    return held;
}

void fail(NewRun &made, const char *fault) {
    made.fault = fault;
    made.params = json::empty_object();
}

} // namespace

void evaluate_params(NewRun &made, Jsonb *before, bool keep_failed) {
    const auto version = find_version(made.head->id, made.version);
    const auto &definition = definition_of(*version);
    check_stack_depth();
    Held *held = hold_outcome();
    ServerWorld world;
    const model::workflow::RunName name{.workflow = view(made.head->id),
                                        .instance = made.instance,
                                        .run = made.run,
                                        .initiator = json_text(made.initiator),
                                        .properties = json_text(made.properties),
                                        .restart = json_text(made.restart),
                                        .limits = run_limits()};
    const auto limits = keep_failed || pace.in_engine ? turn_limits() : request_limits();
    (void)pace.may_begin();
    const std::string_view request = json_text(made.request);
    held->outcome = before == nullptr
                        ? evaluate_run_params(definition, name, request, world, limits)
                        : evaluate_restart_params(definition, name, json_text(before), request, world, limits);
    world.raise_seen();
    const char *text = pnstrdup(held->outcome.text.data(), held->outcome.text.size());
    const bool sound = held->outcome.kind == model::sel::OutcomeKind::value;
    pace.is_slow = held->outcome.kind == model::sel::OutcomeKind::not_yet;
    model::workflow::release(held->outcome);
    if (pace.is_slow)
        error::too_slow_for_now();
    if (!sound && !keep_failed)
        error::bad_params(text_to_cstring(made.head->id), text);
    if (!sound)
        return fail(made, text);
    made.params = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(text)));
}

namespace {

// ---- strategies ----------------------------------------------------------------------------------------------------

// A run that this transaction has made, and that nobody else knows of.
void stop_new_run(const NewRun &by, int64 id, const char *why) {
    const TimestampTz now = GetCurrentTimestamp();
    const runs::StoppedRun stopped = runs::stop_new(id, now, error_saying(why));
    (void)store::plans::finish(id, {.aborted = false, .cancelled = true}, now);
    leave_tree_permits(stopped.permits);
    if (records_events(by.head->properties))
        record({.workflow = by.head->id,
                .owner = by.head->owner,
                .kind = "run",
                .instance = stopped.instance,
                .run = stopped.run,
                .version = stopped.version,
                .old_status = name_of(RunStatus::created),
                .status = name_of(RunStatus::stopped)});
}

} // namespace

Applied apply_strategy(const NewRun &made) {
    const Rule rule = made.head->strategy.rule;
    if (rule != Rule::first_only && rule != Rule::last_only && rule != Rule::serial_latest_only)
        return {};
    const auto live = runs::live(made.head->id);
    if (rule == Rule::first_only)
        return {.stopped = !live.empty()};
    const std::string_view name = model::workflow::name(rule);
    const char *why = psprintf("Run %d of instance " INT64_FORMAT " was started, and the run strategy is %.*s.",
                               made.run, made.instance, static_cast<int>(name.size()), name.data());
    Applied applied{};
    for (const runs::Live &other : live) {
        if (!other.is_queued && rule != Rule::last_only)
            continue;
        const bool is_new = other.id == made.before;
        applied.replaces = applied.replaces || is_new;
        if (is_new)
            stop_new_run(made, other.id, why);
        else
            stop_run(other.id, why);
    }
    return applied;
}

void record_new_run(const NewRun &made, RunStatus status) {
    if (records_events(made.head->properties))
        record({.workflow = made.head->id,
                .owner = made.head->owner,
                .kind = "run",
                .instance = made.instance,
                .run = made.run,
                .version = made.version,
                .status = name_of(status)});
}

namespace {

// ---- rows ----------------------------------------------------------------------------------------------------------

Jsonb *plan_spec(const NewRun &made) {
    json::Builder object = json::build_object();
    object.member("workflow", made.head->id);
    object.member("instance", json::of_whole(made.instance));
    object.member("run", json::of_whole(made.run));
    return object.finish();
}

} // namespace

int64 make_plan(const NewRun &made) {
    const Identity before = become(get_role_oid(made.head->owner, false));
    const TimestampTz now = GetCurrentTimestamp();
    const char *name = psprintf("%s%s/" INT64_FORMAT "/%d", store::k_run_prefix.data(), text_to_cstring(made.head->id),
                                made.instance, made.run);
    Jsonb *spec = plan_spec(made);
    auto id = store::insert_plan(cstring_to_text(name), spec, store::PlanMaker::workflow);
    if (!id) // made before such names were reserved for runs
        id = store::insert_plan(make_up_name(now), spec, store::PlanMaker::workflow);
    store::plans::open(*id, now);
    restore(before);
    return *id;
}

namespace {

// Why a run has ended at its start.
Jsonb *error_of(const NewRun &made) {
    return error_saying(made.fault != nullptr ? made.fault
                                              : "Another run has not ended, and the run strategy is FIRST_ONLY.");
}

bool has_step_params(const Start &request) {
    return request.step_params != nullptr && JB_ROOT_COUNT(request.step_params) > 0;
}

text *insert_run(const NewRun &made, const Start &request, int64 id, RunStatus status) {
    const bool ended = status != RunStatus::created;
    const Parent &parent = request.parent;
    text *written = runs::add({.id = id,
                               .instance = made.instance,
                               .run = made.run,
                               .version = made.version,
                               .workflow = made.head->id,
                               .owner = made.head->owner,
                               .request_id = request.request_id,
                               .initiator = request.initiator,
                               .properties = made.properties,
                               .request = request.params,
                               .params = made.params,
                               .now = GetCurrentTimestamp(),
                               .parent_root = parent.root,
                               .parent_scope = parent.scope,
                               .parent_step = parent.step,
                               .parent_attempt = parent.attempt,
                               .status = status,
                               .ended = ended,
                               .error = ended ? error_of(made) : nullptr,
                               .blocks = status == RunStatus::failed,
                               .backfill = request.backfill,
                               .late = request.late,
                               .permits = ended ? nullptr : tree_permits(made, parent.root),
                               .step_params = has_step_params(request) ? request.step_params : nullptr});
    if (ended)
        store::plans::finish(id, {.aborted = status == RunStatus::failed, .cancelled = status != RunStatus::failed},
                             GetCurrentTimestamp());
    else
        put_on_agenda({.root = id, .kind = "next", .line = line_of(made.head->owner)});
    return written;
}

} // namespace

Started start(const Start &request) {
    const Head head = hold(request.workflow, Privilege::run);
    if (const auto before = find_request(request))
        return *before;
    NewRun made{.head = &head,
                .version = pick_version(head, request.version),
                .instance = head.latest_instance + 1,
                .run = 1,
                .initiator = request.initiator,
                .properties = head.properties,
                .request = request.params,
                .before = request.before};
    if (has_step_params(request)) {
        require_steps(head.id, made.version, request.step_params);
        Growing<Jsonb *> given;
        json::for_each_member(&request.step_params->root,
                              [&](const char * /*step*/, JsonbValue *value) { given.add(json::to_jsonb(value)); });
        require_sound_names(head.id, given.all());
    }
    if (request.fault == nullptr)
        evaluate_params(made, nullptr, request.keep_failed);
    else
        fail(made, request.fault);
    const Applied applied = made.fault == nullptr ? apply_strategy(made) : Applied{};
    if (store::workflows::take_instance(head.id) != made.instance)
        elog(ERROR, "the number of the last instance of workflow \"%s\" has changed", text_to_cstring(head.id));
    const RunStatus status = made.fault != nullptr ? RunStatus::failed
                             : applied.stopped     ? RunStatus::stopped
                                                   : RunStatus::created;
    const int64 id = make_plan(made);
    text *written = insert_run(made, request, id, status);
    record_new_run(made, status);
    return {applied.stopped ? -1 : 1, made.instance, made.run, written, id, applied.replaces};
}

void leave_runs(const text *workflow) {
    const auto live = runs::live(workflow);
    if (!live.empty())
        error::workflow_runs(workflow, static_cast<int64>(live.size()));
    store::backfills::remove_of(workflow);
    runs::leave(workflow);
}

LastRun require_last(const text *workflow, int64 instance) {
    const Head head = require(workflow, Privilege::run);
    const auto last = runs::last(head.id, instance);
    if (!last)
        error::no_such_instance(workflow, instance);
    return *last;
}

void end_run(const text *workflow, int64 instance, const char *kind) {
    const LastRun last = require_last(workflow, instance);
    if (last.ended &&
        runs::has_status(last.id, std::string_view(kind) == "stop" ? RunStatus::stopped : RunStatus::failed))
        return;
    if (last.ended)
        error::instance_ended(workflow, instance);
    (void)put_action({.root = last.id, .kind = kind});
}

void unblock(const text *workflow, int64 instance) {
    const LastRun last = require_last(workflow, instance);
    if (!last.may_block)
        error::instance_not_failed(workflow, instance);
    runs::unblock(last.id);
    put_on_agenda({.root = last.id, .kind = "next"});
}

int64 unblock_all(const text *workflow) {
    const Head head = require(workflow, Privilege::run);
    const auto ids = runs::unblock_all(head.id);
    if (!ids.empty())
        put_on_agenda({.root = ids[0], .kind = "next"});
    return static_cast<int64>(ids.size());
}

void require_switch(const Head &head, Rule rule) {
    if (rule == head.strategy.rule)
        return;
    const bool single = rule == Rule::first_only || rule == Rule::last_only;
    const auto live = single ? static_cast<int64>(runs::live(head.id).size()) : 0;
    if (live > 1)
        error::strategy_with_runs(head.id, model::workflow::name(rule), live, "have not ended");
    const int64 blocking = rule == Rule::strict_sequential ? runs::count_blocking(head.id) : 0;
    if (blocking > 0)
        error::strategy_with_runs(head.id, model::workflow::name(rule), blocking, "have failed or block others");
}

void look_at_queue(const text *workflow) {
    for (const runs::Live &run : runs::live(workflow))
        if (run.is_queued)
            return put_on_agenda({.root = run.id, .kind = "next"});
}

} // namespace scylla::workflow
