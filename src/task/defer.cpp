#include "task/defer.h"

#include "pg/memory.h"
#include "store/memo_rows.h"
#include "task/gates.h"
#include "task/history.h"
#include "task/line.h"
#include "task/retry.h"
#include "task/waits.h"

namespace scylla {

using store::Sight;
using store::Store;
using store::TableId;

namespace {

// Whether a task waits, perhaps by way of others, for the one that is to wait for it. Looks at as many tasks as a plan
// that somebody has thought up may have; two that defer at the same time do not see each other.
struct Search {
    static constexpr std::size_t k_most = 1000;
    std::array<int64, k_most> seen;
    std::size_t count = 0;

    void add(int64 id) {
        if (count < k_most && std::find(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(count), id) ==
                                  seen.begin() + static_cast<std::ptrdiff_t>(count))
            seen[count++] = id;
    }
};

void refuse_cycle(Store &store, const store::SpecRow &spec, std::span<const WaitFor> waits,
                  std::span<const Provider> providers) {
    auto *search = static_cast<Search *>(palloc0(sizeof(Search)));
    for (std::size_t i = 0; i < providers.size(); i++)
        if (waits[i].what == WaitFor::What::task)
            search->add(providers[i].id);
    for (std::size_t i = 0; i < search->count; i++) {
        CHECK_FOR_INTERRUPTS();
        if (search->seen[i] == spec.id)
            error::dependency_cycle(psprintf("%s -> ... -> %s", error::quote(spec.rn), error::quote(spec.rn)));
        if (!find_waiting(store, search->seen[i]))
            continue;
        store::Scan gates = scan_gates(store, search->seen[i]);
        while (next(gates))
            if (const store::GateRow gate = gate_row(gates); gate.kind == store::GateKind::task)
                search->add(gate.provider);
        end(gates);
    }
    pfree(search);
}

// Makes place for as many gates as it is to have besides those that stay.
void replace_gates(Store &store, store::SpecRow &spec, int32 count) {
    const int32 staying = spec.gates.value_or(0) - remove_gates(store, spec, Gates::of_waits);
    const auto gates = staying + count > 0 ? std::optional(staying + count) : std::nullopt;
    if (gates != spec.gates)
        set_gates(store, spec, gates);
    spec.gates = gates;
}

// Takes the lease or raises the reason why not. The task is placed anew when it is to run again.
Claim take_or_raise(Store &store, const LeaseName &name) {
    Claim claim = take_held(store, name);
    require_held(name, claim);
    shmem::count(stat_key(claim.spec->queue), shmem::Count::yielded);
    leave_pools(store, *claim.spec);
    return claim;
}

} // namespace

Task not_yet(Store &store, const LeaseName &name, std::optional<int64> retry_after) {
    const Claim claim = take_or_raise(store, name);
    const store::SpecRow &spec = *claim.spec;
    const TimestampTz now = GetCurrentTimestamp();
    const auto old = find_memo(store, spec.id);
    store::MemoRow memo = old.value_or(store::MemoRow{.id = spec.id});
    memo.answers++;
    memo.answered = now;
    put(store, memo, old);
    const int64 delay = retry_after ? *retry_after : first_delay(store, spec);
    const Task task = delay > 0 ? make_waiting(store, spec, claim.lease->carry, now + delay, now)
                                : make_startable(store, spec, claim.lease->carry, now);
    CommandCounterIncrement(); // the answers are to be seen
    refresh(store);
    return task;
}

Task defer(Store &store, const LeaseName &name, const Deferral &deferral) {
    const Claim claim = take_or_raise(store, name);
    store::SpecRow spec = *claim.spec;
    const TimestampTz now = GetCurrentTimestamp();
    const auto providers = allocate<Provider>(deferral.waits.size());
    for (std::size_t i = 0; i < providers.size(); i++)
        providers[i] = find_provider(store, deferral.waits[i], now);
    refuse_cycle(store, spec, deferral.waits, providers);
    if (deferral.state != nullptr) {
        const auto old = find_memo(store, spec.id);
        store::MemoRow memo = old.value_or(store::MemoRow{.id = spec.id});
        memo.state = deferral.state;
        put(store, memo, old);
    }
    replace_gates(store, spec, static_cast<int32>(providers.size()));
    store::Dirty *dirty = store::begin_dirty(store);
    NewConditions made{allocate<int64>(providers.size()), 0};
    insert_gates(store, dirty, spec, deferral.waits, providers, now, &made);
    look_back(store, made, now);
    const Task placed = place_gated(store, dirty, spec, carry_on(*claim.lease, Ending::defer, now), now);
    end(dirty);
    CommandCounterIncrement();
    settle_gates(store, now);
    refresh(store);
    return placed;
}

} // namespace scylla
