// submit, submit_many, submit_bulk: new tasks.
#include "model/graph.h"
#include "pg/error.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "pg/settings.h"
#include "shmem/pending.h"
#include "store/plans.h"
#include "store/upsert.h"
#include "task/admission.h"
#include "api/call.h"
#include "api/rows.h"
#include "task/rules.h"
#include "queue/depth.h"
#include "plan/gates.h"
#include "task/history.h"
#include "pg/json.h"
#include "task/retry.h"
#include "task/names.h"
#include "task/rights.h"

namespace scylla {

using store::SpecRow;
using store::Store;

namespace {

// One task to be submitted, checked.
struct Submission {
    text *queue;
    Jsonb *spec;
    int16 priority;
    text *rn; // null: to be made up
    std::optional<TimestampTz> not_before;
    std::optional<int32> max_attempts;
    std::span<text *> depends_on;
    store::OnFailure on_failure;
    text *plan;      // may be null
    Jsonb *retry;    // may be null
    text *dedup_key; // may be null
    text *key;       // may be null
};

// The queue, made on first use where that is allowed.
store::QueueRow queue_for(Store &store, const text *name) {
    for (;;) {
        if (const auto queue = find_queue(store, name)) {
            rights::require(store, *queue, model::Privilege::submit);
            return *queue;
        }
        if (!settings::auto_create_queues)
            error::no_such_queue(name);
        store::insert_queue(name, {});
        shmem::note_queue();
        refresh(store);
    }
}

// plan: its id; 0: none.
SpecRow make_spec(const Submission &task, const store::QueueRow &queue, int64 plan, TimestampTz now) {
    const auto gates = static_cast<int32>(task.depends_on.size()) + (plan != 0 ? 1 : 0);
    return {store::next_task_id(),
            now,
            queue.id,
            task.priority,
            task.rn != nullptr ? task.rn : make_up_name(now),
            task.spec,
            task.not_before,
            task.max_attempts ? task.max_attempts : queue.max_attempts,
            gates > 0 ? std::optional(gates) : std::nullopt,
            plan != 0 ? std::optional(plan) : std::nullopt,
            task.retry,
            task.dedup_key,
            task.key,
            {}};
}

// 23505 if the name is taken; one that we have made up cannot be.
void insert_new(Store &store, const SpecRow &spec, bool made_up) {
    if (made_up)
        insert_made_up(store, spec);
    else if (!insert(store, spec))
        error::duplicate_task(spec.rn);
}

// The plan that a task is to belong to, held so that it cannot end before this transaction. 0: none.
int64 plan_id(const text *name) {
    if (name == nullptr)
        return 0;
    const auto plan = store::hold_plan(name, store::Hold::share);
    if (!plan || !rights::owns(plan->owner))
        error::no_such_plan(name);
    if (plan->finished)
        error::plan_ended(name, plan->cancelled ? "cancelled" : "finished");
    return plan->id;
}

// The id of a task that others depend on.
int64 provider_id(Store &store, const text *rn, int64 element = 0) {
    const auto spec = find_spec(store, rn, store::With::no_spec);
    if (!spec || !rights::may(store, spec->queue, model::Privilege::view)) // its result becomes an argument
        error::no_such_provider(rn, nullptr, element);
    return spec->id;
}

void insert_gates(Store &store, const SpecRow &spec, std::span<const int64> providers, store::OnFailure on_failure) {
    if (spec.plan)
        insert(store, store::GateRow{spec.id, *spec.plan, 0, store::GateKind::plan, on_failure, {}});
    int32 ord = 0;
    for (const int64 provider : providers)
        insert(store, store::GateRow{spec.id, provider, ++ord, store::GateKind::task, on_failure, {}});
}

// Where a new task begins. Its gates are in the table.
Task place(Store &store, store::Dirty *dirty, const SpecRow &spec) {
    shmem::count(stat_key(spec.queue), shmem::Count::submitted);
    if (spec.gates)
        return place_gated(store, dirty, spec, spec.created);
    if (spec.not_before && *spec.not_before > spec.created)
        return make_waiting(store, spec, {}, *spec.not_before, spec.created);
    return make_ready(store, spec, {}, spec.created, true);
}

// The same where it is known that a gate is closed, and that no provider has failed.
Task place_closed(Store &store, const SpecRow &spec) {
    shmem::count(stat_key(spec.queue), shmem::Count::submitted);
    return make_waiting(store, spec, {}, std::nullopt, spec.created);
}

// Where a task ends at once for which there is no room (queue/depth.h). Gates are to be settled, as others may wait for
// it.
Task shed(Store &store, const SpecRow &spec) {
    const shmem::StatKey key = stat_key(spec.queue);
    shmem::count(key, shmem::Count::submitted);
    shmem::count(key, shmem::Count::shed);
    store::Carry carry{};
    carry.errors = add_error(nullptr, make_error("queue-full", "the queue has reached its max_depth"));
    return make_final(store, spec, {model::Status::cancelled, 0, nullptr, {}, carry, nullptr, nullptr}, spec.created);
}

// Inserts the task; nothing if its rn or its deduplication key is taken and `ignore` says that this is no error.
std::optional<Task> try_submit(Store &store, const Submission &task, bool ignore) {
    const auto providers = allocate<int64>(task.depends_on.size());
    for (std::size_t i = 0; i < providers.size(); i++) {
        if (task.rn != nullptr && equal(task.depends_on[i], task.rn))
            error::dependency_cycle(psprintf("%s -> %s", error::quote(task.rn), error::quote(task.rn)));
        providers[i] = provider_id(store, task.depends_on[i]);
    }
    const store::QueueRow queue = queue_for(store, task.queue);
    // What is not needed after all, because somebody else has just taken the name, is given back at the end of the
    // transaction.
    const bool has_room = take_room(store, queue, 1) == 1;
    const SpecRow spec = make_spec(task, queue, plan_id(task.plan), GetCurrentTimestamp());
    bool inserted = true;
    if (spec.dedup_key != nullptr) {
        // Where both are taken it is the name that is said to be.
        if (!ignore && task.rn != nullptr && find_spec(store, task.rn, store::With::no_spec))
            error::duplicate_task(task.rn);
        store::insert_dedup_keys({&spec, 1}, {&inserted, 1});
        if (!inserted && !ignore)
            error::duplicate_key(spec.dedup_key, task.queue);
        if (!inserted)
            return std::nullopt;
    }
    if (!ignore || task.rn == nullptr)
        insert_new(store, spec, task.rn == nullptr);
    else
        store::insert_specs({&spec, 1}, {&inserted, 1});
    if (!inserted) {
        if (spec.dedup_key != nullptr)
            remove_dedup_key(store, spec);
        return std::nullopt;
    }
    insert_gates(store, spec, providers, task.on_failure);
    store::Dirty *dirty = store::begin_dirty(store);
    const Task placed = has_room ? place(store, dirty, spec) : shed(store, spec);
    end(dirty);
    if (spec.gates) {
        // A provider that had failed may have ended it at once; and its gates are to be seen for its args.
        CommandCounterIncrement();
        settle_gates(store, spec.created);
        refresh(store);
    }
    return placed;
}

// Submits unless the rn or the deduplication key is taken; then the task that has it, if the role may see it.
Task submit_or_find(Store &store, const Submission &task) {
    for (;; refresh(store)) {
        const auto queue = find_queue(store, task.queue);
        if (queue)
            rights::require(store, *queue, model::Privilege::submit);
        if (task.rn != nullptr)
            if (const auto existing = find_spec(store, task.rn, store::With::spec)) {
                if (!rights::may(store, existing->queue, model::Privilege::view))
                    error::duplicate_task(task.rn);
                return require_task(store, *existing);
            }
        if (queue && task.dedup_key != nullptr)
            if (const auto id = find_dedup_key(store, queue->id, task.dedup_key))
                if (const auto existing = find_spec(store, *id, store::With::spec)) {
                    if (!rights::may(store, queue->id, model::Privilege::view))
                        error::duplicate_key(task.dedup_key, task.queue);
                    return require_task(store, *existing);
                }
        if (const auto submitted = try_submit(store, task, true))
            return *submitted;
    }
}

// A retry policy that may be null.
Jsonb *optional_policy(Jsonb *policy, int64 element = 0) {
    if (policy != nullptr)
        read_retry_policy(policy, element);
    return policy;
}

// The names in an array argument; empty if it is null.
std::span<text *> get_names(FunctionCallInfo fcinfo, int n, const char *argument) {
    const auto array = args::get_array(fcinfo, n, TEXTOID);
    const auto names = allocate<text *>(array ? static_cast<std::size_t>(array->size) : 0);
    for (std::size_t i = 0; i < names.size(); i++)
        names[i] =
            args::name(argument, array->null[i] ? nullptr : DatumGetTextPP(array->value[i]), static_cast<int64>(i + 1));
    return names;
}

// ---- submit_many: reading the elements -----------------------------------------------------------------------------

using json::show;
using json::to_int;
using json::to_jsonb;
using json::to_text;
using json::to_time;

std::span<text *> to_names(const char *argument, JsonbValue *value, int64 element) {
    if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data))
        error::bad_argument(argument, show(value), "It must be an array of texts.", element);
    const auto names = allocate<text *>(JsonContainerSize(value->val.binary.data));
    JsonbIterator *iterator = JsonbIteratorInit(value->val.binary.data);
    JsonbValue each;
    std::size_t n = 0;
    for (JsonbIteratorToken token = JsonbIteratorNext(&iterator, &each, true); token != WJB_DONE;
         token = JsonbIteratorNext(&iterator, &each, true))
        if (token == WJB_ELEM)
            names[n++] = args::name(argument, to_text(argument, &each, element), element);
    return names;
}

