// Signals that steps send (docs/workflows.md, Output signals).
#include "pg/hash.h"
#include "pg/identity.h"
#include "pg/json.h"
#include "pg/subtransaction.h"
#include "plan/conditions.h"
#include "schedule/run.h"
#include "task/gates.h"
#include "task/open.h"
#include "workflow/triggers.h"
#include "workflow/turns.h"

namespace scylla::workflow {

namespace {

// The same for all signals of steps with these parameters: only the first one is sent.
text *request_id_of(Jsonb *params) {
    const auto hash =
        DatumGetUInt64(DirectFunctionCall2(jsonb_hash_extended, JsonbPGetDatum(params), Int64GetDatum(0)));
    const auto text = json_text(params);
    return cstring_to_text(psprintf("workflow:%016llx%016llx", static_cast<unsigned long long>(hash),
                                    static_cast<unsigned long long>(hash_of(text))));
}

void send_as_owner(const char *owner, Jsonb *signals) {
    const Identity before = become(get_role_oid(owner, false));
    store::Store store = open_for_write("scylla.advance()");
    const TimestampTz now = GetCurrentTimestamp();
    for (uint32 i = 0; i < JB_ROOT_COUNT(signals); i++) {
        Jsonb *signal = json::to_jsonb(getIthJsonbValueFromContainer(&signals->root, i));
        Jsonb *params = json_member(signal, "params");
        (void)send_signal(store,
                          {.name = to_text(string_member(signal, "name")),
                           .params = params,
                           .payload = json_member(signal, "payload"),
                           .request_id = request_id_of(params)},
                          now);
    }
    settle_gates(store, now);
    close(store);
    restore(before);
}

} // namespace

bool send_signals(const Item &item) {
    const char *owner = owner_of_attempt(item, model::workflow::StepStatus::finishing);
    if (owner == nullptr)
        return true;
    const int settings_level = schedule::limit_waiting(schedule::Patience::short_);
    const ErrorData *error = attempt([&] { send_as_owner(owner, item.data); });
    AtEOXact_GUC(true, settings_level);
    Item answer = item;
    if (error != nullptr && is_passing(error)) {
        put_on_agenda(item);
        return false;
    }
    answer.kind = error == nullptr ? "signals_sent" : "signals_refused";
    answer.data = error == nullptr ? nullptr : json_of(error);
    put_on_agenda(answer);
    return true;
}

} // namespace scylla::workflow
