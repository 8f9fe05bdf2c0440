// A run: the plan that brings a job up to date, or its explanation.
#include "job/resolve.h"
#include "pg/error.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "plan/plans.h"
#include "plan/rerun.h"
#include "store/job/jobs.h"
#include "store/job/job_runs.h"
#include "store/plans.h"

#include "task/names.h"
#include "task/submit.h"

namespace scylla::job {

namespace {

const Type &type_of(const Resolved &resolved, const model::JobChunk &chunk) {
    return resolved.types[resolved.nodes[chunk.node].type];
}

// ---- the rows of a run ---------------------------------------------------------------------------------------------

// The plan of an earlier request with this request_id; null: none. Only for callers that may see the plan.
text *find_request(const Resolved &resolved, const Options &options) {
    return store::job_runs::find_request(resolved.types[0].id, options.request_id).value_or(nullptr);
}

// 55000 if a run of a job without allow_multiple is live. Concurrent runs wait for this transaction.
void require_idle(const Type &type) {
    if (type.settings.allow_multiple)
        return;
    store::jobs::lock(type.id);
    if (const auto live = store::job_runs::find_live(type.id))
        error::job_running(type.name, *live);
}

// Without the name of the plan, which the run has: a rerun needs another name.
Jsonb *options_to_keep(Jsonb *options) {
    return DatumGetJsonbP(DirectFunctionCall2(jsonb_delete, JsonbPGetDatum(options), CStringGetTextDatum("plan")));
}

// False: another transaction has committed the same request meanwhile.
bool insert_run(int64 plan, const Resolved &resolved, const Request &request, const Options &options) {
    return store::job_runs::add({.plan = plan,
                                 .job = resolved.types[0].id,
                                 .name = resolved.types[0].name,
                                 .variant = options.variant,
                                 .ids = make_ids(resolved.ids),
                                 .args = request.args,
                                 .options = options_to_keep(request.options),
                                 .request_id = options.request_id,
                                 .created = resolved.now,
                                 .rerun_of = request.rerun_of}) > 0;
}

// Stores the ids of each task.
void insert_chunks(int64 plan, const Resolved &resolved, const Options &options, std::span<const Submission> tasks) {
    const auto chunks = allocate<store::job_runs::Chunk>(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); i++) {
        const Chunk &chunk = resolved.chunks[i];
        chunks[i] = {
            .rn = tasks[i].rn, .job = type_of(resolved, chunk.ids).id, .ids = make_ids(ids_of(resolved, chunk.ids))};
    }
    store::job_runs::add_chunks(plan, options.variant, chunks);
}

// ---- its tasks -----------------------------------------------------------------------------------------------------

// Ranges with both ends: [[1, 3], [5, 5]].
void push_ids(json::Builder &object, std::span<const model::JobRange> ids) {
    object.begin_array("ids");
    for (const model::JobRange &range : ids) {
        object.begin_array();
        object.element(json::of_whole(range.first));
        object.element(json::of_whole(range.end - 1));
        object.end_array();
    }
    object.end_array();
}

Jsonb *make_spec(const Resolved &resolved, const Chunk &chunk, const text *plan) {
    Jsonb *args = resolved.nodes[chunk.ids.node].args;
    json::Builder object = json::build_object();
    object.member("job", type_of(resolved, chunk.ids).name);
    push_ids(object, ids_of(resolved, chunk.ids));
    object.member("args", args != nullptr ? args : json::empty_object());
    object.member("plan", plan);
    return object.finish();
}

// What a chunk waits for: chunks of its own plan, and tasks of older ones.
std::span<const WaitFor> make_waits(const Chunk &chunk, const Resolved &resolved, std::span<const Submission> tasks) {
    const auto live = live_for(resolved, chunk.ids);
    const auto waits = allocate<WaitFor>(chunk.on_count + live.size());
    for (std::size_t n = 0; n < chunk.on_count; n++)
        waits[n] = {.what = WaitFor::What::task,
                    .name = tasks[resolved.on[chunk.first_on + n]].rn,
                    .on_failure = store::OnFailure::cascade};
    for (std::size_t n = 0; n < live.size(); n++)
        waits[chunk.on_count + n] = {.what = WaitFor::What::task,
                                     .name = live[n]->rn,
                                     .on_failure = counts_on(resolved, chunk, *live[n]) ? store::OnFailure::cascade
                                                                                        : store::OnFailure::ignore};
    return waits;
}

std::span<const Submission> make_tasks(const Resolved &resolved, text *plan, std::optional<TimestampTz> not_before) {
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
                    .waits = make_waits(chunk, resolved, tasks),
                    .plan = plan,
                    .retry = type.settings.retry,
                    .run_timeout = type.settings.run_timeout};
    }
    return tasks;
}

