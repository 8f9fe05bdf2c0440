// Puts events of runs on the agenda of the engine.
#include "pg/json.h"
#include "shmem/pending.h"
#include "store/workflow/agenda.h"
#include "task/makers.h"
#include "workflow/backfills.h"
#include "workflow/texts.h"

namespace scylla::workflow {

namespace {

// Tasks of one run have ended. Rows are only inserted, so transactions that end tasks of one run do not block each
// other.
void note_ended(const char *owner, std::span<const store::Ended> tasks) {
    Growing<int64> ids;
    for (const store::Ended &task : tasks)
        if (task.id != task.plan)
            ids.add(task.id);
    if (ids.size() == 0)
        return;
    store::agenda::add_ended(tasks[0].plan, line_of(owner), ids.all());
    shmem::note_agenda();
}

// Tasks have the permits that their steps wait for.
void note_placed(std::span<const PlacedTask> tasks) {
    Growing<store::agenda::Permitted> permitted;
    for (const PlacedTask &task : tasks)
        permitted.add({.task = task.id, .plan = task.plan});
    store::agenda::add_permitted(permitted.all());
    shmem::note_agenda();
}

} // namespace

void put_on_agenda(const Item &item) {
    store::agenda::add({.root = item.root,
                        .line = item.line ? *item.line : store::agenda::line_of(item.root),
                        .kind = item.kind,
                        .scope = item.scope,
                        .step = item.step,
                        .attempt = item.attempt,
                        .data = item.data,
                        .slow = item.slow});
    shmem::note_agenda();
}

int32 line_of(const char *owner) {
    NameData name;
    namestrcpy(&name, owner);
    return DatumGetInt32(DirectFunctionCall1(hashname, NameGetDatum(&name)));
}

void put_next(std::span<const int64> runs) {
    if (runs.empty())
        return;
    store::agenda::add_next(runs);
    shmem::note_agenda();
}

void stop_run(int64 root, const char *why) { put_on_agenda({.root = root, .kind = "stop", .data = error_saying(why)}); }

bool is_on_agenda(int64 plan) { return store::agenda::has_rows_of(plan); }

void forget_run(int64 plan) {
    for (const int64 instance : store::agenda::remove_run(plan))
        forget_backfilled(instance);
}

void register_runs() {
    register_completion(store::PlanMaker::workflow, note_ended);
    register_placement(store::PlanMaker::workflow, note_placed);
}

} // namespace scylla::workflow
