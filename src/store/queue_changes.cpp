#include "store/queue_changes.h"

#include "pg/hash.h"
#include "store/locks.h"
#include "store/spi_rows.h"

namespace scylla::store {

namespace {

// By privilege.
using PrivilegeStatements = std::array<SPIPlanPtr, model::k_privilege_names.size()>;
constinit SPIPlanPtr insert_statement = nullptr;
constinit PrivilegeStatements add_statements{};
constinit PrivilegeStatements remove_statements{};
constinit SPIPlanPtr owner_statement = nullptr;

// ---- making one ----------------------------------------------------------------------------------------------------

// The queues that a transaction has created.
struct OwnQueues {
    TransactionId by;
    std::size_t count;
    std::array<int32, 64> queue;
};
constinit OwnQueues own_queues{};

void note_own(int32 queue) {
    const TransactionId own = GetTopTransactionId();
    if (own_queues.by != own)
        own_queues = {own, 0, {}};
    if (own_queues.count < own_queues.queue.size())
        own_queues.queue[own_queues.count++] = queue;
}

// Returns the id of the queue, or nothing if its name is taken.
std::span<const int32> insert(const text *name, const QueueSettings &settings) {
    Parameters parameters;
    parameters.add(name).add(TEXTOID, CStringGetTextDatum(GetUserNameFromId(GetUserId(), false)));
    StringInfoData columns;
    StringInfoData places;
    initStringInfo(&columns);
    initStringInfo(&places);
    int place = 2;
    for (const Setting &setting : k_queue_settings) {
        const NullableDatum value = get(settings, setting);
        parameters.add(type_of(setting), value.value, value.isnull);
        appendStringInfo(&columns, ", %s", setting.name);
        appendStringInfo(&places, ", $%d", ++place);
    }
    return select<int32>(&insert_statement,
                         psprintf("insert into scylla.queue (name, owner%s) values ($1, $2::pg_catalog.name%s) "
                                  "on conflict (name) do nothing returning id",
                                  columns.data, places.data),
                         parameters, SPI_OK_INSERT_RETURNING, [](uint64 row) { return Columns(row).next_int32(); });
}

// ---- rights --------------------------------------------------------------------------------------------------------

void change_queue(SPIPlanPtr *plan, const char *sql, int32 queue, const text *role) {
    Parameters parameters;
    parameters.add(INT4OID, Int32GetDatum(queue)).add(role);
    tell_changed(TableId::queue);
    change(plan, sql, parameters, SPI_OK_UPDATE);
}

const char *grantees_column(model::Privilege privilege) {
    switch (privilege) {
    case model::Privilege::submit:
        return "submitters";
    case model::Privilege::work:
        return "workers";
    case model::Privilege::view:
        return "viewers";
    case model::Privilege::depend:
        return "dependers";
    case model::Privilege::admin:
        break;
    }
    return "admins";
}

} // namespace

bool insert_queue(const text *name, const QueueSettings &settings) {
    // Two never insert a row of the same name at once: ON CONFLICT knows nothing of the index that REINDEX CONCURRENTLY
    // builds, and both would find the other there only. The later one waits here or for the row of the first.
    const LOCKTAG tag = name_lock_tag(hash_of(name));
    (void)LockAcquire(&tag, ExclusiveLock, false, false);
    // No other process knows the queue yet; but after a rollback this process must forget it. Before the insert: a
    // change that is announced after it is lost if an error ends the command.
    tell_changed(TableId::queue);
    const auto inserted = insert(name, settings);
    if (!inserted.empty())
        note_own(inserted[0]);
    LockRelease(&tag, ExclusiveLock, false);
    return !inserted.empty();
}

bool is_own_queue(int32 queue) {
    const auto own = std::span(own_queues.queue).first(own_queues.count);
    return own_queues.by == GetTopTransactionIdIfAny() && std::find(own.begin(), own.end(), queue) != own.end();
}

void add_grantee(int32 queue, model::Privilege privilege, const text *role) {
    const char *column = grantees_column(privilege);
    change_queue(&add_statements[static_cast<std::size_t>(privilege)],
                 psprintf("update scylla.queue set %s = pg_catalog.array_append(%s, $2) "
                          "where id operator(pg_catalog.=) $1 and (%s is null or $2 operator(pg_catalog.<>) all (%s))",
                          column, column, column, column),
                 queue, role);
}

void remove_grantee(int32 queue, model::Privilege privilege, const text *role) {
    const char *column = grantees_column(privilege);
    change_queue(&remove_statements[static_cast<std::size_t>(privilege)],
                 psprintf("update scylla.queue set %s = case when %s operator(pg_catalog.<>) array[$2] "
                          "then pg_catalog.array_remove(%s, $2) end "
                          "where id operator(pg_catalog.=) $1 and $2 operator(pg_catalog.=) any (%s)",
                          column, column, column, column),
                 queue, role);
}

void set_queue_owner(int32 queue, const text *owner) {
    change_queue(&owner_statement,
                 "update scylla.queue set owner = $2::pg_catalog.name where id operator(pg_catalog.=) $1", queue,
                 owner);
}

} // namespace scylla::store
