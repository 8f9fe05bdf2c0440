// run_tree, failed_steps, and pictures of workflows and of their runs.
#include "api/arguments.h"
#include "api/rows.h"
#include "api/run_args.h"
#include "pg/error.h"
#include "store/workflow/run_views.h"
#include "task/rights.h"
#include "task/rules.h"
#include "workflow/definitions.h"

namespace scylla {

namespace run_views = store::run_views;

namespace {

constexpr int32 k_iterations = 10;
constexpr int32 k_max_iterations = 1'000;
constexpr int32 k_steps = 1'000;
constexpr int32 k_signals = 50;
constexpr int32 k_max_signals = 1'000;

int32 to_max_iterations(std::optional<int32> given) {
    const int32 value = given.value_or(k_iterations);
    if (value < 0 || value > k_max_iterations)
        error::bad_argument("max_iterations", psprintf("%d", value), "It must be between 0 and 1000.");
    return value;
}

text *draw_version(const auto &given, text *(*draw)(store::TextArgument, int32)) {
    const text *selector = given.version();
    const workflow::Head head = workflow::require(args::name(given.workflow()), workflow::Privilege::view);
    return draw(head.id, pick_version(head, selector != nullptr ? selector : cstring_to_text("default")));
}

text *draw_lineage(const auto &given, bool as_dot) {
    const int32 max_signals = given.max_signals().value_or(k_signals);
    if (max_signals < 1 || max_signals > k_max_signals)
        error::bad_argument("max_signals", psprintf("%d", max_signals), "It must be between 1 and 1000.");
    return run_views::draw_lineage({.run = args::require_run(given),
                                    .role = static_cast<int64>(GetUserId()),
                                    .max_signals = max_signals,
                                    .as_dot = as_dot});
}

} // namespace

int64 args::last_run(const text *workflow, int64 instance) {
    const workflow::Head head = workflow::require(workflow, workflow::Privilege::view);
    const auto run = run_views::last_run(head.id, instance);
    if (!run)
        error::no_such_instance(workflow, instance);
    return *run;
}

} // namespace scylla

// _may_role_view(role, owner, viewers, admins)
SCYLLA_FUNCTION(scylla_may_role_view) {
    using namespace scylla;
    if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
        PG_RETURN_BOOL(false);
    const auto roles = [&](int n) { return PG_ARGISNULL(n) ? nullptr : PG_GETARG_ARRAYTYPE_P(n); };
    const char *owner = NameStr(*PG_GETARG_NAME(1));
    const auto role = static_cast<Oid>(PG_GETARG_INT64(0));
    PG_RETURN_BOOL(rights::has_any(role, owner, roles(2)) || rights::has_any(role, owner, roles(3)));
}

// run_tree(workflow, instance, max_iterations, failed_first)
SCYLLA_FUNCTION(scylla_run_tree) {
    using namespace scylla;
    const args::RunTree given{fcinfo};
    const int32 max_iterations = to_max_iterations(given.max_iterations());
    const int64 run = args::require_run(given);
    store::run_views::tree({.run = run,
                            .max_iterations = max_iterations,
                            .failed_first = given.failed_first().value_or(false),
                            .role = static_cast<int64>(GetUserId())},
                           begin_rows(fcinfo).store);
    return 0;
}

// failed_steps(workflow, instance, max_steps)
SCYLLA_FUNCTION(scylla_failed_steps) {
    using namespace scylla;
    const args::FailedSteps given{fcinfo};
    const int32 max_steps = args::max_tasks(given.max_steps().value_or(k_steps), "max_steps");
    const int64 run = args::require_run(given);
    store::run_views::failed_steps(run, static_cast<int64>(GetUserId()), max_steps, begin_rows(fcinfo).store);
    return 0;
}

// workflow_dot(workflow, version)
SCYLLA_FUNCTION(scylla_workflow_dot) {
    PG_RETURN_TEXT_P(scylla::draw_version(scylla::args::WorkflowDot{fcinfo}, scylla::run_views::draw_version_as_dot));
}

SCYLLA_FUNCTION(scylla_workflow_mermaid) {
    PG_RETURN_TEXT_P(
        scylla::draw_version(scylla::args::WorkflowMermaid{fcinfo}, scylla::run_views::draw_version_as_mermaid));
}

// run_dot(workflow, instance)
SCYLLA_FUNCTION(scylla_run_dot) {
    PG_RETURN_TEXT_P(scylla::run_views::draw_run_as_dot(scylla::args::require_run(scylla::args::RunDot{fcinfo})));
}

SCYLLA_FUNCTION(scylla_run_mermaid) {
    PG_RETURN_TEXT_P(
        scylla::run_views::draw_run_as_mermaid(scylla::args::require_run(scylla::args::RunMermaid{fcinfo})));
}

// run_gantt(workflow, instance, max_iterations)
SCYLLA_FUNCTION(scylla_run_gantt) {
    using namespace scylla;
    const args::RunGantt given{fcinfo};
    const int32 max_iterations = to_max_iterations(given.max_iterations());
    PG_RETURN_TEXT_P(
        store::run_views::draw_gantt(args::require_run(given), static_cast<int64>(GetUserId()), max_iterations));
}

// lineage_dot(workflow, instance, max_signals)
SCYLLA_FUNCTION(scylla_lineage_dot) { PG_RETURN_TEXT_P(scylla::draw_lineage(scylla::args::LineageDot{fcinfo}, true)); }

SCYLLA_FUNCTION(scylla_lineage_mermaid) {
    PG_RETURN_TEXT_P(scylla::draw_lineage(scylla::args::LineageMermaid{fcinfo}, false));
}
