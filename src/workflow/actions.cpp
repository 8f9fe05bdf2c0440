#include "workflow/actions.h"

#include "pg/error.h"
#include "pg/json.h"
#include "shmem/pending.h"
#include "store/spi_arrays.h"
#include "workflow/definitions.h"
#include "workflow/restarts.h"
#include "workflow/texts.h"

namespace scylla::workflow {

using model::workflow::Allowed;
using model::workflow::StepAction;
using model::workflow::StepStatus;
using store::Parameters;

namespace {

constinit SPIPlanPtr put_statement = nullptr;
constinit SPIPlanPtr put_all_statement = nullptr;
constinit SPIPlanPtr settle_statement = nullptr;
constinit SPIPlanPtr settle_all_statement = nullptr;
constinit SPIPlanPtr iteration_statement = nullptr;
constinit SPIPlanPtr status_statement = nullptr;
constinit SPIPlanPtr done_statement = nullptr;

// The names of an action in its row, on the agenda and in messages.
struct Words {
    const char *kind;
    const char *item;
    const char *done;
};
constexpr std::array<Words, 6> k_words{{{"stop", "stop", "stopped"},
                                        {"kill", "kill", "killed"},
                                        {"skip", "skip", "skipped"},
                                        {"resume", "resume", "resumed"},
                                        {"restart", "restart_step", "restarted"},
                                        {"bypass", "bypass", "bypassed"}}};

Words words_of(StepAction action) { return k_words[static_cast<std::size_t>(action)]; }

} // namespace

std::optional<int64> put_action(const Action &action) {
    Parameters parameters;
    parameters.add(action.root)
        .add(TEXTOID, CStringGetTextDatum(action.kind))
        .add(INT8OID, Int64GetDatum(action.scope), action.scope == 0)
        .add(action.step)
        .add(INT4OID, Int32GetDatum(action.attempt), action.step == nullptr)
        .add(TEXTOID, CStringGetTextDatum(GetUserNameFromId(GetUserId(), false)))
        .add(TEXTOID, CStringGetTextDatum(action.item == nullptr ? action.kind : action.item))
        .add(JSONBOID, JsonbPGetDatum(action.data), action.data == nullptr);
    const auto ids = store::select<int64>(
        &put_statement,
        "with action as (insert into scylla.workflow_action_state (root, kind, scope, step, attempt, role) "
        "values ($1, $2, $3, $4, $5, $6::pg_catalog.name) on conflict do nothing returning id), "
        "item as (insert into scylla.workflow_agenda (root, kind, scope, step, action, data) "
        "select $1, $7, $3, $4, id, $8 from action) select id from action",
        parameters, SPI_OK_SELECT, [](uint64 row) { return store::Columns(row).next_int64(); });
    if (ids.empty())
        return std::nullopt;
    shmem::note_agenda();
    return ids[0];
}

int64 end_all_runs(const text *workflow, const char *kind) {
    const Head head = require(workflow, Privilege::run);
    Parameters parameters;
    parameters.add(head.id)
        .add(TEXTOID, CStringGetTextDatum(kind))
        .add(TEXTOID, CStringGetTextDatum(GetUserNameFromId(GetUserId(), false)));
    const int64 count = store::select<int64>(
        &put_all_statement,
        "with run as (select id from scylla.workflow_run_state where workflow operator(pg_catalog.=) $1 "
        "and ended is null order by instance, run), "
        "action as (insert into scylla.workflow_action_state (root, kind, role) "
        "select id, $2, $3::pg_catalog.name from run returning id, root), "
        "item as (insert into scylla.workflow_agenda (root, kind, action) select root, $2, id from action) "
        "select pg_catalog.count(*) from action",
        parameters, SPI_OK_SELECT, [](uint64 row) { return store::Columns(row).next_int64(); })[0];
    if (count > 0)
        shmem::note_agenda();
    return count;
}

void settle_actions(std::span<const int64> ids, TimestampTz now) {
    if (ids.empty())
        return;
    store::ArrayColumn column(INT8OID);
    for (const int64 id : ids)
        column.add(id);
    Parameters parameters;
    column.give_to(parameters);
    parameters.add(std::optional(now));
    store::change(&settle_statement,
                  "update scylla.workflow_action_state a set done = $2, outcome = case when a.step is null "
                  "then (select r.status from scylla.workflow_run_state r where r.id operator(pg_catalog.=) a.root) "
                  "else coalesce((select s.status from scylla.workflow_step_state s where s.scope "
                  "operator(pg_catalog.=) a.scope and s.step operator(pg_catalog.=) a.step), 'NOT_CREATED') end "
                  "where a.id operator(pg_catalog.=) any ($1)",
                  parameters, SPI_OK_UPDATE);
}

void settle_actions_of(int64 root, TimestampTz now) {
    Parameters parameters;
    parameters.add(root);
    settle_actions(store::select<int64>(&settle_all_statement,
                                        "select id from scylla.workflow_action_state "
                                        "where root operator(pg_catalog.=) $1 and done is null",
                                        parameters, SPI_OK_SELECT,
                                        [](uint64 row) { return store::Columns(row).next_int64(); }),
                   now);
}

// ---- steps ---------------------------------------------------------------------------------------------------------

const char *show(const StepName &name) {
    char *numbers = pstrdup("");
    for (std::size_t i = 0; i < name.iterations.size(); i++)
        numbers = psprintf("%s%s" INT64_FORMAT, numbers, i == 0 ? "" : ",", name.iterations[i]);
    return psprintf("step \"%s\"%s of instance " INT64_FORMAT " of workflow \"%s\"", text_to_cstring(name.step),
                    *numbers == '\0' ? "" : psprintf(" {%s}", numbers), name.instance, text_to_cstring(name.workflow));
}

namespace {

struct IterationFound {
    int64 id; // 0: it does not exist
    bool ended;
};

IterationFound find_iteration(int64 parent, std::string_view loop, int64 number) {
    Parameters parameters;
    parameters.add(parent).add(to_text(loop)).add(number);
    const auto found =
        store::select<IterationFound>(&iteration_statement,
                                      "select id, ended is not null from scylla.workflow_iteration "
                                      "where parent operator(pg_catalog.=) $1 and step operator(pg_catalog.=) $2 "
                                      "and number operator(pg_catalog.=) $3 and not past",
                                      parameters, SPI_OK_SELECT, [](uint64 row) {
                                          store::Columns columns(row);
                                          const int64 id = columns.next_int64();
                                          return IterationFound{id, columns.next_bool()};
                                      });
    return found.empty() ? IterationFound{0, false} : found[0];
}

const model::workflow::Definition &definition_for(const StepName &name, const LastRun &run) {
    check_stack_depth();
    const auto version = find_version(name.workflow, run.version);
    if (!version)
        error::no_such_step(name.workflow, run.version, name.step);
    return definition_of(*version);
}

model::workflow::LoopsAround loops_for(const StepName &name, const LastRun &run) {
    const auto loops = model::workflow::loops_around(definition_for(name, run), view(name.step));
    if (!loops)
        error::no_such_step(name.workflow, run.version, name.step);
    return *loops;
}

// The run, or the iteration that the step is in. id 0: an iteration around the step has not begun.
IterationFound find_scope(const StepName &name, const LastRun &run) {
    const std::optional loops = loops_for(name, run);
    if (loops->count != name.iterations.size())
        error::bad_argument("iterations", psprintf("%zu numbers", name.iterations.size()),
                            psprintf("The step is in %zu loops: it must have the number of an iteration of each, the "
                                     "outer one first.",
                                     loops->count));
    IterationFound scope{run.id, false};
    for (std::size_t i = 0; i < loops->count && scope.id != 0; i++) {
        if (name.iterations[i] < 1)
            error::no_such_iteration(show(name));
        scope = find_iteration(scope.id, loops->ids[i], name.iterations[i]);
    }
    return scope;
}

struct StepFound {
    StepStatus status;
    int32 attempt;
};

StepFound find_step(int64 scope, const text *step) {
    Parameters parameters;
    parameters.add(scope).add(step);
    const auto found = store::select<StepFound>(
        &status_statement,
        "select status, attempt from scylla.workflow_step_state where scope operator(pg_catalog.=) $1 "
        "and step operator(pg_catalog.=) $2",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            store::Columns columns(row);
            const auto status = columns.next_word<StepStatus>(model::workflow::k_step_statuses);
            return StepFound{status, columns.next_int32()};
        });
    return found.empty() ? StepFound{StepStatus::not_created, 0} : found[0];
}

} // namespace

