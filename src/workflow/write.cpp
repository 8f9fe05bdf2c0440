// Writes the turns of the engine.
#include "pg/error.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/subtransaction.h"
#include "shmem/pending.h"
#include "store/plans.h"
#include "store/spi_arrays.h"
#include "task/gates.h"
#include "task/release.h"
#include "workflow/events.h"
#include "workflow/permits.h"
#include "workflow/step_arrays.h"
#include "workflow/texts.h"
#include "workflow/times.h"
#include "workflow/written.h"

namespace scylla::workflow {

using model::workflow::Again;
using model::workflow::Announcement;
using model::workflow::Cancel;
using model::workflow::Child;
using model::workflow::Forgotten;
using model::workflow::RunStatus;
using model::workflow::Scope;
using model::workflow::ScopeChange;
using model::workflow::Step;
using model::workflow::StepChange;
using model::workflow::StepStatus;
using model::workflow::Turn;
using model::workflow::Wait;
using store::ArrayColumn;
using store::Parameters;

namespace {

constinit SPIPlanPtr ids_statement = nullptr;
constinit SPIPlanPtr forgotten_statement = nullptr;
constinit SPIPlanPtr attempts_statement = nullptr;
constinit SPIPlanPtr iterations_statement = nullptr;
constinit SPIPlanPtr steps_statement = nullptr;
constinit SPIPlanPtr runs_statement = nullptr;
constinit SPIPlanPtr inside_statement = nullptr;
constinit SPIPlanPtr stopped_statement = nullptr;
constinit SPIPlanPtr child_statement = nullptr;

// ---- ids -----------------------------------------------------------------------------------------------------------

std::span<const int64> next_ids(int64 count) {
    Parameters parameters;
    parameters.add(count);
    return store::select<int64>(
        &ids_statement, "select pg_catalog.nextval('scylla.task_id_seq') from pg_catalog.generate_series(1, $1)",
        parameters, SPI_OK_SELECT, [](uint64 row) { return store::Columns(row).next_int64(); });
}

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
    const auto ids = next_ids(count);
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
        if (places.count > 0 && !begin_at_once(turn, places.all(), to_millis(now)))
            ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory in a turn of a workflow's run")));
    }
}

// ---- rows ----------------------------------------------------------------------------------------------------------

void keep_attempts(std::span<const Written> all) {
    StepArrays steps;
    for (const Written &each : all)
        for (const StepChange &change : each.turn->steps)
            if (change.new_attempt)
                steps.add(change.scope, change.step.id);
    if (steps.empty())
        return;
    Parameters parameters = steps.as_parameters();
    store::change(
        &attempts_statement,
        "insert into scylla.workflow_attempt "
        "(scope, created, task, started, ended, attempt, run, status, step, params, error, signals, times) "
        "select s.scope, s.created, s.task, s.started, s.ended, s.attempt, s.run, s.status, s.step, s.params, s.error, "
        "s.signals, s.times "
        "from rows from (pg_catalog.unnest($1), pg_catalog.unnest($2)) c (scope, step) "
        "join scylla.workflow_step_state s on s.scope operator(pg_catalog.=) any (array[c.scope]) "
        "and s.step operator(pg_catalog.=) c.step on conflict do nothing",
        parameters, SPI_OK_INSERT);
}

// Forgets the iterations of loops that begin again, with all iterations inside of them.
void forget_iterations(std::span<const Written> all) {
    StepArrays loops;
    for (const Written &each : all)
        for (const Forgotten &loop : each.turn->forgotten)
            if (loop.scope >= 0) // not a new one
                loops.add(loop.scope, loop.step);
    if (loops.empty())
        return;
    Parameters parameters = loops.as_parameters();
    store::change(
        &forgotten_statement,
        "with recursive inside as (select i.id from rows from (pg_catalog.unnest($1), pg_catalog.unnest($2)) c (scope, "
        "step) join scylla.workflow_iteration i on i.parent operator(pg_catalog.=) any (array[c.scope]) "
        "and i.step operator(pg_catalog.=) c.step and not i.past union all "
        "select i.id from scylla.workflow_iteration i join inside on i.parent operator(pg_catalog.=) any "
        "(array[inside.id]) "
        "where not i.past) "
        "update scylla.workflow_iteration set past = true where id operator(pg_catalog.=) any (array(select id "
        "from inside))",
        parameters, SPI_OK_UPDATE);
}

