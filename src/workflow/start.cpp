// How a run begins: its number, its parameters, and its run strategy.
#include "pg/error.h"
#include "pg/identity.h"
#include "pg/json.h"
#include "store/plans.h"
#include "store/spi_rows.h"
#include "task/names.h"
#include "workflow/actions.h"
#include "workflow/backfills.h"
#include "workflow/definition_cache.h"
#include "workflow/definitions.h"
#include "workflow/events.h"
#include "workflow/new_run.h"
#include "workflow/permits.h"
#include "workflow/run_limits.h"
#include "workflow/runs.h"
#include "workflow/server_world.h"
#include "workflow/texts.h"

namespace scylla::workflow {

using model::workflow::Outcome;
using model::workflow::Rule;
using model::workflow::RunStatus;
using store::Parameters;

namespace {

constinit SPIPlanPtr request_statement = nullptr;
constinit SPIPlanPtr live_statement = nullptr;
constinit SPIPlanPtr number_statement = nullptr;
constinit SPIPlanPtr insert_statement = nullptr;
constinit SPIPlanPtr last_statement = nullptr;
constinit SPIPlanPtr leave_statement = nullptr;
constinit SPIPlanPtr blocking_statement = nullptr;
constinit SPIPlanPtr unblock_statement = nullptr;
constinit SPIPlanPtr status_statement = nullptr;
constinit SPIPlanPtr unblock_all_statement = nullptr;
constinit SPIPlanPtr stop_statement = nullptr;

// The result of an earlier request with this request_id.
std::optional<Started> find_request(const Start &request) {
    if (request.request_id == nullptr)
        return std::nullopt;
    Parameters parameters;
    parameters.add(request.workflow).add(request.request_id);
    const auto found =
        store::select<Started>(&request_statement,
                               "select instance, run, status, id from scylla.workflow_run_state "
                               "where workflow operator(pg_catalog.=) $1 and request_id operator(pg_catalog.=) $2",
                               parameters, SPI_OK_SELECT, [](uint64 row) {
                                   store::Columns columns(row);
                                   Started started{};
                                   started.instance = columns.next_int64();
                                   started.run = columns.next_int32();
                                   started.status = columns.next_text();
                                   started.id = columns.next_int64();
                                   return started;
                               });
    return found.empty() ? std::nullopt : std::optional(found[0]);
}

// ---- parameters ----------------------------------------------------------------------------------------------------

// The model's result, freed with the memory context if an error is raised first.
struct Held {
    Outcome outcome;
    MemoryContextCallback callback;
};

Held *hold_outcome() {
    auto *held = static_cast<Held *>(palloc0(sizeof(Held)));
    held->callback.func = [](void *arg) { model::workflow::release(static_cast<Held *>(arg)->outcome); };
    held->callback.arg = held;
    MemoryContextRegisterResetCallback(CurrentMemoryContext, &held->callback);
    return held;
}

std::string_view member_text(Jsonb *object, const char *name) {
    JsonbValue *value = getKeyJsonValueFromContainer(&object->root, name, static_cast<int>(strlen(name)), nullptr);
    return value != nullptr && value->type == jbvString
               ? std::string_view(value->val.string.val, static_cast<std::size_t>(value->val.string.len))
               : std::string_view{};
}

void fail(NewRun &made, const char *fault) {
    made.fault = fault;
    made.params = json::empty_object();
}

} // namespace

void evaluate_params(NewRun &made, Jsonb *before, bool keep_failed) {
    const auto version = find_version(made.head->id, made.version);
    const auto &definition = definition_of(*version);
    check_stack_depth();
    Held *held = hold_outcome();
    ServerWorld world;
    const model::workflow::RunName name{.workflow = view(made.head->id),
                                        .instance = made.instance,
                                        .run = made.run,
                                        .owner = member_text(made.properties, "owner"),
                                        .initiator = json_text(made.initiator),
                                        .properties = json_text(made.properties),
                                        .restart = json_text(made.restart),
                                        .limits = run_limits()};
    const auto limits = keep_failed ? turn_limits() : request_limits();
    const std::string_view request = json_text(made.request);
    held->outcome = before == nullptr
                        ? evaluate_run_params(definition, name, request, world, limits)
                        : evaluate_restart_params(definition, name, json_text(before), request, world, limits);
    world.raise_seen();
    const char *text = pnstrdup(held->outcome.text.data(), held->outcome.text.size());
    const bool sound = held->outcome.kind == model::sel::OutcomeKind::value;
    model::workflow::release(held->outcome);
    if (!sound && !keep_failed)
        error::bad_params(text_to_cstring(made.head->id), text);
    if (!sound)
        return fail(made, text);
    made.params = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(text)));
}

