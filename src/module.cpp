// What the server sees of the library when it loads it.
#include "server/monitor.h"
#include "settings.h"
#include "shmem/pending.h"
#include "shmem/stats.h"

extern "C" {
#ifdef PG_MODULE_MAGIC_EXT
PG_MODULE_MAGIC_EXT(.name = "scylla", .version = SCYLLA_VERSION);
#else
PG_MODULE_MAGIC;
#endif

PGDLLEXPORT void _PG_init(void);
}

void _PG_init(void) {
    using namespace scylla;
    settings::define();
    shmem::install_stat_callbacks();
    shmem::install_callbacks();
    if (process_shared_preload_libraries_in_progress) {
        shmem::install();
        monitor::install();
    }
}

SCYLLA_FUNCTION(scylla_announce) {
    using namespace scylla;
    (void)fcinfo;
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
