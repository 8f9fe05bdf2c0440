// Direct access to the tables of the extension: index scans, inserts, deletes and HOT updates without the executor.
//
// This layer is the only code that touches the tables. What it leaves out on purpose: privileges (the SQL functions are
// guarded by EXECUTE), triggers, row security, foreign keys and check constraints; the tables have none. Indexes are
// maintained whatever they are: ours directly, others (somebody's own) through the executor.
//
// A statement sees what earlier statements of its transaction did because every verb takes a fresh snapshot and ends
// with CommandCounterIncrement().
#pragma once

#include "pg/prelude.h"

namespace scylla::store {

enum class TableId : std::uint8_t { queue, spec, ready, lease, waiting, outcome, gate, plan, dedup, event };
inline constexpr std::size_t k_tables = 10;

// An index of ours: the columns of its key, so that an insert can fill it without looking anything up.
struct IndexDef {
    const char *name;
    std::array<AttrNumber, 4> key;
    int columns;
    bool unique;
    AttrNumber not_null; // it holds only rows where this column is not null; 0: all rows
};

struct TableDef {
    const char *name;
    int columns;
    std::array<IndexDef, 2> indexes;
    int index_count;
};

const TableDef &definition(TableId id) noexcept;

// Whether the extension's tables exist in this database. If so, they do until the end of the transaction. Raises an
// error if they are of a version that the library does not go with.
bool hold_installed();

// Tells one installation of the extension from another in the same database, before or after it: it stays the same as
// long as the extension is there.
Oid identity();

// Counts what the server has told this process of changes of our tables: as long as it stays the same, so do their
// definitions, and the rows of those tables whose writers call tell_changed(). A change is told before its transaction
// gives up its locks and before its client hears of it, but a moment after others can see it; and it is heard of by
// refresh() and wherever a table is locked.
uint64 table_changes() noexcept;
// Has every process told, at the end of the transaction, and this one at the end of the command. To be called before
// the change.
void tell_changed(TableId id);
// Has every process told now, before this transaction ends: for who looks next what others do. Whoever has written
// before he hears of it is seen by that look; whoever hears of it looks himself (queue/settings.cpp).
void tell_at_once(TableId id);

// The role that owns the tables.
Oid tables_owner();

// Rows on their way into a table (see begin_bulk).
struct Bulk;

// An open table. Copyable; it owns nothing that abort processing does not release.
struct Table {
    TableId id;
    LOCKMODE mode;
    Relation rel;                  // null: not open
    std::array<Relation, 2> index; // null: not open yet
    bool own_indexes_only;         // nobody has added an index
    Bulk *bulk;                    // null: rows go in one by one
};

Table open(TableId id, LOCKMODE mode);
// Locks a table to the end of the transaction. With a mode that is stronger than that of the opening it is called
// before it: else two that want the same would wait for each other.
void lock_table(TableId id, LOCKMODE mode);
// Closes without giving up the lock, which is held to the end of the transaction as for any statement.
void close(Table &table);

struct Key {
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
    // Clears the pages that it comes to, if the server finds it time. Only where rows get new versions: the room that a
    // row leaves when it is removed is used by nobody until vacuum tells of it, so it is vacuum's work. For leases
    // update() does it.
    bool prunes;
    int64 dead; // index entries that led to no row of this snapshot
};

Scan begin(Table &table, std::size_t index, Snapshot snapshot, std::span<const Key> keys,
           ScanDirection direction = ForwardScanDirection);
// Of the keys only, for a scan that is to stop after a number of index entries: most of them may be dead, and next()
// would walk over them without a limit. The row that next_key() finds is not in the slot; key_column() gives its values
// in the index.
Scan begin_keys(Table &table, std::size_t index, Snapshot snapshot, std::span<const Key> keys);
enum class Found : std::uint8_t { row, dead, end }; // dead: an entry that leads to no row of this snapshot
Found next_key(Scan &scan);
Datum key_column(const Scan &scan, int column);
// Every row, in no particular order.
Scan begin_whole(Table &table, Snapshot snapshot);
bool next(Scan &scan);
void end(Scan &scan);
// Begins a scan again with other values for its keys.
void restart(Scan &scan, std::span<const Key> keys);
// Lets go of the row in the slot and of the page it is on.
void release_row(Scan &scan);

// The row at tid if the snapshot sees one there; in the slot until it is cleared.
bool fetch(Table &table, const ItemPointerData &tid, Snapshot snapshot, TupleTableSlot *slot);

// Whether nothing has ever been in the table.
bool is_empty(const Table &table);

// Inserts a row and its index entries.
void insert(Table &table, std::span<Datum> values, std::span<bool> nulls);

// From begin_bulk() to end_bulk() insert() collects rows, and many go into the heap and the WAL at once. They are not
// to be seen before end_bulk().
void begin_bulk(Table &table);
void end_bulk(Table &table);

// The same as insert(), always at once, but a row that one of our unique indexes refuses is reported by false instead
// of the server's error. The caller must raise an error of its own at once: nothing else can be done in this
// (sub)transaction.
[[nodiscard]] bool insert_unique(Table &table, std::span<Datum> values, std::span<bool> nulls);

enum class Taken : std::uint8_t {
    ok,
    busy, // someone else is changing the row (only without wait)
    gone, // someone else has changed or removed it: look again with a fresh snapshot
};

// Whether a row could be removed now, without doing it.
Taken standing(Table &table, const ItemPointerData &tid);

// Holds off the removal of the row at tid to the end of the transaction. Waits for a concurrent removal.
Taken hold(Table &table, const ItemPointerData &tid, Snapshot snapshot);

// Deletes the row at tid, as the snapshot saw it.
Taken remove(Table &table, const ItemPointerData &tid, Snapshot snapshot, bool wait);

// Replaces the columns marked in `replace`, none of them a key, of the row in the slot; the others are filled in in
// `values` and `nulls`. The place of the new version is left in *tid.
Taken update(Table &table, TupleTableSlot *slot, std::span<Datum> values, std::span<bool> nulls,
             std::span<bool> replace, ItemPointerData *tid, bool wait = true);

} // namespace scylla::store
