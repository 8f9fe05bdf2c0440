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
#include "store/spi_arrays.h"
#include "task/open.h"
#include "workflow/triggers.h"
#include "workflow/turns.h"

namespace scylla::workflow {

using store::ArrayColumn;
using store::Parameters;

namespace {

constinit SPIPlanPtr add_statement = nullptr;
constinit SPIPlanPtr tell_statement = nullptr;
constinit SPIPlanPtr awaited_statement = nullptr;
constinit SPIPlanPtr forget_statement = nullptr;
constinit SPIPlanPtr leave_statement = nullptr;
constinit SPIPlanPtr leave_run_statement = nullptr;

// ---- beginning to wait ---------------------------------------------------------------------------------------------

void put_match(const Item &item, const JsonbValue &number, Jsonb *signal) {
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::push(&state, "number", number);
    json::push_json(&state, "signal", signal);
    Item match = item;
    match.kind = "matched";
    match.data = JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
    put_on_agenda(match);
}

void add_wait(const Item &item, int64 condition, const JsonbValue &number) {
    Parameters parameters;
    parameters.add(condition)
        .add(item.root)
        .add(item.scope)
        .add(INT4OID, Int32GetDatum(item.attempt))
        .add(INT4OID, DirectFunctionCall1(numeric_int4, NumericGetDatum(number.val.numeric)))
        .add(item.step);
    store::change(&add_statement,
                  "insert into scylla.workflow_wait (id, root, scope, attempt, number, step) "
                  "values ($1, $2, $3, $4, $5, $6)",
                  parameters, SPI_OK_INSERT);
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
        add_wait(item, condition.id, number);
        refresh(store);
        end_by_history(store, condition.id, now);
    }
    close(store);
    restore(before);
}

// ---- what comes ----------------------------------------------------------------------------------------------------

// Puts the signal on the agenda of the runs whose steps wait for it. A transaction with an older snapshot must also see
// the steps whose conditions it has ended.
void tell_steps_of(std::span<const int64> conditions, Jsonb *signal) {
    ArrayColumn ids(INT8OID);
    for (const int64 id : conditions)
        ids.add(id);
    Parameters parameters;
    ids.give_to(parameters);
    parameters.add(JSONBOID, JsonbPGetDatum(signal));
    store::change_latest(
        &tell_statement,
        "with ended as (delete from scylla.workflow_wait where id operator(pg_catalog.=) any ($1) "
        "returning root, scope, step, attempt, number) "
        "insert into scylla.workflow_agenda (root, kind, scope, step, attempt, data) "
        "select root, 'matched', scope, step, attempt, pg_catalog.jsonb_build_object('number', number, 'signal', $2) "
        "from ended",
        parameters, SPI_OK_INSERT);
    shmem::note_agenda();
}

// ---- what nobody waits for any more --------------------------------------------------------------------------------

bool is_awaited(int64 condition) {
    Parameters parameters;
    parameters.add(condition);
    return store::select<bool>(&awaited_statement,
                               "select exists (select from scylla.workflow_wait w join scylla.workflow_step_state s "
                               "on s.scope operator(pg_catalog.=) w.scope and s.step operator(pg_catalog.=) w.step "
                               "and s.attempt operator(pg_catalog.=) w.attempt where w.id operator(pg_catalog.=) $1 "
                               "and s.status operator(pg_catalog.=) 'WAITING_FOR_SIGNALS')",
                               parameters, SPI_OK_SELECT,
                               [](uint64 row) { return store::Columns(row).next_bool(); })[0];
}

void forget(int64 condition) {
    Parameters parameters;
    parameters.add(condition);
    store::change(&forget_statement, "delete from scylla.workflow_wait where id operator(pg_catalog.=) $1", parameters,
                  SPI_OK_DELETE);
}

} // namespace

bool wait_for_signals(const Item &item) {
    const char *owner = owner_of_attempt(item, "WAITING_FOR_SIGNALS");
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
    if (steps.empty())
        return;
    ArrayColumn roots(INT8OID);
    ArrayColumn scopes(INT8OID);
    ArrayColumn names(TEXTOID);
    for (const LeftStep &step : steps) {
        roots.add(step.root);
        scopes.add(step.scope);
        names.add(step.step); // null: all of the scope
    }
    Parameters parameters;
    roots.give_to(parameters);
    scopes.give_to(parameters);
    names.give_to(parameters);
    store::change(
        &leave_statement,
        "with left_ as materialized (select c.id from rows from (pg_catalog.unnest($1), pg_catalog.unnest($2), "
        "pg_catalog.unnest($3)) l (root, scope, step) join scylla.workflow_wait w "
        "on w.root operator(pg_catalog.=) any (array[l.root]) and w.scope operator(pg_catalog.=) l.scope "
        "and (l.step is null or w.step operator(pg_catalog.=) l.step) "
        "join scylla.signal_condition c on c.id operator(pg_catalog.=) any (array[w.id]) for update of c skip locked), "
        "condition as (delete from scylla.signal_condition where id operator(pg_catalog.=) any (array(select id from "
        "left_))) "
        "delete from scylla.workflow_wait where id operator(pg_catalog.=) any (array(select id from left_))",
        parameters, SPI_OK_DELETE);
}

void leave_waits_of(int64 root) {
    Parameters parameters;
    parameters.add(root);
    store::change(&leave_run_statement,
                  "with left_ as materialized (select c.id from scylla.workflow_wait w "
                  "join scylla.signal_condition c on c.id operator(pg_catalog.=) any (array[w.id]) "
                  "where w.root operator(pg_catalog.=) $1 for update of c skip locked), "
                  "condition as (delete from scylla.signal_condition where id operator(pg_catalog.=) any (array(select "
                  "id from left_))) "
                  "delete from scylla.workflow_wait where id operator(pg_catalog.=) any (array(select id from left_))",
                  parameters, SPI_OK_DELETE);
}

void register_waits() { register_step_conditions({.tell = tell_steps_of, .is_awaited = is_awaited, .forget = forget}); }

} // namespace scylla::workflow
