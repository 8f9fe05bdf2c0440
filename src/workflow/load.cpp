// Reads what the engine needs for its turns.
#include "pg/memory.h"
#include "pg/text.h"
#include "store/spi_arrays.h"
#include "workflow/events.h"
#include "workflow/texts.h"
#include "workflow/times.h"
#include "workflow/turns.h"

namespace scylla::workflow {

using model::workflow::Event;
using model::workflow::EventKind;
using model::workflow::RunStatus;
using model::workflow::Scope;
using model::workflow::Step;
using model::workflow::StepStatus;
using store::Columns;
using store::Parameters;

namespace {

constinit SPIPlanPtr lock_statement = nullptr;
constinit SPIPlanPtr runs_statement = nullptr;
constinit SPIPlanPtr events_statement = nullptr;
constinit SPIPlanPtr due_statement = nullptr;
constinit SPIPlanPtr scopes_statement = nullptr;
constinit SPIPlanPtr steps_statement = nullptr;
constinit SPIPlanPtr owner_statement = nullptr;

std::string_view next_view(Columns &columns) {
    const text *value = columns.next_text();
    return value == nullptr ? std::string_view{} : view(value);
}

void give_ids(Parameters &parameters, std::span<const int64> ids) {
    store::ArrayColumn column(INT8OID);
    for (const int64 id : ids)
        column.add(id);
    column.give_to(parameters);
}

void give_ids(Parameters &parameters, std::span<const Root> roots) {
    store::ArrayColumn column(INT8OID);
    for (const Root &root : roots)
        column.add(root.id);
    column.give_to(parameters);
}

// id: of the instance, or a plan of it.
Root &root_of(std::span<Root> roots, int64 id) {
    const auto found =
        std::lower_bound(roots.begin(), roots.end(), id, [](const Root &root, int64 of) { return root.id < of; });
    if (found != roots.end() && found->id == id)
        return *found;
    return *std::find_if(roots.begin(), roots.end(), [&](const Root &root) {
        return std::find(root.plans.begin(), root.plans.end(), id) != root.plans.end();
    });
}

std::span<const int64> read_plans(Columns &columns) {
    ArrayType *array = columns.next_array(); // without nulls
    if (array == nullptr)
        return {};
    const auto *plans = reinterpret_cast<const int64 *>(ARR_DATA_PTR(array));
    return {plans, static_cast<std::size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)))};
}

Root read_root(uint64 row) {
    Columns columns(row);
    Root root{};
    root.id = columns.next_int64();
    root.plan = columns.next_int64();
    root.plans = read_plans(columns);
    root.version.workflow = columns.next_text();
    root.version.version = columns.next_int32();
    root.version.created = columns.next_time().value_or(0);
    root.instance = columns.next_int64();
    root.run = columns.next_int32();
    root.owner = columns.next_string();
    root.parent.root = columns.next_int64();
    root.parent.scope = columns.next_int64();
    root.parent.step = columns.next_text();
    root.parent.attempt = columns.next_int32();
    root.backfill = columns.next_int64();
    root.late = columns.next_bool();
    root.tree_permits = columns.next_text();
    root.initiator = next_view(columns);
    root.properties = next_view(columns);
    root.restart = next_view(columns);
    root.scope.id = root.id;
    root.scope.status = columns.next_word<RunStatus>(model::workflow::k_run_statuses);
    root.scope.params = next_view(columns);
    root.scope.created = to_millis(columns.next_time());
    root.scope.ended = to_millis(columns.next_time());
    root.scope.due = to_millis(columns.next_time());
    root.scope.aggregated = columns.next_word<RunStatus>(model::workflow::k_run_statuses);
    root.may_be_held = columns.next_bool();
    root.records = columns.next_bool();
    return root;
}

// Locks runs one by one until there are enough: if many thousands are on the agenda, only these are looked up. May
// return a run twice, for several of its plans.
std::span<const int64> lock_runs(TimestampTz now, int64 most) {
    Parameters parameters;
    parameters.add(std::optional(now)).add(most);
    return store::select<int64>(
        &lock_statement,
        "select r.id from (select root from ("
        "(select root, id from scylla.workflow_agenda order by id limit 1000) union all "
        "(select root, 0 from scylla.workflow_step_state where due operator(pg_catalog.<=) $1 order by due limit 100) "
        "union all (select id, 0 from scylla.workflow_run_state where due operator(pg_catalog.<=) $1 order by due "
        "limit 100)) a group by root order by pg_catalog.min(id)) a "
        "cross join lateral (select r.id from scylla.workflow_run_state r join scylla.workflow_text v "
        "on v.workflow operator(pg_catalog.=) r.workflow and v.version operator(pg_catalog.=) r.version "
        "where r.id operator(pg_catalog.=) "
        "coalesce((select p.root from scylla.workflow_plan p where p.plan operator(pg_catalog.=) a.root), a.root) "
        "for no key update of r skip locked) r limit $2",
        parameters, SPI_OK_SELECT, [](uint64 row) { return Columns(row).next_int64(); });
}

} // namespace