Submission to_submission(JsonbValue *object, int64 element) {
    if (object->type != jbvBinary || !JsonContainerIsObject(object->val.binary.data))
        error::bad_argument("tasks", show(object), "Each element must be an object.", element);
    text *queue = nullptr;
    Jsonb *spec = nullptr;
    text *rn = nullptr;
    int32 priority = 0;
    std::optional<TimestampTz> not_before;
    std::optional<int32> max_attempts;
    std::span<text *> depends_on;
    store::OnFailure on_failure = store::OnFailure::cascade;
    text *plan = nullptr;
    Jsonb *retry = nullptr;
    text *dedup_key = nullptr;
    text *key = nullptr;

    json::for_each_member(object->val.binary.data, [&](const char *argument, JsonbValue *value) {
        const std::string_view name(argument);
        const bool known = name == "queue" || name == "spec" || name == "priority" || name == "rn" ||
                           name == "not_before" || name == "max_attempts" || name == "depends_on" ||
                           name == "on_dependency_failure" || name == "plan" || name == "retry" ||
                           name == "dedup_key" || name == "key";
        if (!known)
            error::bad_argument("tasks", error::quote(cstring_to_text(argument)),
                                "There is no such argument of submit.", element);
        if (value->type == jbvNull)
            return;
        if (name == "queue")
            queue = to_text(argument, value, element);
        else if (name == "spec")
            spec = to_jsonb(value);
        else if (name == "rn")
            rn = to_text(argument, value, element);
        else if (name == "priority")
            priority = to_int(argument, value, element);
        else if (name == "max_attempts")
            max_attempts = to_int(argument, value, element);
        else if (name == "depends_on")
            depends_on = to_names(argument, value, element);
        else if (name == "on_dependency_failure")
            on_failure = args::on_dependency_failure(to_text(argument, value, element), element);
        else if (name == "plan")
            plan = to_text(argument, value, element);
        else if (name == "retry")
            retry = to_jsonb(value);
        else if (name == "dedup_key")
            dedup_key = to_text(argument, value, element);
        else if (name == "key")
            key = to_text(argument, value, element);
        else
            not_before = to_time(argument, value, element);
    });
    return {args::name("queue", queue, element),
            args::spec(spec, element),
            args::priority(priority, element),
            args::optional_name("rn", rn, element),
            args::not_before(not_before, element),
            args::max_attempts(max_attempts, element),
            depends_on,
            on_failure,
            args::optional_name("plan", plan, element),
            optional_policy(retry, element),
            args::optional_name("dedup_key", dedup_key, element),
            args::optional_name("key", key, element)};
}

