#include "workflow/backfills.h"

#include "pg/error.h"
#include "pg/identity.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/subtransaction.h"
#include "store/spi_arrays.h"
#include "workflow/turns.h"

namespace scylla::workflow {

using store::ArrayColumn;
using store::Columns;
using store::Parameters;

namespace {

constexpr int64 k_most_starts = 32; // in one transaction

constinit SPIPlanPtr before_statement = nullptr;
constinit SPIPlanPtr insert_statement = nullptr;
constinit SPIPlanPtr items_statement = nullptr;
constinit SPIPlanPtr find_statement = nullptr;
constinit SPIPlanPtr hold_statement = nullptr;
constinit SPIPlanPtr try_statement = nullptr;
constinit SPIPlanPtr refused_statement = nullptr;
constinit SPIPlanPtr broken_statement = nullptr;
constinit SPIPlanPtr live_statement = nullptr;
constinit SPIPlanPtr pending_statement = nullptr;
constinit SPIPlanPtr started_statement = nullptr;
constinit SPIPlanPtr ended_item_statement = nullptr;
constinit SPIPlanPtr end_statement = nullptr;
constinit SPIPlanPtr pause_statement = nullptr;
constinit SPIPlanPtr resume_statement = nullptr;
constinit SPIPlanPtr lost_statement = nullptr;
constinit SPIPlanPtr cancel_statement = nullptr;
constinit SPIPlanPtr stop_statement = nullptr;
constinit SPIPlanPtr leave_statement = nullptr;
constinit SPIPlanPtr forget_statement = nullptr;
constinit SPIPlanPtr forget_all_statement = nullptr;

// ---- rows ----------------------------------------------------------------------------------------------------------

struct State {
    int64 id;
    const text *workflow;
    int32 version;
    int32 concurrency;
    bool yields;
    bool paused;
    bool ended;
    const char *role;
};

#define SCYLLA_BACKFILL_STATE                                                                                          \
    "select id, workflow, version, concurrency, yields, paused, ended is not null, role::pg_catalog.text "             \
    "from scylla.workflow_backfill_state where id operator(pg_catalog.=) $1"

State read_state(uint64 row) {
    Columns columns(row);
    return {.id = columns.next_int64(),
            .workflow = columns.next_text(),
            .version = columns.next_int32(),
            .concurrency = columns.next_int32(),
            .yields = columns.next_bool(),
            .paused = columns.next_bool(),
            .ended = columns.next_bool(),
            .role = columns.next_string()};
}

std::optional<State> find_state(SPIPlanPtr *plan, const char *sql, int64 id) {
    Parameters parameters;
    parameters.add(id);
    const auto found = store::select<State>(plan, sql, parameters, SPI_OK_SELECT, read_state);
    return found.empty() ? std::nullopt : std::optional(found[0]);
}

int64 count(SPIPlanPtr *plan, const char *sql, int64 id) {
    Parameters parameters;
    parameters.add(id);
    return store::select<int64>(plan, sql, parameters, SPI_OK_SELECT,
                                [](uint64 row) { return Columns(row).next_int64(); })[0];
}

// A backfill that the current user may change, with its row locked: after that of the workflow, as in the engine.
State hold_backfill(int64 id) {
    const auto seen = find_state(&find_statement, SCYLLA_BACKFILL_STATE, id);
    if (!seen)
        error::no_such_backfill(id);
    (void)hold(seen->workflow, Privilege::run);
    const auto held = find_state(&hold_statement, SCYLLA_BACKFILL_STATE " for no key update", id);
    if (!held)
        error::no_such_backfill(id);
    if (held->ended)
        error::backfill_ended(id);
    return *held;
}

void change(SPIPlanPtr *plan, const char *sql, int64 id) {
    Parameters parameters;
    parameters.add(id);
    store::change(plan, sql, parameters, SPI_OK_UPDATE);
}

// ---- items that begin ----------------------------------------------------------------------------------------------

struct Item {
    int32 number;
    Jsonb *params;
};

std::span<const Item> next_items(const State &state, int64 most) {
    Parameters parameters;
    parameters.add(state.id).add(most);
    return store::select<Item>(&pending_statement,
                               "select number, params from scylla.workflow_backfill_item_state "
                               "where backfill operator(pg_catalog.=) $1 and state operator(pg_catalog.=) 'PENDING' "
                               "order by number limit $2",
                               parameters, SPI_OK_SELECT, [](uint64 row) {
                                   Columns columns(row);
                                   const int32 number = columns.next_int32();
                                   return Item{number, columns.next_jsonb()};
                               });
}

Jsonb *initiator_of(const State &state, int32 number) {
    JsonbParseState *json = nullptr;
    pushJsonbValue(&json, WJB_BEGIN_OBJECT, nullptr);
    json::push_text(&json, "type", cstring_to_text("BACKFILL"));
    json::push(&json, "backfill", json::of_whole(state.id));
    json::push(&json, "item", json::of_whole(number));
    json::push_text(&json, "user", cstring_to_text(state.role));
    return JsonbValueToJsonb(pushJsonbValue(&json, WJB_END_OBJECT, nullptr));
}

Started start_item(const State &state, const Item &item) {
    return start({.workflow = state.workflow,
                  .params = item.params,
                  .version = cstring_to_text(psprintf("%d", state.version)),
                  .initiator = initiator_of(state, item.number),
                  .backfill = state.id,
                  .late = state.yields});
}

// A run that FIRST_ONLY has stopped at once has ended.
void note_started(const State &state, const Item &item, const Started &started) {
    Parameters parameters;
    parameters.add(state.id)
        .add(INT4OID, Int32GetDatum(item.number))
        .add(started.id)
        .add(BOOLOID, BoolGetDatum(started.code < 0));
    store::change(&started_statement,
                  "update scylla.workflow_backfill_item_state set run = $3, "
                  "state = case when $4 then 'ENDED' else 'STARTED' end "
                  "where backfill operator(pg_catalog.=) $1 and number operator(pg_catalog.=) $2",
                  parameters, SPI_OK_UPDATE);
}

int64 live_items(int64 id) {
    return count(&live_statement,
                 "select pg_catalog.count(*) from scylla.workflow_backfill_item_state "
                 "where backfill operator(pg_catalog.=) $1 and state operator(pg_catalog.=) 'STARTED'",
                 id);
}

void end_if_done(const State &state) {
    change(
        &end_statement,
        "update scylla.workflow_backfill_state set ended = pg_catalog.clock_timestamp(), paused = false, error = null "
        "where id operator(pg_catalog.=) $1 and not exists (select from scylla.workflow_backfill_item_state "
        "where backfill operator(pg_catalog.=) $1 and (state operator(pg_catalog.=) 'PENDING' "
        "or state operator(pg_catalog.=) 'STARTED'))",
        state.id);
}

// Starts items as the current user, who made or resumed the backfill and gets the error of an item that cannot start.
void start_items(const State &state) {
    while (!state.paused) {
        const int64 room = Min(state.concurrency - live_items(state.id), k_most_starts);
        const auto items = room <= 0 ? std::span<const Item>{} : next_items(state, room);
        if (items.empty())
            break;
        for (const Item &item : items) {
            CHECK_FOR_INTERRUPTS();
            note_started(state, item, start_item(state, item));
        }
    }
    end_if_done(state);
}

} // namespace

// ---- calls ---------------------------------------------------------------------------------------------------------

std::span<const Previewed> preview_backfill(const Backfill &backfill) {
    const Head head = require(backfill.workflow, Privilege::run);
    (void)pick_version(head, backfill.version);
    ArrayColumn items(JSONBOID);
    for (Jsonb *item : backfill.items)
        items.add(JsonbPGetDatum(item));
    Parameters parameters;
    parameters.add(head.id);
    items.give_to(parameters);
    const auto previewed = store::select<Previewed>(
        &before_statement,
        "with last as (select distinct on (r.request) r.request, r.instance, r.status "
        "from scylla.workflow_run_state r join scylla.workflow_head h on h.id operator(pg_catalog.=) r.workflow "
        "and h.created operator(pg_catalog.<=) r.created where r.workflow operator(pg_catalog.=) $1 "
        "order by r.request, r.instance desc, r.run desc) "
        "select l.instance, l.status from pg_catalog.unnest($2) with ordinality i (params, number) "
        "left join last l on l.request operator(pg_catalog.=) i.params order by i.number",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            Columns columns(row);
            const int64 instance = columns.next_int64();
            return Previewed{true, instance, columns.next_text()};
        });
    for (Previewed &item : previewed) {
        const std::string_view status = item.status == nullptr ? std::string_view{} : view(item.status);
        const bool good = status == "SUCCEEDED" || status == "CREATED" || status == "IN_PROGRESS";
        item.starts = item.instance == 0 || backfill.existing == Existing::start ||
                      (backfill.existing == Existing::skip && !good);
    }
    return previewed;
}

