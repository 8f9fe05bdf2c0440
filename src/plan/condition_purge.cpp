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
    bool is_young; // and so are those behind it
};

// Callbacks from an id on, and whether they ended or expired, or were created, before that time.
std::span<const SeenCallback> see_callbacks(TimestampTz before, int64 after, int64 limit) {
    std::array<Oid, 3> types{TIMESTAMPTZOID, INT8OID, INT8OID};
    std::array<Datum, 3> values{TimestampTzGetDatum(before), Int64GetDatum(after), Int64GetDatum(limit)};
    MemoryContext caller = CurrentMemoryContext;
    store::AsOwner as_owner;
    as_owner.begin();
    store::run(&see_callbacks_statement,
               "select c.id, coalesce(coalesce(e.ended, c.expires) operator(pg_catalog.<) $1, false), "
               "c.created operator(pg_catalog.>=) $1 "
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
                   DatumGetBool(SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &null)),
                   DatumGetBool(SPI_getbinval(row, SPI_tuptable->tupdesc, 3, &null))};
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

} // namespace

void remove_ended_condition(Store &store, int64 id) {
    const auto end = find_condition_end(store, id);
    if (end && remove(store[TableId::condition_end], end->tid, store.snapshot, false) == store::Taken::ok)
        remove_callback(id);
}

namespace {

TimestampTz kept_since(TimestampTz now) {
    return now - static_cast<int64>(settings::signal_retention) * model::k_second;
}

void purge_signals(Store &, DutyTurn &turn) {
    turn.portion.done = remove_old_signals(kept_since(turn.now), turn.portion.limit);
    turn.portion.more = turn.portion.done == turn.portion.limit;
    remove_old_arrivals(turn.portion.limit);
}

// The walks through the callbacks and the conditions go by id. Ids follow the time of creation, so each walk ends at
// the first row that was created too lately to be removed.
constinit int64 callbacks_until = 0; // the walk continues behind this id; 0: from the start
constinit int64 conditions_until = 0;

void purge_callbacks(Store &store, DutyTurn &turn) {
    Portion *portion = &turn.portion;
    store::Dirty *dirty = store::begin_dirty(store);
    const auto seen = see_callbacks(kept_since(turn.now), callbacks_until, portion->limit);
    for (const SeenCallback &callback : seen) {
        CHECK_FOR_INTERRUPTS();
        if (!callback.is_old || has_gate(dirty, callback.id))
            continue;
        remove_ended_condition(store, callback.id);
        remove_callback(callback.id); // if it has only expired
        portion->done++;
    }
    end(dirty);
    portion->more = static_cast<int64>(seen.size()) == portion->limit && !seen.back().is_young;
    callbacks_until = portion->more ? seen.back().id : 0;
}

void purge_unused(Store &store, DutyTurn &turn) {
    store::Dirty *dirty = store::begin_dirty(store);
    store::Scan scan = scan_signal_conditions_after(store, conditions_until);
    const RowMemory memory = begin_row_memory();
    conditions_until = 0;
    for (int64 seen = 0; next(scan); reset(memory)) {
        CHECK_FOR_INTERRUPTS();
        const store::SignalConditionRow row = signal_condition_row(scan);
        if (row.created >= turn.now - k_unused_after)
            break;
        if (!is_awaited(dirty, row) &&
            remove(store[TableId::signal_condition], row.tid, store.snapshot, false) == store::Taken::ok) {
            turn.portion.done++;
            if (row.of_step)
                conditions_of_steps().forget(row.id);
        }
        if (++seen == turn.portion.limit) {
            conditions_until = row.id;
            break;
        }
    }
    end(memory);
    end(scan);
    end(dirty);
    turn.portion.more = conditions_until != 0;
}

} // namespace

void register_condition_removals() {
    constexpr int64 k_pause = 60 * model::k_second;
    register_duty({.activity = "purging old signals", .work = purge_signals, .pause = k_pause, .is_removal = true});
    register_duty({.activity = "purging old callbacks",
                   .work = purge_callbacks,
                   .pause = k_pause,
                   .is_removal = true,
                   .restart = [] { callbacks_until = 0; }});
    register_duty({.activity = "purging unused conditions",
                   .work = purge_unused,
                   .pause = k_pause,
                   .is_removal = true,
                   .restart = [] { conditions_until = 0; }});
}

} // namespace scylla