// Puts indices in the order of the names of what they stand for, and those of the same name in their own.
template <typename NameOf> void sort_by_name(std::span<std::size_t> order, NameOf name_of) {
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const int compared = view(name_of(a)).compare(view(name_of(b)));
        return compared != 0 ? compared < 0 : a < b;
    });
}

std::span<Submission> read_tasks(Jsonb *tasks) {
    const auto submissions = allocate<Submission>(static_cast<std::size_t>(JB_ROOT_COUNT(tasks)));
    JsonbIterator *iterator = JsonbIteratorInit(&tasks->root);
    JsonbValue value;
    std::size_t n = 0;
    for (JsonbIteratorToken token = JsonbIteratorNext(&iterator, &value, true); token != WJB_DONE;
         token = JsonbIteratorNext(&iterator, &value, true))
        if (token == WJB_ELEM) {
            submissions[n] = to_submission(&value, static_cast<int64>(n + 1));
            n++;
        }
    return submissions;
}

// Looks up something by a name of each element, once per name and in the order of the names, so that two calls cannot
// wait for each other in a circle. Elements without the name get the value 0.
template <typename Id, typename NameOf, typename Find>
std::span<Id> look_up_each(std::span<const Submission> tasks, NameOf name_of, Find find) {
    const auto ids = allocate<Id>(tasks.size());
    const auto order = allocate<std::size_t>(tasks.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < tasks.size(); i++) {
        ids[i] = Id{};
        if (name_of(tasks[i]) != nullptr)
            order[count++] = i;
    }
    sort_by_name(order.first(count), [&](std::size_t i) { return name_of(tasks[i]); });
    for (std::size_t i = 0; i < count; i++) {
        const text *name = name_of(tasks[order[i]]);
        ids[order[i]] = i > 0 && equal(name, name_of(tasks[order[i - 1]])) ? ids[order[i - 1]] : find(name);
    }
    return ids;
}

