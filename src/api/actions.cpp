// stop_workflow, kill_workflow, stop_step, kill_step, skip_step, restart_step, bypass_step.
#include "api/arguments.h"
#include "api/run_args.h"
#include "task/open.h"
#include "workflow/restarts.h"

namespace scylla {

namespace {

Datum act_on_step(FunctionCallInfo fcinfo, workflow::StepName name, const char *call,
                  model::workflow::StepAction action) {
    name.initiator = args::manual_initiator();
    const bool may_run = action == model::workflow::StepAction::skip;
    store::Store store = may_run ? open_for_write(call) : open_for_settings(call); // a new run makes a plan
    const auto id = workflow::act_on_step(name, action);
    close(store);
    if (!id)
        PG_RETURN_NULL();
    PG_RETURN_INT64(*id);
}

Datum end_all_runs(const text *workflow, const char *call, const char *kind) {
    store::Store store = open_for_settings(call);
    const int64 count = workflow::end_all_runs(workflow, kind);
    close(store);
    PG_RETURN_INT64(count);
}

} // namespace
} // namespace scylla

// stop_workflow(workflow)
SCYLLA_FUNCTION(scylla_stop_workflow) {
    return scylla::end_all_runs(scylla::args::name(scylla::args::StopWorkflow{fcinfo}.workflow()),
                                "scylla.stop_workflow()", "stop");
}

SCYLLA_FUNCTION(scylla_kill_workflow) {
    return scylla::end_all_runs(scylla::args::name(scylla::args::KillWorkflow{fcinfo}.workflow()),
                                "scylla.kill_workflow()", "kill");
}

// stop_step(workflow, instance, step, iterations)
SCYLLA_FUNCTION(scylla_stop_step) {
    return scylla::act_on_step(fcinfo, scylla::args::get_step(scylla::args::StopStep{fcinfo}), "scylla.stop_step()",
                               scylla::model::workflow::StepAction::stop);
}

SCYLLA_FUNCTION(scylla_kill_step) {
    return scylla::act_on_step(fcinfo, scylla::args::get_step(scylla::args::KillStep{fcinfo}), "scylla.kill_step()",
                               scylla::model::workflow::StepAction::kill);
}

SCYLLA_FUNCTION(scylla_skip_step) {
    return scylla::act_on_step(fcinfo, scylla::args::get_step(scylla::args::SkipStep{fcinfo}), "scylla.skip_step()",
                               scylla::model::workflow::StepAction::skip);
}

// restart_step(workflow, instance, step, iterations, alone)
SCYLLA_FUNCTION(scylla_restart_step) {
    using namespace scylla;
    const args::RestartStep given{fcinfo};
    workflow::StepName name = args::get_step(given);
    name.initiator = args::manual_initiator();
    store::Store store = open_for_write("scylla.restart_step()"); // a new run makes a plan
    const int64 id = workflow::restart_step(name, given.alone().value_or(false));
    close(store);
    PG_RETURN_INT64(id);
}

SCYLLA_FUNCTION(scylla_bypass_step) {
    return scylla::act_on_step(fcinfo, scylla::args::get_step(scylla::args::BypassStep{fcinfo}), "scylla.bypass_step()",
                               scylla::model::workflow::StepAction::bypass);
}
