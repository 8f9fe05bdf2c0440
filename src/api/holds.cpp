// set_breakpoint, drop_breakpoint, pause_step, resume_step, pause_workflow, resume_workflow.
#include "workflow/holds.h"

#include "api/arguments.h"
#include "api/run_args.h"
#include "task/open.h"

namespace scylla {

namespace {

// 0 if null.
template <typename Number> Number to_positive(const args::Named<std::optional<Number>> &given) {
    if (given.value && *given.value < 1)
        error::bad_argument(given.name, psprintf(INT64_FORMAT, static_cast<int64>(*given.value)),
                            "It must be at least 1.");
    return given.value_or(0);
}

workflow::Breakpoint get_breakpoint(const auto &given) {
    const workflow::Breakpoint breakpoint{.workflow = args::name(given.workflow()),
                                          .step = args::name(given.step()),
                                          .version = to_positive(given.version()),
                                          .instance = to_positive(given.instance()),
                                          .run = to_positive(given.run())};
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
    const workflow::Breakpoint breakpoint = get_breakpoint(args::SetBreakpoint{fcinfo});
    return change("scylla.set_breakpoint()", [&] { workflow::set_breakpoint(breakpoint); });
}

// drop_breakpoint(workflow, step, version, instance, run, resume)
SCYLLA_FUNCTION(scylla_drop_breakpoint) {
    using namespace scylla;
    const args::DropBreakpoint given{fcinfo};
    const workflow::Breakpoint breakpoint = get_breakpoint(given);
    const bool resume = given.resume().value_or(false);
    return change("scylla.drop_breakpoint()", [&] { workflow::drop_breakpoint(breakpoint, resume); });
}

// pause_step(workflow, instance, step, iterations)
SCYLLA_FUNCTION(scylla_pause_step) {
    using namespace scylla;
    const workflow::StepName name = args::get_step(args::PauseStep{fcinfo});
    return change("scylla.pause_step()", [&] { workflow::pause_step(name); });
}

SCYLLA_FUNCTION(scylla_resume_step) {
    using namespace scylla;
    const workflow::StepName name = args::get_step(args::ResumeStep{fcinfo});
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
    const text *id = args::name(args::PauseWorkflow{fcinfo}.workflow());
    return change("scylla.pause_workflow()", [&] { workflow::pause_workflow(id); });
}

SCYLLA_FUNCTION(scylla_resume_workflow) {
    using namespace scylla;
    const text *id = args::name(args::ResumeWorkflow{fcinfo}.workflow());
    return change("scylla.resume_workflow()", [&] { workflow::resume_workflow(id); });
}