// What each element of submit_many depends on: another element, or a task that exists.
struct Dependencies {
    std::span<std::size_t> first;   // of element i: from first[i] to first[i + 1] - 1
    std::span<std::size_t> element; // k_none: not an element
    std::span<int64> provider;      // the id, if it is not an element
};
constexpr std::size_t k_none = SIZE_MAX;

[[noreturn]] void report_cycle(std::span<const Submission> tasks, std::span<const std::size_t> cycle) {
    constexpr std::size_t k_shown = 20;
    StringInfoData path;
    initStringInfo(&path);
    for (std::size_t i = 0; i < cycle.size() && i < k_shown; i++)
        appendStringInfo(&path, "%s -> ", error::quote(tasks[cycle[i]].rn));
    appendStringInfo(&path, "%s%s", cycle.size() > k_shown ? "... -> " : "", error::quote(tasks[cycle[0]].rn));
    error::dependency_cycle(path.data);
}

void refuse_cycle(std::span<const Submission> tasks, const Dependencies &all) {
    const auto first = allocate<std::size_t>(tasks.size() + 1);
    const auto target = allocate<std::size_t>(all.element.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < tasks.size(); i++) {
        first[i] = count;
        for (std::size_t e = all.first[i]; e < all.first[i + 1]; e++)
            if (all.element[e] != k_none)
                target[count++] = all.element[e];
    }
    first[tasks.size()] = count;
    const auto cycle = model::find_cycle({first, target.first(count)}, allocate<model::CycleWork>(tasks.size()),
                                         allocate<std::size_t>(tasks.size()));
    if (!cycle.empty())
        report_cycle(tasks, cycle);
}

