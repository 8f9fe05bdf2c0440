// create_queue, alter_queue, pause_queue, resume_queue, drop_queue, register_worker.
#include "api/arguments.h"
#include "queue/settings.h"
#include "task/open.h"
#include "task/rules.h"

namespace {

using namespace scylla;

// The first argument is the name, those that follow are the settings.
store::QueueSettings get_settings(FunctionCallInfo fcinfo) {
    if (PG_NARGS() != 1 + static_cast<int>(store::k_queue_settings.size()))
        elog(ERROR, "create_queue has %d arguments", PG_NARGS());
    store::QueueSettings settings;
    for (std::size_t i = 0; i < store::k_queue_settings.size(); i++)
        put(settings, store::k_queue_settings[i], fcinfo->args[i + 1]);
    return settings;
}

void pause_or_resume(text *name, const char *call, bool paused) {
    store::Store store = open_for_settings(call);
    set_paused(store, name, paused);
    close(store);
}

} // namespace

SCYLLA_FUNCTION(scylla_create_queue) {
    const args::CreateQueue given{fcinfo};
    text *name = args::new_queue_name(given.queue());
    const store::QueueSettings settings = get_settings(fcinfo);
    warn_of_short_retentions(settings);
    store::Store store = open_for_settings("scylla.create_queue()");
    create_queue(store, name, settings);
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_alter_queue) {
    const args::AlterQueue given{fcinfo};
    text *name = args::name(given.queue());
    Jsonb *changes = given.settings();
    store::QueueSettings alone;
    apply(changes, alone); // errors in the settings come before the lookup of the queue
    warn_of_short_retentions(alone);
    store::Store store = open_for_settings("scylla.alter_queue()");
    alter_queue(store, name, changes);
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_pause_queue) {
    pause_or_resume(args::name(args::PauseQueue{fcinfo}.queue()), "scylla.pause_queue()", true);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_resume_queue) {
    pause_or_resume(args::name(args::ResumeQueue{fcinfo}.queue()), "scylla.resume_queue()", false);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_drop_queue) {
    const args::DropQueue given{fcinfo};
    text *name = args::name(given.queue());
    const bool force = given.force().value_or(false);
    store::Store store = open_for_settings("scylla.drop_queue()");
    drop_queue(store, name, force);
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_register_worker) {
    (void)fcinfo;
    PreventCommandDuringRecovery("scylla.register_worker()");
    PreventCommandIfReadOnly("scylla.register_worker()");
    PG_RETURN_TEXT_P(cstring_to_text(psprintf("registered-" INT64_FORMAT, store::next_worker())));
}
