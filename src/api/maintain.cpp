// reset_expired, purge, maintain, and what the install script calls.
#include "server/maintain.h"

#include "pg/error.h"
#include "shmem/pending.h"
#include "task/open.h"

SCYLLA_FUNCTION(scylla_reset_expired) {
    using namespace scylla;
    (void)fcinfo;
    store::Store store = open_for_write("scylla.reset_expired()");
    const int64 leases = reset_expired(store);
    close(store);
    PG_RETURN_INT64(leases);
}

SCYLLA_FUNCTION(scylla_purge) {
    using namespace scylla;
    (void)fcinfo;
    store::Store store = open_for_write("scylla.purge()");
    const int64 tasks = purge(store, GetCurrentTimestamp());
    close(store);
    PG_RETURN_INT64(tasks);
}

SCYLLA_FUNCTION(scylla_maintain) {
    using namespace scylla;
    (void)fcinfo;
    store::Store store = open_for_write("scylla.maintain()");
    maintain(store, GetCurrentTimestamp());
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_announce) {
    using namespace scylla;
    (void)fcinfo;
    if (!creating_extension)
        error::internal_function("scylla._announce()");
    if (shmem::shared == nullptr)
        ereport(
            WARNING,
            (errmsg("scylla is not preloaded: no monitor will run"),
             errdetail("Tasks can be submitted and leased, but expired leases, delayed tasks and old tasks are only "
                       "looked after by scylla.maintain()."),
             errhint("Add scylla to shared_preload_libraries and restart the server, or call scylla.maintain() "
                     "regularly.")));
    shmem::note_extension();
    PG_RETURN_VOID();
}
