// Direct access to the tables of the extension: index scans, inserts, deletes and HOT updates without the executor.
//
// catalog.cpp finds the tables and compares them with their definitions, scan.cpp reads them, write.cpp writes them.
//
// Only this layer touches the tables. It omits on purpose: privileges (EXECUTE guards the SQL functions), triggers, row
// security, foreign keys and check constraints, of which the tables have none. All indexes are maintained: ours
// directly, indexes that were added through the executor.
//
// A statement sees what earlier statements of its transaction did because every verb takes a fresh snapshot and ends
// with CommandCounterIncrement().
#pragma once

#include "store/catalog.h"

namespace scylla::store {

// Rows on their way into a table (see begin_bulk).
struct Bulk;

// An open table. Copyable; it owns nothing that abort processing does not release.
struct Table {
    TableId id;
    LOCKMODE mode;
    Relation rel;                  // null: not open
    std::array<Relation, 2> index; // null: not open yet
    bool own_indexes_only;         // no index has been added
    Bulk *bulk;                    // null: rows go in one by one
};

Table open(TableId id, LOCKMODE mode);
// Locks a table to the end of the transaction. A mode stronger than that of open() must be locked before open():
// otherwise two transactions that do the same would deadlock.
void lock_table(TableId id, LOCKMODE mode);
// One of its indexes, which is opened when it is first used.
Relation index_of(Table &table, std::size_t index);
// Closes without releasing the lock, which is held to the end of the transaction as for any statement.
void close(Table &table);

// What a column of an index is compared with in a scan.
struct Match {
    AttrNumber column; // of the index, from 1
    Datum value;
    RegProcedure comparison; // F_INT8EQ, …
    StrategyNumber strategy = BTEqualStrategyNumber;
};

// A scan by one of our indexes, or of the whole table. The row is in the slot until the next call of next() or end().
struct Scan {
    IndexScanDesc by_index; // null: of the whole table
    TableScanDesc whole;    // null: by index
    TupleTableSlot *slot;
    ScanDirection direction;
    MemoryContext context; // in which it began; a btree scan allocates as it goes along
    // Prunes the pages that it reads, if the server thinks it is time. Only for tables whose rows get new versions: the
    // space of a deleted row cannot be used before vacuum records it, so vacuum does that. For leases update() does it.
    bool prunes;
    int64 dead; // index entries that led to no row of this snapshot
};

Scan begin(Table &table, std::size_t index, Snapshot snapshot, std::span<const Match> matches,
           ScanDirection direction = ForwardScanDirection);
// Of the index only, for a scan that is to stop after a number of index entries: most of them may be dead, and next()
// would walk over them without a limit. The row that next_entry() finds is not in the slot; entry_column() gives its
// values in the index.
Scan begin_index_only(Table &table, std::size_t index, Snapshot snapshot, std::span<const Match> matches,
                      ScanDirection direction = ForwardScanDirection);
enum class Found : std::uint8_t { row, dead, end }; // dead: an entry that leads to no row of this snapshot
Found next_entry(Scan &scan);
// For a scan that needs few of its rows: the next entry, without looking for its row; false: there are no more. And the
// row of that entry, in the slot; false: it leads to no row of this snapshot.
bool skip_to_entry(Scan &scan);
bool read_row(Scan &scan);
Datum entry_column(const Scan &scan, int column);
// Every row, in no particular order.
Scan begin_whole(Table &table, Snapshot snapshot);
bool next(Scan &scan);
void end(Scan &scan);
// Begins a scan again with other values for its keys.
void restart(Scan &scan, std::span<const Match> matches);
// Releases the row in the slot and the pin on its page.
void release_row(Scan &scan);

// The row at tid if the snapshot sees one there; in the slot until it is cleared.
bool fetch(Table &table, const ItemPointerData &tid, Snapshot snapshot, TupleTableSlot *slot);

// Whether the table has never had a row.
bool is_empty(const Table &table);

// Inserts a row and its index entries.
void insert(Table &table, std::span<Datum> values, std::span<bool> nulls);

// From begin_bulk() to end_bulk() insert() collects rows, and many go into the heap and the WAL at once. They are not
// visible before end_bulk().
void begin_bulk(Table &table);
void end_bulk(Table &table);

// The same as insert(), always at once. If one of our unique indexes refuses the row, `refuse` is called with `name`
// instead of the server's error; it must raise an error of its own, because nothing else can be done in this
// (sub)transaction.
void insert_unique(Table &table, std::span<Datum> values, std::span<bool> nulls, void (*refuse)(const text *name),
                   const text *name);

enum class Taken : std::uint8_t {
    ok,
    busy, // someone else is changing the row (only without wait)
    gone, // someone else has changed or removed it: look again with a fresh snapshot
};

// Whether a row could be removed now, without doing it.
Taken standing(Table &table, const ItemPointerData &tid);

// Keeps the row at tid from being removed until the end of the transaction. Waits for a concurrent removal.
Taken hold(Table &table, const ItemPointerData &tid, Snapshot snapshot);
// The same without waiting: busy.
Taken try_hold(Table &table, const ItemPointerData &tid, Snapshot snapshot);

// Deletes the row at tid, as the snapshot saw it.
Taken remove(Table &table, const ItemPointerData &tid, Snapshot snapshot, bool wait);

// The columns of a new version of a row. Those marked in `replace` are the caller's; update() fills in the others.
struct NewVersion {
    std::span<Datum> values;
    std::span<bool> nulls;
    std::span<bool> replace;
};
// Replaces the row in the slot. Columns of index keys stay, or get values that are new. *tid: its new place.
Taken update(Table &table, TupleTableSlot *slot, const NewVersion &version, ItemPointerData *tid, bool wait = true);

} // namespace scylla::store
