// Writes the turns of the engine.
#include "pg/error.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/subtransaction.h"
#include "shmem/pending.h"
#include "store/plans.h"
#include "store/workflow/agenda.h"
#include "store/workflow/turn_writes.h"
#include "task/gates.h"
#include "workflow/events.h"
#include "workflow/permits.h"
#include "workflow/texts.h"
#include "workflow/written.h"

namespace scylla::workflow {

using model::workflow::Again;
using model::workflow::Announcement;
using model::workflow::Cancel;
using model::workflow::Child;
using model::workflow::Kept;
using model::workflow::PutBack;
using model::workflow::RunStatus;
using model::workflow::Scope;
using model::workflow::ScopeChange;
using model::workflow::Step;
using model::workflow::StepChange;
using model::workflow::StepStatus;
using model::workflow::Turn;
using model::workflow::Wait;
namespace turn_writes = store::turn_writes;

namespace {

// ---- ids -----------------------------------------------------------------------------------------------------------

std::span<const Written> number_scopes(std::span<const Followed> all) {
    const auto written = allocate<Written>(all.size());
    int64 count = 0;
    for (std::size_t i = 0; i < all.size(); i++) {
        int64 lowest = 0;
        for (const ScopeChange &change : all[i].turn->scopes)
            lowest = Min(lowest, change.scope.id);
        written[i] = {all[i].root, all[i].turn, allocate<int64>(static_cast<std::size_t>(-lowest))};
        count -= lowest;
    }
    if (count == 0)
        return written;
    const auto ids = turn_writes::next_ids(count);
    std::size_t next = 0;
    for (const Written &each : written) // outer iterations come first, and get smaller ids
        for (int64 &id : each.ids)
            id = ids[next++];
    return written;
}

// ---- permits -------------------------------------------------------------------------------------------------------

// Tasks that got their permits when they were submitted. Those of one turn are adjacent, in its order.
void begin_reserved(std::span<const NewlySubmitted> tasks, TimestampTz now) {
    for (std::size_t first = 0, end = 0; first < tasks.size(); first = end) {
        Turn &turn = *tasks[first].of->turn;
        Growing<std::size_t> places;
        for (end = first; end < tasks.size() && tasks[end].of == tasks[first].of; end++)
            if (tasks[end].reserved)
                places.add(static_cast<std::size_t>(tasks[end].task - turn.tasks.data()));
        if (places.count > 0 && !begin_at_once(turn, places.all(), store::to_millis(now)))
            ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory in a turn of a workflow's run")));
    }
}

// ---- rows ----------------------------------------------------------------------------------------------------------

void keep_attempts(std::span<const Written> all) {
    Growing<turn_writes::StepName> steps;
    for (const Written &each : all)
        for (const StepChange &change : each.turn->steps)
            if (change.new_attempt)
                steps.add({.scope = change.scope, .step = change.step.id});
    if (steps.size() > 0)
        turn_writes::keep_attempts(steps.all());
}

void keep_iterations(std::span<const Written> all) {
    Growing<turn_writes::LoopKept> loops;
    for (const Written &each : all)
        for (const Kept &loop : each.turn->kept)
            loops.add({.scope = loop.scope, .step = loop.step, .kept = static_cast<int32>(loop.as)});
    static_assert(static_cast<int>(Kept::As::history) == 0 && static_cast<int>(Kept::As::aside) == 1 &&
                  static_cast<int>(Kept::As::present) == 2);
    if (loops.size() > 0)
        turn_writes::keep_iterations(loops.all());
}

// The numbers of the iteration and of those around it, as an array of SQL.
const char *numbers_of(const Written &of, const Scope &scope) {
    const auto find = [&](int64 id) -> const Scope * {
        for (const ScopeChange &change : of.turn->scopes)
            if (change.scope.id == id)
                return &change.scope;
        for (const Scope &known : of.root->scopes.all())
            if (known.id == id)
                return &known;
        return nullptr;
    };
    char *numbers = psprintf(INT64_FORMAT "}", scope.number);
    for (const Scope *around = find(scope.parent); around != nullptr && around->parent != 0;
         around = find(around->parent))
        numbers = psprintf(INT64_FORMAT ",%s", around->number, numbers);
    return psprintf("{%s", numbers);
}

void write_iterations(std::span<const Written> all) {
    Growing<turn_writes::Iteration> iterations;
    for (const Written &each : all)
        for (const ScopeChange &change : each.turn->scopes) {
            const Scope &scope = change.scope;
            if (scope.id == each.root->id)
                continue;
            iterations.add({.is_new = change.is_new,
                            .id = each.id_of(scope.id),
                            .root = each.root->id,
                            .parent = each.id_of(scope.parent),
                            .number = scope.number,
                            .created = scope.created,
                            .ended = scope.ended,
                            .status = scope.status,
                            .step = scope.step,
                            .params = scope.params,
                            .numbers = numbers_of(each, scope)});
        }
    if (iterations.size() > 0)
        turn_writes::write_iterations(iterations.all());
}

// The id of the task that a step has got; 0: none.
int64 task_of(std::span<const NewlySubmitted> tasks, const Written &of, const StepChange &change, std::size_t *at) {
    for (std::size_t i = 0; i < tasks.size(); i++) {
        const NewlySubmitted &task = tasks[(*at + i) % tasks.size()];
        if (task.of == &of && task.task->scope == change.scope && task.task->step == change.step.id) {
            *at = (*at + i + 1) % tasks.size(); // tasks are in the same order
            return task.id;
        }
        if (task.of != &of && i >= of.turn->tasks.size())
            break;
    }
    return 0;
}

turn_writes::Step to_row(const Written &of, const StepChange &change, int64 task) {
    const Step &step = change.step;
    return {.is_new = change.is_new,
            .same_params = change.same_params,
            .scope = of.id_of(change.scope),
            .root = of.root->id,
            .created = step.created,
            .task = task,
            .started = step.started,
            .ended = step.ended,
            .due = step.due,
            .attempt = step.attempt,
            .run = static_cast<int32>(step.run),
            .error_retries = step.retries.error,
            .platform_retries = step.retries.platform,
            .timeout_retries = step.retries.timeout,
            .status = step.status,
            .step = step.id,
            .params = change.same_params ? std::string_view{} : step.params,
            .edges = step.edges,
            .loop = step.loop,
            .error = step.error,
            .rollup = step.rollup,
            .signals = step.signals,
            .times = step.times};
}

void write_steps(std::span<const Written> all, std::span<const NewlySubmitted> tasks) {
    Growing<turn_writes::Step> steps;
    for (const Written &each : all) {
        const auto first =
            std::find_if(tasks.begin(), tasks.end(), [&](const NewlySubmitted &task) { return task.of == &each; });
        std::size_t at = static_cast<std::size_t>(first - tasks.begin()) % Max(tasks.size(), std::size_t{1});
        for (const StepChange &change : each.turn->steps)
            steps.add(to_row(each, change, each.turn->tasks.empty() ? 0 : task_of(tasks, each, change, &at)));
    }
    if (steps.size() > 0)
        turn_writes::write_steps(steps.all());
}

void end_waits(std::span<const Written> all) {
    Growing<LeftStep> left;
    for (const Written &each : all)
        for (const StepChange &change : each.turn->steps)
            if (change.before == StepStatus::waiting_for_signals && !change.step.signals.empty() &&
                change.step.status != StepStatus::waiting_for_signals)
                left.add({each.root->id, change.scope, change.step.id});
    leave_waits(left.all());
}

// The run itself after the turn.
Scope run_after(const Written &of) {
    for (const ScopeChange &change : of.turn->scopes)
        if (change.scope.id == of.root->id)
            return change.scope;
    return of.root->scope;
}

void write_runs(std::span<const Written> all, TimestampTz now) {
    Growing<turn_writes::Run> runs;
    for (const Written &each : all) {
        const bool changed = std::any_of(each.turn->scopes.begin(), each.turn->scopes.end(),
                                         [&](const ScopeChange &of) { return of.scope.id == each.root->id; });
        if (!changed && !each.root->begins)
            continue;
        const Scope scope = run_after(each);
        runs.add({.id = each.root->id,
                  .ended = scope.ended,
                  .due = scope.ended != 0 ? 0 : scope.due,
                  .status = scope.status,
                  .aggregated = each.root->run == 1 ? std::string_view{} : name_of(scope.aggregated),
                  .error = scope.error});
    }
    if (runs.size() > 0)
        turn_writes::write_runs(runs.all(), now);
}

// ---- events --------------------------------------------------------------------------------------------------------

// The iterations that a scope is in, as an array of SQL; empty: the run itself.
const char *iterations_of(const Written &of, int64 id) {
    for (const ScopeChange &change : of.turn->scopes)
        if (change.scope.id == id && change.scope.parent != 0)
            return numbers_of(of, change.scope);
    for (const Scope &known : of.root->scopes.all())
        if (known.id == id && known.parent != 0)
            return numbers_of(of, known);
    return "";
}

void add_run_event(Growing<ChangeEvent> &events, const Written &of, RunStatus status) {
    const Root &root = *of.root;
    const RunStatus before = root.begins ? RunStatus::created : root.scope.status;
    if (before != status)
        events.add({.workflow = root.version.workflow,
                    .owner = root.owner,
                    .kind = "run",
                    .instance = root.instance,
                    .run = root.run,
                    .version = root.version.version,
                    .old_status = name_of(before),
                    .status = name_of(status)});
}

void add_step_events(Growing<ChangeEvent> &events, const Written &of) {
    const Root &root = *of.root;
    for (const StepChange &change : of.turn->steps) {
        const bool same = change.before == change.step.status && !change.new_attempt;
        if (same || change.step.status == StepStatus::not_created)
            continue;
        const bool is_first = change.before == StepStatus::not_created;
        events.add({.workflow = root.version.workflow,
                    .owner = root.owner,
                    .kind = "step",
                    .instance = root.instance,
                    .run = root.run,
                    .version = root.version.version,
                    .step = change.step.id,
                    .iterations = iterations_of(of, change.scope),
                    .attempt = change.step.attempt,
                    .old_status = is_first ? std::string_view{} : name_of(change.before),
                    .status = name_of(change.step.status)});
    }
}

// A run begins before its steps, and ends after them.
void record_turns(std::span<const Written> all, TimestampTz now) {
    Growing<ChangeEvent> events;
    for (const Written &each : all) {
        if (!each.root->records)
            continue;
        const RunStatus status = run_after(each).status;
        if (!is_terminal(status))
            add_run_event(events, each, status);
        add_step_events(events, each);
        if (is_terminal(status))
            add_run_event(events, each, status);
    }
    record(events.all(), now);
}

// ---- what is not needed any more -----------------------------------------------------------------------------------

// Tasks and subworkflows have gone before the turn ended their steps.
void end_inside(store::Store &store, std::span<const Written> all, TimestampTz now) {
    for (const Written &each : all)
        for (const Cancel &cancel : each.turn->cancels)
            if (cancel.what == Cancel::What::iterations)
                end_iterations(store, *each.root, cancel.scope, cancel.step, now);
}

// How long an event waits that was put back so often: 1, 2, 4 … ms, up to a second.
int64 pause_before(int32 tries) { return int64{1000} << Min(Max(tries - 1, 0), 10); }

void put_back(std::span<const Written> all, TimestampTz now) {
    for (const Written &each : all)
        for (const PutBack &event : each.turn->put_back)
            store::agenda::put_back({.root = each.root->id,
                                     .line = each.root->line,
                                     .kind = word_of(event.kind),
                                     .scope = event.scope == each.root->id ? 0 : event.scope,
                                     .step = event.step,
                                     .attempt = event.attempt,
                                     .action = event.action,
                                     .data = event.data,
                                     .due = now + pause_before(event.tries),
                                     .tries = event.tries});
}

// ---- what others hear ----------------------------------------------------------------------------------------------

Jsonb *child_data(const Child &child) {
    json::Builder object = json::build_object();
    object.member("workflow", to_text(child.workflow));
    object.member("version", to_text(child.version));
    object.member("params", to_json(child.params));
    object.member("sync", {.type = jbvBool, .val = {.boolean = child.sync}});
    if (child.instance != 0)
        object.member("instance", json::of_whole(child.instance));
    if (child.instance != 0 && !child.below.empty())
        object.member("restart", to_json(child.below));
    return object.finish();
}

// What the turn wants for an attempt of a step, as an item of the agenda.
template <typename Wish> Item item_of(const Written &turn, const char *kind, const Wish &wish, Jsonb *data) {
    return {.root = turn.root->id,
            .kind = kind,
            .scope = turn.id_of(wish.scope),
            .step = to_text(wish.step),
            .attempt = wish.attempt,
            .data = data,
            .line = turn.root->line};
}

void begin_children(std::span<const Written> all) {
    for (const Written &each : all)
        for (const Child &child : each.turn->children)
            put_on_agenda(item_of(each, "child", child, child_data(child)));
}

void announce(std::span<const Written> all) {
    for (const Written &each : all)
        for (const Announcement &announcement : each.turn->announcements)
            (void)send_signals(item_of(each, "signals", announcement, to_json(announcement.signals)));
}

void begin_waits(std::span<const Written> all) {
    for (const Written &each : all)
        for (const Wait &wait : each.turn->waits)
            (void)wait_for_signals(item_of(each, "wait", wait, to_json(wait.signals)));
}

void begin_iterations_again(std::span<const Written> all) {
    for (const Written &each : all)
        for (const Again &iteration : each.turn->again)
            put_on_agenda({.root = each.root->id,
                           .kind = "restart",
                           .scope = iteration.scope,
                           .attempt = iteration.attempt,
                           .data = iteration.below.empty() ? nullptr : to_json(iteration.below),
                           .line = each.root->line});
}

} // namespace

void tell_of_end(const Root &root, RunStatus status, TimestampTz now) {
    const store::Toll toll{.aborted = status == RunStatus::failed,
                           .cancelled = status == RunStatus::stopped || status == RunStatus::timed_out};
    if (store::plans::finish_of_run(root.plan, toll, now) > 0)
        shmem::note_plan_finished();
    put_on_agenda({.root = root.id, .kind = "next", .line = root.line});
    leave_tree_permits(root.tree_permits);
    if (root.backfill != 0)
        put_on_agenda({.root = root.id,
                       .kind = "backfill",
                       .data = to_json(psprintf("{\"backfill\": " INT64_FORMAT "}", root.backfill))});
    if (root.parent.root == 0)
        return;
    const std::string_view name = name_of(status);
    put_on_agenda({.root = root.parent.root,
                   .kind = "child_ended",
                   .scope = root.parent.scope,
                   .step = root.parent.step,
                   .attempt = root.parent.attempt,
                   .data = to_json(psprintf("{\"status\": \"%.*s\"}", static_cast<int>(name.size()), name.data()))});
}

Jsonb *json_of(const ErrorData *error) {
    json::Builder object = json::build_object();
    object.member("code", psprintf("sqlstate-%s", unpack_sql_state(error->sqlerrcode)));
    object.member("message", error->message != nullptr ? error->message : "");
    object.member("class", is_passing(error) ? "platform" : "user");
    return object.finish();
}

bool is_passing(const ErrorData *error) {
    const int category = ERRCODE_TO_CATEGORY(error->sqlerrcode);
    return category == ERRCODE_TO_CATEGORY(ERRCODE_T_R_SERIALIZATION_FAILURE) ||
           category == ERRCODE_TO_CATEGORY(ERRCODE_INSUFFICIENT_RESOURCES) ||
           category == ERRCODE_TO_CATEGORY(ERRCODE_LOCK_NOT_AVAILABLE);
}

void write_turns(store::Store &store, std::span<const Followed> all, TimestampTz now) {
    const auto written = number_scopes(all);
    const auto tasks = submit_tasks(written);
    begin_reserved(tasks, now);
    keep_attempts(written);
    keep_iterations(written);
    write_iterations(written);
    write_steps(written, tasks);
    write_runs(written, now);
    record_turns(written, now);
    end_waits(written);
    refresh(store);
    end_inside(store, written, now);
    put_back(written, now);
    settle_gates(store, now);
    begin_children(written);
    announce(written);
    begin_waits(written);
    begin_iterations_again(written);
    for (const Written &each : written)
        if (is_terminal(run_after(each).status) && !is_terminal(each.root->scope.status))
            tell_of_end(*each.root, run_after(each).status, now);
}

} // namespace scylla::workflow
