// The engine: one transaction's work.
#include "pg/error.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/subtransaction.h"
#include "store/index_plans.h"
#include "store/locks.h"
#include "store/spi_arrays.h"
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
#include "workflow/step_arrays.h"
#include "workflow/templates.h"
#include "workflow/texts.h"
#include "workflow/turns.h"

namespace scylla::workflow {

using model::workflow::Event;
using model::workflow::EventKind;
using model::workflow::Need;
using model::workflow::RunStatus;
using model::workflow::Supply;
using model::workflow::Turn;
using store::Columns;
using store::Parameters;

namespace {

constexpr int64 k_most_runs = 32; // in one transaction

constinit SPIPlanPtr next_statement = nullptr;
constinit SPIPlanPtr iterations_statement = nullptr;
constinit SPIPlanPtr again_statement = nullptr;
constinit SPIPlanPtr but_one_statement = nullptr;
constinit SPIPlanPtr subworkflow_statement = nullptr;
constinit SPIPlanPtr passed_statement = nullptr;
constinit SPIPlanPtr when_statement = nullptr;
constinit SPIPlanPtr break_statement = nullptr;

// ---- runs that begin -----------------------------------------------------------------------------------------------

// Whether this transaction may decide which runs begin: one at a time does.
bool may_begin_runs() {
    const LOCKTAG tag = runs_lock_tag();
    return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

// The queued runs that may begin now, of the workflows of the runs that are named.
std::span<const int64> runs_to_begin(std::span<const Root> roots) {
    store::ArrayColumn workflows(TEXTOID);
    for (const Root &root : roots)
        if (root.is_next)
            workflows.add(view(root.version.workflow));
    Parameters parameters;
    workflows.give_to(parameters);
    return store::select<int64>(
        &next_statement,
        "select c.id from (select h.id, h.concurrency, h.strategy, (select pg_catalog.count(*) "
        "from scylla.workflow_run_state r where r.workflow operator(pg_catalog.=) h.id and r.ended is null "
        "and r.status operator(pg_catalog.=) 'IN_PROGRESS') as live from scylla.workflow_head h "
        "where h.id operator(pg_catalog.=) any ($1) and not exists (select from scylla.workflow_hold p "
        "where p.workflow operator(pg_catalog.=) h.id and p.kind operator(pg_catalog.=) 'workflow')) h "
        "cross join lateral (select r.id from scylla.workflow_run_state r where r.workflow operator(pg_catalog.=) h.id "
        "and r.ended is null and r.status operator(pg_catalog.=) 'CREATED' order by r.late, r.instance, r.run "
        "limit greatest(0, least(50, h.concurrency operator(pg_catalog.-) h.live))) c "
        "where h.strategy operator(pg_catalog.<>) 'STRICT_SEQUENTIAL' or not exists (select from "
        "scylla.workflow_run_state b "
        "where b.workflow operator(pg_catalog.=) h.id and b.blocks)",
        parameters, SPI_OK_SELECT, [](uint64 row) { return Columns(row).next_int64(); });
}

// Lets queued runs begin, as far as their workflows have room. Those that are not at hand have their turn later.
bool begin_runs(std::span<Root> roots) {
    if (std::none_of(roots.begin(), roots.end(), [](const Root &root) { return root.is_next; }))
        return true;
    if (!may_begin_runs()) {
        for (const Root &root : roots)
            if (root.is_next)
                put_on_agenda({.root = root.id, .kind = "next"});
        return false;
    }
    for (const int64 id : runs_to_begin(roots)) {
        const auto root =
            std::lower_bound(roots.begin(), roots.end(), id, [](const Root &each, int64 of) { return each.id < of; });
        if (root == roots.end() || root->id != id) {
            put_on_agenda({.root = id, .kind = "next"});
            continue;
        }
        root->begins = true;
        root->scope.status = RunStatus::in_progress;
        root->events.add({.kind = root->run == 1 ? EventKind::start : EventKind::restart, .scope = id});
    }
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

// Iterations that have not succeeded.
std::string_view read_iterations(const Need &need) {
    Parameters parameters;
    parameters.add(need.scope).add(to_text(need.step)).add(to_text(need.inner)).add(to_text(need.param));
    return view(store::select<text *>(
        &again_statement,
        "select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(i.number, i.id) order by i.number), "
        "'[]')::pg_catalog.text from (select number, id from scylla.workflow_iteration "
        "where parent operator(pg_catalog.=) $1 and step operator(pg_catalog.=) $2 "
        "and number operator(pg_catalog.>) $3::pg_catalog.int8 and not past and status operator(pg_catalog.<>) "
        "'SUCCEEDED' "
        "order by number limit $4::pg_catalog.int8) i",
        parameters, SPI_OK_SELECT, [](uint64 row) { return Columns(row).next_text(); })[0]);
}

// How the iterations of a loop but one have ended.
std::string_view read_but_one(const Need &need) {
    Parameters parameters;
    parameters.add(need.scope).add(to_text(need.step)).add(to_text(need.inner));
    const auto found = store::select<text *>(
        &but_one_statement,
        "select case when pg_catalog.count(*) filter (where not o.other) operator(pg_catalog.=) 1 then "
        "pg_catalog.jsonb_build_object('id', pg_catalog.max(o.id) filter (where not o.other), "
        "'succeeded', pg_catalog.count(*) filter (where o.other and o.status operator(pg_catalog.=) 'SUCCEEDED'), "
        "'failed', pg_catalog.count(*) filter (where o.other and o.status operator(pg_catalog.=) 'FAILED'), "
        "'stopped', pg_catalog.count(*) filter (where o.other and o.status operator(pg_catalog.=) 'STOPPED'), "
        "'timed_out', pg_catalog.count(*) filter (where o.other and o.status operator(pg_catalog.=) 'TIMED_OUT'))"
        "::pg_catalog.text end from (select id, status, number operator(pg_catalog.<>) $3::pg_catalog.int8 as other "
        "from scylla.workflow_iteration where parent operator(pg_catalog.=) $1 and step operator(pg_catalog.=) $2 "
        "and not past) o",
        parameters, SPI_OK_SELECT, [](uint64 row) { return Columns(row).next_text(); });
    return found[0] == nullptr ? std::string_view{} : view(found[0]);
}

// A value of other scopes or runs. Empty: it is not there.
std::string_view read_need(const Need &need, const Root &root) {
    if (need.what == Need::What::job_template)
        return template_supply({need.inner, need.param}, root.owner);
    Parameters parameters;
    parameters.add(need.scope).add(to_text(need.step)).add(to_text(need.inner)).add(to_text(need.param));
    if (need.what == Need::What::iterations)
        return read_iterations(need);
    if (need.what == Need::What::but_one)
        return read_but_one(need);
    const bool is_loop = need.what == Need::What::foreach;
    const auto found = store::select<text *>(
        is_loop ? &iterations_statement : &subworkflow_statement,
        is_loop ? "select case when pg_catalog.count(*) operator(pg_catalog.=) pg_catalog.count(s.params "
                  "operator(pg_catalog.->) $4) then coalesce(pg_catalog.jsonb_agg(s.params operator(pg_catalog.->) $4 "
                  "order by i.number), '[]')::pg_catalog.text end from scylla.workflow_iteration i "
                  "left join scylla.workflow_step_state s on s.scope operator(pg_catalog.=) i.id "
                  "and s.step operator(pg_catalog.=) $3 where i.parent operator(pg_catalog.=) $1 "
                  "and i.step operator(pg_catalog.=) $2 and not i.past"
                : "select (s.params operator(pg_catalog.->) $4)::pg_catalog.text from scylla.workflow_run_state r "
                  "join scylla.workflow_step_state s on s.scope operator(pg_catalog.=) r.id "
                  "and s.step operator(pg_catalog.=) $3 where r.parent_scope operator(pg_catalog.=) $1 "
                  "and r.parent_step operator(pg_catalog.=) $2 order by r.id desc limit 1",
        parameters, SPI_OK_SELECT, [](uint64 row) { return Columns(row).next_text(); });
    return found.empty() || found[0] == nullptr ? std::string_view{} : view(found[0]);
}

// The turn of a run, with all that it needs.
Turn *take_turn_of(const Root &root) {
    const auto &definition = definition_of(root.version);
    model::workflow::Run run{.name = {.workflow = view(root.version.workflow),
                                      .instance = root.instance,
                                      .run = root.run,
                                      .owner = root.owner,
                                      .initiator = root.initiator,
                                      .properties = root.properties,
                                      .restart = root.restart,
                                      .limits = run_limits()},
                             .scopes = root.scopes.all(),
                             .events = root.events.all(),
                             .permits = root.permits,
                             .holds = root.holds};
    Growing<Supply> supplies;
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        check_stack_depth();
        Held *held = hold_turn();
        ServerWorld world;
        run.supplies = supplies.all();
        held->turn = take_turn(definition, run, world, turn_limits());
        world.raise_seen();
        if (held->turn.kind != model::sel::OutcomeKind::value)
            ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory in a turn of a workflow's run")));
        if (held->turn.needs.empty())
            return &held->turn;
        for (const Need &need : held->turn.needs)
            supplies.add({need.scope, need.step, need.inner, need.param, read_need(need, root)});
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
    StepArrays passed; // without a step: the run itself
    for (const Followed &each : turns)
        for (const Event &event : each.root->events.all())
            if (event.kind == EventKind::due && !is_changed(*each.turn, event))
                passed.add(event.scope, event.step);
    if (passed.empty())
        return;
    Parameters parameters = passed.as_parameters();
    store::change(
        &passed_statement,
        "with passed as (select * from rows from (pg_catalog.unnest($1), pg_catalog.unnest($2)) p (scope, step)), "
        "step as (update scylla.workflow_step_state s set due = null from passed p "
        "where s.scope operator(pg_catalog.=) any (array[p.scope]) and s.step operator(pg_catalog.=) p.step) "
        "update scylla.workflow_run_state r set due = null from passed p "
        "where r.id operator(pg_catalog.=) any (array[p.scope]) and p.step is null",
        parameters, SPI_OK_UPDATE);
}

// ---- one transaction -----------------------------------------------------------------------------------------------

// Of the last work: the one that is to blame if it was alone.
struct FirstRun {
    int64 id = 0; // 0: none
    int64 plan = 0;
};
constinit FirstRun first_run{};

// False: something is held by another transaction, and it is left for later.
bool do_left(const Item &item) {
    const std::string_view kind = item.kind;
    return kind == "child"      ? start_child(item)
           : kind == "backfill" ? go_on_with_backfill(item)
           : kind == "wait"     ? wait_for_signals(item)
                                : send_signals(item);
}

struct Work {
    std::size_t done = 0; // rows of the agenda, and times
    bool postponed = false;
};

Work work(int64 most) {
    const TimestampTz now = GetCurrentTimestamp();
    first_run = {};
    const auto roots = take_runs(now, most);
    if (roots.empty())
        return {0, false};
    store::Store store = store::open(RowExclusiveLock, store::TableId::spec);
    first_run = {roots[0].id, roots[0].plan};
    const Taken taken = take_events(roots, now);
    read_holds(roots, taken.let_go);
    Work result{taken.rows, !begin_runs(roots)};
    const auto steps = read_scopes(roots);
    read_permits(roots);
    Growing<Followed> turns;
    for (const Root &root : roots)
        if (root.events.size() > 0)
            turns.add({&root, take_turn_of(root)});
    if (turns.size() > 0)
        write_turns(store, turns.all(), steps, now);
    pass_times(turns.all());
    for (const Root &root : roots)
        settle_actions(root.actions.all(), now);
    for (const Item &item : taken.left) {
        const bool done = do_left(item);
        result.postponed = !done || result.postponed;
    }
    close(store);
    return result;
}

#define BROKEN_STEP_EVENTS SCYLLA_WORKFLOW_STEP_EVENTS("$4", "$2", "'INTERNALLY_FAILED'")

// Ends a run with all of its steps and iterations. Returns the run, unless it has ended.
std::span<const Root> end_broken(const FirstRun &run, const ErrorData *error, TimestampTz now) {
    Parameters parameters;
    parameters.add(run.id).add(std::optional(now)).add(JSONBOID, JsonbPGetDatum(json_of(error))).add(event_position());
    return store::select<Root>(
        &break_statement,
        "with agenda as (delete from scylla.workflow_agenda where root operator(pg_catalog.=) any (array(select "
        "plan from scylla.workflow_plan where root operator(pg_catalog.=) $1) operator(pg_catalog.||) $1)), "
        "step_event as (" BROKEN_STEP_EVENTS "where r.id operator(pg_catalog.=) $1 and " SCYLLA_WORKFLOW_RECORDS
        " and s.scope operator(pg_catalog.=) any (array(select id from scylla.workflow_iteration where root "
        "operator(pg_catalog.=) $1) operator(pg_catalog.||) $1) and (s.ended is null or (s.due is not null and "
        "s.status operator(pg_catalog.=) any ('{USER_FAILED,PLATFORM_FAILED,TIMEOUT_FAILED}')))), "
        "run_event as "
        "(insert into scylla.workflow_event (position, \"time\", workflow, owner, kind, instance, run, version, "
        "old_status, status) select $4, $2, r.workflow, r.owner, 'run', r.instance, r.run, r.version, r.status, "
        "'FAILED' from scylla.workflow_run_state r where r.id operator(pg_catalog.=) $1 and r.ended is null "
        "and " SCYLLA_WORKFLOW_RECORDS "), "
        "iteration as (update scylla.workflow_iteration set status = 'FAILED', ended = $2 where root "
        "operator(pg_catalog.=) $1 and ended is null), "
        "step as (update scylla.workflow_step_state set status = "
        "'INTERNALLY_FAILED', ended = $2, due = null, error = $3, rollup = scylla._settled(rollup, "
        "'INTERNALLY_FAILED') where scope operator(pg_catalog.=) any (array(select id from "
        "scylla.workflow_iteration where root operator(pg_catalog.=) $1) operator(pg_catalog.||) $1) and (ended "
        "is null or (due is not null and status operator(pg_catalog.=) any "
        "('{USER_FAILED,PLATFORM_FAILED,TIMEOUT_FAILED}')))) "
        "update scylla.workflow_run_state set status = "
        "'FAILED', aggregated = null, ended = $2, due = null, error = $3, blocks = true where id "
        "operator(pg_catalog.=) $1 and ended is null returning id, plan, parent_root, parent_scope, parent_step, "
        "parent_attempt, backfill, permits",
        parameters, SPI_OK_UPDATE_RETURNING, [](uint64 row) {
            Columns columns(row);
            Root root{};
            root.id = columns.next_int64();
            root.plan = columns.next_int64();
            root.parent.root = columns.next_int64();
            root.parent.scope = columns.next_int64();
            root.parent.step = columns.next_text();
            root.parent.attempt = columns.next_int32();
            root.backfill = columns.next_int64();
            root.tree_permits = columns.next_text();
            return root;
        });
}

// A run about which the engine comes to an error: it fails, and all others go on.
void break_run(const FirstRun &run, const ErrorData *error) {
    ereport(WARNING, (errmsg("a run of a workflow cannot go on: %s", error->message)));
    const TimestampTz now = GetCurrentTimestamp();
    const auto broken = end_broken(run, error, now);
    settle_actions_of(run.id, now);
    leave_waits_of(run.id);
    store::Store store = store::open(RowExclusiveLock, store::TableId::spec);
    for (const int64 task : members_of(store, run.plan))
        if (const auto spec = find_spec(store, task, store::With::no_spec))
            (void)cancel_task(store, *spec, now);
    settle_gates(store, now);
    close(store);
    for (const Root &root : broken)
        tell_of_end(root, RunStatus::failed, now);
}

} // namespace

TimestampTz next_time() {
    Parameters parameters;
    return store::select<std::optional<TimestampTz>>(
               &when_statement,
               "select least((select '-infinity'::pg_catalog.timestamptz from scylla.workflow_agenda limit 1), "
               "(select pg_catalog.min(due) from scylla.workflow_step_state where due is not null), "
               "(select pg_catalog.min(due) from scylla.workflow_run_state where due is not null))",
               parameters, SPI_OK_SELECT, [](uint64 row) { return Columns(row).next_time(); })[0]
        .value_or(DT_NOEND);
}

namespace {

Advance advance_by_indexes() {
    Work result{};
    const auto attempt_work = [&](int64 most) {
        result = {};
        return attempt([&] { result = work(most); });
    };
    const ErrorData *error = attempt_work(k_most_runs);
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
        return {.more = true};
    return {.postponed = result.postponed, .next = next_time()};
}

} // namespace

Advance advance() {
    const int settings_level = store::use_indexes_only();
    const Advance result = advance_by_indexes();
    AtEOXact_GUC(true, settings_level);
    return result;
}

} // namespace scylla::workflow
