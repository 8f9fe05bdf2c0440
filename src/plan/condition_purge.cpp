// Purge of signals, callbacks and conditions.
#include "model/bounds.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "plan/conditions.h"
#include "store/spi.h"

namespace scylla {

using store::Store;
using store::TableId;

namespace {

constinit SPIPlanPtr remove_callback_statement = nullptr;
constinit SPIPlanPtr remove_signals_statement = nullptr;
constinit SPIPlanPtr remove_arrivals_statement = nullptr;
constinit SPIPlanPtr see_callbacks_statement = nullptr;

// Conditions that are older than k_shared_for are not shared by new tasks (signals.cpp). So a condition that is twice
// as old and has no gate will never have one.
constexpr int64 k_unused_after = 2 * k_shared_for;

int64 remove_old_signals(TimestampTz before, int64 limit) {
    std::array<Oid, 2> types{TIMESTAMPTZOID, INT8OID};
    std::array<Datum, 2> values{TimestampTzGetDatum(before), Int64GetDatum(limit)};
    store::AsOwner as_owner;
    as_owner.begin();
    // Ids rise with time, so the walk begins with the oldest signal and ends at the first one to be kept.
    store::run(&remove_signals_statement,
               "delete from scylla.signal_sent where id operator(pg_catalog.=) any (array("
               "select id from (select id, sent from scylla.signal_sent order by id limit $2) oldest "
               "where sent operator(pg_catalog.<) $1))",
               types, values, nullptr, SPI_OK_DELETE);
    const auto removed = static_cast<int64>(SPI_processed);
    as_owner.end();
    return removed;
}

// Removes what triggers keep of signals that are gone; skips rows that others are removing. Nothing is removed if there
// is no signal: this may be a restore that has not restored them yet.
void remove_old_arrivals(int64 limit) {
    std::array<Oid, 1> types{INT8OID};
    std::array<Datum, 1> values{Int64GetDatum(limit)};
    store::AsOwner as_owner;
    as_owner.begin();
    store::run(&remove_arrivals_statement,
               "with kept as materialized (select pg_catalog.min(id) as from_ "
               "from scylla.signal_sent), "
               "failure as (delete from scylla.signal_trigger_failure where id operator(pg_catalog.=) any (array("
               "select f.id from scylla.signal_trigger_failure f, kept "
               "where kept.from_ operator(pg_catalog.>) any (f.seqs) limit $1 for update of f skip locked))) "
               "delete from scylla.signal_arrival where ctid operator(pg_catalog.=) any (array("
               "select a.ctid from scylla.signal_arrival a where a.seq operator(pg_catalog.<) (select from_ from kept) "
               "limit $1 for update skip locked))",
               types, values, nullptr, SPI_OK_DELETE);
    as_owner.end();
}

void remove_callback(int64 id) {
    std::array<Oid, 1> types{INT8OID};
    std::array<Datum, 1> values{Int64GetDatum(id)};
    store::AsOwner as_owner;
    as_owner.begin();
    store::run(
        &remove_callback_statement,
        "delete from scylla.task_callback c using (select id from scylla.task_callback "
        "where id operator(pg_catalog.=) $1 for update skip locked) held where c.id operator(pg_catalog.=) held.id",
        types, values, nullptr, SPI_OK_DELETE);
    as_owner.end();
}

struct SeenCallback {
    int64 id;
    bool is_old;
};

// Callbacks from an id on, and whether they ended or expired before that time.
std::span<const SeenCallback> see_callbacks(TimestampTz before, int64 after, int64 limit) {
    std::array<Oid, 3> types{TIMESTAMPTZOID, INT8OID, INT8OID};
    std::array<Datum, 3> values{TimestampTzGetDatum(before), Int64GetDatum(after), Int64GetDatum(limit)};
    MemoryContext caller = CurrentMemoryContext;
    store::AsOwner as_owner;
    as_owner.begin();
    store::run(&see_callbacks_statement,
               "select c.id, coalesce(coalesce(e.ended, c.expires) operator(pg_catalog.<) $1, false) "
               "from scylla.task_callback c "
               "left join scylla.task_condition_end e on e.id operator(pg_catalog.=) c.id "
               "where c.id operator(pg_catalog.>) $2 order by c.id limit $3",
               types, values, nullptr, SPI_OK_SELECT);
    MemoryContext spi = MemoryContextSwitchTo(caller);
    const auto seen = allocate<SeenCallback>(SPI_processed);
    MemoryContextSwitchTo(spi);
    bool null = false;
    for (std::size_t i = 0; i < seen.size(); i++) {
        HeapTuple row = SPI_tuptable->vals[i];
        seen[i] = {DatumGetInt64(SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &null)),
                   DatumGetBool(SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &null))};
    }
    as_owner.end();
    return seen;
}

