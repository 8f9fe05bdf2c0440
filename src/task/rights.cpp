// The rights of roles on queues, and grant_queue, revoke_queue, set_queue_owner.
#include "task/rights.h"

#include "pg/error.h"
#include "pg/text.h"
#include "store/upsert.h"
#include "api/call.h"
#include "task/rules.h"
#include "task/moves.h"

namespace scylla::rights {

namespace {

using model::Privileges;

constexpr const char *k_public = "public"; // the server lets no role have this name

// Whether the user has the rights of a role that is known by its name. A role that does not exist has none.
bool is_member(Oid user, const char *role) {
    const Oid oid = get_role_oid(role, true);
    return OidIsValid(oid) && has_privs_of_role(user, oid);
}

bool includes(Oid user, ArrayType *grantees) {
    if (grantees == nullptr)
        return false;
    Datum *role = nullptr;
    bool *null = nullptr;
    int count = 0;
    deconstruct_array(grantees, TEXTOID, -1, false, TYPALIGN_INT, &role, &null, &count);
    for (int i = 0; i < count; i++) {
        if (null[i])
            continue;
        const char *name = TextDatumGetCString(role[i]);
        if (std::string_view(name) == k_public || is_member(user, name))
            return true;
    }
    return false;
}

Privileges find_privileges(Oid user, const char *owner, std::span<ArrayType *const> grantees) {
    if (superuser_arg(user) || is_member(user, owner))
        return model::k_all_privileges;
    Privileges privileges{};
    for (std::size_t p = grantees.size(); p-- > 0;) // admin first
        if (!privileges.has(static_cast<Privilege>(p)) && includes(user, grantees[p]))
            privileges.add(static_cast<Privilege>(p));
    return privileges;
}

Oid require_role(const text *role, const char *table) {
    const Oid oid = get_role_oid(text_to_cstring(role), true);
    if (!OidIsValid(oid))
        error::no_such_role(role, table);
    return oid;
}

const char *current_user() { return GetUserNameFromId(GetUserId(), false); }

} // namespace

Privileges of(store::Store &store, int32 queue) {
    store::LastQueue &last = queue_of(store, queue);
    if (!last.privileges) {
        if (last.row)
            last.privileges = find_privileges(GetUserId(), last.row->owner, last.row->grantees);
        else
            last.privileges = superuser() ? model::k_all_privileges : Privileges{};
    }
    return *last.privileges;
}

bool may_watch(store::Store &store, int32 queue) {
    return may(store, queue, Privilege::view) || has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
}

bool owns(const char *owner) { return superuser() || is_member(GetUserId(), owner); }

void require_new_owner(const text *owner, const char *table) {
    compat::require_can_become(GetUserId(), require_role(owner, table));
}

void require(store::Store &store, const store::QueueRow &queue, Privilege privilege) {
    if (!may(store, queue.id, privilege))
        error::no_privilege(queue.name, current_user(), model::name(privilege));
}

store::QueueRow require_queue(store::Store &store, const text *name, Privilege privilege) {
    const auto queue = find_queue(store, name);
    if (!queue)
        error::no_such_queue(name);
    require(store, *queue, privilege);
    return *queue;
}

bool may_act(store::Store &store, int32 queue, Privilege privilege) {
    if (may(store, queue, privilege))
        return true;
    if (may(store, queue, Privilege::view))
        error::no_privilege(queue_of(store, queue).row->name, current_user(), model::name(privilege));
    return false;
}

} // namespace scylla::rights

namespace {

using namespace scylla;

model::Privilege get_privilege(FunctionCallInfo fcinfo, int n) {
    const text *value = args::get_text(fcinfo, n);
    for (std::size_t p = 0; p < model::k_privilege_names.size(); p++)
        if (value != nullptr && view(value) == model::k_privilege_names[p])
            return static_cast<model::Privilege>(p);
    error::bad_argument("privilege", error::quote(value), "It must be \"submit\", \"work\", \"view\" or \"admin\".");
}

enum class Change : bool { grant, revoke };

Datum change_grant(FunctionCallInfo fcinfo, Change change, const char *call) {
    text *name = args::name("queue", args::get_text(fcinfo, 0));
    text *role = args::name("role", args::get_text(fcinfo, 1));
    const model::Privilege privilege = get_privilege(fcinfo, 2);
    store::Store store = open_for_settings(call);
    const store::QueueRow queue = rights::require_queue(store, name, model::Privilege::admin);
    if (change == Change::grant && view(role) != rights::k_public)
        (void)rights::require_role(role, "queue");
    if (change == Change::grant)
        store::add_grantee(queue.id, privilege, role);
    else
        store::remove_grantee(queue.id, privilege, role);
    close(store);
    PG_RETURN_VOID();
}

} // namespace

SCYLLA_FUNCTION(scylla_grant_queue) { return change_grant(fcinfo, Change::grant, "scylla.grant_queue()"); }

SCYLLA_FUNCTION(scylla_revoke_queue) { return change_grant(fcinfo, Change::revoke, "scylla.revoke_queue()"); }

SCYLLA_FUNCTION(scylla_set_queue_owner) {
    text *name = args::name("queue", args::get_text(fcinfo, 0));
    text *owner = args::name("owner", args::get_text(fcinfo, 1));
    store::Store store = open_for_settings("scylla.set_queue_owner()");
    const auto queue = find_queue(store, name);
    if (!queue)
        error::no_such_queue(name);
    if (!superuser() && !rights::is_member(GetUserId(), queue->owner))
        error::not_owner(name);
    rights::require_new_owner(owner, "queue");
    store::set_queue_owner(queue->id, owner);
    close(store);
    PG_RETURN_VOID();
}

namespace {

// For views, by the columns of a queue: owner, viewers, admins.
bool may_view(FunctionCallInfo fcinfo) {
    const auto grantees = [&](int n) { return PG_ARGISNULL(n) ? nullptr : PG_GETARG_ARRAYTYPE_P(n); };
    const Oid user = GetUserId();
    return superuser_arg(user) || (!PG_ARGISNULL(0) && rights::is_member(user, NameStr(*PG_GETARG_NAME(0)))) ||
           rights::includes(user, grantees(1)) || rights::includes(user, grantees(2));
}

} // namespace

SCYLLA_FUNCTION(scylla_may_view) { PG_RETURN_BOOL(may_view(fcinfo)); }

SCYLLA_FUNCTION(scylla_may_watch) {
    PG_RETURN_BOOL(may_view(fcinfo) || has_privs_of_role(GetUserId(), ROLE_PG_MONITOR));
}
