// submit, submit_many, submit_bulk: new tasks.
#include "model/uuid.h"
#include "pg/error.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "settings.h"
#include "shmem/pending.h"
#include "store/upsert.h"
#include "verbs/args.h"
#include "verbs/moves.h"

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
};

text *make_rn(TimestampTz now) {
    std::array<std::uint8_t, 8> random;
    if (!pg_strong_random(random.data(), random.size()))
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random values")));
    constexpr int64 k_epoch = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
    const auto name = model::uuid_v7(static_cast<std::uint64_t>(now + k_epoch), random);
    return cstring_to_text_with_len(name.data(), static_cast<int>(name.size()));
}

// The id of a queue, made on first use where that is allowed.
int32 queue_id(Store &store, const text *name) {
    for (;;) {
        if (const auto queue = find_queue(store, name))
            return queue->id;
        if (!settings::auto_create_queues)
            error::no_such_queue(name);
        store::insert_queue(name, nullptr, nullptr, 0);
        shmem::note_queue();
        refresh(store);
    }
}

SpecRow make_spec(const Submission &task, int32 queue, TimestampTz now) {
    return {store::next_task_id(), now,       queue,           task.priority,     task.rn != nullptr ? task.rn : make_rn(now),
            task.spec,             task.not_before, task.max_attempts, {}};
}

// 23505 if the name is taken; one that we have made up cannot be.
void insert_new(Store &store, const SpecRow &spec, bool made_up) {
    if (made_up)
        insert_made_up(store, spec);
    else if (!insert(store, spec))
        error::duplicate_task(spec.rn);
}

// Where a new task begins.
Task place(Store &store, const SpecRow &spec) {
    if (spec.not_before && *spec.not_before > spec.created)
        return make_waiting(store, spec, {}, *spec.not_before, spec.created);
    return make_ready(store, spec, {}, spec.created, true);
}

// Submits unless the rn is taken; then the task that has it.
Task submit_or_find(Store &store, const Submission &task) {
    for (;; refresh(store)) {
        if (const auto existing = find_spec(store, task.rn, store::With::spec))
            return require_task(store, *existing);
        const SpecRow spec = make_spec(task, queue_id(store, task.queue), GetCurrentTimestamp());
        bool inserted = false;
        store::insert_specs({&spec, 1}, {&inserted, 1});
        if (inserted)
            return place(store, spec);
    }
}

void refuse_unavailable(FunctionCallInfo fcinfo) {
    constexpr struct {
        int n;
        const char *name;
    } k_unavailable[] = {{5, "depends_on"}, {7, "plan"}, {9, "retry"}, {10, "dedup_key"}, {11, "key"}};
    for (const auto &argument : k_unavailable)
        if (!PG_ARGISNULL(argument.n))
            error::not_supported(argument.name);
    if (PG_ARGISNULL(6) || view(PG_GETARG_TEXT_PP(6)) != "cascade")
        error::not_supported("on_dependency_failure");
}

// ---- submit_many: reading the elements -------------------------------------------------------------------------------

Jsonb *to_jsonb(JsonbValue *value) { return JsonbValueToJsonb(value); }

const char *show(JsonbValue *value) { return args::show(to_jsonb(value)); }

text *to_text(const char *argument, JsonbValue *value, int64 element) {
    if (value->type != jbvString)
        error::bad_argument(argument, show(value), "It must be a text.", element);
    return cstring_to_text_with_len(value->val.string.val, value->val.string.len);
}

int32 to_int(const char *argument, JsonbValue *value, int64 element) {
    const char *rule = "It must be a whole number.";
    if (value->type != jbvNumeric)
        error::bad_argument(argument, show(value), rule, element);
    const float8 number = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(value->val.numeric)));
    if (!(number >= PG_INT32_MIN && number <= PG_INT32_MAX))
        error::bad_argument(argument, show(value), rule, element);
    const Datum whole = DirectFunctionCall2(numeric_trunc, NumericGetDatum(value->val.numeric), Int32GetDatum(0));
    if (!DatumGetBool(DirectFunctionCall2(numeric_eq, whole, NumericGetDatum(value->val.numeric))))
        error::bad_argument(argument, show(value), rule, element);
    return DatumGetInt32(DirectFunctionCall1(numeric_int4, whole));
}

