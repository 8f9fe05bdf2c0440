// create_trigger, drop_trigger, pause_trigger, resume_trigger, clear_trigger.
#include "trigger/triggers.h"

#include "api/arguments.h"
#include "model/bounds.h"
#include "pg/error.h"
#include "pg/text.h"
#include "store/plans.h"
#include "task/open.h"
#include "task/rules.h"

namespace scylla {

namespace {

using Change = void (*)(const text *name);

void change_trigger(const text *name, const char *call, Change change) {
    store::Store store = open_for_settings(call);
    change(name);
    close(store);
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_create_trigger) {
    using namespace scylla;
    const args::CreateTrigger given{fcinfo};
    const text *name = given.name();
    const auto chars =
        name == nullptr ? 0 : pg_mbstrlen_with_len(view(name).data(), static_cast<int>(view(name).size()));
    if (chars < 1 || chars > model::k_max_schedule_chars)
        error::bad_argument("name", error::quote(name), "It must have 1 to 150 characters.");
    if (view(name).starts_with(store::k_run_prefix))
        error::bad_argument("name", error::quote(name), "Names with \"workflow:\" are for workflows.");
    const trigger::TriggerRequest request{.name = name,
                                          .signals = args::document(given.signals()),
                                          .action = args::document(given.action()),
                                          .condition = given.condition(),
                                          .grace = given.grace()};
    (void)args::grace(request.grace);
    store::Store store = open_for_settings("scylla.create_trigger()");
    trigger::create(request);
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_drop_trigger) {
    scylla::change_trigger(scylla::args::name(scylla::args::DropTrigger{fcinfo}.name()), "scylla.drop_trigger()",
                           scylla::trigger::drop);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_pause_trigger) {
    scylla::change_trigger(scylla::args::name(scylla::args::PauseTrigger{fcinfo}.name()), "scylla.pause_trigger()",
                           scylla::trigger::pause);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_resume_trigger) {
    scylla::change_trigger(scylla::args::name(scylla::args::ResumeTrigger{fcinfo}.name()), "scylla.resume_trigger()",
                           scylla::trigger::resume);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_clear_trigger) {
    using namespace scylla;
    const args::ClearTrigger given{fcinfo};
    const text *name = args::name(given.name());
    const auto seq = given.seq().value;
    store::Store store = open_for_settings("scylla.clear_trigger()");
    const int64 removed = trigger::clear(name, seq);
    close(store);
    PG_RETURN_INT64(removed);
}
