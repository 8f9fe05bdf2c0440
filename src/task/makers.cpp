#include "task/makers.h"

#include "pg/growing.h"
#include "store/catalog.h"

namespace scylla {

using store::Store;

namespace {

constinit std::array<CompletionHook, 3> completion_hooks{}; // by place_of(maker)
constinit std::array<PlacementHook, 3> placement_hooks{};

std::size_t place_of(store::PlanMaker maker) {
    switch (maker) {
    case store::PlanMaker::job:
        return 1;
    case store::PlanMaker::workflow:
        return 2;
    case store::PlanMaker::caller:
        break;
    }
    return 0;
}

// One backend ends many tasks of one plan. Its maker never changes; if its owner does, this one may be the one before.
struct KnownPlan {
    Oid tables; // of which installation of the extension
    int64 id;
    store::PlanMaker maker;
    NameData owner;
};
constinit std::array<KnownPlan, 64> known_plans{};

// Without a maker if there is no such plan.
const KnownPlan &known_plan(Store &store, int64 id) {
    static constexpr KnownPlan k_none{};
    KnownPlan &known = known_plans[static_cast<std::size_t>(id) % known_plans.size()];
    const Oid tables = store::identity();
    if (known.tables != tables || known.id != id) {
        const auto plan = find_plan(store, id);
        if (!plan) // the snapshot is older than the plan; then none of its tasks has been completed
            return k_none;
        known = {tables, id, plan->maker, {}};
        namestrcpy(&known.owner, plan->owner);
    }
    return known;
}

} // namespace

void register_completion(store::PlanMaker maker, CompletionHook hook) { completion_hooks[place_of(maker)] = hook; }

void tell_completed(Store &store) {
    const std::span<const store::Ended> all = store.ended.all();
    for (std::size_t first = 0, end = 0; first < all.size(); first = end) { // runs of tasks of one plan
        end = first + 1;
        while (end < all.size() && all[end].plan == all[first].plan)
            end++;
        if (all[first].plan == 0)
            continue;
        const KnownPlan &plan = known_plan(store, all[first].plan);
        if (const CompletionHook hook = completion_hooks[place_of(plan.maker)]; hook != nullptr)
            hook(NameStr(plan.owner), all.subspan(first, end - first));
    }
}

void register_placement(store::PlanMaker maker, PlacementHook hook) { placement_hooks[place_of(maker)] = hook; }

void tell_placed(Store &store, std::span<const PlacedTask> tasks) {
    if (tasks.empty())
        return;
    for (std::size_t place = 0; place < placement_hooks.size(); place++) {
        Growing<PlacedTask> of_maker;
        for (const PlacedTask &task : tasks)
            if (placement_hooks[place] != nullptr && place_of(known_plan(store, task.plan).maker) == place)
                of_maker.add(task);
        if (of_maker.count > 0)
            placement_hooks[place](of_maker.all());
    }
}

} // namespace scylla