namespace {

// ---- strategies ----------------------------------------------------------------------------------------------------

struct Live {
    int64 id;
    bool queued;
};

std::span<const Live> live_runs(const text *workflow) {
    Parameters parameters;
    parameters.add(workflow);
    return store::select<Live>(&live_statement,
                               "select id, status operator(pg_catalog.=) 'CREATED' from scylla.workflow_run_state "
                               "where workflow operator(pg_catalog.=) $1 and ended is null",
                               parameters, SPI_OK_SELECT, [](uint64 row) {
                                   store::Columns columns(row);
                                   const int64 id = columns.next_int64();
                                   return Live{id, columns.next_bool()};
                               });
}

// A run that this transaction has made, and that nobody else knows of.
void stop_new_run(const NewRun &by, int64 id, const char *why) {
    struct Stopped {
        int64 instance;
        int32 run;
        int32 version;
        text *permits;
    };
    const TimestampTz now = GetCurrentTimestamp();
    Parameters parameters;
    parameters.add(id).add(std::optional(now)).add(JSONBOID, JsonbPGetDatum(error_saying(why)));
    const auto stopped = store::select<Stopped>(
        &stop_statement,
        "with agenda as (delete from scylla.workflow_agenda where root operator(pg_catalog.=) $1) "
        "update scylla.workflow_run_state set status = 'STOPPED', ended = $2, error = $3 "
        "where id operator(pg_catalog.=) $1 returning instance, run, version, permits",
        parameters, SPI_OK_UPDATE_RETURNING, [](uint64 row) {
            store::Columns columns(row);
            Stopped read{};
            read.instance = columns.next_int64();
            read.run = columns.next_int32();
            read.version = columns.next_int32();
            read.permits = columns.next_text();
            return read;
        })[0];
    (void)store::finish_plan(id, {.aborted = false, .cancelled = true}, now);
    leave_tree_permits(stopped.permits);
    if (records_events(by.head->properties))
        record({.workflow = by.head->id,
                .owner = by.head->owner,
                .kind = "run",
                .instance = stopped.instance,
                .run = stopped.run,
                .version = stopped.version,
                .old_status = name_of(RunStatus::created),
                .status = name_of(RunStatus::stopped)});
}

} // namespace

Applied apply_strategy(const NewRun &made) {
    const Rule rule = made.head->strategy.rule;
    if (rule != Rule::first_only && rule != Rule::last_only && rule != Rule::serial_latest_only)
        return {};
    const auto live = live_runs(made.head->id);
    if (rule == Rule::first_only)
        return {.stopped = !live.empty()};
    const std::string_view name = model::workflow::name(rule);
    const char *why = psprintf("Run %d of instance " INT64_FORMAT " was started, and the run strategy is %.*s.",
                               made.run, made.instance, static_cast<int>(name.size()), name.data());
    Applied applied{};
    for (const Live &other : live) {
        if (!other.queued && rule != Rule::last_only)
            continue;
        const bool is_new = other.id == made.before;
        applied.replaces = applied.replaces || is_new;
        if (is_new)
            stop_new_run(made, other.id, why);
        else
            stop_run(other.id, why);
    }
    return applied;
}

void record_new_run(const NewRun &made, RunStatus status) {
    if (records_events(made.head->properties))
        record({.workflow = made.head->id,
                .owner = made.head->owner,
                .kind = "run",
                .instance = made.instance,
                .run = made.run,
                .version = made.version,
                .status = name_of(status)});
}

