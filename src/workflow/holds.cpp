#include "workflow/holds.h"

#include "pg/error.h"
#include "pg/json.h"
#include "shmem/pending.h"
#include "store/workflow/agenda.h"
#include "store/workflow/holds.h"
#include "workflow/definitions.h"
#include "workflow/texts.h"

namespace scylla::workflow {

using model::workflow::StepAction;
using model::workflow::StepStatus;

namespace {

void put(const store::holds::Hold &hold) { store::holds::put(hold, GetUserNameFromId(GetUserId(), false)); }

store::holds::Hold hold_of(const Breakpoint &breakpoint) {
    return {.workflow = breakpoint.workflow,
            .kind = "breakpoint",
            .step = breakpoint.step,
            .version = breakpoint.version,
            .instance = breakpoint.instance,
            .run = breakpoint.run,
            .iterations = std::span<const int64>{}};
}

store::holds::Hold hold_of(const StepName &name, const StepPlace &place) {
    return {.workflow = name.workflow,
            .kind = "pause",
            .step = name.step,
            .version = 0,
            .instance = name.instance,
            .run = place.run,
            .iterations = name.iterations};
}

store::holds::Hold hold_of(const text *workflow) {
    return {.workflow = workflow,
            .kind = "workflow",
            .step = "",
            .version = 0,
            .instance = 0,
            .run = 0,
            .iterations = std::span<const int64>{}};
}

} // namespace

// ---- breakpoints ---------------------------------------------------------------------------------------------------

namespace {

// The version that must have the step.
int32 version_of(const Head &head, const Breakpoint &breakpoint) {
    if (breakpoint.version != 0)
        return pick_version(head, cstring_to_text(psprintf("%d", breakpoint.version)));
    return breakpoint.instance != 0 ? require_last(breakpoint.workflow, breakpoint.instance).version
                                    : pick_version(head, cstring_to_text("default"));
}

// Lets steps continue that have stopped at the breakpoint, in the runs that it applies to.
void release_all(const Breakpoint &breakpoint) {
    store::agenda::add_released({.workflow = breakpoint.workflow,
                                 .step = breakpoint.step,
                                 .version = breakpoint.version,
                                 .instance = breakpoint.instance,
                                 .run = breakpoint.run});
    shmem::note_agenda();
}

} // namespace

void set_breakpoint(const Breakpoint &breakpoint) {
    const Head head = hold(breakpoint.workflow, Privilege::run);
    const int32 version = version_of(head, breakpoint);
    const auto named = find_version(breakpoint.workflow, version);
    if (!named || !model::workflow::loops_around(definition_of(*named), view(breakpoint.step)))
        error::no_such_step(breakpoint.workflow, version, breakpoint.step);
    put(hold_of(breakpoint));
}

void drop_breakpoint(const Breakpoint &breakpoint, bool resume) {
    (void)hold(breakpoint.workflow, Privilege::run); // no run can begin meanwhile, and be missed below
    if (store::holds::remove(hold_of(breakpoint)) == 0)
        error::no_such_breakpoint(breakpoint.workflow, breakpoint.step);
    if (resume)
        release_all(breakpoint);
}

// ---- single steps --------------------------------------------------------------------------------------------------

namespace {

// The iterations of released steps, in their form on the agenda.
Jsonb *numbers_json(std::span<const int64> iterations) {
    json::Builder list = json::build_array();
    for (const int64 number : iterations)
        list.element(json::of_whole(number));
    return list.finish();
}

} // namespace

void pause_step(const StepName &name) {
    (void)hold(name.workflow, Privilege::run);
    const StepPlace place = find_place(name);
    if (place.ended || !can_pause(place.status))
        error::step_refuses(show(name), model::workflow::name_of(place.status), "paused");
    put(hold_of(name, place));
}

std::optional<int64> resume_step(const StepName &name) {
    const StepPlace place = find_place(name);
    const bool was_to_pause = store::holds::remove(hold_of(name, place)) > 0;
    if (place.status == StepStatus::paused || !was_to_pause)
        return act_on_step(name, StepAction::resume);
    // If the engine is pausing the step at this moment, the step continues.
    put_on_agenda({.root = place.root, .kind = "released", .step = name.step, .data = numbers_json(name.iterations)});
    return std::nullopt;
}

// ---- workflows -----------------------------------------------------------------------------------------------------

void pause_workflow(const text *id) {
    (void)hold(id, Privilege::run);
    put(hold_of(id));
}

// All runs of the workflow check again, also those that the engine is holding back at this moment. No run can begin
// meanwhile, and be missed.
void resume_workflow(const text *id) {
    (void)hold(id, Privilege::run);
    if (store::holds::remove(hold_of(id)) == 0)
        return;
    store::agenda::add_unpaused(id);
    shmem::note_agenda();
}

} // namespace scylla::workflow