// ---- rerun of its failed part --------------------------------------------------------------------------------------

Jsonb *spec_of_copy(Jsonb *spec, const text *plan) {
    json::Builder object = json::build_object();
    object.member("plan", plan);
    Jsonb *member = object.finish();
    return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(spec), JsonbPGetDatum(member)));
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

void tell_chunk(const Resolved &resolved, const Chunk &chunk, const ExplainedSink &sink) {
    const auto waits = live_for(resolved, chunk.ids);
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

// Why it is left out: it is fresh, or a task of another plan brings it up to date.
const char *tell_left_out_reason(const Resolved &resolved, const LeftOut &left) {
    for (const LiveTask *task : live_for(resolved, left.ids))
        if (task->type == resolved.nodes[left.ids.node].type && task->oldest < task->began)
            return psprintf("task %s of plan %s brings it up to date", text_to_cstring(task->rn),
                            text_to_cstring(task->plan));
    return tell_reason(resolved, left.reason, false);
}

void tell_left_out(const Resolved &resolved, const LeftOut &left, const ExplainedSink &sink) {
    Jsonb *args = resolved.nodes[left.ids.node].args;
    sink.put(sink.to, {.job = type_of(resolved, left.ids).name,
                       .chunk = make_ids(ids_of(resolved, left.ids)),
                       .args = args != nullptr ? args : json::empty_object(),
                       .depends_on = construct_empty_array(TEXTOID),
                       .reason = tell_left_out_reason(resolved, left),
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
        store::plans::remove(*id);
        return {find_request(resolved, options), {}};
    }
    const auto tasks = make_tasks(resolved, plan, options.not_before);
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
    json::Builder object = json::build_object();
    object.member("plan", new_plan);
    Jsonb *member = object.finish();
    return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(options), JsonbPGetDatum(member)));
}

text *run_again(store::Store &store, int64 plan, const text *new_plan) {
    const auto found = store::job_runs::request_of(plan);
    if (!found)
        elog(ERROR, "the run of plan " INT64_FORMAT " is gone", plan);
    return run(store, {.job = found->name,
                       .ids = found->ids,
                       .args = found->args,
                       .options = options_of_rerun(found->options, new_plan),
                       .rerun_of = plan});
}

} // namespace

void register_reruns() {
    register_rerun({.spec_of_copy = spec_of_copy,
                    .copied = [](int64 plan, const text *copy) { store::job_runs::add_copies(plan, copy); },
                    .run_again = run_again});
}

text *run(store::Store &store, const Request &request) {
    const Options options = read_options(request.options);
    const Resolved resolved = resolve(store, request, options);
    const Made made = make(store, resolved, request, options);
    end_acting(store, resolved.acting);
    if (made.id) {
        if (resolved.acting.as_owner) { // the plan is the caller's all the same
            store::plans::set_owner(*made.id, cstring_to_text(GetUserNameFromId(GetUserId(), false)));
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
    const RowMemory memory = begin_row_memory();
    for (const Chunk &chunk : resolved.chunks) {
        CHECK_FOR_INTERRUPTS();
        tell_chunk(resolved, chunk, sink);
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