namespace {

int64 next_instance(const text *workflow) {
    Parameters parameters;
    parameters.add(workflow);
    return store::select<int64>(&number_statement,
                                "update scylla.workflow_head set latest_instance = latest_instance "
                                "operator(pg_catalog.+) 1 where id operator(pg_catalog.=) $1 returning latest_instance",
                                parameters, SPI_OK_UPDATE_RETURNING,
                                [](uint64 row) { return store::Columns(row).next_int64(); })[0];
}

// ---- rows ----------------------------------------------------------------------------------------------------------

Jsonb *plan_spec(const NewRun &made) {
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::push_text(&state, "workflow", made.head->id);
    json::push(&state, "instance", json::of_whole(made.instance));
    json::push(&state, "run", json::of_whole(made.run));
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

} // namespace

int64 make_plan(const NewRun &made) {
    const Identity before = become(get_role_oid(made.head->owner, false));
    const TimestampTz now = GetCurrentTimestamp();
    const char *name = psprintf("%s%s/" INT64_FORMAT "/%d", store::k_run_prefix.data(), text_to_cstring(made.head->id),
                                made.instance, made.run);
    Jsonb *spec = plan_spec(made);
    auto id = store::insert_plan(cstring_to_text(name), spec, store::PlanMaker::workflow);
    if (!id) // made before such names were reserved for runs
        id = store::insert_plan(make_up_name(now), spec, store::PlanMaker::workflow);
    store::open_plan(*id, now);
    restore(before);
    return *id;
}

namespace {

// Why a run has ended at its start.
Jsonb *error_of(const NewRun &made) {
    return error_saying(made.fault != nullptr ? made.fault
                                              : "Another run has not ended, and the run strategy is FIRST_ONLY.");
}

text *insert_run(const NewRun &made, const Start &request, int64 id, RunStatus status) {
    const bool ended = status != RunStatus::created;
    const bool is_child = request.parent.root != 0;
    Parameters parameters;
    parameters.add(id)
        .add(made.instance)
        .add(INT4OID, Int32GetDatum(made.run))
        .add(INT4OID, Int32GetDatum(made.version))
        .add(made.head->id)
        .add(TEXTOID, CStringGetTextDatum(made.head->owner))
        .add(request.request_id)
        .add(JSONBOID, JsonbPGetDatum(request.initiator))
        .add(JSONBOID, JsonbPGetDatum(made.properties))
        .add(JSONBOID, JsonbPGetDatum(request.params))
        .add(JSONBOID, JsonbPGetDatum(made.params))
        .add(std::optional(GetCurrentTimestamp()))
        .add(INT8OID, Int64GetDatum(request.parent.root), !is_child)
        .add(INT8OID, Int64GetDatum(request.parent.scope), !is_child)
        .add(request.parent.step)
        .add(INT4OID, Int32GetDatum(request.parent.attempt), !is_child)
        .add(to_text(model::workflow::k_run_statuses[static_cast<std::size_t>(status)]))
        .add(BOOLOID, BoolGetDatum(ended))
        .add(JSONBOID, JsonbPGetDatum(ended ? error_of(made) : nullptr), !ended)
        .add(BOOLOID, BoolGetDatum(status == RunStatus::failed))
        .add(INT8OID, Int64GetDatum(request.backfill), request.backfill == 0)
        .add(BOOLOID, BoolGetDatum(request.late))
        .add(ended ? nullptr : tree_permits(made, request.parent.root));
    text *written = store::select<text *>(
        &insert_statement,
        "insert into scylla.workflow_run_state (id, plan, instance, run, version, workflow, owner, request_id, "
        "initiator, "
        "properties, request, params, created, parent_root, parent_scope, parent_step, parent_attempt, status, ended, "
        "error, blocks, backfill, late, permits) values ($1, $1, $2, $3, $4, $5, $6::pg_catalog.name, $7, $8, $9, $10, "
        "$11, "
        "$12, "
        "$13, $14, $15, "
        "$16, "
        "$17, case when $18 then $12 end, $19, $20, $21, $22, $23) returning status",
        parameters, SPI_OK_INSERT_RETURNING, [](uint64 row) { return store::Columns(row).next_text(); })[0];
    if (ended)
        store::finish_plan(id, {.aborted = status == RunStatus::failed, .cancelled = status != RunStatus::failed},
                           GetCurrentTimestamp());
    else
        put_on_agenda({.root = id, .kind = "next"});
    return written;
}

} // namespace

Started start(const Start &request) {
    const Head head = hold(request.workflow, Privilege::run);
    if (const auto before = find_request(request))
        return *before;
    NewRun made{.head = &head,
                .version = pick_version(head, request.version),
                .instance = head.latest_instance + 1,
                .run = 1,
                .initiator = request.initiator,
                .properties = head.properties,
                .request = request.params,
                .before = request.before};
    if (request.fault == nullptr)
        evaluate_params(made, nullptr, request.keep_failed);
    else
        fail(made, request.fault);
    const Applied applied = made.fault == nullptr ? apply_strategy(made) : Applied{};
    if (next_instance(head.id) != made.instance)
        elog(ERROR, "the number of the last instance of workflow \"%s\" has changed", text_to_cstring(head.id));
    const RunStatus status = made.fault != nullptr ? RunStatus::failed
                             : applied.stopped     ? RunStatus::stopped
                                                   : RunStatus::created;
    const int64 id = make_plan(made);
    text *written = insert_run(made, request, id, status);
    record_new_run(made, status);
    return {applied.stopped ? -1 : 1, made.instance, made.run, written, id, applied.replaces};
}

void leave_runs(const text *workflow) {
    const auto live = live_runs(workflow);
    if (!live.empty())
        error::workflow_runs(workflow, static_cast<int64>(live.size()));
    leave_backfills(workflow);
    Parameters parameters;
    parameters.add(workflow);
    store::change(&leave_statement,
                  "update scylla.workflow_run_state set request_id = null, blocks = false "
                  "where workflow operator(pg_catalog.=) $1 and (request_id is not null or blocks)",
                  parameters, SPI_OK_UPDATE);
}

LastRun require_last(const text *workflow, int64 instance) {
    const Head head = require(workflow, Privilege::run);
    Parameters parameters;
    parameters.add(head.id).add(instance);
    const auto last = store::select<LastRun>(
        &last_statement,
        "select r.id, r.version, r.run, r.started is not null, r.ended is not null, "
        "r.status operator(pg_catalog.=) any ('{FAILED,TIMED_OUT,STOPPED}'), "
        "r.parent_root, r.parent_scope, r.parent_step, r.parent_attempt "
        "from scylla.workflow_run_state r join scylla.workflow_head h on h.id operator(pg_catalog.=) r.workflow "
        "and h.created operator(pg_catalog.<=) r.created where r.workflow operator(pg_catalog.=) $1 "
        "and r.instance operator(pg_catalog.=) $2 order by r.run desc limit 1",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            store::Columns columns(row);
            LastRun read{};
            read.id = columns.next_int64();
            read.version = columns.next_int32();
            read.run = columns.next_int32();
            read.begun = columns.next_bool();
            read.ended = columns.next_bool();
            read.may_block = columns.next_bool();
            read.parent.root = columns.next_int64();
            read.parent.scope = columns.next_int64();
            read.parent.step = columns.next_text();
            read.parent.attempt = columns.next_int32();
            return read;
        });
    if (last.empty())
        error::no_such_instance(workflow, instance);
    return last[0];
}