Datum time_datum(int64 millis) { return TimestampTzGetDatum(to_time(millis).value_or(0)); }

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
    ArrayColumn is_new(BOOLOID), ids(INT8OID), roots(INT8OID), parents(INT8OID), numbers(INT8OID),
        created(TIMESTAMPTZOID), ended(TIMESTAMPTZOID), statuses(TEXTOID), steps(TEXTOID), params(TEXTOID),
        all_numbers(TEXTOID);
    for (const Written &each : all)
        for (const ScopeChange &change : each.turn->scopes) {
            const Scope &scope = change.scope;
            if (scope.id == each.root->id)
                continue;
            is_new.add(BoolGetDatum(change.is_new));
            ids.add(each.id_of(scope.id));
            roots.add(each.root->id);
            parents.add(each.id_of(scope.parent));
            numbers.add(scope.number);
            created.add(time_datum(scope.created), scope.created == 0);
            ended.add(time_datum(scope.ended), scope.ended == 0);
            statuses.add(name_of(scope.status));
            steps.add(scope.step);
            params.add(scope.params);
            all_numbers.add(CStringGetTextDatum(numbers_of(each, scope)));
        }
    if (ids.size() == 0)
        return;
    Parameters parameters;
    for (const ArrayColumn *column :
         {&is_new, &ids, &roots, &parents, &numbers, &created, &ended, &statuses, &steps, &params, &all_numbers})
        column->give_to(parameters);
    // An update writes less than on conflict do update, which locks each row before.
    store::change(
        &iterations_statement,
        "with c as materialized (select * from rows from (pg_catalog.unnest($1), pg_catalog.unnest($2), "
        "pg_catalog.unnest($3), pg_catalog.unnest($4), pg_catalog.unnest($5), pg_catalog.unnest($6), "
        "pg_catalog.unnest($7), pg_catalog.unnest($8), pg_catalog.unnest($9), pg_catalog.unnest($10), "
        "pg_catalog.unnest($11)) c (is_new, id, root, parent, number, created, ended, status, step, params, numbers)), "
        "changed as (update scylla.workflow_iteration i set status = c.status, ended = c.ended from c "
        "where not c.is_new and i.id operator(pg_catalog.=) any (array[c.id])) "
        "insert into scylla.workflow_iteration (id, root, parent, number, created, ended, status, step, params, "
        "numbers) select c.id, c.root, c.parent, c.number, c.created, c.ended, c.status, c.step, "
        "c.params::pg_catalog.jsonb, c.numbers::pg_catalog.int8[] from c where c.is_new",
        parameters, SPI_OK_INSERT);
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

struct StepColumns {
    ArrayColumn is_new{BOOLOID}, same_params{BOOLOID}, scope{INT8OID}, root{INT8OID}, created{TIMESTAMPTZOID},
        task{INT8OID}, started{TIMESTAMPTZOID}, ended{TIMESTAMPTZOID}, due{TIMESTAMPTZOID}, attempt{INT4OID},
        run{INT4OID}, error_retries{INT4OID}, platform_retries{INT4OID}, timeout_retries{INT4OID}, status{TEXTOID},
        step{TEXTOID}, params{TEXTOID}, edges{TEXTOID}, loop{TEXTOID}, error{TEXTOID}, rollup{TEXTOID},
        signals{TEXTOID}, times{TEXTOID};