bool has_gate(store::Dirty *dirty, int64 provider) {
    store::GateRow gate;
    walk_dependants(dirty, provider, 0, PG_INT64_MAX);
    return next_dependant(dirty, &gate) != store::Sight::absent;
}

bool is_awaited(store::Dirty *dirty, const store::SignalConditionRow &row) {
    return row.of_step ? conditions_of_steps().is_awaited(row.id) : has_gate(dirty, row.id);
}

void purge_callbacks(Store &store, store::Dirty *dirty, TimestampTz before, Portion *portion, int64 *after) {
    const auto seen = see_callbacks(before, *after, portion->limit);
    for (const SeenCallback &callback : seen) {
        CHECK_FOR_INTERRUPTS();
        if (!callback.is_old || has_gate(dirty, callback.id))
            continue;
        remove_ended_condition(store, callback.id);
        remove_callback(callback.id); // if it has only expired
        portion->done++;
    }
    *after = static_cast<int64>(seen.size()) == portion->limit ? seen.back().id : 0;
}

void purge_unused(Store &store, store::Dirty *dirty, TimestampTz now, Portion *portion, int64 *after) {
    store::Scan scan = scan_signal_conditions_after(store, *after);
    const RowMemory memory = begin_row_memory();
    *after = 0;
    for (int64 seen = 0; next(scan); reset(memory)) {
        CHECK_FOR_INTERRUPTS();
        const store::SignalConditionRow row = signal_condition_row(scan);
        if (row.created < now - k_unused_after && !is_awaited(dirty, row) &&
            remove(store[TableId::signal_condition], row.tid, store.snapshot, false) == store::Taken::ok) {
            portion->done++;
            if (row.of_step)
                conditions_of_steps().forget(row.id);
        }
        if (++seen == portion->limit) {
            *after = row.id;
            break;
        }
    }
    end(memory);
    end(scan);
}

} // namespace

void remove_ended_condition(Store &store, int64 id) {
    const auto end = find_condition_end(store, id);
    if (end && remove(store[TableId::condition_end], end->tid, store.snapshot, false) == store::Taken::ok)
        remove_callback(id);
}

namespace {

// Where the walks continue: behind this id of a callback or condition; 0: from the start.
struct {
    int64 callbacks;
    int64 conditions;
} constinit walk{};

} // namespace

void purge_conditions(Store &store, DutyTurn &turn) {
    Portion *portion = &turn.portion;
    const TimestampTz before = turn.now - static_cast<int64>(settings::signal_retention) * model::k_second;
    const int64 removed = remove_old_signals(before, portion->limit);
    remove_old_arrivals(portion->limit);
    store::Dirty *dirty = store::begin_dirty(store);
    purge_callbacks(store, dirty, before, portion, &walk.callbacks);
    purge_unused(store, dirty, turn.now, portion, &walk.conditions);
    end(dirty);
    portion->more = removed == portion->limit || walk.callbacks != 0 || walk.conditions != 0;
    portion->done += removed;
}

void restart_condition_purge() { walk = {}; }

} // namespace scylla