// P0002 for a task that does not exist, 22023 for a cycle.
Dependencies resolve(Store &store, std::span<const Submission> tasks) {
    std::size_t edges = 0;
    std::size_t named = 0;
    for (const Submission &task : tasks)
        edges += task.depends_on.size();
    const Dependencies all{allocate<std::size_t>(tasks.size() + 1), allocate<std::size_t>(edges),
                           allocate<int64>(edges)};
    const auto by_name = allocate<std::size_t>(tasks.size());
    if (edges > 0)
        for (std::size_t i = 0; i < tasks.size(); i++)
            if (tasks[i].rn != nullptr)
                by_name[named++] = i;
    sort_by_name(by_name.first(named), [&](std::size_t i) { return tasks[i].rn; });
    std::size_t edge = 0;
    for (std::size_t i = 0; i < tasks.size(); i++) {
        all.first[i] = edge;
        for (const text *rn : tasks[i].depends_on) {
            const auto *found =
                std::lower_bound(by_name.data(), by_name.data() + named, view(rn),
                                 [&](std::size_t e, std::string_view name) { return view(tasks[e].rn) < name; });
            const bool is_element = found != by_name.data() + named && equal(tasks[*found].rn, rn);
            all.element[edge] = is_element ? *found : k_none;
            all.provider[edge] = is_element ? 0 : provider_id(store, rn, static_cast<int64>(i + 1));
            edge++;
        }
    }
    all.first[tasks.size()] = edge;
    if (edge > 0)
        refuse_cycle(tasks, all);
    return all;
}

// For which of the rows that were inserted there is room: the first of each queue. Every queue once, and in the order
// of their ids, so that two calls cannot wait for each other in a circle.
std::span<const bool> take_rooms(Store &store, std::span<const store::QueueRow *const> queues,
                                 std::span<const Admission> admissions) {
    const auto inserted = [&](std::size_t i) { return admissions[i].fate == Fate::inserted; };
    const auto order = allocate<std::size_t>(queues.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return queues[a]->id < queues[b]->id; });
    const auto has_room = allocate<bool>(queues.size());
    for (std::size_t from = 0, to = 0; from < order.size(); from = to) {
        const store::QueueRow &queue = *queues[order[from]];
        int64 wanted = 0;
        for (to = from; to < order.size() && queues[order[to]]->id == queue.id; to++)
            wanted += inserted(order[to]) ? 1 : 0;
        int64 left = take_room(store, queue, wanted);
        for (std::size_t i = from; i < to; i++)
            has_room[order[i]] = inserted(order[i]) && left-- > 0;
    }
    return has_room;
}

// The providers that are elements become tasks: where an element was not inserted it is the task that is there instead.
// That may be another element, with the same deduplication key: 22023 if a cycle comes of it.
void settle_elements(Store &store, std::span<const Submission> tasks, std::span<const SpecRow> rows,
                     std::span<const Admission> admissions, const Dependencies &all) {
    bool moved = false;
    for (std::size_t i = 0; i < rows.size(); i++)
        for (std::size_t e = all.first[i]; admissions[i].fate == Fate::inserted && e < all.first[i + 1]; e++) {
            std::size_t &element = all.element[e];
            if (element == k_none)
                continue;
            if (admissions[element].fate != Fate::inserted) {
                all.provider[e] = provider_id(
                    store, admissions[element].holder != nullptr ? admissions[element].holder : rows[element].rn,
                    static_cast<int64>(i + 1));
                // Their ids rise, and are those of new tasks only.
                const auto *row = std::lower_bound(rows.data(), rows.data() + rows.size(), all.provider[e],
                                                   [](const SpecRow &of, int64 id) { return of.id < id; });
                const bool is_element = row != rows.data() + rows.size() && row->id == all.provider[e];
                element = is_element ? static_cast<std::size_t>(row - rows.data()) : k_none;
                moved = moved || is_element;
            } else
                all.provider[e] = rows[element].id;
        }
    if (moved)
        refuse_cycle(tasks, all);
}