std::span<Root> take_runs(TimestampTz now, int64 most) {
    const auto ids = lock_runs(now, most);
    if (ids.empty())
        return {};
    Parameters parameters;
    give_ids(parameters, ids);
    // With a snapshot that is newer than the locks.
    return store::select<Root>(
        &runs_statement,
        "select r.id, r.plan, case when r.run operator(pg_catalog.>) 1 then "
        "array(select p.plan from scylla.workflow_plan p where p.root operator(pg_catalog.=) r.id) end, "
        "r.workflow, r.version, v.created, r.instance, r.run, r.owner::pg_catalog.text, "
        "r.parent_root, r.parent_scope, r.parent_step, r.parent_attempt, r.backfill, r.late, r.permits, "
        "r.initiator::pg_catalog.text, "
        "r.properties::pg_catalog.text, r.restart::pg_catalog.text, r.status, r.params::pg_catalog.text, r.created, "
        "r.ended, r.due, coalesce(r.aggregated, r.status), "
        "exists (select from scylla.workflow_hold h where h.workflow operator(pg_catalog.=) "
        "r.workflow), " SCYLLA_WORKFLOW_RECORDS
        " from scylla.workflow_run_state r join scylla.workflow_text v on v.workflow operator(pg_catalog.=) r.workflow "
        "and v.version operator(pg_catalog.=) r.version where r.id operator(pg_catalog.=) any ($1) order by r.id",
        parameters, SPI_OK_SELECT, read_root);
}

// ---- events --------------------------------------------------------------------------------------------------------

namespace {

struct EventRow {
    int64 root;
    int64 scope;
    const char *kind;
    const text *step;
    int32 attempt;
    int64 action; // 0: none
    Jsonb *data;
    const char *status; // of the task; null: it is gone
    int32 failures;
    std::string_view result;
    std::string_view error;
};

EventRow read_event(uint64 row) {
    Columns columns(row);
    EventRow event{};
    event.root = columns.next_int64();
    event.scope = columns.next_int64();
    event.kind = columns.next_string();
    event.step = columns.next_text();
    event.attempt = columns.next_int32();
    event.action = columns.next_int64();
    event.data = columns.next_jsonb();
    event.status = columns.next_string();
    event.failures = columns.next_int32();
    event.result = next_view(columns);
    event.error = next_view(columns);
    return event;
}

// How the task of a step has ended.
Event event_of_task(const EventRow &row) {
    Event event{.kind = EventKind::task_failed, .scope = row.scope, .step = view(row.step), .attempt = row.attempt};
    const std::string_view status = row.status == nullptr ? "" : row.status;
    if (status == "completed")
        event.kind = EventKind::task_completed;
    else if (status == "cancelled")
        event.kind = EventKind::task_cancelled;
    else if (status == "aborted" && row.failures == 0)
        event.kind = EventKind::task_aborted;
    event.data = event.kind == EventKind::task_completed ? row.result : row.error;
    if (status.empty())
        event.data =
            R"({"code": "task-gone", "class": "platform", "message": "What became of the task is not known any more."})";
    return event;
}

struct KindWord {
    std::string_view word;
    EventKind kind;
};
constexpr std::array<KindWord, 18> k_kinds{{{"failed", EventKind::task_failed},
                                            {"permitted", EventKind::permitted},
                                            {"restart", EventKind::restart},
                                            {"child_started", EventKind::child_started},
                                            {"child_failed", EventKind::child_failed},
                                            {"child_ended", EventKind::child_ended},
                                            {"refused", EventKind::refused},
                                            {"signals_sent", EventKind::signals_sent},
                                            {"signals_refused", EventKind::signals_refused},
                                            {"stop", EventKind::stop},
                                            {"kill", EventKind::kill},
                                            {"skip", EventKind::skip},
                                            {"output", EventKind::output},
                                            {"resume", EventKind::resume},
                                            {"restart_step", EventKind::restart_step},
                                            {"restart_inside", EventKind::restart_inside},
                                            {"bypass", EventKind::bypass},
                                            {"matched", EventKind::signal_matched}}};

struct Items {
    Growing<Item> left{};
    Growing<Item> let_go{};
};

void put_event(std::span<Root> roots, const EventRow &row, Items *items) {
    Root &root = root_of(roots, row.root);
    const std::string_view kind = row.kind;
    if (row.action != 0)
        root.actions.add(row.action);
    const int64 scope = row.scope == 0 ? root.id : row.scope;
    if (kind == "task" && row.step != nullptr) // otherwise the task of an earlier attempt
        root.events.add(event_of_task(row));
    if (kind == "next" || kind == "unpaused")
        root.is_next = true;
    if (kind == "unpaused" || kind == "released")
        items->let_go.add({.root = root.id, .kind = row.kind, .scope = row.scope, .step = row.step, .data = row.data});
    if (kind == "child" || kind == "signals" || kind == "wait" || kind == "backfill")
        items->left.add({.root = root.id,
                         .kind = row.kind,
                         .scope = row.scope,
                         .step = row.step,
                         .attempt = row.attempt,
                         .data = row.data});
    const auto *known =
        std::find_if(k_kinds.begin(), k_kinds.end(), [&](const KindWord &of) { return of.word == kind; });
    if (known != k_kinds.end())
        root.events.add({known->kind, scope, row.step == nullptr ? std::string_view{} : view(row.step), row.attempt,
                         json_text(row.data)});
}

struct DueRow {
    int64 root;
    int64 scope;
    text *step; // null: the run itself
    int32 attempt;
};

std::span<const DueRow> read_due(std::span<const Root> roots, TimestampTz now) {
    Parameters parameters;
    give_ids(parameters, roots);
    parameters.add(std::optional(now));
    return store::select<DueRow>(&due_statement,
                                 "select root, scope, step, attempt from scylla.workflow_step_state "
                                 "where due operator(pg_catalog.<=) $2 and root operator(pg_catalog.=) any ($1) "
                                 "union all select id, id, null, 0 from scylla.workflow_run_state "
                                 "where due operator(pg_catalog.<=) $2 and id operator(pg_catalog.=) any ($1)",
                                 parameters, SPI_OK_SELECT, [](uint64 row) {
                                     Columns columns(row);
                                     DueRow due{};
                                     due.root = columns.next_int64();
                                     due.scope = columns.next_int64();
                                     due.step = columns.next_text();
                                     due.attempt = columns.next_int32();
                                     return due;
                                 });
}

} // namespace

