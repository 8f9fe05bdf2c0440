#include "job/resolve.h"

#include "model/job_graph.h"
#include "pg/error.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "store/spi.h"
#include "task/rights.h"
#include "task/rules.h"

namespace scylla::job {

namespace {

constexpr int64 k_max_ids = 1'000'000'000'000'000;
constexpr std::size_t k_max_nodes = 10'000;
constexpr std::size_t k_max_chunks = 1'000'000;  // of a run
constexpr std::size_t k_max_memory = 50'000'000; // chunks of one slice

// ---- the ids -------------------------------------------------------------------------------------------------------

// Calls the function of the job as the role that defined it, so with a pinned search_path: the caller's must not
// resolve the names in it.
Datum select_ids(const Type &type, Jsonb *args) {
    const Oid role = get_role_oid(type.owner, true);
    if (!OidIsValid(role))
        error::no_job_role(type.name, type.owner);
    const char *function = text_to_cstring(type.settings.select_work);
    const char *from = returns_set(type.name, type.settings.select_work) ? "%s($1)" : "pg_catalog.unnest(%s($1))";
    const char *sql = psprintf("select pg_catalog.range_agg(pg_catalog.int8range(f.id, f.id, '[]')) from %s f (id) "
                               "where f.id is not null",
                               psprintf(from, function));
    MemoryContext caller = CurrentMemoryContext;
    return store::call_as(role, [&] {
        Oid type_of[] = {JSONBOID};
        Datum value[] = {JsonbPGetDatum(args)};
        if (SPI_execute_with_args(sql, 1, type_of, value, nullptr, false, 0) != SPI_OK_SELECT)
            elog(ERROR, "SPI_execute_with_args failed: %s", SPI_result_code_string(SPI_result));
        bool null = false;
        const Datum found = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null);
        MemoryContext spi = MemoryContextSwitchTo(caller);
        const Datum ids = null ? make_ids({}) : datumCopy(found, false, -1);
        MemoryContextSwitchTo(spi);
        return ids;
    });
}

struct Ids {
    std::span<const model::JobRange> ranges;
    std::span<const int64> before;
    int64 count;
};
Ids count_ids(const Type &type, std::span<const model::JobRange> ranges) {
    const auto before = allocate<int64>(ranges.size());
    int64 count = 0;
    for (std::size_t i = 0; i < ranges.size(); i++) {
        before[i] = count;
        int64 length = 0;
        if (__builtin_sub_overflow(ranges[i].end, ranges[i].first, &length) || length > k_max_ids - count)
            error::job_too_large(type.name, "ids", k_max_ids);
        count += length;
    }
    return {ranges, before, count};
}

Ids ids_of_request(const Type &type, const Request &request, Jsonb *args) {
    if (request.ids != 0)
        return count_ids(type, read_ids("ids", request.ids));
    if (type.settings.ids != 0)
        return count_ids(type, read_ids("ids", type.settings.ids));
    if (type.settings.select_work == nullptr)
        error::bad_argument("ids", "null", "The job has neither ids of its own nor a function select_work.");
    return count_ids(type, read_ids("select_work", select_ids(type, args)));
}

// ---- the arguments -------------------------------------------------------------------------------------------------

Jsonb *overlay(Jsonb *args, Jsonb *with) {
    if (with == nullptr || args == nullptr)
        return with == nullptr ? args : with;
    return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(args), JsonbPGetDatum(with)));
}

// Numbers arguments; equal ones have the same number.
struct Arguments {
    Growing<Jsonb *> known; // null: none

    std::size_t number_of(Jsonb *args) {
        if (args != nullptr && JB_ROOT_COUNT(args) == 0)
            args = nullptr;
        std::size_t i = 0;
        while (i < known.size() && !are_equal(known[i], args))
            i++;
        if (i == known.size())
            known.push_back(args);
        return i;
    }
    static bool are_equal(Jsonb *a, Jsonb *b) {
        return a == b || (a != nullptr && b != nullptr && compareJsonbContainers(&a->root, &b->root) == 0);
    }
};

// ---- the graph -----------------------------------------------------------------------------------------------------

std::size_t place_of(std::span<const Type> types, const text *name) {
    for (std::size_t i = 0; i < types.size(); i++)
        if (equal(types[i].name, name))
            return i;
    error::no_such_job(name);
}

std::span<const model::FreshStretch> number_fresh(const Type &type, const text *variant, const Ids &ids,
                                                  std::span<const Stored> expected) {
    const auto fresh = read_fresh(type.id, variant, expected);
    const auto stretches = allocate<model::FreshStretch>(2 * fresh.size() + 2 * ids.ranges.size() + 1);
    return stretches.first(model::number_fresh(fresh, ids.ranges, stretches));
}