namespace {

int64 insert_backfill(const Backfill &backfill, int32 version) {
    Parameters parameters;
    parameters.add(backfill.workflow)
        .add(INT4OID, Int32GetDatum(version))
        .add(INT4OID, Int32GetDatum(backfill.concurrency))
        .add(BOOLOID, BoolGetDatum(backfill.yields))
        .add(TEXTOID, CStringGetTextDatum(GetUserNameFromId(GetUserId(), false)));
    return store::select<int64>(&insert_statement,
                                "insert into scylla.workflow_backfill_state "
                                "(workflow, version, concurrency, yields, role) "
                                "values ($1, $2, $3, $4, $5::pg_catalog.name) returning id",
                                parameters, SPI_OK_INSERT_RETURNING,
                                [](uint64 row) { return Columns(row).next_int64(); })[0];
}

void insert_items(int64 id, std::span<Jsonb *const> all, std::span<const Previewed> previewed) {
    ArrayColumn items(JSONBOID), starts(BOOLOID);
    for (std::size_t i = 0; i < all.size(); i++) {
        items.add(JsonbPGetDatum(all[i]));
        starts.add(BoolGetDatum(previewed[i].starts));
    }
    Parameters parameters;
    parameters.add(id);
    items.give_to(parameters);
    starts.give_to(parameters);
    store::change(&items_statement,
                  "insert into scylla.workflow_backfill_item_state (backfill, number, params, state) "
                  "select $1, i.number, i.params, case when i.starts then 'PENDING' else 'SKIPPED' end "
                  "from rows from (pg_catalog.unnest($2), pg_catalog.unnest($3)) with ordinality "
                  "i (params, starts, number)",
                  parameters, SPI_OK_INSERT);
}

} // namespace