Taken take_events(std::span<Root> roots, TimestampTz now) {
    Growing<int64> keys;
    for (const Root &root : roots) {
        keys.add(root.id);
        for (const int64 plan : root.plans)
            keys.add(plan);
    }
    Parameters parameters;
    give_ids(parameters, keys.all());
    const auto rows = store::select<EventRow>(
        &events_statement,
        "with first as materialized (select id, root from scylla.workflow_agenda order by id limit 1000), "
        "taken as (delete from scylla.workflow_agenda a where a.id operator(pg_catalog.=) any (array("
        "select f.id from first f where f.root operator(pg_catalog.=) any ($1))) "
        "returning a.id, a.root, a.task, a.scope, a.attempt, a.action, a.kind, a.step, a.data) "
        "select t.root, coalesce(s.scope, t.scope, 0), t.kind, coalesce(s.step, t.step), "
        "coalesce(s.attempt, t.attempt, 0), t.action, t.data, o.status::pg_catalog.text, o.failures, "
        "o.result::pg_catalog.text, (o.errors operator(pg_catalog.->) -1)::pg_catalog.text "
        "from taken t left join scylla.workflow_step_state s on s.task operator(pg_catalog.=) any (array[t.task]) "
        "left join scylla.task_outcome o on o.id operator(pg_catalog.=) any (array[t.task]) "
        "order by t.action nulls first, t.id", // events come before actions
        parameters, SPI_OK_SELECT, read_event);
    Items items;
    for (const EventRow &row : rows)
        put_event(roots, row, &items);
    const auto due = read_due(roots, now);
    for (const DueRow &row : due)
        root_of(roots, row.root)
            .events.add(
                {EventKind::due, row.scope, row.step == nullptr ? std::string_view{} : view(row.step), row.attempt});
    return {rows.size() + due.size(), items.left.all(), items.let_go.all()};
}

// ---- scopes --------------------------------------------------------------------------------------------------------

