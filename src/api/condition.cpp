// create_callback, resolve_callback, reject_callback, send_signal, grant_signal, revoke_signal, set_signal_owner.
#include "plan/conditions.h"

#include "api/call.h"
#include "pg/error.h"
#include "pg/text.h"
#include "plan/signal_names.h"
#include "task/gates.h"
#include "task/open.h"
#include "task/rules.h"

namespace scylla {

namespace {

Datum end_callback(FunctionCallInfo fcinfo, const ConditionEnd &end, const char *call) {
    const text *token = args::name("token", args::get_text(fcinfo, 0));
    store::Store store = open_for_write(call);
    const TimestampTz now = GetCurrentTimestamp();
    const bool ended = end_callback(store, token, end, now);
    settle_gates(store, now);
    close(store);
    PG_RETURN_BOOL(ended);
}

SignalPrivilege get_signal_privilege(FunctionCallInfo fcinfo, int n) {
    const text *value = args::get_text(fcinfo, n);
    for (std::size_t p = 0; p < k_signal_privileges.size(); p++)
        if (value != nullptr && view(value) == k_signal_privileges[p])
            return static_cast<SignalPrivilege>(p);
    error::bad_argument("privilege", error::quote(value), "It must be \"send\", \"wait\" or \"admin\".");
}

using ChangeGrant = void (*)(const text *name, const text *role, SignalPrivilege privilege);

Datum change_grant(FunctionCallInfo fcinfo, ChangeGrant change, const char *call) {
    const text *name = args::name("name", args::get_text(fcinfo, 0));
    const text *role = args::name("role", args::get_text(fcinfo, 1));
    const SignalPrivilege privilege = get_signal_privilege(fcinfo, 2);
    store::Store store = open_for_settings(call);
    change(name, role, privilege);
    close(store);
    PG_RETURN_VOID();
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_create_callback) {
    using namespace scylla;
    text *token = args::optional_name("token", args::get_text(fcinfo, 0));
    const auto expires = args::timeout("expires", args::get_interval(fcinfo, 1));
    store::Store store = open_for_settings("scylla.create_callback()");
    token = create_callback(token, expires ? std::optional(GetCurrentTimestamp() + *expires) : std::nullopt);
    close(store);
    PG_RETURN_TEXT_P(token);
}

SCYLLA_FUNCTION(scylla_resolve_callback) {
    using namespace scylla;
    return end_callback(fcinfo, {.failed = false, .value = args::document("value", args::get_jsonb(fcinfo, 1))},
                        "scylla.resolve_callback()");
}

SCYLLA_FUNCTION(scylla_reject_callback) {
    using namespace scylla;
    return end_callback(fcinfo, {.failed = true, .value = args::error(args::get_jsonb(fcinfo, 1))},
                        "scylla.reject_callback()");
}

SCYLLA_FUNCTION(scylla_send_signal) {
    using namespace scylla;
    Jsonb *params = args::get_jsonb(fcinfo, 1);
    if (params == nullptr)
        params = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{}")));
    const SignalRequest request{.name = args::name("name", args::get_text(fcinfo, 0)),
                                .params = params,
                                .payload = args::document("payload", args::get_jsonb(fcinfo, 2)),
                                .request_id = args::optional_name("request_id", args::get_text(fcinfo, 3))};
    store::Store store = open_for_write("scylla.send_signal()");
    const TimestampTz now = GetCurrentTimestamp();
    const int64 number = send_signal(store, request, now);
    settle_gates(store, now);
    close(store);
    PG_RETURN_INT64(number);
}

SCYLLA_FUNCTION(scylla_grant_signal) {
    return scylla::change_grant(fcinfo, scylla::grant_signal, "scylla.grant_signal()");
}

SCYLLA_FUNCTION(scylla_revoke_signal) {
    return scylla::change_grant(fcinfo, scylla::revoke_signal, "scylla.revoke_signal()");
}

SCYLLA_FUNCTION(scylla_set_signal_owner) {
    using namespace scylla;
    const text *name = args::name("name", args::get_text(fcinfo, 0));
    const text *owner = args::name("owner", args::get_text(fcinfo, 1));
    store::Store store = open_for_settings("scylla.set_signal_owner()");
    set_signal_owner(name, owner);
    close(store);
    PG_RETURN_VOID();
}
