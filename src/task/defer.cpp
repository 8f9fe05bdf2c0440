#include "task/defer.h"

#include "pg/memory.h"
#include "shmem/pending.h"
#include "store/memo_rows.h"
#include "task/checks.h"
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

// Whether a task waits, directly or indirectly, for the one that will wait for it. Looks at no more than k_most tasks.
// Two calls at the same time do not see each other.
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
        if (waits[i].what == WaitFor::What::task || waits[i].what == WaitFor::What::check)
            search->add(providers[i].id);
    for (std::size_t i = 0; i < search->count; i++) {
        CHECK_FOR_INTERRUPTS();
        if (search->seen[i] == spec.id)
            error::dependency_cycle(psprintf("%s -> ... -> %s", error::quote(spec.rn), error::quote(spec.rn)));
        if (!find_waiting(store, search->seen[i]))
            continue;
        store::Scan gates = scan_gates(store, search->seen[i]);
        while (next(gates))
            if (const store::GateRow gate = gate_row(gates);
                gate.kind == store::GateKind::task || gate.kind == store::GateKind::check)
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

// The task is placed anew when it is to run again.
void note_given_back(Store &store, const store::SpecRow &spec) {
    shmem::count(stat_id(spec.queue), shmem::Count::yielded);
    leave_pools(store, spec);
}

// Takes the lease or raises the reason why not.
Claim take_or_raise(Store &store, const LeaseName &name) {
    Claim claim = take_held(store, name);
    require_held(name, claim);
    note_given_back(store, *claim.spec);
    return claim;
}

int64 delay_of(Store &store, const store::SpecRow &spec, std::optional<int64> retry_after, TimestampTz now) {
    if (retry_after)
        return *retry_after;
    const auto every = spec.is_check ? check_interval(store, spec.id, now) : std::nullopt;
    return every ? *every : first_delay(store, spec);
}

// A task that has just joined the check may not have seen that it waits now: then this sees the gate.
void note_hurry(Store &store, int64 check, int64 delay, TimestampTz now) {
    if (const auto every = check_interval(store, check, now); every && *every < delay)
        shmem::note_recheck(check);
}

Task answer_not_yet(Store &store, const Claim &claim, std::optional<int64> retry_after) {
    const store::SpecRow &spec = *claim.spec;
    const TimestampTz now = GetCurrentTimestamp();
    const auto old = find_memo(store, spec.id);
    store::MemoRow memo = old.value_or(store::MemoRow{.id = spec.id});
    memo.answers++;
    memo.answered = now;
    put(store, memo, old);
    const int64 delay = delay_of(store, spec, retry_after, now);
    store::Carry carry = claim.lease->carry;
    carry.failures = 0; // of those that follow one another; a task that asks for weeks would reach any maximum
    const Task task =
        delay > 0 ? make_waiting(store, spec, carry, now + delay, now) : make_startable(store, spec, carry, now);
    if (spec.is_check && !retry_after)
        note_hurry(store, spec.id, delay, now);
    return task;
}

} // namespace

Task not_yet(Store &store, const LeaseName &name, std::optional<int64> retry_after) {
    const Task task = answer_not_yet(store, take_or_raise(store, name), retry_after);
    CommandCounterIncrement(); // makes the answers visible
    refresh(store);
    return task;
}

Claim not_yet_if_held(Store &store, const LeaseName &name) {
    const Claim claim = take_held(store, name);
    if (claim.lease) {
        note_given_back(store, *claim.spec);
        answer_not_yet(store, claim, std::nullopt);
    }
    return claim;
}

Task defer(Store &store, const LeaseName &name, const Deferral &deferral) {
    const Claim claim = take_or_raise(store, name);
    store::SpecRow spec = *claim.spec;
    const TimestampTz now = GetCurrentTimestamp();
    const auto providers = allocate<Provider>(deferral.waits.size());
    for (std::size_t i = 0; i < providers.size(); i++)
        providers[i] = find_provider(store, deferral.waits[i], now);
    if (deferral.state != nullptr) {
        const auto old = find_memo(store, spec.id);
        store::MemoRow memo = old.value_or(store::MemoRow{.id = spec.id});
        memo.state = deferral.state;
        put(store, memo, old);
    }
    replace_gates(store, spec, static_cast<int32>(providers.size()));
    store::Dirty *dirty = store::begin_dirty(store);
    NewConditions made{allocate<int64>(providers.size()), 0};
    insert_gates(store, dirty, spec, {deferral.waits, providers}, now, &made);
    refuse_cycle(store, spec, deferral.waits, providers);
    look_back(store, made, now);
    const Task placed = place_gated(store, dirty, spec, carry_on(*claim.lease, Ending::defer, now), now);
    end(dirty);
    CommandCounterIncrement();
    settle_gates(store, now);
    refresh(store);
    return placed;
}

} // namespace scylla