    void add(const Written &of, const StepChange &change, int64 task_id) {
        const Step &row = change.step;
        is_new.add(BoolGetDatum(change.is_new));
        same_params.add(BoolGetDatum(change.same_params));
        scope.add(of.id_of(change.scope));
        root.add(of.root->id);
        created.add(time_datum(row.created), row.created == 0);
        task.add(Int64GetDatum(task_id), task_id == 0);
        started.add(time_datum(row.started), row.started == 0);
        ended.add(time_datum(row.ended), row.ended == 0);
        due.add(time_datum(row.due), row.due == 0);
        attempt.add(Int32GetDatum(row.attempt));
        run.add(Int32GetDatum(of.root->run));
        error_retries.add(Int32GetDatum(row.retries.error));
        platform_retries.add(Int32GetDatum(row.retries.platform));
        timeout_retries.add(Int32GetDatum(row.retries.timeout));
        status.add(name_of(row.status));
        step.add(row.id);
        params.add(change.same_params ? std::string_view{} : row.params);
        edges.add(row.edges);
        loop.add(row.loop);
        error.add(row.error);
        rollup.add(row.rollup);
        signals.add(row.signals);
        times.add(row.times);
    }
    void give_to(Parameters &parameters) const {
        for (const ArrayColumn *column : {&is_new,
                                          &same_params,
                                          &scope,
                                          &root,
                                          &created,
                                          &task,
                                          &started,
                                          &ended,
                                          &due,
                                          &attempt,
                                          &run,
                                          &error_retries,
                                          &platform_retries,
                                          &timeout_retries,
                                          &status,
                                          &step,
                                          &params,
                                          &edges,
                                          &loop,
                                          &error,
                                          &rollup,
                                          &signals,
                                          &times})
            column->give_to(parameters);
    }
};

