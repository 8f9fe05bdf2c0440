// A run: the plan that brings a job up to date, or its explanation.
#include "job/resolve.h"
#include "pg/error.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "plan/plans.h"
#include "plan/rerun.h"
#include "store/plans.h"
#include "store/spi_rows.h"
#include "task/names.h"
#include "task/submit.h"

namespace scylla::job {

using store::Parameters;

namespace {

constinit SPIPlanPtr known_statement = nullptr;
constinit SPIPlanPtr hold_statement = nullptr;
constinit SPIPlanPtr live_statement = nullptr;
constinit SPIPlanPtr run_statement = nullptr;
constinit SPIPlanPtr chunk_statement = nullptr;
constinit SPIPlanPtr rerun_statement = nullptr;
constinit SPIPlanPtr request_statement = nullptr;

const Type &type_of(const Resolved &resolved, const model::JobChunk &chunk) {
    return resolved.types[resolved.nodes[chunk.node].type];
}

// ---- the rows of a run ---------------------------------------------------------------------------------------------

// The plan of an earlier request with this request_id; null: none. Only for callers that may see the plan.
text *find_request(const Resolved &resolved, const Options &options) {
    Parameters parameters;
    parameters.add(resolved.types[0].id).add(options.request_id);
    const auto plan = store::select<text *>(
        &known_statement,
        "select p.name from scylla.job_run r join scylla.task_plan p on p.id operator(pg_catalog.=) r.plan "
        "where r.job operator(pg_catalog.=) $1 and r.request_id operator(pg_catalog.=) $2",
        parameters, SPI_OK_SELECT, [](uint64 row) { return store::Columns(row).next_text(); });
    return plan.empty() ? nullptr : plan[0];
}

// 55000 if a run of a job without allow_multiple is live. Concurrent runs wait for this transaction.
void require_idle(const Type &type) {
    if (type.settings.allow_multiple)
        return;
    Parameters parameters;
    parameters.add(type.id);
    store::change(&hold_statement,
                  "select from scylla.job_definition where id operator(pg_catalog.=) $1 for no key update", parameters,
                  SPI_OK_SELECT);
    const auto live = store::select<text *>(
        &live_statement,
        "select p.name from scylla.job_run r join scylla.task_plan p on p.id operator(pg_catalog.=) r.plan "
        "where r.job operator(pg_catalog.=) $1 and p.finished is null limit 1",
        parameters, SPI_OK_SELECT, [](uint64 row) { return store::Columns(row).next_text(); });
    if (!live.empty())
        error::job_running(type.name, live[0]);
}

// Without the name of the plan, which the run has: a rerun needs another name.
Jsonb *options_to_keep(Jsonb *options) {
    return DatumGetJsonbP(DirectFunctionCall2(jsonb_delete, JsonbPGetDatum(options), CStringGetTextDatum("plan")));
}

// False: another transaction has committed the same request meanwhile.
bool insert_run(int64 plan, const Resolved &resolved, const Request &request, const Options &options) {
    Parameters parameters;
    parameters.add(plan)
        .add(resolved.types[0].id)
        .add(resolved.types[0].name)
        .add(options.variant)
        .add(INT8MULTIRANGEOID, make_ids(resolved.ids))
        .add(JSONBOID, JsonbPGetDatum(request.args))
        .add(JSONBOID, JsonbPGetDatum(options_to_keep(request.options)))
        .add(options.request_id)
        .add(std::optional(resolved.now))
        .add(INT8OID, Int64GetDatum(request.rerun_of.value_or(0)), !request.rerun_of);
    return !store::select<int64>(&run_statement,
                                 "insert into scylla.job_run (plan, job, name, variant, ids, args, options, "
                                 "request_id, created, rerun_of) "
                                 "values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) "
                                 "on conflict (job, request_id) where request_id is not null do nothing returning plan",
                                 parameters, SPI_OK_INSERT_RETURNING,
                                 [](uint64 row) { return store::Columns(row).next_int64(); })
                .empty();
}

// Stores the ids of each task.
void insert_chunks(int64 plan, const Resolved &resolved, const Options &options, std::span<const Submission> tasks) {
    const std::size_t count = tasks.size();
    const auto names = allocate<Datum>(count);
    const auto jobs = allocate<Datum>(count);
    const auto ids = allocate<Datum>(count);
    for (std::size_t i = 0; i < count; i++) {
        const Chunk &chunk = resolved.chunks[i];
        names[i] = PointerGetDatum(tasks[i].rn);
        jobs[i] = Int64GetDatum(type_of(resolved, chunk.ids).id);
        ids[i] = make_ids(ids_of(resolved, chunk.ids));
    }
    const Oid array_of_ids = get_array_type(INT8MULTIRANGEOID);
    Parameters parameters;
    parameters.add(plan)
        .add(options.variant)
        .add(TEXTARRAYOID, PointerGetDatum(make_array(names, TEXTOID)))
        .add(INT8ARRAYOID, PointerGetDatum(make_array(jobs, INT8OID)))
        .add(array_of_ids, PointerGetDatum(make_array(ids, INT8MULTIRANGEOID)));
    store::change(&chunk_statement,
                  "insert into scylla.job_chunk (task, plan, job, variant, ids) "
                  "select s.id, $1, c.job, $2, c.ids from "
                  "rows from (pg_catalog.unnest($3), pg_catalog.unnest($4), pg_catalog.unnest($5)) c (rn, job, ids) "
                  "join scylla.task_spec s on s.rn operator(pg_catalog.=) c.rn",
                  parameters, SPI_OK_INSERT);
}

// ---- its tasks -----------------------------------------------------------------------------------------------------

// Ranges with both ends: [[1, 3], [5, 5]].
void push_ids(JsonbParseState **state, std::span<const model::JobRange> ids) {
    json::push_key(state, "ids");
    pushJsonbValue(state, WJB_BEGIN_ARRAY, nullptr);
    for (const model::JobRange &range : ids) {
        pushJsonbValue(state, WJB_BEGIN_ARRAY, nullptr);
        json::push_int64(state, WJB_ELEM, range.first);
        json::push_int64(state, WJB_ELEM, range.end - 1);
        pushJsonbValue(state, WJB_END_ARRAY, nullptr);
    }
    pushJsonbValue(state, WJB_END_ARRAY, nullptr);
}

Jsonb *make_spec(const Resolved &resolved, const Chunk &chunk, const text *plan) {
    Jsonb *args = resolved.nodes[chunk.ids.node].args;
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::push_text(&state, "job", type_of(resolved, chunk.ids).name);
    push_ids(&state, ids_of(resolved, chunk.ids));
    json::push_json(&state, "args", args != nullptr ? args : json::empty_object());
    json::push_text(&state, "plan", plan);
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

// What a chunk waits for: chunks of its own plan, and tasks of older ones.
std::span<const WaitFor> make_waits(const Chunk &chunk, std::span<const LiveTask *const> live, const Resolved &resolved,
                                    std::span<const Submission> tasks) {
    const auto waits = allocate<WaitFor>(chunk.on_count + live.size());
    for (std::size_t n = 0; n < chunk.on_count; n++)
        waits[n] = {.what = WaitFor::What::task,
                    .name = tasks[resolved.on[chunk.first_on + n]].rn,
                    .on_failure = store::OnFailure::cascade};
    for (std::size_t n = 0; n < live.size(); n++)
        waits[chunk.on_count + n] = {
            .what = WaitFor::What::task, .name = live[n]->rn, .on_failure = store::OnFailure::ignore};
    return waits;
}

std::span<const Submission> make_tasks(const Resolved &resolved, const LiveTasks &live, text *plan,
                                       std::optional<TimestampTz> not_before) {
    const auto tasks = allocate<Submission>(resolved.chunks.size());
    for (std::size_t i = 0; i < tasks.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        const Chunk &chunk = resolved.chunks[i];
        const Type &type = type_of(resolved, chunk.ids);
        tasks[i] = {.queue = type.queue,
                    .spec = make_spec(resolved, chunk, plan),
                    .priority = static_cast<int16>(type.settings.priority),
                    .rn = cstring_to_text(psprintf("%s/%zu", text_to_cstring(plan), i + 1)),
                    .not_before = not_before,
                    .max_attempts = type.settings.max_attempts,
                    .waits = make_waits(chunk, live_for(resolved, live, chunk.ids), resolved, tasks),
                    .plan = plan,
                    .retry = type.settings.retry,
                    .run_timeout = type.settings.run_timeout};
    }
    return tasks;
}

// ---- rerun of its failed part --------------------------------------------------------------------------------------

Jsonb *spec_of_copy(Jsonb *spec, const text *plan) {
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::push_text(&state, "plan", plan);
    Jsonb *member = JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
    return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(spec), JsonbPGetDatum(member)));
}

// The copies are for the ids of their originals, so their completion makes these fresh. The new run has the age of the
// run that it continues: what was fresh then was not run by either.
void note_copied(int64 plan, const text *new_plan) {
    Parameters parameters;
    parameters.add(plan).add(new_plan);
    store::change(
        &rerun_statement,
        "with made as (select id from scylla.task_plan where name operator(pg_catalog.=) $2), "
        "run as (insert into scylla.job_run (plan, job, name, variant, ids, args, options, created, rerun_of) "
        "select m.id, r.job, r.name, r.variant, r.ids, r.args, r.options, r.created, r.plan "
        "from scylla.job_run r cross join made m where r.plan operator(pg_catalog.=) $1) "
        "insert into scylla.job_chunk (task, plan, job, variant, ids) "
        "select y.copy, m.id, c.job, c.variant, c.ids from made m "
        "join scylla.task_gate g on g.provider operator(pg_catalog.=) m.id "
        "join scylla.task_copy y on y.copy operator(pg_catalog.=) g.task "
        "join scylla.job_chunk c on c.task operator(pg_catalog.=) y.original",
        parameters, SPI_OK_INSERT);
}

// ---- its explanation -----------------------------------------------------------------------------------------------

const char *show_length(int64 micros) {
    Interval length{};
    length.time = micros;
    return DatumGetCString(
        DirectFunctionCall1(interval_out, DirectFunctionCall1(interval_justify_hours, IntervalPGetDatum(&length))));
}

const char *name_chunk(const Resolved &resolved, const model::JobChunk &chunk) {
    const Datum ids = make_ids(ids_of(resolved, chunk));
    return psprintf("%s %s", text_to_cstring(type_of(resolved, chunk).name), error::print(ids, INT8MULTIRANGEOID));
}

// Why a chunk runs or is left out: the need that requests it, and how old its ids are.
const char *tell_reason(const Resolved &resolved, const model::JobReason &reason, bool runs) {
    if (reason.need == model::k_no_task)
        return "requested";
    const model::JobNeed &need = resolved.needs[reason.need];
    const char *limit = show_length(need.max_lag);
    if (reason.oldest == model::k_never)
        return psprintf("never run; at most %s old is wanted", limit);
    return psprintf("%s: %s old, at most %s is wanted", runs ? "stale" : "fresh",
                    show_length(std::max<int64>(resolved.now - reason.oldest, 0)), limit);
}

void tell_chunk(const Resolved &resolved, const LiveTasks &live, const Chunk &chunk, const ExplainedSink &sink) {
    const auto waits = live_for(resolved, live, chunk.ids);
    const auto on = allocate<Datum>(chunk.on_count + waits.size());
    for (std::size_t n = 0; n < waits.size(); n++)
        on[chunk.on_count + n] = CStringGetTextDatum(
            psprintf("task %s of plan %s", text_to_cstring(waits[n]->rn), text_to_cstring(waits[n]->plan)));
    for (std::size_t n = 0; n < chunk.on_count; n++)
        on[n] = CStringGetTextDatum(name_chunk(resolved, resolved.chunks[resolved.on[chunk.first_on + n]].ids));
    Jsonb *args = resolved.nodes[chunk.ids.node].args;
    sink.put(sink.to, {.job = type_of(resolved, chunk.ids).name,
                       .chunk = make_ids(ids_of(resolved, chunk.ids)),
                       .args = args != nullptr ? args : json::empty_object(),
                       .depends_on = make_array(on, TEXTOID),
                       .reason = tell_reason(resolved, chunk.reason, true),
                       .runs = true});
}

void tell_left_out(const Resolved &resolved, const LeftOut &left, const ExplainedSink &sink) {
    Jsonb *args = resolved.nodes[left.ids.node].args;
    sink.put(sink.to, {.job = type_of(resolved, left.ids).name,
                       .chunk = make_ids(ids_of(resolved, left.ids)),
                       .args = args != nullptr ? args : json::empty_object(),
                       .depends_on = construct_empty_array(TEXTOID),
                       .reason = tell_reason(resolved, left.reason, false),
                       .runs = false});
}

// Whether the same chunk was reported before: several nodes can need it.
bool was_told(const Resolved &resolved, std::size_t place) {
    const LeftOut &left = resolved.left_out[place];
    for (std::size_t i = place; i > 0; i--) {
        const LeftOut &other = resolved.left_out[i - 1];
        if (other.ids.node == left.ids.node && other.ids.first == left.ids.first &&
            other.reason.need == left.reason.need)
            return true;
        if (other.ids.end <= left.ids.first && other.of != left.of)
            break; // an earlier slice
    }
    return false;
}

// ---- a run ---------------------------------------------------------------------------------------------------------

struct Made {
    text *plan;
    std::optional<int64> id; // nothing: the plan of an earlier request
};
// Makes the plan and its tasks.
Made make(store::Store &store, const Resolved &resolved, const Request &request, const Options &options) {
    if (options.request_id != nullptr)
        if (text *plan = find_request(resolved, options))
            return {plan, {}};
    require_idle(resolved.types[0]);
    text *plan = options.plan != nullptr ? options.plan : make_up_name(resolved.now);
    const auto id = store::insert_plan(plan, nullptr, store::PlanMaker::job);
    if (!id)
        error::duplicate_plan(plan);
    if (!insert_run(*id, resolved, request, options)) {
        store::remove_plan(*id);
        return {find_request(resolved, options), {}};
    }
    const auto tasks = make_tasks(resolved, find_live(store, resolved, options), plan, options.not_before);
    if (!tasks.empty()) {
        (void)submit_many(store, tasks, IfTaken::refuse);
        insert_chunks(*id, resolved, options, tasks);
    }
    return {plan, id};
}

// ---- rerun of the whole request ------------------------------------------------------------------------------------

// Its options for another plan, which starts now and has another name.
Jsonb *options_of_rerun(Jsonb *options, const text *new_plan) {
    Datum left[] = {CStringGetTextDatum("request_id"), CStringGetTextDatum("not_before")};
    options = DatumGetJsonbP(
        DirectFunctionCall2(jsonb_delete_array, JsonbPGetDatum(options), PointerGetDatum(make_array(left, TEXTOID))));
    if (new_plan == nullptr)
        return options;
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::push_text(&state, "plan", new_plan);
    Jsonb *member = JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
    return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(options), JsonbPGetDatum(member)));
}

