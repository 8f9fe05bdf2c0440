// run_tree, failed_steps, and pictures of workflows and of their runs.
#include "api/call.h"
#include "api/rows.h"
#include "pg/error.h"
#include "store/spi_rows.h"
#include "task/rights.h"
#include "task/rules.h"
#include "workflow/definitions.h"

namespace scylla {

namespace {

using store::Parameters;

constexpr int32 k_iterations = 10;
constexpr int32 k_max_iterations = 1'000;
constexpr int32 k_steps = 1'000;
constexpr int32 k_signals = 50;
constexpr int32 k_max_signals = 1'000;

constinit SPIPlanPtr last_statement = nullptr;
constinit SPIPlanPtr tree_statement = nullptr;
constinit SPIPlanPtr failed_statement = nullptr;
constinit SPIPlanPtr gantt_statement = nullptr;
constinit SPIPlanPtr dot_statement = nullptr;
constinit SPIPlanPtr mermaid_statement = nullptr;
constinit SPIPlanPtr run_dot_statement = nullptr;
constinit SPIPlanPtr run_mermaid_statement = nullptr;
constinit SPIPlanPtr lineage_statement = nullptr;

const text *get_workflow(FunctionCallInfo fcinfo) { return args::name("workflow", args::get_text(fcinfo, 0)); }

int32 get_max_iterations(FunctionCallInfo fcinfo) {
    const int32 value = args::get_int(fcinfo, 2).value_or(k_iterations);
    if (value < 0 || value > k_max_iterations)
        error::bad_argument("max_iterations", psprintf("%d", value), "It must be between 0 and 1000.");
    return value;
}

// The last run of the instance. 42704, 42501, P0002.
int64 require_run(FunctionCallInfo fcinfo) {
    const text *workflow = get_workflow(fcinfo);
    if (PG_ARGISNULL(1))
        error::bad_argument("instance", "null", "It must not be null.");
    const int64 instance = PG_GETARG_INT64(1);
    const workflow::Head head = workflow::require(workflow, workflow::Privilege::view);
    Parameters parameters;
    parameters.add(head.id).add(instance);
    const auto runs = store::select<int64>(
        &last_statement,
        "select r.id from scylla.workflow_run_state r join scylla.workflow_head h "
        "on h.id operator(pg_catalog.=) r.workflow and h.created operator(pg_catalog.<=) r.created "
        "where r.workflow operator(pg_catalog.=) $1 and r.instance operator(pg_catalog.=) $2 order by r.run desc limit "
        "1",
        parameters, SPI_OK_SELECT, [](uint64 row) { return store::Columns(row).next_int64(); });
    if (runs.empty())
        error::no_such_instance(workflow, instance);
    return runs[0];
}

// Returns the rows of a statement, which has the columns of the function.
Datum return_selected(FunctionCallInfo fcinfo, SPIPlanPtr *plan, const char *sql, Parameters &parameters) {
    const Rows rows = begin_rows(fcinfo);
    store::AsOwner as_owner;
    as_owner.begin();
    parameters.run(plan, sql, SPI_OK_SELECT);
    for (uint64 row = 0; row < SPI_processed; row++)
        tuplestore_puttuple(rows.store, SPI_tuptable->vals[row]);
    as_owner.end();
    return 0;
}

Datum return_text(SPIPlanPtr *plan, const char *sql, Parameters &parameters) {
    PG_RETURN_TEXT_P(store::select<text *>(plan, sql, parameters, SPI_OK_SELECT,
                                           [](uint64 row) { return store::Columns(row).next_text(); })[0]);
}

Datum draw_version(FunctionCallInfo fcinfo, SPIPlanPtr *plan, const char *sql) {
    const text *selector = args::get_text(fcinfo, 1);
    const workflow::Head head = workflow::require(get_workflow(fcinfo), workflow::Privilege::view);
    const int32 version = pick_version(head, selector != nullptr ? selector : cstring_to_text("default"));
    Parameters parameters;
    parameters.add(head.id).add(INT4OID, Int32GetDatum(version));
    return return_text(plan, sql, parameters);
}

Datum draw_run(FunctionCallInfo fcinfo, SPIPlanPtr *plan, const char *sql) {
    Parameters parameters;
    parameters.add(require_run(fcinfo));
    return return_text(plan, sql, parameters);
}

Datum draw_lineage(FunctionCallInfo fcinfo, bool as_dot) {
    const int32 max_signals = args::get_int(fcinfo, 2).value_or(k_signals);
    if (max_signals < 1 || max_signals > k_max_signals)
        error::bad_argument("max_signals", psprintf("%d", max_signals), "It must be between 1 and 1000.");
    Parameters parameters;
    parameters.add(require_run(fcinfo))
        .add(static_cast<int64>(GetUserId()))
        .add(INT4OID, Int32GetDatum(max_signals))
        .add(BOOLOID, BoolGetDatum(as_dot));
    return return_text(&lineage_statement, "select scylla._draw_lineage($1, $2, $3, $4)", parameters);
}

} // namespace
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
    const int32 max_iterations = get_max_iterations(fcinfo);
    Parameters parameters;
    parameters.add(require_run(fcinfo))
        .add(INT4OID, Int32GetDatum(max_iterations))
        .add(BOOLOID, BoolGetDatum(args::get_bool(fcinfo, 3).value_or(false)))
        .add(static_cast<int64>(GetUserId()));
    return return_selected(fcinfo, &tree_statement, "select * from scylla._tree_of_run($1, 0, true, $2, $3, $4)",
                           parameters);
}