// What the tasks of other plans will have done.
std::span<const Stored> expected_of(const LiveTasks &live, std::size_t type) {
    Growing<Stored> expected;
    for (const LiveTask &task : live.tasks)
        if (task.type == type)
            expected.push_back({0, task.id_set, task.began});
    return expected.all();
}

std::span<const model::JobType> model_types(std::span<const Type> types, const Options &options, const Ids &ids,
                                            const LiveTasks &live, Arguments *arguments) {
    const auto modelled = allocate<model::JobType>(types.size());
    for (std::size_t i = 0; i < types.size(); i++) {
        const auto needs = allocate<model::JobTypeNeed>(types[i].needs.size());
        for (std::size_t n = 0; n < needs.size(); n++) {
            const Need &need = types[i].needs[n];
            needs[n] = {place_of(types, need.job), need.max_lag, arguments->number_of(need.args), need.unique,
                        need.allow_missing};
        }
        modelled[i] = {types[i].settings.chunk_size, needs, {}, types[i].last_plan};
        if (i > 0) // the freshness of the requested type is not needed
            modelled[i].fresh = number_fresh(types[i], options.variant, ids, expected_of(live, i));
    }
    return modelled;
}

struct Grown {
    Growing<model::JobNodeName> names;
    Growing<model::JobNode> nodes;
    Growing<model::JobNeed> needs;
};

// The nodes, each after all that it needs. Definitions that were made concurrently can need each other.
std::span<std::size_t> order_of(std::span<const Type> types, const Grown &grown) {
    const auto first = allocate<std::size_t>(grown.nodes.size() + 1);
    const auto targets = allocate<std::size_t>(grown.needs.size());
    for (std::size_t n = 0; n < grown.nodes.size(); n++)
        first[n] = grown.nodes[n].first_need;
    first[grown.nodes.size()] = targets.size();
    for (std::size_t n = 0; n < targets.size(); n++)
        targets[n] = grown.needs[n].node;
    const model::Graph graph{first, targets};
    const auto work = allocate<model::CycleWork>(graph.nodes());
    const auto order = allocate<std::size_t>(graph.nodes());
    if (const auto cycle = model::find_cycle(graph, work, order); !cycle.empty())
        error::job_cycle(text_to_cstring(types[grown.names[cycle[0]].type].name));
    model::put_targets_first(graph, work, order);
    return order;
}

// ---- the chunks ----------------------------------------------------------------------------------------------------

// Collects what the model reports.
struct Collected {
    const Type &type;
    Growing<Chunk> chunks{};
    Growing<std::size_t> on{};
    Growing<LeftOut> left_out{};

    std::size_t task(const model::JobChunk &ids, const model::JobReason &reason) {
        CHECK_FOR_INTERRUPTS();
        if (chunks.size() == k_max_chunks)
            error::job_too_large(type.name, "tasks", k_max_chunks);
        chunks.push_back({ids, reason, on.size(), 0});
        return chunks.size() - 1;
    }
    void depends(std::size_t of, std::size_t other) { // of: the last one
        on.push_back(other);
        chunks[of].on_count++;
    }
    void fresh(std::size_t of, const model::JobChunk &ids, const model::JobReason &reason) {
        left_out.push_back({of, ids, reason});
    }
};

bool may_submit(store::Store &store, std::span<const Type> types) {
    return std::all_of(types.begin(), types.end(), [&](const Type &type) {
        const auto queue = find_queue(store, type.queue);
        return queue && rights::may(store, queue->id, model::Privilege::submit);
    });
}

// A role that may run the job, but not submit to the queues, does so with the rights of the owner.
Acting act(store::Store &store, std::span<const Type> types) {
    Acting acting{};
    const Type &job = types[0];
    if (!may_submit(store, types) && rights::has_any(GetUserId(), job.owner, job.runners)) {
        const Oid owner = get_role_oid(job.owner, true);
        if (!OidIsValid(owner))
            error::no_job_role(job.name, job.owner);
        acting = {.self = become(owner, SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION),
                  .as_owner = true};
        store.last_queue = {}; // it knows what the caller may do
    }
    for (const Type &type : types)
        (void)rights::require_queue(store, type.queue, model::Privilege::submit);
    return acting;
}

text *read_plan_name(const char *argument, text *value) {
    constexpr int k_longest = 190; // the names of tasks begin with it, and may have 200
    value = args::name(argument, value);
    if (pg_mbstrlen_with_len(view(value).data(), static_cast<int>(view(value).size())) > k_longest)
        error::bad_argument(argument, error::quote(value), "It must have 1 to 190 characters.");
    return value;
}

} // namespace

