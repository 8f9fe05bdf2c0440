// Rows of tasks but for leases: specification, ready, waiting, outcome.
#include "pg/error.h"
#include "pg/hash.h"
#include "pg/memory.h"
#include "store/hints.h"
#include "store/row_access.h"

namespace scylla::store {

SpecRow spec_row(const Scan &scan, With with) {
    slot_getallattrs(scan.slot);
    return {.id = DatumGetInt64(get(scan, spec_col::id)),
            .created = DatumGetTimestampTz(get(scan, spec_col::created)),
            .queue = DatumGetInt32(get(scan, spec_col::queue)),
            .priority = DatumGetInt16(get(scan, spec_col::priority)),
            .rn = get_name(scan, spec_col::rn),
            .spec = with == With::spec ? get_jsonb(scan, spec_col::spec) : nullptr,
            .not_before = get_time(scan, spec_col::not_before),
            .max_attempts = get_int(scan, spec_col::max_attempts),
            .gates = get_int(scan, spec_col::gates),
            .plan = get_id(scan, spec_col::plan),
            .retry = get_jsonb(scan, spec_col::retry),
            .dedup_key = get_name(scan, spec_col::dedup_key),
            .key = get_name(scan, spec_col::key),
            .needs = get_jsonb(scan, spec_col::needs),
            .runtime = get_id(scan, spec_col::runtime),
            .is_check = !is_null(scan, spec_col::is_check) && DatumGetBool(get(scan, spec_col::is_check)),
            .run_timeout = get_id(scan, spec_col::run_timeout),
            .tid = scan.slot->tts_tid};
}

namespace {

// Deleting a row begins with this flag. It is read without a lock: its value may change at any moment anyway.
bool is_untouched(const Scan &scan) {
    const auto *slot = reinterpret_cast<const HeapTupleTableSlot *>(scan.slot);
    return (slot->tuple->t_data->t_infomask & HEAP_XMAX_INVALID) != 0;
}

} // namespace

ReadyRow ready_row(const Scan &scan) {
    using namespace ready_col;
    slot_getallattrs(scan.slot);
    return {.id = DatumGetInt64(get(scan, id)),
            .updated = DatumGetTimestampTz(get(scan, updated)),
            .queue = DatumGetInt32(get(scan, queue)),
            .priority = DatumGetInt16(get(scan, priority)),
            .carry = get_carry(scan, attempt, failures, history, errors),
            .key = get_name(scan, ready_col::key),
            .tid = scan.slot->tts_tid,
            .untouched = is_untouched(scan)};
}

WaitingRow waiting_row(const Scan &scan) {
    using namespace waiting_col;
    slot_getallattrs(scan.slot);
    return {.id = DatumGetInt64(get(scan, id)),
            .due = get_time(scan, due),
            .updated = DatumGetTimestampTz(get(scan, updated)),
            .queue = DatumGetInt32(get(scan, queue)),
            .carry = get_carry(scan, attempt, failures, history, errors),
            .expiring = !is_null(scan, expiring) && DatumGetBool(get(scan, expiring)),
            .tid = scan.slot->tts_tid};
}

OutcomeRow outcome_row(const Scan &scan) {
    using namespace outcome_col;
    slot_getallattrs(scan.slot);
    return {.id = DatumGetInt64(get(scan, id)),
            .finished = DatumGetTimestampTz(get(scan, finished)),
            .leased = get_time(scan, leased),
            .queue = DatumGetInt32(get(scan, queue)),
            .progress = DatumGetFloat4(get(scan, progress)),
            .status = status_of(get(scan, outcome_col::status)),
            .owner = get_name(scan, owner),
            .carry = get_carry(scan, attempt, failures, history, errors),
            .result = get_jsonb(scan, result),
            .metrics = get_jsonb(scan, metrics),
            .tid = scan.slot->tts_tid};
}

std::optional<SpecRow> find_spec(Store &store, const text *rn, With with) {
    const auto read = [with](const Scan &scan) { return spec_row(scan, with); };
    const Oid file = compat::file_number(store[TableId::spec].rel);
    const uint64 hash = hash_of(rn);
    const auto is_it = [rn](const Scan &scan) { return equal(DatumGetTextPP(get(scan, spec_col::rn)), rn); };
    if (auto row = look_at(store, TableId::spec, spec_hints.recall(file, hash), is_it, read))
        return row;
    const Match key[] = {{1, PointerGetDatum(rn), F_TEXTEQ}};
    auto row = look_up(store, TableId::spec, 1, key, read);
    if (row)
        spec_hints.remember(file, hash, row->tid);
    return row;
}

namespace {

// A worker that leases a task will look it up by its name.
void expect(Store &store, const SpecRow &row) {
    if (store.mode != AccessShareLock)
        spec_hints.remember(compat::file_number(store[TableId::spec].rel), hash_of(row.rn), row.tid);
}

} // namespace

std::optional<SpecRow> find_spec(Store &store, int64 id, With with) {
    auto row = look_up_id(store, TableId::spec, id, [with](const Scan &scan) { return spec_row(scan, with); });
    if (row)
        expect(store, *row);
    return row;
}

std::optional<SpecRow> find_next_spec(Store &store, int64 id, With with) {
    constexpr int k_steps = 8; // a descent costs about as much
    Lookup &specs = store.specs;
    const auto step = [&] {
        store.spec_shown = next(specs.scan) ? DatumGetInt64(get(specs.scan, spec_col::id)) : 0;
        return store.spec_shown;
    };
    if (store.spec_shown != 0 && store.spec_shown < id)
        for (int i = 0; i < k_steps && step() != 0 && store.spec_shown < id; i++)
            ;
    if (store.spec_shown != id) {
        const Match key[] = {{1, Int64GetDatum(id), F_INT8GE, BTGreaterEqualStrategyNumber}};
        if (specs.open)
            restart(specs.scan, key);
        else {
            MemoryContext caller = MemoryContextSwitchTo(store.context);
            specs = {true, begin(store[TableId::spec], 0, store.snapshot, key)};
            MemoryContextSwitchTo(caller);
        }
        step();
    }
    if (store.spec_shown != id)
        return std::nullopt;
    const SpecRow row = spec_row(specs.scan, with);
    expect(store, row);
    return row;
}

std::optional<ReadyRow> find_ready(Store &store, int32 queue, int16 priority, int64 id) {
    const Match key[] = {
        {1, Int32GetDatum(queue), F_INT4EQ}, {2, Int16GetDatum(priority), F_INT2EQ}, {3, Int64GetDatum(id), F_INT8EQ}};
    return look_up(store, TableId::ready, 0, key, ready_row);
}

Taken standing(Store &store, const ReadyRow &row) {
    return row.untouched ? Taken::ok : standing(store[TableId::ready], row.tid);
}

std::optional<WaitingRow> find_waiting(Store &store, int64 id) {
    return look_up_id(store, TableId::waiting, id, waiting_row);
}

std::optional<OutcomeRow> find_outcome(Store &store, int64 id) {
    return look_up_id(store, TableId::outcome, id, outcome_row);
}

Scan scan_ready(Store &store, int32 queue) {
    const Match key[] = {{1, Int32GetDatum(queue), F_INT4EQ}};
    return begin(store[TableId::ready], 0, store.snapshot, key);
}

namespace {

std::array<Match, 4> ready_range(int32 queue, int16 priority, int64 low, int64 high) {
    return {{{1, Int32GetDatum(queue), F_INT4EQ},
             {2, Int16GetDatum(priority), F_INT2EQ},
             {3, Int64GetDatum(low), F_INT8GE, BTGreaterEqualStrategyNumber},
             {3, Int64GetDatum(high), F_INT8LE, BTLessEqualStrategyNumber}}};
}

// The key on the id lets everything pass: a scan keeps its number of keys when it is restarted.
std::array<Match, 3> ready_from_priority(int32 queue, int16 priority) {
    return {{{1, Int32GetDatum(queue), F_INT4EQ},
             {2, Int16GetDatum(priority), F_INT2LE, BTLessEqualStrategyNumber},
             {3, Int64GetDatum(PG_INT64_MIN), F_INT8GE, BTGreaterEqualStrategyNumber}}};
}

} // namespace

Scan scan_ready_from(Store &store, int32 queue, int16 priority) {
    return begin(store[TableId::ready], 0, store.snapshot, ready_from_priority(queue, priority));
}

void restart_ready_from(Scan &scan, int32 queue, int16 priority) {
    restart(scan, ready_from_priority(queue, priority));
}

Scan scan_ready_range(Store &store, int32 queue, int16 priority, int64 low, int64 high) {
    return begin(store[TableId::ready], 0, store.snapshot, ready_range(queue, priority, low, high));
}

void restart_ready_range(Scan &scan, int32 queue, int16 priority, int64 low, int64 high) {
    restart(scan, ready_range(queue, priority, low, high));
}

Scan scan_ready_index(Store &store, int32 queue, int16 priority) {
    return begin_index_only(store[TableId::ready], 0, store.snapshot, ready_from_priority(queue, priority));
}

void restart_ready_index(Scan &scan, int32 queue, int16 priority) {
    restart(scan, ready_from_priority(queue, priority));
}

void restart_ready_index(Scan &scan, int32 queue, int16 priority, int64 from) {
    const Match keys[] = {{1, Int32GetDatum(queue), F_INT4EQ},
                          {2, Int16GetDatum(priority), F_INT2EQ},
                          {3, Int64GetDatum(from), F_INT8GE, BTGreaterEqualStrategyNumber}};
    restart(scan, keys);
}

Scan scan_by_due(Store &store) { return begin(store[TableId::waiting], 1, store.snapshot, {}); }

Found next_ready_entry(Scan &scan, ReadyEntry *entry) {
    const Found found = next_entry(scan);
    if (found != Found::end)
        *entry = {DatumGetInt16(entry_column(scan, 2)), DatumGetInt64(entry_column(scan, 3))};
    return found;
}

namespace {

// Always as many: a scan keeps their number when it is restarted.
std::array<Match, 4> keyed(int32 queue, const Match &key, const Match &priority, const Match &id) {
    return {{{1, Int32GetDatum(queue), F_INT4EQ}, key, priority, id}};
}

Match any_priority() { return {3, Int16GetDatum(PG_INT16_MAX), F_INT2LE, BTLessEqualStrategyNumber}; }
Match any_id() { return {4, Int64GetDatum(PG_INT64_MIN), F_INT8GE, BTGreaterEqualStrategyNumber}; }

} // namespace

Scan scan_keyed(Store &store, int32 queue) {
    const Match first{2, PointerGetDatum(cstring_to_text("")), F_TEXT_PATTERN_GE, BTGreaterEqualStrategyNumber};
    return begin_index_only(store[TableId::ready], 1, store.snapshot, keyed(queue, first, any_priority(), any_id()));
}

void restart_keyed_after(Scan &scan, int32 queue, const text *key) {
    restart(scan, keyed(queue, {2, PointerGetDatum(key), F_TEXT_PATTERN_GT, BTGreaterStrategyNumber}, any_priority(),
                        any_id()));
}

void restart_keyed_from(Scan &scan, int32 queue, const text *key) {
    restart(scan, keyed(queue, {2, PointerGetDatum(key), F_TEXT_PATTERN_GE, BTGreaterEqualStrategyNumber},
                        any_priority(), any_id()));
}

void restart_keyed_below(Scan &scan, int32 queue, const text *key, int16 priority) {
    restart(scan, keyed(queue, {2, PointerGetDatum(key), F_TEXTEQ},
                        {3, Int16GetDatum(priority), F_INT2LT, BTLessStrategyNumber}, any_id()));
}

void restart_keyed_behind(Scan &scan, int32 queue, const KeyedPlace &place) {
    restart(scan, keyed(queue, {2, PointerGetDatum(place.key), F_TEXTEQ}, {3, Int16GetDatum(place.priority), F_INT2EQ},
                        {4, Int64GetDatum(place.id), F_INT8GT, BTGreaterStrategyNumber}));
}

Found next_keyed(Scan &scan, KeyedPlace *place) {
    const Found found = next_entry(scan);
    if (found != Found::end)
        *place = {nullptr, DatumGetInt16(entry_column(scan, 3)), DatumGetInt64(entry_column(scan, 4))};
    if (found == Found::row)
        place->key = copy_key(scan);
    return found;
}

text *copy_key(const Scan &scan) { return DatumGetTextPCopy(entry_column(scan, 2)); }

bool has_key(const Scan &scan, const text *key) {
    const Datum datum = entry_column(scan, 2);
    const text *here = DatumGetTextPP(datum);
    const bool same = equal(here, key);
    if (PointerGetDatum(here) != datum)
        pfree(const_cast<text *>(here)); // it was compressed
    return same;
}

namespace {

void give_keys(Store &store, Repair &repair, QueueRepair &queue, void (*tell)(Store &store, const ReadyRow &row)) {
    Table &table = store[TableId::ready];
    Values<ready_col::k_count> values;
    std::array<bool, ready_col::k_count> replace{};
    values.set_pointer(ready_col::key, cstring_to_text(""));
    replace[ready_col::key - 1] = true;
    Scan scan = scan_ready(store, queue.queue);
    const RowMemory memory = begin_row_memory();
    for (; next(scan); reset(memory)) {
        if (!is_null(scan, ready_col::key) || !is_wanted(scan, repair, queue))
            continue;
        const ReadyRow row = ready_row(scan);
        ItemPointerData tid;
        if (count(repair, queue, update(table, scan.slot, {values.value, values.null, replace}, &tid, false)))
            tell(store, row);
    }
    end(memory);
    end(scan);
}

} // namespace

void give_keys(Store &store, Repair &repair, void (*tell)(Store &store, const ReadyRow &row)) {
    for (QueueRepair &queue : repair.queues)
        give_keys(store, repair, queue, tell);
}

bool next_head(Scan &scan, Head *head) {
    if (!skip_to_entry(scan))
        return false;
    const bool has_status = scan.by_index->xs_itupdesc->natts > 2;
    *head = {DatumGetInt64(entry_column(scan, 1)), DatumGetInt32(entry_column(scan, 2)),
             has_status ? entry_column(scan, 3) : 0};
    return true;
}

OutcomeHead outcome_head(const Scan &scan) {
    using namespace outcome_col;
    return {DatumGetInt64(get(scan, id)), DatumGetTimestampTz(get(scan, finished)), DatumGetInt32(get(scan, queue)),
            get(scan, outcome_col::status), scan.slot->tts_tid};
}

model::Status outcome_status(Store &store, const Scan &scan) {
    const Datum status = get(scan, outcome_col::status);
    for (const model::Status final : {model::Status::completed, model::Status::aborted, model::Status::cancelled})
        if (status_datum(store, final) == status)
            return final;
    elog(ERROR, "unexpected status %u in task_outcome", DatumGetObjectId(status));
}

Ending outcome_ending(Store &store, const Scan &scan) {
    using namespace outcome_col;
    const model::Status ended = outcome_status(store, scan);
    const bool never_ran = ended == model::Status::cancelled && DatumGetInt32(get(scan, attempt)) == 0;
    return {ended, never_ran || ended == model::Status::aborted ? get_jsonb(scan, errors) : nullptr};
}

namespace {

Values<spec_col::k_count> spec_values(const SpecRow &row) {
    Values<spec_col::k_count> values;
    values.set(spec_col::id, Int64GetDatum(row.id));
    values.set(spec_col::created, TimestampTzGetDatum(row.created));
    values.set(spec_col::queue, Int32GetDatum(row.queue));
    values.set(spec_col::priority, Int16GetDatum(row.priority));
    values.set_pointer(spec_col::rn, row.rn);
    values.set_pointer(spec_col::spec, row.spec);
    values.set_time(spec_col::not_before, row.not_before);
    values.set_int(spec_col::max_attempts, row.max_attempts);
    values.set_int(spec_col::gates, row.gates);
    values.set_id(spec_col::plan, row.plan);
    values.set_pointer(spec_col::retry, row.retry);
    values.set_pointer(spec_col::dedup_key, row.dedup_key);
    values.set_pointer(spec_col::key, row.key);
    values.set_pointer(spec_col::needs, row.needs);
    values.set_id(spec_col::runtime, row.runtime);
    if (row.is_check)
        values.set(spec_col::is_check, BoolGetDatum(true));
    else
        values.set_null(spec_col::is_check);
    values.set_id(spec_col::run_timeout, row.run_timeout);
    return values;
}

} // namespace

void insert(Store &store, const SpecRow &row) {
    Values<spec_col::k_count> values = spec_values(row);
    insert_unique(store[TableId::spec], values.value, values.null, error::duplicate_task, row.rn);
}

void update_spec(Store &store, const SpecRow &row, With with) {
    Table &table = store[TableId::spec];
    Values<spec_col::k_count> values = spec_values(row);
    std::array<bool, spec_col::k_count> replace{};
    for (const int column : {spec_col::priority, spec_col::not_before})
        replace[static_cast<std::size_t>(column - 1)] = true;
    replace[static_cast<std::size_t>(spec_col::spec - 1)] = with == With::spec;
    TupleTableSlot *slot = slot_of(store, TableId::spec);
    ItemPointerData tid = row.tid;
    if (!fetch(table, row.tid, store.snapshot, slot) ||
        update(table, slot, {values.value, values.null, replace}, &tid) != Taken::ok)
        elog(ERROR, "the specification of task " INT64_FORMAT " was changed by somebody else", row.id);
}

void insert_made_up(Store &store, const SpecRow &row) {
    Values<spec_col::k_count> values = spec_values(row);
    insert(store[TableId::spec], values.value, values.null);
}

void set_gates(Store &store, const SpecRow &row, std::optional<int32> gates) {
    Table &table = store[TableId::spec];
    Values<spec_col::k_count> values;
    std::array<bool, spec_col::k_count> replace{};
    values.set_int(spec_col::gates, gates);
    replace[spec_col::gates - 1] = true;
    TupleTableSlot *slot = slot_of(store, TableId::spec);
    if (!fetch(table, row.tid, store.snapshot, slot))
        elog(ERROR, "task " INT64_FORMAT " has vanished", row.id);
    ItemPointerData tid = row.tid;
    if (update(table, slot, {values.value, values.null, replace}, &tid) != Taken::ok)
        elog(ERROR, "task " INT64_FORMAT " was changed by somebody who does not hold it", row.id);
}

void insert(Store &store, const ReadyRow &row) {
    using namespace ready_col;
    Values<ready_col::k_count> values;
    values.set(id, Int64GetDatum(row.id));
    values.set(updated, TimestampTzGetDatum(row.updated));
    values.set(queue, Int32GetDatum(row.queue));
    values.set(priority, Int16GetDatum(row.priority));
    values.set_carry(row.carry, attempt, failures, history, errors);
    values.set_pointer(ready_col::key, row.key);
    insert(store[TableId::ready], values.value, values.null);
}

void insert(Store &store, const WaitingRow &row) {
    using namespace waiting_col;
    Values<waiting_col::k_count> values;
    values.set(id, Int64GetDatum(row.id));
    values.set_time(due, row.due);
    values.set(updated, TimestampTzGetDatum(row.updated));
    values.set(queue, Int32GetDatum(row.queue));
    values.set_carry(row.carry, attempt, failures, history, errors);
    if (row.expiring)
        values.set(expiring, BoolGetDatum(true));
    else
        values.set_null(expiring);
    insert(store[TableId::waiting], values.value, values.null);
}

void insert(Store &store, const OutcomeRow &row) {
    using namespace outcome_col;
    Values<outcome_col::k_count> values;
    values.set(id, Int64GetDatum(row.id));
    values.set(finished, TimestampTzGetDatum(row.finished));
    values.set_time(leased, row.leased);
    values.set(queue, Int32GetDatum(row.queue));
    values.set(progress, Float4GetDatum(row.progress));
    values.set(outcome_col::status, status_datum(store, row.status));
    values.set_pointer(owner, row.owner);
    values.set_carry(row.carry, attempt, failures, history, errors);
    values.set_pointer(result, row.result);
    values.set_pointer(metrics, row.metrics);
    insert(store[TableId::outcome], values.value, values.null);
}

} // namespace scylla::store