TimestampTz to_time(const char *argument, JsonbValue *value, int64 element) {
    const char *input = text_to_cstring(to_text(argument, value, element));
    MemoryContext context = CurrentMemoryContext;
    volatile TimestampTz time = 0;
    PG_TRY();
    {
        time = DatumGetTimestampTz(DirectFunctionCall3(timestamptz_in, CStringGetDatum(input), ObjectIdGetDatum(InvalidOid),
                                                       Int32GetDatum(-1)));
    }
    PG_CATCH();
    {
        // Data exceptions become ours, which names the element; anything else (a cancel) goes on as it is.
        if (ERRCODE_TO_CATEGORY(geterrcode()) != ERRCODE_DATA_EXCEPTION)
            PG_RE_THROW();
        MemoryContextSwitchTo(context);
        FlushErrorState();
        error::bad_argument(argument, show(value), "It must be a timestamp.", element);
    }
    PG_END_TRY();
    return time;
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

    JsonbIterator *iterator = JsonbIteratorInit(object->val.binary.data);
    JsonbValue key;
    JsonbValue value;
    for (JsonbIteratorToken token = JsonbIteratorNext(&iterator, &key, true); token != WJB_DONE;
         token = JsonbIteratorNext(&iterator, &key, true)) {
        if (token != WJB_KEY)
            continue;
        JsonbIteratorNext(&iterator, &value, true);
        const std::string_view name(key.val.string.val, static_cast<std::size_t>(key.val.string.len));
        const char *argument = pnstrdup(name.data(), name.size());
        const bool known = name == "queue" || name == "spec" || name == "priority" || name == "rn" || name == "not_before" ||
                           name == "max_attempts";
        const bool unavailable = name == "depends_on" || name == "on_dependency_failure" || name == "plan" ||
                                 name == "retry" || name == "dedup_key" || name == "key";
        if (!known && !unavailable)
            error::bad_argument("tasks", args::quote(cstring_to_text(argument)), "There is no such argument of submit.", element);
        if (value.type == jbvNull)
            continue;
        if (name == "on_dependency_failure" && view(to_text(argument, &value, element)) == "cascade")
            continue;
        if (unavailable)
            error::not_supported(argument);
        if (name == "queue")
            queue = to_text(argument, &value, element);
        else if (name == "spec")
            spec = to_jsonb(&value);
        else if (name == "rn")
            rn = to_text(argument, &value, element);
        else if (name == "priority")
            priority = to_int(argument, &value, element);
        else if (name == "max_attempts")
            max_attempts = to_int(argument, &value, element);
        else
            not_before = to_time(argument, &value, element);
    }
    return {args::name("queue", queue, element),
            args::spec(spec, element),
            args::priority(priority, element),
            rn == nullptr ? nullptr : args::name("rn", rn, element),
            args::not_before(not_before, element),
            args::max_attempts(max_attempts, element)};
}

// Fills `order` with 0, 1, … sorted by a name of each.
template <typename NameOf> void sort_by_name(std::span<std::size_t> order, NameOf name_of) {
    for (std::size_t i = 0; i < order.size(); i++)
        order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const int compared = view(name_of(a)).compare(view(name_of(b)));
        return compared != 0 ? compared < 0 : a < b;
    });
}

