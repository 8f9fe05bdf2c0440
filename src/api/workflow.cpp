// validate_workflow, create_workflow, activate_workflow, deactivate_workflow, alter_workflow, drop_workflow,
// grant_workflow, revoke_workflow.
#include "api/call.h"
#include "api/rows.h"
#include "pg/error.h"
#include "pg/text.h"
#include "task/open.h"
#include "task/rules.h"
#include "workflow/definitions.h"

namespace scylla {

namespace {

Datum to_text(std::string_view text) {
    return PointerGetDatum(cstring_to_text_with_len(text.data(), static_cast<int>(text.size())));
}

const text *get_workflow(FunctionCallInfo fcinfo) { return args::name("workflow", args::get_text(fcinfo, 0)); }

workflow::Privilege get_workflow_privilege(FunctionCallInfo fcinfo, int n) {
    const text *value = args::get_text(fcinfo, n);
    for (std::size_t p = 0; value != nullptr && p < workflow::k_privileges.size(); p++)
        if (view(value) == workflow::k_privileges[p])
            return static_cast<workflow::Privilege>(p);
    error::bad_argument("privilege", error::quote(value), "It must be \"run\", \"view\" or \"admin\".");
}

template <typename Change> Datum change_workflow(FunctionCallInfo fcinfo, const char *call, Change change) {
    const text *id = get_workflow(fcinfo);
    store::Store store = open_for_settings(call);
    change(id);
    close(store);
    PG_RETURN_VOID();
}

} // namespace
} // namespace scylla

// validate_workflow(definition)
SCYLLA_FUNCTION(scylla_validate_workflow) {
    using namespace scylla;
    workflow::Found *found = workflow::check_document(args::get_jsonb(fcinfo, 0));
    const Rows rows = begin_rows(fcinfo);
    for (const model::workflow::ShownProblem &problem : found->checked.problems) {
        std::array<Datum, 2> values{to_text(problem.where), to_text(problem.what)};
        std::array<bool, 2> nulls{};
        tuplestore_putvalues(rows.store, rows.type, values.data(), nulls.data());
    }
    model::workflow::release(found->checked);
    return 0;
}

// create_workflow(definition, activate)
SCYLLA_FUNCTION(scylla_create_workflow) {
    using namespace scylla;
    const workflow::Push push{.document = args::get_jsonb(fcinfo, 0), .activate = PG_ARGISNULL(1) || PG_GETARG_BOOL(1)};
    store::Store store = open_for_settings("scylla.create_workflow()");
    const int32 version = workflow::create(push);
    close(store);
    PG_RETURN_INT32(version);
}

// activate_workflow(workflow, version)
SCYLLA_FUNCTION(scylla_activate_workflow) {
    using namespace scylla;
    const auto version = PG_ARGISNULL(1) ? std::nullopt : std::optional(PG_GETARG_INT32(1));
    return change_workflow(fcinfo, "scylla.activate_workflow()",
                           [&](const text *id) { workflow::activate(id, version); });
}

SCYLLA_FUNCTION(scylla_deactivate_workflow) {
    return scylla::change_workflow(fcinfo, "scylla.deactivate_workflow()", scylla::workflow::deactivate);
}

// alter_workflow(workflow, properties)
SCYLLA_FUNCTION(scylla_alter_workflow) {
    using namespace scylla;
    Jsonb *change = args::get_jsonb(fcinfo, 1);
    return change_workflow(fcinfo, "scylla.alter_workflow()", [&](const text *id) { workflow::alter(id, change); });
}

SCYLLA_FUNCTION(scylla_drop_workflow) {
    return scylla::change_workflow(fcinfo, "scylla.drop_workflow()", scylla::workflow::drop);
}

// grant_workflow(workflow, role, privilege)
SCYLLA_FUNCTION(scylla_grant_workflow) {
    using namespace scylla;
    const text *role = args::name("role", args::get_text(fcinfo, 1));
    const workflow::Privilege privilege = get_workflow_privilege(fcinfo, 2);
    return change_workflow(fcinfo, "scylla.grant_workflow()",
                           [&](const text *id) { workflow::grant(id, role, privilege); });
}

// revoke_workflow(workflow, role, privilege)
SCYLLA_FUNCTION(scylla_revoke_workflow) {
    using namespace scylla;
    const text *role = args::name("role", args::get_text(fcinfo, 1));
    const workflow::Privilege privilege = get_workflow_privilege(fcinfo, 2);
    return change_workflow(fcinfo, "scylla.revoke_workflow()",
                           [&](const text *id) { workflow::revoke(id, role, privilege); });
}
