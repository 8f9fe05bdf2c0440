// stop_workflow, kill_workflow, stop_step, kill_step, skip_step.
#include "api/run_args.h"
#include "pg/memory.h"
#include "task/open.h"
#include "workflow/actions.h"

namespace scylla {

namespace {

std::span<const int64> get_iterations(FunctionCallInfo fcinfo, int n) {
    const auto given = args::get_array(fcinfo, n, INT8OID);
    if (!given)
        return {};
    const auto numbers = allocate<int64>(static_cast<std::size_t>(given->size));
    for (std::size_t i = 0; i < numbers.size(); i++) {
        if (given->null[i])
            error::bad_argument("iterations", "null", "It must not contain nulls.");
        numbers[i] = DatumGetInt64(given->value[i]);
    }
    return numbers;
}

Datum act_on_step(FunctionCallInfo fcinfo, const char *call, model::workflow::StepAction action) {
    const workflow::StepName name{.workflow = args::get_workflow_id(fcinfo),
                                  .instance = args::get_instance(fcinfo),
                                  .step = args::name("step", args::get_text(fcinfo, 2)),
                                  .iterations = get_iterations(fcinfo, 3)};
    store::Store store = open_for_settings(call);
    const auto id = workflow::act_on_step(name, action);
    close(store);
    if (!id)
        PG_RETURN_NULL();
    PG_RETURN_INT64(*id);
}

Datum end_all_runs(FunctionCallInfo fcinfo, const char *call, const char *kind) {
    const text *workflow = args::get_workflow_id(fcinfo);
    store::Store store = open_for_settings(call);
    const int64 count = workflow::end_all_runs(workflow, kind);
    close(store);
    PG_RETURN_INT64(count);
}

} // namespace
} // namespace scylla

// stop_workflow(workflow)
SCYLLA_FUNCTION(scylla_stop_workflow) { return scylla::end_all_runs(fcinfo, "scylla.stop_workflow()", "stop"); }

SCYLLA_FUNCTION(scylla_kill_workflow) { return scylla::end_all_runs(fcinfo, "scylla.kill_workflow()", "kill"); }

// stop_step(workflow, instance, step, iterations)
SCYLLA_FUNCTION(scylla_stop_step) {
    return scylla::act_on_step(fcinfo, "scylla.stop_step()", scylla::model::workflow::StepAction::stop);
}

SCYLLA_FUNCTION(scylla_kill_step) {
    return scylla::act_on_step(fcinfo, "scylla.kill_step()", scylla::model::workflow::StepAction::kill);
}

SCYLLA_FUNCTION(scylla_skip_step) {
    return scylla::act_on_step(fcinfo, "scylla.skip_step()", scylla::model::workflow::StepAction::skip);
}