text *run_again(store::Store &store, int64 plan, const text *new_plan) {
    Parameters parameters;
    parameters.add(plan);
    const auto found = store::select<Request>(
        &request_statement, "select name, ids, args, options from scylla.job_run where plan operator(pg_catalog.=) $1",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            store::Columns columns(row);
            const text *job = columns.next_text();
            const Datum ids = columns.next_varlena();
            Jsonb *args = columns.next_jsonb();
            return Request{.job = job, .ids = ids, .args = args, .options = columns.next_jsonb()};
        });
    if (found.empty())
        elog(ERROR, "the run of plan " INT64_FORMAT " is gone", plan);
    Request request = found[0];
    request.options = options_of_rerun(request.options, new_plan);
    request.rerun_of = plan;
    return run(store, request);
}

} // namespace

void register_reruns() {
    register_rerun({.spec_of_copy = spec_of_copy, .copied = note_copied, .run_again = run_again});
}

text *run(store::Store &store, const Request &request) {
    const Options options = read_options(request.options);
    const Resolved resolved = resolve(store, request, options);
    const Made made = make(store, resolved, request, options);
    end_acting(store, resolved.acting);
    if (made.id) {
        if (resolved.acting.as_owner) { // the plan is the caller's all the same
            store::set_plan_owner(*made.id, cstring_to_text(GetUserNameFromId(GetUserId(), false)));
            CommandCounterIncrement();
            refresh(store);
        }
        open_plan(store, made.plan);
    }
    return made.plan;
}

void explain(store::Store &store, const Request &request, const ExplainedSink &sink) {
    const Options options = read_options(request.options);
    const Resolved resolved = resolve(store, request, options);
    const LiveTasks live = find_live(store, resolved, options);
    const RowMemory memory = begin_row_memory();
    for (const Chunk &chunk : resolved.chunks) {
        CHECK_FOR_INTERRUPTS();
        tell_chunk(resolved, live, chunk, sink);
        reset(memory);
    }
    for (std::size_t i = 0; i < resolved.left_out.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        if (!was_told(resolved, i))
            tell_left_out(resolved, resolved.left_out[i], sink);
        reset(memory);
    }
    end(memory);
    end_acting(store, resolved.acting);
}

} // namespace scylla::job
