// Keeps monitors out of the way of commands that need a database to have no connections: DROP DATABASE, ALTER DATABASE
// … RENAME and SET TABLESPACE, CREATE DATABASE … TEMPLATE. The monitor of that database is stopped first and comes back
// at the end of the transaction if the database is still there. The launcher learns of new databases here.
#include "server/monitor.h"
#include "shmem/pending.h"

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

// The database that has to be free of connections for this statement, or null.
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

bool changes_databases(Node *statement) {
    switch (nodeTag(statement)) {
    case T_CreatedbStmt:
    case T_DropdbStmt:
    case T_AlterDatabaseStmt:
        return true;
    default:
        return database_to_free(statement) != nullptr;
    }
}

bool has_monitor(Oid database) {
    for (int i = 0; i < shared->slots; i++)
        if (pg_atomic_read_u32(&shared->slot[i].database) == database)
            return true;
    return false;
}

// Asks the monitor of the database to go, keeps the launcher from sending another, and waits until it has gone; but not
// for ever: then the command says itself what is in its way.
void block(Oid database) {
    constexpr int k_longest_wait = 10; // seconds
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    if (shared->blocked_count < shmem::k_max_marked)
        shared->blocked[shared->blocked_count++] = {database, MyProcPid};
    for (int i = 0; i < shared->slots; i++)
        if (pg_atomic_read_u32(&shared->slot[i].database) == database) {
            pg_atomic_write_u32(&shared->slot[i].stop, 1);
            pg_memory_barrier();
            shmem::wake(pg_atomic_read_u32(&shared->slot[i].proc));
        }
    LWLockRelease(shared->lock);
    ConditionVariablePrepareToSleep(&shared->exited);
    for (int i = 0; i < k_longest_wait && has_monitor(database); i++) {
        shmem::wake_launcher();
        ConditionVariableTimedSleep(&shared->exited, 1000, PG_WAIT_EXTENSION);
    }
    ConditionVariableCancelSleep();
}

extern "C" void on_utility(PlannedStmt *statement, const char *query, bool read_only_tree,
                           ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *environment,
                           DestReceiver *receiver, QueryCompletion *completion) {
    const ProcessUtility_hook_type next = previous_hook != nullptr ? previous_hook : standard_ProcessUtility;
    if (shared == nullptr || !changes_databases(statement->utilityStmt)) {
        next(statement, query, read_only_tree, context, params, environment, receiver, completion);
        return;
    }
    const char *name = database_to_free(statement->utilityStmt);
    const Oid found = name == nullptr ? InvalidOid : get_database_oid(name, true);
    // Whoever does not own the database will be refused by the command: no reason to stop a monitor.
    const Oid database = OidIsValid(found) && compat::owns_database(found, GetUserId()) ? found : InvalidOid;
    shmem::note_databases(); // at its end the transaction gives the database back, and the launcher looks
    if (OidIsValid(database))
        block(database);
    next(statement, query, read_only_tree, context, params, environment, receiver, completion);
}

} // namespace

void install_utility_hook() {
    previous_hook = ProcessUtility_hook;
    ProcessUtility_hook = on_utility;
}

} // namespace scylla::monitor
