// What has happened to runs, for the engine.
#include "pg/json.h"
#include "shmem/pending.h"
#include "store/spi_arrays.h"
#include "task/gates.h"
#include "workflow/backfills.h"

namespace scylla::workflow {

using store::Parameters;

namespace {

constinit SPIPlanPtr item_statement = nullptr;
constinit SPIPlanPtr tasks_statement = nullptr;
constinit SPIPlanPtr forget_statement = nullptr;
constinit SPIPlanPtr look_statement = nullptr;

// Tasks of one run have ended. Rows are only inserted, so those who end tasks of one run never meet.
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

bool is_on_agenda(int64 run) {
    Parameters parameters;
    parameters.add(run);
    return store::select<bool>(
        &look_statement, "select exists (select from scylla.workflow_agenda where root operator(pg_catalog.=) $1)",
        parameters, SPI_OK_SELECT, [](uint64 row) { return store::Columns(row).next_bool(); })[0];
}

void forget_run(int64 plan) {
    forget_backfilled(plan);
    Parameters parameters;
    parameters.add(plan);
    store::change(
        &forget_statement,
        "with run as (delete from scylla.workflow_run_state where id operator(pg_catalog.=) $1), "
        "agenda as (delete from scylla.workflow_agenda where root operator(pg_catalog.=) $1), "
        "action as (delete from scylla.workflow_action_state where root operator(pg_catalog.=) $1), "
        "iteration as (delete from scylla.workflow_iteration where root operator(pg_catalog.=) $1 returning id), "
        "scope as (select id from iteration union all select $1), "
        "attempt as (delete from scylla.workflow_attempt a using scope s "
        "where a.scope operator(pg_catalog.=) s.id) "
        "delete from scylla.workflow_step_state a using scope s where a.scope operator(pg_catalog.=) s.id",
        parameters, SPI_OK_DELETE);
}

void register_runs() { register_completion(store::PlanMaker::workflow, note_ended); }

} // namespace scylla::workflow
