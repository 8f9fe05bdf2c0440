#include "plan/rerun.h"

#include "pg/error.h"
#include "pg/memory.h"
#include "plan/plans.h"
#include "store/plan/plans.h"
#include "task/resubmit.h"

namespace scylla {

using store::SpecRow;
using store::Store;

namespace {

struct Member {
    int64 task;
    bool again; // it runs again
};

Member *find(std::span<Member> members, int64 task) {
    auto *found = std::lower_bound(members.data(), members.data() + members.size(), task,
                                   [](const Member &member, int64 id) { return member.task < id; });
    return found != members.data() + members.size() && found->task == task ? found : nullptr;
}

bool is_completed(Store &store, int64 task) {
    const auto outcome = find_outcome(store, task);
    return outcome && outcome->status == model::Status::completed;
}

// Marks the tasks that depend on the first `count` of the list, directly or indirectly.
void mark_dependants(Store &store, std::span<Member> members, std::span<int64> list, std::size_t count) {
    const RowMemory memory = begin_row_memory();
    for (std::size_t i = 0; i < count; i++) {
        CHECK_FOR_INTERRUPTS();
        store::Scan scan = scan_dependants(store, list[i]);
        while (next(scan)) {
            Member *dependant = find(members, gate_row(scan).task);
            if (dependant == nullptr || dependant->again)
                continue;
            dependant->again = true;
            list[count++] = dependant->task;
        }
        end(scan);
        reset(memory);
    }
    end(memory);
}

// The tasks of a plan, by id, and which of them run again.
std::span<Member> find_members(Store &store, int64 plan, bool only_failed) {
    const auto ids = members_of(store, plan);
    const auto members = allocate<Member>(ids.size());
    const auto list = allocate<int64>(ids.size());
    std::size_t count = 0;
    const RowMemory memory = begin_row_memory();
    for (std::size_t i = 0; i < ids.size(); i++) {
        members[i] = {ids[i], !only_failed || !is_completed(store, ids[i])};
        if (members[i].again)
            list[count++] = ids[i];
        reset(memory);
    }
    end(memory);
    if (only_failed)
        mark_dependants(store, members, list, count);
    return members;
}

// The tasks that run again, with their specs. Tasks of a dropped queue are gone, even if they are not removed yet.
std::span<SpecRow> originals_of(Store &store, int64 plan, bool only_failed) {
    const auto members = find_members(store, plan, only_failed);
    const auto originals = allocate<SpecRow>(members.size());
    std::size_t count = 0;
    for (const Member &member : members)
        if (member.again)
            if (const auto spec = find_spec(store, member.task, store::With::spec);
                spec && queue_of(store, spec->queue).row)
                originals[count++] = *spec;
    return originals.first(count);
}

constinit RerunHook rerun_hook{}; // of jobs: other plans need none

} // namespace

void register_rerun(const RerunHook &hook) { rerun_hook = hook; }

text *rerun_plan(Store &store, const Rerun &rerun) {
    const store::PlanRow plan = require_plan(store, rerun.plan);
    if (plan.maker == store::PlanMaker::workflow)
        error::plan_of_run(rerun.plan);
    if (!plan.finished)
        error::plan_not_ended(rerun.plan);
    const bool by_job = plan.maker == store::PlanMaker::job;
    if (by_job && !rerun.only_failed)
        return rerun_hook.run_again(store, plan.id, rerun.new_name);
    const auto originals = originals_of(store, plan.id, rerun.only_failed);
    text *new_name = create_plan(rerun.new_name, store::plans::spec_of(plan.id).value_or(nullptr), plan.maker);
    CommandCounterIncrement();
    refresh(store);
    if (by_job)
        for (SpecRow &original : originals)
            original.spec = rerun_hook.spec_of_copy(original.spec, new_name);
    const CopyAs as{.plan = new_name, .again = !rerun.only_failed};
    if (copy_tasks(store, originals, as).empty())
        error::nothing_to_rerun(rerun.plan, rerun.only_failed);
    if (by_job)
        rerun_hook.copied(plan.id, new_name);
    open_plan(store, new_name);
    return new_name;
}

} // namespace scylla
