#include "workflow/actions.h"

#include "pg/error.h"
#include "pg/json.h"
#include "shmem/pending.h"
#include "store/workflow/actions.h"
#include "store/workflow/backfills.h"
#include "workflow/definitions.h"
#include "workflow/restarts.h"
#include "workflow/texts.h"

namespace scylla::workflow {

using model::workflow::Allowed;
using model::workflow::StepAction;
using model::workflow::StepStatus;

namespace {

// The names of an action in its row, on the agenda and in messages.
struct Words {
    const char *kind;
    const char *item;
    const char *done;
};
constexpr std::array<Words, 6> k_words{{{"stop", "stop", "stopped"},
                                        {"kill", "kill", "killed"},
                                        {"skip", "skip", "skipped"},
                                        {"resume", "resume", "resumed"},
                                        {"restart", "restart_step", "restarted"},
                                        {"bypass", "bypass", "bypassed"}}};

Words words_of(StepAction action) { return k_words[static_cast<std::size_t>(action)]; }

} // namespace

std::optional<int64> put_action(const Action &action) {
    const auto id =
        store::actions::add({.root = action.root,
                             .kind = action.kind,
                             .scope = action.scope,
                             .step = action.step,
                             .attempt = action.step == nullptr ? std::nullopt : std::optional(action.attempt),
                             .role = GetUserNameFromId(GetUserId(), false),
                             .item = action.item == nullptr ? action.kind : action.item,
                             .data = action.data});
    if (id)
        shmem::note_agenda();
    return id;
}

int64 end_all_runs(const text *workflow, const char *kind) {
    const Head head = require(workflow, Privilege::run);
    store::backfills::pause_of(head.id); // before their runs are looked for, so that none is started meanwhile
    const int64 count = store::actions::add_for_all(head.id, kind, GetUserNameFromId(GetUserId(), false));
    if (count > 0)
        shmem::note_agenda();
    return count;
}

void settle_actions(std::span<const int64> ids, TimestampTz now) {
    if (!ids.empty())
        store::actions::settle(ids, now);
}

void settle_actions_of(int64 root, TimestampTz now) { settle_actions(store::actions::pending_of(root), now); }

// ---- steps ---------------------------------------------------------------------------------------------------------

const char *show(const StepName &name) {
    char *numbers = pstrdup("");
    for (std::size_t i = 0; i < name.iterations.size(); i++)
        numbers = psprintf("%s%s" INT64_FORMAT, numbers, i == 0 ? "" : ",", name.iterations[i]);
    return psprintf("step \"%s\"%s of instance " INT64_FORMAT " of workflow \"%s\"", text_to_cstring(name.step),
                    *numbers == '\0' ? "" : psprintf(" {%s}", numbers), name.instance, text_to_cstring(name.workflow));
}

namespace {

const model::workflow::Definition &definition_for(const StepName &name, const LastRun &run) {
    check_stack_depth();
    const auto version = find_version(name.workflow, run.version);
    if (!version)
        error::no_such_step(name.workflow, run.version, name.step);
    return definition_of(*version);
}

model::workflow::LoopsAround loops_for(const StepName &name, const LastRun &run) {
    const auto loops = model::workflow::loops_around(definition_for(name, run), view(name.step));
    if (!loops)
        error::no_such_step(name.workflow, run.version, name.step);
    return *loops;
}

constexpr store::steps::Iteration k_none{0, false};

// The run, or the iteration that the step is in. id 0: an iteration around the step has not begun.
store::steps::Iteration find_scope(const StepName &name, const LastRun &run) {
    const std::optional loops = loops_for(name, run);
    if (loops->count != name.iterations.size())
        error::bad_argument("iterations", psprintf("%zu numbers", name.iterations.size()),
                            psprintf("The step is in %zu loops: it must have the number of an iteration of each, the "
                                     "outer one first.",
                                     loops->count));
    store::steps::Iteration scope{run.id, false};
    for (std::size_t i = 0; i < loops->count && scope.id != 0; i++) {
        if (name.iterations[i] < 1)
            error::no_such_iteration(show(name));
        scope = store::steps::find_iteration(scope.id, loops->ids[i], name.iterations[i]).value_or(k_none);
    }
    return scope;
}

} // namespace

StepNow step_now(int64 scope, const text *step) {
    return store::steps::state(scope, step).value_or(StepNow{StepStatus::not_created, 0});
}

StepPlace place_in(const StepName &name, const LastRun &run) {
    const store::steps::Iteration scope = find_scope(name, run);
    const StepNow step = scope.id == 0 ? StepNow{StepStatus::not_created, 0} : step_now(scope.id, name.step);
    return {run.id, run.run, scope.id, scope.ended, step.status, step.attempt};
}

// The view of actions also shows such an action, with the status of the new run.
int64 put_restart(const Action &action, int32 run, const text *status) {
    return store::actions::add_done({.root = action.root,
                                     .run = run,
                                     .kind = action.kind,
                                     .scope = action.scope,
                                     .step = action.step,
                                     .attempt = action.attempt,
                                     .role = GetUserNameFromId(GetUserId(), false),
                                     .outcome = status});
}

namespace {

std::optional<int64> skip_after_end(const StepName &name, const LastRun &run) {
    const StepPlace place = place_in(name, run);
    const Allowed allowed = allows_after_end(place.status, StepAction::skip);
    if (allowed == Allowed::already)
        return std::nullopt;
    if (place.status == StepStatus::not_created)
        error::step_not_created(show(name));
    if (allowed == Allowed::no)
        error::step_refuses(show(name), model::workflow::name_of(place.status), words_of(StepAction::skip).done);
    const Restarted restarted = restart_with_ancestors({.workflow = name.workflow,
                                                        .instance = name.instance,
                                                        .policy = model::workflow::RestartPolicy::from_specific,
                                                        .step = name.step,
                                                        .params = json::empty_object(),
                                                        .step_params = json::empty_object(),
                                                        .skip_steps = {&name.step, 1},
                                                        .initiator = name.initiator},
                                                       false);
    if (restarted.action != 0)
        return restarted.action;
    return put_restart({.root = run.id,
                        .kind = words_of(StepAction::skip).kind,
                        .scope = place.scope,
                        .step = name.step,
                        .attempt = place.attempt},
                       run.run, restarted.status);
}

} // namespace

StepPlace find_place(const StepName &name) {
    const LastRun run = require_last(name.workflow, name.instance);
    if (run.ended)
        error::instance_ended(name.workflow, name.instance);
    return place_in(name, run);
}

std::optional<int64> act_on_step(const StepName &name, StepAction action) {
    const LastRun run = require_last(name.workflow, name.instance);
    if (run.ended && action == StepAction::skip && name.iterations.empty())
        return skip_after_end(name, run);
    if (run.ended)
        error::instance_ended(name.workflow, name.instance);
    const StepPlace place = place_in(name, run);
    if (place.scope == 0)
        error::no_such_iteration(show(name));
    const Allowed allowed = allows(place.status, action);
    if (allowed == Allowed::already)
        return std::nullopt;
    if (place.status == StepStatus::not_created)
        error::step_not_created(show(name));
    if (allowed == Allowed::no || place.ended)
        error::step_refuses(show(name), model::workflow::name_of(place.status), words_of(action).done);
    const auto id = put_action({.root = place.root,
                                .kind = words_of(action).kind,
                                .item = words_of(action).item,
                                .scope = place.scope,
                                .step = name.step,
                                .attempt = place.attempt});
    if (!id)
        error::action_pending(show(name));
    return id;
}

} // namespace scylla::workflow
