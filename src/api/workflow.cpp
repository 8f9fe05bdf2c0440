// validate_workflow, create_workflow, activate_workflow, deactivate_workflow, alter_workflow, drop_workflow,
// grant_workflow, revoke_workflow.
#include "api/arguments.h"
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

workflow::Privilege to_privilege(const args::Named<text *> &given) {
    return args::one_of<workflow::Privilege>(given, workflow::k_privileges,
                                             "It must be \"run\", \"view\" or \"admin\".");
}

template <typename Change> Datum change_workflow(const args::Named<text *> &workflow, const char *call, Change change) {
    const text *id = args::name(workflow);
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
    const args::ValidateWorkflow given{fcinfo};
    workflow::Found *found = workflow::check_document(given.definition());
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
    const args::CreateWorkflow given{fcinfo};
    const workflow::Push push{.document = given.definition(), .activate = given.activate().value_or(true)};
    store::Store store = open_for_settings("scylla.create_workflow()");
    const int32 version = workflow::create(push);
    close(store);
    PG_RETURN_INT32(version);
}

// activate_workflow(workflow, version)
SCYLLA_FUNCTION(scylla_activate_workflow) {
    using namespace scylla;
    const args::ActivateWorkflow given{fcinfo};
    const auto version = given.version().value;
    return change_workflow(given.workflow(), "scylla.activate_workflow()",
                           [&](const text *id) { workflow::activate(id, version); });
}

SCYLLA_FUNCTION(scylla_deactivate_workflow) {
    return scylla::change_workflow(scylla::args::DeactivateWorkflow{fcinfo}.workflow(), "scylla.deactivate_workflow()",
                                   scylla::workflow::deactivate);
}

// alter_workflow(workflow, properties)
SCYLLA_FUNCTION(scylla_alter_workflow) {
    using namespace scylla;
    const args::AlterWorkflow given{fcinfo};
    Jsonb *change = given.properties();
    return change_workflow(given.workflow(), "scylla.alter_workflow()",
                           [&](const text *id) { workflow::alter(id, change); });
}

SCYLLA_FUNCTION(scylla_drop_workflow) {
    return scylla::change_workflow(scylla::args::DropWorkflow{fcinfo}.workflow(), "scylla.drop_workflow()",
                                   scylla::workflow::drop);
}

// grant_workflow(workflow, role, privilege)
SCYLLA_FUNCTION(scylla_grant_workflow) {
    using namespace scylla;
    const args::GrantWorkflow given{fcinfo};
    const text *role = args::name(given.role());
    const workflow::Privilege privilege = to_privilege(given.privilege());
    return change_workflow(given.workflow(), "scylla.grant_workflow()",
                           [&](const text *id) { workflow::grant(id, role, privilege); });
}

// revoke_workflow(workflow, role, privilege)
SCYLLA_FUNCTION(scylla_revoke_workflow) {
    using namespace scylla;
    const args::RevokeWorkflow given{fcinfo};
    const text *role = args::name(given.role());
    const workflow::Privilege privilege = to_privilege(given.privilege());
    return change_workflow(given.workflow(), "scylla.revoke_workflow()",
                           [&](const text *id) { workflow::revoke(id, role, privilege); });
}