namespace {

struct IterationRow {
    int64 root;
    Scope scope;
};

// The iterations of the events, and those around them.
std::span<const IterationRow> read_iterations(std::span<const Root> roots) {
    Growing<int64> ids;
    for (const Root &root : roots)
        for (const Event &event : root.events.all())
            if (event.scope != root.id)
                ids.add(event.scope);
    if (ids.size() == 0)
        return {};
    Parameters parameters;
    give_ids(parameters, ids.all());
    return store::select<IterationRow>(
        &scopes_statement,
        "with recursive up as (select * from scylla.workflow_iteration where id operator(pg_catalog.=) any ($1) "
        "union select i.* from scylla.workflow_iteration i join up on i.id operator(pg_catalog.=) any "
        "(array[up.parent])) "
        "select root, id, parent, step, number, status, params::pg_catalog.text, created, ended from up order by id",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            Columns columns(row);
            IterationRow read{};
            read.root = columns.next_int64();
            read.scope.id = columns.next_int64();
            read.scope.parent = columns.next_int64();
            read.scope.step = next_view(columns);
            read.scope.number = columns.next_int64();
            read.scope.status = columns.next_word<RunStatus>(model::workflow::k_run_statuses);
            read.scope.params = next_view(columns);
            read.scope.created = to_millis(columns.next_time());
            read.scope.ended = to_millis(columns.next_time());
            return read;
        });
}

StoredStep read_step(uint64 row) {
    Columns columns(row);
    StoredStep stored{};
    stored.scope = columns.next_int64();
    stored.task = columns.next_int64();
    Step &step = stored.step;
    step.id = next_view(columns);
    step.status = columns.next_word<StepStatus>(model::workflow::k_step_statuses);
    step.attempt = columns.next_int32();
    step.retries = {columns.next_int32(), columns.next_int32(), columns.next_int32()};
    step.params = next_view(columns);
    step.edges = next_view(columns);
    step.loop = next_view(columns);
    step.error = next_view(columns);
    step.rollup = next_view(columns);
    step.signals = next_view(columns);
    step.times = next_view(columns);
    step.created = to_millis(columns.next_time());
    step.started = to_millis(columns.next_time());
    step.ended = to_millis(columns.next_time());
    step.due = to_millis(columns.next_time());
    return stored;
}

std::span<StoredStep> read_steps(std::span<const Root> roots) {
    Growing<int64> ids;
    for (const Root &root : roots)
        for (const Scope &scope : root.scopes.all())
            ids.add(scope.id);
    Parameters parameters;
    give_ids(parameters, ids.all());
    return store::select<StoredStep>(
        &steps_statement,
        "select scope, task, step, status, attempt, error_retries, platform_retries, timeout_retries, "
        "params::pg_catalog.text, edges::pg_catalog.text, loop::pg_catalog.text, error::pg_catalog.text, "
        "rollup::pg_catalog.text, signals::pg_catalog.text, times::pg_catalog.text, created, started, ended, due from "
        "scylla.workflow_step_state "
        "where scope operator(pg_catalog.=) any ($1) order by scope, step",
        parameters, SPI_OK_SELECT, read_step);
}

// The steps of one scope, which are adjacent, as a span.
std::span<const Step> steps_of(std::span<const StoredStep> stored, std::span<const Step> steps, int64 scope) {
    const auto [from, to] =
        std::equal_range(stored.begin(), stored.end(), StoredStep{scope, 0, {}},
                         [](const StoredStep &one, const StoredStep &other) { return one.scope < other.scope; });
    return steps.subspan(static_cast<std::size_t>(from - stored.begin()), static_cast<std::size_t>(to - from));
}

} // namespace

std::span<const StoredStep> read_scopes(std::span<Root> roots) {
    for (Root &root : roots)
        root.scopes.add(root.scope);
    for (const IterationRow &row : read_iterations(roots))
        root_of(roots, row.root).scopes.add(row.scope);
    const auto stored = read_steps(roots);
    const auto steps = allocate<Step>(stored.size());
    for (std::size_t i = 0; i < steps.size(); i++)
        steps[i] = stored[i].step;
    for (Root &root : roots)
        for (Scope &scope : root.scopes.all())
            scope.steps = steps_of(stored, steps, scope.id);
    return stored;
}

const char *owner_of_attempt(const Item &item, const char *status) {
    Parameters parameters;
    parameters.add(item.root)
        .add(item.scope)
        .add(item.step)
        .add(INT4OID, Int32GetDatum(item.attempt))
        .add(TEXTOID, CStringGetTextDatum(status));
    const auto owner = store::select<const char *>(
        &owner_statement,
        "select r.owner::pg_catalog.text from scylla.workflow_run_state r join scylla.workflow_step_state s "
        "on s.root operator(pg_catalog.=) r.id where r.id operator(pg_catalog.=) $1 "
        "and s.scope operator(pg_catalog.=) $2 and s.step operator(pg_catalog.=) $3 "
        "and s.attempt operator(pg_catalog.=) $4 and s.status operator(pg_catalog.=) $5",
        parameters, SPI_OK_SELECT, [](uint64 row) { return Columns(row).next_string(); });
    return owner.empty() ? nullptr : owner[0];
}

} // namespace scylla::workflow
