// Signals that steps wait for (docs/workflows.md, Signal dependencies).
//
// A wait is a condition (plan/conditions.h) and a row of workflow_wait, written together. Only the transaction that
// removes the waiting condition removes that row: the sender of a matching signal, the engine when the step has ended,
// or the purge. So none of them waits for another.
#include "pg/identity.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/subtransaction.h"
#include "plan/conditions.h"
#include "schedule/run.h"
#include "shmem/pending.h"
#include "task/open.h"
#include "workflow/triggers.h"
#include "workflow/texts.h"
#include "workflow/turns.h"

namespace scylla::workflow {

namespace {

// ---- beginning to wait ---------------------------------------------------------------------------------------------

void put_match(const Item &item, const JsonbValue &number, Jsonb *signal) {
    json::Builder object = json::build_object();
    object.member("number", number);
    object.member("signal", signal);
    Item match = item;
    match.kind = "matched";
    match.data = object.finish();
    put_on_agenda(match);
}

void wait_as_owner(const char *owner, const Item &item, TimestampTz now) {
    const Identity before = become(get_role_oid(owner, false));
    store::Store store = open_for_write("scylla.advance()");
    for (uint32 i = 0; i < JB_ROOT_COUNT(item.data); i++) {
        Jsonb *wanted = json::to_jsonb(getIthJsonbValueFromContainer(&item.data->root, i));
        const JsonbValue number = *getKeyJsonValueFromContainer(&wanted->root, "number", 6, nullptr);
        const WaitFor wait{.what = WaitFor::What::signal,
                           .name = to_text(string_member(wanted, "signal")),
                           .on_failure = store::OnFailure::cascade,
                           .match = json_member(wanted, "match")};
        store::Dirty *dirty = store::begin_dirty(store);
        const StepCondition condition = condition_of_step(store, dirty, wait, now);
        end(dirty);
        if (condition.id == 0) {
            put_match(item, number, condition.signal);
            continue;
        }
        store::waits::add(
            {.condition = condition.id,
             .root = item.root,
             .scope = item.scope,
             .attempt = item.attempt,
             .number = DatumGetInt32(DirectFunctionCall1(numeric_int4, NumericGetDatum(number.val.numeric))),
             .step = item.step});
        refresh(store);
        end_by_history(store, condition.id, now);
    }
    close(store);
    restore(before);
}

// ---- what comes ----------------------------------------------------------------------------------------------------

void tell_steps_of(std::span<const int64> conditions, Jsonb *signal) {
    store::waits::end_matched(conditions, signal);
    shmem::note_agenda();
}

} // namespace

bool wait_for_signals(const Item &item) {
    const char *owner = owner_of_attempt(item, model::workflow::StepStatus::waiting_for_signals);
    if (owner == nullptr)
        return true;
    const int settings_level = schedule::limit_waiting(schedule::Patience::short_);
    const ErrorData *error = attempt([&] { wait_as_owner(owner, item, GetCurrentTimestamp()); });
    AtEOXact_GUC(true, settings_level);
    if (error == nullptr)
        return true;
    Item answer = item;
    if (!is_passing(error)) {
        answer.kind = "signals_refused";
        answer.data = json_of(error);
    }
    put_on_agenda(answer);
    return !is_passing(error);
}

void leave_waits(std::span<const LeftStep> steps) {
    if (!steps.empty())
        store::waits::leave(steps);
}

void register_waits() {
    register_step_conditions(
        {.tell = tell_steps_of, .is_awaited = store::waits::is_awaited, .forget = store::waits::remove});
}

} // namespace scylla::workflow
