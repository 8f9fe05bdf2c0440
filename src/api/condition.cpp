// create_callback, resolve_callback, reject_callback, send_signal, grant_signal, revoke_signal, set_signal_owner.
#include "plan/conditions.h"

#include "api/arguments.h"
#include "pg/error.h"
#include "pg/text.h"
#include "plan/signal_names.h"
#include "task/gates.h"
#include "task/open.h"
#include "task/rules.h"

namespace scylla {

namespace {

Datum end_callback(const text *token, const ConditionEnd &end, const char *call) {
    store::Store store = open_for_write(call);
    const TimestampTz now = GetCurrentTimestamp();
    const bool ended = end_callback(store, token, end, now);
    settle_gates(store, now);
    close(store);
    PG_RETURN_BOOL(ended);
}

using ChangeGrant = void (*)(const text *name, const text *role, SignalPrivilege privilege);

Datum change_grant(const auto &given, ChangeGrant change, const char *call) {
    const text *name = args::name(given.name());
    const text *role = args::name(given.role());
    const SignalPrivilege privilege = args::one_of<SignalPrivilege>(given.privilege(), k_signal_privileges,
                                                                    "It must be \"send\", \"wait\" or \"admin\".");
    store::Store store = open_for_settings(call);
    change(name, role, privilege);
    close(store);
    PG_RETURN_VOID();
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_create_callback) {
    using namespace scylla;
    const args::CreateCallback given{fcinfo};
    text *token = args::optional_name(given.token());
    const auto expires = args::timeout(given.expires());
    store::Store store = open_for_settings("scylla.create_callback()");
    token = create_callback(token, expires ? std::optional(GetCurrentTimestamp() + *expires) : std::nullopt);
    close(store);
    PG_RETURN_TEXT_P(token);
}

SCYLLA_FUNCTION(scylla_resolve_callback) {
    using namespace scylla;
    const args::ResolveCallback given{fcinfo};
    const ConditionEnd end{.failed = false, .value = args::document(given.value())};
    return end_callback(args::name(given.token()), end, "scylla.resolve_callback()");
}

SCYLLA_FUNCTION(scylla_reject_callback) {
    using namespace scylla;
    const args::RejectCallback given{fcinfo};
    const ConditionEnd end{.failed = true, .value = args::error(given.error())};
    return end_callback(args::name(given.token()), end, "scylla.reject_callback()");
}

SCYLLA_FUNCTION(scylla_send_signal) {
    using namespace scylla;
    const args::SendSignal given{fcinfo};
    Jsonb *params = given.params();
    if (params == nullptr)
        params = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{}")));
    const SignalRequest request{.name = args::name(given.name()),
                                .params = params,
                                .payload = args::document(given.payload()),
                                .request_id = args::optional_name(given.request_id())};
    store::Store store = open_for_write("scylla.send_signal()");
    const TimestampTz now = GetCurrentTimestamp();
    const int64 number = send_signal(store, request, now);
    settle_gates(store, now);
    close(store);
    PG_RETURN_INT64(number);
}

SCYLLA_FUNCTION(scylla_grant_signal) {
    return scylla::change_grant(scylla::args::GrantSignal{fcinfo}, scylla::grant_signal, "scylla.grant_signal()");
}

SCYLLA_FUNCTION(scylla_revoke_signal) {
    return scylla::change_grant(scylla::args::RevokeSignal{fcinfo}, scylla::revoke_signal, "scylla.revoke_signal()");
}

SCYLLA_FUNCTION(scylla_set_signal_owner) {
    using namespace scylla;
    const args::SetSignalOwner given{fcinfo};
    const text *name = args::name(given.name());
    const text *owner = args::name(given.owner());
    store::Store store = open_for_settings("scylla.set_signal_owner()");
    set_signal_owner(name, owner);
    close(store);
    PG_RETURN_VOID();
}
