// Restarts that begin at an ancestor: at the outer loop of a step, or at the runs that wait for a run. The
// way up builds a path from the requested step or instance to the topmost ancestor that has ended, or to the nearest
// live one. On the way down, each ancestor takes its part of the path and passes the rest to what it restarts.
#include "pg/error.h"
#include "pg/growing.h"
#include "pg/json.h"
#include "workflow/new_run.h"
#include "workflow/restarts.h"
#include "workflow/texts.h"

namespace scylla::workflow {

using model::workflow::Allowed;
using model::workflow::RestartPolicy;
using model::workflow::RunStatus;
using model::workflow::StepAction;
using model::workflow::StepStatus;
using store::steps::Level;

namespace {

// ---- paths ---------------------------------------------------------------------------------------------------------

Jsonb *path_of_instance(const RestartCall &call) {
    json::Builder object = json::build_object();
    object.member("workflow", call.workflow);
    object.member("instance", json::of_whole(call.instance));
    if (JB_ROOT_COUNT(call.params) > 0)
        object.member("params", call.params);
    push_restart(object, call);
    return object.finish();
}

Jsonb *path_of_iteration(int64 number, const text *step, Jsonb *below) {
    json::Builder object = json::build_object();
    object.member("iteration", json::of_whole(number));
    object.member("step", step);
    if (below != nullptr)
        object.member("below", below);
    return object.finish();
}

// ---- in one run ----------------------------------------------------------------------------------------------------

// A run with the path of what runs again in it, so far.
struct Ascent {
    const text *workflow;
    int64 instance;
    LastRun run;
    const text *step;
    int64 scope; // that the step is in: the run, or an iteration
    Jsonb *below;
};

// The inner one first.
std::span<const Level> levels_of(const Ascent &at) {
    if (at.scope == at.run.id)
        return {};
    return store::steps::levels(at.scope);
}

// The step, for a message. levels: around the step.
const char *show_step(const Ascent &at, std::span<const Level> levels) {
    Growing<int64> numbers;
    for (std::size_t i = levels.size(); i > 0; i--)
        numbers.add(levels[i - 1].number);
    return show({.workflow = at.workflow, .instance = at.instance, .step = at.step, .iterations = numbers.all()});
}

[[noreturn]] void refuse(const Ascent &at, std::span<const Level> levels, StepStatus status) {
    error::step_refuses(show_step(at, levels), model::workflow::name_of(status), "restarted");
}

bool repeats(const Ascent &at, const text *loop) {
    const auto version = find_version(at.workflow, at.run.version);
    const auto around = model::workflow::loops_around(definition_of(*version), view(at.step));
    if (around)
        for (std::size_t i = 0; i < around->count; i++)
            if (around->ids[i] == view(loop))
                return around->repeats[i];
    return false;
}

// The step is in a live scope: the engine restarts it there.
int64 put_step(const Ascent &at, std::span<const Level> levels) {
    const StepNow now = step_now(at.scope, at.step);
    const auto version = find_version(at.workflow, at.run.version);
    const bool held = at.run.begun && is_held_back(definition_of(*version), steps_of(at.scope), view(at.step));
    if (!at.run.begun || (now.status == StepStatus::not_created && !held))
        error::step_not_created(show_step(at, levels));
    if (!held && allows(now.status, StepAction::restart) != Allowed::yes)
        refuse(at, levels, now.status);
    const auto id = put_action({.root = at.run.id,
                                .kind = "restart",
                                .item = "restart_step",
                                .scope = at.scope,
                                .step = at.step,
                                .attempt = now.attempt,
                                .data = at.below});
    if (!id)
        error::action_pending(show_step(at, levels));
    return *id;
}

// The step is in an iteration that has ended, in a live loop.
int64 put_iteration(const Ascent &at, std::span<const Level> levels) {
    const StepNow now = step_now(at.scope, at.step);
    if (levels[0].status == RunStatus::succeeded || repeats(at, levels[0].loop))
        refuse(at, levels, now.status);
    const auto id = put_action({.root = at.run.id,
                                .kind = "restart",
                                .item = "restart_inside",
                                .scope = at.scope,
                                .step = at.step,
                                .attempt = now.attempt,
                                .data = path_of_iteration(levels[0].number, at.step, at.below)});
    if (!id)
        error::action_pending(show_step(at, levels));
    return *id;
}

RestartCall call_of(const Ascent &at, Jsonb *initiator) {
    return {.workflow = at.workflow,
            .instance = at.instance,
            .policy = RestartPolicy::from_specific,
            .step = at.step,
            .params = json::empty_object(),
            .step_params = json::empty_object(),
            .skip_steps = {},
            .initiator = initiator,
            .below = at.below};
}

// Ascends to the first live scope. Returns the action on it; 0: the whole run has ended, and `at` is a step of the run
// itself.
int64 ascend(Ascent &at) {
    std::span<const Level> levels = levels_of(at);
    for (; !levels.empty(); levels = levels.subspan(1)) {
        const Level &level = levels[0];
        if (!at.run.ended && !level.ended)
            return put_step(at, levels);
        if (level.status == RunStatus::succeeded && repeats(at, level.loop))
            refuse(at, levels, step_now(at.scope, at.step).status);
        require_sound_restart(call_of(at, nullptr), {.scope = at.scope, .version = at.run.version, .loop = level.loop});
        const bool is_in_live = levels.size() == 1 || !levels[1].ended;
        if (!at.run.ended && is_in_live && level.of_loop == StepStatus::running)
            return put_iteration(at, levels);
        at.below = path_of_iteration(level.number, at.step, at.below);
        at.step = level.loop;
        at.scope = level.parent;
    }
    return at.run.ended ? 0 : put_step(at, levels);
}

// ---- from run to run -----------------------------------------------------------------------------------------------

// The run whose step has started the last run of an instance and waits for it. Nothing: there is none, or its step has
// started another instance since, or it has been purged.
std::optional<Ascent> find_above(const RestartCall &call, const LastRun &last) {
    if (last.parent_root == 0)
        return std::nullopt;
    const auto found = store::runs::above({.root = last.parent_root,
                                           .scope = last.parent_scope,
                                           .step = last.parent_step,
                                           .workflow = call.workflow,
                                           .instance = call.instance});
    if (!found)
        return std::nullopt;
    return Ascent{found->workflow, found->instance, found->run, last.parent_step, last.parent_scope, nullptr};
}

Restarted made(const RestartCall &call, const Started &started) {
    return {started.code, call.workflow, call.instance, started.run, started.status, 0};
}

// Nothing: a concurrent change has invalidated what was found.
std::optional<Restarted> climb(const RestartCall &call, const LastRun &last) {
    CHECK_FOR_INTERRUPTS();
    check_stack_depth();
    auto above = find_above(call, last);
    if (!above) {
        const auto started = try_restart(call);
        return started ? std::optional(made(call, *started)) : std::nullopt;
    }
    (void)require(above->workflow, Privilege::run);
    require_sound_restart(call, {.scope = last.id, .version = last.version});
    above->below = path_of_instance(call);
    if (const int64 action = ascend(*above))
        return Restarted{2, above->workflow, above->instance, above->run.run, cstring_to_text("IN_PROGRESS"), action};
    return climb(call_of(*above, call.initiator), above->run);
}

} // namespace

RestartCall on_path(const RestartCall &call, Jsonb *below) {
    RestartCall on = call;
    Growing<const text *> skipped;
    on.is_exact = true;
    json::for_each_member(&below->root, [&](const char *name, JsonbValue *value) {
        const std::string_view word(name);
        if (word == "step")
            on.step = json::to_text(name, value);
        else if (word == "below")
            on.below = json::to_jsonb(value);
        else if (word == "params")
            on.given = json::to_jsonb(value);
        else if (word == "step_params")
            on.step_params = json::to_jsonb(value);
        else if (word == "policy")
            for (std::size_t i = 0; i < model::workflow::k_restart_policies.size(); i++)
                if (view(json::to_text(name, value)) == model::workflow::k_restart_policies[i])
                    on.policy = static_cast<RestartPolicy>(i);
        if (word != "skip_steps")
            return;
        JsonbIterator *iterator = JsonbIteratorInit(value->val.binary.data);
        JsonbValue step;
        for (auto token = JsonbIteratorNext(&iterator, &step, true); token != WJB_DONE;
             token = JsonbIteratorNext(&iterator, &step, true))
            if (token == WJB_ELEM)
                skipped.add(json::to_text(name, &step));
    });
    on.skip_steps = skipped.all();
    return on;
}

Restarted restart_with_ancestors(const RestartCall &call, bool alone) {
    if (alone)
        return made(call, restart(call));
    for (;;) {
        const LastRun last = require_last(call.workflow, call.instance);
        if (!last.ended)
            error::instance_runs(call.workflow, call.instance);
        if (const auto restarted = climb(call, last))
            return *restarted;
    }
}

int64 restart_step(const StepName &name, bool alone) {
    const LastRun run = require_last(name.workflow, name.instance);
    const StepPlace place = place_in(name, run);
    if (place.scope == 0)
        error::no_such_iteration(show(name));
    const auto version = find_version(name.workflow, run.version);
    const bool held = is_held_back(definition_of(*version), steps_of(place.scope), view(name.step));
    if (run.ended && !held && place.status == StepStatus::not_created)
        error::step_not_created(show(name));
    if (run.ended && !held && allows_after_end(place.status, StepAction::restart) == Allowed::no)
        error::step_refuses(show(name), model::workflow::name_of(place.status), "restarted");
    Ascent at{name.workflow, name.instance, run, name.step, place.scope, nullptr};
    if (const int64 action = ascend(at))
        return action;
    const Restarted restarted = restart_with_ancestors(call_of(at, name.initiator), alone);
    if (restarted.action != 0)
        return restarted.action;
    return put_restart(
        {.root = run.id, .kind = "restart", .scope = place.scope, .step = name.step, .attempt = place.attempt}, run.run,
        restarted.status);
}

} // namespace scylla::workflow
