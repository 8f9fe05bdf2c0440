// Reads what the engine needs for its turns.
#include "model/turns.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "store/workflow/turn_reads.h"
#include "workflow/events.h"
#include "workflow/texts.h"
#include "workflow/turns.h"

namespace scylla::workflow {

using model::workflow::Event;
using model::workflow::EventKind;
using model::workflow::RunStatus;
using model::workflow::Scope;
using model::workflow::Step;
using model::workflow::StepStatus;

namespace turn_reads = store::turn_reads;
using turn_reads::Waiting;

namespace {

std::span<const int64> ids_of(std::span<const Root> roots) {
    Growing<int64> ids;
    for (const Root &root : roots)
        ids.add(root.id);
    return ids.all();
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

Root to_root(const turn_reads::Run &row) {
    Root root{};
    root.id = row.id;
    root.plan = row.plan;
    root.plans = row.plans == nullptr ? std::span<const int64>{} : store::int8s(row.plans);
    root.version = {row.workflow, row.version, row.made};
    root.instance = row.instance;
    root.run = row.run;
    root.owner = row.owner;
    root.parent = {row.parent_root, row.parent_scope, row.parent_step, row.parent_attempt};
    root.backfill = row.backfill;
    root.late = row.late;
    root.tree_permits = row.permits;
    root.initiator = row.initiator;
    root.properties = row.properties;
    root.restart = row.restart;
    root.step_params = row.step_params;
    root.scope.id = row.id;
    root.scope.status = row.status;
    root.scope.params = row.params;
    root.scope.created = row.created;
    root.scope.ended = row.ended;
    root.scope.due = row.due;
    root.scope.aggregated = row.aggregated;
    root.may_be_held = row.may_be_held;
    root.records = row.records;
    return root;
}

constexpr int64 k_most_rows = 1000;  // of the agenda, for one transaction of few runs: of a large loop, say
constexpr int64 k_rows_of_a_run = 4; // for one of as many runs as there may be
constexpr int64 k_most_due = 100;    // of the steps of one run that have been left for its next turn

std::span<const bool> lanes(bool slow, bool fast) {
    static constexpr std::array<bool, 2> both{false, true};
    return std::span(both).subspan(fast ? 0 : 1, (fast ? 1 : 0) + (slow ? 1 : 0));
}

// Only the slow lane is for one thing after the other, so it does not look for what is due.
std::span<const Waiting> all_waiting(const Look &look, int64 rows) {
    return turn_reads::waiting({.now = pace.lane == Lane::slow ? std::nullopt : std::optional(look.now),
                                .after = look.after,
                                .lanes = lanes(pace.lane != Lane::fast, pace.lane != Lane::slow),
                                .most_rows = rows});
}

std::span<const Waiting> waiting_runs(const Look &look, int64 rows) {
    if (!look.nothing_due)
        return all_waiting(look, rows);
    const auto few = turn_reads::few_waiting(look.after, lanes(pace.lane != Lane::fast, pace.lane != Lane::slow), rows);
    if (!few.empty() && !few[0].is_all)
        return all_waiting(look, rows);
    const auto runs = allocate<Waiting>(few.size());
    for (std::size_t i = 0; i < few.size(); i++)
        runs[i] = {few[i].line, few[i].root};
    return runs;
}

// Owners take turns.
std::span<const turn_reads::LockedRun> lock_runs(std::span<const Waiting> waiting, int64 most) {
    const auto lines = allocate<int32>(waiting.size());
    const auto order = allocate<std::size_t>(waiting.size());
    for (std::size_t i = 0; i < waiting.size(); i++)
        lines[i] = waiting[i].line;
    model::take_turns(lines, order);
    const auto ordered = allocate<Waiting>(waiting.size());
    for (std::size_t i = 0; i < order.size(); i++)
        ordered[i] = waiting[order[i]];
    return turn_reads::lock(ordered, most, pace.lane == Lane::slow);
}

TakenRuns take(std::span<const Waiting> waiting, int64 most) {
    if (waiting.empty())
        return {};
    const auto locked = lock_runs(waiting, most);
    if (locked.empty())
        return {.roots = {}, .others = true, .full = false, .rows = 0};
    Growing<int64> ids;
    for (const turn_reads::LockedRun &run : locked)
        ids.add(run.id);
    const auto rows = turn_reads::runs(ids.all()); // with a snapshot that is newer than the locks
    const auto roots = allocate<Root>(rows.size());
    for (std::size_t i = 0; i < rows.size(); i++) {
        Root &root = roots[i];
        root = to_root(rows[i]);
        const auto found = std::find_if(locked.begin(), locked.end(),
                                        [&](const turn_reads::LockedRun &run) { return run.id == root.id; });
        root.line = found->line;
        root.place = found - locked.begin();
    }
    const bool full = static_cast<int64>(locked.size()) == most;
    return {
        .roots = roots, .others = false, .full = full, .rows = full && most > 1 ? most * k_rows_of_a_run : k_most_rows};
}

} // namespace

// The first rows are mostly of enough runs. If others hold them all, there may be more behind.
TakenRuns take_runs(const Look &look, int64 most) {
    const TakenRuns taken = take(waiting_runs(look, most * k_rows_of_a_run), most);
    return taken.others ? take(waiting_runs(look, k_most_rows), most) : taken;
}

TakenRuns take_run(int64 id, int32 line) {
    const Waiting run{line, id};
    return take({&run, 1}, 1);
}

// ---- events --------------------------------------------------------------------------------------------------------

namespace {

// How the task of a step has ended.
Event event_of_task(const turn_reads::TakenEvent &row) {
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
constexpr std::array<KindWord, 21> k_kinds{{{"failed", EventKind::task_failed},
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
                                            {"timeout", EventKind::timeout},
                                            {"halt", EventKind::halt},
                                            {"give_up", EventKind::give_up},
                                            {"matched", EventKind::signal_matched}}};

struct Items {
    Growing<Item> left{};
    Growing<Item> let_go{};
};

void put_event(std::span<Root> roots, const turn_reads::TakenEvent &row, Items *items) {
    Root &root = root_of(roots, row.root);
    const std::string_view kind = row.kind;
    if (row.action != 0)
        root.actions.add(row.action);
    const int64 scope = row.scope == 0 ? root.id : row.scope;
    if (kind == "task" && row.step != nullptr) // otherwise the task of an earlier attempt
        root.events.add(event_of_task(row));
    root.takes_rest = root.takes_rest || kind == "rest";
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
                         .data = row.data,
                         .line = root.line});
    const auto *known =
        std::find_if(k_kinds.begin(), k_kinds.end(), [&](const KindWord &of) { return of.word == kind; });
    if (known != k_kinds.end())
        root.events.add({known->kind, scope, row.step == nullptr ? std::string_view{} : view(row.step), row.attempt,
                         json_text(row.data), row.action, row.tries});
}

// Of those that have been left for the next turn not all if there are many: who has no time left writes them again.
std::span<const turn_reads::Due> read_due(std::span<const Root> roots, TimestampTz now) {
    Growing<int64> rests;
    for (const Root &root : roots)
        if (root.takes_rest)
            rests.add(root.id);
    return turn_reads::due({.roots = ids_of(roots), .now = now, .rests = rests.all(), .most_rests = k_most_due});
}

// Which lines the roots stand in.
std::span<const int32> lines_of(std::span<const Root> roots) {
    Growing<int32> lines;
    for (const Root &root : roots)
        if (std::find(lines.all().begin(), lines.all().end(), root.line) == lines.all().end())
            lines.add(root.line);
    return lines.all();
}

} // namespace

const char *word_of(EventKind kind) {
    return std::find_if(k_kinds.begin(), k_kinds.end(), [&](const KindWord &of) { return of.kind == kind; })
        ->word.data();
}

Taken take_events(const TakenRuns &runs, TimestampTz now) {
    const std::span<Root> roots = runs.roots;
    Growing<int64> keys;
    for (const Root &root : roots) {
        keys.add(root.id);
        for (const int64 plan : root.plans)
            keys.add(plan);
    }
    // The slow lane also takes what has come meanwhile.
    const auto rows = turn_reads::take_events({.roots = keys.all(),
                                               .lines = lines_of(roots),
                                               .lanes = lanes(pace.lane != Lane::fast, true),
                                               .most_rows = runs.rows});
    Items items;
    for (const turn_reads::TakenEvent &row : rows)
        put_event(roots, row, &items);
    const auto due = read_due(roots, now);
    for (const turn_reads::Due &row : due) {
        Root &root = root_of(roots, row.root);
        root.events.add(
            {EventKind::due, row.scope, row.step == nullptr ? std::string_view{} : view(row.step), row.attempt});
        root.has_rest = root.has_rest || ++root.due == k_most_due;
    }
    return {rows.size() + due.size(), items.left.all(), items.let_go.all()};
}

// ---- scopes --------------------------------------------------------------------------------------------------------

namespace {

// The iterations of the events, and those around them.
std::span<const turn_reads::Iteration> read_iterations(std::span<const Root> roots) {
    Growing<int64> ids;
    for (const Root &root : roots)
        for (const Event &event : root.events.all())
            if (event.scope != root.id)
                ids.add(event.scope);
    return ids.size() == 0 ? std::span<const turn_reads::Iteration>{} : turn_reads::iterations(ids.all());
}

Scope to_scope(const turn_reads::Iteration &row) {
    return {.id = row.id,
            .parent = row.parent,
            .step = row.step,
            .number = row.number,
            .status = row.status,
            .params = row.params,
            .created = row.created,
            .ended = row.ended};
}

Step to_step(const turn_reads::Step &row) {
    return {.id = row.step,
            .status = row.status,
            .attempt = row.attempt,
            .run = row.run,
            .retries = {row.error_retries, row.platform_retries, row.timeout_retries},
            .params = row.params,
            .edges = row.edges,
            .loop = row.loop,
            .signals = row.signals,
            .error = row.error,
            .rollup = row.rollup,
            .times = row.times,
            .created = row.created,
            .started = row.started,
            .ended = row.ended,
            .due = row.due};
}

std::span<StoredStep> read_steps(std::span<const Root> roots) {
    Growing<int64> ids;
    for (const Root &root : roots)
        for (const Scope &scope : root.scopes.all())
            ids.add(scope.id);
    const auto rows = turn_reads::steps(ids.all());
    const auto steps = allocate<StoredStep>(rows.size());
    for (std::size_t i = 0; i < rows.size(); i++)
        steps[i] = {rows[i].scope, rows[i].task, to_step(rows[i])};
    return steps;
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
    for (const turn_reads::Iteration &row : read_iterations(roots))
        root_of(roots, row.root).scopes.add(to_scope(row));
    const auto stored = read_steps(roots);
    const auto steps = allocate<Step>(stored.size());
    for (std::size_t i = 0; i < steps.size(); i++)
        steps[i] = stored[i].step;
    for (Root &root : roots)
        for (Scope &scope : root.scopes.all())
            scope.steps = steps_of(stored, steps, scope.id);
    return stored;
}

const char *owner_of_attempt(const Item &item, StepStatus status) {
    return turn_reads::owner_of_attempt(
               {.root = item.root, .scope = item.scope, .step = item.step, .attempt = item.attempt, .status = status})
        .value_or(nullptr);
}

} // namespace scylla::workflow
