#include "task/role_kinds.h"

#include "pg/error.h"
#include "pg/text.h"
#include "store/catalog.h"
#include "store/queue/role_privileges.h"
#include "store/spi.h"

namespace scylla::rights {

namespace {

using model::Grantable;
using model::RoleKind;

// How a statement begins and ends: grant … to a role, or revoke … from it.
struct Change {
    const char *verb;
    const char *preposition;
    const char *role; // quoted
};

// Two such statements at once would change the same rows of the catalog, which the server refuses with an internal
// error: the second waits for the end of the first.
void wait_for_turn() {
    LockDatabaseObject(NamespaceRelationId, get_namespace_oid("scylla", false), 0, ShareUpdateExclusiveLock);
}

void require_owner() {
    const Oid owner = store::tables_owner();
    if (!has_privs_of_role(GetUserId(), owner))
        error::not_extension_owner(GetUserNameFromId(owner, false));
}

void execute(const char *sql) {
    if (SPI_execute(sql, false, 0) != SPI_OK_UTILITY)
        elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(SPI_result));
}

void change(const Change &how, const char *what) {
    execute(psprintf("%s %s %s %s", how.verb, what, how.preposition, how.role));
}

void change_all(const Change &how, RoleKind kind, const char *privilege, std::span<const Grantable> objects) {
    StringInfoData what;
    initStringInfo(&what);
    for (const Grantable &one : objects)
        if (has(one.kinds, kind))
            appendStringInfo(&what, "%s scylla.%s", what.len == 0 ? privilege : ",", one.name.data());
    if (what.len > 0)
        change(how, what.data);
}

void change_kind(const Change &how, RoleKind kind) {
    if (kind == RoleKind::monitoring)
        return change(how, "pg_monitor");
    change_all(how, kind, "execute on routine", model::k_grantable_functions);
    change_all(how, kind, "select on", model::k_grantable_views);
}

// As the current user, with a pinned search_path.
template <typename Work> void act(const text *role, Work work) {
    require_owner();
    const char *name = text_to_cstring(role);
    if (strcmp(name, "public") != 0)
        (void)get_role_oid(name, false);
    wait_for_turn();
    store::act_with_spi(GetUserId(), 0, [&] { work(quote_identifier(name)); });
}

} // namespace

void grant_kind(RoleKind kind, const text *role) {
    act(role, [&](const char *quoted) {
        const Change how{"grant", "to", quoted};
        if (kind != RoleKind::monitoring)
            change(how, "usage on schema scylla");
        change_kind(how, kind);
    });
}

void revoke_kind(RoleKind kind, const text *role) {
    act(role, [&](const char *quoted) {
        const Change how{"revoke", "from", quoted};
        change_kind(how, kind);
        if (kind != RoleKind::monitoring && !store::role_privileges::has_any(role))
            change(how, "usage on schema scylla");
    });
}

} // namespace scylla::rights
