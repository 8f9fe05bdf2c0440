// set_breakpoint, drop_breakpoint, pause_step, resume_step, pause_workflow, resume_workflow.
#include "workflow/holds.h"

#include "api/run_args.h"
#include "task/open.h"

namespace scylla {

namespace {

int64 get_positive(FunctionCallInfo fcinfo, int n, const char *argument) {
    if (PG_ARGISNULL(n))
        return 0;
    const int64 value = n == 3 ? PG_GETARG_INT64(n) : PG_GETARG_INT32(n);
    if (value < 1)
        error::bad_argument(argument, psprintf(INT64_FORMAT, value), "It must be at least 1.");
    return value;
}

workflow::Breakpoint get_breakpoint(FunctionCallInfo fcinfo) {
    const workflow::Breakpoint breakpoint{.workflow = args::get_workflow_id(fcinfo),
                                          .step = args::name("step", args::get_text(fcinfo, 1)),
                                          .version = static_cast<int32>(get_positive(fcinfo, 2, "version")),
                                          .instance = get_positive(fcinfo, 3, "instance"),
                                          .run = static_cast<int32>(get_positive(fcinfo, 4, "run"))};
    if (breakpoint.run != 0 && breakpoint.instance == 0)
        error::bad_argument("run", psprintf("%d", breakpoint.run), "It is one of an instance, which must be given.");
    return breakpoint;
}

template <typename Work> Datum change(const char *call, Work work) {
    store::Store store = open_for_settings(call);
    work();
    close(store);
    PG_RETURN_VOID();
}

} // namespace
} // namespace scylla

// set_breakpoint(workflow, step, version, instance, run)
SCYLLA_FUNCTION(scylla_set_breakpoint) {
    using namespace scylla;
    const workflow::Breakpoint breakpoint = get_breakpoint(fcinfo);
    return change("scylla.set_breakpoint()", [&] { workflow::set_breakpoint(breakpoint); });
}

// drop_breakpoint(workflow, step, version, instance, run, resume)
SCYLLA_FUNCTION(scylla_drop_breakpoint) {
    using namespace scylla;
    const workflow::Breakpoint breakpoint = get_breakpoint(fcinfo);
    if (PG_ARGISNULL(5))
        error::bad_argument("resume", "null", "It must be true or false.");
    const bool resume = PG_GETARG_BOOL(5);
    return change("scylla.drop_breakpoint()", [&] { workflow::drop_breakpoint(breakpoint, resume); });
}

// pause_step(workflow, instance, step, iterations)
SCYLLA_FUNCTION(scylla_pause_step) {
    using namespace scylla;
    const workflow::StepName name = args::get_step(fcinfo);
    return change("scylla.pause_step()", [&] { workflow::pause_step(name); });
}

SCYLLA_FUNCTION(scylla_resume_step) {
    using namespace scylla;
    const workflow::StepName name = args::get_step(fcinfo);
    store::Store store = open_for_settings("scylla.resume_step()");
    const auto id = workflow::resume_step(name);
    close(store);
    if (!id)
        PG_RETURN_NULL();
    PG_RETURN_INT64(*id);
}

// pause_workflow(workflow)
SCYLLA_FUNCTION(scylla_pause_workflow) {
    using namespace scylla;
    const text *id = args::get_workflow_id(fcinfo);
    return change("scylla.pause_workflow()", [&] { workflow::pause_workflow(id); });
}

SCYLLA_FUNCTION(scylla_resume_workflow) {
    using namespace scylla;
    const text *id = args::get_workflow_id(fcinfo);
    return change("scylla.resume_workflow()", [&] { workflow::resume_workflow(id); });
}
