// Puts events of runs on the agenda of the engine.
#include "pg/json.h"
#include "shmem/pending.h"
#include "store/spi_arrays.h"
#include "task/makers.h"
#include "workflow/backfills.h"
#include "workflow/texts.h"

namespace scylla::workflow {

using store::Parameters;

namespace {

constinit SPIPlanPtr item_statement = nullptr;
constinit SPIPlanPtr tasks_statement = nullptr;
constinit SPIPlanPtr placed_statement = nullptr;
constinit SPIPlanPtr forget_statement = nullptr;
constinit SPIPlanPtr look_statement = nullptr;

// Tasks of one run have ended. Rows are only inserted, so transactions that end tasks of one run do not block each
// other.
void note_ended(std::span<const store::Ended> tasks) {
    store::ArrayColumn ids(INT8OID);
    for (const store::Ended &task : tasks)
        if (task.id != task.plan)
            ids.add(task.id);
    if (ids.size() == 0)
        return;
    Parameters parameters;
    parameters.add(tasks[0].plan);
    ids.give_to(parameters);
    store::change(&tasks_statement,
                  "insert into scylla.workflow_agenda (root, task, kind) "
                  "select $1, t.id, 'task' from pg_catalog.unnest($2) t (id)",
                  parameters, SPI_OK_INSERT);
    shmem::note_agenda();
}

// Tasks have the permits that their steps wait for.
void note_placed(std::span<const PlacedTask> tasks) {
    store::ArrayColumn ids(INT8OID);
    store::ArrayColumn plans(INT8OID);
    for (const PlacedTask &task : tasks) {
        ids.add(task.id);
        plans.add(task.plan);
    }
    Parameters parameters;
    ids.give_to(parameters);
    plans.give_to(parameters);
    store::change(&placed_statement,
                  "insert into scylla.workflow_agenda (root, task, kind) select t.plan, t.id, 'permitted' "
                  "from rows from (pg_catalog.unnest($1), pg_catalog.unnest($2)) t (id, plan)",
                  parameters, SPI_OK_INSERT);
    shmem::note_agenda();
}

} // namespace

void put_on_agenda(const Item &item) {
    Parameters parameters;
    parameters.add(item.root)
        .add(TEXTOID, CStringGetTextDatum(item.kind))
        .add(INT8OID, Int64GetDatum(item.scope), item.scope == 0)
        .add(item.step)
        .add(INT4OID, Int32GetDatum(item.attempt))
        .add(JSONBOID, PointerGetDatum(item.data), item.data == nullptr);
    store::change(&item_statement,
                  "insert into scylla.workflow_agenda (root, kind, scope, step, attempt, data) "
                  "values ($1, $2, $3, $4, $5, $6)",
                  parameters, SPI_OK_INSERT);
    shmem::note_agenda();
}

void stop_run(int64 root, const char *why) { put_on_agenda({.root = root, .kind = "stop", .data = error_saying(why)}); }

bool is_on_agenda(int64 plan) {
    Parameters parameters;
    parameters.add(plan);
    return store::select<bool>(
        &look_statement,
        "select exists (select from scylla.workflow_agenda where root operator(pg_catalog.=) $1 or root "
        "operator(pg_catalog.=) (select p.root from scylla.workflow_plan p where p.plan operator(pg_catalog.=) $1))",
        parameters, SPI_OK_SELECT, [](uint64 row) { return store::Columns(row).next_bool(); })[0];
}

void forget_run(int64 plan) {
    Parameters parameters;
    parameters.add(plan);
    const auto forgotten = store::select<int64>(
        &forget_statement,
        "with past as (delete from scylla.workflow_run_past where plan operator(pg_catalog.=) $1), "
        "run as (delete from scylla.workflow_run_state where id operator(pg_catalog.=) coalesce((select root from "
        "scylla.workflow_plan where plan operator(pg_catalog.=) $1), $1) and plan operator(pg_catalog.=) $1 returning "
        "id, permits, workflow, instance), "
        "pool as (select p.id from scylla.resource_pool p join run r on p.name operator(pg_catalog.=) r.permits "
        "collate pg_catalog.\"default\" "
        "and p.name operator(pg_catalog.=) pg_catalog.concat('workflow:', r.workflow, '/', r.instance) "
        "for update of p skip locked), "
        "head as (delete from scylla.pool_head h using pool p where h.pool operator(pg_catalog.=) p.id), "
        "gone as (delete from scylla.resource_pool r using pool p where r.id operator(pg_catalog.=) p.id), "
        "held as (delete from scylla.workflow_hold where ctid operator(pg_catalog.=) any (array(select h.ctid "
        "from run r join scylla.workflow_hold h on h.workflow operator(pg_catalog.=) r.workflow "
        "and h.instance operator(pg_catalog.=) r.instance for update of h skip locked))), "
        "plan as (delete from scylla.workflow_plan p using run r where p.root operator(pg_catalog.=) r.id), "
        "agenda as (delete from scylla.workflow_agenda a using run r where a.root operator(pg_catalog.=) r.id or "
        "a.root operator(pg_catalog.=) $1), "
        "action as (delete from scylla.workflow_action_state a using run r where a.root operator(pg_catalog.=) r.id), "
        "iteration as (delete from scylla.workflow_iteration i using run r where i.root operator(pg_catalog.=) r.id "
        "returning i.id), "
        "scope as (select id from iteration union all select id from run), "
        "attempt as (delete from scylla.workflow_attempt a using scope s "
        "where a.scope operator(pg_catalog.=) s.id), "
        "step as (delete from scylla.workflow_step_state a using scope s where a.scope operator(pg_catalog.=) s.id) "
        "select id from run",
        parameters, SPI_OK_SELECT, [](uint64 row) { return store::Columns(row).next_int64(); });
    for (const int64 instance : forgotten)
        forget_backfilled(instance);
}

void register_runs() {
    register_completion(store::PlanMaker::workflow, note_ended);
    register_placement(store::PlanMaker::workflow, note_placed);
}

} // namespace scylla::workflow