namespace {

int64 count_blocking(const text *workflow) {
    Parameters parameters;
    parameters.add(workflow);
    return store::select<int64>(&blocking_statement,
                                "select pg_catalog.count(*) from scylla.workflow_run_state "
                                "where workflow operator(pg_catalog.=) $1 and blocks",
                                parameters, SPI_OK_SELECT,
                                [](uint64 row) { return store::Columns(row).next_int64(); })[0];
}

bool status_is(int64 run, const char *status) {
    Parameters parameters;
    parameters.add(run).add(TEXTOID, CStringGetTextDatum(status));
    return !store::select<bool>(&status_statement,
                                "select true from scylla.workflow_run_state where id operator(pg_catalog.=) $1 "
                                "and status operator(pg_catalog.=) $2",
                                parameters, SPI_OK_SELECT, [](uint64) { return true; })
                .empty();
}

} // namespace

void end_run(const text *workflow, int64 instance, const char *kind) {
    const LastRun last = require_last(workflow, instance);
    if (last.ended && status_is(last.id, std::string_view(kind) == "stop" ? "STOPPED" : "FAILED"))
        return;
    if (last.ended)
        error::instance_ended(workflow, instance);
    (void)put_action({.root = last.id, .kind = kind});
}

void unblock(const text *workflow, int64 instance) {
    const LastRun last = require_last(workflow, instance);
    if (!last.may_block)
        error::instance_not_failed(workflow, instance);
    Parameters parameters;
    parameters.add(last.id);
    store::change(&unblock_statement,
                  "update scylla.workflow_run_state set blocks = false where id operator(pg_catalog.=) $1 and blocks",
                  parameters, SPI_OK_UPDATE);
    put_on_agenda({.root = last.id, .kind = "next"});
}

int64 unblock_all(const text *workflow) {
    const Head head = require(workflow, Privilege::run);
    Parameters parameters;
    parameters.add(head.id);
    const auto ids = store::select<int64>(
        &unblock_all_statement,
        "update scylla.workflow_run_state set blocks = false where workflow operator(pg_catalog.=) $1 and blocks "
        "returning id",
        parameters, SPI_OK_UPDATE_RETURNING, [](uint64 row) { return store::Columns(row).next_int64(); });
    if (!ids.empty())
        put_on_agenda({.root = ids[0], .kind = "next"});
    return static_cast<int64>(ids.size());
}

void require_switch(const Head &head, Rule rule) {
    if (rule == head.strategy.rule)
        return;
    const bool single = rule == Rule::first_only || rule == Rule::last_only;
    const auto live = single ? static_cast<int64>(live_runs(head.id).size()) : 0;
    if (live > 1)
        error::strategy_with_runs(head.id, model::workflow::name(rule), live, "have not ended");
    const int64 blocking = rule == Rule::strict_sequential ? count_blocking(head.id) : 0;
    if (blocking > 0)
        error::strategy_with_runs(head.id, model::workflow::name(rule), blocking, "have failed or block others");
}

void look_at_queue(const text *workflow) {
    for (const Live &run : live_runs(workflow))
        if (run.queued)
            return put_on_agenda({.root = run.id, .kind = "next"});
}

} // namespace scylla::workflow