// Gates and beginnings of the rows that were inserted. What a row depends on is mostly other rows, whose ends nobody
// else can bring about: whether they are open need not be looked up.
void place_rows(Store &store, std::span<const Submission> tasks, std::span<const SpecRow> rows,
                std::span<const Admission> admissions, std::span<const bool> has_room, const Dependencies &dependencies,
                TimestampTz now) {
    const auto inserted = [&](std::size_t i) { return admissions[i].fate == Fate::inserted; };
    for (const store::TableId table : {store::TableId::gate, store::TableId::ready, store::TableId::waiting})
        begin_bulk(store[table]);
    const auto ended = allocate<bool>(rows.size());
    std::fill(ended.begin(), ended.end(), false);
    store::Dirty *dirty = store::begin_dirty(store);
    const RowMemory memory = begin_row_memory();
    const auto edges_of = [&](std::size_t i, auto of) {
        return of.subspan(dependencies.first[i], dependencies.first[i + 1] - dependencies.first[i]);
    };
    for (std::size_t i = 0; i < rows.size(); i++) {
        if (inserted(i))
            insert_gates(store, rows[i], edges_of(i, dependencies.provider), tasks[i].on_failure);
        reset(memory);
    }
    end_bulk(store[store::TableId::gate]); // all of them, before anybody looks whether they are open
    const auto waits_for_rows = [&](std::size_t i) {
        const auto elements = edges_of(i, dependencies.element);
        return !elements.empty() && std::all_of(elements.begin(), elements.end(), [&](std::size_t element) {
            return element != k_none && !ended[element];
        });
    };
    for (std::size_t i = 0; i < rows.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        if (has_room[i])
            ended[i] = model::is_final(
                (waits_for_rows(i) ? place_closed(store, rows[i]) : place(store, dirty, rows[i])).status);
        else if (inserted(i))
            ended[i] = model::is_final(shed(store, rows[i]).status);
        reset(memory);
    }
    end(memory);
    end(dirty);
    end_bulk(store[store::TableId::ready]);
    end_bulk(store[store::TableId::waiting]);
    CommandCounterIncrement();
    settle_gates(store, now); // what a failed provider has ended at once
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_submit) {
    using namespace scylla;
    const Submission task{args::name("queue", args::get_text(fcinfo, 0)),
                          args::spec(args::get_jsonb(fcinfo, 1)),
                          args::priority(args::get_int(fcinfo, 2)),
                          args::optional_name("rn", args::get_text(fcinfo, 3)),
                          args::not_before(PG_ARGISNULL(4) ? std::nullopt : std::optional(PG_GETARG_TIMESTAMPTZ(4))),
                          args::max_attempts(args::get_int(fcinfo, 8)),
                          get_names(fcinfo, 5, "depends_on"),
                          args::on_dependency_failure(args::get_text(fcinfo, 6)),
                          args::optional_name("plan", args::get_text(fcinfo, 7)),
                          optional_policy(args::get_jsonb(fcinfo, 9)),
                          args::optional_name("dedup_key", args::get_text(fcinfo, 10)),
                          args::optional_name("key", args::get_text(fcinfo, 11))};
    const bool ignore = args::ignore_duplicate(args::get_text(fcinfo, 12));
    store::Store store = open_for_write("scylla.submit()");
    const Task submitted = ignore && (task.rn != nullptr || task.dedup_key != nullptr)
                               ? submit_or_find(store, task)
                               : *try_submit(store, task, false);
    return return_task(fcinfo, store, submitted, Show::all);
}

