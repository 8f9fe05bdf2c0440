#include "plan/signal_names.h"

#include "pg/error.h"
#include "store/spi.h"
#include "task/rights.h"

namespace scylla {

namespace {

constinit SPIPlanPtr use_name_statement = nullptr;
constinit SPIPlanPtr name_statement = nullptr;
constinit SPIPlanPtr owner_statement = nullptr;
constinit std::array<SPIPlanPtr, 3> grant_statements{};
constinit std::array<SPIPlanPtr, 3> revoke_statements{};

Datum result(int column, bool *null) {
    return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, null);
}

ArrayType *result_array(int column) {
    bool null = false;
    const Datum value = result(column, &null);
    return null ? nullptr : DatumGetArrayTypeP(value);
}

// Whether the user may; nothing if the name has not been used yet.
std::optional<bool> may_use(const text *name, SignalPrivilege privilege, Oid user) {
    std::array<Oid, 1> types{TEXTOID};
    std::array<Datum, 1> values{PointerGetDatum(name)};
    store::AsOwner as_owner;
    as_owner.begin();
    store::run(&name_statement,
               "select owner, senders, waiters, admins from scylla.signal_name where name operator(pg_catalog.=) $1",
               types, values, nullptr, SPI_OK_SELECT);
    std::optional<bool> may;
    if (SPI_processed > 0) {
        bool null = false;
        const char *owner = NameStr(*DatumGetName(result(1, &null)));
        may = rights::has_any(user, owner, result_array(static_cast<int>(SignalPrivilege::admin) + 2)) ||
              rights::has_any(user, owner, result_array(static_cast<int>(privilege) + 2));
    }
    as_owner.end();
    return may;
}

void require_admin(const text *signal) {
    const auto may = may_use(signal, SignalPrivilege::admin, GetUserId());
    if (!may)
        error::no_such_signal(signal);
    if (!*may)
        error::no_signal_privilege(signal, GetUserNameFromId(GetUserId(), false), "admin");
}

void change(SPIPlanPtr *plan, const char *sql, const text *signal, const text *role) {
    std::array<Oid, 2> types{TEXTOID, TEXTOID};
    std::array<Datum, 2> values{PointerGetDatum(signal), PointerGetDatum(role)};
    store::AsOwner as_owner;
    as_owner.begin();
    store::run(plan, sql, types, values, nullptr, SPI_OK_UPDATE);
    as_owner.end();
}

} // namespace

// A name belongs to the first role that uses it.
void require(const text *name, SignalPrivilege privilege) {
    const Oid user = GetUserId();
    auto may = may_use(name, privilege, user);
    if (!may) {
        NameData owner{};
        namestrcpy(&owner, GetUserNameFromId(user, false));
        std::array<Oid, 2> types{TEXTOID, NAMEOID};
        std::array<Datum, 2> values{PointerGetDatum(name), NameGetDatum(&owner)};
        store::AsOwner as_owner;
        as_owner.begin();
        store::run(&use_name_statement,
                   "insert into scylla.signal_name (name, owner) values ($1, $2) on conflict (name) do nothing", types,
                   values, nullptr, SPI_OK_INSERT);
        as_owner.end();
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
    constexpr std::array<const char *, 3> k_statements = {
        "update scylla.signal_name set senders = pg_catalog.array_append(pg_catalog.array_remove(senders, $2), $2) "
        "where name operator(pg_catalog.=) $1",
        "update scylla.signal_name set waiters = pg_catalog.array_append(pg_catalog.array_remove(waiters, $2), $2) "
        "where name operator(pg_catalog.=) $1",
        "update scylla.signal_name set admins = pg_catalog.array_append(pg_catalog.array_remove(admins, $2), $2) "
        "where name operator(pg_catalog.=) $1"};
    require_admin(signal);
    rights::require_grantee(role, "signal");
    const auto p = static_cast<std::size_t>(privilege);
    change(&grant_statements[p], k_statements[p], signal, role);
}

void revoke_signal(const text *signal, const text *role, SignalPrivilege privilege) {
    constexpr std::array<const char *, 3> k_statements = {
        "update scylla.signal_name set senders = nullif(pg_catalog.array_remove(senders, $2), '{}') "
        "where name operator(pg_catalog.=) $1",
        "update scylla.signal_name set waiters = nullif(pg_catalog.array_remove(waiters, $2), '{}') "
        "where name operator(pg_catalog.=) $1",
        "update scylla.signal_name set admins = nullif(pg_catalog.array_remove(admins, $2), '{}') "
        "where name operator(pg_catalog.=) $1"};
    require_admin(signal);
    const auto p = static_cast<std::size_t>(privilege);
    change(&revoke_statements[p], k_statements[p], signal, role);
}

void set_signal_owner(const text *signal, const text *owner) {
    require_admin(signal);
    rights::require_new_owner(owner, "signal");
    change(&owner_statement,
           "update scylla.signal_name set owner = $2::pg_catalog.name where name operator(pg_catalog.=) $1", signal,
           owner);
}

} // namespace scylla
