#include "workflow/holds.h"

#include "pg/error.h"
#include "pg/json.h"
#include "shmem/pending.h"
#include "store/spi_arrays.h"
#include "workflow/definitions.h"
#include "workflow/texts.h"

namespace scylla::workflow {

using model::workflow::StepAction;
using model::workflow::StepStatus;
using store::Parameters;

namespace {

constinit SPIPlanPtr set_statement = nullptr;
constinit SPIPlanPtr drop_statement = nullptr;
constinit SPIPlanPtr release_statement = nullptr;
constinit SPIPlanPtr unpaused_statement = nullptr;

// A row of workflow_hold.
struct Row {
    const char *kind; // breakpoint, pause (of a step), workflow
    const text *workflow;
    const text *step = nullptr; // null: all
    int32 version = 0;
    int64 instance = 0;
    int32 run = 0;
    std::span<const int64> iterations{};
};

Datum array_of(std::span<const int64> numbers) {
    Datum *values = allocate<Datum>(numbers.size()).data();
    for (std::size_t i = 0; i < numbers.size(); i++)
        values[i] = Int64GetDatum(numbers[i]);
    return PointerGetDatum(construct_array(values, static_cast<int>(numbers.size()), INT8OID, sizeof(int64),
                                           FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

Parameters key_of(const Row &row) {
    Parameters parameters;
    parameters.add(row.workflow)
        .add(TEXTOID, CStringGetTextDatum(row.kind))
        .add(row.step == nullptr ? cstring_to_text("") : row.step)
        .add(INT4OID, Int32GetDatum(row.version))
        .add(row.instance)
        .add(INT4OID, Int32GetDatum(row.run))
        .add(INT8ARRAYOID, array_of(row.iterations));
    return parameters;
}

// An existing row gets this author and time. Also removes rows of instances that do not exist any more.
void set(const Row &row) {
    Parameters parameters = key_of(row);
    parameters.add(TEXTOID, CStringGetTextDatum(GetUserNameFromId(GetUserId(), false)));
    store::change(
        &set_statement,
        "with gone as (delete from scylla.workflow_hold h where h.workflow operator(pg_catalog.=) $1 "
        "and h.instance operator(pg_catalog.<>) 0 and not exists (select from scylla.workflow_run_state r "
        "where r.workflow operator(pg_catalog.=) h.workflow and r.instance operator(pg_catalog.=) h.instance "
        ")) insert into scylla.workflow_hold (workflow, kind, step, version, instance, run, iterations, author) "
        "values ($1, $2, $3, $4, $5, $6, $7, $8::pg_catalog.name) on conflict on constraint "
        "workflow_hold_pkey do update set created = excluded.created, author = excluded.author",
        parameters, SPI_OK_INSERT);
}

// False: it does not exist.
bool drop(const Row &row) {
    Parameters parameters = key_of(row);
    return !store::select<bool>(&drop_statement,
                                "delete from scylla.workflow_hold where workflow operator(pg_catalog.=) $1 "
                                "and kind operator(pg_catalog.=) $2 and step operator(pg_catalog.=) $3 "
                                "and version operator(pg_catalog.=) $4 and instance operator(pg_catalog.=) $5 "
                                "and run operator(pg_catalog.=) $6 and iterations operator(pg_catalog.=) $7 "
                                "returning true",
                                parameters, SPI_OK_DELETE_RETURNING, [](uint64) { return true; })
                .empty();
}

} // namespace

// ---- breakpoints ---------------------------------------------------------------------------------------------------

namespace {

Row row_of(const Breakpoint &breakpoint) {
    return {.kind = "breakpoint",
            .workflow = breakpoint.workflow,
            .step = breakpoint.step,
            .version = breakpoint.version,
            .instance = breakpoint.instance,
            .run = breakpoint.run};
}

// The version that must have the step.
int32 version_of(const Head &head, const Breakpoint &breakpoint) {
    if (breakpoint.version != 0)
        return pick_version(head, cstring_to_text(psprintf("%d", breakpoint.version)));
    return breakpoint.instance != 0 ? require_last(breakpoint.workflow, breakpoint.instance).version
                                    : pick_version(head, cstring_to_text("default"));
}

// Lets steps continue that have stopped at the breakpoint, in the runs that it applies to.
void release_all(const Breakpoint &breakpoint) {
    Parameters parameters;
    parameters.add(breakpoint.workflow)
        .add(breakpoint.step)
        .add(INT4OID, Int32GetDatum(breakpoint.version))
        .add(breakpoint.instance)
        .add(INT4OID, Int32GetDatum(breakpoint.run));
    store::change(&release_statement,
                  "insert into scylla.workflow_agenda (root, kind, step) select r.id, 'released', $2 "
                  "from scylla.workflow_run_state r where r.workflow operator(pg_catalog.=) $1 and r.ended is null "
                  "and $3 operator(pg_catalog.=) any (array[0, r.version]) "
                  "and $4 operator(pg_catalog.=) any (array[0, r.instance]) "
                  "and $5 operator(pg_catalog.=) any (array[0, r.run])",
                  parameters, SPI_OK_INSERT);
    shmem::note_agenda();
}

} // namespace

void set_breakpoint(const Breakpoint &breakpoint) {
    const Head head = hold(breakpoint.workflow, Privilege::run);
    const int32 version = version_of(head, breakpoint);
    const auto named = find_version(breakpoint.workflow, version);
    if (!named || !model::workflow::loops_around(definition_of(*named), view(breakpoint.step)))
        error::no_such_step(breakpoint.workflow, version, breakpoint.step);
    set(row_of(breakpoint));
}

void drop_breakpoint(const Breakpoint &breakpoint, bool resume) {
    (void)hold(breakpoint.workflow, Privilege::run); // no run can begin meanwhile, and be missed below
    if (!drop(row_of(breakpoint)))
        error::no_such_breakpoint(breakpoint.workflow, breakpoint.step);
    if (resume)
        release_all(breakpoint);
}

// ---- single steps --------------------------------------------------------------------------------------------------

namespace {

Row row_of(const StepName &name, const StepPlace &place) {
    return {.kind = "pause",
            .workflow = name.workflow,
            .step = name.step,
            .instance = name.instance,
            .run = place.run,
            .iterations = name.iterations};
}

// The iterations of released steps, in their form on the agenda.
Jsonb *numbers_json(std::span<const int64> iterations) {
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_ARRAY, nullptr);
    for (const int64 number : iterations) {
        JsonbValue value = json::of_whole(number);
        pushJsonbValue(&state, WJB_ELEM, &value);
    }
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_ARRAY, nullptr));
}

} // namespace

void pause_step(const StepName &name) {
    (void)hold(name.workflow, Privilege::run);
    const StepPlace place = find_place(name);
    if (place.ended || !can_pause(place.status))
        error::step_refuses(show(name), model::workflow::name_of(place.status), "paused");
    set(row_of(name, place));
}

std::optional<int64> resume_step(const StepName &name) {
    const StepPlace place = find_place(name);
    const bool was_to_pause = drop(row_of(name, place));
    if (place.status == StepStatus::paused || !was_to_pause)
        return act_on_step(name, StepAction::resume);
    // If the engine is pausing the step at this moment, the step continues.
    put_on_agenda({.root = place.root, .kind = "released", .step = name.step, .data = numbers_json(name.iterations)});
    return std::nullopt;
}

// ---- workflows -----------------------------------------------------------------------------------------------------

void pause_workflow(const text *id) {
    (void)hold(id, Privilege::run);
    set({.kind = "workflow", .workflow = id});
}

// All runs of the workflow check again, also those that the engine is holding back at this moment. No run can begin
// meanwhile, and be missed.
void resume_workflow(const text *id) {
    (void)hold(id, Privilege::run);
    if (!drop({.kind = "workflow", .workflow = id}))
        return;
    Parameters parameters;
    parameters.add(id);
    store::change(&unpaused_statement,
                  "insert into scylla.workflow_agenda (root, kind) select id, 'unpaused' "
                  "from scylla.workflow_run_state where workflow operator(pg_catalog.=) $1 and ended is null "
                  "order by late, instance, run",
                  parameters, SPI_OK_INSERT);
    shmem::note_agenda();
}

} // namespace scylla::workflow
