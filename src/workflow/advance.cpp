// The engine: one transaction's work.
#include "pg/error.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/subtransaction.h"
#include "store/index_plans.h"
#include "store/locks.h"
#include "store/workflow/turn_reads.h"
#include "store/workflow/turn_writes.h"
#include "task/gates.h"
#include "task/release.h"
#include "plan/plans.h"
#include "workflow/actions.h"
#include "workflow/backfills.h"
#include "workflow/definitions.h"
#include "workflow/events.h"
#include "workflow/permits.h"
#include "workflow/run_limits.h"
#include "workflow/server_world.h"
#include "workflow/templates.h"
#include "workflow/texts.h"
#include "workflow/turns.h"

namespace scylla::workflow {

using model::workflow::Event;
using model::workflow::EventKind;
using model::workflow::Need;
using model::workflow::Rest;
using model::workflow::RunStatus;
using model::workflow::Supply;
using model::workflow::Turn;
namespace turn_reads = store::turn_reads;
namespace turn_writes = store::turn_writes;

namespace {

constexpr int64 k_most_runs = 32;              // in one transaction
constexpr const char *k_lock_timeout = "20ms"; // of what cannot be tried without waiting
constinit int32 last_line = PG_INT32_MIN;      // those after it come first; the lowest number: none has a right to that

// ---- runs that begin -----------------------------------------------------------------------------------------------

// Whether this transaction may decide which runs begin: one at a time does.
bool may_begin_runs() {
    const LOCKTAG tag = runs_lock_tag();
    return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

// The queued runs that may begin now, of the workflows of the runs that are named.
std::span<const turn_reads::Queued> runs_to_begin(std::span<const Root> roots) {
    Growing<const text *> workflows;
    Growing<int64> here;
    for (const Root &root : roots) {
        here.add(root.id);
        if (root.is_next)
            workflows.add(root.version.workflow);
    }
    return turn_reads::may_begin(workflows.all(), here.all());
}

// Lets queued runs begin, as far as their workflows have room. Those that are not at hand have their turn later.
bool begin_runs(std::span<Root> roots) {
    if (std::none_of(roots.begin(), roots.end(), [](const Root &root) { return root.is_next; }))
        return true;
    if (const bool is_slow = pace.lane == Lane::slow; is_slow || !may_begin_runs()) {
        for (const Root &root : roots)
            if (root.is_next)
                put_on_agenda({.root = root.id, .kind = "next", .line = root.line});
        return is_slow;
    }
    Growing<int64> others;
    for (const turn_reads::Queued &run : runs_to_begin(roots)) {
        if (!run.is_here) {
            others.add(run.id);
            continue;
        }
        const auto root = std::find_if(roots.begin(), roots.end(), [&](const Root &each) { return each.id == run.id; });
        root->begins = true;
        root->scope.status = RunStatus::in_progress;
        root->events.add({.kind = root->run == 1 ? EventKind::start : EventKind::restart, .scope = run.id});
    }
    put_next(others.all());
    return true;
}

// ---- turns ---------------------------------------------------------------------------------------------------------

// What the model has made, freed with the memory context if an error comes before its end.
struct Held {
    Turn turn;
    MemoryContextCallback callback;
};

Held *hold_turn() {
    auto *held = static_cast<Held *>(palloc0(sizeof(Held)));
    held->callback.func = [](void *arg) { model::workflow::release(static_cast<Held *>(arg)->turn); };
    held->callback.arg = held;
    MemoryContextRegisterResetCallback(CurrentMemoryContext, &held->callback);
    return held;
}

// A run whose turn is taken.
struct TurnOf {
    store::Store *store;
    const Root *root;
    std::span<const StoredStep> steps;
    TimestampTz now;
};

std::string_view view_or_empty(const text *value) { return value == nullptr ? std::string_view{} : view(value); }

// A value of other scopes or runs. Empty: it is not there.
std::string_view read_need(const Need &need, const TurnOf &of) {
    const Root &root = *of.root;
    switch (need.what) {
    case Need::What::job_template:
        return template_supply({need.inner, need.param}, root.owner);
    case Need::What::end_work:
        return end_work(*of.store, root, of.steps, need, of.now) ? "true" : "false";
    case Need::What::iterations:
        return view(turn_reads::unsuccessful_iterations(
            {.scope = need.scope, .loop = need.step, .behind = need.inner, .most = need.param}));
    case Need::What::but_one:
        return view_or_empty(turn_reads::other_iterations(need.scope, need.step, need.inner));
    case Need::What::foreach:
        return view(turn_reads::values_of_loop(
            {.scope = need.scope, .loop = need.step, .step = need.inner, .param = need.param}));
    case Need::What::subworkflow:
        return view_or_empty(
            turn_reads::value_of_subworkflow(
                {.scope = need.scope, .subworkflow = need.step, .step = need.inner, .param = need.param})
                .value_or(nullptr));
    }
    pg_unreachable();
}

// The turn of a run, with all that it needs.
Turn *take_turn_of(const TurnOf &of) {
    const Root &root = *of.root;
    const auto &definition = definition_of(root.version);
    model::workflow::Run run{.name = {.workflow = view(root.version.workflow),
                                      .instance = root.instance,
                                      .run = root.run,
                                      .initiator = root.initiator,
                                      .properties = root.properties,
                                      .restart = root.restart,
                                      .step_params = root.step_params,
                                      .limits = run_limits()},
                             .scopes = root.scopes.all(),
                             .events = root.events.all(),
                             .permits = root.permits,
                             .holds = root.holds};
    Growing<Supply> supplies;
    const bool had_begun = pace.begun;
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        check_stack_depth();
        Held *held = hold_turn();
        ServerWorld world;
        run.supplies = supplies.all();
        pace.begun = had_begun; // what was evaluated before this round counts for nothing
        held->turn = take_turn(definition, run, world, turn_limits());
        world.raise_seen();
        if (held->turn.kind != model::sel::OutcomeKind::value)
            ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory in a turn of a workflow's run")));
        if (held->turn.needs.empty())
            return &held->turn;
        refresh(*of.store);
        for (const Need &need : held->turn.needs)
            supplies.add({need.scope, need.step, need.inner, need.param, read_need(need, of)});
    }
}

bool is_changed(const Turn &turn, const Event &event) {
    if (event.step.empty())
        return std::any_of(turn.scopes.begin(), turn.scopes.end(),
                           [&](const auto &change) { return change.scope.id == event.scope; });
    return std::any_of(turn.steps.begin(), turn.steps.end(),
                       [&](const auto &change) { return change.scope == event.scope && change.step.id == event.step; });
}

// Times that have come and of which the turns have made nothing: they must not come again.
void pass_times(std::span<const Followed> turns) {
    Growing<turn_writes::Passed> passed;
    for (const Followed &each : turns)
        for (const Event &event : each.root->events.all())
            if (event.kind == EventKind::due && !is_changed(*each.turn, event))
                passed.add({.scope = event.scope, .step = event.step});
    if (passed.size() > 0)
        turn_writes::pass_times(passed.all());
}

// The actions of a turn that have had their effect.
std::span<const int64> actions_done(const Followed &of) {
    const auto &back = of.turn->put_back;
    Growing<int64> done;
    for (const int64 action : of.root->actions.all())
        if (std::none_of(back.begin(), back.end(), [&](const Event &event) { return event.action == action; }))
            done.add(action);
    return done.all();
}

// ---- one transaction -----------------------------------------------------------------------------------------------

// Of the last work: the one that is to blame if it was alone.
struct FirstRun {
    int64 id = 0; // 0: none
    int64 plan = 0;
    int32 line = 0;
};
constinit FirstRun first_run{};

// False: something is held by another transaction, and it is left for later.
bool do_left(const Item &item) {
    if (pace.is_late()) {
        Item later = item;
        later.slow = pace.lane == Lane::slow;
        put_on_agenda(later);
        return true;
    }
    pace.is_slow = false;
    const std::string_view kind = item.kind;
    return kind == "child"      ? start_child(item)
           : kind == "backfill" ? go_on_with_backfill(item)
           : kind == "wait"     ? wait_for_signals(item)
                                : send_signals(item);
}

// The turns of the runs, in their order. Keeps whose line has used up the time, or is the last one.
std::span<Followed> take_all_turns(store::Store &store, const TakenRuns &taken, std::span<const StoredStep> steps,
                                   TimestampTz now) {
    const std::span<const Root> roots = taken.roots;
    Growing<const Root *> order;
    for (const Root &root : roots)
        order.add(&root);
    std::sort(order.at, order.at + order.count,
              [](const Root *one, const Root *other) { return one->place < other->place; });
    Growing<Followed> turns;
    last_line = taken.full ? order.at[order.count - 1]->line : PG_INT32_MIN;
    bool was_late = false;
    for (const Root *root : order.all()) {
        if (root->events.size() > 0)
            turns.add({root, take_turn_of({&store, root, steps, now})});
        if (!was_late && pace.is_late())
            last_line = root->line;
        was_late = pace.is_late();
    }
    return turns.all();
}

// What the turns have left.
void put_rests(std::span<const Root> roots, std::span<const Followed> turns) {
    const auto put = [](const Root &root, bool is_slow) {
        put_on_agenda({.root = root.id, .kind = "rest", .slow = is_slow || pace.lane == Lane::slow, .line = root.line});
    };
    for (const Followed &each : turns)
        if (each.turn->rest != Rest::none)
            put(*each.root, each.turn->rest == Rest::slow);
    for (const Root &root : roots)
        if (root.has_rest)
            put(root, false);
}

struct Work {
    std::size_t done = 0; // rows of the agenda, and times
    bool postponed = false;
    bool full = false; // there may be more
};

Work work(int64 most, TimestampTz due) {
    const TimestampTz now = GetCurrentTimestamp();
    first_run = {};
    const TakenRuns runs = take_runs({.now = now, .after = last_line, .nothing_due = now < due}, most);
    const std::span<Root> roots = runs.roots;
    if (roots.empty())
        return {.postponed = runs.others};
    store::Store store = store::open(RowExclusiveLock, store::TableId::spec);
    first_run = {roots[0].id, roots[0].plan, roots[0].line};
    const Taken taken = take_events(runs, now);
    read_holds(roots, taken.let_go);
    Work result{.done = taken.rows, .postponed = !begin_runs(roots), .full = runs.full};
    const auto steps = read_scopes(roots);
    read_permits(roots);
    const auto turns = take_all_turns(store, runs, steps, now);
    if (!turns.empty())
        write_turns(store, turns, now);
    pass_times(turns);
    put_rests(roots, turns);
    for (const Followed &each : turns)
        settle_actions(actions_done(each), now);
    for (const Item &item : taken.left) {
        const bool done = do_left(item);
        result.postponed = !done || result.postponed;
    }
    close(store);
    return result;
}

// What has happened, as opposed to what is to happen.
bool is_news(EventKind kind) {
    switch (kind) {
    case EventKind::task_completed:
    case EventKind::task_failed:
    case EventKind::task_aborted:
    case EventKind::task_cancelled:
    case EventKind::child_started:
    case EventKind::child_failed:
    case EventKind::child_ended:
    case EventKind::signals_sent:
    case EventKind::signals_refused:
    case EventKind::output:
        return true;
    default:
        return false;
    }
}

// A turn of the run that kills it, once: what has happened is recorded, and what is left of steps whose work is done.
// Whatever else waits for the run is dropped.
void kill_broken(const FirstRun &run, const ErrorData *error, TimestampTz now) {
    const TakenRuns runs = take_run(run.id, run.line);
    if (runs.roots.empty())
        return;
    Root &root = runs.roots[0];
    pace = {.lane = pace.lane, .in_engine = true};
    store::Store store = store::open(RowExclusiveLock, store::TableId::spec);
    const Taken taken = take_events(runs, now);
    Growing<Event> events;
    for (const Event &event : root.events.all()) {
        if (event.kind == EventKind::kill && event.action == 0)
            elog(ERROR, "the engine has killed it before");
        if (is_news(event.kind))
            events.add(event);
    }
    events.add({.kind = EventKind::kill, .scope = root.id, .data = json_text(json_of(error))});
    root.events = events;
    const auto steps = read_scopes(runs.roots);
    const auto turns = take_all_turns(store, runs, steps, now);
    write_turns(store, turns, now);
    root.has_rest = root.has_rest || root.takes_rest;
    put_rests(runs.roots, turns);
    for (const Item &item : taken.left)
        if (std::string_view(item.kind) == "signals")
            put_on_agenda(item);
    settle_actions_of(root.id, now);
    close(store);
}

// The same if that cannot be done either.
void end_broken(const FirstRun &run, const ErrorData *error, TimestampTz now) {
    store::Store store = store::open(RowExclusiveLock, store::TableId::spec);
    const bool all_ended = end_tasks(store, run.plan, now);
    settle_gates(store, now);
    close(store);
    if (!all_ended)
        return turn_writes::put_off(run.id, now);
    const auto broken =
        turn_writes::break_run({.id = run.id, .now = now, .error = json_of(error), .position = event_position()});
    settle_actions_of(run.id, now);
    store::waits::leave_of(run.id);
    if (!broken)
        return;
    Root root{};
    root.id = broken->id;
    root.line = run.line;
    root.plan = broken->plan;
    root.parent = {broken->parent_root, broken->parent_scope, broken->parent_step, broken->parent_attempt};
    root.backfill = broken->backfill;
    root.tree_permits = broken->permits;
    tell_of_end(root, RunStatus::failed, now);
}

bool is_locked(const ErrorData *error) { return error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE; }

// A run about which the engine comes to an error: it fails, and all others go on.
void break_run(const FirstRun &run, const ErrorData *error) {
    ereport(WARNING, (errmsg("a run of a workflow cannot go on: %s", error->message)));
    const TimestampTz now = GetCurrentTimestamp();
    const ErrorData *again = attempt([&] { kill_broken(run, error, now); });
    if (again != nullptr && !is_locked(again))
        again = attempt([&] { end_broken(run, error, now); });
    if (again != nullptr && !is_locked(again))
        ereport(WARNING, (errmsg("a run of a workflow cannot be ended: %s", again->message)));
    if (again != nullptr)
        turn_writes::put_off(run.id, now);
}

// What there is for the transactions after this one.
Advance look_for_rest() {
    const turn_reads::Next next = turn_reads::next();
    const TimestampTz due = next.due.value_or(DT_NOEND);
    return {.has_slow = next.has_slow, .next = next.has_fast ? DT_NOBEGIN : due, .due = due};
}

// Something that a run needs is locked: that run is put off, and the others take their turns, while there is time.
Advance advance_one_by_one(Lane lane) {
    pace = {.lane = lane, .in_engine = true};
    const int64 ends = steady_now() + k_turn_time;
    for (int64 i = 0; i < k_most_runs && (i == 0 || steady_now() < ends); i++) {
        Work result{};
        const ErrorData *error = attempt([&] { result = work(1, DT_NOBEGIN); });
        if (error == nullptr && result.done == 0)
            break;
        if (error == nullptr)
            continue;
        if (first_run.id == 0 || (is_passing(error) && !is_locked(error))) {
            ereport(WARNING, (errmsg("the engine of workflows has come to an error: %s", error->message)));
            return {.postponed = true};
        }
        if (is_locked(error))
            turn_writes::put_off(first_run.id, GetCurrentTimestamp());
        else
            break_run(first_run, error);
    }
    return {.more = true};
}

Advance advance_by_indexes(Lane lane, const Advance &before) {
    if (before.took_all) {
        const Advance rest = look_for_rest(); // mostly there is none
        if (rest.next > GetCurrentTimestamp())
            return rest;
    }
    Work result{};
    const auto attempt_work = [&](int64 most) {
        result = {};
        pace = {.lane = lane, .in_engine = true};
        return attempt([&] { result = work(most, before.due); });
    };
    const ErrorData *error = attempt_work(lane == Lane::slow ? 1 : k_most_runs);
    if (error != nullptr && is_locked(error) && first_run.id != 0)
        return advance_one_by_one(lane);
    if (error != nullptr && !is_passing(error))
        error = attempt_work(1);
    if (error != nullptr && (is_passing(error) || first_run.id == 0)) {
        ereport(WARNING, (errmsg("the engine of workflows has come to an error: %s", error->message)));
        return {.postponed = true};
    }
    if (error != nullptr) {
        break_run(first_run, error);
        return {.more = true};
    }
    if (result.done > 0 && !result.postponed)
        return {.more = true, .took_all = !result.full};
    Advance rest = look_for_rest();
    rest.postponed = result.postponed;
    return rest;
}

} // namespace

TimestampTz next_time() {
    const Advance rest = look_for_rest();
    return rest.has_slow ? DT_NOBEGIN : rest.next;
}

constinit Pace pace{};

Advance advance(Lane lane, const Advance &before) {
    const int settings_level = store::use_indexes_only();
    (void)set_config_option("lock_timeout", k_lock_timeout, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
                            false);
    Advance result{};
    PG_TRY();
    { result = advance_by_indexes(lane, before); }
    PG_FINALLY();
    { pace = {}; }
    PG_END_TRY();
    AtEOXact_GUC(true, settings_level);
    return result;
}

} // namespace scylla::workflow
