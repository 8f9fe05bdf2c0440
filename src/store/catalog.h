// The tables that are written directly: their definitions, and their OIDs in this database.
#pragma once

#include "store/columns.h"

namespace scylla::store {

enum class TableId : std::uint8_t {
    queue,
    spec,
    ready,
    lease,
    waiting,
    outcome,
    gate,
    plan,
    dedup,
    event,
    condition_end,
    signal_condition,
    signal_shape,
    line,
    reservation,
    memo,
    check
};
inline constexpr std::size_t k_tables = 17;

// How a btree compares a column of its key.
enum class Order : std::uint8_t {
    ascending, // as the type does by default
    descending,
    bytes, // text_pattern_ops
};
struct IndexKey {
    int column = 0;
    Order order = Order::ascending;
};

// An index of ours: its columns, so that an insert can fill it without looking anything up.
struct IndexDef {
    const char *name = nullptr;
    std::array<IndexKey, 4> key{};
    int columns = 0;
    int included = 0; // how many of them, the last ones, are not part of its key: INCLUDE
    bool unique = false;
    int not_null = 0; // it holds only rows where this column is not null; 0: all rows
};

struct TableDef {
    const char *name;
    std::span<const ColumnDef> columns;
    std::array<IndexDef, 2> indexes;
    int index_count;
};

const TableDef &definition(TableId id) noexcept;
std::optional<TableId> table_of_name(std::string_view name) noexcept;
// Whether this index, or a copy of it by REINDEX CONCURRENTLY, has that name.
bool is_name_of(const IndexDef &def, std::string_view index) noexcept;
// The same of any of our indexes on the table.
bool is_own_index(std::string_view table, std::string_view index) noexcept;

// Whether the extension's tables exist in this database. If so, they stay until the end of the transaction. Raises an
// error if the library does not support their version, or if the extension exists without its tables.
bool hold_installed();
// Whether this schema is that of the extension, whatever its name is.
bool is_our_schema(Oid schema);

// Identifies an installation of the extension: it stays the same until the extension is dropped, and differs from that
// of any other installation in the same database.
Oid identity();

// Counts the invalidations of our tables that this process has received. While it stays the same, so do their
// definitions, and the rows of those tables whose writers call tell_changed(). The invalidation of a change is sent
// before its transaction releases its locks and before its client gets the result, but a moment after the change is
// visible. It is received by refresh() and wherever a table is locked.
uint64 table_changes() noexcept;
// Sends an invalidation to every process at the end of the transaction, and to this one at the end of the command. To
// be called before the change.
void tell_changed(TableId id);
// Sends it to every process now, before this transaction ends, for a caller that next looks for the rows of others.
// That look sees rows that were written before their process received the invalidation; a process that has received it
// looks itself (queue/settings.cpp).
void tell_at_once(TableId id);

// The role that owns the tables.
Oid tables_owner();

// What is wrong with the shape of a table, as a sentence for an error's detail: columns or indexes that are not those
// of its definition. Null: nothing. The table is locked; index: its indexes by their names, 0 where there is none.
const char *shape_problem(const TableDef &def, Relation rel, const std::array<Oid, 2> &index);
// The same of a table of this database.
const char *shape_problem(TableId id);

// Triggers, rules, check constraints, foreign keys and row security of a table: rows that are written directly bypass
// them. Their number; the name of one, or null; the same for a table of this database.
int count_bypassed(Relation rel);
const char *bypassed(Relation rel);
const char *bypassed(TableId id);

} // namespace scylla::store