StepPlace place_in(const StepName &name, const LastRun &run) {
    const IterationFound scope = find_scope(name, run);
    const StepFound step = scope.id == 0 ? StepFound{StepStatus::not_created, 0} : find_step(scope.id, name.step);
    return {run.id, run.run, scope.id, scope.ended, step.status, step.attempt};
}

// The view of actions also shows such an action, with the status of the new run.
int64 put_restart(const Action &action, const text *status) {
    Parameters parameters;
    parameters.add(action.root)
        .add(TEXTOID, CStringGetTextDatum(action.kind))
        .add(action.scope)
        .add(action.step)
        .add(INT4OID, Int32GetDatum(action.attempt))
        .add(TEXTOID, CStringGetTextDatum(GetUserNameFromId(GetUserId(), false)))
        .add(status);
    return store::select<int64>(
        &done_statement,
        "insert into scylla.workflow_action_state (root, kind, scope, step, attempt, role, done, outcome) values ($1, "
        "$2, $3, $4, $5, $6::pg_catalog.name, pg_catalog.clock_timestamp(), $7) returning id",
        parameters, SPI_OK_INSERT_RETURNING, [](uint64 row) { return store::Columns(row).next_int64(); })[0];
}

namespace {

std::optional<int64> skip_after_end(const StepName &name, const LastRun &run) {
    const StepPlace place = place_in(name, run);
    const Allowed allowed = allows_after_end(place.status, StepAction::skip);
    if (allowed == Allowed::already)
        return std::nullopt;
    if (place.status == StepStatus::not_created)
        error::step_not_created(show(name));
    if (allowed == Allowed::no)
        error::step_refuses(show(name), model::workflow::name_of(place.status), words_of(StepAction::skip).done);
    const Restarted restarted = restart_with_ancestors({.workflow = name.workflow,
                                                        .instance = name.instance,
                                                        .policy = model::workflow::RestartPolicy::from_specific,
                                                        .step = name.step,
                                                        .params = json::empty_object(),
                                                        .step_params = json::empty_object(),
                                                        .skip_steps = {&name.step, 1},
                                                        .initiator = name.initiator},
                                                       false);
    if (restarted.action != 0)
        return restarted.action;
    return put_restart({.root = run.id,
                        .kind = words_of(StepAction::skip).kind,
                        .scope = place.scope,
                        .step = name.step,
                        .attempt = place.attempt},
                       restarted.status);
}

} // namespace

