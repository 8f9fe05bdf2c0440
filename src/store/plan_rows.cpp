// Gates and plans.
#include "store/row_access.h"

namespace scylla::store {

namespace {

std::optional<GateLimit> gate_limit(const Scan &scan) {
    using namespace gate_col;
    const auto time = get_time(scan, deadline);
    if (!time)
        return std::nullopt;
    return GateLimit{*time, static_cast<OnTimeout>(DatumGetChar(get(scan, on_timeout)))};
}

PlanMaker get_maker(const Scan &scan) {
    bool null = false;
    const Datum maker = slot_getattr(scan.slot, plan_col::maker, &null);
    return null ? PlanMaker::caller : static_cast<PlanMaker>(DatumGetChar(maker));
}

} // namespace

GateRow gate_row(const Scan &scan) {
    using namespace gate_col;
    return {.task = DatumGetInt64(get(scan, task)),
            .provider = DatumGetInt64(get(scan, provider)),
            .ord = DatumGetInt32(get(scan, ord)),
            .kind = static_cast<GateKind>(DatumGetChar(get(scan, kind))),
            .on_failure = static_cast<OnFailure>(DatumGetChar(get(scan, on_failure))),
            .limit = gate_limit(scan),
            .every = get_id(scan, every),
            .tid = scan.slot->tts_tid};
}

GateHead gate_head(const Scan &scan) {
    return {DatumGetInt64(get(scan, gate_col::task)), get_time(scan, gate_col::deadline)};
}

PlanRow plan_row(const Scan &scan) {
    using namespace plan_col;
    return {.id = DatumGetInt64(get(scan, id)),
            .created = DatumGetTimestampTz(get(scan, created)),
            .opened = get_time(scan, opened),
            .finished = get_time(scan, finished),
            .cancelled = DatumGetBool(get(scan, cancelled)),
            .failed = DatumGetBool(get(scan, failed)),
            .owner = pstrdup(NameStr(*DatumGetName(get(scan, owner)))),
            .name = get_name(scan, name),
            .maker = get_maker(scan)};
}

std::optional<PlanRow> find_plan(Store &store, const text *name) {
    const Match key[] = {{1, PointerGetDatum(name), F_TEXTEQ}};
    return look_up(store, TableId::plan, 1, key, plan_row);
}

std::optional<PlanRow> find_plan(Store &store, int64 id) { return look_up_id(store, TableId::plan, id, plan_row); }

text *plan_name(Store &store, int64 id) {
    if (store.last_plan != id) {
        MemoryContext caller = MemoryContextSwitchTo(store.context);
        const auto plan = find_plan(store, id);
        MemoryContextSwitchTo(caller);
        store.last_plan = id;
        store.last_plan_name = plan ? plan->name : nullptr;
    }
    return store.last_plan_name;
}

Scan scan_gates(Store &store, int64 task) {
    const Match key[] = {{1, Int64GetDatum(task), F_INT8EQ}};
    return begin(store[TableId::gate], 0, store.snapshot, key);
}

Scan scan_dependants(Store &store, int64 provider) {
    const Match key[] = {{1, Int64GetDatum(provider), F_INT8EQ}};
    return begin(store[TableId::gate], 1, store.snapshot, key);
}

void restart_dependants(Scan &scan, int64 provider) {
    const Match key[] = {{1, Int64GetDatum(provider), F_INT8EQ}};
    restart(scan, key);
}

void insert(Store &store, const GateRow &row) {
    using namespace gate_col;
    Values<gate_col::k_count> values;
    values.set(task, Int64GetDatum(row.task));
    values.set(provider, Int64GetDatum(row.provider));
    values.set(ord, Int32GetDatum(row.ord));
    values.set(kind, CharGetDatum(static_cast<char>(row.kind)));
    values.set(on_failure, CharGetDatum(static_cast<char>(row.on_failure)));
    if (row.limit) {
        values.set(deadline, TimestampTzGetDatum(row.limit->deadline));
        values.set(on_timeout, CharGetDatum(static_cast<char>(row.limit->on_timeout)));
    } else {
        values.set_null(deadline);
        values.set_null(on_timeout);
    }
    values.set_id(every, row.every);
    insert(store[TableId::gate], values.value, values.null);
}

} // namespace scylla::store
