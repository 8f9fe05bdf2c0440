// Purge of signals, callbacks and conditions.
#include "model/bounds.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "plan/conditions.h"
#include "store/plan/signals.h"
#include "store/trigger/arrivals.h"

namespace scylla {

using store::Store;
using store::TableId;

namespace {

// Conditions that are older than k_shared_for are not shared by new tasks (signals.cpp). So a condition that is twice
// as old and has no gate will never have one.
constexpr int64 k_unused_after = 2 * k_shared_for;

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
        store::callbacks::remove(id);
}

namespace {

TimestampTz kept_since(TimestampTz now) {
    return now - static_cast<int64>(settings::signal_retention) * model::k_second;
}

void purge_signals(Store &, DutyTurn &turn) {
    turn.portion.done = store::signals::remove_old(kept_since(turn.now), turn.portion.limit);
    turn.portion.more = turn.portion.done == turn.portion.limit;
    store::arrivals::remove_old(turn.portion.limit);
}

// The walks through the callbacks and the conditions go by id. Ids follow the time of creation, so each walk ends at
// the first row that was created too lately to be removed.
constinit int64 callbacks_until = 0; // the walk continues behind this id; 0: from the start
constinit int64 conditions_until = 0;

void purge_callbacks(Store &store, DutyTurn &turn) {
    Portion *portion = &turn.portion;
    store::Dirty *dirty = store::begin_dirty(store);
    const auto seen = store::callbacks::behind(callbacks_until, kept_since(turn.now), portion->limit);
    for (const store::callbacks::Seen &callback : seen) {
        CHECK_FOR_INTERRUPTS();
        if (!callback.is_old || has_gate(dirty, callback.id))
            continue;
        remove_ended_condition(store, callback.id);
        store::callbacks::remove(callback.id); // if it has only expired
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