StepPlace find_place(const StepName &name) {
    const LastRun run = require_last(name.workflow, name.instance);
    if (run.ended)
        error::instance_ended(name.workflow, name.instance);
    return place_in(name, run);
}

std::optional<int64> act_on_step(const StepName &name, StepAction action) {
    const LastRun run = require_last(name.workflow, name.instance);
    if (run.ended && action == StepAction::skip && name.iterations.empty())
        return skip_after_end(name, run);
    if (run.ended)
        error::instance_ended(name.workflow, name.instance);
    const StepPlace place = place_in(name, run);
    if (place.scope == 0)
        error::no_such_iteration(show(name));
    const Allowed allowed = allows(place.status, action);
    if (allowed == Allowed::already)
        return std::nullopt;
    if (place.status == StepStatus::not_created)
        error::step_not_created(show(name));
    if (allowed == Allowed::no || place.ended)
        error::step_refuses(show(name), model::workflow::name_of(place.status), words_of(action).done);
    const auto id = put_action({.root = place.root,
                                .kind = words_of(action).kind,
                                .item = words_of(action).item,
                                .scope = place.scope,
                                .step = name.step,
                                .attempt = place.attempt});
    if (!id)
        error::action_pending(show(name));
    return id;
}

} // namespace scylla::workflow
