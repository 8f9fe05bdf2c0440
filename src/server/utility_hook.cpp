// What commands of users must not do unnoticed.
//
// The hook refuses to rename the schema. Renaming a table is an accident that can be undone: then the hook tells the
// launcher that the database can have a monitor again, and also after COMMIT PREPARED, which may bring the extension
// and runs no callbacks.
//
// The hook refuses triggers, rules, constraints, unique indexes and row security on tables whose rows are written
// directly, and that these become unlogged.
//
// DROP EXTENSION also drops pg_cron's job for schedules.
//
// DROP EXTENSION and ALTER EXTENSION … UPDATE lock one table after the other, and would deadlock with a monitor that
// locks them in another order. DROP DATABASE, ALTER DATABASE … RENAME and SET TABLESPACE, and CREATE DATABASE …
// TEMPLATE need a database without connections. So the monitor of that database is stopped first, and started again
// after the transaction if the database still exists. The hook also tells the launcher of new databases.
#include "server/monitor.h"

#include "pg/error.h"
#include "schedule/pg_cron.h"
#include "shmem/pending.h"
#include "shmem/workers.h"
#include "store/catalog.h"

namespace scylla::monitor {

namespace {

using shmem::shared;

constinit ProcessUtility_hook_type previous_hook = nullptr;

const char *option(List *options, const char *name) {
    ListCell *cell = nullptr;
    foreach (cell, options) {
        auto *element = static_cast<DefElem *>(lfirst(cell));
        if (strcmp(element->defname, name) == 0 && element->arg != nullptr)
            return defGetString(element);
    }
    return nullptr;
}

// The database that must have no connections for this statement, or null.
const char *database_to_free(Node *statement) {
    switch (nodeTag(statement)) {
    case T_DropdbStmt:
        return reinterpret_cast<DropdbStmt *>(statement)->dbname;
    case T_RenameStmt: {
        const auto *rename = reinterpret_cast<RenameStmt *>(statement);
        return rename->renameType == OBJECT_DATABASE ? rename->subname : nullptr;
    }
    case T_AlterDatabaseStmt: {
        const auto *alter = reinterpret_cast<AlterDatabaseStmt *>(statement);
        return option(alter->options, "tablespace") != nullptr ? alter->dbname : nullptr;
    }
    case T_CreatedbStmt:
        return option(reinterpret_cast<CreatedbStmt *>(statement)->options, "template");
    default:
        return nullptr;
    }
}

bool names_us(List *objects) {
    ListCell *cell = nullptr;
    foreach (cell, objects)
        if (strcmp(strVal(lfirst(cell)), "scylla") == 0)
            return true;
    return false;
}

// Whether the statement locks all tables of the extension in this database, and the user may run it.
bool replaces_tables(Node *statement) {
    bool names = false;
    if (IsA(statement, DropStmt)) {
        const auto *drop = reinterpret_cast<DropStmt *>(statement);
        names = drop->removeType == OBJECT_EXTENSION && names_us(drop->objects);
    } else if (IsA(statement, AlterExtensionStmt)) {
        names = strcmp(reinterpret_cast<AlterExtensionStmt *>(statement)->extname, "scylla") == 0;
    }
    const Oid extension = names ? get_extension_oid("scylla", true) : InvalidOid;
    return OidIsValid(extension) && compat::owns_extension(extension, GetUserId());
}

bool drops_extension(Node *statement) { return IsA(statement, DropStmt) && replaces_tables(statement); }

bool changes_databases(Node *statement) {
    switch (nodeTag(statement)) {
    case T_CreatedbStmt:
    case T_DropdbStmt:
    case T_AlterDatabaseStmt:
        return true;
    default:
        return database_to_free(statement) != nullptr || replaces_tables(statement);
    }
}

// The database whose monitor must be stopped for this statement; 0: none. Also 0 if the user does not own what the
// statement changes: it will fail.
Oid database_to_leave(Node *statement) {
    if (replaces_tables(statement))
        return MyDatabaseId;
    const char *name = database_to_free(statement);
    const Oid found = name == nullptr ? InvalidOid : get_database_oid(name, true);
    return OidIsValid(found) && compat::owns_database(found, GetUserId()) ? found : InvalidOid;
}

// Asks the monitor of the database to exit, keeps the launcher from starting another, and waits until it has exited. If
// that takes too long, the command itself reports what blocks it.
void block(Oid database) {
    constexpr int k_longest_wait = 10; // seconds
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    if (shared->blocked_count < shmem::k_max_marked)
        shared->blocked[shared->blocked_count++] = {database, MyProcPid};
    if (shmem::MonitorSlot *slot = shmem::monitor_slot(database))
        shmem::ask_to_leave(*slot);
    LWLockRelease(shared->lock);
    ConditionVariablePrepareToSleep(&shared->exited);
    for (int i = 0; i < k_longest_wait && (shmem::stop_workers(database) || shmem::monitor_slot(database) != nullptr);
         i++) {
        shmem::wake_launcher();
        ConditionVariableTimedSleep(&shared->exited, 1000, PG_WAIT_EXTENSION);
    }
    ConditionVariableCancelSleep();
}

// ---- tables that are written directly ------------------------------------------------------------------------------

// The table of ours that a name in a statement means, if it is written directly.
Oid direct_table(const RangeVar *name) {
    const Oid table = name == nullptr ? InvalidOid : RangeVarGetRelid(name, NoLock, true);
    if (!OidIsValid(table) || !store::table_of_name(get_rel_name(table)))
        return InvalidOid;
    const Oid extension = getExtensionOfObject(RelationRelationId, table);
    const bool is_ours = OidIsValid(extension) && strcmp(get_extension_name(extension), "scylla") == 0;
    return is_ours ? table : InvalidOid;
}

Oid first_referenced(List *constraints) {
    ListCell *cell = nullptr;
    foreach (cell, constraints)
        if (const auto *constraint = static_cast<Constraint *>(lfirst(cell));
            IsA(constraint, Constraint) && constraint->contype == CONSTR_FOREIGN)
            if (const Oid table = direct_table(constraint->pktable); OidIsValid(table))
                return table;
    return InvalidOid;
}

// The table of ours that foreign keys of a new table or of new columns refer to.
Oid referenced(List *elements) {
    if (const Oid table = first_referenced(elements); OidIsValid(table))
        return table;
    ListCell *cell = nullptr;
    foreach (cell, elements)
        if (const auto *column = static_cast<ColumnDef *>(lfirst(cell)); IsA(column, ColumnDef))
            if (const Oid table = first_referenced(column->constraints); OidIsValid(table))
                return table;
    return InvalidOid;
}

Oid table_altered(const AlterTableStmt &statement) {
    if (const Oid table = direct_table(statement.relation); OidIsValid(table))
        return table;
    List *elements = NIL;
    ListCell *cell = nullptr;
    foreach (cell, statement.cmds)
        if (Node *def = static_cast<AlterTableCmd *>(lfirst(cell))->def; def != nullptr)
            elements = lappend(elements, def);
    return referenced(elements);
}

// A unique index is refused before it is built: CREATE INDEX CONCURRENTLY commits. One of ours may be made anew.
void refuse_unique_index(Node *statement) {
    if (!IsA(statement, IndexStmt) || !reinterpret_cast<IndexStmt *>(statement)->unique)
        return;
    const IndexStmt &index = *reinterpret_cast<IndexStmt *>(statement);
    const Oid table = direct_table(index.relation);
    if (OidIsValid(table) && (index.idxname == nullptr || !store::is_own_index(get_rel_name(table), index.idxname)))
        error::bypassed(get_rel_name(table));
}

// The table of ours to which this statement may add what it cannot have; 0: none.
Oid table_added_to(Node *statement) {
    switch (nodeTag(statement)) {
    case T_CreateTrigStmt:
        return direct_table(reinterpret_cast<CreateTrigStmt *>(statement)->relation);
    case T_RuleStmt:
        return direct_table(reinterpret_cast<RuleStmt *>(statement)->relation);
    case T_AlterTableStmt:
        return table_altered(*reinterpret_cast<AlterTableStmt *>(statement));
    case T_CreateStmt:
        return referenced(reinterpret_cast<CreateStmt *>(statement)->tableElts);
    default:
        return InvalidOid;
    }
}

// ---- the schema and the extension ----------------------------------------------------------------------------------

void refuse_to_rename_schema(Node *statement) {
    if (!IsA(statement, RenameStmt))
        return;
    const auto *rename = reinterpret_cast<RenameStmt *>(statement);
    if (rename->renameType == OBJECT_SCHEMA && strcmp(rename->newname, "scylla") != 0 &&
        store::is_our_schema(get_namespace_oid(rename->subname, true)))
        error::schema_is_fixed(rename->subname);
}

// How a statement may bring tables of the extension of which nothing else tells the launcher.
enum class Brings : std::uint8_t {
    nothing,
    at_commit, // of its transaction
    now,       // by ending a prepared transaction, which runs no callbacks
};
Brings may_bring_tables(Node *statement) {
    switch (nodeTag(statement)) {
    case T_RenameStmt:
    case T_AlterObjectSchemaStmt:
    case T_AlterExtensionStmt:
    case T_AlterExtensionContentsStmt:
        return Brings::at_commit;
    case T_TransactionStmt: {
        const TransactionStmtKind kind = reinterpret_cast<TransactionStmt *>(statement)->kind;
        const bool ends_prepared = kind == TRANS_STMT_COMMIT_PREPARED || kind == TRANS_STMT_ROLLBACK_PREPARED;
        return ends_prepared ? Brings::now : Brings::nothing;
    }
    default:
        return Brings::nothing;
    }
}

void announce(Brings brings) {
    if (brings == Brings::nothing || shared == nullptr || shmem::is_monitored() ||
        !OidIsValid(get_extension_oid("scylla", true)))
        return;
    if (brings == Brings::now)
        shmem::announce_extension();
    else
        shmem::note_extension();
}

int count_bypassed(Oid table) {
    Relation rel = table_open(table, AccessShareLock);
    const int count = store::count_bypassed(rel);
    table_close(rel, NoLock);
    return count;
}

void refuse_bypassed(Oid table, int before) {
    CommandCounterIncrement();
    if (count_bypassed(table) > before)
        error::bypassed(get_rel_name(table));
}

extern "C" void on_utility(PlannedStmt *statement, const char *query, bool read_only_tree,
                           ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *environment,
                           DestReceiver *receiver, QueryCompletion *completion) {
    const ProcessUtility_hook_type next = previous_hook != nullptr ? previous_hook : standard_ProcessUtility;
    if (!creating_extension)
        refuse_unique_index(statement->utilityStmt);
    const Oid table = creating_extension ? InvalidOid : table_added_to(statement->utilityStmt);
    if (OidIsValid(table)) {
        const int before = count_bypassed(table);
        next(statement, query, read_only_tree, context, params, environment, receiver, completion);
        refuse_bypassed(table, before);
        return;
    }
    if (!creating_extension && drops_extension(statement->utilityStmt))
        schedule::drop_job();
    refuse_to_rename_schema(statement->utilityStmt);
    const Brings brings = may_bring_tables(statement->utilityStmt);
    if (shared == nullptr || !changes_databases(statement->utilityStmt)) {
        next(statement, query, read_only_tree, context, params, environment, receiver, completion);
        announce(brings);
        return;
    }
    const Oid database = database_to_leave(statement->utilityStmt);
    shmem::note_databases(); // the end of the transaction unblocks the database, and the launcher checks it
    if (OidIsValid(database))
        block(database);
    next(statement, query, read_only_tree, context, params, environment, receiver, completion);
    announce(brings);
}

} // namespace

void install_utility_hook() {
    previous_hook = ProcessUtility_hook;
    ProcessUtility_hook = on_utility;
}

} // namespace scylla::monitor