void write_steps(std::span<const Written> all, std::span<const NewlySubmitted> tasks) {
    StepColumns columns;
    for (const Written &each : all) {
        const auto first =
            std::find_if(tasks.begin(), tasks.end(), [&](const NewlySubmitted &task) { return task.of == &each; });
        std::size_t at = static_cast<std::size_t>(first - tasks.begin()) % Max(tasks.size(), std::size_t{1});
        for (const StepChange &change : each.turn->steps)
            columns.add(each, change, each.turn->tasks.empty() ? 0 : task_of(tasks, each, change, &at));
    }
    if (columns.scope.size() == 0)
        return;
    Parameters parameters;
    columns.give_to(parameters);
    store::change(
        &steps_statement,
        "with c as materialized (select * from rows from (pg_catalog.unnest($1), pg_catalog.unnest($2), "
        "pg_catalog.unnest($3), pg_catalog.unnest($4), pg_catalog.unnest($5), pg_catalog.unnest($6), "
        "pg_catalog.unnest($7), pg_catalog.unnest($8), pg_catalog.unnest($9), pg_catalog.unnest($10), "
        "pg_catalog.unnest($11), pg_catalog.unnest($12), pg_catalog.unnest($13), pg_catalog.unnest($14), "
        "pg_catalog.unnest($15), pg_catalog.unnest($16), pg_catalog.unnest($17), pg_catalog.unnest($18), "
        "pg_catalog.unnest($19), pg_catalog.unnest($20), pg_catalog.unnest($21), pg_catalog.unnest($22), "
        "pg_catalog.unnest($23)) c (is_new, same_params, scope, root, "
        "created, task, started, ended, due, "
        "attempt, run, error_retries, platform_retries, timeout_retries, status, step, params, edges, loop, error, "
        "rollup, signals, times)), "
        "changed as (update scylla.workflow_step_state s set created = c.created, "
        "task = coalesce(c.task, case when c.attempt operator(pg_catalog.=) s.attempt then s.task end), "
        "started = c.started, ended = c.ended, due = c.due, attempt = c.attempt, run = c.run, "
        "error_retries = c.error_retries, platform_retries = c.platform_retries, "
        "timeout_retries = c.timeout_retries, status = c.status, "
        "params = case when c.same_params then s.params else c.params::pg_catalog.jsonb end, "
        "edges = c.edges::pg_catalog.jsonb, loop = c.loop::pg_catalog.jsonb, error = c.error::pg_catalog.jsonb, "
        "rollup = c.rollup::pg_catalog.jsonb, signals = c.signals::pg_catalog.jsonb, "
        "times = c.times::pg_catalog.jsonb from c "
        "where not c.is_new and s.scope operator(pg_catalog.=) any (array[c.scope]) "
        "and s.step operator(pg_catalog.=) c.step) "
        "insert into scylla.workflow_step_state (scope, root, created, task, started, ended, due, attempt, "
        "run, error_retries, platform_retries, timeout_retries, status, step, params, edges, loop, error, rollup, "
        "signals, times) "
        "select c.scope, c.root, c.created, c.task, c.started, c.ended, c.due, c.attempt, c.run, c.error_retries, "
        "c.platform_retries, c.timeout_retries, c.status, c.step, c.params::pg_catalog.jsonb, "
        "c.edges::pg_catalog.jsonb, c.loop::pg_catalog.jsonb, c.error::pg_catalog.jsonb, "
        "c.rollup::pg_catalog.jsonb, c.signals::pg_catalog.jsonb, c.times::pg_catalog.jsonb from c where c.is_new",
        parameters, SPI_OK_INSERT);
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
    ArrayColumn ids(INT8OID), ended(TIMESTAMPTZOID), due(TIMESTAMPTZOID), statuses(TEXTOID), aggregated(TEXTOID),
        errors(TEXTOID);
    for (const Written &each : all) {
        const bool changed = std::any_of(each.turn->scopes.begin(), each.turn->scopes.end(),
                                         [&](const ScopeChange &of) { return of.scope.id == each.root->id; });
        if (!changed && !each.root->begins)
            continue;
        const Scope scope = run_after(each);
        ids.add(each.root->id);
        ended.add(time_datum(scope.ended), scope.ended == 0);
        due.add(time_datum(scope.due), scope.due == 0 || scope.ended != 0);
        statuses.add(name_of(scope.status));
        const std::string_view of_instance = name_of(scope.aggregated);
        aggregated.add(each.root->run == 1 ? std::string_view{} : of_instance); // null: that of the run
        errors.add(scope.error);
    }
    if (ids.size() == 0)
        return;
    Parameters parameters;
    for (const ArrayColumn *column : {&ids, &ended, &due, &statuses, &aggregated, &errors})
        column->give_to(parameters);
    parameters.add(std::optional(now));
    store::change(
        &runs_statement,
        "update scylla.workflow_run_state r set started = coalesce(r.started, $7), ended = c.ended, due = c.due, "
        "status = c.status, aggregated = c.aggregated, error = c.error::pg_catalog.jsonb, "
        "blocks = c.status operator(pg_catalog.=) 'FAILED' or (c.status operator(pg_catalog.=) any "
        "('{TIMED_OUT,STOPPED}') and exists (select from scylla.workflow_head h, "
        "pg_catalog.jsonb_path_query(h.properties, '$.run_strategy.blocked_by[*]') b "
        "where h.id operator(pg_catalog.=) r.workflow "
        "and pg_catalog.upper(b operator(pg_catalog.#>>) '{}') operator(pg_catalog.=) c.status)) "
        "from rows from (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3), "
        "pg_catalog.unnest($4), pg_catalog.unnest($5), pg_catalog.unnest($6)) c (id, ended, due, status, aggregated, "
        "error) where r.id operator(pg_catalog.=) any (array[c.id])",
        parameters, SPI_OK_UPDATE);
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

void add_run_event(ChangeEvents &events, const Written &of, RunStatus status) {
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

void add_step_events(ChangeEvents &events, const Written &of) {
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
    ChangeEvents events;
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
    events.write(now);
}

// ---- what is not needed any more -----------------------------------------------------------------------------------

void cancel_by_id(store::Store &store, int64 task, TimestampTz now) {
    if (task == 0)
        return;
    if (const auto spec = find_spec(store, task, store::With::no_spec))
        (void)cancel_task(store, *spec, now);
}

// The step has ended: stops the run that it has started as a subworkflow, if that run is live.
void stop_child(const Root &root, int64 scope, const text *step) {
    Parameters parameters;
    parameters.add(scope).add(step);
    const auto runs =
        store::select<int64>(&child_statement,
                             "select id from scylla.workflow_run_state where parent_scope operator(pg_catalog.=) $1 "
                             "and parent_step operator(pg_catalog.=) $2 and ended is null",
                             parameters, SPI_OK_SELECT, [](uint64 row) { return store::Columns(row).next_int64(); });
    for (const int64 run : runs)
        stop_run(run, psprintf("Step \"%s\" of instance " INT64_FORMAT
                               " of workflow \"%s\", which started this run, has ended.",
                               text_to_cstring(step), root.instance, text_to_cstring(root.version.workflow)));
}

// Ends the iterations inside of a loop, at any depth. Returns their ids.
std::span<const int64> end_iterations(const Cancel &cancel, TimestampTz now) {
    Parameters inside;
    inside.add(cancel.scope).add(to_text(cancel.step)).add(std::optional(now));
    return store::select<int64>(
        &inside_statement,
        "with recursive inside as (select id from scylla.workflow_iteration where parent operator(pg_catalog.=) $1 "
        "and step operator(pg_catalog.=) $2 and ended is null and not past union all "
        "select i.id from scylla.workflow_iteration i join inside on i.parent operator(pg_catalog.=) any "
        "(array[inside.id]) "
        "where i.ended is null and not i.past) "
        "update scylla.workflow_iteration set status = 'STOPPED', ended = $3 "
        "where id operator(pg_catalog.=) any (array(select id from inside)) returning id",
        inside, SPI_OK_UPDATE_RETURNING, [](uint64 row) { return store::Columns(row).next_int64(); });
}

struct StoppedStep {
    int64 scope;
    text *step;
    int64 task;
};

std::span<const StoppedStep> end_steps_of(const Root &root, ArrayColumn &scopes, TimestampTz now) {
    Parameters parameters;
    scopes.give_to(parameters);
    parameters.add(std::optional(now)).add(INT8OID, Int64GetDatum(root.records ? event_position() : 0), !root.records);
    return store::select<StoppedStep>(
        &stopped_statement,
        "with event as (" SCYLLA_WORKFLOW_STEP_EVENTS(
            "$3", "$2",
            "'STOPPED'") "where s.scope "
                         "operator(pg_catalog.=) any ($1) and $3 is not null and (s.ended is null or s.status "
                         "operator(pg_catalog.=) any ('{USER_FAILED,PLATFORM_FAILED,TIMEOUT_FAILED}'))) "
                         "update scylla.workflow_step_state set status = 'STOPPED', ended = $2, due = null, "
                         "rollup = scylla._settled(rollup, 'STOPPED') where scope operator(pg_catalog.=) any ($1) "
                         "and (ended is null or status operator(pg_catalog.=) any "
                         "('{USER_FAILED,PLATFORM_FAILED,TIMEOUT_FAILED}')) "
                         "returning scope, step, task",
        parameters, SPI_OK_UPDATE_RETURNING, [](uint64 row) {
            store::Columns columns(row);
            const int64 of = columns.next_int64();
            text *name = columns.next_text();
            return StoppedStep{of, name, columns.next_int64()};
        });
}

// Stops everything that runs inside of a loop.
void stop_iterations(store::Store &store, const Root &root, const Cancel &cancel, TimestampTz now) {
    const auto ids = end_iterations(cancel, now);
    if (ids.empty())
        return;
    ArrayColumn scopes(INT8OID);
    Growing<LeftStep> left;
    for (const int64 id : ids) {
        scopes.add(id);
        left.add({root.id, id, {}});
    }
    leave_waits(left.all());
    const auto stopped = end_steps_of(root, scopes, now);
    refresh(store);
    for (const StoppedStep &each : stopped) {
        cancel_by_id(store, each.task, now);
        stop_child(root, each.scope, each.step);
    }
}

void cancel_steps(store::Store &store, std::span<const Written> all, std::span<const StoredStep> stored,
                  TimestampTz now) {
    for (const Written &each : all)
        for (const Cancel &cancel : each.turn->cancels) {
            CHECK_FOR_INTERRUPTS();
            const text *step = to_text(cancel.step);
            const auto row = std::find_if(stored.begin(), stored.end(), [&](const StoredStep &of) {
                return of.scope == cancel.scope && of.step.id == cancel.step;
            });
            switch (cancel.what) {
            case Cancel::What::task:
                cancel_by_id(store, row == stored.end() ? 0 : row->task, now);
                break;
            case Cancel::What::subworkflow:
                stop_child(*each.root, cancel.scope, step);
                break;
            case Cancel::What::iterations:
                stop_iterations(store, *each.root, cancel, now);
                break;
            }
        }
}

// ---- what others hear ----------------------------------------------------------------------------------------------

Jsonb *child_data(const Child &child) {
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::push_text(&state, "workflow", to_text(child.workflow));
    json::push_text(&state, "version", to_text(child.version));
    json::push_json(&state, "params", to_json(child.params));
    json::push(&state, "sync", {.type = jbvBool, .val = {.boolean = child.sync}});
    if (child.instance != 0)
        json::push(&state, "instance", json::of_whole(child.instance));
    if (child.instance != 0 && !child.below.empty())
        json::push_json(&state, "restart", to_json(child.below));
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

// What the turn wants for an attempt of a step, as an item of the agenda.
template <typename Wish> Item item_of(const Written &turn, const char *kind, const Wish &wish, Jsonb *data) {
    return {.root = turn.root->id,
            .kind = kind,
            .scope = turn.id_of(wish.scope),
            .step = to_text(wish.step),
            .attempt = wish.attempt,
            .data = data};
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
                           .data = iteration.below.empty() ? nullptr : to_json(iteration.below)});
}

} // namespace

