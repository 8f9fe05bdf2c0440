#include "task/rights.h"

#include "model/nearest.h"
#include "pg/error.h"
#include "pg/text.h"
#include "store/queue_changes.h"

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
            last.privileges = Privileges{}; // it was dropped, or a restore has not brought it yet
    }
    return *last.privileges;
}

bool may_watch(const store::QueueRow &queue) {
    return has_privs_of_role(GetUserId(), ROLE_PG_MONITOR) ||
           find_privileges(GetUserId(), queue.owner, queue.grantees).has(Privilege::view);
}

bool may_watch(const char *owner, ArrayType *viewers, ArrayType *admins) {
    return has_privs_of_role(GetUserId(), ROLE_PG_MONITOR) || has_any(GetUserId(), owner, viewers) ||
           includes(GetUserId(), admins);
}

bool owns(const char *owner) { return superuser() || is_member(GetUserId(), owner); }

bool has_any(Oid role, const char *owner, ArrayType *grantees) {
    return superuser_arg(role) || is_member(role, owner) || includes(role, grantees);
}

void require_grantee(const text *role, const char *table) {
    if (view(role) != k_public)
        (void)require_role(role, table);
}

void require_new_owner(const text *owner, const char *table) {
    compat::require_can_become(GetUserId(), require_role(owner, table));
}

void require(store::Store &store, const store::QueueRow &queue, Privilege privilege) {
    if (!may(store, queue.id, privilege))
        error::no_privilege(queue.name, current_user(), model::name(privilege));
}

const char *similar_queue(store::Store &store, const text *name) {
    model::Nearest nearest{view(name)};
    store::Scan scan = scan_queues(store);
    while (next(scan)) {
        const store::QueueRow queue = queue_row(scan);
        if (find_privileges(GetUserId(), queue.owner, queue.grantees).bits != 0)
            nearest.offer(view(queue.name));
    }
    end(scan);
    return nearest.best().empty() ? nullptr : pnstrdup(nearest.best().data(), nearest.best().size());
}

store::QueueRow require_queue(store::Store &store, const text *name, Privilege privilege) {
    const auto queue = find_queue(store, name);
    if (!queue)
        error::no_such_queue(name, similar_queue(store, name));
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

void grant(store::Store &store, const Grant &what) {
    const store::QueueRow queue = require_queue(store, what.queue, Privilege::admin);
    if (view(what.role) != k_public)
        (void)require_role(what.role, "queue");
    store::add_grantee(queue.id, what.privilege, what.role);
}

void revoke(store::Store &store, const Grant &what) {
    const store::QueueRow queue = require_queue(store, what.queue, Privilege::admin);
    store::remove_grantee(queue.id, what.privilege, what.role);
}

void set_owner(store::Store &store, const text *name, const text *owner) {
    const auto queue = find_queue(store, name);
    if (!queue)
        error::no_such_queue(name, similar_queue(store, name));
    if (!superuser() && !is_member(GetUserId(), queue->owner))
        error::not_owner(name);
    require_new_owner(owner, "queue");
    store::set_queue_owner(queue->id, owner);
}

bool may_view(const Viewers &who) {
    const Oid user = GetUserId();
    return superuser_arg(user) || (who.owner != nullptr && is_member(user, who.owner)) || includes(user, who.viewers) ||
           includes(user, who.admins);
}

} // namespace scylla::rights
