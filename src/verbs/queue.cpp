// create_queue, register_worker.
#include "pg/error.h"
#include "shmem/pending.h"
#include "store/upsert.h"
#include "verbs/args.h"
#include "verbs/moves.h"

SCYLLA_FUNCTION(scylla_create_queue) {
    using namespace scylla;
    text *name = args::name("queue", args::get_text(fcinfo, 0));
    Interval *default_timeout = args::get_interval(fcinfo, 1);
    Interval *retention = args::get_interval(fcinfo, 2);
    args::timeout("default_timeout", default_timeout);
    args::retention(retention);
    const float8 aging = args::aging(fcinfo, 3);
    store::Store store = open_for_write("scylla.create_queue()");
    if (!store::insert_queue(name, default_timeout, retention, aging))
        error::duplicate_queue(name);
    shmem::note_queue();
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_register_worker) {
    using namespace scylla;
    PreventCommandIfReadOnly("scylla.register_worker()");
    PreventCommandDuringRecovery("scylla.register_worker()");
    PG_RETURN_TEXT_P(cstring_to_text(psprintf("worker-" INT64_FORMAT, store::next_worker())));
}