void tell_of_end(const Root &root, RunStatus status, TimestampTz now) {
    const store::Toll toll{.aborted = status == RunStatus::failed,
                           .cancelled = status == RunStatus::stopped || status == RunStatus::timed_out};
    if (store::finish_plan(root.plan, toll, now))
        shmem::note_plan_finished();
    put_on_agenda({.root = root.id, .kind = "next"});
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
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::push_text(&state, "code", cstring_to_text(psprintf("sqlstate-%s", unpack_sql_state(error->sqlerrcode))));
    json::push_text(&state, "message", cstring_to_text(error->message != nullptr ? error->message : ""));
    json::push_text(&state, "class", cstring_to_text(is_passing(error) ? "platform" : "user"));
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

bool is_passing(const ErrorData *error) {
    const int category = ERRCODE_TO_CATEGORY(error->sqlerrcode);
    return category == ERRCODE_TO_CATEGORY(ERRCODE_T_R_SERIALIZATION_FAILURE) ||
           category == ERRCODE_TO_CATEGORY(ERRCODE_INSUFFICIENT_RESOURCES) ||
           category == ERRCODE_TO_CATEGORY(ERRCODE_LOCK_NOT_AVAILABLE);
}

void write_turns(store::Store &store, std::span<const Followed> all, std::span<const StoredStep> steps,
                 TimestampTz now) {
    const auto written = number_scopes(all);
    const auto tasks = submit_tasks(written);
    begin_reserved(tasks, now);
    keep_attempts(written);
    forget_iterations(written);
    write_iterations(written);
    write_steps(written, tasks);
    write_runs(written, now);
    record_turns(written, now);
    end_waits(written);
    refresh(store);
    cancel_steps(store, written, steps, now);
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