int64 begin_backfill(const Backfill &backfill) {
    const Head head = hold(backfill.workflow, Privilege::run);
    const int32 version = pick_version(head, backfill.version);
    const int64 id = insert_backfill(backfill, version);
    insert_items(id, backfill.items, preview_backfill(backfill));
    start_items(*find_state(&find_statement, SCYLLA_BACKFILL_STATE, id));
    return id;
}

void pause_backfill(int64 id) {
    const State state = hold_backfill(id);
    change(&pause_statement,
           "update scylla.workflow_backfill_state set paused = true, error = null where id operator(pg_catalog.=) $1",
           state.id);
}

void resume_backfill(int64 id) {
    State state = hold_backfill(id);
    change(
        &lost_statement,
        "update scylla.workflow_backfill_item_state i set state = 'ENDED' where i.backfill operator(pg_catalog.=) $1 "
        "and i.state operator(pg_catalog.=) 'STARTED' and not exists (select from scylla.workflow_run_state r "
        "where r.id operator(pg_catalog.=) i.run and r.ended is null)",
        state.id);
    state.paused = false;
    state.role = GetUserNameFromId(GetUserId(), false);
    Parameters parameters;
    parameters.add(state.id).add(TEXTOID, CStringGetTextDatum(state.role));
    store::change(&resume_statement,
                  "update scylla.workflow_backfill_state set paused = false, error = null, "
                  "role = $2::pg_catalog.name where id operator(pg_catalog.=) $1",
                  parameters, SPI_OK_UPDATE);
    start_items(state);
}

int64 cancel_backfill(int64 id, bool stop_runs) {
    const State state = hold_backfill(id);
    Parameters parameters;
    parameters.add(state.id);
    const auto cancelled = store::select<int64>(
        &cancel_statement,
        "with item as (update scylla.workflow_backfill_item_state set state = 'CANCELLED' "
        "where backfill operator(pg_catalog.=) $1 and state operator(pg_catalog.=) 'PENDING' returning 1) "
        "select pg_catalog.count(*) from item",
        parameters, SPI_OK_SELECT, [](uint64 row) { return Columns(row).next_int64(); })[0];
    if (stop_runs) {
        const auto runs = store::select<int64>(
            &stop_statement,
            "select run from scylla.workflow_backfill_item_state where backfill operator(pg_catalog.=) $1 "
            "and state operator(pg_catalog.=) 'STARTED'",
            parameters, SPI_OK_SELECT, [](uint64 row) { return Columns(row).next_int64(); });
        for (const int64 run : runs)
            stop_run(run, psprintf("Backfill " INT64_FORMAT " was cancelled.", state.id));
    }
    end_if_done(state);
    return cancelled;
}

// ---- the engine ----------------------------------------------------------------------------------------------------

