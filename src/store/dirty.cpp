#include "store/pool_rows.h"

namespace scylla::store {

namespace {

// The scans that a Dirty keeps.
enum Kept : std::size_t {
    outcomes,
    waiting,
    specs,
    plans_by_id,
    dependants,
    newest_dependants,
    gates,
    condition_ends,
    signal_conditions,
    signal_shapes,
    lines,
    reservations,
    own_reservations,
    checks,
    kept_scans
};

} // namespace

struct Dirty {
    Store *store;
    SnapshotData snapshot;
    std::array<Lookup, kept_scans> kept;
};

namespace {

// Begins the scan, or begins it again.
Scan &start(Dirty *dirty, Kept which, TableId table, std::size_t index, std::span<const Match> matches,
            ScanDirection direction = ForwardScanDirection) {
    Lookup &lookup = dirty->kept[which];
    if (lookup.open)
        restart(lookup.scan, matches);
    else {
        MemoryContext caller = MemoryContextSwitchTo(GetMemoryChunkContext(dirty));
        lookup = {true, begin((*dirty->store)[table], index, &dirty->snapshot, matches, direction)};
        MemoryContextSwitchTo(caller);
    }
    return lookup.scan;
}

// Of a row that is not committed: where it is. A gate and a reservation have no values that could be stored elsewhere.
template <typename Row> Row row_without_values(const Scan &scan) {
    if constexpr (std::is_same_v<Row, GateRow>)
        return gate_row(scan);
    if constexpr (std::is_same_v<Row, ReservationRow>)
        return reservation_row(scan);
    Row row{};
    if constexpr (requires { row.tid; })
        row.tid = scan.slot->tts_tid;
    return row;
}

template <typename Row, typename Read> Sight step(Dirty *dirty, Scan &scan, Row *row, Read read) {
    if (!next(scan)) {
        release_row(scan);
        return Sight::absent;
    }
    // Of the row that was looked at last: this one.
    const bool inserting = TransactionIdIsValid(dirty->snapshot.xmin);
    const bool removing = TransactionIdIsValid(dirty->snapshot.xmax);
    // An inserter may abort at any moment, and vacuum may then remove the values that are stored outside its row.
    *row = inserting ? row_without_values<Row>(scan) : read(scan);
    return inserting || removing ? Sight::in_doubt : Sight::present;
}

template <typename Row, typename Read>
Sight see(Dirty *dirty, Kept which, TableId table, int64 id, Row *row, Read read) {
    const Match key[] = {{1, Int64GetDatum(id), F_INT8EQ}};
    Scan &scan = start(dirty, which, table, 0, key);
    const Sight sight = step(dirty, scan, row, read);
    release_row(scan);
    return sight;
}

SpecRow bare_spec_row(const Scan &scan) { return spec_row(scan, With::no_spec); }

} // namespace

Dirty *begin_dirty(Store &store) {
    auto *dirty = static_cast<Dirty *>(palloc0(sizeof(Dirty)));
    dirty->store = &store;
    InitDirtySnapshot(dirty->snapshot);
    return dirty;
}

void end(Dirty *dirty) {
    for (Lookup &lookup : dirty->kept)
        if (lookup.open)
            end(lookup.scan);
    pfree(dirty);
}

Sight see_outcome(Dirty *dirty, int64 id, model::Status *status) {
    return see(dirty, outcomes, TableId::outcome, id, status,
               [dirty](const Scan &scan) { return outcome_status(*dirty->store, scan); });
}
Sight see_ending(Dirty *dirty, int64 id, Ending *ending) {
    return see(dirty, outcomes, TableId::outcome, id, ending,
               [dirty](const Scan &scan) { return outcome_ending(*dirty->store, scan); });
}
Sight see_waiting(Dirty *dirty, int64 id, WaitingRow *row) {
    return see(dirty, waiting, TableId::waiting, id, row, waiting_row);
}
Sight see_spec(Dirty *dirty, int64 id, SpecRow *row) {
    return see(dirty, specs, TableId::spec, id, row, bare_spec_row);
}
Sight see_plan(Dirty *dirty, int64 id, PlanRow *row) {
    return see(dirty, plans_by_id, TableId::plan, id, row, plan_row);
}

void walk_dependants(Dirty *dirty, int64 provider, int64 after, int64 before) {
    const Match keys[] = {{1, Int64GetDatum(provider), F_INT8EQ},
                          {2, Int64GetDatum(after), F_INT8GT, BTGreaterStrategyNumber},
                          {2, Int64GetDatum(before), F_INT8LT, BTLessStrategyNumber}};
    start(dirty, dependants, TableId::gate, 1, keys);
}

Sight next_dependant(Dirty *dirty, GateRow *row) { return step(dirty, dirty->kept[dependants].scan, row, gate_row); }

void walk_newest_dependants(Dirty *dirty, int64 provider) {
    const Match key[] = {{1, Int64GetDatum(provider), F_INT8EQ}};
    start(dirty, newest_dependants, TableId::gate, 1, key, BackwardScanDirection);
}

Sight next_newest_dependant(Dirty *dirty, GateRow *row) {
    return step(dirty, dirty->kept[newest_dependants].scan, row, gate_row);
}

void walk_gates(Dirty *dirty, int64 task, int32 after, int32 before) {
    const Match keys[] = {{1, Int64GetDatum(task), F_INT8EQ},
                          {2, Int32GetDatum(after), F_INT4GT, BTGreaterStrategyNumber},
                          {2, Int32GetDatum(before), F_INT4LT, BTLessStrategyNumber}};
    start(dirty, gates, TableId::gate, 0, keys);
}

Sight next_gate(Dirty *dirty, GateRow *row) { return step(dirty, dirty->kept[gates].scan, row, gate_row); }

Sight see_condition_end(Dirty *dirty, int64 id, ConditionEndRow *row) {
    return see(dirty, condition_ends, TableId::condition_end, id, row, condition_end_row);
}

Sight see_condition_end(Dirty *dirty, int64 id, bool *failed) {
    return see(dirty, condition_ends, TableId::condition_end, id, failed, condition_has_failed);
}

void walk_signal_conditions(Dirty *dirty, int64 digest, const Bounds &bounds) {
    const auto as_text = [](std::string_view value) {
        return PointerGetDatum(cstring_to_text_with_len(value.data(), static_cast<int>(value.size())));
    };
    std::array<Match, 3> keys{{{1, Int64GetDatum(digest), F_INT8EQ}, {}, {}}};
    std::size_t count = 1;
    if (bounds.without_low)
        keys[count++] = {2, as_text(bounds.low), F_TEXT_PATTERN_GT, BTGreaterStrategyNumber};
    else
        keys[count++] = {2, as_text(bounds.low), F_TEXT_PATTERN_GE, BTGreaterEqualStrategyNumber};
    if (bounds.high && bounds.without_high)
        keys[count++] = {2, as_text(*bounds.high), F_TEXT_PATTERN_LT, BTLessStrategyNumber};
    else if (bounds.high)
        keys[count++] = {2, as_text(*bounds.high), F_TEXT_PATTERN_LE, BTLessEqualStrategyNumber};
    // A scan keeps how many keys it has.
    Lookup &lookup = dirty->kept[signal_conditions];
    if (lookup.open && lookup.scan.by_index->numberOfKeys != static_cast<int>(count)) {
        end(lookup.scan);
        lookup.open = false;
    }
    start(dirty, signal_conditions, TableId::signal_condition, 1, std::span(keys).first(count));
}

Sight next_signal_condition(Dirty *dirty, SignalConditionRow *row) {
    return step(dirty, dirty->kept[signal_conditions].scan, row, signal_condition_row);
}

void walk_signal_shapes(Dirty *dirty, const text *signal) {
    const Match key[] = {{1, PointerGetDatum(signal), F_TEXTEQ}};
    start(dirty, signal_shapes, TableId::signal_shape, 1, key);
}

Sight next_signal_shape(Dirty *dirty, SignalShapeRow *row) {
    return step(dirty, dirty->kept[signal_shapes].scan, row, signal_shape_row);
}

Sight see_line(Dirty *dirty, int64 task) {
    const Match match[] = {{1, Int64GetDatum(task), F_INT8EQ}};
    Scan &scan = start(dirty, lines, TableId::line, 1, match);
    LineRow row;
    const Sight sight = step(dirty, scan, &row, line_row);
    release_row(scan);
    return sight;
}

Sight see_reservation(Dirty *dirty, int64 task) {
    ReservationRow row;
    return see(dirty, own_reservations, TableId::reservation, task, &row, reservation_row);
}

void walk_reservations(Dirty *dirty, int64 pool) {
    const Match match[] = {{1, Int64GetDatum(pool), F_INT8EQ}};
    start(dirty, reservations, TableId::reservation, 1, match);
}

Sight next_reservation(Dirty *dirty, ReservationRow *row) {
    return step(dirty, dirty->kept[reservations].scan, row, reservation_row);
}

void walk_checks(Dirty *dirty, const bytea *digest) {
    const Match match[] = {{1, PointerGetDatum(digest), F_BYTEAEQ}};
    start(dirty, checks, TableId::check, 1, match);
}

Sight next_check(Dirty *dirty, CheckRow *row) { return step(dirty, dirty->kept[checks].scan, row, check_row); }

bool is_own_check(Dirty *dirty) {
    bool null = false;
    const Datum xmin = slot_getsysattr(dirty->kept[checks].scan.slot, MinTransactionIdAttributeNumber, &null);
    return TransactionIdIsCurrentTransactionId(DatumGetTransactionId(xmin));
}

} // namespace scylla::store
