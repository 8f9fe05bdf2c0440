#include "task/line.h"

#include "pg/hash.h"
#include "shmem/pending.h"
#include "store/pool_rows.h"

namespace scylla {

using store::Sight;
using store::Store;
using store::TableId;

namespace {

constinit NeedsReader reader_of_needs{};

// Tasks that nothing tells apart but their age have the same.
int64 class_of(const store::SpecRow &spec) {
    const struct {
        int64 runtime;
        int32 queue;
        int32 priority;
    } rest{spec.runtime.value_or(-1), spec.queue, spec.priority};
    const uint64 hash = hash_of(bytes_of(spec.needs), hash_of(bytes_of(rest)));
    return Max(static_cast<int64>(hash), PG_INT64_MIN + 1);
}

// False: it holds what it needs already.
bool get_in_line(Store &store, const store::SpecRow &spec) {
    store::LineRow row{.pool = 0,
                       .task_class = class_of(spec),
                       .task = spec.id,
                       .created = spec.created,
                       .queue = spec.queue,
                       .priority = spec.priority,
                       .needs = spec.needs,
                       .runtime = spec.runtime,
                       .tid = {}};
    store::Dirty *dirty = store::begin_dirty(store); // its gates may be of this very call
    const bool holds = see_reservation(dirty, spec.id) == Sight::present;
    store::GateRow gate;
    walk_gates(dirty, spec.id, -1, PG_INT32_MAX);
    while (!holds && next_gate(dirty, &gate) != Sight::absent)
        if (gate.kind == store::GateKind::pool) {
            row.pool = gate.provider;
            insert(store, row);
            shmem::note_pool(row.pool);
        }
    end(dirty);
    return !holds;
}

// Removes the rows that a scan finds.
template <typename Use> void remove_all(Store &store, TableId table, store::Scan scan, Use use) {
    while (next(scan)) {
        use(scan);
        if (remove(store[table], scan.slot->tts_tid, store.snapshot, true) != store::Taken::ok)
            elog(ERROR, "the needs of a task were changed while it ended");
    }
    end(scan);
}

} // namespace

Task make_startable(Store &store, const store::SpecRow &spec, const store::Carry &carry, TimestampTz now, bool is_new) {
    if (spec.needs == nullptr || !get_in_line(store, spec))
        return make_ready(store, spec, carry, now, is_new);
    return make_gated(store, spec, carry, std::nullopt, now);
}

void leave_pools(Store &store, const store::SpecRow &spec, bool silently) {
    if (spec.needs == nullptr)
        return;
    const auto tell = [silently](int64 pool) {
        if (!silently)
            shmem::note_pool(pool);
    };
    remove_all(store, TableId::line, scan_lines_of(store, spec.id), [&](const store::Scan &scan) {
        tell(line_row(scan).pool); // it may have been the head
    });
    remove_all(store, TableId::reservation, scan_reservations_of(store, spec.id),
               [&](const store::Scan &scan) { tell(reservation_row(scan).pool); });
}

bool lacks_reservation(Store &store, const store::SpecRow &spec) {
    if (spec.needs == nullptr)
        return false;
    store::Scan scan = scan_reservations_of(store, spec.id);
    const bool holds = next(scan);
    end(scan);
    return !holds;
}

text *chosen_pool(Store &store, const store::SpecRow &spec) {
    if (spec.needs == nullptr)
        return nullptr;
    text *name = nullptr;
    store::Scan scan = scan_reservations_of(store, spec.id);
    while (name == nullptr && next(scan))
        name = reservation_row(scan).chosen;
    end(scan);
    return name;
}

void register_needs(const NeedsReader &reader) { reader_of_needs = reader; }

std::span<const int64> pools_of(Store &store, Jsonb *needs, const NeedsFrom &from) {
    return needs != nullptr ? reader_of_needs.pools(store, needs, from) : std::span<const int64>{};
}

void reserve_needs(Store &store, std::span<Newcomer> tasks) {
    if (!tasks.empty())
        reader_of_needs.reserve(store, tasks);
}

} // namespace scylla
