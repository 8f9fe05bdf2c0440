// The session of a monitor: its slot in shared memory, its settings, and its transactions.
#pragma once

#include "pg/identity.h"
#include "shmem/stats.h"
#include "store/rows.h"

namespace scylla::monitor {

extern shmem::MonitorSlot *slot;

// From the launcher's request to the connection with the slot's database.
void begin_session(int32 slot_index);
// The same for another process that works as the owner of the tables.
void begin_process(const char *name, Oid database);
// Microseconds between two looks that nothing has announced.
int64 interval();
// The extension that this database has, as statistics name it. Known after the first transaction.
shmem::StatId database_id();

// A transaction of its own, as the owner of the tables. Exits if the extension has been dropped.
Identity begin_transaction(const char *activity);
void commit_transaction(const Identity &before);

template <typename Work> void as_owner_in_transaction(const char *activity, Work work) {
    const Identity before = begin_transaction(activity);
    work();
    commit_transaction(before);
}

// The same on a store.
template <typename Work> void in_transaction(const char *activity, Work work) {
    as_owner_in_transaction(activity, [&] {
        store::Store store = store::open(RowExclusiveLock, store::TableId::spec);
        work(store);
        close(store);
    });
}

// Leaves an error in the statistics, once it is known of which extension.
void count_error(const ErrorData *error);

} // namespace scylla::monitor
