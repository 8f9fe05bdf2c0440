#include "workflow/backfills.h"

#include "pg/error.h"
#include "pg/identity.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/subtransaction.h"
#include "store/workflow/backfills.h"
#include "workflow/turns.h"

namespace scylla::workflow {

namespace backfills = store::backfills;
using State = backfills::Backfill;

namespace {

constexpr int64 k_most_starts = 32; // in one transaction

// A backfill that the current user may change, with its row locked: after that
// of the workflow, as in the engine.
State hold_backfill(int64 id) {
    const auto seen = backfills::find(id);
    if (!seen)
        error::no_such_backfill(id);
    (void)hold(seen->workflow, Privilege::run);
    const auto held = backfills::hold(id);
    if (!held)
        error::no_such_backfill(id);
    if (held->is_ended)
        error::backfill_ended(id);
    return *held;
}

// ---- items that begin ----------------------------------------------------------------------------------------------

Jsonb *initiator_of(const State &state, int32 number) {
    json::Builder json = json::build_object();
    json.member("type", "BACKFILL");
    json.member("backfill", json::of_whole(state.id));
    json.member("item", json::of_whole(number));
    json.member("user", state.role);
    return json.finish();
}

Started start_item(const State &state, const backfills::Item &item) {
    return start({.workflow = state.workflow,
                  .params = item.params,
                  .version = cstring_to_text(psprintf("%d", state.version)),
                  .initiator = initiator_of(state, item.number),
                  .backfill = state.id,
                  .late = state.yields});
}

// A run that FIRST_ONLY has stopped at once has ended.
void note_started(const State &state, const backfills::Item &item, const Started &started) {
    backfills::note_started(
        {.backfill = state.id, .number = item.number, .run = started.id, .is_ended = started.code < 0});
}

// Starts items as the current user, who made or resumed the backfill and gets
// the error of an item that cannot start.
void start_items(const State &state) {
    while (!state.paused) {
        const int64 room = Min(state.concurrency - backfills::count_live(state.id), k_most_starts);
        const auto items = room <= 0 ? std::span<backfills::Item>{} : backfills::next_items(state.id, room);
        if (items.empty())
            break;
        for (const backfills::Item &item : items) {
            CHECK_FOR_INTERRUPTS();
            note_started(state, item, start_item(state, item));
        }
    }
    backfills::end_if_done(state.id);
}

} // namespace

// ---- calls ---------------------------------------------------------------------------------------------------------

std::span<const Previewed> preview_backfill(const Backfill &backfill) {
    const Head head = require(backfill.workflow, Privilege::run);
    (void)pick_version(head, backfill.version);
    require_sound_names(head.id, backfill.items);
    Growing<Previewed> previewed;
    for (const backfills::Before &before : backfills::preview(head.id, backfill.items)) {
        const std::string_view status = before.status == nullptr ? std::string_view{} : view(before.status);
        const bool is_good = status == "SUCCEEDED" || status == "CREATED" || status == "IN_PROGRESS";
        const bool starts =
            backfill.existing == Existing::start ||
            (before.place == 1 && (before.instance == 0 || (backfill.existing == Existing::skip && !is_good)));
        previewed.add({.starts = starts, .instance = before.instance, .status = before.status});
    }
    return previewed.all();
}

int64 begin_backfill(const Backfill &backfill) {
    const Head head = hold(backfill.workflow, Privilege::run);
    const int32 version = pick_version(head, backfill.version);
    const int64 id = backfills::add({.workflow = backfill.workflow,
                                     .version = version,
                                     .concurrency = backfill.concurrency,
                                     .yields = backfill.yields,
                                     .role = GetUserNameFromId(GetUserId(), false)});
    Growing<backfills::NewItem> items;
    for (const Previewed &item : preview_backfill(backfill))
        items.add({.number = static_cast<int32>(items.size()) + 1,
                   .params = backfill.items[items.size()],
                   .starts = item.starts});
    backfills::add_items(id, items.all());
    start_items(*backfills::find(id));
    return id;
}

void pause_backfill(int64 id) { backfills::pause(hold_backfill(id).id, nullptr); }

void resume_backfill(int64 id) {
    State state = hold_backfill(id);
    backfills::note_lost(state.id);
    state.paused = false;
    state.role = GetUserNameFromId(GetUserId(), false);
    backfills::resume(state.id, state.role);
    start_items(state);
}

int64 cancel_backfill(int64 id, bool stop_runs) {
    const State state = hold_backfill(id);
    const int64 cancelled = backfills::cancel_items(state.id);
    if (stop_runs) {
        for (const int64 run : backfills::live_runs(state.id))
            stop_run(run, psprintf("Backfill " INT64_FORMAT " was cancelled.", state.id));
    }
    backfills::end_if_done(state.id);
    return cancelled;
}

// ---- the engine ----------------------------------------------------------------------------------------------------

namespace {

int64 backfill_in(Jsonb *data) {
    const JsonbValue *id = getKeyJsonValueFromContainer(&data->root, "backfill", 8, nullptr);
    return DatumGetInt64(DirectFunctionCall1(numeric_int8, NumericGetDatum(id->val.numeric)));
}

Started start_as_role(const State &state, const backfills::Item &item) {
    return act_as(get_role_oid(state.role, false), [&] { return start_item(state, item); });
}

enum class Outcome : std::uint8_t { started, refused, paused, later };

Outcome try_item(const State &state, const backfills::Item &item) {
    const ErrorData *error = attempt([&] { note_started(state, item, start_as_role(state, item)); });
    if (error == nullptr)
        return Outcome::started;
    if (is_passing(error))
        return Outcome::later;
    if (error->sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE || error->sqlerrcode == ERRCODE_UNDEFINED_OBJECT) {
        backfills::pause(state.id,
                         json_of(error)); // a right or a role that all of its runs need is gone
        return Outcome::paused;
    }
    backfills::note_refused(state.id, item.number, json_of(error));
    return Outcome::refused;
}

// more: there may be room for others.
enum class Next : std::uint8_t { done, more, later };

Next start_next(const State &state) {
    const int64 room = Min(state.concurrency - backfills::count_live(state.id), k_most_starts);
    if (state.paused || state.is_ended || room <= 0)
        return Next::done;
    const auto items = backfills::next_items(state.id, room);
    for (const backfills::Item &item : items) {
        CHECK_FOR_INTERRUPTS();
        if (workflow::pace.is_late())
            return Next::more;
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
    const auto seen = backfills::find(id);
    if (!seen)
        return true;
    const auto state = try_hold(seen->workflow) ? backfills::try_hold(id) : std::nullopt;
    if (!state) {
        put_on_agenda(ended);
        return false;
    }
    backfills::note_ended(ended.root);
    const Next next = start_next(*state);
    workflow::Item rest = ended;
    rest.slow = pace.is_slow || pace.lane == Lane::slow;
    if (next != Next::done)
        put_on_agenda(rest);
    else
        backfills::end_if_done(state->id);
    return next != Next::later || pace.is_slow;
}

void forget_backfilled(int64 run) {
    for (const int64 id : backfills::remove_item(run))
        backfills::remove_without_runs(id);
}

} // namespace scylla::workflow
