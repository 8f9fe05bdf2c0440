// For the files that read and fill rows (…_rows.cpp): values out of a slot and into a row,
// and looking up a row by a unique key or by a hint.
#pragma once

#include "pg/text.h"
#include "store/columns.h"
#include "store/rows.h"

extern "C" {
#include "access/subtrans.h"
}

namespace scylla::store {

// ---- reading a slot ------------------------------------------------------------------------------------------------
//
// Who reads most of a row calls slot_getallattrs() first: taking a row apart column by column costs several times as
// much.

inline Datum get(const Scan &scan, int column) {
    bool null = false;
    const Datum value = slot_getattr(scan.slot, column, &null);
    if (null)
        elog(ERROR, "unexpected null in column %d of relation %u", column, scan.slot->tts_tableOid);
    return value;
}

inline bool is_null(const Scan &scan, int column) { return slot_attisnull(scan.slot, column); }

inline Interval *get_interval(const Scan &scan, int column) {
    bool null = false;
    const Datum value = slot_getattr(scan.slot, column, &null);
    return null ? nullptr : DatumGetIntervalP(datumCopy(value, false, sizeof(Interval)));
}

inline ArrayType *get_array(const Scan &scan, int column) {
    bool null = false;
    const Datum value = slot_getattr(scan.slot, column, &null);
    return null ? nullptr : DatumGetArrayTypePCopy(value);
}

inline Jsonb *get_jsonb(const Scan &scan, int column) {
    bool null = false;
    const Datum value = slot_getattr(scan.slot, column, &null);
    return null ? nullptr : DatumGetJsonbPCopy(value);
}

inline std::optional<TimestampTz> get_time(const Scan &scan, int column) {
    bool null = false;
    const Datum value = slot_getattr(scan.slot, column, &null);
    return null ? std::nullopt : std::optional(DatumGetTimestampTz(value));
}

inline std::optional<int32> get_int(const Scan &scan, int column) {
    bool null = false;
    const Datum value = slot_getattr(scan.slot, column, &null);
    return null ? std::nullopt : std::optional(DatumGetInt32(value));
}

inline std::optional<int64> get_id(const Scan &scan, int column) {
    bool null = false;
    const Datum value = slot_getattr(scan.slot, column, &null);
    return null ? std::nullopt : std::optional(DatumGetInt64(value));
}

inline text *get_name(const Scan &scan, int column) {
    bool null = false;
    const Datum value = slot_getattr(scan.slot, column, &null);
    return null ? nullptr : DatumGetTextPCopy(value);
}

inline Carry get_carry(const Scan &scan, int attempt, int failures, int history, int errors) {
    return {DatumGetInt32(get(scan, attempt)), DatumGetInt32(get(scan, failures)), get_jsonb(scan, history),
            get_jsonb(scan, errors)};
}

// The row of a unique key, read by `read`. Backwards: the index has an entry for every version of the row that is not
// vacuumed, in the order of their places, and the newest is mostly the last. A transaction that moves one task
// thousands of times leaves that many, and heartbeats do while a snapshot holds back vacuum.
template <typename Read>
auto look_up(Store &store, TableId table, std::size_t index, std::span<const Match> matches, Read read)
    -> std::optional<decltype(read(std::declval<const Scan &>()))> {
    Lookup &lookup = store.lookups[static_cast<std::size_t>(table)][index];
    if (lookup.open)
        restart(lookup.scan, matches);
    else {
        MemoryContext caller = MemoryContextSwitchTo(store.context);
        lookup = {true, begin(store[table], index, store.snapshot, matches, BackwardScanDirection)};
        MemoryContextSwitchTo(caller);
    }
    std::optional<decltype(read(std::declval<const Scan &>()))> row;
    if (next(lookup.scan))
        row = read(lookup.scan);
    release_row(lookup.scan);
    return row;
}

inline HeapTupleHeader header_of(const Scan &scan) {
    return reinterpret_cast<const HeapTupleTableSlot *>(scan.slot)->tuple->t_data;
}

// ---- repairs -------------------------------------------------------------------------------------------------------

// For a row that lacks something. False: it is not this repair's turn to change it.
inline bool is_wanted(const Scan &scan, const Repair &repair, QueueRepair &queue) {
    if (repair.whose == Whose::own && !TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(header_of(scan))))
        return false;
    queue.left = queue.left || repair.done == repair.limit;
    return repair.done < repair.limit;
}

// Whether the row is changed.
inline bool count(Repair &repair, QueueRepair &queue, Taken taken) {
    if (taken == Taken::ok)
        repair.done++;
    else
        queue.left = true;
    return taken == Taken::ok;
}

// ---- transactions --------------------------------------------------------------------------------------------------

// Whether a transaction that is in progress is a prepared one. Once it is, it stays so until it ends.
inline bool is_prepared(TransactionId xid) {
    return BackendXidGetPid(SubTransGetTopmostTransaction(xid)) == 0 && TransactionIdIsInProgress(xid);
}

// ---- filling a row -------------------------------------------------------------------------------------------------

template <int Columns> struct Values {
    std::array<Datum, Columns> value{};
    std::array<bool, Columns> null{};

    void set(int column, Datum datum) {
        value[static_cast<std::size_t>(column - 1)] = datum;
        null[static_cast<std::size_t>(column - 1)] = false;
    }
    void set_null(int column) { null[static_cast<std::size_t>(column - 1)] = true; }
    void set_pointer(int column, const void *pointer) {
        if (pointer == nullptr)
            set_null(column);
        else
            set(column, PointerGetDatum(pointer));
    }
    void set_time(int column, std::optional<TimestampTz> time) {
        if (time)
            set(column, TimestampTzGetDatum(*time));
        else
            set_null(column);
    }
    void set_int(int column, std::optional<int32> number) {
        if (number)
            set(column, Int32GetDatum(*number));
        else
            set_null(column);
    }
    void set_id(int column, std::optional<int64> id) {
        if (id)
            set(column, Int64GetDatum(*id));
        else
            set_null(column);
    }
    void set_carry(const Carry &carry, int attempt, int failures, int history, int errors) {
        set(attempt, Int32GetDatum(carry.attempt));
        set(failures, Int32GetDatum(carry.failures));
        set_pointer(history, carry.history);
        set_pointer(errors, carry.errors);
    }
};

// The row that a hint leads to, if it is there and `is_it` says that it is the right one.
template <typename Read, typename Is>
auto look_at(Store &store, TableId table, const std::optional<ItemPointerData> &tid, Is is_it, Read read)
    -> std::optional<decltype(read(std::declval<const Scan &>()))> {
    std::optional<decltype(read(std::declval<const Scan &>()))> row;
    if (!tid)
        return row;
    TupleTableSlot *slot = slot_of(store, table);
    const Scan here{.by_index = nullptr,
                    .whole = nullptr,
                    .slot = slot,
                    .direction = ForwardScanDirection,
                    .context = CurrentMemoryContext,
                    .prunes = true,
                    .dead = 0};
    if (fetch(store[table], *tid, store.snapshot, slot) && is_it(here))
        row = read(here);
    ExecClearTuple(slot);
    return row;
}

template <typename Read> auto look_up_id(Store &store, TableId table, int64 id, Read read) {
    const Match key[] = {{1, Int64GetDatum(id), F_INT8EQ}};
    return look_up(store, table, 0, key, read);
}

} // namespace scylla::store