SCYLLA_FUNCTION(scylla_submit_many) {
    using namespace scylla;
    Jsonb *tasks = args::get_jsonb(fcinfo, 0);
    if (tasks == nullptr || !JB_ROOT_IS_ARRAY(tasks) || JB_ROOT_IS_SCALAR(tasks))
        error::bad_argument("tasks", error::show(tasks), "It must be an array of objects.");
    const bool ignore = args::ignore_duplicate(args::get_text(fcinfo, 1));
    const Rows result = begin_rows(fcinfo);
    store::Store store = open_for_write("scylla.submit_many()");
    const TimestampTz now = GetCurrentTimestamp();
    // Everything is checked before anything is made.
    const auto submissions = read_tasks(tasks);
    const Dependencies dependencies = resolve(store, submissions);
    const auto queues = look_up_each<const store::QueueRow *>(
        submissions, [](const Submission &task) { return task.queue; },
        [&](const text *name) {
            auto *row = static_cast<store::QueueRow *>(palloc(sizeof(store::QueueRow)));
            *row = queue_for(store, name);
            return row;
        });
    const auto plans = look_up_each<int64>(
        submissions, [](const Submission &task) { return task.plan; }, plan_id);
    const auto rows = allocate<store::SpecRow>(submissions.size());
    for (std::size_t i = 0; i < rows.size(); i++)
        rows[i] = make_spec(submissions[i], *queues[i], plans[i], now);
    const auto admissions = allocate<Admission>(rows.size());
    insert_rows(store, rows, admissions);
    for (std::size_t i = 0; i < rows.size(); i++) {
        const auto &[fate, holder] = admissions[i];
        if (!ignore && fate == Fate::key_taken)
            error::duplicate_key(rows[i].dedup_key, submissions[i].queue);
        if (!ignore && fate == Fate::name_taken)
            error::duplicate_task(rows[i].rn);
        Datum values[] = {PointerGetDatum(holder != nullptr ? holder : rows[i].rn),
                          BoolGetDatum(fate == Fate::inserted)};
        bool nulls[] = {false, false};
        tuplestore_putvalues(result.store, result.type, values, nulls);
    }
    const auto has_room = take_rooms(store, queues, admissions);
    settle_elements(store, submissions, rows, admissions, dependencies);
    place_rows(store, submissions, rows, admissions, has_room, dependencies, now);
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_submit_bulk) {
    using namespace scylla;
    text *queue = args::name("queue", args::get_text(fcinfo, 0));
    const auto specs = args::get_array(fcinfo, 1, JSONBOID);
    const auto rns = args::get_array(fcinfo, 2, TEXTOID);
    const int16 priority = args::priority(args::get_int(fcinfo, 3));
    if (!specs)
        error::bad_argument("specs", "null", "It must be an array.");
    if (rns)
        args::same_size("rns", rns->size, "specs", specs->size);
    const auto size = static_cast<std::size_t>(specs->size);
    const auto tasks = allocate<Submission>(size);
    for (std::size_t i = 0; i < size; i++) {
        const auto element = static_cast<int64>(i + 1);
        Jsonb *spec = args::spec(specs->null[i] ? nullptr : DatumGetJsonbP(specs->value[i]), element);
        text *rn = rns ? args::name("rns", rns->null[i] ? nullptr : DatumGetTextPP(rns->value[i]), element) : nullptr;
        tasks[i] = {queue,   spec,    priority, rn,     {}, {}, {}, store::OnFailure::cascade,
                    nullptr, nullptr, nullptr,  nullptr};
    }
    if (size == 0)
        PG_RETURN_INT64(0);
    store::Store store = open_for_write("scylla.submit_bulk()");
    const store::QueueRow row = queue_for(store, queue);
    const auto has_room = static_cast<std::size_t>(take_room(store, row, specs->size)); // the first ones
    const auto rows = allocate<store::SpecRow>(size);
    for (std::size_t i = 0; i < size; i++)
        rows[i] = make_spec(tasks[i], row, 0, GetCurrentTimestamp());
    // By name, so that two calls with the same names cannot wait for each other in a circle. Nobody else has names that
    // are made here.
    const auto order = allocate<std::size_t>(size);
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (rns)
        sort_by_name(order, [&](std::size_t i) { return rows[i].rn; });
    begin_bulk(store[store::TableId::spec]);
    begin_bulk(store[store::TableId::ready]);
    const RowMemory memory = begin_row_memory();
    for (const std::size_t i : order) {
        CHECK_FOR_INTERRUPTS();
        insert_new(store, rows[i], !rns);
        if (i < has_room)
            place(store, nullptr, rows[i]); // without gates
        else
            shed(store, rows[i]); // nobody can wait for it yet
        reset(memory);
    }
    end(memory);
    end_bulk(store[store::TableId::spec]);
    end_bulk(store[store::TableId::ready]);
    close(store);
    PG_RETURN_INT64(static_cast<int64>(size));
}
