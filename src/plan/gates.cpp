#include "plan/gates.h"

#include "pg/memory.h"
#include "shmem/pending.h"
#include "store/plans.h"
#include "task/duty.h"
#include "task/gates.h"

namespace scylla {

using model::Status;
using store::Dirty;
using store::GateRow;
using store::Sight;
using store::Store;

namespace {

Verdict judge_plan(Dirty *dirty, const GateRow &gate) {
    store::PlanRow plan;
    if (see_plan(dirty, gate.provider, &plan) != Sight::present)
        return Verdict::in_doubt; // being opened
    return plan.opened ? Verdict::open : Verdict::closed;
}

bool has_plan(Dirty *dirty, int64 id) {
    store::PlanRow plan;
    return see_plan(dirty, id, &plan) != Sight::absent;
}

Reason describe_plan(Store &store, const GateRow &gate) {
    const text *name = store::plan_name(store, gate.provider);
    return {name != nullptr ? psprintf("plan %s", text_to_cstring(name)) : "a plan", std::nullopt, std::nullopt,
            "The plan has not been opened: open_plan() starts its tasks."};
}

// Whether a plan has a live task, searched for behind the member `after`, then from the first member. toll: the effect
// of the ended members on the plan, if none is live.
Sight see_live_member(Store &store, Dirty *dirty, int64 plan, int64 after, store::Toll *toll) {
    Status status;
    store::SpecRow spec; // gone if its queue was dropped
    if (const GateRow *before = recall_closed(store, plan);
        before != nullptr && see_outcome(dirty, before->task, &status) == Sight::absent &&
        see_spec(dirty, before->task, &spec) == Sight::present)
        return Sight::present;
    *toll = {};
    const RowMemory memory = begin_row_memory();
    Sight live = Sight::absent;
    const std::array<std::pair<int64, int64>, 2> ranges{{{after, PG_INT64_MAX}, {0, after + 1}}};
    for (const auto &[from, before] : ranges) {
        GateRow member;
        walk_dependants(dirty, plan, from, before);
        for (Sight sight; (sight = next_dependant(dirty, &member)) != Sight::absent; reset(memory)) {
            store::Ending ending;
            const Sight outcome = sight == Sight::in_doubt ? sight : see_ending(dirty, member.task, &ending);
            if (outcome == Sight::absent) {
                end(memory);
                remember_closed(store, plan, member);
                return Sight::present;
            }
            if (outcome == Sight::in_doubt)
                live = Sight::in_doubt;
            else {
                const store::Toll own = toll_of(ending);
                *toll = {toll->aborted || own.aborted, toll->cancelled || own.cancelled};
            }
        }
    }
    end(memory);
    return live;
}

// Finishes an open plan that has no live task.
Sight consider_plan(Store &store, Dirty *dirty, const store::Ended &ended, TimestampTz now, bool *changed) {
    store::PlanRow plan;
    const Sight sight = see_plan(dirty, ended.plan, &plan);
    if (sight != Sight::present)
        return Sight::in_doubt;
    if (!plan.opened || plan.finished || plan.maker == store::PlanMaker::workflow) // its engine finishes it
        return Sight::present;
    store::Toll toll{};
    switch (see_live_member(store, dirty, ended.plan, ended.id, &toll)) {
    case Sight::present:
        return Sight::present;
    case Sight::in_doubt:
        return Sight::in_doubt;
    case Sight::absent:
        break;
    }
    if (store::plans::finish(ended.plan, toll, now) == 0)
        return Sight::in_doubt; // another transaction is adding a task, or cancelling it
    shmem::note_plan_finished();
    *changed = true;
    return Sight::present;
}

constinit int64 looked_until = 0; // the walk continues behind this id of a plan; 0: from the start

void look_at_plans(Store &store, DutyTurn &turn) {
    bool changed = false;
    Dirty *dirty = begin_dirty(store);
    walk_portion(turn, &looked_until, scan_plans(store, looked_until), [&](const store::Scan &scan) {
        const store::PlanRow row = plan_row(scan);
        if (row.opened && !row.finished)
            consider_plan(store, dirty, {0, row.id}, turn.now, &changed);
        return row.id;
    });
    end(dirty);
    settle_gates(store, turn.now);
}

} // namespace

void register_plan_gates() {
    register_gates({.kind = store::GateKind::plan,
                    .judge = judge_plan,
                    .has = has_plan,
                    .describe = describe_plan,
                    .consider = consider_plan});
    register_duty(
        {.activity = "looking at plans", .work = look_at_plans, .share = 500, .is_second_way = true, .restart = [] {
             looked_until = 0;
         }});
}

void note_opened(Store &store, int64 plan) { store::note_ended(store, {plan, plan}); }

} // namespace scylla
