// Takes away what steps have begun: tasks, subworkflows, iterations. Whoever ends these first decides how the step
// ends: nothing here waits for another transaction, and nothing ends a step whose work has ended in another way.
#include "pg/memory.h"
#include "plan/plans.h"
#include "store/workflow/work.h"
#include "task/release.h"
#include "workflow/events.h"
#include "workflow/texts.h"
#include "workflow/turns.h"

namespace scylla::workflow {

using model::workflow::Need;
using model::workflow::Scope;
using store::work::LiveIteration;
using store::work::LiveStep;

namespace {

// ---- a task --------------------------------------------------------------------------------------------------------

// Cancels the task of a step. False: another transaction is changing it, or it has ended, which its event tells.
bool end_task(store::Store &store, int64 task, TimestampTz now) {
    if (task == 0)
        return true;
    const auto spec = find_spec(store, task, store::With::no_spec);
    return !spec || try_cancel_task(store, *spec, now) == Cancelling::done;
}

// ---- a subworkflow -------------------------------------------------------------------------------------------------

// Has the runs stop that the step has started. False: they have not ended, or otherwise, which their event tells.
bool end_children(const Root &root, int64 scope, std::string_view step, int32 attempt) {
    bool all = true;
    for (const store::work::Child &run : store::work::children(scope, step)) {
        if (run.is_live && !run.is_told)
            stop_run(run.id,
                     psprintf("Step \"%s\" of instance " INT64_FORMAT
                              " of workflow \"%s\", which started this run, has ended.",
                              text_to_cstring(to_text(step)), root.instance, text_to_cstring(root.version.workflow)));
        all = all && !run.is_live && (run.stopped || run.attempt != attempt);
    }
    return all;
}

// ---- iterations ----------------------------------------------------------------------------------------------------

// Whether an iteration of the loop lives, other than those of the turn.
bool has_iterations(const Root &root, const Need &loop) {
    Growing<int64> known;
    for (const Scope &scope : root.scopes.all())
        known.add(scope.id);
    return store::work::has_live_iterations(loop.scope, loop.step, known.all());
}

std::span<const LiveStep> steps_of(std::span<const LiveIteration> iterations) {
    Growing<int64> scopes;
    for (const LiveIteration &each : iterations)
        scopes.add(each.id);
    return store::work::live_steps(scopes.all());
}

// What is inside of a loop that ends.
class Inside {
public:
    Inside(store::Store &store, const Root &root, TimestampTz now) : store_{store}, root_{root}, now_{now} {}

    // Those inside of the loop, which stays until they have all ended.
    void end(int64 scope, std::string_view loop) {
        const auto iterations = store::work::live_iterations(scope, loop);
        if (iterations.empty())
            return;
        const auto steps = steps_of(iterations);
        for (const LiveIteration &each : iterations) {
            CHECK_FOR_INTERRUPTS();
            const auto [from, to] =
                std::equal_range(steps.begin(), steps.end(), LiveStep{each.id, {}, 0, 0, false, false},
                                 [](const LiveStep &one, const LiveStep &other) { return one.scope < other.scope; });
            bool all = true;
            for (auto step = from; step != to; ++step)
                all = end(*step) && all;
            if (all) {
                ended_.add(each.id);
                left_.add({root_.id, each.id, {}});
            } else {
                held_.add(each);
            }
        }
        leave_waits(left_.all());
        if (steps_.size() > 0)
            store::work::stop_steps(steps_.all(), now_, root_.records ? event_position() : 0);
        if (ended_.size() == 0)
            return;
        store::work::stop_iterations(ended_.all(), now_);
        for (std::size_t i = 0; i < held_.count; i++)
            if (!is_of(held_[i], scope, loop) && std::none_of(held_.at, held_.at + i, [&](const LiveIteration &before) {
                    return is_of(held_[i], before.parent, before.loop);
                }))
                store::work::recount(held_[i].parent, held_[i].loop);
        for (const store::work::Loop &each : store::work::loops_around(scope, to_text(loop)))
            store::work::recount(each.scope, each.step);
    }

private:
    static bool is_of(const LiveIteration &iteration, int64 scope, std::string_view loop) {
        return iteration.parent == scope && iteration.loop == loop;
    }

    bool end(const LiveStep &step) {
        const bool held = std::any_of(held_.all().begin(), held_.all().end(),
                                      [&](const LiveIteration &of) { return is_of(of, step.scope, step.step); });
        if (held || step.finishing || !end_task(store_, step.task, now_) ||
            (step.has_children && !end_children(root_, step.scope, step.step, step.attempt)))
            return false;
        steps_.add({.scope = step.scope, .step = step.step});
        left_.add({root_.id, step.scope, step.step});
        return true;
    }

    store::Store &store_;
    const Root &root_;
    TimestampTz now_;
    Growing<LiveIteration> held_{};
    Growing<LeftStep> left_{};
    Growing<store::work::Step> steps_{};
    Growing<int64> ended_{};
};

} // namespace

bool end_work(store::Store &store, const Root &root, std::span<const StoredStep> steps, const Need &need,
              TimestampTz now) {
    if (need.inner == model::workflow::work::iterations)
        return !has_iterations(root, need);
    const auto row = std::find_if(steps.begin(), steps.end(), [&](const StoredStep &of) {
        return of.scope == need.scope && of.step.id == need.step;
    });
    if (row == steps.end())
        return true;
    if (need.inner == model::workflow::work::subworkflow)
        return end_children(root, need.scope, need.step, row->step.attempt);
    return end_task(store, row->task, now);
}

void end_iterations(store::Store &store, const Root &root, int64 scope, std::string_view step, TimestampTz now) {
    Inside(store, root, now).end(scope, step);
}

bool end_tasks(store::Store &store, int64 plan, TimestampTz now) {
    bool all = true;
    for (const int64 task : members_of(store, plan))
        if (const auto spec = find_spec(store, task, store::With::no_spec))
            all = try_cancel_task(store, *spec, now) != Cancelling::busy && all;
    return all;
}

} // namespace scylla::workflow
