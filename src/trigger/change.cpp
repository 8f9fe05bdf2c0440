// create_trigger and the other calls that change triggers.
#include "model/join.h"
#include "pg/error.h"
#include "pg/identity.h"
#include "pg/settings.h"
#include "pg/subtransaction.h"
#include "plan/signal_names.h"
#include "schedule/run.h"
#include "shmem/pending.h"
#include "store/spi_rows.h"
#include "task/rights.h"
#include "trigger/triggers.h"

namespace scylla::trigger {

using store::Parameters;

namespace {

constinit SPIPlanPtr insert_statement = nullptr;
constinit SPIPlanPtr find_statement = nullptr;
constinit SPIPlanPtr hold_made_statement = nullptr;
constinit SPIPlanPtr insert_input_statement = nullptr;
constinit SPIPlanPtr hold_statement = nullptr;
constinit SPIPlanPtr drop_statement = nullptr;
constinit SPIPlanPtr pause_statement = nullptr;
constinit SPIPlanPtr retry_statement = nullptr;
constinit SPIPlanPtr clear_statement = nullptr;

Jsonb *no_signals() { return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("[]"))); }

void carry_out_without_signals(const text *trigger, Jsonb *action) {
    if (const Maker *maker = find_maker(action))
        (void)maker->make({.trigger = trigger, .action = action, .signals = no_signals(), .seqs = {}});
    else
        carry_out(GetUserId(), {.trigger = trigger, .tasks = action, .seq = 0, .wait_for = nullptr});
}

// Raises the error that the action would raise, unless the queue is full, or a lock or a name is taken at the moment.
void rehearse(const text *trigger, Jsonb *action) {
    const int settings_level = schedule::limit_waiting(schedule::Patience::short_);
    ErrorData *error = attempt([&] { carry_out_without_signals(trigger, action); }, Keep::no);
    AtEOXact_GUC(true, settings_level);
    if (error == nullptr || error->sqlerrcode == ERRCODE_CONFIGURATION_LIMIT_EXCEEDED ||
        error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE || schedule::is_dedup_key_taken(error) ||
        schedule::is_name_taken(error))
        return;
    ReThrowError(error);
}

struct Held {
    int64 id;
    const char *owner;
    Jsonb *action;
};

void remove(int64 id) {
    Parameters parameters;
    parameters.add(id);
    // Signals that arrive concurrently are removed by the next turn.
    store::change(&drop_statement,
                  "with input as (delete from scylla.signal_trigger_input where trigger operator(pg_catalog.=) $1), "
                  "arrival as (delete from scylla.signal_arrival where trigger operator(pg_catalog.=) $1), "
                  "failure as (delete from scylla.signal_trigger_failure where trigger operator(pg_catalog.=) $1) "
                  "delete from scylla.signal_trigger where id operator(pg_catalog.=) $1",
                  parameters, SPI_OK_DELETE);
}

// Locks a trigger of the current user; 42704. The lock blocks the monitor's work on the trigger, and nothing else.
Held hold_row(const text *name) {
    Parameters parameters;
    parameters.add(name);
    const auto held = store::select<Held>(
        &hold_statement,
        "select id, owner::pg_catalog.text, action from scylla.signal_trigger where name operator(pg_catalog.=) $1 "
        "for update",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            store::Columns columns(row);
            const int64 id = columns.next_int64();
            const char *owner = columns.next_string();
            return Held{id, owner, columns.next_jsonb()};
        });
    if (held.empty() || !rights::owns(held[0].owner))
        error::no_such_trigger(name);
    return held[0];
}
int64 hold(const text *name) { return hold_row(name).id; }

void set_paused(const text *name, bool paused) {
    Parameters parameters;
    parameters.add(hold(name)).add(BOOLOID, BoolGetDatum(paused));
    store::change(&pause_statement, "update scylla.signal_trigger set paused = $2 where id operator(pg_catalog.=) $1",
                  parameters, SPI_OK_UPDATE);
}

} // namespace

