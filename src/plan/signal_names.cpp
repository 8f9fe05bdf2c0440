#include "plan/signal_names.h"

#include "pg/error.h"
#include "store/plan/signal_names.h"
#include "task/rights.h"

namespace scylla {

namespace {

ArrayType *grantees(const store::signal_names::Rights &of, SignalPrivilege privilege) {
    switch (privilege) {
    case SignalPrivilege::send:
        return of.senders;
    case SignalPrivilege::wait:
        return of.waiters;
    case SignalPrivilege::admin:
        break;
    }
    return of.admins;
}

// Whether the user may; nullopt if the name has not been used yet.
std::optional<bool> may_use(const text *name, SignalPrivilege privilege, Oid user) {
    const auto found = store::signal_names::find(name);
    if (!found)
        return std::nullopt;
    return rights::has_any(user, found->owner, found->admins) ||
           rights::has_any(user, found->owner, grantees(*found, privilege));
}

void require_admin(const text *signal) {
    const auto may = may_use(signal, SignalPrivilege::admin, GetUserId());
    if (!may)
        error::no_such_signal(signal);
    if (!*may)
        error::no_signal_privilege(signal, GetUserNameFromId(GetUserId(), false), "admin");
}

} // namespace

// A name belongs to the first role that uses it.
void require(const text *name, SignalPrivilege privilege) {
    const Oid user = GetUserId();
    auto may = may_use(name, privilege, user);
    if (!may) {
        store::signal_names::add(name, GetUserNameFromId(user, false));
        may = may_use(name, privilege, user);
    }
    if (!may.value_or(false))
        error::no_signal_privilege(name, GetUserNameFromId(user, false),
                                   k_signal_privileges[static_cast<std::size_t>(privilege)]);
}

bool may(Oid user, const text *signal, SignalPrivilege privilege) {
    return may_use(signal, privilege, user).value_or(false);
}

void grant_signal(const text *signal, const text *role, SignalPrivilege privilege) {
    require_admin(signal);
    rights::require_grantee(role, "signal");
    store::signal_names::grant_to(signal, k_signal_privileges[static_cast<std::size_t>(privilege)], role);
}

void revoke_signal(const text *signal, const text *role, SignalPrivilege privilege) {
    require_admin(signal);
    store::signal_names::revoke_from(signal, k_signal_privileges[static_cast<std::size_t>(privilege)], role);
}

void set_signal_owner(const text *signal, const text *owner) {
    require_admin(signal);
    rights::require_new_owner(owner, "signal");
    store::signal_names::set_owner(signal, owner);
}

} // namespace scylla
