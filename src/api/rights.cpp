// grant_queue, revoke_queue, set_queue_owner, and functions for the views.
#include "task/rights.h"

#include "api/arguments.h"
#include "pg/error.h"
#include "pg/text.h"
#include "task/open.h"
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

rights::Viewers get_viewers(FunctionCallInfo fcinfo) {
    const auto roles = [&](int n) { return PG_ARGISNULL(n) ? nullptr : PG_GETARG_ARRAYTYPE_P(n); };
    return {PG_ARGISNULL(0) ? nullptr : NameStr(*PG_GETARG_NAME(0)), roles(1), roles(2)};
}

} // namespace
} // namespace scylla

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