namespace {

// The current user becomes the owner. tasks: the action as it is stored.
void insert(const TriggerRequest &request, std::span<const Input> inputs, Jsonb *tasks) {
    NameData owner{};
    namestrcpy(&owner, GetUserNameFromId(GetUserId(), false));
    Parameters parameters;
    parameters.add(NAMEOID, NameGetDatum(&owner))
        .add(request.name)
        .add(JSONBOID, JsonbPGetDatum(request.signals))
        .add(JSONBOID, JsonbPGetDatum(tasks))
        .add(JSONPATHOID, request.condition, request.condition == 0)
        .add(INT4OID, Int32GetDatum(static_cast<int32>(inputs.size())));
    const auto id = store::select<int64>(
        &insert_statement,
        "insert into scylla.signal_trigger (owner, name, signals, action, condition, inputs) "
        "values ($1, $2, $3, $4, $5, $6) on conflict (name) do nothing returning id",
        parameters, SPI_OK_INSERT_RETURNING, [](uint64 row) { return store::Columns(row).next_int64(); });
    if (id.empty())
        error::duplicate_trigger(request.name);
    for (std::size_t i = 0; i < inputs.size(); i++) {
        Parameters input;
        input.add(id[0])
            .add(INT4OID, Int32GetDatum(static_cast<int32>(i) + 1))
            .add(inputs[i].signal)
            .add(JSONBOID, JsonbPGetDatum(inputs[i].match))
            .add(TEXTARRAYOID, PointerGetDatum(inputs[i].joined_by));
        store::change(&insert_input_statement,
                      "insert into scylla.signal_trigger_input (trigger, ord, name, match, joined_by) "
                      "values ($1, $2, $3, $4, $5)",
                      input, SPI_OK_INSERT);
    }
}

} // namespace

void create(const TriggerRequest &request) {
    const auto inputs = read_inputs(request.signals, static_cast<std::size_t>(settings::max_trigger_signals));
    Jsonb *tasks = read_action(request.action);
    for (const Input &input : inputs)
        require(input.signal, SignalPrivilege::wait);
    rehearse(request.name, tasks);
    insert(request, inputs, tasks);
}

void put_made(const TriggerRequest &request, Oid owner) {
    Parameters parameters;
    parameters.add(request.name);
    const auto found = store::select<bool>(
        &find_statement, "select true from scylla.signal_trigger where name operator(pg_catalog.=) $1", parameters,
        SPI_OK_SELECT, [](uint64) { return true; });
    if (!found.empty())
        return;
    // What the maker has accepted once stays possible when the setting is lower.
    const auto inputs = read_inputs(request.signals, model::k_max_inputs);
    const Identity before = become(owner);
    for (const Input &input : inputs)
        require(input.signal, SignalPrivilege::wait);
    insert(request, inputs, request.action);
    restore(before);
}

void remove_made(const text *name) {
    Parameters parameters;
    parameters.add(name);
    const auto ids = store::select<int64>(
        &hold_made_statement, "select id from scylla.signal_trigger where name operator(pg_catalog.=) $1 for update",
        parameters, SPI_OK_SELECT, [](uint64 row) { return store::Columns(row).next_int64(); });
    for (const int64 id : ids)
        remove(id);
}

void drop(const text *name) {
    const Held held = hold_row(name);
    if (belongs_to_maker(held.action))
        error::trigger_of_workflow(name);
    remove(held.id);
}

void pause(const text *name) { set_paused(name, true); }

void resume(const text *name) {
    set_paused(name, false);
    const TimestampTz now = GetCurrentTimestamp();
    Parameters parameters;
    parameters.add(hold(name)).add(std::optional(now));
    store::change(&retry_statement,
                  "update scylla.signal_trigger_failure set retry_at = $2 where trigger operator(pg_catalog.=) $1",
                  parameters, SPI_OK_UPDATE);
    shmem::note_time(shmem::Timer::trigger, now);
}

int64 clear(const text *name, std::optional<int64> seq) {
    Parameters parameters;
    parameters.add(hold(name)).add(INT8OID, Int64GetDatum(seq.value_or(0)), !seq);
    const auto removed = store::select<int64>(
        &clear_statement,
        "with arrival as (delete from scylla.signal_arrival where trigger operator(pg_catalog.=) $1 "
        "and ($2 is null or seq operator(pg_catalog.=) $2) returning seq), "
        "failure as (delete from scylla.signal_trigger_failure where trigger operator(pg_catalog.=) $1 "
        "and ($2 is null or $2 operator(pg_catalog.=) any (seqs)) returning id) "
        "select (select pg_catalog.count(distinct seq) from arrival) operator(pg_catalog.+) "
        "(select pg_catalog.count(*) from failure)",
        parameters, SPI_OK_SELECT, [](uint64 row) { return store::Columns(row).next_int64(); });
    return removed[0];
}

} // namespace scylla::trigger
