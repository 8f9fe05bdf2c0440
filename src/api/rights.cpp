// grant_role, revoke_role, role_kinds, grant_queue, revoke_queue, set_queue_owner, and functions for the views.
#include "task/rights.h"

#include "api/arguments.h"
#include "api/rows.h"
#include "pg/error.h"
#include "pg/text.h"
#include "task/open.h"
#include "task/role_kinds.h"
#include "task/rules.h"

namespace scylla {

namespace {

Datum change_grant(const auto &given, void (*change)(store::Store &, const rights::Grant &), const char *call) {
    const text *queue = args::name(given.queue());
    const text *role = args::name(given.role());
    const rights::Grant what{
        queue,
        args::one_of<model::Privilege>(given.privilege(), model::k_privilege_names,
                                       "It must be \"submit\", \"work\", \"view\", \"depend\" or \"admin\"."),
        role};
    store::Store store = open_for_settings(call);
    change(store, what);
    close(store);
    PG_RETURN_VOID();
}

// ---- kinds of roles ------------------------------------------------------------------------------------------------

// "reader", "worker", … or "monitoring".
const char *list_kinds() {
    StringInfoData list;
    initStringInfo(&list);
    for (std::size_t i = 0; i < model::k_role_kinds.size(); i++)
        appendStringInfo(&list, "%s\"%s\"",
                         i == 0                                ? ""
                         : i + 1 == model::k_role_kinds.size() ? " or "
                                                               : ", ",
                         model::k_role_kinds[i].data());
    return list.data;
}

Datum change_kind(const auto &given, void (*change)(model::RoleKind, const text *), const char *call) {
    const auto kind =
        args::one_of<model::RoleKind>(given.kind(), model::k_role_kinds, psprintf("It must be %s.", list_kinds()));
    const text *role = args::name(given.role());
    store::Store store = open_for_settings(call);
    change(kind, role);
    close(store);
    PG_RETURN_VOID();
}

void put_kind(const Rows &rows, const char *kind, const char *privilege, const char *object) {
    std::array<Datum, 3> values{kind == nullptr ? Datum{0} : CStringGetTextDatum(kind), CStringGetTextDatum(privilege),
                                CStringGetTextDatum(object)};
    std::array<bool, 3> nulls{kind == nullptr};
    tuplestore_putvalues(rows.store, rows.type, values.data(), nulls.data());
}

// Of each object its kinds; null if there is none.
void put_kinds(const Rows &rows, const char *privilege, std::span<const model::Grantable> objects) {
    for (const model::Grantable &one : objects) {
        if (one.kinds == 0)
            put_kind(rows, nullptr, privilege, one.name.data());
        for (std::size_t i = 0; i < model::k_role_kinds.size(); i++)
            if (has(one.kinds, static_cast<model::RoleKind>(i)))
                put_kind(rows, model::k_role_kinds[i].data(), privilege, one.name.data());
    }
}

rights::Viewers get_viewers(FunctionCallInfo fcinfo) {
    const auto roles = [&](int n) { return PG_ARGISNULL(n) ? nullptr : PG_GETARG_ARRAYTYPE_P(n); };
    return {PG_ARGISNULL(0) ? nullptr : NameStr(*PG_GETARG_NAME(0)), roles(1), roles(2)};
}

} // namespace
} // namespace scylla

// grant_role(kind, role)
SCYLLA_FUNCTION(scylla_grant_role) {
    return scylla::change_kind(scylla::args::GrantRole{fcinfo}, scylla::rights::grant_kind, "scylla.grant_role()");
}

// revoke_role(kind, role)
SCYLLA_FUNCTION(scylla_revoke_role) {
    return scylla::change_kind(scylla::args::RevokeRole{fcinfo}, scylla::rights::revoke_kind, "scylla.revoke_role()");
}

SCYLLA_FUNCTION(scylla_role_kinds) {
    using namespace scylla;
    const Rows rows = begin_rows(fcinfo);
    put_kinds(rows, "EXECUTE", model::k_grantable_functions);
    put_kinds(rows, "SELECT", model::k_grantable_views);
    return 0;
}

SCYLLA_FUNCTION(scylla_grant_queue) {
    return scylla::change_grant(scylla::args::GrantQueue{fcinfo}, scylla::rights::grant, "scylla.grant_queue()");
}

SCYLLA_FUNCTION(scylla_revoke_queue) {
    return scylla::change_grant(scylla::args::RevokeQueue{fcinfo}, scylla::rights::revoke, "scylla.revoke_queue()");
}

SCYLLA_FUNCTION(scylla_set_queue_owner) {
    using namespace scylla;
    const args::SetQueueOwner given{fcinfo};
    const text *name = args::name(given.queue());
    const text *owner = args::name(given.owner());
    store::Store store = open_for_settings("scylla.set_queue_owner()");
    rights::set_owner(store, name, owner);
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_may_view) {
    using namespace scylla;
    PG_RETURN_BOOL(rights::may_view(get_viewers(fcinfo)));
}

SCYLLA_FUNCTION(scylla_may_watch) {
    using namespace scylla;
    PG_RETURN_BOOL(rights::may_view(get_viewers(fcinfo)) || has_privs_of_role(GetUserId(), ROLE_PG_MONITOR));
}