// failed_steps(workflow, instance, max_steps)
SCYLLA_FUNCTION(scylla_failed_steps) {
    using namespace scylla;
    const int32 max_steps = args::max_tasks(args::get_int(fcinfo, 2).value_or(k_steps), "max_steps");
    Parameters parameters;
    parameters.add(require_run(fcinfo)).add(static_cast<int64>(GetUserId())).add(INT4OID, Int32GetDatum(max_steps));
    return return_selected(fcinfo, &failed_statement, "select * from scylla._failed_steps($1, $2, $3)", parameters);
}

// workflow_dot(workflow, version)
SCYLLA_FUNCTION(scylla_workflow_dot) {
    return scylla::draw_version(fcinfo, &scylla::dot_statement,
                                "select scylla._draw_dot(definition, null) from scylla.workflow_text "
                                "where workflow operator(pg_catalog.=) $1 and version operator(pg_catalog.=) $2");
}

SCYLLA_FUNCTION(scylla_workflow_mermaid) {
    return scylla::draw_version(fcinfo, &scylla::mermaid_statement,
                                "select scylla._draw_mermaid(definition, null) from scylla.workflow_text "
                                "where workflow operator(pg_catalog.=) $1 and version operator(pg_catalog.=) $2");
}

// run_dot(workflow, instance)
SCYLLA_FUNCTION(scylla_run_dot) {
    return scylla::draw_run(fcinfo, &scylla::run_dot_statement,
                            "select scylla._draw_dot(v.definition, r.id) from scylla.workflow_run_state r "
                            "join scylla.workflow_text v on v.workflow operator(pg_catalog.=) r.workflow "
                            "and v.version operator(pg_catalog.=) r.version where r.id operator(pg_catalog.=) $1");
}

SCYLLA_FUNCTION(scylla_run_mermaid) {
    return scylla::draw_run(fcinfo, &scylla::run_mermaid_statement,
                            "select scylla._draw_mermaid(v.definition, r.id) from scylla.workflow_run_state r "
                            "join scylla.workflow_text v on v.workflow operator(pg_catalog.=) r.workflow "
                            "and v.version operator(pg_catalog.=) r.version where r.id operator(pg_catalog.=) $1");
}

// run_gantt(workflow, instance, max_iterations)
SCYLLA_FUNCTION(scylla_run_gantt) {
    using namespace scylla;
    const int32 max_iterations = get_max_iterations(fcinfo);
    Parameters parameters;
    parameters.add(require_run(fcinfo))
        .add(static_cast<int64>(GetUserId()))
        .add(INT4OID, Int32GetDatum(max_iterations));
    return return_text(&gantt_statement, "select scylla._draw_gantt($1, $2, $3)", parameters);
}

// lineage_dot(workflow, instance, max_signals)
SCYLLA_FUNCTION(scylla_lineage_dot) { return scylla::draw_lineage(fcinfo, true); }

SCYLLA_FUNCTION(scylla_lineage_mermaid) { return scylla::draw_lineage(fcinfo, false); }