namespace {

int64 backfill_in(Jsonb *data) {
    const JsonbValue *id = getKeyJsonValueFromContainer(&data->root, "backfill", 8, nullptr);
    return DatumGetInt64(DirectFunctionCall1(numeric_int8, NumericGetDatum(id->val.numeric)));
}

void note_ended(int64 run) {
    change(&ended_item_statement,
           "update scylla.workflow_backfill_item_state set state = 'ENDED' where run operator(pg_catalog.=) $1 "
           "and state operator(pg_catalog.=) 'STARTED'",
           run);
}

void note_refused(const State &state, const Item &item, const ErrorData *error) {
    Parameters parameters;
    parameters.add(state.id).add(INT4OID, Int32GetDatum(item.number)).add(JSONBOID, JsonbPGetDatum(json_of(error)));
    store::change(&refused_statement,
                  "update scylla.workflow_backfill_item_state set state = 'REFUSED', error = $3 "
                  "where backfill operator(pg_catalog.=) $1 and number operator(pg_catalog.=) $2",
                  parameters, SPI_OK_UPDATE);
}

// Pauses the backfill: a right or a role that all of its runs need is gone.
void pause_for(const State &state, const ErrorData *error) {
    Parameters parameters;
    parameters.add(state.id).add(JSONBOID, JsonbPGetDatum(json_of(error)));
    store::change(&broken_statement,
                  "update scylla.workflow_backfill_state set paused = true, error = $2 "
                  "where id operator(pg_catalog.=) $1",
                  parameters, SPI_OK_UPDATE);
}

Started start_as_role(const State &state, const Item &item) {
    return act_as(get_role_oid(state.role, false), [&] { return start_item(state, item); });
}

enum class Outcome : std::uint8_t { started, refused, paused, later };

Outcome try_item(const State &state, const Item &item) {
    const ErrorData *error = attempt([&] { note_started(state, item, start_as_role(state, item)); });
    if (error == nullptr)
        return Outcome::started;
    if (is_passing(error))
        return Outcome::later;
    if (error->sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE || error->sqlerrcode == ERRCODE_UNDEFINED_OBJECT) {
        pause_for(state, error);
        return Outcome::paused;
    }
    note_refused(state, item, error);
    return Outcome::refused;
}

// more: there may be room for others.
enum class Next : std::uint8_t { done, more, later };

Next start_next(const State &state) {
    const int64 room = Min(state.concurrency - live_items(state.id), k_most_starts);
    if (state.paused || state.ended || room <= 0)
        return Next::done;
    const auto items = next_items(state, room);
    for (const Item &item : items) {
        CHECK_FOR_INTERRUPTS();
        const Outcome outcome = try_item(state, item);
        if (outcome == Outcome::paused)
            return Next::done;
        if (outcome == Outcome::later)
            return Next::later;
    }
    return items.empty() ? Next::done : Next::more;
}

} // namespace

bool go_on_with_backfill(const workflow::Item &ended) {
    const int64 id = backfill_in(ended.data);
    const auto seen = find_state(&find_statement, SCYLLA_BACKFILL_STATE, id);
    if (!seen)
        return true;
    const auto state = try_hold(seen->workflow)
                           ? find_state(&try_statement, SCYLLA_BACKFILL_STATE " for no key update skip locked", id)
                           : std::nullopt;
    if (!state) {
        put_on_agenda(ended);
        return false;
    }
    note_ended(ended.root);
    const Next next = start_next(*state);
    if (next != Next::done)
        put_on_agenda(ended);
    else
        end_if_done(*state);
    return next != Next::later;
}

void leave_backfills(const text *workflow) {
    Parameters parameters;
    parameters.add(workflow);
    store::change(&leave_statement,
                  "with backfill as (delete from scylla.workflow_backfill_state "
                  "where workflow operator(pg_catalog.=) $1 returning id) "
                  "delete from scylla.workflow_backfill_item_state i using backfill b "
                  "where i.backfill operator(pg_catalog.=) b.id",
                  parameters, SPI_OK_DELETE);
}

// Also removes backfills that have existed for a day and have no runs: those that have only skipped items.
void forget_backfilled(int64 run) {
    Parameters parameters;
    parameters.add(run);
    const auto left =
        store::select<int64>(&forget_statement,
                             "delete from scylla.workflow_backfill_item_state "
                             "where run operator(pg_catalog.=) $1 returning backfill",
                             parameters, SPI_OK_DELETE_RETURNING, [](uint64 row) { return Columns(row).next_int64(); });
    for (const int64 id : left) {
        Parameters of;
        of.add(id);
        store::change(&forget_all_statement,
                      "with backfill as (delete from scylla.workflow_backfill_state b "
                      "using scylla.workflow_backfill_state t where t.id operator(pg_catalog.=) $1 "
                      "and b.workflow operator(pg_catalog.=) t.workflow and (b.id operator(pg_catalog.=) t.id "
                      "and b.ended is not null or b.ended operator(pg_catalog.<) (pg_catalog.now() "
                      "operator(pg_catalog.-) '1 day'::pg_catalog.interval)) and not exists (select from "
                      "scylla.workflow_backfill_item_state i where i.backfill operator(pg_catalog.=) b.id "
                      "and i.run is not null) returning b.id) "
                      "delete from scylla.workflow_backfill_item_state i using backfill b "
                      "where i.backfill operator(pg_catalog.=) b.id",
                      of, SPI_OK_DELETE);
    }
}

} // namespace scylla::workflow