// The elements of the array, as rows with ids in array order.
std::span<SpecRow> read_tasks(Store &store, Jsonb *tasks, TimestampTz now) {
    const auto count = static_cast<std::size_t>(JB_ROOT_COUNT(tasks));
    const auto submissions = allocate<Submission>(count);
    JsonbIterator *iterator = JsonbIteratorInit(&tasks->root);
    JsonbValue value;
    std::size_t n = 0;
    for (JsonbIteratorToken token = JsonbIteratorNext(&iterator, &value, true); token != WJB_DONE;
         token = JsonbIteratorNext(&iterator, &value, true))
        if (token == WJB_ELEM) {
            submissions[n] = to_submission(&value, static_cast<int64>(n + 1));
            n++;
        }
    // Queues only after everything has been checked: nothing is half done on bad input. In the order of their names, so that
    // two calls that create the same ones cannot wait for each other in a circle.
    const auto order = allocate<std::size_t>(count);
    const auto queues = allocate<int32>(count);
    sort_by_name(order, [&](std::size_t i) { return submissions[i].queue; });
    for (std::size_t i = 0; i < count; i++) {
        const text *name = submissions[order[i]].queue;
        queues[order[i]] = i > 0 && equal(name, submissions[order[i - 1]].queue) ? queues[order[i - 1]] : queue_id(store, name);
    }
    const auto rows = allocate<SpecRow>(count);
    for (std::size_t i = 0; i < count; i++)
        rows[i] = make_spec(submissions[i], queues[i], now);
    return rows;
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_submit) {
    using namespace scylla;
    refuse_unavailable(fcinfo);
    text *rn = args::get_text(fcinfo, 3);
    const Submission task{args::name("queue", args::get_text(fcinfo, 0)),
                          args::spec(args::get_jsonb(fcinfo, 1)),
                          args::priority(args::get_int(fcinfo, 2)),
                          rn == nullptr ? nullptr : args::name("rn", rn),
                          args::not_before(PG_ARGISNULL(4) ? std::nullopt : std::optional(PG_GETARG_TIMESTAMPTZ(4))),
                          args::max_attempts(args::get_int(fcinfo, 8))};
    const bool ignore = args::ignore_duplicate(args::get_text(fcinfo, 12));
    store::Store store = open_for_write("scylla.submit()");
    if (ignore && rn != nullptr)
        return return_task(fcinfo, store, submit_or_find(store, task), Show::all);
    const store::SpecRow spec = make_spec(task, queue_id(store, task.queue), GetCurrentTimestamp());
    insert_new(store, spec, rn == nullptr);
    return return_task(fcinfo, store, place(store, spec), Show::all);
}

SCYLLA_FUNCTION(scylla_submit_many) {
    using namespace scylla;
    Jsonb *tasks = args::get_jsonb(fcinfo, 0);
    if (tasks == nullptr || !JB_ROOT_IS_ARRAY(tasks) || JB_ROOT_IS_SCALAR(tasks))
        error::bad_argument("tasks", args::show(tasks), "It must be an array of objects.");
    const bool ignore = args::ignore_duplicate(args::get_text(fcinfo, 1));
    const Rows result = begin_rows(fcinfo);
    store::Store store = open_for_write("scylla.submit_many()");
    const auto rows = read_tasks(store, tasks, GetCurrentTimestamp());
    const auto inserted = allocate<bool>(rows.size());
    if (!rows.empty())
        store::insert_specs(rows, inserted);
    for (std::size_t i = 0; i < rows.size(); i++) {
        if (inserted[i])
            place(store, rows[i]);
        else if (!ignore)
            error::duplicate_task(rows[i].rn);
        Datum values[] = {PointerGetDatum(rows[i].rn), BoolGetDatum(inserted[i])};
        bool nulls[] = {false, false};
        tuplestore_putvalues(result.store, result.type, values, nulls);
    }
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
        tasks[i] = {queue, spec, priority, rn, {}, {}};
    }
    if (size == 0)
        PG_RETURN_INT64(0);
    store::Store store = open_for_write("scylla.submit_bulk()");
    const int32 id = queue_id(store, queue);
    const auto rows = allocate<store::SpecRow>(size);
    for (std::size_t i = 0; i < size; i++)
        rows[i] = make_spec(tasks[i], id, GetCurrentTimestamp());
    // By name, so that two calls with the same names cannot wait for each other in a circle. Names that are made here are in
    // order already.
    const auto order = allocate<std::size_t>(size);
    sort_by_name(order, [&](std::size_t i) { return rows[i].rn; });
    begin_bulk(store[store::TableId::spec]);
    begin_bulk(store[store::TableId::ready]);
    const RowMemory memory = begin_row_memory();
    for (const std::size_t i : order) {
        CHECK_FOR_INTERRUPTS();
        insert_new(store, rows[i], !rns);
        place(store, rows[i]);
        reset(memory);
    }
    end(memory);
    end_bulk(store[store::TableId::spec]);
    end_bulk(store[store::TableId::ready]);
    close(store);
    PG_RETURN_INT64(static_cast<int64>(size));
}