void end_acting(store::Store &store, const Acting &acting) {
    if (!acting.as_owner)
        return;
    restore(acting.self);
    store.last_queue = {}; // it knows what the owner may do
}

Options read_options(Jsonb *options) {
    Options read{.variant = cstring_to_text("")};
    if (!json::is_object(options))
        error::bad_argument("options", error::show(options), "It must be an object.");
    json::for_each_member(&options->root, [&](const char *argument, JsonbValue *value) {
        const std::string_view member(argument);
        if (value->type == jbvNull)
            return;
        if (member == "prune") {
            const text *prune = json::to_text(argument, value);
            if (view(prune) != "slice" && view(prune) != "chunk")
                error::bad_argument(argument, error::quote(prune), "It must be 'slice' or 'chunk'.");
            read.prune = view(prune) == "slice" ? model::Prune::slice : model::Prune::chunk;
        } else if (member == "strict_order")
            read.strict_order = json::to_bool(argument, value);
        else if (member == "wait")
            read.wait = json::to_bool(argument, value);
        else if (member == "variant")
            read.variant = args::name(argument, json::to_text(argument, value));
        else if (member == "request_id")
            read.request_id = args::name(argument, json::to_text(argument, value));
        else if (member == "plan")
            read.plan = read_plan_name(argument, json::to_text(argument, value));
        else if (member == "not_before")
            read.not_before = args::not_before(json::to_time(argument, value));
        else
            error::bad_argument("options", error::quote(cstring_to_text(argument)),
                                "There is no such option of a run.");
    });
    return read;
}

Resolved resolve(store::Store &store, const Request &request, const Options &options) {
    const auto types = read_closure(request.job, options.variant);
    if (types.empty())
        error::no_such_job(request.job);
    const Acting acting = act(store, types);
    const Ids ids = ids_of_request(types[0], request, overlay(types[0].settings.args, request.args));

    Arguments arguments;
    const LiveTasks live = find_live(store, types, ids.ranges, options);
    const auto modelled = model_types(types, options, ids, live, &arguments);
    Grown grown;
    const bool fits =
        model::grow_job_graph(modelled, {0, arguments.number_of(request.args), 0}, k_max_nodes, grown,
                              [&](std::size_t args, std::size_t with) {
                                  return arguments.number_of(overlay(arguments.known[args], arguments.known[with]));
                              });
    if (!fits)
        error::job_too_large(request.job, "combinations of a job and its arguments", k_max_nodes);

    const model::JobGraph graph{grown.nodes.all(), grown.needs.all(), order_of(types, grown)};
    const std::size_t tasks = job_tasks_needed(graph, ids.count);
    const std::size_t ages = job_ages_needed(graph, ids.count);
    if (tasks > k_max_memory || ages > k_max_memory)
        error::job_too_large(request.job, "chunks", k_max_memory);
    const TimestampTz now = GetCurrentTimestamp();
    const model::JobRequest asked{ids.count, now, options.prune, options.strict_order};
    const model::JobPlanMemory memory{allocate<std::size_t>(tasks), allocate<int64>(ages)};
    Collected collected{.type = types[0]};
    model::JobPlan(graph, asked, memory, collected).make();

    const auto nodes = allocate<Node>(grown.names.size());
    for (std::size_t n = 0; n < nodes.size(); n++) {
        const model::JobNodeName &name = grown.names[n];
        nodes[n] = {name.type, overlay(types[name.type].settings.args, arguments.known[name.args])};
    }
    return {.acting = acting,
            .types = types,
            .nodes = nodes,
            .needs = grown.needs.all(),
            .ids = ids.ranges,
            .before = ids.before,
            .chunks = collected.chunks.all(),
            .on = collected.on.all(),
            .left_out = collected.left_out.all(),
            .now = now,
            .live = live};
}

std::span<const model::JobRange> ids_of(const Resolved &resolved, const model::JobChunk &chunk) {
    Growing<model::JobRange> ranges;
    const auto after = std::upper_bound(resolved.before.begin(), resolved.before.end(), chunk.first);
    for (auto i = static_cast<std::size_t>(after - resolved.before.begin()) - 1;
         i < resolved.ids.size() && resolved.before[i] < chunk.end; i++) {
        const int64 shift = resolved.ids[i].first - resolved.before[i];
        ranges.push_back(
            {std::max(chunk.first, resolved.before[i]) + shift, std::min(chunk.end + shift, resolved.ids[i].end)});
    }
    return ranges.all();
}

} // namespace scylla::job
